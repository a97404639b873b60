#include "result/unicode.h"

#include "base/mem.h"

struct range {
    uint32_t from, to;
};

static const struct range wide[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
    {0x4E00, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},
    {0x16FE0, 0x18AFF}, {0x1AFF0, 0x1B2FF}, {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
    {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};
static const struct range hangul[] = {{0x1100, 0x115F}, {0xA960, 0xA97F}, {0xAC00, 0xD7A3}};
static const struct range combining[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
    {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
};

static bool is_in(const struct range *r, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n; i++)
        if (code >= r[i].from && code <= r[i].to)
            return true;
    return false;
}

bool code_is_wide(uint32_t code)
{
    return code >= 0x1100 && is_in(wide, COUNT(wide), code);
}

bool code_is_cjk(uint32_t code)
{
    return code_is_wide(code) && !is_in(hangul, COUNT(hangul), code);
}

double text_width(str s)
{
    double w = 0;

    while (s.n) {
        uint32_t code;
        int n = utf8_next(s, &code);

        if (n > 0 && (code < 0x300 || !is_in(combining, COUNT(combining), code)))
            w += code_is_wide(code) ? 1 : 0.5;
        n = n > 0 ? n : n < 0 ? -n : (int)s.n;
        s.p += n, s.n -= (size_t)n;
    }
    return w;
}
