/* Run a program on an open file and take what it prints, within limits: recto-decode as pdfinfo or
 * pdftoppm. What it prints is from outside: nothing is believed of it here. */
#ifndef RECTO_PAGE_TOOL_H
#define RECTO_PAGE_TOOL_H

#include "base/str.h"

#define TOOL_COMPLAINT_MAX 65536

struct tool_ask {
    const char *const *argv; /* argv[0] is the path; NULL-terminated */
    int input;               /* its standard input: an open file */
    size_t expect;           /* bytes of output to make room for */
    size_t max_out;          /* bytes of output at most */
    int timeout_ms;          /* of waiting (patience.h) */
};

enum tool_end {
    TOOL_EXITED,   /* with `status` */
    TOOL_KILLED,   /* by signal `status` */
    TOOL_LATE,     /* ended by us: timeout_ms went by */
    TOOL_TOO_MUCH, /* ended by us: more than max_out */
};

struct tool_result {
    struct buf out;
    struct buf complaint; /* the start of its standard error */
    enum tool_end end;
    int status;
};

/* No environment, no other descriptor, its own process group, default signals. RECTO_ERENDER when
 * it cannot be started; else 0, however it ended. tool_reset r after either. */
int tool_run(struct tool_result *r, const struct tool_ask *a);
void tool_reset(struct tool_result *r);

#endif
