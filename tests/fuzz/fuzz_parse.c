/* The model's output is hostile: any ids, any text. What must hold for all of it:
 *   parsing and writing never fail, and the strings are UTF-8;
 *   JSON reads back to the same JSON;
 *   Markdown holds no tag but those of html.h (code blocks apart, which are shown and not read).
 * The first byte says which way in; then each byte is an id of a small vocabulary, or the text
 * itself. */
#include "base/mem.h"
#include "result/clean.h"
#include "result/html.h"
#include "result/parse.h"
#include "result/writer.h"

#include <stdio.h>
#include <jansson.h>
#include <stdlib.h>

static const char *const long_pieces[] = {
    "<|ref|>",
    "<|/ref|>",
    "<|det|>",
    "<|/det|>",
    "<｜end▁of▁sentence｜>",
    "<image>",
    "",
    "<td>",
    "</td>",
    "<tr>",
    "</tr>",
    "<table>",
    "</table>",
    "<td colspan=\"2\" rowspan='3'>",
    "<th>",
    "<caption>",
    "<thead>",
    "</thead>",
    "<b>",
    "</b>",
    "<p>",
    "<li>",
    "<br>",
    "\\(",
    "\\)",
    "\\[",
    "\\]",
    "$$",
    "[[1, 2, 3, 4]]",
    "[[500, 2, -3, 1000], [",
    "title",
    "sub_title",
    "table",
    "image",
    "figure_title",
    "code",
    "page_number",
    "\n\n",
    "  \n",
    "## ",
    "**",
    "![",
    "](",
    "```",
    "<script>",
    "&lt;",
    "\xC3",
    "\xF0\x9F",
    "\xE2\x82\xAC",
    "<!-- page 2 -->",
};

enum { N_BYTE = 128, N_PIECE = N_BYTE + 128 };

static const struct parse_markers markers = {N_BYTE, N_BYTE + 1, N_BYTE + 2, N_BYTE + 3,
                                             N_BYTE + 4};

static const str *pieces(void)
{
    static str piece[N_PIECE];
    static char byte[N_BYTE];

    for (int i = 0; i < N_BYTE; i++) {
        byte[i] = (char)i;
        piece[i] = (str){&byte[i], 1};
    }
    for (size_t i = 0; i < COUNT(long_pieces); i++)
        piece[N_BYTE + i] = str_of(long_pieces[i]);
    return piece; /* the ids left over have no text */
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_parse: %s\n", what);
    abort();
}

static void check_page(const struct recto_page *p)
{
    must(clean_already((str){p->raw, p->n_raw}, 0), "raw text of the page");
    for (int i = 0; i < p->n_block; i++) {
        const struct recto_block *b = &p->block[i];

        must(b->label && strlen(b->label) <= 64 && clean_already(str_of(b->label), CLEAN_CONTROLS),
             "label");
        must(clean_already((str){b->text, b->n_text}, CLEAN_CONTROLS), "text of a block");
        must(clean_already((str){b->raw, b->n_raw}, 0), "raw text of a block");
        must(strlen(b->text) == b->n_text, "length of a block's text");
        for (int k = 0; k < b->n_box; k++)
            must(b->box[k].x1 >= 0 && b->box[k].x1 <= b->box[k].x2 && b->box[k].x2 <= 999 &&
                     b->box[k].y1 >= 0 && b->box[k].y1 <= b->box[k].y2 && b->box[k].y2 <= 999,
                 "box");
    }
}

static bool has_code(const struct recto_page *p)
{
    for (int i = 0; i < p->n_block; i++)
        if (p->block[i].kind == RECTO_BLOCK_CODE)
            return true;
    return false;
}

