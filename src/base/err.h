/* Errors: one list of codes, one sentence for the human.
 *
 * A function that can fail returns 0 or a negative code.  err() writes the sentence that a user will read ("page.png: cut
 * short: 12 of 800 rows") into a buffer of the calling thread and returns the code, so `return err(RECTO_EKIND, ...)` is
 * the whole idiom; TRY passes a failure on.  err_text() is the last sentence of this thread: copy it before it crosses to
 * another one.  RECTO_EAGAIN and RECTO_ENOSPC are ordinary answers and carry no sentence.
 * Codes and their printed names are in recto.h (RECTO_ERRORS), since callers see them too. */
#ifndef RECTO_BASE_ERR_H
#define RECTO_BASE_ERR_H

#include "recto.h"

#define ERR_TEXT_MAX 512

/* Record a sentence (printf style, no trailing newline); the value is code. A macro, so that readers and analysers of a caller
 * see which code comes back. */
#define err(code, ...) (err_record(__VA_ARGS__), err_code(code))
static inline int err_code(int code)
{
    return code;
}
void err_record(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The last sentence recorded by this thread; "" if there was none. Valid until the next err() of this thread. */
const char *err_text(void);

/* Put `prefix: ` in front of the sentence of a failure that just came back; returns code. */
int err_prefix(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define TRY(expr)             \
    do {                      \
        int try_rc_ = (expr); \
        if (try_rc_ < 0)      \
            return try_rc_;   \
    } while (0)

/* As TRY, for functions with one clean-up label: needs `int rc` and `out:` in scope. */
#define TRY_OUT(expr) \
    do {              \
        rc = (expr);  \
        if (rc < 0)   \
            goto out; \
    } while (0)

#endif
