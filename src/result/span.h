/* The body of a block as spans: text, math, tables, images.
 *
 *   math   \( ... \)  \[ ... \]  $$ ... $$  $ ... $.  Unclosed math is text, and so is math
 *          broken by an empty line or by another opening mark.  A single $ opens math only when
 *          it cannot be money: something stands right behind it and right before the closing one,
 *          no digit follows, all is on one line, and what begins with a digit has TeX in it.
 *   table  from "<table" to its end (table.h)
 *   image  ![alt](address) as Markdown writes it; nobody follows the address
 *
 * All spans together are the text, byte for byte and in order.  One pass, linear time. */
#ifndef RECTO_RESULT_SPAN_H
#define RECTO_RESULT_SPAN_H

#include "result/table.h"

enum span_kind { SPAN_TEXT, SPAN_MATH, SPAN_DISPLAY, SPAN_TABLE, SPAN_IMAGE };

struct span {
    enum span_kind kind;
    str all;             /* as it stands in the text */
    str inner;           /* math: its TeX, trimmed; image: alt text; text: same as all */
    struct table *table; /* of a table: the holder frees it (table_free) */
};

struct spans {
    str rest;
    struct span held; /* found behind text that was handed out first */
    bool has_held;
};

static inline struct spans spans_of(str text)
{
    return (struct spans){.rest = text};
}

/* Next span, none of them empty; false at the end. A caller that stops early calls spans_close. */
bool span_next(struct spans *k, struct span *out);
void spans_close(struct spans *k);

#endif
