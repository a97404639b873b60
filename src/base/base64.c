#include "base/base64.h"

void base64_add(struct buf *out, str s)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s.p;

    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        char four[4] = {digit[v >> 18], digit[v >> 12 & 63], left > 1 ? digit[v >> 6 & 63] : '=',
                        left > 2 ? digit[v & 63] : '='};

        buf_add(out, four, 4);
    }
}
