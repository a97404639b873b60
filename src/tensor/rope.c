#include "tensor/rope.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

tensor load_rope(struct loader *ld, int n_pos, int head_dim, double theta)
{
    int half = head_dim / 2;
    float *table = mem_alloc((size_t)n_pos * (size_t)head_dim * sizeof *table);
    tensor t;

    for (int i = 0; i < half; i++) {
        float freq = 1.0f / powf((float)theta, (float)(2 * i) / (float)head_dim);

        for (int p = 0; p < n_pos; p++) {
            float angle = (float)p * freq;

            table[(size_t)p * head_dim + i] = cosf(angle);
            table[(size_t)p * head_dim + half + i] = sinf(angle);
        }
    }
    t = load_computed(ld, n_pos, head_dim, table);
    free(table);
    return t;
}
