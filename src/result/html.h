/* The little HTML that a model writes, and nothing else of it.
 *
 * A tag is one of the elements below with a well-formed end; of its attributes only rowspan and
 * colspan are read. Whatever else looks like HTML is text: writers escape it, since a page may
 * show HTML source, and nothing from a model may run or load anything in a browser. */
#ifndef RECTO_RESULT_HTML_H
#define RECTO_RESULT_HTML_H

#include "base/str.h"

enum html_name {
    HTML_NONE, /* not a tag */
    HTML_TABLE,
    HTML_THEAD,
    HTML_TBODY,
    HTML_TR,
    HTML_TD,
    HTML_TH,
    HTML_CAPTION, /* the last that makes a table */
    HTML_BR,
    HTML_P,
    HTML_UL,
    HTML_OL,
    HTML_LI, /* br to li begin a new line of text */
    HTML_SUP,
    HTML_SUB,
    HTML_B,
    HTML_I,
    HTML_STRONG,
    HTML_EM,
    HTML_U,
    HTML_S,
    HTML_CODE,
};

static inline bool html_is_table_part(enum html_name n)
{
    return n >= HTML_TABLE && n <= HTML_CAPTION;
}

static inline bool html_breaks_line(enum html_name n)
{
    return n >= HTML_BR && n <= HTML_LI;
}

struct html_tag {
    enum html_name name;
    bool is_close;        /* </td> */
    int rowspan, colspan; /* 1..1000; anything else in the page is 1 */
    size_t n;             /* bytes */
};

/* The tag that s begins with; its n is 0 when s begins with none. Looks no further than the next
 * "<" or ">". */
struct html_tag html_tag_at(str s);

/* "td", "table", ... */
const char *html_name_text(enum html_name n);

/* "<" or ">" or "&" for HTML; a "&" that begins an entity (&lt; &#39; &eacute;) stays. next is
 * what follows c. */
void html_escape(struct buf *out, char c, str next);

/* Does s, which begins with "<", look like markup to a browser: a letter, "/", "!" or "?" next? */
bool html_looks_like_tag(str s);

/* Append s with its entities decoded: numbers, and lt gt amp quot apos nbsp. Others stay as they
 * are. */
void html_decode(struct buf *out, str s);

/* Elements opened inside a piece of text, so that what is opened is closed and nothing else is. */
#define HTML_OPEN_MAX 16

struct html_stack {
    enum html_name open[HTML_OPEN_MAX];
    int n;
};

/* Write an inline tag, keeping the balance: a closing tag closes what was opened after its
 * opening one, or vanishes if there is none; <p> and <li> end the <p> or <li> before them.
 * False when the stack is full: the tag is text. */
bool html_put_inline(struct buf *out, struct html_stack *k, const struct html_tag *t);
/* Close what is open beyond the first `down_to` elements. */
void html_put_closes(struct buf *out, struct html_stack *k, int down_to);

#endif
