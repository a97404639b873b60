/* recto bench pages: from files on disk to Markdown on disk.
 *
 * Closed loop: all inputs wait from the start, a bounded number of them handed over; latency is then the time from handing
 * over to the written file (service time).  Open loop (--rate): inputs arrive as a Poisson stream of a fixed seed, and latency
 * counts from the arrival.  One round reads everything once; the first --warm-up rounds are not counted. */
#include "bench_pages.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double cpu_s(void)
{
    struct rusage self, children;

    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children); /* helpers count once they have ended */
    return (double)(self.ru_utime.tv_sec + self.ru_stime.tv_sec + children.ru_utime.tv_sec +
                    children.ru_stime.tv_sec) +
           (double)(self.ru_utime.tv_usec + self.ru_stime.tv_usec + children.ru_utime.tv_usec +
                    children.ru_stime.tv_usec) *
               1e-6;
}

/* --- arrivals --------------------------------------------------------------------------------- */
/* splitmix64 (Steele, Lea, Flood 2014), so that every run has the same arrivals. */
static double uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static void plan_arrivals(struct pages_bench *b)
{
    uint64_t state = 1;
    double at = 0;

    for (int i = 0; i < b->in.n; i++) {
        at += b->rate > 0 ? -log(uniform(&state)) / b->rate : 0;
        b->doc[i].arrived_s = at;
    }
}

/* --- a round ---------------------------------------------------------------------------------- */
static int write_page(const struct pages_bench *b, int doc, const struct recto_page *p)
{
    char path[4096], *text = NULL;
    size_t n = 0;
    FILE *f;
    bool is_written;
    int rc = recto_write("md", &p, 1, &text, &n);

    if (rc < 0)
        return report_failure(rc);
    snprintf(path, sizeof path, "%s/%06d-%04d.md", b->out, doc, p->number);
    f = fopen(path, "w");
    is_written = f && fwrite(text, 1, n, f) == n;
    if (f)
        is_written = fclose(f) == 0 && is_written;
    recto_free(text);
    if (is_written)
        return EXIT_FINE;
    say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
        recto_error_name(RECTO_EOUTPUT));
    return EXIT_OUTPUT;
}

static void count_page(struct pages_round *r, const struct recto_page *p, double latency_s)
{
    const struct recto_timing *t = &p->timing;

    r->n_by_status[p->status]++;
    r->n_retried += p->n_attempt > 1;
    r->n_in += p->n_prompt;
    r->n_out += p->n_token;
    r->n_visual += p->n_visual;
    r->sum.decode_image += t->decode_image;
    r->sum.preprocess += t->preprocess;
    r->sum.queue += t->queue;
    r->sum.vision += t->vision;
    r->sum.prefill += t->prefill;
    r->sum.decode += t->decode;
    if ((r->n_page & (r->n_page - 1)) == 0) /* room doubles */
        r->latency_s = realloc(r->latency_s,
                               (size_t)(r->n_page ? 2 * r->n_page : 1) * sizeof *r->latency_s);
    if (!r->latency_s)
        abort();
    r->latency_s[r->n_page++] = latency_s;
}

static int find_doc(const struct pages_bench *b, int n_sent, uint64_t request)
{
    int i = n_sent - 1;

    while (i > 0 && b->doc[i].request != request)
        i--;
    return i;
}

static int take(struct pages_bench *b, struct pages_round *r, int n_sent, double start_s,
                struct recto_event *ev)
{
    int doc = find_doc(b, n_sent, ev->request), rc = EXIT_FINE;

    if (ev->kind == RECTO_EVENT_PAGE) {
        if (ev->page->status == RECTO_PAGE_ERROR)
            say(SAY_ERROR, "%s", ev->page->error_text);
        else
            rc = write_page(b, doc, ev->page);
        count_page(r, ev->page, now_s() - start_s - b->doc[doc].arrived_s);
    }
    recto_event_reset(ev);
    return rc;
}

