/* The helper process: started, talked to under a deadline, and ended.  It holds nothing worth
 * keeping, so it is always ended by SIGKILL; whatever goes wrong, the next page gets a new one. */
#ifndef RECTO_PAGE_HELPER_H
#define RECTO_PAGE_HELPER_H

#include "page/patience.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct helper {
    pid_t pid;        /* 0: not running */
    int fd;           /* our end of the stream; -1 */
    unsigned missing; /* enum decode_sandbox, from its greeting */
};

#define HELPER_NONE ((struct helper){.fd = -1})

/* Start `path`: no environment, no descriptor but the stream, its own process group (so that Ctrl-C
 * does not reach it), default signals. It may use cpu_s seconds of CPU time, and retires after a
 * third of them. Waits for its greeting as long as w says. RECTO_ERENDER names the path and the reason. */
int helper_start(struct helper *h, const char *path, bool is_strict, int cpu_s, struct patience *w);
/* Whether it is running, as far as one can tell without talking to it. */
bool helper_is_alive(const struct helper *h);
/* Send or receive exactly n bytes, waiting as long as w says. On failure the helper is ended and
 * RECTO_ERENDER says why: `page could not be drawn: REASON`; RECTO_ETOOLARGE when it was its CPU
 * limit. Never raises SIGPIPE. */
int helper_send(struct helper *h, const void *p, size_t n, struct patience *w);
int helper_receive(struct helper *h, void *p, size_t n, struct patience *w);
void helper_stop(struct helper *h); /* also when not running */

#endif
