/* A storm over an engine: pages of all classes join, are cancelled, run out of time and blocks, break; and at the end nothing
 * may be lost, doubled or left over. Shared by the simulated device and the mini model. */
#ifndef STORM_H
#define STORM_H

#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct storm_page {
    struct request req;
    int n_done; /* on_done calls: exactly one */
    int which;  /* which of the pictures */
    bool may_fail;
};

static uint32_t storm_rng = 1;

static uint32_t storm_random(uint32_t below)
{
    storm_rng ^= storm_rng << 13;
    storm_rng ^= storm_rng >> 17;
    storm_rng ^= storm_rng << 5;
    return storm_rng % below;
}

static void storm_done(struct request *q)
{
    struct storm_page *p = q->owner;

    p->n_done++;
}

#endif
