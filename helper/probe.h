/* Self-tests of the sandbox: try what must not be possible, from inside. Used by the tests only;
 * see recto-decode --probe. */
#ifndef RECTO_HELPER_PROBE_H
#define RECTO_HELPER_PROBE_H

enum { PROBE_STOPPED = 0, PROBE_WENT_THROUGH = 1, PROBE_UNKNOWN = 2 };

/* name: open, write, socket, exec, fork, memory, cpu, code. Call inside the sandbox. Either the process dies by
 * a signal, or this returns PROBE_STOPPED when the kernel refused, PROBE_WENT_THROUGH when nothing
 * stopped it. (An exec that goes through becomes /bin/false, which ends with that status too.) */
int probe_run(const char *name);

#endif
