#include "result/units.h"

#include "base/mem.h"
#include "result/unicode.h"

#include <stdlib.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Bytes of the unit that s begins with: a CJK character, or all up to one or to white space. */
static size_t unit_length(str s, struct units *u)
{
    size_t n = 0;

    while (n < s.n && !is_space(s.p[n])) {
        uint32_t code = 0;
        int k = utf8_next((str){s.p + n, s.n - n}, &code);
        bool is_cjk = k > 0 && code_is_cjk(code);

        if (is_cjk && n)
            break;
        n += k > 0 ? (size_t)k : 1;
        u->n_code++;
        u->n_cjk += is_cjk;
        if (is_cjk)
            break;
    }
    return n;
}

static void add_unit(struct units *u, str text, bool after_space, int hard_line)
{
    struct unit new = {text, text_width(text), after_space, hard_line};

    if ((u->n & (u->n - 1)) == 0) {
        size_t cap = u->n ? 2 * (size_t)u->n : 1;

        u->unit = mem_grow(u->unit, cap, sizeof *u->unit);
        u->width = mem_grow(u->width, cap, sizeof *u->width);
    }
    u->width[u->n] = new.width + (after_space ? SPACE_WIDTH : 0);
    u->sum += u->width[u->n];
    u->unit[u->n++] = new;
}

void units_of(struct units *u, str text)
{
    bool after_space = false, line_ended = false;

    *u = (struct units){0};
    for (size_t i = 0; i < text.n;) {
        size_t n;

        if (is_space(text.p[i])) {
            after_space = u->n > 0;
            line_ended = line_ended || text.p[i] == '\n';
            i++;
            continue;
        }
        if (u->n == 0 || line_ended)
            u->n_hard++;
        line_ended = false;
        n = unit_length((str){text.p + i, text.n - i}, u);
        add_unit(u, (str){text.p + i, n}, after_space, u->n_hard - 1);
        after_space = false;
        i += n;
    }
}

void units_reset(struct units *u)
{
    free(u->unit);
    free(u->width);
}