/* Hand over what has arrived and has room; 0, or an exit code. */
static int send_some(struct pages_bench *b, int *n_sent, int n_done, double start_s)
{
    while (*n_sent < b->in.n && (b->rate > 0 || *n_sent - n_done < b->window)) {
        struct doc *d = &b->doc[*n_sent];
        const struct input *from = &b->in.in[*n_sent];
        struct recto_input in = {.path = from->path, .pages = from->pages};
        double now = now_s() - start_s;
        int rc;

        if (b->rate > 0 && d->arrived_s > now)
            return EXIT_FINE;
        rc = recto_submit(b->recto, &in, &b->page, &d->request);
        if (rc == RECTO_EAGAIN)
            return EXIT_FINE;
        if (rc < 0)
            return report_failure(rc);
        if (b->rate <= 0)
            d->arrived_s = now;
        ++*n_sent;
    }
    return EXIT_FINE;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int run_pages(struct pages_bench *b, struct pages_round *r)
{
    double start = now_s(), cpu = cpu_s();
    struct device_watch *watch = device_watch_start(b->recto);
    int n_sent = 0, n_done = 0, rc = EXIT_FINE;

    *r = (struct pages_round){0};
    plan_arrivals(b);
    while (rc == EXIT_FINE && n_done < b->in.n) {
        struct recto_event ev;

        rc = send_some(b, &n_sent, n_done, start);
        if (rc == EXIT_FINE && recto_poll(b->recto, &ev, b->rate > 0 ? 1 : 20) == 1) {
            n_done += ev.kind == RECTO_EVENT_DONE;
            rc = take(b, r, n_sent, start, &ev);
        }
    }
    r->s = now_s() - start;
    r->cpu_s = cpu_s() - cpu;
    device_watch_stop(watch, &r->device);
    if (r->n_page > 0)
        qsort(r->latency_s, (size_t)r->n_page, sizeof *r->latency_s, by_value);
    if (rc == EXIT_FINE && r->n_by_status[RECTO_PAGE_ERROR] == r->n_page) {
        say(SAY_ERROR, "no page could be read: there is nothing to measure");
        rc = EXIT_INPUT;
    }
    return rc;
}

/* --- beginning and end ------------------------------------------------------------------------ */
static int open_out(struct pages_bench *b)
{
    const char *tmp = getenv("TMPDIR");
    char name[4096];

    if (opt_given(b->o, OPT_OUT)) {
        b->out = strdup(opt_text(b->o, OPT_OUT));
        return EXIT_FINE;
    }
    snprintf(name, sizeof name, "%s/recto-bench-XXXXXX", tmp ? tmp : "/tmp");
    b->out_is_ours = mkdtemp(name) != NULL;
    b->out = strdup(name);
    if (b->out_is_ours)
        return EXIT_FINE;
    say(SAY_ERROR, "cannot make %s: %s", name, strerror(errno));
    return EXIT_OUTPUT;
}

static void remove_out(const struct pages_bench *b)
{
    DIR *d = b->out_is_ours ? opendir(b->out) : NULL;
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d) {
        closedir(d);
        rmdir(b->out);
    }
}

static int open_engine(struct pages_bench *b)
{
    struct recto_settings s;
    int rc;

    settings_from(b->o, &s);
    if (!s.model_dir)
        announce_default_model();
    s.no_reuse = true; /* every round must be the same work */
    b->window = 4 * s.max_running;
    s.max_waiting = b->window;
    rc = recto_open(&b->recto, &s);
    return rc < 0 ? report_failure(rc) : EXIT_FINE;
}

