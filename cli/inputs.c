#include "inputs.h"

#include "cli.h"
#include "progress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char pages_mark[] = "#pages=";

struct gather {
    struct inputs *list;
    bool is_recursive;
    int n_left_out; /* files in folders whose kind is not read */
};

/* --- the list --------------------------------------------------------------------------------- */
static char *copy(const char *s)
{
    char *c = strdup(s);

    if (!c)
        abort();
    return c;
}

static struct input *add(struct gather *g, const char *path)
{
    struct inputs *l = g->list;

    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 16;
        l->in = realloc(l->in, (size_t)l->cap * sizeof *l->in);
        if (!l->in)
            abort();
    }
    l->in[l->n] = (struct input){.path = copy(path), .below = copy("")};
    return &l->in[l->n++];
}

static void add_fault(struct gather *g, const char *path, int error, const char *fault)
{
    struct input *in = add(g, path);

    in->error = error;
    in->fault = fault;
}

void inputs_reset(struct inputs *l)
{
    for (int i = 0; i < l->n; i++) {
        free(l->in[i].path);
        free(l->in[i].pages);
        free(l->in[i].below);
    }
    free(l->in);
    *l = (struct inputs){0};
}

/* --- folders ---------------------------------------------------------------------------------- */
static bool is_readable_kind(const char *path)
{
    char head[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;

    if (fd >= 0)
        close(fd);
    return n > 0 && recto_kind(head, (size_t)n) != NULL;
}

static int visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(struct gather *g, const char *dir, const char *below);

/* Links are followed only in the folder that the user named. */
static void add_entry(struct gather *g, const char *dir, const char *below, const char *name)
{
    char *path = NULL, *sub = NULL;
    struct stat st;

    if (asprintf(&path, "%s/%s", dir, name) < 0 || asprintf(&sub, "%s%s/", below, name) < 0)
        abort();
    if ((g->is_recursive ? lstat(path, &st) : stat(path, &st)) == 0) {
        if (S_ISDIR(st.st_mode) && g->is_recursive)
            add_folder(g, path, sub);
        else if (S_ISREG(st.st_mode) && is_readable_kind(path)) {
            struct input *in = add(g, path);
            free(in->below);
            in->below = copy(g->is_recursive ? below : "");
        } else if (S_ISREG(st.st_mode))
            g->n_left_out++;
    }
    free(path);
    free(sub);
}

static void add_folder(struct gather *g, const char *dir, const char *below)
{
    struct dirent **e = NULL;
    int n = scandir(dir, &e, visible, by_bytes);

    for (int i = 0; i < n; i++) {
        add_entry(g, dir, below, e[i]->d_name);
        free(e[i]);
    }
    free(e);
}

static void add_named_folder(struct gather *g, const char *operand)
{
    size_t n = strlen(operand);
    char *dir = copy(operand);
    int before = g->list->n;

    while (n > 1 && dir[n - 1] == '/')
        dir[--n] = 0;
    add_folder(g, dir, "");
    if (g->list->n == before)
        add_fault(g, operand, RECTO_EEMPTY, "no readable documents");
    free(dir);
}

/* --- one operand ------------------------------------------------------------------------------ */
static void add_path(struct gather *g, const char *path)
{
    struct stat st;

    if (strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        add_named_folder(g, path);
    else
        add(g, path);
}

static void add_found(void *ctx, const char *path)
{
    add_path(ctx, path);
}

static int check_range(const char *pages)
{
    return recto_range_check(pages) < 0 ? (report_failure(RECTO_EPAGERANGE), EXIT_USAGE) : 0;
}

/* A file may have any of these signs in its name; so what exists is taken as it stands. */
static int add_operand(struct gather *g, const char *operand)
{
    const char *mark = strstr(operand, pages_mark);
    int before = g->list->n, rc = 0;
    struct stat st;

    if (strcmp(operand, "-") == 0 || lstat(operand, &st) == 0) {
        add_path(g, operand);
        return 0;
    }
    char *path = mark ? strndup(operand, (size_t)(mark - operand)) : copy(operand);
    if (!path)
        abort();
    if (mark)
        rc = check_range(mark + sizeof pages_mark - 1);
    if (rc == 0 && glob_is(path) && lstat(path, &st) < 0 && !strstr(path, "://")) {
        if (glob_each(path, add_found, g) == 0)
            add_fault(g, path, RECTO_ENOTFOUND, "nothing matches this pattern");
    } else if (rc == 0)
        add_path(g, path);
    for (int i = before; mark && i < g->list->n; i++)
        g->list->in[i].pages = copy(mark + sizeof pages_mark - 1);
    free(path);
    return rc;
}

/* --- lists ------------------------------------------------------------------------------------ */
static int list_failed(const char *name)
{
    say(SAY_ERROR, "%s: cannot read the list: %s (%s)", name, strerror(errno),
        recto_error_name(errno == ENOENT ? RECTO_ENOTFOUND : RECTO_EREAD));
    return EXIT_INPUT;
}

/* A path of a list is relative to the list's folder. */
static int add_listed(struct gather *g, const char *list, const char *line)
{
    const char *slash = strrchr(list, '/');
    int n_dir = slash ? (int)(slash - list) + 1 : 0;
    char *path = NULL;

    if (asprintf(&path, "%.*s%s", line[0] == '/' || strstr(line, "://") ? 0 : n_dir, list, line) <
        0)
        abort();
    int rc = add_operand(g, path);
    free(path);
    return rc;
}

static int add_list(struct gather *g, const char *name, int separator)
{
    FILE *f = strcmp(name, "-") == 0 ? stdin : fopen(name, "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = 0;

    if (!f)
        return list_failed(name);
    while (rc == 0 && (n = getdelim(&line, &cap, separator, f)) > 0) {
        if (line[n - 1] == separator)
            line[--n] = 0;
        if (separator == '\n' && n > 0 && line[n - 1] == '\r')
            line[--n] = 0;
        if (n > 0 && !(separator == '\n' && line[0] == '#'))
            rc = add_listed(g, strcmp(name, "-") == 0 ? "" : name, line);
    }
    if (rc == 0 && ferror(f))
        rc = list_failed(name);
    free(line);
    if (f != stdin)
        fclose(f);
    return rc;
}

/* --- no file twice ---------------------------------------------------------------------------- */
struct file_id {
    dev_t dev;
    ino_t ino;
    int index;
};

static int by_file(const void *a, const void *b)
{
    const struct file_id *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    if (x->ino != y->ino)
        return x->ino < y->ino ? -1 : 1;
    return x->index - y->index;
}

static void drop_twice(struct inputs *l)
{
    struct file_id *id = calloc((size_t)l->n + 1, sizeof *id);
    bool *is_twice = calloc((size_t)l->n + 1, 1);
    int n = 0, kept = 0;
    struct stat st;

    if (!id || !is_twice)
        abort();
    for (int i = 0; i < l->n; i++) {
        bool is_stdin = strcmp(l->in[i].path, "-") == 0;
        if (is_stdin || (!l->in[i].error && stat(l->in[i].path, &st) == 0))
            id[n++] = is_stdin ? (struct file_id){.index = i}
                               : (struct file_id){st.st_dev, st.st_ino, i};
    }
    qsort(id, (size_t)n, sizeof *id, by_file);
    for (int i = 1; i < n; i++)
        is_twice[id[i].index] = id[i].dev == id[i - 1].dev && id[i].ino == id[i - 1].ino;
    for (int i = 0; i < l->n; i++)
        if (is_twice[i]) {
            free(l->in[i].path);
            free(l->in[i].pages);
            free(l->in[i].below);
        } else
            l->in[kept++] = l->in[i];
    l->n = kept;
    free(id);
    free(is_twice);
}

int inputs_gather(struct inputs *list, const struct options *o)
{
    struct gather g = {.list = list, .is_recursive = opt_flag(o, OPT_RECURSIVE)};
    int rc = 0;

    *list = (struct inputs){0};
    if (opt_text(o, OPT_PAGES))
        rc = check_range(opt_text(o, OPT_PAGES));
    if (rc == 0 && opt_text(o, OPT_FRAMES))
        rc = check_range(opt_text(o, OPT_FRAMES));
    for (int i = 0; i < o->n_input && rc == 0; i++) {
        const char *operand = o->input[i];
        rc = operand[0] == '@' && operand[1] && access(operand, F_OK) != 0
                 ? add_list(&g, operand + 1, '\n')
                 : add_operand(&g, operand);
    }
    if (rc == 0 && opt_text(o, OPT_FROM))
        rc = add_list(&g, opt_text(o, OPT_FROM), '\n');
    if (rc == 0 && opt_text(o, OPT_FROM0))
        rc = add_list(&g, opt_text(o, OPT_FROM0), 0);
    drop_twice(list);
    if (rc == 0 && g.n_left_out > 0)
        say(SAY_INFO, "%d file%s in folders left out: of no kind that can be read", g.n_left_out,
            g.n_left_out > 1 ? "s" : "");
    return rc;
}
