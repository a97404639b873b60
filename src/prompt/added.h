/* Added tokens: texts such as "<image>" that are cut out of the input before anything else and
 * become one id each. */
#ifndef RECTO_PROMPT_ADDED_H
#define RECTO_PROMPT_ADDED_H

#include "base/str.h"

struct added_token {
    str text; /* borrowed from the vocabulary's pieces */
    int32_t id;
};

struct added {
    struct added_token *token; /* sorted by bytes once added_sort has run */
    int n, cap;
    bool starts[256]; /* some token starts with this byte */
};

void added_put(struct added *a, str text, int32_t id);
/* Call once after the last added_put. RECTO_EFORMAT: two tokens with one text. */
int added_sort(struct added *a);
void added_reset(struct added *a);

/* The id of exactly this text; -1 if there is none. */
int32_t added_find(const struct added *a, str text);

/* The first token in text at or after byte `from`, of several there the longest: its id, and its
 * place in *start and *len; -1 if there is none. Costs O(length of a token x log n) a place where
 * one could start. */
int32_t added_next(const struct added *a, str text, size_t from, size_t *start, size_t *len);

#endif
