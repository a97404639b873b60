#include "save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* DIR/.NAME.tmp-PID for DIR/NAME; *n_dir is the length of "DIR/". Owned by the caller. */
static char *temporary_name(const char *path, size_t *n_dir)
{
    const char *slash = strrchr(path, '/');
    char *name = NULL;

    *n_dir = slash ? (size_t)(slash - path) + 1 : 0;
    if (asprintf(&name, "%.*s.%s.tmp-%d", (int)*n_dir, path, path + *n_dir, (int)getpid()) < 0)
        return NULL;
    return name;
}

/* Make the rename itself durable. A file system that cannot is no reason to fail. */
static void sync_dir(const char *path, size_t n_dir)
{
    char *dir = n_dir ? strndup(path, n_dir) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

/* What is not a regular file (a pipe, /dev/null) is written in place: there is nothing to rename. */
int save_open(struct save *s, const char *path)
{
    struct stat st;

    *s = (struct save){.fd = -1, .path = path};
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        s->fd = open(path, O_WRONLY | O_CLOEXEC);
    } else {
        s->tmp = temporary_name(path, &s->n_dir);
        if (s->tmp)
            s->fd = open(s->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    if (s->fd >= 0)
        return 0;
    free(s->tmp);
    s->tmp = NULL;
    return -1;
}

int save_put(struct save *s, const void *bytes, size_t n)
{
    return write_all(s->fd, bytes, n);
}

int save_commit(struct save *s)
{
    int rc = s->tmp ? fsync(s->fd) : 0;

    if (close(s->fd) < 0)
        rc = -1;
    s->fd = -1;
    if (s->tmp && rc == 0)
        rc = rename(s->tmp, s->path);
    if (rc == 0 && s->tmp)
        sync_dir(s->path, s->n_dir);
    if (rc == 0) {
        free(s->tmp);
        s->tmp = NULL;
    } else
        save_abort(s);
    return rc;
}

void save_abort(struct save *s)
{
    int why = errno;

    if (s->fd >= 0)
        close(s->fd);
    if (s->tmp)
        unlink(s->tmp);
    free(s->tmp);
    *s = (struct save){.fd = -1};
    errno = why;
}

int save_file(const char *path, const void *bytes, size_t n)
{
    struct save s;

    if (save_open(&s, path) < 0)
        return -1;
    if (save_put(&s, bytes, n) == 0)
        return save_commit(&s);
    save_abort(&s);
    return -1;
}

void save_sweep(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *d = dir ? opendir(dir) : NULL;
    size_t n = strlen(base);

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] == '.' && strncmp(e->d_name + 1, base, n) == 0 &&
            strncmp(e->d_name + 1 + n, ".tmp-", 5) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    free(dir);
}

/* --- standard output -------------------------------------------------------------------------- */
static bool terminal_obeys(const unsigned char *p, const unsigned char *end)
{
    if (*p == '\n' || *p == '\t' || *p == '\f')
        return false;
    return *p < 0x20 || *p == 0x7f || (*p == 0xC2 && p + 1 < end && p[1] >= 0x80 && p[1] < 0xA0);
}

int put_text(const char *text, size_t n)
{
    if (!isatty(STDOUT_FILENO))
        return write_all(STDOUT_FILENO, text, n);

    char *safe = malloc(n + 1);
    if (!safe)
        return -1;
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    size_t n_safe = 0;
    for (; p < end; p++) {
        bool obeys = terminal_obeys(p, end);
        safe[n_safe++] = obeys ? '?' : (char)*p;
        p += obeys && *p == 0xC2; /* C1 in UTF-8 is two bytes */
    }
    int rc = write_all(STDOUT_FILENO, safe, n_safe);
    free(safe);
    return rc;
}
