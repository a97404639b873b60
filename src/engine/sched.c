#include "engine/sched.h"

#include "base/mem.h"

bool sched_next(const struct sched_seq *seq, int n, int chunk_tok, struct sched_step *step)
{
    int budget = chunk_tok;

    step->encode = -1;
    step->n_part = 0;
    for (int i = 0; i < n; i++) {
        int n_tok;

        if (seq[i].n_view_todo) {
            if (step->encode < 0)
                step->encode = i;
            continue;
        }
        n_tok = seq[i].n_todo == 1 ? 1 : MIN(seq[i].n_todo, budget);
        if (n_tok <= 0)
            continue;
        if (seq[i].n_todo > 1)
            budget -= n_tok;
        step->part[step->n_part++] = (struct sched_part){i, n_tok, n_tok == seq[i].n_todo};
    }
    return step->encode >= 0 || step->n_part > 0;
}
