#include "page/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

int spawn_program(pid_t *pid, const char *const *argv, const int *fd, int n)
{
    char *envp[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int e;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            posix_spawn_file_actions_adddup2(&files, fd[i], i);
    posix_spawn_file_actions_addclosefrom_np(&files, n > STDERR_FILENO ? n : STDERR_FILENO + 1);
    e = posix_spawn(pid, argv[0], &files, &attr, (char **)argv, envp);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return e;
}

int spawn_raise(int fd)
{
    int high;

    if (fd < 0 || fd >= SPAWN_FDS)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_FDS);
    close(fd);
    return high;
}

static int raise_both(int fd[2])
{
    int e = 0;

    for (int i = 0; i < 2; i++) {
        fd[i] = spawn_raise(fd[i]);
        e = fd[i] < 0 ? EMFILE : e;
    }
    for (int i = 0; e && i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return e;
}

int spawn_pipe(int fd[2])
{
    return pipe2(fd, O_CLOEXEC) < 0 ? errno : raise_both(fd);
}

int spawn_stream(int fd[2])
{
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 ? errno : raise_both(fd);
}
