/* Start a program that knows nothing of this one: no environment, no descriptor but those given, its own process group (so
 * that Ctrl-C does not reach it), default signals. */
#ifndef RECTO_PAGE_SPAWN_H
#define RECTO_PAGE_SPAWN_H

#include <sys/types.h>

#define SPAWN_FDS 4 /* at most so many descriptors, 0 to 3 */

/* fd[i] becomes its descriptor i; -1: the one of this process, for 0 to 2. All others have gone through spawn_raise.
 * argv[0] is the path. 0 or errno. */
int spawn_program(pid_t *pid, const char *const *argv, const int *fd, int n);

/* The same descriptor with a number that no program's own can hit; the old one is closed. -1: errno. */
int spawn_raise(int fd);
/* A pipe, and a stream for both directions, of raised descriptors that close on exec. 0 or errno. */
int spawn_pipe(int fd[2]);
int spawn_stream(int fd[2]);

#endif
