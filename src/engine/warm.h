/* The largest steps of a runner, run once before its rank joins others (runner_open.c). */
#ifndef RECTO_ENGINE_WARM_H
#define RECTO_ENGINE_WARM_H

#include "engine/runner.h"

/* Prompts of max_tok rows and of every power of two below, then max_out decoding rows at the end of the context.  Everything goes
 * to the block that is no page's. */
int runner_warm(struct runner *rn, const struct runner_opts *o, int block_tok);

#endif
