#include "result/boxes.h"

#include "base/mem.h"
#include "result/model.h"

#include <stdlib.h>

#define INT_DIGITS 6

enum item { ITEM_INT, ITEM_NUMBER, ITEM_NONE };

struct scan {
    str s; /* what is left */
    struct boxes *out;
    int cap;
};

static void skip_space(struct scan *k)
{
    while (k->s.n && (*k->s.p == ' ' || *k->s.p == '\t' || *k->s.p == '\n' || *k->s.p == '\r'))
        k->s.p++, k->s.n--;
}

/* Step over c if it comes next, white space before it allowed. */
static bool take(struct scan *k, char c)
{
    skip_space(k);
    if (!k->s.n || *k->s.p != c)
        return false;
    k->s.p++, k->s.n--;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Characters of numbers as programming languages spell them; a word like "None" has others, or
 * no digit. */
static bool is_number_char(char c)
{
    return is_digit(c) || c == '-' || c == '+' || c == '.' || c == '_' || c == 'x' || c == 'X' ||
           (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static enum item take_value(struct scan *k, int *value)
{
    size_t n = 0, digits = 0, first;
    bool plain = true;

    skip_space(k);
    first = k->s.n && *k->s.p == '-';
    while (n < k->s.n && is_number_char(k->s.p[n])) {
        if (is_digit(k->s.p[n]))
            digits++;
        else if (n >= first)
            plain = false;
        n++;
    }
    if (!digits)
        return ITEM_NONE;
    *value = 0;
    for (size_t i = first; plain && digits <= INT_DIGITS && i < n; i++)
        *value = *value * 10 + (k->s.p[i] - '0');
    if (first)
        *value = -*value;
    k->s.p += n, k->s.n -= n;
    return plain && digits <= INT_DIGITS ? ITEM_INT : ITEM_NUMBER;
}

static void fault(struct boxes *b, enum recto_box_error e)
{
    if (b->error == RECTO_BOX_OK || e == RECTO_BOX_SYNTAX)
        b->error = e;
}

static int clamp_999(int v)
{
    return v < 0 ? 0 : v > 999 ? 999 : v;
}

static void order(int *a, int *b, bool *swapped)
{
    int t = *a;

    if (*a <= *b)
        return;
    *a = *b, *b = t;
    *swapped = true;
}

static void keep(struct scan *k, const int v[4])
{
    struct boxes *b = k->out;
    struct recto_box x;

    for (int i = 0; i < 4; i++)
        if (v[i] < -1 || v[i] > 1000)
            fault(b, RECTO_BOX_RANGE);
    if (b->n_box == BOXES_MAX) {
        b->capped = true;
        return;
    }
    x = (struct recto_box){clamp_999(v[0]), clamp_999(v[1]), clamp_999(v[2]), clamp_999(v[3])};
    order(&x.x1, &x.x2, &b->swapped);
    order(&x.y1, &x.y2, &b->swapped);
    if (b->n_box == k->cap) {
        k->cap = k->cap ? k->cap * 2 : 1;
        b->box = mem_grow(b->box, (size_t)k->cap, sizeof *b->box);
    }
    b->box[b->n_box++] = x;
}

/* Values up to the closing bracket, the opening one already taken. False on a fault of syntax. */
static bool take_box(struct scan *k)
{
    int v[4], value, n = 0;
    bool ints = true;

    if (take(k, ']'))
        return true;
    do {
        enum item it = take_value(k, &value);

        if (it == ITEM_NONE)
            return false;
        ints &= it == ITEM_INT;
        if (n < 4)
            v[n] = value;
        n += n < 5;
    } while (take(k, ','));
    if (!take(k, ']'))
        return false;
    if (!ints)
        fault(k->out, RECTO_BOX_NUMBER);
    else if (n != 4)
        fault(k->out, RECTO_BOX_ARITY);
    else
        keep(k, v);
    return true;
}

/* Boxes up to the bracket that closes the list. */
static bool take_list(struct scan *k)
{
    for (;;) {
        if (take(k, ']'))
            return true;
        if (!take(k, '[') || !take_box(k))
            return false;
        if (!take(k, ','))
            return take(k, ']');
    }
}

static bool take_det(struct scan *k)
{
    if (!take(k, '['))
        return false;
    skip_space(k);
    if (k->s.n && (is_digit(*k->s.p) || *k->s.p == '-' || *k->s.p == '+' || *k->s.p == '.'))
        return take_box(k);
    return take_list(k);
}

void boxes_read(str det, struct boxes *out)
{
    struct scan k = {det, out, 0};

    *out = (struct boxes){0};
    if (!take_det(&k))
        fault(out, RECTO_BOX_SYNTAX);
    skip_space(&k);
    if (k.s.n)
        fault(out, RECTO_BOX_SYNTAX);
}

size_t boxes_end(str s)
{
    int depth = 0;

    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '[')
            depth++;
        else if (c == ']' && depth > 0 && --depth == 0)
            return i + 1;
        else if (c != ' ' && c != '\t' && c != '\n' && (!depth || (c != ',' && !is_number_char(c))))
            return 0;
    }
    return 0;
}
