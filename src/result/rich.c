#include "result/rich.h"

#include "result/html.h"
#include "result/plain.h"
#include "result/span.h"
#include "result/stars.h"
#include "result/xml.h"

#define NUMBER_DIGITS 3 /* of an item's number: 1985. begins no item */

enum rich_block { RICH_NONE, RICH_P, RICH_LIST };

struct rich {
    struct buf *out;
    const char *attributes; /* of the first element, until it is written */
    bool is_inline;         /* all in one element of the caller's */
    enum rich_block block;
    bool at_line_start, has_blank_line; /* a line ended; and an empty one after it */
    bool has_break;                     /* with two spaces: a hard one */
    struct html_stack open;             /* inline elements */
    struct stars stars;
};

/* ---- elements -------------------------------------------------------------------------------- */

static void put_open(struct rich *r, const char *name)
{
    buf_fmt(r->out, "<%s%s>", name, r->attributes);
    r->attributes = "";
}

static void close_block(struct rich *r)
{
    html_put_closes(r->out, &r->open, 0);
    if (r->block == RICH_P)
        buf_text(r->out, "</p>\n");
    else if (r->block == RICH_LIST)
        buf_text(r->out, "</li>\n</ul>\n");
    r->block = RICH_NONE;
}

/* Length of "- " or the like at the front of s. */
static size_t bullet_at(str s)
{
    size_t n = str_starts(s, STR("•")) ? STR("•").n : s.n && (*s.p == '-' || *s.p == '*') ? 1 : 0;

    return n && n < s.n && s.p[n] == ' ' ? n + 1 : 0;
}

