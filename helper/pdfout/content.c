/* Sources: ISO 32000-1, 7.2 (characters, tokens), 8.4.2 (q, Q), 8.9.7 (inline images), 9.3.6 (Tr), 9.4 (text objects). */
#include "helper/pdfout/content.h"

#include "base/mem.h"

#include <stdlib.h>

#define OPERANDS  4   /* the last so many are known by their place: `"` has three */
#define MODES_MAX 512 /* q's whose rendering mode is kept; deeper ones are only counted */
#define INVISIBLE 3

enum token { TOKEN_END, TOKEN_OPERAND, TOKEN_OPERATOR };

/* Bytes [from, to) give way to `instead`. */
struct cut {
    size_t from, to;
    const char *instead;
};

struct scan {
    str in;
    size_t at, token;             /* next byte; where the last token begins */
    size_t operand[OPERANDS + 1]; /* where the last operands begin, and the operator */
    int n_operand;
    int mode, n_mode, kept[MODES_MAX];
    bool is_text, is_mixed; /* between BT and ET; it shows visible text too */
    struct cut *cut;
    size_t n_cut, cap_cut, n_sure; /* cuts before n_sure belong to objects that have ended */
    struct content_look *look;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0;
}

static bool is_delimiter(char c)
{
    return c && strchr("()<>[]{}/%", c) != NULL;
}

static bool is_regular(char c)
{
    return !is_space(c) && !is_delimiter(c);
}

static void skip_space(struct scan *s)
{
    while (s->at < s->in.n) {
        if (s->in.p[s->at] == '%')
            while (s->at < s->in.n && s->in.p[s->at] != '\n' && s->in.p[s->at] != '\r')
                s->at++;
        else if (is_space(s->in.p[s->at]))
            s->at++;
        else
            return;
    }
}

static void skip_string(struct scan *s)
{
    int depth = 0;

    while (s->at < s->in.n) {
        char c = s->in.p[s->at++];

        if (c == '\\' && s->at < s->in.n)
            s->at++;
        else if (c == '(')
            depth++;
        else if (c == ')' && --depth == 0)
            return;
    }
}

static void skip_regular(struct scan *s)
{
    while (s->at < s->in.n && is_regular(s->in.p[s->at]))
        s->at++;
}

static void skip_hex(struct scan *s)
{
    while (s->at < s->in.n && s->in.p[s->at++] != '>')
        continue;
}

/* An array or dictionary with all inside it, or what else begins with a delimiter. */
static void skip_compound(struct scan *s)
{
    int depth = 0;

    do {
        char c = s->in.p[s->at];

        if (c == '(') {
            skip_string(s);
        } else if (c == '<' && s->at + 1 < s->in.n && s->in.p[s->at + 1] != '<') {
            skip_hex(s);
        } else if (c == '/') {
            s->at++;
            skip_regular(s);
        } else if (is_delimiter(c)) {
            bool is_pair = (c == '<' || c == '>') && s->at + 1 < s->in.n && s->in.p[s->at + 1] == c;

            depth += c == '[' || c == '<' ? 1 : c == ']' || c == '>' ? -1 : 0;
            s->at += is_pair ? 2 : 1;
        } else {
            skip_regular(s);
        }
        if (depth > 0)
            skip_space(s);
    } while (depth > 0 && s->at < s->in.n);
}

static enum token next_token(struct scan *s)
{
    char c;

