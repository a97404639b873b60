/* From logits to the next id: the n-gram ban, then greedy or temperature / top-p.
 *
 * Sources: windowed ban, process/ngram_norepeat.py of deepseek-ai/DeepSeek-OCR-2 (DeepSeek-OCR2-vllm); whole-sequence ban,
 * no_repeat_ngram_size of huggingface/transformers (NoRepeatNGramLogitsProcessor).  Ties go to the lowest id.  Works on
 * host logits; knows no tensor. */
#ifndef RECTO_DECODER_SAMPLER_H
#define RECTO_DECODER_SAMPLER_H

#include "backend/sample.h"

/* Working memory, allocated once for the longest sequence and the vocabulary, so that a step allocates nothing. */
struct sampler_scratch {
    int32_t *ban;           /* [max_tok] */
    float *saved;           /* [max_tok] */
    float *weight, *sorted; /* [n_vocab] */
};
void sampler_scratch_init(struct sampler_scratch *w, int max_tok, int n_vocab);
void sampler_scratch_reset(struct sampler_scratch *w);

/* The ids that the guard forbids after `all` (prompt and generated ids, n_prompt of them prompt) into out (room for
 * n_all); returns how many, perhaps with repeats. */
int sampler_bans(const struct guard *g, const int32_t *all, int n_all, int n_prompt, int32_t *out);

/* Choose the next id from logits [n_vocab], which are changed at banned ids and restored before returning.  If every id is
 * banned the ban is ignored. */
struct pick sampler_next(const struct sample_ask *ask, float *logits, int n_vocab,
                         struct sampler_scratch *w);

/* The choice among what n ranks found in their parts of the logits, in the order of their ids; n is 1 where one device has them
 * all.  As greedy sampler_next: equal logits go to the lowest id, and a ban of every id is ignored. */
struct pick sampler_join(const struct choice *const *part, int n);

#endif
