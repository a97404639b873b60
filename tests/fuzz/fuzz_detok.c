/* Bytes cut into pieces as the input says: the text is valid UTF-8 after every id, and the same as
 * without cuts. Input: [cuts: 1 byte a piece, its length modulo 8, until 0xff] then the bytes. */
#include "result/detok.h"

#define MAX_PIECE 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_utf8(str s)
{
    uint32_t code;

    while (s.n) {
        int len = utf8_next(s, &code);
        if (len <= 0)
            __builtin_trap();
        s.p += len, s.n -= (size_t)len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t n_cut = 0, at = 0;
    str piece[MAX_PIECE + 1];
    struct buf cut = {0}, whole = {0};
    struct detok a, b;
    int n_piece = 0;

    while (n_cut < size && data[n_cut] != 0xff)
        n_cut++;
    str text = {(const char *)data + n_cut, size - n_cut};
    for (size_t i = 0; i < n_cut && n_piece < MAX_PIECE; i++) {
        size_t n = data[i] % 8 < text.n - at ? data[i] % 8 : text.n - at;
        piece[n_piece++] = (str){text.p + at, n};
        at += n;
    }
    piece[n_piece++] = (str){text.p + at, text.n - at};

    detok_init(&a, piece, n_piece);
    for (int i = -1; i <= n_piece; i++) { /* with an id too low and one too high */
        size_t before = cut.n;
        detok_put(&a, i, &cut);
        check_utf8((str){buf_view(&cut).p + before, cut.n - before});
    }
    detok_init(&b, &text, 1);
    detok_put(&b, 0, &whole);
    if (!str_eq(buf_view(&cut), buf_view(&whole)) || a.n_invalid != b.n_invalid)
        __builtin_trap();
    if (detok_flush(&a) != detok_flush(&b) || a.n_textless < 2)
        __builtin_trap();
    buf_reset(&cut);
    buf_reset(&whole);
    return 0;
}
