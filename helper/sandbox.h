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

#endif
