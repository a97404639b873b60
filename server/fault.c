#include "fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct fault_note last;

static const char *const codes[] = {"ok",
#define X(id, code) code,
                                    JOBS_ERRORS(X)
#undef X
};

const char *jobs_error_code(int rc)
{
    int n = (int)(sizeof codes / sizeof *codes);

    return rc <= 0 && -rc < n ? codes[-rc] : "internal";
}

const char *jobs_last_error(void)
{
    return last.text;
}

const char *jobs_last_param(void)
{
    return last.param;
}

int fault(int code, const char *param, const char *fmt, ...)
{
    char text[sizeof last.text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    memcpy(last.text, text, sizeof text);
    last.param = param;
    return last.code = code;
}

int fault_write(const char *what)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;

    return fault(is_full ? JOBS_STORAGE_FULL : JOBS_INTERNAL, NULL, "cannot write %s: %s%s", what,
                 strerror(errno), is_full ? "; free some space and try again" : "");
}

void fault_save(struct fault_note *n, int code)
{
    *n = last;
    n->code = code;
}

int fault_load(const struct fault_note *n)
{
    if (n->code < 0)
        last = *n;
    return n->code;
}
