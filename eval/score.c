#include "score.h"

#include <string.h>

double eval_rate(struct eval_errors e)
{
    return e.ref ? (double)e.edits / (double)e.ref : e.edits ? 1 : 0;
}

struct eval_errors eval_char_errors(const struct eval_text *truth, const struct eval_text *text)
{
    return (struct eval_errors){eval_lev(truth, text), truth->n};
}

static struct eval_text squeezed(const struct eval_text *t)
{
    struct eval_text out = {eval_alloc(t->n, sizeof *t->code), t->n};

    memcpy(out.code, t->code, t->n * sizeof *t->code);
    eval_text_squeeze(&out);
    return out;
}

struct eval_errors eval_char_errors_ns(const struct eval_text *truth, const struct eval_text *text)
{
    struct eval_text a = squeezed(truth), b = squeezed(text);
    struct eval_errors e = eval_char_errors(&a, &b);

    eval_text_reset(&a);
    eval_text_reset(&b);
    return e;
}

struct eval_errors eval_word_errors(const struct eval_text *truth, const struct eval_text *text)
{
    struct eval_text a, b;

    eval_words_of(truth, text, &a, &b);
    struct eval_errors e = {eval_lev(&a, &b), a.n};
    eval_text_reset(&a);
    eval_text_reset(&b);
    return e;
}

double eval_ned(const struct eval_text *a, const struct eval_text *b)
{
    size_t longer = a->n > b->n ? a->n : b->n;

    return longer ? (double)eval_lev(a, b) / (double)longer : 0;
}

double eval_cer(const char *truth, const char *text, enum eval_norm norm)
{
    struct eval_text a = eval_text_of(truth, strlen(truth), norm);
    struct eval_text b = eval_text_of(text, strlen(text), norm);
    double cer = eval_rate(eval_char_errors(&a, &b));

    eval_text_reset(&a);
    eval_text_reset(&b);
    return cer;
}
