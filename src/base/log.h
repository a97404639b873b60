/* One fact a line, `key=value`, through the caller's callback (recto_settings.log); silent until one is set.
 * A line about something wrong says what to do. */
#ifndef RECTO_BASE_LOG_H
#define RECTO_BASE_LOG_H

#include "recto.h"

/* Process-wide; call before threads start. NULL silences. */
void log_set(recto_log_fn *fn, void *ctx, enum recto_log_level least);
void log_line(enum recto_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_line(RECTO_LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_line(RECTO_LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_line(RECTO_LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(RECTO_LOG_ERROR, __VA_ARGS__)

#endif
