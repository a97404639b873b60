#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static struct {
    recto_log_fn *fn;
    void *ctx;
    enum recto_log_level least;
} sink;

void log_set(recto_log_fn *fn, void *ctx, enum recto_log_level least)
{
    sink.fn = fn;
    sink.ctx = ctx;
    sink.least = least;
}

void log_line(enum recto_log_level level, const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    if (!sink.fn || level < sink.least)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    sink.fn(sink.ctx, level, line);
}
