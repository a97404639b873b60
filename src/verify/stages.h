/* recto bench stages: vision, prefill and decode of a model, each beside what the machine could do,
 * measured in the same run. */
#ifndef RECTO_VERIFY_STAGES_H
#define RECTO_VERIFY_STAGES_H

#include "backend/backend.h"
#include "recto.h"

struct stages_ask {
    const char *dir, *part; /* part NULL: all */
    const struct device_opts *dev;
    int kv_block_tok, rounds;
    recto_line_fn *print;
    recto_stage_fn *took; /* NULL: nobody asks */
    void *ctx;
};

/* As recto_bench_stages (recto.h). */
int stages_measure(const struct stages_ask *ask);

#endif
