#include "result/detok.h"

void detok_init(struct detok *d, const str *piece, int n_piece)
{
    *d = (struct detok){.piece = piece, .n_piece = n_piece};
}

/* Move whole characters from s to out; the number of bytes used. The rest, if any, is the start of
 * a character. */
static size_t put_whole(struct detok *d, str s, struct buf *out)
{
    size_t used = 0, copied = 0;

    while (used < s.n) {
        uint32_t code;
        int len = utf8_next((str){s.p + used, s.n - used}, &code);

        if (len == 0)
            break;
        if (len > 0) {
            used += (size_t)len;
            continue;
        }
        buf_add(out, s.p + copied, used - copied);
        buf_utf8(out, 0xFFFD);
        d->n_invalid++;
        used += (size_t)-len;
        copied = used;
    }
    buf_add(out, s.p + copied, used - copied);
    return used;
}

/* Finish, byte by byte, the character that an earlier id began; what is left of s. */
static str put_held(struct detok *d, str s, struct buf *out)
{
    while (d->n_held && s.n) {
        d->held[d->n_held++] = *s.p++;
        s.n--;
        size_t n = (size_t)d->n_held, used = put_whole(d, (str){d->held, n}, out);
        memmove(d->held, d->held + used, n - used);
        d->n_held = (int)(n - used);
    }
    return s;
}

void detok_put(struct detok *d, int32_t id, struct buf *out)
{
    str s = id >= 0 && id < d->n_piece ? d->piece[id] : (str){"", 0};

    if (s.n == 0) {
        d->n_textless++;
        return;
    }
    s = put_held(d, s, out);
    size_t used = put_whole(d, s, out);
    for (size_t i = used; i < s.n; i++)
        d->held[d->n_held++] = s.p[i];
}

int detok_flush(struct detok *d)
{
    int n = d->n_held;

    d->n_held = 0;
    return n;
}