static int prepare(struct pages_bench *b)
{
    struct options inputs = *b->o; /* without the word `pages` */
    int rc;

    inputs.input++;
    inputs.n_input--;
    rc = inputs_gather(&b->in, &inputs);
    for (int i = 0; i < b->in.n && rc == EXIT_FINE; i++)
        if (b->in.in[i].error) {
            say(SAY_ERROR, "%s: %s", b->in.in[i].path, b->in.in[i].fault);
            rc = EXIT_INPUT;
        }
    if (rc == EXIT_FINE)
        rc = page_options_from(b->o, &b->page);
    if (rc != EXIT_FINE)
        return rc;
    if (opt_given(b->o, OPT_FIXED_OUTPUT)) {
        b->page.max_tokens = (int)opt_int(b->o, OPT_FIXED_OUTPUT, 0);
        b->page.ignore_eos = true;
        b->page.no_loop_check = true;
        b->page.guard_n = -1;
        b->page.retries = 0;
        b->page.no_blank_check = true;
    }
    b->rate = opt_real(b->o, OPT_RATE, 0);
    b->doc = calloc((size_t)b->in.n, sizeof *b->doc);
    if (!b->doc)
        return EXIT_BUG;
    rc = open_out(b);
    return rc == EXIT_FINE ? open_engine(b) : rc;
}

/* What the last round has written, against the truth where there is one. */
static void look_at_texts(struct pages_bench *b)
{
    struct accuracy_sum *s = accuracy_open();
    DIR *d = s ? opendir(b->out) : NULL;
    const struct dirent *e;
    char path[4400];
    int doc, page, end;

    while (d && (e = readdir(d))) {
        end = 0;
        if (sscanf(e->d_name, "%6d-%4d.md%n", &doc, &page, &end) < 2 || end == 0 || doc >= b->in.n)
            continue;
        snprintf(path, sizeof path, "%s/%s", b->out, e->d_name);
        accuracy_add(s, b->in.in[doc].path, page, path);
    }
    if (d)
        closedir(d);
    b->accuracy = accuracy_close(s);
}

static int run_rounds(struct pages_bench *b)
{
    int warm = (int)opt_int(b->o, OPT_WARM_UP, 1), n = (int)opt_int(b->o, OPT_ROUNDS, 5),
        rc = EXIT_FINE;

    n = n < MAX_PAGES_ROUNDS ? n : MAX_PAGES_ROUNDS;
    for (int i = 0; i < warm + n && rc == EXIT_FINE; i++) {
        struct pages_round *r = &b->round[i < warm ? 0 : i - warm];

        free(r->latency_s);
        rc = run_pages(b, r);
        say(SAY_INFO, "%s %d: %d pages, %.2f pages/s", i < warm ? "warm-up" : "round",
            i < warm ? i + 1 : i - warm + 1, r->n_page, r->n_page / r->s);
    }
    b->n_round = n;
    if (rc == EXIT_FINE && !b->page.ignore_eos)
        look_at_texts(b);
    return rc;
}

static int by_speed(const void *a, const void *b)
{
    const struct pages_round *x = a, *y = b;
    double p = x->n_page / x->s, q = y->n_page / y->s;

    return (p > q) - (p < q);
}

int bench_pages(const struct options *o)
{
    static struct pages_bench b;
    int rc;

    b = (struct pages_bench){.o = o};
    recto_options_init(&b.page);
    rc = prepare(&b);
    if (rc == EXIT_FINE) {
        machine_look(&b.machine);
        report_head(&b);
        rc = run_rounds(&b);
    }
    if (rc == EXIT_FINE) {
        qsort(b.round, (size_t)b.n_round, sizeof b.round[0], by_speed);
        report_rounds(&b);
        if (opt_given(o, OPT_JSON))
            rc = report_json(&b, opt_text(o, OPT_JSON));
        if (rc == EXIT_FINE && opt_given(o, OPT_PLOT))
            rc = report_plot(&b, opt_text(o, OPT_PLOT));
    }
    recto_close(b.recto);
    remove_out(&b);
    for (int i = 0; i < MAX_PAGES_ROUNDS; i++)
        free(b.round[i].latency_s);
    inputs_reset(&b.in);
    free(b.doc);
    free(b.out);
    return rc;
}
