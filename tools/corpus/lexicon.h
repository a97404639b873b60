/* Text in six languages, made of parts that fit together: a sentence is a subject, a predicate and an
 * adverbial of the language's table, in the language's order. Written for this project, so pages made of
 * it may be given away (CC0). */
#ifndef CORPUS_LEXICON_H
#define CORPUS_LEXICON_H

#include "base/str.h"
#include "rng.h"

#define LEXICON_PARTS 14

struct lexicon {
    const char *code;         /* "en" */
    const char *sans, *serif; /* font families that have its letters */
    bool
        is_cjk; /* subject, adverbial, predicate without spaces; else with, and the adverbial last */
    const char *stop; /* end of a sentence, with the space that follows */
    const char *subject[LEXICON_PARTS], *predicate[LEXICON_PARTS]; /* # stands for a number */
    const char *tail[LEXICON_PARTS], *title[LEXICON_PARTS], *noun[LEXICON_PARTS];
    const char *greeting, *farewell, *figure, *table; /* "Figure #. " */
};

/* NULL when there is no such language. */
const struct lexicon *lexicon_find(str code);
extern const struct lexicon lexicons[];
extern const int n_lexicon;

/* Each appends to out. */
void lexicon_sentence(const struct lexicon *l, struct rng *r, struct buf *out);
void lexicon_paragraph(const struct lexicon *l, struct rng *r, int n_sentence, struct buf *out);
/* A part with # replaced by n. */
void lexicon_numbered(const char *part, int n, struct buf *out);

#endif
