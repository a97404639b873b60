/* Who runs next: integers in, integers out.  Knows nothing of tensors, requests or devices; engine thread only.
 *
 * Policy: every sequence that decodes gets its row in each step; what is left of the step's token budget goes to prompts,
 * the oldest first, in chunks; one group of views is encoded between two token steps, so a page that arrives never stops
 * the others for longer than one group. */
#ifndef RECTO_ENGINE_SCHED_H
#define RECTO_ENGINE_SCHED_H

#include <stdbool.h>

struct sched_seq {
    int n_view_todo; /* views not yet encoded; rows may not run before it is 0 */
    int n_todo;      /* known ids not yet in the cache: 1 while decoding, more while the prompt runs */
};

struct sched_part {
    int seq;        /* index into the caller's array */
    int n_tok;      /* rows of this step */
    bool is_last;   /* reaches the end of the known ids: its last row's logits are wanted */
};

struct sched_step {
    int encode;     /* sequence whose next group of views is encoded, -1: none */
    int n_part;
    struct sched_part *part; /* room for as many as there are sequences */
};

/* seq [n] in order of age. True if there is anything to do. n_tok of all parts is at most n + chunk_tok. */
bool sched_next(const struct sched_seq *seq, int n, int chunk_tok, struct sched_step *step);

#endif
