#include "helper/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The newest layout of landlock_ruleset_attr; older kernels are told to read a shorter one. */
struct ruleset {
    uint64_t fs, net, scoped;
};

/* What each version of the interface can refuse, and how much of struct ruleset it reads. */
static const struct {
    struct ruleset all;
    size_t bytes;
} abi_table[] = {
    [1] = {{(1 << 13) - 1, 0, 0}, 8},  /* 13 rights on files and directories */
    [2] = {{(1 << 14) - 1, 0, 0}, 8},  /* + refer */
    [3] = {{(1 << 15) - 1, 0, 0}, 8},  /* + truncate */
    [4] = {{(1 << 15) - 1, 3, 0}, 16}, /* + TCP bind, connect */
    [5] = {{(1 << 16) - 1, 3, 0}, 16}, /* + ioctl on devices */
    [6] = {{(1 << 16) - 1, 3, 3}, 24}, /* + abstract sockets, signals */
};

#define NEWEST ((long)(sizeof abi_table / sizeof abi_table[0]) - 1)

/* A rule for something open. One that cannot be made leaves its path closed. */
static void allow_fd(int ruleset, int fd, bool may_run)
{
    struct landlock_path_beneath_attr rule = {.parent_fd = fd,
                                              .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE};
    struct stat st;

    if (fstat(fd, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode))
        rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
    else if (may_run)
        rule.allowed_access |= LANDLOCK_ACCESS_FS_EXECUTE;
    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static void allow(int ruleset, const struct landlock_path *a)
{
    int fd = a->path ? open(a->path, O_PATH | O_CLOEXEC) : a->fd;

    if (fd < 0)
        return;
    allow_fd(ruleset, fd, a->may_run);
    if (a->path)
        close(fd);
}

bool landlock_enter(const struct landlock_path *allowed, size_t n)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct ruleset all;
    long fd, rc;

    if (abi < 1)
        return false;
    abi = abi > NEWEST ? NEWEST : abi;
    all = abi_table[abi].all;
    fd = syscall(SYS_landlock_create_ruleset, &all, abi_table[abi].bytes, 0);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        allow((int)fd, &allowed[i]);
    rc = syscall(SYS_landlock_restrict_self, fd, 0);
    close((int)fd);
    return rc == 0;
}
