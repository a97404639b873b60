/* Patterns with **, which glob(3) does not know: a path is matched folder by folder. */
#include "inputs.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64 };

struct walk {
    void (*found)(void *ctx, const char *path);
    void *ctx;
    int n_found, depth;
};

bool glob_is(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

/* dir + name; dir is "", or ends with a slash. */
static char *join(const char *dir, const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s%s", dir, name) < 0)
        abort();
    return path;
}

static int not_dots(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_folder(const char *path, bool follow)
{
    struct stat st;

    return (follow ? stat(path, &st) : lstat(path, &st)) == 0 && S_ISDIR(st.st_mode);
}

static void match(struct walk *w, const char *dir, const char *pattern);

static void match_entry(struct walk *w, const char *path, const char *rest)
{
    struct stat st;

    if (!*rest) {
        if (stat(path, &st) == 0) {
            w->found(w->ctx, path);
            w->n_found++;
        }
        return;
    }
    if (is_folder(path, true)) {
        char *below = join(path, "/");
        match(w, below, rest);
        free(below);
    }
}

/* ** is nothing, or any folder and then ** again; hidden and linked folders are not entered. */
static void match_any_depth(struct walk *w, const char *dir, const char *pattern, const char *rest)
{
    struct dirent **e = NULL;
    int n;

    match(w, dir, rest);
    n = scandir(*dir ? dir : ".", &e, not_dots, by_bytes);
    for (int i = 0; i < n; i++) {
        char *path = join(dir, e[i]->d_name), *below = join(path, "/");
        if (e[i]->d_name[0] != '.' && is_folder(path, false))
            match(w, below, pattern);
        free(below);
        free(path);
        free(e[i]);
    }
    free(e);
}

static void match_names(struct walk *w, const char *dir, const char *part, const char *rest)
{
    struct dirent **e = NULL;
    int n = scandir(*dir ? dir : ".", &e, not_dots, by_bytes);

    for (int i = 0; i < n; i++) {
        if (fnmatch(part, e[i]->d_name, FNM_PERIOD) == 0) {
            char *path = join(dir, e[i]->d_name);
            match_entry(w, path, rest);
            free(path);
        }
        free(e[i]);
    }
    free(e);
}

static void match(struct walk *w, const char *dir, const char *pattern)
{
    const char *slash = strchr(pattern, '/'), *rest = slash ? slash + 1 : "";
    char *part = slash ? strndup(pattern, (size_t)(slash - pattern)) : strdup(pattern);

    if (!part)
        abort();
    if (w->depth++ >= MAX_DEPTH) {
        w->depth--;
        free(part);
        return;
    }
    if (strcmp(part, "**") == 0)
        match_any_depth(w, dir, pattern, *rest ? rest : "*");
    else if (glob_is(part))
        match_names(w, dir, part, rest);
    else {
        char *path = join(dir, part);
        match_entry(w, path, rest);
        free(path);
    }
    w->depth--;
    free(part);
}

int glob_each(const char *pattern, void (*found)(void *ctx, const char *path), void *ctx)
{
    struct walk w = {.found = found, .ctx = ctx};

    if (pattern[0] == '/')
        match(&w, "/", pattern + 1);
    else
        match(&w, "", pattern);
    return w.n_found;
}
