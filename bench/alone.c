/* Does a page read the same alone and among others, bit for bit?
 *
 *   bench_alone MODEL_DIR DEVICE NEW FILE...
 *
 * Every file (pictures) is read NEW tokens long, with the model's own guard: all at once, with prompts of several pages in a step;
 * again so, with prompts in pieces of 300; and one after the other by an engine that has room for one page.  Ids and log-probabilities of the
 * latter two are compared with the first; the program ends with 1 when one bit differs.  Nothing is reused between pages. */
#include "recto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 256 };

struct answer {
    int n;
    int32_t *id;
    float *logp;
};

static const char *model, *device;
static int n_new, n_file;
static char **file;

static void fail(const char *what)
{
    fprintf(stderr, "bench_alone: %s: %s\n", what, recto_last_error());
    exit(2);
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct recto *open_for(int pages, int chunk)
{
    struct recto_settings set;
    struct recto *r;

    recto_settings_init(&set);
    set.model_dir = model;
    set.device = device;
    set.max_running = pages;
    set.max_waiting = n_file + 1;
    set.chunk_tok = chunk;
    set.no_reuse = true;
    if (recto_open(&r, &set) < 0)
        fail("open");
    return r;
}

static void submit(struct recto *r, int i, uint64_t *request)
{
    struct recto_options o;
    struct recto_input in = {.path = file[i]};

    recto_options_init(&o);
    o.max_tokens = n_new;
    o.ignore_eos = o.no_loop_check = o.no_blank_check = true;
    o.retries = o.rotate = 0;
    if (recto_submit(r, &in, &o, request) < 0)
        fail(file[i]);
}

static void keep(struct answer *a, const struct recto_page *p)
{
    if (p->status == RECTO_PAGE_ERROR) {
        fprintf(stderr, "bench_alone: %s\n", p->error_text);
        exit(2);
    }
    *a = (struct answer){p->n_token, malloc((size_t)p->n_token * sizeof *a->id),
                         malloc((size_t)p->n_token * sizeof *a->logp)};
    memcpy(a->id, p->id, (size_t)p->n_token * sizeof *a->id);
    memcpy(a->logp, p->logp, (size_t)p->n_token * sizeof *a->logp);
}

/* Files [from, to) at once. */
static void read_some(struct recto *r, int from, int to, struct answer *out)
{
    uint64_t request[MOST];
    int n_done = 0;

    recto_hold(r, true);
    for (int i = from; i < to; i++)
        submit(r, i, &request[i]);
    while (n_done < to - from) {
        struct recto_event ev;
        static int n_ready;
        int at = from;

        if (recto_poll(r, &ev, -1) != 1)
            continue;
        while (at < to && request[at] != ev.request)
            at++;
        n_ready = ev.kind == RECTO_EVENT_STARTED ? n_ready + 1 : n_ready;
        if (n_ready == to - from) {
            n_ready = 0;
            recto_hold(r, false);
        }
        if (ev.kind == RECTO_EVENT_PAGE)
            keep(&out[at], ev.page);
        n_done += ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
}

static void read_all(int at_once, int chunk, struct answer *out, const char *what)
{
    struct recto *r = open_for(at_once, chunk);
    double start = now_s();

    for (int i = 0; i < n_file; i += at_once)
        read_some(r, i, i + at_once < n_file ? i + at_once : n_file, out);
    printf("%d pages, %d tokens each, %s: %.2f s\n", n_file, n_new, what, now_s() - start);
    fflush(stdout);
    recto_close(r);
}

static int n_unlike(const struct answer *a, const struct answer *b, const char *what)
{
    int n = 0;

    for (int i = 0; i < n_file; i++) {
        bool same = a[i].n == b[i].n &&
                    memcmp(a[i].id, b[i].id, (size_t)a[i].n * sizeof *a[i].id) == 0 &&
                    memcmp(a[i].logp, b[i].logp, (size_t)a[i].n * sizeof *a[i].logp) == 0;

        if (!same)
            printf("differs %s: %s\n", what, file[i]);
        n += !same;
    }
    printf("%s: %d of %d differ\n", what, n, n_file);
    return n;
}

int main(int argc, char **argv)
{
    static struct answer all[MOST], pieces[MOST], alone[MOST];

    if (argc < 5 || argc - 4 > MOST) {
        fprintf(stderr, "usage: bench_alone MODEL_DIR DEVICE NEW FILE... (at most %d)\n", MOST);
        return 2;
    }
    model = argv[1];
    device = argv[2];
    n_new = atoi(argv[3]);
    file = argv + 4;
    n_file = argc - 4;
    read_all(n_file, 8192, all, "all at once");
    read_all(n_file, 300, pieces, "all at once, prompts in pieces of 300");
    read_all(1, 8192, alone, "one after the other");
    return n_unlike(all, pieces, "in pieces") + n_unlike(all, alone, "alone") > 0;
}
