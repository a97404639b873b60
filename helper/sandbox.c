/* Sources: seccomp(2), libseccomp seccomp_rule_add(3). */
#include "helper/sandbox.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "helper/landlock.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define INSTRUMENTED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#endif
#ifndef INSTRUMENTED
#define INSTRUMENTED 0
#endif

#define KEPT_DESCRIPTORS 3 /* stdin, stdout, stderr */
#define CPU_GRACE_S      2

bool sandbox_is_instrumented(void)
{
    return INSTRUMENTED;
}

int sandbox_limit(int what, unsigned long long value, const char *name)
{
    struct rlimit r = {(rlim_t)value, (rlim_t)value};

    if (setrlimit(what, &r) < 0)
        return err(RECTO_ERENDER, "the decoder's limit of %s cannot be set: %s", name,
                   strerror(errno));
    return 0;
}

int sandbox_limit_cpu(int cpu_s)
{
    struct rlimit r = {(rlim_t)cpu_s, (rlim_t)cpu_s + CPU_GRACE_S};

    if (setrlimit(RLIMIT_CPU, &r) < 0)
        return err(RECTO_ERENDER, "the decoder's limit of CPU time cannot be set: %s",
                   strerror(errno));
    return 0;
}

static int enter_limits(const struct sandbox_limits *l)
{
    if (!INSTRUMENTED)
        TRY(sandbox_limit(RLIMIT_AS, (unsigned long long)l->memory_mib << 20, "memory"));
    TRY(sandbox_limit_cpu(l->cpu_s));
    TRY(sandbox_limit(RLIMIT_FSIZE, 0, "file size"));
    TRY(sandbox_limit(RLIMIT_CORE, 0, "core files"));
    return sandbox_limit(RLIMIT_NOFILE, KEPT_DESCRIPTORS, "descriptors");
}

/* System calls allowed whatever their arguments: none of them reaches outside the process. */
static const int harmless[] = {
    SCMP_SYS(munmap),        SCMP_SYS(brk),          SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(futex),         SCMP_SYS(rt_sigreturn), SCMP_SYS(exit),   SCMP_SYS(exit_group),
    SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),    SCMP_SYS(fstat),  SCMP_SYS(restart_syscall),
};

/* What the sanitizers' own machinery needs in order to run, and to report. */
static const int instrument[] = {
    SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(getpid),
    SCMP_SYS(gettid),      SCMP_SYS(sched_yield),  SCMP_SYS(getrusage),
};

static int allow_each(scmp_filter_ctx c, const int *call, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, call[i], 0);
    return rc;
}

static int allow_memory(scmp_filter_ctx c)
{
    int rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                              SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));

    return rc ? rc
              : seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

static int allow_streams(scmp_filter_ctx c)
{
    int rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                              SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO, 0));

    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                              SCMP_A0(SCMP_CMP_EQ, STDOUT_FILENO, 0));
    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                              SCMP_A0(SCMP_CMP_EQ, STDERR_FILENO, 0));
    return rc;
}

static bool enter_seccomp(void)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int rc = c ? allow_each(c, harmless, COUNT(harmless)) : -1;

    if (rc == 0 && INSTRUMENTED)
        rc = allow_each(c, instrument, COUNT(instrument));
    if (rc == 0)
        rc = allow_memory(c);
    if (rc == 0)
        rc = allow_streams(c);
    /* qsort asks how much memory there is, and takes no for an answer. */
    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(sysinfo), 0);
    if (rc == 0)
        rc = seccomp_load(c);
    seccomp_release(c);
    return rc == 0;
}

int sandbox_enter(const struct sandbox_limits *l)
{
    int missing = 0;

    /* Without this neither of the two below may be entered by an ordinary user. */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err(RECTO_ERENDER, "the decoder cannot give up privileges: %s", strerror(errno));
    if ((l->without & DECODE_NO_LANDLOCK) || !landlock_enter(NULL, 0))
        missing |= DECODE_NO_LANDLOCK;
    TRY(enter_limits(l));
    if ((l->without & DECODE_NO_SECCOMP) || !enter_seccomp())
        missing |= DECODE_NO_SECCOMP;
    return missing;
}