/* "12. " or "3) " at the front of s: a line of a numbered list, which stays a line. */
static bool is_numbered(str s)
{
    size_t n = 0;

    while (n < s.n && n < NUMBER_DIGITS && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    return n && n + 1 < s.n && (s.p[n] == '.' || s.p[n] == ')') && s.p[n + 1] == ' ';
}

static void begin_item(struct rich *r)
{
    if (r->block == RICH_LIST) {
        html_put_closes(r->out, &r->open, 0);
        buf_text(r->out, "</li>\n<li>");
        return;
    }
    close_block(r);
    put_open(r, "ul");
    buf_text(r->out, "\n<li>");
    r->block = RICH_LIST;
}

/* Something to be seen follows, which s begins with: open what it stands in. Returns the bytes
 * that were a mark. */
static size_t begin(struct rich *r, str s)
{
    bool is_new_line = r->at_line_start;
    size_t bullet = r->is_inline || !is_new_line ? 0 : bullet_at(s);

    r->at_line_start = false;
    if (r->is_inline) {
        if (is_new_line && r->out->n && r->out->p[r->out->n - 1] != '>')
            buf_char(r->out, ' ');
        return 0;
    }
    if (bullet) {
        begin_item(r);
    } else if (r->block == RICH_NONE || r->has_blank_line) {
        close_block(r);
        put_open(r, "p");
        r->block = RICH_P;
    } else if (is_new_line) {
        buf_text(r->out, r->has_break || is_numbered(s) ? "<br>\n" : "\n");
    }
    r->has_blank_line = r->has_break = false;
    return bullet;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void end_line(struct rich *r)
{
    size_t n = r->out->n;

    while (r->out->n && r->out->p[r->out->n - 1] == ' ')
        r->out->n--;
    r->has_break = n - r->out->n >= 2;
    if (r->at_line_start && r->block != RICH_NONE)
        r->has_blank_line = true;
    r->at_line_start = true;
    stars_forget(&r->stars);
}

static void put_stars(struct rich *r, enum stars_role role, size_t n)
{
    struct html_tag strong = {.name = HTML_STRONG, .is_close = role == STARS_CLOSE},
                    em = {.name = HTML_EM, .is_close = role == STARS_CLOSE};

    if (n >= 2)
        html_put_inline(r->out, &r->open, &strong);
    if (n != 2)
        html_put_inline(r->out, &r->open, &em);
}

/* A tag of the model's: an inline element stays, one that begins a line ends one. */
static bool put_tag(struct rich *r, const struct html_tag *tag)
{
    if (!tag->n || html_is_table_part(tag->name))
        return false;
    if (html_breaks_line(tag->name)) {
        if (!r->at_line_start)
            end_line(r);
        r->has_break = tag->name == HTML_BR;
        return true;
    }
    begin(r, STR(""));
    return html_put_inline(r->out, &r->open, tag);
}

static bool is_escape(str s)
{
    return s.n > 1 && s.p[0] == '\\' && strchr("$*_#", s.p[1]);
}

/* Put what s begins with at i; returns its length. */
static size_t put_next(struct rich *r, str s, size_t i)
{
    str here = {s.p + i, s.n - i};
    struct html_tag tag = *here.p == '<' ? html_tag_at(here) : (struct html_tag){0};
    enum stars_role role;
    size_t n;

    if (*here.p == '\n') {
        end_line(r);
        return 1;
    }
    if ((*here.p == ' ' || *here.p == '\t') && r->at_line_start)
        return 1;
    if (put_tag(r, &tag))
        return tag.n;
    n = begin(r, here);
    if (n)
        return n;
    if (*here.p == '*') {
        n = stars_run(s, i);
        role = stars_mark(&r->stars, s, i, n);
        if (role)
            put_stars(r, role, n);
        else
            buf_add(r->out, here.p, n);
        return n;
    }
    n = is_escape(here);
    if (strchr("<>&", here.p[n]) && here.p[n])
        html_escape(r->out, here.p[n], (str){here.p + n + 1, here.n - n - 1});
    else
        buf_char(r->out, here.p[n]);
    return n + 1;
}

static void put_text(struct rich *r, str s)
{
    stars_forget(&r->stars);
    for (size_t i = 0; i < s.n;)
        i += put_next(r, s, i);
}

/* ---- spans ----------------------------------------------------------------------------------- */

static void put_math(struct rich *r, const struct span *s)
{
    bool is_display = s->kind == SPAN_DISPLAY;

    begin(r, STR(""));
    buf_text(r->out, is_display ? "<span class=\"math\">\\[ " : "<span class=\"math\">\\( ");
    xml_put(r->out, s->inner);
    buf_text(r->out, is_display ? " \\]</span>" : " \\)</span>");
}

static void put_table(struct rich *r, const struct table *t)
{
    struct buf b = {0};

    if (r->is_inline) {
        table_put_rows(&b, t, plain_put_cell);
        begin(r, STR(""));
        xml_put(r->out, buf_view(&b));
    } else {
        close_block(r);
        table_put_html(&b, t);
        put_open(r, "table");
        buf_add(r->out, b.p + STR("<table>").n, b.n - STR("<table>").n);
        buf_char(r->out, '\n');
        r->at_line_start = true;
        r->has_blank_line = r->has_break = false;
    }
    buf_reset(&b);
}

static void put_spans(struct rich *r, str text)
{
    struct spans spans = spans_of(str_trim(text));
    struct span s;

    while (span_next(&spans, &s)) {
        if (s.kind == SPAN_TABLE)
            put_table(r, s.table);
        else if (s.kind == SPAN_MATH || s.kind == SPAN_DISPLAY)
            put_math(r, &s);
        else
            put_text(r, s.kind == SPAN_IMAGE ? s.inner : s.all);
        table_free(s.table);
    }
}

void rich_put_blocks(struct buf *out, str text, const char *attributes)
{
    struct rich r = {.out = out, .attributes = attributes, .at_line_start = true};

    put_spans(&r, text);
    close_block(&r);
}

void rich_put_inline(struct buf *out, str text)
{
    struct buf one = {0};
    struct rich r = {.out = &one, .attributes = "", .is_inline = true};

    put_spans(&r, text);
    html_put_closes(&one, &r.open, 0);
    buf_str(out, buf_view(&one));
    buf_reset(&one);
}
