#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char text[ERR_TEXT_MAX];

void err_record(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
}

const char *err_text(void)
{
    return text;
}

int err_prefix(int code, const char *fmt, ...)
{
    char old[ERR_TEXT_MAX];
    va_list ap;
    int n;

    memcpy(old, text, sizeof old);
    va_start(ap, fmt);
    n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, ": %s", old);
    return code;
}

const char *recto_error_name(int code)
{
    switch (code) {
#define X(id, value, name, what) \
    case RECTO_##id:             \
        return name;
        RECTO_ERRORS(X)
#undef X
    }
    return code == 0 ? "OK" : "E_UNKNOWN";
}

const char *recto_error_text(int code)
{
    switch (code) {
#define X(id, value, name, what) \
    case RECTO_##id:             \
        return what;
        RECTO_ERRORS(X)
#undef X
    }
    return code == 0 ? "no error" : "unknown error";
}
