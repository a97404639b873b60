/* The sandbox around a whole program. What is allowed was found by tracing pdftoppm and pdfinfo
 * 22.12 over the samples, and kept as narrow as they let it be.
 * Sources: seccomp(2), libseccomp seccomp_rule_add(3), ld.so(8), execve(2). */
#include "helper/sandbox.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "helper/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define DESCRIPTORS 64 /* libraries and fonts, one after the other; the document */

/* The loaders of the machines that Debian knows; those that do not exist are left out. */
#define LOADER(name)                  \
    {                                 \
        .path = name, .may_run = true \
    }

static const struct landlock_path readable[] = {
    LOADER("/lib64/ld-linux-x86-64.so.2"),
    LOADER("/lib/ld-linux-aarch64.so.1"),
    LOADER("/lib/ld-linux-riscv64-lp64d.so.1"),
    LOADER("/lib64/ld64.so.2"),
    {.path = "/lib"},
    {.path = "/lib64"},
    {.path = "/usr/lib"},
    {.path = "/usr/lib64"},
    {.path = "/usr/local/lib"},
    {.path = "/etc/ld.so.cache"},
    {.path = "/etc/localtime"},
    {.path = "/usr/share/zoneinfo"},
    {.path = "/etc/fonts"},
    {.path = "/usr/share/fontconfig"},
    {.path = "/usr/share/fonts"},
    {.path = "/usr/local/share/fonts"},
    {.path = "/var/cache/fontconfig"},
    {.path = "/usr/share/poppler"},
};

static bool enter_paths(const struct sandbox_program *p)
{
    struct landlock_path all[COUNT(readable) + 2];

    memcpy(all, readable, sizeof readable);
    all[COUNT(readable)] = (struct landlock_path){.path = p->path, .may_run = true};
    all[COUNT(readable) + 1] = (struct landlock_path){.fd = p->input};
    return landlock_enter(all, COUNT(all));
}

/* Reading, its own memory, asking after itself. */
static const int harmless[] = {
    SCMP_SYS(read),
    SCMP_SYS(pread64),
    SCMP_SYS(readv),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(stat),
    SCMP_SYS(lstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(statx),
    SCMP_SYS(statfs),
    SCMP_SYS(fstatfs),
    SCMP_SYS(access),
    SCMP_SYS(faccessat),
    SCMP_SYS(faccessat2),
    SCMP_SYS(readlink),
    SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64),
    SCMP_SYS(fcntl),
    SCMP_SYS(fadvise64),
    SCMP_SYS(getcwd),
    SCMP_SYS(munmap),
    SCMP_SYS(brk),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(arch_prctl),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(getrandom),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(uname),
    SCMP_SYS(sysinfo),
    SCMP_SYS(getrusage),
    SCMP_SYS(sched_yield),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sched_getaffinity),
};

/* What a renderer never does. */
static const int deadly[] = {
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(bind),
    SCMP_SYS(clone),
    SCMP_SYS(clone3),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(execveat),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(mount),
    SCMP_SYS(unshare),
    SCMP_SYS(setns),
    SCMP_SYS(keyctl),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(memfd_create),
    SCMP_SYS(open_by_handle_at),
};

static int each(scmp_filter_ctx c, uint32_t action, const int *call, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = seccomp_rule_add(c, action, call[i], 0);
    return rc;
}

/* Memory is writable or executable, never both. */
static int allow_memory(scmp_filter_ctx c)
{
    static const int call[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
    static const scmp_datum_t prot[] = {0, PROT_WRITE, PROT_EXEC};
    int rc = 0;

    for (size_t i = 0; i < COUNT(call); i++)
        for (size_t k = 0; rc == 0 && k < COUNT(prot); k++)
            rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, call[i], 1,
                                  SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, prot[k]));
    return rc;
}

static int allow_opening(scmp_filter_ctx c)
{
    const scmp_datum_t changes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
    int rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, changes, 0));

    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
                              SCMP_A1(SCMP_CMP_MASKED_EQ, changes, 0));
    for (scmp_datum_t fd = STDOUT_FILENO; rc == 0 && fd <= STDERR_FILENO; fd++) {
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(write), 1, SCMP_A0(SCMP_CMP_EQ, fd, 0));
        if (rc == 0)
            rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(writev), 1,
                                  SCMP_A0(SCMP_CMP_EQ, fd, 0));
    }
    return rc;
}

/* The one execve is recognised by the addresses of its arguments, which the program it becomes
 * does not have. Limits may be read; abort() sends itself a signal. */
static int allow_particular(scmp_filter_ctx c, const struct sandbox_program *p)
{
    int rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(execve), 2,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)(uintptr_t)p->path, 0),
                              SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)(uintptr_t)p->argv, 0));

    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                              SCMP_A2(SCMP_CMP_EQ, 0, 0));
    if (rc == 0)
        rc = seccomp_rule_add(c, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
    return rc;
}

static bool enter_filter(const struct sandbox_program *p)
{
    scmp_filter_ctx c = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = c ? each(c, SCMP_ACT_ALLOW, harmless, COUNT(harmless)) : -1;

    if (rc == 0)
        rc = each(c, SCMP_ACT_KILL_PROCESS, deadly, COUNT(deadly));
    if (rc == 0)
        rc = allow_memory(c);
    if (rc == 0)
        rc = allow_opening(c);
    if (rc == 0)
        rc = allow_particular(c, p);
    if (rc == 0)
        rc = seccomp_load(c);
    seccomp_release(c);
    return rc == 0;
}

static int enter_limits(const struct sandbox_limits *l)
{
    if (!sandbox_is_instrumented())
        TRY(sandbox_limit(RLIMIT_AS, (unsigned long long)l->memory_mib << 20, "memory"));
    TRY(sandbox_limit_cpu(l->cpu_s));
    TRY(sandbox_limit(RLIMIT_FSIZE, 0, "file size"));
    TRY(sandbox_limit(RLIMIT_CORE, 0, "core files"));
    return sandbox_limit(RLIMIT_NOFILE, DESCRIPTORS, "descriptors");
}

int sandbox_enter_program(const struct sandbox_limits *l, const struct sandbox_program *p)
{
    int missing = 0;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err(RECTO_ERENDER, "the decoder cannot give up privileges: %s", strerror(errno));
    if ((l->without & DECODE_NO_LANDLOCK) || !enter_paths(p))
        missing |= DECODE_NO_LANDLOCK;
    TRY(enter_limits(l));
    if ((l->without & DECODE_NO_SECCOMP) || !enter_filter(p))
        missing |= DECODE_NO_SECCOMP;
    return missing;
}