/* Links are looked for outside tables only: an HTML block has none but its tags. */
static void check_markdown(str md)
{
    int depth = 0;

    for (size_t i = 0; i < md.n; i++) {
        str here = {md.p + i, md.n - i};

        depth += str_starts(here, STR("<table>")) - str_starts(here, STR("</table>"));

        must(md.p[i] != '<' || !html_looks_like_tag(here) || html_tag_at(here).n,
             "tag in Markdown");
        must(depth || md.p[i] != ']' || i + 1 == md.n || md.p[i + 1] != '(' ||
                 (i && md.p[i - 1] == '\\'),
             "link in Markdown");
    }
}

static void check_json(const struct recto_page *p)
{
    struct recto_page back;
    struct buf a = {0}, b = {0};

    writer_json_page(&a, p);
    must(recto_page_from_json(a.p, a.n, &back) == 0, "JSON does not read back");
    writer_json_page(&b, &back);
    must(str_eq(buf_view(&a), buf_view(&b)), "JSON changes on its way");
    recto_page_reset(&back);
    buf_reset(&a);
    buf_reset(&b);
}

static int into_buf(void *ctx, const char *side, const void *bytes, size_t n)
{
    buf_add(ctx, bytes, n);
    return 0;
}

static void check_json_as(const struct recto_page *p, const char *as)
{
    struct recto_write_options o;
    struct recto_writer *w;
    struct buf b = {0};
    json_t *v;

    recto_write_options_init(&o);
    o.json_as = as;
    must(recto_writer_open(&w, "json", &o, into_buf, &b) == 0, as);
    must(recto_writer_page(w, p) == 0 && recto_writer_close(w) == 0, as);
    v = json_loadb(b.p, b.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    must(v != NULL, as);
    json_decref(v);
    buf_reset(&b);
}

/* In HTML, hOCR and ALTO nothing of the model's is markup: what begins with "<" is what we write. */
static void check_markup(str text, const char *format)
{
    static const char *const foreign[] = {"<script", "<img", "<a ", "<!--x", "<iframe", "<style "};

    for (size_t i = 0; i < COUNT(foreign); i++)
        must(str_find(text, str_of(foreign[i]), 0) == text.n, format);
}

static bool is_one_of(const char *name, const char *list)
{
    return strstr(list, name) != NULL;
}

/* An archive takes longer than all other formats together: only now and then. */
static bool is_due(const struct recto_format *f, size_t n)
{
    return f->is_text || (strcmp(f->name, "docx") == 0 && n % 32 == 0);
}

static void check_writers(const struct recto_page *p, size_t n_input)
{
    const struct recto_format *f;

    for (int i = 0; (f = recto_format_at(i)); i++) {
        char *out;
        size_t n;

        if (!is_due(f, n_input))
            continue; /* or made of the document's own pages, of which there is none */
        must(recto_write(f->name, &p, 1, &out, &n) == 0, f->name);
        if (!f->is_text) {
            must(n > 4 && memcmp(out, "PK\3\4", 4) == 0, "archive");
            free(out);
            continue;
        }
        must(clean_already((str){out, n}, 0), f->name);
        must(n == 0 || out[n - 1] == '\n' || strcmp(f->name, "mmd") == 0, "final newline");
        if (strcmp(f->name, "md") == 0 && !has_code(p))
            check_markdown((str){out, n});
        if (is_one_of(f->name, "html hocr alto"))
            check_markup((str){out, n}, f->name);
        free(out);
    }
    check_json(p);
    check_json_as(p, n_input % 2 ? "mineru" : "docling");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct recto_page page = {.number = 1, .width = 1225, .height = 405};
    enum recto_finish finish;

    if (n < 1)
        return 0;
    finish = (enum recto_finish)(data[0] >> 1 & 3);
    if (data[0] & 1) {
        parse_text((str){(const char *)data + 1, n - 1}, finish, &page);
    } else {
        int32_t *id = mem_alloc(n * sizeof *id);

        for (size_t i = 1; i < n; i++)
            id[i - 1] = data[i];
        parse_ids(id, n - 1, pieces(), N_PIECE, &markers, finish, &page);
        free(id);
    }
    check_page(&page);
    check_writers(&page, n);
    recto_page_reset(&page);
    return 0;
}
