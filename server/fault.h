/* What went wrong in a call of jobs.h: the code is returned, the sentence and the member at fault are kept for the thread. */
#ifndef RECTO_SERVER_FAULT_H
#define RECTO_SERVER_FAULT_H

#include "jobs.h"

/* Keep the sentence (it says what to do) and give code back. param: a literal, or NULL. */
int fault(int code, const char *param, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The fault of a failed write, by errno: JOBS_STORAGE_FULL or JOBS_INTERNAL. what: the path or thing. */
int fault_write(const char *what);

/* Carry a fault over from one thread to another. */
struct fault_note {
    int code;
    const char *param;
    char text[512];
};
void fault_save(struct fault_note *n, int code);
int fault_load(const struct fault_note *n);

#define TRY(expr)        \
    do {                 \
        int try_ = expr; \
        if (try_ < 0)    \
            return try_; \
    } while (0)

#endif
