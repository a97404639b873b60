/* What choosing the next id takes: shared by the host's sampler (decoder/sampler.h) and by backends that choose themselves. */
#ifndef RECTO_BACKEND_SAMPLE_H
#define RECTO_BACKEND_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLER_WHOLE (-1) /* window: the whole sequence, prompt included */

struct guard {
    int n;             /* n-gram size; 0: off */
    int window;        /* tokens; SAMPLER_WHOLE */
    int32_t exempt[2]; /* ids never banned under a window, -1: none (</td>, <td>) */
};

struct sampler {
    struct guard guard;
    double temperature, top_p; /* temperature 0: greedy */
    uint64_t seed;
};

/* One sequence whose next id is wanted. */
struct sample_ask {
    const struct sampler *sampler;
    const int32_t *id; /* [n_id] prompt and new ids, n_prompt of them prompt */
    int n_id, n_prompt;
    uint64_t
        image; /* of the page's content; 0: unknown; and the id that ends a page: only a simulated device looks at these */
    int32_t eos;
    int32_t first_id; /* of the logits at hand, where they are a rank's part of all */
};

/* What a device found among the logits that it has, for one sequence. */
struct choice {
    int32_t id, best; /* best id that is not banned, where there is one; best of all */
    float logit, max,
        sum; /* logit of id, -INFINITY: all are banned; of best; sum of exp(x - max) */
};

struct pick {
    int32_t id;
    float logp;      /* log-softmax of the unmasked logits at id */
    bool intervened; /* the unmasked arg-max was banned */
};

#endif