    skip_space(s);
    s->token = s->at;
    if (s->at >= s->in.n)
        return TOKEN_END;
    c = s->in.p[s->at];
    if (is_delimiter(c)) {
        skip_compound(s);
        return TOKEN_OPERAND;
    }
    skip_regular(s);
    return (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' ? TOKEN_OPERAND
                                                                      : TOKEN_OPERATOR;
}

static bool ends_image(const struct scan *s, size_t at)
{
    return is_space(s->in.p[at - 1]) && s->in.p[at] == 'E' && s->in.p[at + 1] == 'I' &&
           (at + 2 == s->in.n || !is_regular(s->in.p[at + 2]));
}

/* What follows the end of an image is text; the data of one that has " EI " inside seldom is. */
static bool goes_on_as_text(const struct scan *s, size_t at)
{
    size_t end = MIN(at + 12, s->in.n);

    for (; at < end; at++)
        if ((unsigned char)s->in.p[at] > 0x7E || (s->in.p[at] < ' ' && !is_space(s->in.p[at])))
            return false;
    return true;
}

/* Behind ID and one space: bytes of the picture, up to EI. */
static void skip_image(struct scan *s)
{
    size_t at = s->at + 1;

    for (; at + 2 <= s->in.n; at++)
        if (ends_image(s, at) && goes_on_as_text(s, at + 2)) {
            s->at = at + 2;
            return;
        }
    s->at = s->in.n;
}

static void add_cut(struct scan *s, size_t from, size_t to, const char *instead)
{
    if (s->n_cut == s->cap_cut) {
        s->cap_cut = s->cap_cut ? s->cap_cut * 2 : 64;
        s->cut = mem_grow(s->cut, s->cap_cut, sizeof *s->cut);
    }
    s->cut[s->n_cut++] = (struct cut){from, to, instead};
}

/* Tj ' TJ with their operand. `"` sets spacing before it shows, which goes on being so. */
static void show(struct scan *s, bool is_double_quote)
{
    int n = s->n_operand;

    if (s->mode != INVISIBLE || n < 1 || (is_double_quote && n < 3)) {
        s->is_mixed = true;
        return;
    }
    if (is_double_quote) {
        add_cut(s, s->operand[n - 2], s->operand[n - 2], "Tw ");
        add_cut(s, s->operand[n - 1], s->at, "Tc ");
    } else {
        add_cut(s, s->operand[n - 1], s->at, "");
    }
}

static void begin_text(struct scan *s)
{
    s->is_text = true;
    s->is_mixed = false;
    s->n_cut = s->n_sure;
}

static void end_text(struct scan *s)
{
    if (s->is_text && !s->is_mixed && s->n_cut > s->n_sure) {
        s->n_sure = s->n_cut;
        s->look->n_invisible++;
    }
    s->n_cut = s->n_sure;
    s->is_text = false;
}

static void save(struct scan *s)
{
    if (s->n_mode < MODES_MAX)
        s->kept[s->n_mode] = s->mode;
    s->n_mode++;
}

static void restore(struct scan *s)
{
    if (s->n_mode == 0) {
        s->look->n_early++;
        return;
    }
    s->n_mode--;
    if (s->n_mode < MODES_MAX)
        s->mode = s->kept[s->n_mode];
}

static void set_mode(struct scan *s)
{
    if (s->n_operand)
        s->mode = atoi(s->in.p + s->operand[s->n_operand - 1]); /* ends at the operator behind it */
}

static void operate(struct scan *s)
{
    str op = {s->in.p + s->token, s->at - s->token};

    if (str_eq(op, STR("q")))
        save(s);
    else if (str_eq(op, STR("Q")))
        restore(s);
    else if (str_eq(op, STR("BT")))
        begin_text(s);
    else if (str_eq(op, STR("ET")))
        end_text(s);
    else if (str_eq(op, STR("Tr")))
        set_mode(s);
    else if (str_eq(op, STR("ID")))
        skip_image(s);
    else if (str_eq(op, STR("Tj")) || str_eq(op, STR("TJ")) || str_eq(op, STR("'")))
        show(s, false);
    else if (str_eq(op, STR("\"")))
        show(s, true);
    s->n_operand = 0;
}

static void take_operand(struct scan *s)
{
    if (s->n_operand == OPERANDS) {
        memmove(s->operand, s->operand + 1, (OPERANDS - 1) * sizeof *s->operand);
        s->n_operand--;
    }
    s->operand[s->n_operand++] = s->token;
}

static void copy_but_cuts(const struct scan *s, struct buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < s->n_sure; i++) {
        buf_add(out, s->in.p + from, s->cut[i].from - from);
        buf_text(out, s->cut[i].instead);
        from = s->cut[i].to;
    }
    buf_add(out, s->in.p + from, s->in.n - from);
}

void content_look(struct content_look *look, str in, struct buf *out)
{
    struct scan *s = mem_zero(1, sizeof *s);
    enum token t;

    *look = (struct content_look){0};
    s->in = in;
    s->look = look;
    while ((t = next_token(s)) != TOKEN_END) {
        if (t == TOKEN_OPERAND)
            take_operand(s);
        else
            operate(s);
    }
    look->n_open = s->n_mode;
    if (out)
        copy_but_cuts(s, out);
    free(s->cut);
    free(s);
}
