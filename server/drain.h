/* From running to ended: signals, and the order in which a server lets go.
 *
 *     SIGTERM, SIGINT   /readyz says 503; after drain-grace new work is refused; calls under way and pages of jobs have
 *                       drain-timeout to end, the rest is cancelled or goes back to the queue. A second one: exit 1 at once.
 *     SIGHUP            reread the file of keys
 *     SIGUSR1           one block of figures in the log */
#ifndef RECTO_SERVER_DRAIN_H
#define RECTO_SERVER_DRAIN_H

#include <signal.h>

struct server;

/* Block the signals above in this thread and those that it starts; ignore SIGPIPE. */
void signals_block(sigset_t *set);
/* Serve until a signal ends it, or *has_failed turns true; then drain. 0, or 1 after a second signal. */
int signals_serve(struct server *s, const sigset_t *set, const _Atomic bool *has_failed);
/* Tell the service manager (NOTIFY_SOCKET): "READY=1". Nothing happens where there is none. */
void notify(const char *state);

#endif
