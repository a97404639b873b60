#include "result/lex.h"

#include "base/mem.h"

#define SPECIAL_MAX 64 /* bytes of the longest special token, with room */

static const struct {
    str spelling;
    enum lex_kind kind;
} spelled[] = {
    {{"<|ref|>", 7}, LEX_REF_OPEN},
    {{"<|/ref|>", 8}, LEX_REF_CLOSE},
    {{"<|det|>", 7}, LEX_DET_OPEN},
    {{"<|/det|>", 8}, LEX_DET_CLOSE},
    {{"<image>", 7}, LEX_DROPPED},
    {{"<|grounding|>", 13}, LEX_DROPPED},
    {{"<|EOT|>", 7}, LEX_DROPPED},
    {{"<|User|>", 8}, LEX_DROPPED},
    {{"<|Assistant|>", 13}, LEX_DROPPED},
    {{"<｜begin▁of▁sentence｜>", sizeof "<｜begin▁of▁sentence｜>" - 1}, LEX_DROPPED},
    {{"<｜end▁of▁sentence｜>", sizeof "<｜end▁of▁sentence｜>" - 1}, LEX_EOS},
    {{"<｜▁pad▁｜>", sizeof "<｜▁pad▁｜>" - 1}, LEX_DROPPED},
};

/* One token that spells <|word|>, <｜word｜> or <image> is an added token: the pre-tokenizer parts
 * letters from the bars, so no merge can have made it. */
static bool is_special_piece(str s)
{
    if (s.n > SPECIAL_MAX || s.n < 5 || s.p[0] != '<' || s.p[s.n - 1] != '>')
        return false;
    return str_eq(s, STR("<image>")) || (str_starts(s, STR("<|")) && str_ends(s, STR("|>"))) ||
           (str_starts(s, STR("<｜")) && str_ends(s, STR("｜>")));
}

static enum lex_kind next_id(struct lex *x, str *bytes)
{
    const struct parse_markers *m = &x->marker;
    int32_t id;

    if (x->at == x->n_id)
        return LEX_END;
    id = x->id[x->at++];
    *bytes = id >= 0 && id < x->n_piece ? x->piece[id] : (str){"", 0};
    if (id < 0)
        return LEX_DROPPED;
    if (id == m->eos)
        return LEX_EOS;
    if (id == m->ref_open)
        return LEX_REF_OPEN;
    if (id == m->ref_close)
        return LEX_REF_CLOSE;
    if (id == m->det_open)
        return LEX_DET_OPEN;
    if (id == m->det_close)
        return LEX_DET_CLOSE;
    return bytes->n == 0 || is_special_piece(*bytes) ? LEX_DROPPED : LEX_TEXT;
}

/* The special spelling that s begins with, or -1. */
static int spelled_at(str s)
{
    for (size_t i = 0; i < COUNT(spelled); i++)
        if (str_starts(s, spelled[i].spelling))
            return (int)i;
    return -1;
}

static enum lex_kind next_text(struct lex *x, str *bytes)
{
    size_t from = x->at;

    for (; x->at < x->text.n; x->at++) {
        const char *p = x->text.p + x->at;
        int i = *p == '<' ? spelled_at((str){p, x->text.n - x->at}) : -1;

        if (i < 0)
            continue;
        if (x->at > from)
            break;
        *bytes = (str){p, spelled[i].spelling.n};
        x->at += bytes->n;
        return spelled[i].kind;
    }
    *bytes = (str){x->text.p + from, x->at - from};
    return bytes->n ? LEX_TEXT : LEX_END;
}

enum lex_kind lex_next(struct lex *x, str *bytes)
{
    *bytes = (str){"", 0};
    return x->id ? next_id(x, bytes) : next_text(x, bytes);
}
