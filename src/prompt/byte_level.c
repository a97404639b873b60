#include "prompt/byte_level.h"

static bool stands_for_itself(uint32_t code)
{
    return (code >= 33 && code <= 126) || (code >= 161 && code <= 255 && code != 173);
}

int byte_level_byte(uint32_t code)
{
    if (code < 256)
        return stands_for_itself(code) ? (int)code : -1;
    code -= 256; /* how many of the 68 others come before */
    if (code <= 32)
        return (int)code;
    if (code == 33)
        return 127;
    if (code <= 66)
        return (int)(128 + code - 34);
    return code == 67 ? 173 : -1;
}

int64_t byte_level_decode(str text, char *out)
{
    int64_t n = 0;

    while (text.n) {
        uint32_t code;
        int len = utf8_next(text, &code);
        int byte = len > 0 ? byte_level_byte(code) : -1;

        if (byte < 0)
            return -1;
        out[n++] = (char)byte;
        text.p += len;
        text.n -= (size_t)len;
    }
    return n;
}
