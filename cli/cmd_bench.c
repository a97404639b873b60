#include "bench.h"
#include "bench_machine.h"
#include "plot.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROWS = 32, MAX_ROUNDS = 1100, MAX_C = 1024 };

/* One round: c requests, all done. */
struct round {
    double s;
    long long n_in, n_out;
    int n_bad; /* pages that ended with an error */
};

struct row {
    int c, n; /* timed rounds */
    struct round cold, timed[MAX_ROUNDS];
};

struct bench {
    struct recto *recto;
    struct recto_options page;
    const struct options *o;
    struct row row[MAX_ROWS];
    int n_row;
    struct machine machine;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Wait for one event of each of n requests; tokens of finished pages are counted. */
static void await(struct bench *b, enum recto_event_kind kind, int n, struct round *r)
{
    struct recto_event ev;

    while (n > 0 && recto_poll(b->recto, &ev, -1)) {
        bool failed = ev.kind == RECTO_EVENT_PAGE && ev.page->status == RECTO_PAGE_ERROR;

        n -= ev.kind == kind || (kind == RECTO_EVENT_STARTED && failed);
        if (ev.kind == RECTO_EVENT_PAGE) {
            r->n_in += ev.page->n_prompt;
            r->n_out += ev.page->n_token;
            r->n_bad += failed;
            if (failed)
                say(SAY_ERROR, "%s", ev.page->error_text);
        }
        recto_event_reset(&ev);
    }
}

static int run_round(struct bench *b, int c, struct round *r)
{
    double start;

    *r = (struct round){0};
    recto_hold(b->recto, true);
    for (int i = 0; i < c; i++) {
        struct recto_input in = {.path = b->o->input[1 + i % (b->o->n_input - 1)]};
        uint64_t id;
        int rc = recto_submit(b->recto, &in, &b->page, &id);

        if (rc < 0)
            return report_failure(rc);
    }
    await(b, RECTO_EVENT_STARTED, c, r);
    start = now_s();
    recto_hold(b->recto, false);
    await(b, RECTO_EVENT_DONE, c - r->n_bad, r);
    r->s = now_s() - start;
    return r->n_bad ? EXIT_PAGES : EXIT_FINE;
}

static int by_time(const void *a, const void *b)
{
    double x = ((const struct round *)a)->s, y = ((const struct round *)b)->s;

    return (x > y) - (x < y);
}

static int run_row(struct bench *b, int c)
{
    struct row *w = &b->row[b->n_row];
    int n = (int)opt_int(b->o, OPT_ROUNDS, 5), warm = (int)opt_int(b->o, OPT_WARM_UP, 2), rc;

    w->c = c;
    rc = run_round(b, c, &w->cold);
    for (int i = 0; i < warm + n && rc == EXIT_FINE; i++) {
        int at = i < warm ? 0 : i - warm;

        rc = run_round(b, c, &w->timed[at]);
        say(SAY_DEBUG, "c=%d round=%d s=%.3f", c, i, w->timed[at].s);
    }
    w->n = n;
    qsort(w->timed, (size_t)n, sizeof w->timed[0], by_time);
    b->n_row++;
    return rc;
}

static double rate(const struct round *r, bool total)
{
    return (double)(r->n_out + (total ? r->n_in : 0)) / r->s;
}

/* Between the two middle rounds when their number is even. */
static struct round median(const struct row *w)
{
    struct round m = w->timed[w->n / 2];

    m.s = (m.s + w->timed[(w->n - 1) / 2].s) / 2;
    return m;
}

static void print_table(const struct bench *b)
{
    const struct round one = median(&b->row[0]);

    puts(
        "    c   output tok/s   [min .. max]         total tok/s  in:out  out/page  speed-up: output  total   /c    cold s");
    for (int i = 0; i < b->n_row; i++) {
        const struct row *w = &b->row[i];
        const struct round m = median(w);
        double up = rate(&m, false) / rate(&one, false);

        printf(
            "%5d   %12.1f   [%.1f .. %.1f]%*s %11.1f  %6.2f  %8.1f  %16.2f  %5.2f  %4.2f  %7.2f\n",
            w->c, rate(&m, false), rate(&w->timed[w->n - 1], false), rate(&w->timed[0], false), 4,
            "", rate(&m, true), (double)m.n_in / (double)m.n_out, (double)m.n_out / w->c, up,
            rate(&m, true) / rate(&one, true), up / (w->c / (double)b->row[0].c), w->cold.s);
    }
}

static void print_machine(FILE *out, const struct recto_info *f)
{
    fprintf(
        out,
        "model %s, %lld parameters; %s, %s kernels, precision %s, weights %s, %d threads; recto %s\n",
        f->model_name, (long long)f->n_param, f->backend, f->kernels, f->precision, f->weights,
        f->threads, RECTO_VERSION);
}

static int write_json(const struct bench *b, const struct recto_info *f, const char *path)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        say(SAY_ERROR, "cannot write %s", path);
        return EXIT_OUTPUT;
    }
    fprintf(
        out,
        "{\"bench\":\"tokens\",\"version\":\"%s\",\"model\":\"%s\",\"backend\":\"%s\",\"kernels\":\"%s\","
        "\"precision\":\"%s\",\"weights\":\"%s\",\"threads\":%d,\"fixed_output\":%s",
        RECTO_VERSION, f->model_name, f->backend, f->kernels, f->precision, f->weights, f->threads,
        b->page.ignore_eos ? "true" : "false");
    machine_json(&b->machine, out);
    fputs(",\"rows\":[", out);
    for (int i = 0; i < b->n_row; i++) {
        const struct row *w = &b->row[i];

        fprintf(out, "%s{\"concurrency\":%d,\"cold_s\":%.6f,\"rounds\":[", i ? "," : "", w->c,
                w->cold.s);
        for (int k = 0; k < w->n; k++)
            fprintf(out, "%s{\"s\":%.6f,\"input_tokens\":%lld,\"output_tokens\":%lld}",
                    k ? "," : "", w->timed[k].s, w->timed[k].n_in, w->timed[k].n_out);
        fputs("]}", out);
    }
    fputs("]}\n", out);
    return fclose(out) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}

