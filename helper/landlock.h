/* Landlock: from now on this process, and any program it becomes, reaches no path but those given.
 * Source: Linux Documentation/userspace-api/landlock.rst (ABI versions, best-effort use). */
#ifndef RECTO_HELPER_LANDLOCK_H
#define RECTO_HELPER_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* A file, or a folder with everything under it, that may be read. */
struct landlock_path {
    const char *path; /* NULL: fd, an open file */
    int fd;
    bool may_run; /* the file may be executed too */
};

/* Allow reading these and nothing else: no other path, no writing, no TCP, no signals outward, as
 * far as the kernel knows of these. A path that does not exist is left out. False when the kernel
 * has no Landlock; then nothing has changed. Needs PR_SET_NO_NEW_PRIVS. */
bool landlock_enter(const struct landlock_path *allowed, size_t n);

#endif
