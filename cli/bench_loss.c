/* recto bench loss: what smaller weights change in what is read. */
#include "cli.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"bf16", "int8", "int4"};
enum { N_KIND = sizeof kinds / sizeof *kinds };

struct text {
    int32_t *p;
    int n;
};

struct sums {
    long long n_token, n_changed, n_char, n_edit; /* the last two: where the truth is known */
    int n_page, n_truth, n_bad;
};

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Insertions, deletions and exchanges that make b of a; -1 without memory. */
static long long distance(struct text a, struct text b)
{
    int *row = malloc(((size_t)b.n + 1) * sizeof *row), last;

    if (!row)
        return -1;
    for (int j = 0; j <= b.n; j++)
        row[j] = j;
    for (int i = 1; i <= a.n; i++) {
        int diagonal = row[0];

        row[0] = i;
        for (int j = 1; j <= b.n; j++) {
            int best = least(least(row[j], row[j - 1]) + 1, diagonal + (a.p[i - 1] != b.p[j - 1]));

            diagonal = row[j];
            row[j] = best;
        }
    }
    last = row[b.n];
    free(row);
    return last;
}

/* Characters of UTF-8, each as its bytes in one number; white space at the end does not count. */
static struct text characters(const char *s, size_t n)
{
    struct text t = {.p = calloc(n + 1, sizeof *t.p)};

    while (n && strchr(" \r\n\t", s[n - 1]))
        n--;
    for (size_t i = 0; t.p && i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if ((c & 0xC0) == 0x80 && t.n)
            t.p[t.n - 1] = (int32_t)((uint32_t)t.p[t.n - 1] << 8 | c);
        else
            t.p[t.n++] = c;
    }
    return t;
}

/* IMAGE's text beside it, as page00.txt is beside page00.png; p is NULL if there is none. */
static struct text truth_of(const char *image)
{
    const char *dot = strrchr(image, '.');
    size_t stem = dot ? (size_t)(dot - image) : strlen(image), n = 0, cap = 0;
    char *path = malloc(stem + 5), *text = NULL;
    struct text t = {0};
    FILE *f;

    if (!path)
        return t;
    snprintf(path, stem + 5, "%.*s.txt", (int)stem, image);
    f = fopen(path, "re");
    free(path);
    if (!f)
        return t;
    ssize_t got = getdelim(&text, &cap, 0, f);
    n = got > 0 ? (size_t)got : 0;
    fclose(f);
    t = characters(text ? text : "", n);
    free(text);
    return t;
}

/* Read one image; its page, or NULL. */
static struct recto_page *read_one(struct recto *r, const struct recto_options *o, const char *path)
{
    struct recto_input in = {.path = path};
    struct recto_page *page = NULL;
    struct recto_event ev;
    uint64_t id;
    bool is_done = false;

    if (recto_submit(r, &in, o, &id) < 0)
        return NULL;
    while (!is_done && recto_poll(r, &ev, -1) > 0) {
        if (ev.kind == RECTO_EVENT_PAGE && !page) {
            page = ev.page;
            ev.page = NULL;
        }
        is_done = ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
    return page;
}

static void compare(struct sums *s, const struct recto_page *p, struct text *first,
                    const char *image)
{
    struct text ids = {p->id, p->n_token}, truth = truth_of(image);

    if (!first->p) { /* of the first kind: what the others are compared with */
        first->p = calloc((size_t)p->n_token + 1, sizeof *first->p);
        first->n = first->p ? p->n_token : 0;
        if (first->n)
            memcpy(first->p, p->id, (size_t)p->n_token * sizeof *p->id);
    }
    s->n_page++;
    s->n_token += p->n_token;
    s->n_changed += distance(*first, ids);
    if (truth.p) {
        struct text read = characters(p->raw ? p->raw : "", p->n_raw);

        s->n_truth++;
        s->n_char += truth.n;
        s->n_edit += distance(truth, read);
        free(read.p);
    }
    free(truth.p);
}

static int read_all(const struct options *o, const char *kind, struct text *first, struct sums *s,
                    struct recto_info *info)
{
    struct recto_settings set;
    struct recto_options page;
    struct recto *r;

    settings_from(o, &set);
    set.weights = kind;
    if (page_options_from(o, &page) != 0)
        return EXIT_USAGE;
    if (recto_open(&r, &set) < 0)
        return report_failure(RECTO_EMODEL);
    recto_get_info(r, info);
    for (int i = 1; i < o->n_input; i++) {
        struct recto_page *p = read_one(r, &page, o->input[i]);

        if (!p || p->status == RECTO_PAGE_ERROR) {
            say(SAY_ERROR, "%s: %s", o->input[i],
                p && p->error_text ? p->error_text : recto_last_error());
            s->n_bad++;
        } else
            compare(s, p, &first[i], o->input[i]);
        if (p)
            recto_page_reset(p);
        free(p);
    }
    recto_close(r);
    return s->n_bad ? EXIT_PAGES : EXIT_FINE;
}

static void print_row(const char *kind, const struct sums *s, const struct recto_info *info)
{
    printf("%-5s  %8.1f MB  %5d pages  %7lld tokens  %6lld changed (%.2f %%)", kind,
           (double)info->weight_bytes / 1e6, s->n_page, s->n_token, s->n_changed,
           100.0 * (double)s->n_changed / (double)(s->n_token ? s->n_token : 1));
    if (s->n_truth)
        printf("  CER %.3f %% (%lld / %lld)", 100.0 * (double)s->n_edit / (double)s->n_char,
               s->n_edit, s->n_char);
    puts("");
    fflush(stdout);
}

int bench_loss(const struct options *o)
{
    struct text *first = calloc((size_t)o->n_input + 1, sizeof *first);
    int rc = first && o->n_input >= 2 ? EXIT_FINE : EXIT_USAGE;

    if (rc != EXIT_FINE)
        say(SAY_ERROR, "expected: recto bench loss IMAGE...");
    for (int k = 0; k < N_KIND && rc == EXIT_FINE; k++) {
        struct sums s = {0};
        struct recto_info info = {0};

        rc = read_all(o, kinds[k], first, &s, &info);
        if (rc == EXIT_FINE)
            print_row(kinds[k], &s, &info);
    }
    for (int i = 0; first && i <= o->n_input; i++)
        free(first[i].p);
    free(first);
    return rc;
}
