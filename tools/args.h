/* Arguments of the programs in tools/. */
#ifndef RECTO_TOOLS_ARGS_H
#define RECTO_TOOLS_ARGS_H

#include "base/err.h"

#include <errno.h>
#include <stdlib.h>

/* A whole number from lo to hi; RECTO_EUSAGE names the option. */
static inline int args_number(const char *option, const char *text, long long lo, long long hi,
                              long long *out)
{
    char *end;

    errno = 0;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || errno || *out < lo || *out > hi)
        return err(RECTO_EUSAGE, "--%s %s: expected a whole number from %lld to %lld", option, text,
                   lo, hi);
    return 0;
}

#endif
