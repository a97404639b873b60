#include "files.h"

#include "recto.h"
#include "text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((off_t)1 << 30)

int eval_fail(struct eval_fault *f, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return f->code = code;
}

static void *or_end(void *p)
{
    return p ? p : eval_alloc(SIZE_MAX, SIZE_MAX); /* says so and ends the program */
}

char *eval_string(const char *format, ...)
{
    char *s = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&s, format, args) < 0)
        s = NULL;
    va_end(args);
    return or_end(s);
}

char *eval_copy(const char *s)
{
    return s ? or_end(strdup(s)) : NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

bool eval_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool eval_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

char *eval_read_file(const char *path, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    ssize_t got = -1;
    struct stat st;
    char *p = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
            errno = S_ISREG(st.st_mode) ? EFBIG : EISDIR;
        else {
            p = eval_alloc((size_t)st.st_size + 1, 1);
            while ((got = read(fd, p + done, (size_t)st.st_size - done)) > 0)
                done += (size_t)got;
        }
    }
    if (fd >= 0)
        close(fd);
    if (n)
        *n = done;
    if (got == 0)
        return p;
    free(p);
    return NULL;
}

int eval_write_file(const char *path, const void *bytes, size_t n, struct eval_fault *f)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *tmp = eval_string("%.*s.%s.tmp-%d", (int)(base - path), path, base, (int)getpid());
    FILE *out = fopen(tmp, "wbe");
    bool is_whole = out && fwrite(bytes, 1, n, out) == n;

    if (out)
        is_whole = fclose(out) == 0 && is_whole;
    is_whole = is_whole && rename(tmp, path) == 0;
    if (!is_whole) {
        eval_fail(f, RECTO_EOUTPUT, "cannot write %s: %s", path, strerror(errno));
        unlink(tmp);
    }
    free(tmp);
    return is_whole ? 0 : RECTO_EOUTPUT;
}

int eval_make_dir(const char *path, struct eval_fault *f)
{
    if (mkdir(path, 0777) == 0 || eval_is_dir(path))
        return 0;
    return eval_fail(f, RECTO_EOUTPUT, "cannot make the folder %s: %s", path, strerror(errno));
}

/* ---- folders --------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int names_list(struct names *list, const char *dir, struct eval_fault *f)
{
    DIR *d = opendir(dir);
    int cap = 0;

    *list = (struct names){0};
    if (!d)
        return eval_fail(f, RECTO_EREAD, "cannot read the folder %s: %s", dir, strerror(errno));
    for (const struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        if (list->n == cap)
            list->name = eval_grow(list->name, (size_t)(cap = 2 * cap + 64), sizeof *list->name);
        list->name[list->n++] = eval_copy(e->d_name);
    }
    closedir(d);
    if (list->n > 0)
        qsort(list->name, (size_t)list->n, sizeof *list->name, by_bytes);
    return 0;
}

void names_reset(struct names *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->name[i]);
    free(list->name);
    *list = (struct names){0};
}

int names_index(const struct names *list, const char *name)
{
    char *const *at = list->n > 0 ? bsearch(&name, list->name, (size_t)list->n, sizeof *list->name,
                                            by_bytes)
                                  : NULL;

    return at ? (int)(at - list->name) : -1;
}

/* ---- text that grows ------------------------------------------------------------------------- */

void print_bytes(struct page_text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->cap)
        t->p = eval_grow(t->p, t->cap = 2 * t->cap + n + 256, 1);
    memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void print(struct page_text *t, const char *format, ...)
{
    char *s = NULL;
    va_list args;

    va_start(args, format);
    int n = vasprintf(&s, format, args);
    va_end(args);
    if (n < 0)
        or_end(NULL);
    print_bytes(t, s, (size_t)n);
    free(s);
}

void print_escaped(struct page_text *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        const char *as = c == '&'                                         ? "&amp;"
                         : c == '<'                                       ? "&lt;"
                         : c == '>'                                       ? "&gt;"
                         : c == '"'                                       ? "&quot;"
                         : c == '\''                                      ? "&#39;"
                         : (c < 32 && c != '\n' && c != '\t') || c == 127 ? "\xEF\xBF\xBD"
                                                                          : NULL;

        print_bytes(t, as ? as : s + i, as ? strlen(as) : 1);
    }
}
