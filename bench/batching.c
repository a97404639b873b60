/* What sharing steps is worth: the mini model reads 64 pages one by one (submit, wait, next), then 16 at once, in turn,
 * ROUNDS times after one round of each to warm up; every page's ids of every round must be equal.
 *
 *   bench_batching [fp32|bf16|auto] [ROUNDS]
 *
 * Pages: the twelve of models/mini/pages, each with up to six prompts, so that the 64 requests are all different; images and
 * prompts are forgotten between them (no_reuse). Decoding and resizing of pictures is inside the clock. */
#include "recto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N_PAGE = 64, AT_ONCE = 16, MAX_ROUNDS = 99 };

struct answer {
    int n;
    int32_t *id;
};

struct side {
    int at_once, n_diff;
    struct recto *recto;
    double s[MAX_ROUNDS];
};

static struct answer want[N_PAGE];

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench_batching: %s: %s\n", what, recto_last_error());
    exit(1);
}

static void open_side(struct side *s, const char *precision)
{
    struct recto_settings set;

    recto_settings_init(&set);
    set.precision = precision;
    set.max_running = s->at_once;
    set.no_reuse = true;
    if (recto_open(&s->recto, &set) < 0)
        fail("open");
}

static void submit(struct side *s, int k, uint64_t *request)
{
    static const enum recto_task task[] = {RECTO_TASK_MARKDOWN, RECTO_TASK_TEXT,
                                           RECTO_TASK_OCR,      RECTO_TASK_FIGURE,
                                           RECTO_TASK_DESCRIBE, RECTO_TASK_LOCATE};
    struct recto_options o;
    char path[512];

    snprintf(path, sizeof path, SOURCE_DIR "/models/mini/pages/page%02d.png", k % 12);
    recto_options_init(&o);
    o.task = task[k / 12];
    o.phrase = "the date";
    o.retries = o.rotate = 0; /* one reading a page */
    if (recto_submit(s->recto, &(struct recto_input){.path = path}, &o, request) < 0)
        fail(path);
}

/* The first answer to a request is what all later ones must be. */
static void keep_or_compare(struct side *s, int k, const struct recto_page *p)
{
    struct answer *a = &want[k];

    if (p->status == RECTO_PAGE_ERROR) {
        fprintf(stderr, "bench_batching: %s\n", p->error_text);
        exit(1);
    }
    if (!a->id) {
        a->n = p->n_token;
        a->id = malloc((size_t)(a->n + 1) * sizeof *a->id);
        if (!a->id)
            exit(1);
        memcpy(a->id, p->id, (size_t)a->n * sizeof *a->id);
    }
    s->n_diff += a->n != p->n_token || memcmp(a->id, p->id, (size_t)a->n * sizeof *a->id) != 0;
}

static double run_round(struct side *s)
{
    uint64_t request[N_PAGE];
    double start = now_s();
    int n_sent = 0, n_done = 0;

    while (n_done < N_PAGE) {
        struct recto_event ev;

        for (; n_sent < N_PAGE && n_sent - n_done < s->at_once; n_sent++)
            submit(s, n_sent, &request[n_sent]);
        if (recto_poll(s->recto, &ev, -1) != 1)
            fail("poll");
        for (int k = 0; ev.kind == RECTO_EVENT_PAGE && k < n_sent; k++)
            if (request[k] == ev.request)
                keep_or_compare(s, k, ev.page);
        n_done += ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
    return now_s() - start;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double report(struct side *s, int n)
{
    double median;

    qsort(s->s, (size_t)n, sizeof s->s[0], by_value);
    median = (s->s[n / 2] + s->s[(n - 1) / 2]) / 2;
    printf(
        "%2d at once: median %6.3f pages/s [%.3f .. %.3f] of %d rounds; %d of %d answers differ\n",
        s->at_once, N_PAGE / median, N_PAGE / s->s[n - 1], N_PAGE / s->s[0], n, s->n_diff,
        (n + 1) * N_PAGE);
    return median;
}

int main(int argc, char **argv)
{
    const char *precision = argc > 1 ? argv[1] : "auto";
    int n = argc > 2 ? atoi(argv[2]) : 5;
    struct side one = {.at_once = 1}, many = {.at_once = AT_ONCE};
    struct recto_info info;

    if (n < 1 || n > MAX_ROUNDS)
        n = 5;
    open_side(&one, precision);
    open_side(&many, precision);
    recto_get_info(one.recto, &info);
    printf("%d pages, precision %s, %s kernels, %d threads\n", N_PAGE, info.precision, info.kernels,
           info.threads);
    for (int i = -1; i < n; i++) {
        double a = run_round(&one), b = run_round(&many);

        one.s[i < 0 ? 0 : i] = a;
        many.s[i < 0 ? 0 : i] = b;
    }
    printf("ratio %.2f\n", report(&one, n) / report(&many, n));
    recto_close(one.recto);
    recto_close(many.recto);
    return one.n_diff + many.n_diff ? 1 : 0;
}
