/* Ids for tests of result/: one per byte, then the special tokens and a few long pieces. */
#ifndef RECTO_TESTS_RESULT_PAGES_H
#define RECTO_TESTS_RESULT_PAGES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "recto.h"
#include "result/parse.h"

#include <stdlib.h>

enum {
    ID_EOS = 256,
    ID_REF,
    ID_REF_CLOSE,
    ID_DET,
    ID_DET_CLOSE,
    ID_IMAGE,
    ID_TD,
    ID_TD_CLOSE,
    ID_NO_TEXT,
    N_PIECE,
};

static const struct parse_markers test_markers = {ID_REF, ID_REF_CLOSE, ID_DET, ID_DET_CLOSE,
                                                  ID_EOS};

/* The bytes of every id. */
static inline const str *test_pieces(void)
{
    static str piece[N_PIECE];
    static char byte[256];

    for (int i = 0; i < 256; i++) {
        byte[i] = (char)i;
        piece[i] = (str){&byte[i], 1};
    }
    piece[ID_EOS] = STR("<｜end▁of▁sentence｜>");
    piece[ID_REF] = STR("<|ref|>");
    piece[ID_REF_CLOSE] = STR("<|/ref|>");
    piece[ID_DET] = STR("<|det|>");
    piece[ID_DET_CLOSE] = STR("<|/det|>");
    piece[ID_IMAGE] = STR("<image>");
    piece[ID_TD] = STR("<td>");
    piece[ID_TD_CLOSE] = STR("</td>");
    piece[ID_NO_TEXT] = (str){"", 0};
    return piece;
}

/* The id whose long piece s begins with, else that of its first byte. */
static inline int32_t test_id_at(str s)
{
    for (int32_t i = ID_EOS; i < ID_NO_TEXT; i++)
        if (str_starts(s, test_pieces()[i]))
            return i;
    return (unsigned char)s.p[0];
}

/* Tokenise s: markers as their ids. Returns the count; *id is the caller's. */
static inline size_t test_ids(str s, int32_t **id)
{
    size_t n = 0;

    *id = mem_alloc((s.n + 1) * sizeof **id);
    for (size_t i = 0; i < s.n; n++) {
        (*id)[n] = test_id_at((str){s.p + i, s.n - i});
        i += test_pieces()[(*id)[n]].n;
    }
    return n;
}

/* Parse s as ids. */
static inline struct recto_page test_page(str s, enum recto_finish finish)
{
    struct recto_page page = {.number = 1};
    int32_t *id;
    size_t n = test_ids(s, &id);

    parse_ids(id, n, test_pieces(), N_PIECE, &test_markers, finish, &page);
    free(id);
    return page;
}

#define REF(label) "<|ref|>" label "<|/ref|>"
#define DET(boxes) "<|det|>" boxes "<|/det|>"
#define BOX        "[[100, 50, 500, 80]]"
#define PAGE(text) test_page(STR(text), RECTO_FINISH_EOS)

#endif
