#include "base/file.h"

#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_read(const char *path, struct stat *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, st) < 0) {
        int e = errno;

        if (fd >= 0)
            close(fd);
        if (e == ENOENT || e == ENOTDIR)
            return err(RECTO_ENOTFOUND, "%s: no such file", path);
        return err(RECTO_EREAD, "%s: cannot read: %s", path, strerror(e));
    }
    if (!S_ISREG(st->st_mode)) {
        close(fd);
        return err(RECTO_EREAD, "%s: cannot read: %s", path,
                   S_ISDIR(st->st_mode) ? "is a directory" : "not a regular file");
    }
    return fd;
}

int file_map_open(struct file_map *m, const char *path)
{
    struct stat st;

    *m = (struct file_map){.fd = -1};
    m->fd = open_read(path, &st);
    if (m->fd < 0)
        return m->fd;
    m->len = (size_t)st.st_size;
    if (m->len == 0)
        return 0;
    void *p = mmap(NULL, m->len, PROT_READ, MAP_PRIVATE, m->fd, 0);
    if (p == MAP_FAILED) {
        int e = errno;

        file_map_close(m);
        return err(RECTO_EREAD, "%s: cannot map: %s", path, strerror(e));
    }
    m->data = p;
    return 0;
}

void file_map_close(struct file_map *m)
{
    if (m->data)
        munmap((void *)m->data, m->len);
    if (m->fd > 0)
        close(m->fd);
    *m = (struct file_map){.fd = -1};
}

void file_map_drop(const struct file_map *m, const void *from, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t lo = ((uintptr_t)from + page - 1) / page * page;
    uintptr_t hi = ((uintptr_t)from + bytes) / page * page;

    if (m->data && hi > lo)
        madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

int file_read(struct buf *out, const char *path, size_t max_bytes)
{
    struct stat st;
    int fd = open_read(path, &st), rc = 0;
    size_t total = 0;
    char chunk[65536];

    if (fd < 0)
        return fd;
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err(RECTO_EREAD, "%s: cannot read: %s", path, strerror(errno));
        if (n <= 0)
            break;
        total += (size_t)n;
        if (total > max_bytes) {
            rc = err(RECTO_ETOOLARGE, "%s: more than %zu bytes", path, max_bytes);
            break;
        }
        buf_add(out, chunk, (size_t)n);
    }
    close(fd);
    return rc;
}

static int write_all(int fd, str s)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        s.p += n, s.n -= (size_t)n;
    }
    return 0;
}

static int cannot_write(const char *path, int e)
{
    return err(RECTO_EOUTPUT, "cannot write %s: %s", path, strerror(e));
}

/* The directory is synced too, or the rename itself may be lost in a power cut. */
static void sync_dir_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? mem_strndup(path, slash == path ? 1 : (size_t)(slash - path))
                      : mem_strdup(".");
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(dir);
}

int file_write(const char *path, str content)
{
    const char *slash = strrchr(path, '/');
    int stem = slash ? (int)(slash - path) + 1 : 0;
    struct buf tmp = {0};
    int fd, rc = 0;

    buf_fmt(&tmp, "%.*s.%s.tmp-%d", stem, path, path + stem, (int)getpid());
    fd = open(tmp.p, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) {
        rc = cannot_write(path, errno);
        goto out;
    }
    if (write_all(fd, content) < 0 || fsync(fd) < 0)
        rc = cannot_write(path, errno);
    close(fd);
    if (rc == 0 && rename(tmp.p, path) < 0)
        rc = cannot_write(path, errno);
    if (rc < 0)
        unlink(tmp.p);
    else
        sync_dir_of(path);
out:
    buf_reset(&tmp);
    return rc;
}

int file_copy(const char *to, const char *from, size_t max_bytes)
{
    struct buf text = {0};
    int rc = file_read(&text, from, max_bytes);

    if (rc == 0)
        rc = file_write(to, buf_view(&text));
    buf_reset(&text);
    return rc;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_join(const char *dir, const char *name)
{
    struct buf b = {0};

    buf_fmt(&b, "%s%s%s", dir, dir[0] && dir[strlen(dir) - 1] != '/' ? "/" : "", name);
    return b.p;
}

char *file_program_dir(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    while (n > 0 && path[n - 1] != '/')
        n--;
    return n > 1 ? mem_strndup(path, (size_t)n - 1) : NULL;
}
