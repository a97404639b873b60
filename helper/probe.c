#include "helper/probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY_STEP ((size_t)64 << 20)
#define MEMORY_END  ((size_t)16 << 30) /* got this much: there is no limit */

static int probe_open(void)
{
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 ? PROBE_STOPPED : PROBE_WENT_THROUGH;
}

static int probe_write(void)
{
    int fd = open("/tmp/recto-decode-probe", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return PROBE_STOPPED;
    unlink("/tmp/recto-decode-probe");
    return PROBE_WENT_THROUGH;
}

static int probe_fork(void)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    return pid < 0 ? PROBE_STOPPED : PROBE_WENT_THROUGH;
}

static int probe_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) < 0 ? PROBE_STOPPED : PROBE_WENT_THROUGH;
}

static int probe_exec(void)
{
    char *const argv[] = {(char *)"/bin/false", NULL}, *const envp[] = {NULL};

    execve(argv[0], argv, envp);
    return PROBE_STOPPED;
}

/* Mapped but never touched, so that a machine without the limit is not hurt. */
static int probe_memory(void)
{
    for (size_t got = 0; got < MEMORY_END; got += MEMORY_STEP)
        if (mmap(NULL, MEMORY_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
            MAP_FAILED)
            return PROBE_STOPPED;
    return PROBE_WENT_THROUGH;
}

/* More work than any limit that the tests set. */
static int probe_cpu(void)
{
    for (volatile unsigned long i = 0; i < 60000000000ul; i++)
        continue;
    return PROBE_WENT_THROUGH;
}

static int probe_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);

    return p == MAP_FAILED ? PROBE_STOPPED : PROBE_WENT_THROUGH;
}

int probe_run(const char *name)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } probes[] = {{"open", probe_open},     {"socket", probe_socket}, {"exec", probe_exec},
                  {"memory", probe_memory}, {"cpu", probe_cpu},       {"code", probe_code},
                  {"write", probe_write},   {"fork", probe_fork}};

    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++)
        if (strcmp(name, probes[i].name) == 0)
            return probes[i].run();
    return PROBE_UNKNOWN;
}
