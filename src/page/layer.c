/* Source: pdffonts(1) and utils/pdffonts.cc of poppler 22.12 for the columns: name, type, encoding, emb, sub, uni, object. Only
 * the first may hold what it likes, so a line is read from its end. */
#include "page/layer.h"

#include "base/err.h"
#include "base/mem.h"

#define TEXT_MAX  ((size_t)8 << 20) /* bytes of a page */
#define FONTS_MAX ((size_t)1 << 20)

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_private(uint32_t c)
{
    return (c >= 0xE000 && c <= 0xF8FF) || c >= 0xF0000;
}

static bool is_foreign(uint32_t c)
{
    return c == 0xFFFD || is_private(c);
}

static bool is_white(uint32_t c)
{
    return c <= ' ' || c == 0x7F || c == 0xA0 || c == 0x3000;
}

/* Whatever is no digit, sign, symbol or punctuation, by the blocks of Unicode that hold them. */
static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c | 32) >= 'a' && (c | 32) <= 'z';
    return c >= 0xC0 && c != 0xD7 && c != 0xF7 && !(c >= 0x2000 && c <= 0x2BFF) &&
           !(c >= 0x3000 && c <= 0x3004) && !(c >= 0x3008 && c <= 0x3020) &&
           !(c >= 0xFF00 && c <= 0xFF20) && !(c >= 0x1F000 && c <= 0x1FAFF) && !is_foreign(c);
}

/* Copies and counts the text. */
static void take_text(struct layer *l, str s, int *n_foreign)
{
    uint32_t c;

    *n_foreign = 0;
    for (int n; s.n; s.p += n, s.n -= (size_t)n) {
        n = utf8_next(s, &c);
        if (n <= 0) {
            c = 0xFFFD;
            n = n ? -n : (int)s.n;
        }
        buf_utf8(&l->text, (c < ' ' && c != '\n' && c != '\t') || c == 0x7F ? 0xFFFD : c);
        l->n_char += !is_white(c);
        *n_foreign += is_foreign(c);
        l->n_letter += is_letter(c);
    }
}

/* ---- fonts ----------------------------------------------------------------------------------- */

/* The last word of s, which it then ends before. */
static str last_word(str *s)
{
    str word;
    size_t from;

    while (s->n && s->p[s->n - 1] == ' ')
        s->n--;
    for (from = s->n; from && s->p[from - 1] != ' ';)
        from--;
    word = (str){s->p + from, s->n - from};
    s->n = from;
    return word;
}

static bool is_number(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n > 0;
}

/* Does a line tell of a font whose codes have a known meaning? */
static bool font_is_sound(str line)
{
    static const str standard[] = {STR("Standard"), STR("WinAnsi"), STR("MacRoman"),
                                   STR("MacExpert")};
    str object = last_word(&line), uni, encoding;

    if (is_number(object))
        last_word(&line); /* its other number */
    else if (!str_eq(object, STR("[none]")))
        return false;
    uni = last_word(&line);
    last_word(&line); /* sub */
    last_word(&line); /* emb */
    encoding = last_word(&line);
    if (str_eq(uni, STR("yes")))
        return true;
    for (size_t i = 0; i < COUNT(standard); i++)
        if (str_eq(uni, STR("no")) && str_eq(encoding, standard[i]))
            return true;
    return false;
}

/* Below two lines of headings; a page with text and no font in its list is none to be trusted. */
static bool fonts_are_sound(str fonts)
{
    int n = 0;

    while (fonts.n) {
        size_t end = str_find(fonts, STR("\n"), 0);
        str line = {fonts.p, end};

        if (n++ >= 2 && !font_is_sound(line))
            return false;
        end += end < fonts.n;
        fonts.p += end, fonts.n -= end;
    }
    return n > 2;
}

/* ---- both ------------------------------------------------------------------------------------ */

void layer_judge(struct layer *l, str text, str fonts)
{
    int n_foreign;

    *l = (struct layer){0};
    take_text(l, text, &n_foreign);
    if (l->n_letter < LAYER_MIN_LETTERS)
        l->doubt = "it has under 200 letters";
    else if ((int64_t)n_foreign * LAYER_MAX_FOREIGN > l->n_char)
        l->doubt = "over 1 % of its characters have no meaning";
    else if (!fonts_are_sound(fonts))
        l->doubt = "a font does not say what its codes mean";
}

int layer_read(struct layer *l, const struct pdf *p, int page)
{
    struct buf text = {0}, fonts = {0};
    int rc;

    *l = (struct layer){0};
    TRY_OUT(pdf_print(p, "--pdf-text", page, TEXT_MAX, &text));
    TRY_OUT(pdf_print(p, "--pdf-fonts", page, FONTS_MAX, &fonts));
    layer_judge(l, buf_view(&text), buf_view(&fonts));
out:
    buf_reset(&text);
    buf_reset(&fonts);
    return rc;
}

void layer_reset(struct layer *l)
{
    buf_reset(&l->text);
    *l = (struct layer){0};
}
