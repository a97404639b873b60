/* A library to be loaded before the C library (LD_PRELOAD): while the file $RECTO_TEST_FULL exists, nothing can be written below the
 * directory $RECTO_TEST_DATA: ENOSPC, as on a disk without room. For tests. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_full(void)
{
    const char *flag = getenv("RECTO_TEST_FULL");

    return flag && access(flag, F_OK) == 0;
}

static int is_data(int fd)
{
    const char *data = getenv("RECTO_TEST_DATA");
    char link[40], path[4096];

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0 || !data)
        return 0;
    path[n] = 0;
    return strncmp(path, data, strlen(data)) == 0;
}

static int refuse(int fd)
{
    if (!is_full() || !is_data(fd))
        return 0;
    errno = ENOSPC;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((visibility("default"))) ssize_t write(int fd, const void *p, size_t n)
{
    return refuse(fd) ? -1 : REAL(write)(fd, p, n);
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return refuse(fd) ? -1 : REAL(pwrite)(fd, p, n, at);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return refuse(fd) ? -1 : REAL(pwrite64)(fd, p, n, at);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
    return refuse(fd) ? -1 : REAL(fsync)(fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd)
{
    return refuse(fd) ? -1 : REAL(fdatasync)(fd);
}