static int draw(const struct bench *b, const char *path)
{
    static char name[MAX_ROWS][16];
    struct plot_point output[MAX_ROWS], total[MAX_ROWS];
    struct plot_series series[] = {{"output tok/s", output, b->n_row},
                                   {"total tok/s", total, b->n_row}};

    for (int i = 0; i < b->n_row; i++) {
        const struct row *w = &b->row[i];
        const struct round m = median(w), *slow = &w->timed[w->n - 1], *fast = &w->timed[0];

        snprintf(name[i], sizeof name[i], "%d", w->c);
        output[i] = (struct plot_point){name[i], 0, rate(&m, false), rate(slow, false),
                                        rate(fast, false)};
        total[i] = (struct plot_point){name[i], 0, rate(&m, true), rate(slow, true),
                                       rate(fast, true)};
    }
    return plot_write(&(struct plot){.title = "recto bench tokens",
                                     .note = "median of the rounds, with the least and the most",
                                     .x_label = "pages at once",
                                     .y_label = "tokens/s",
                                     .series = series,
                                     .n_series = 2},
                      path);
}

/* "1,4,8" into c; how many, or -1. */
static int parse_list(const char *text, int *c)
{
    int n = 0;

    while (n < MAX_ROWS) {
        char *end;
        long v = strtol(text, &end, 10);

        if (end == text || v < 1 || v > MAX_C || (*end && *end != ','))
            return -1;
        c[n++] = (int)v;
        if (!*end)
            return n;
        text = end + 1;
    }
    return -1;
}

static int open_bench(struct bench *b, const int *c, int n)
{
    struct recto_settings s;
    int most = 1;

    for (int i = 0; i < n; i++)
        most = c[i] > most ? c[i] : most;
    settings_from(b->o, &s);
    if (!s.model_dir)
        announce_default_model();
    s.max_running = most;
    s.max_waiting = most + 1;
    s.no_reuse = true; /* the same image c times must be c times the work */
    recto_options_init(&b->page);
    if (page_options_from(b->o, &b->page) != 0)
        return EXIT_USAGE;
    b->page.guard_n = -1;
    b->page.no_loop_check = true;
    b->page.retries = b->page.rotate = 0; /* one reading a page */
    if (opt_given(b->o, OPT_FIXED_OUTPUT)) {
        b->page.max_tokens = (int)opt_int(b->o, OPT_FIXED_OUTPUT, 0);
        b->page.ignore_eos = true;
    }
    int rc = recto_open(&b->recto, &s);
    return rc < 0 ? report_failure(rc) : EXIT_FINE;
}

static int run_tokens(const struct options *o, const int *c, int n)
{
    static struct bench b;
    struct recto_info info;
    int rc;

    b = (struct bench){.o = o};
    rc = open_bench(&b, c, n);
    if (rc != EXIT_FINE)
        return rc;
    recto_get_info(b.recto, &info);
    print_machine(stdout, &info);
    machine_look(&b.machine);
    machine_print(&b.machine);
    if (opt_given(o, OPT_FIXED_OUTPUT))
        printf("every page is made %d tokens long: shapes, not text, are measured\n",
               b.page.max_tokens);
    for (int i = 0; i < n && rc == EXIT_FINE; i++)
        rc = run_row(&b, c[i]);
    if (rc == EXIT_FINE) {
        print_table(&b);
        if (opt_given(o, OPT_JSON))
            rc = write_json(&b, &info, opt_text(o, OPT_JSON));
        if (rc == EXIT_FINE && opt_given(o, OPT_PLOT))
            rc = draw(&b, opt_text(o, OPT_PLOT));
    }
    recto_close(b.recto);
    return rc;
}

static int bench_tokens(const struct options *o)
{
    const char *list = opt_text(o, OPT_CONCURRENCY);
    int c[MAX_ROWS], n = parse_list(list ? list : "1,4,8,32,64,100", c);

    if (n < 0) {
        say(SAY_ERROR, "%s: expected numbers from 1 to %d with commas between",
            opt_origin(o, OPT_CONCURRENCY), MAX_C);
        return EXIT_USAGE;
    }
    return run_tokens(o, c, n);
}

int cmd_bench(const struct options *o)
{
    static const struct {
        const char *name;
        int (*run)(const struct options *o);
        int n_operand; /* at least, after the name */
    } what[] = {{"tokens", bench_tokens, 1},
                {"pages", bench_pages, 1},
                {"stages", bench_stages, 0},
                {"loss", bench_loss, 0},
                {"compare", bench_compare, 0}};

    for (size_t i = 0; i < sizeof what / sizeof *what; i++)
        if (o->n_input > what[i].n_operand && strcmp(o->input[0], what[i].name) == 0)
            return what[i].run(o);
    say(SAY_ERROR,
        "expected: recto bench tokens IMAGE..., recto bench pages FILE|DIR..., "
        "recto bench stages, recto bench loss IMAGE..., or recto bench compare A.json B.json");
    return EXIT_USAGE;
}
