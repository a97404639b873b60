/* Taps of the reference against ours: what `recto verify --golden` compares, apart from how the model is run. */
#ifndef RECTO_VERIFY_GOLDEN_H
#define RECTO_VERIFY_GOLDEN_H

#include "base/str.h"
#include "recto.h"
#include "tensor/quant.h"
#include "tensor/safetensors.h"

/* Source of the bounds: golden/README.md; a correct fp32 port reaches 2.4e-6 and 3.7e-5, a norm eps of 1e-5 already moves
 * the worst tap by 7e-5. */
#define GOLDEN_TAP_REL    1e-5
#define GOLDEN_LOGITS_ABS 1e-4

/* With int8 or int4 weights the decoder cannot be the reference's; its taps, logits and the divergence
 * of what is predicted get bounds of their kind, and ids are only counted. They are twice what the tiny
 * model of tests/golden was measured at, whose matrices are 40 to 160 wide. */
struct golden_bounds {
    double tap_rel, logits_abs, kl; /* kl: mean over positions, in nats */
};
struct golden_bounds golden_bounds_of(enum weight_kind k);

struct golden {
    const struct ckpt *want;
    enum weight_kind kind; /* of the decoder's matrices */
    bool *is_seen;         /* [want->n_tensor] */
    int n_bad;
    double worst_rel, worst_logit, worst_kl;
    recto_line_fn *print;
    void *print_ctx;
};

/* A tap_fn (backend/op.h): ctx is a struct golden. Taps that the file does not name are passed over. */
void golden_tap(void *ctx, const char *name, tensor t);
/* Rows of logits, [rows, vocab], against a tensor of that name; their Kullback-Leibler divergence from the reference's, too:
 * sum over ids of p log(p / q), p the reference's probabilities, q ours. */
void golden_logits(struct golden *g, const char *name, const float *got, int64_t rows,
                   int64_t vocab);
/* Ids against a tensor of that name: prints "n/64". */
void golden_ids(struct golden *g, const char *name, const int32_t *got, int64_t n);
/* Every tensor that the file names and nothing was compared with is a failure. */
void golden_missing(struct golden *g);

void golden_line(struct golden *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
