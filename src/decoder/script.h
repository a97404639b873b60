/* Fixed ids in the place of the model's choice: a test instrument (device "script", src/script.h).
 *
 * A stream is what a model would say on one page, as ids: a head, a unit repeated a number of times or for ever, a tail, then
 * EOS or ids that run on without repeating.  The guard works on it as on a model: where it forbids the stream's id, the first
 * of `other` that it allows takes the place, and the step counts as an intervention.  What stands at a position does not
 * depend on what was chosen before. */
#ifndef RECTO_DECODER_SCRIPT_H
#define RECTO_DECODER_SCRIPT_H

#include "decoder/sampler.h"

enum script_end {
    SCRIPT_EOS,
    SCRIPT_RUNS_ON, /* through `on`, which is longer than any context */
    SCRIPT_FAILS,   /* the device refuses the step, as it would for a page at fault */
};

struct script_stream {
    int32_t *id; /* owned: head, unit, tail, other, one behind the other */
    int n_head, n_unit, n_tail, n_other;
    int n_times; /* of the unit; -1: for ever */
    const int32_t *on;
    int n_on;
    enum script_end end;
    float logp;   /* of every id, unmasked */
    int token_us; /* what a step takes at least */
};

/* The next id of the page; RECTO_EDEVICE where the stream fails. w is for the bans. */
int script_next(const struct script_stream *s, const struct sample_ask *ask,
                struct sampler_scratch *w, struct pick *out);
void script_stream_reset(struct script_stream *s);

#endif
