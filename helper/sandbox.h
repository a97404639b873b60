/* The sandbox of recto-decode: after sandbox_enter this process can compute, and talk over the
 * descriptors it already has. It cannot open a file, make a socket, start a program, map code, or
 * use more memory or time than given.
 *
 *     rlimits    memory, CPU time, no file growth, no new descriptors, no core file
 *     Landlock   no access to any path; no TCP, no signals outward, if the kernel knows of these
 *     seccomp    an allow-list of system calls; anything else kills the process
 *
 * The three overlap on purpose: a kernel or container may lack the second or the third. */
#ifndef RECTO_HELPER_SANDBOX_H
#define RECTO_HELPER_SANDBOX_H

#include <stdbool.h>

struct sandbox_limits {
    int memory_mib;   /* address space */
    int cpu_s;        /* CPU time of the whole process */
    unsigned without; /* enum decode_sandbox: do as if the kernel lacked these; for tests */
};

/* Whether this build runs under a sanitizer, whose shadow memory no address space limit allows. */
bool sandbox_is_instrumented(void);

/* Enter it, for good. Returns what is missing (enum decode_sandbox), or a negative RECTO_* when
 * even the limits could not be set. Call before the first byte from outside is read. */
int sandbox_enter(const struct sandbox_limits *l);

/* The second profile: for becoming another program, poppler's, that draws a PDF. It needs what any
 * program needs to start (its loader, libraries, fonts), so:
 *
 *     rlimits    memory, CPU time, no file growth, few descriptors, no core file
 *     Landlock   reads libraries, fonts, poppler's tables and the document; runs the program only
 *     seccomp    an allow-list; opens for reading only; one execve, this one; others are refused,
 *                and sockets, new processes and tracing kill the process
 *
 * Enter it, then execve(path, argv, environment without anything) with these very pointers. */
struct sandbox_program {
    const char *path;
    char *const *argv;
    int input; /* descriptor of the document, which the program opens as /proc/self/fd/N */
};
int sandbox_enter_program(const struct sandbox_limits *l, const struct sandbox_program *p);

/* setrlimit of both values. For the two profiles. RECTO_ERENDER names it. */
int sandbox_limit(int what, unsigned long long value, const char *name);
/* CPU time: SIGXCPU at the limit, which says what has happened, and SIGKILL a little later for who ignores it. */
int sandbox_limit_cpu(int cpu_s);

#endif
