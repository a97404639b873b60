#include "result/clean.h"

#include "base/mem.h"

/* Length of the front of s that clean_add copies as it is. */
static size_t good_prefix(str s, unsigned flags)
{
    size_t i = 0;

    while (i < s.n) {
        unsigned char b = (unsigned char)s.p[i];
        uint32_t code;
        int len;

        if (b >= 0x20 && b < 0x80) {
            i++;
            continue;
        }
        len = utf8_next((str){s.p + i, s.n - i}, &code);
        if (len <= 0)
            break;
        if ((flags & CLEAN_CONTROLS) &&
            (is_noncharacter(code) || (code < 0x20 && code != '\t' && code != '\n')))
            break;
        i += (size_t)len;
    }
    return i;
}

bool clean_already(str in, unsigned flags)
{
    return good_prefix(in, flags) == in.n;
}

void clean_add(struct buf *out, str in, unsigned flags)
{
    while (in.n) {
        size_t good = good_prefix(in, flags);
        uint32_t code;
        int len;

        buf_add(out, in.p, good);
        in.p += good, in.n -= good;
        if (!in.n)
            break;
        len = utf8_next(in, &code);
        if (len == 0 && (flags & CLEAN_CUT_TAIL))
            break;
        buf_utf8(out, 0xFFFD);
        good = len == 0 ? in.n : (size_t)(len < 0 ? -len : len);
        in.p += good, in.n -= good;
    }
}

char *clean_dup(str in, unsigned flags, size_t *n)
{
    struct buf b = {0};

    if (clean_already(in, flags)) {
        *n = in.n;
        return mem_strndup(in.n ? in.p : "", in.n);
    }
    clean_add(&b, in, flags);
    buf_add(&b, "", 0);
    *n = b.n;
    return b.p;
}

size_t clean_cut(str s, size_t n)
{
    if (n >= s.n)
        return s.n;
    while (n > 0 && ((unsigned char)s.p[n] & 0xC0) == 0x80)
        n--;
    return n;
}
