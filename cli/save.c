#include "output.h"

#include <errno.h>
#include <fcntl.h>
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

static int write_in_place(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = write_all(fd, text, n);
    return close(fd) < 0 ? -1 : rc;
}

static int write_whole(const char *tmp, const char *path, const char *text, size_t n)
{
    int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return -1;
    int rc = write_all(fd, text, n);
    if (rc == 0)
        rc = fsync(fd);
    if (close(fd) < 0)
        rc = -1;
    return rc == 0 ? rename(tmp, path) : -1;
}

int save_file(const char *path, const char *text, size_t n)
{
    struct stat st;
    size_t n_dir;

    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return write_in_place(path, text, n);
    char *tmp = temporary_name(path, &n_dir);
    if (!tmp)
        return -1;
    int rc = write_whole(tmp, path, text, n), why = errno;
    if (rc < 0)
        unlink(tmp);
    else
        sync_dir(path, n_dir);
    free(tmp);
    errno = why;
    return rc;
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
