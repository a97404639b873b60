/* Rubbish: files that no row names, and more derived files than there is room for. */
#include "blob.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ORPHAN_S = 3600 };

/* fn for each name in a folder but . and .. */
typedef void entry_fn(void *ctx, const char *path, const char *name, const struct stat *st);

static void each_entry(const char *folder, entry_fn *fn, void *ctx)
{
    DIR *d = opendir(folder);

    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        struct stat st;
        int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);

        if (e->d_name[0] != '.' && n < (int)sizeof path && lstat(path, &st) == 0)
            fn(ctx, path, e->d_name, &st);
    }
    if (d)
        closedir(d);
}

static void each_in(const struct blob *b, const char *name, entry_fn *fn, void *ctx)
{
    char folder[4096];

    if (snprintf(folder, sizeof folder, "%s/%s", b->data, name) < (int)sizeof folder)
        each_entry(folder, fn, ctx);
}

/* ---- orphans -------------------------------------------------------------------------------------------------------------------- */
struct sweep {
    const struct blob *b;
    blob_stays_fn *fn;
    void *ctx;
    int64_t bytes;
};

static bool is_old(const struct stat *st)
{
    return time(NULL) - st->st_mtime > ORPHAN_S;
}

static void sweep_input(void *ctx, const char *path, const char *name, const struct stat *st)
{
    struct sweep *s = ctx;

    s->bytes += st->st_size;
    if (is_old(st) && !(strlen(name) == 64 && s->fn(s->ctx, name, NULL))) {
        unlink(path);
        s->bytes -= st->st_size;
    }
}

static void sweep_shelf(void *ctx, const char *path, const char *name, const struct stat *st)
{
    (void)name;
    if (S_ISDIR(st->st_mode))
        each_entry(path, sweep_input, ctx);
}

static void sweep_job(void *ctx, const char *path, const char *name, const struct stat *st)
{
    struct sweep *s = ctx;

    (void)path;
    if (is_old(st) && !s->fn(s->ctx, NULL, name))
        blob_remove_job(s->b, name);
}

void blob_sweep(const struct blob *b, blob_stays_fn *fn, void *ctx, int64_t *bytes)
{
    struct sweep s = {.b = b, .fn = fn, .ctx = ctx};

    each_in(b, "blob", sweep_shelf, &s);
    each_in(b, "job", sweep_job, &s);
    each_in(b, "cache", sweep_job, &s);
    *bytes = s.bytes;
}

/* ---- the cache ------------------------------------------------------------------------------------------------------------------ */
struct derived {
    char *path;
    int64_t bytes, used;
};

struct derived_list {
    struct derived *at;
    size_t n, cap;
    int64_t bytes;
};

static void note_file(void *ctx, const char *path, const char *name, const struct stat *st)
{
    struct derived_list *l = ctx;

    (void)name;
    if (l->n == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->at = realloc(l->at, l->cap * sizeof *l->at);
        if (!l->at)
            abort();
    }
    int64_t used = st->st_atime > st->st_mtime ? st->st_atime : st->st_mtime;
    l->at[l->n++] = (struct derived){.path = strdup(path), .bytes = st->st_size, .used = used};
    l->bytes += st->st_size;
}

static void note_job(void *ctx, const char *path, const char *name, const struct stat *st)
{
    (void)name;
    if (S_ISDIR(st->st_mode))
        each_entry(path, note_file, ctx);
}

static int by_use(const void *a, const void *b)
{
    const struct derived *x = a, *y = b;

    return (x->used > y->used) - (x->used < y->used);
}

int64_t blob_trim_cache(const struct blob *b, int64_t max)
{
    struct derived_list l = {0};

    each_in(b, "cache", note_job, &l);
    if (l.n)
        qsort(l.at, l.n, sizeof *l.at, by_use);
    for (size_t i = 0; i < l.n; i++) {
        if (l.bytes > max && unlink(l.at[i].path) == 0)
            l.bytes -= l.at[i].bytes;
        free(l.at[i].path);
    }
    free(l.at);
    return l.bytes;
}
