/* Layout JSON: required keys, derived keys, and the way back. */
#include "unit/result_pages.h"

#include "base/err.h"
#include "base/json.h"
#include "result/writer.h"

#include <string.h>

/* clang-format off */
static const char rich[] =
    REF("title") DET("[[100, 50, 500, 80]]") "\n# Report \xF0\x9F\x98\x80\n\n"
    REF("text") DET("[[5000, 9, 8, 7]]") "\nbody\x01 \xFF\n\n"
    REF("text") DET("__import__('os')") "\nbody\n\n"
    REF("text") DET("[]") "\nbody\n\n"
    REF("text") DET("[]") "\nbody\n\n"
    REF("equation") DET("[[300, 180, 700, 220]]") "\n\\[ E = mc^{2} \\]\n\n"
    REF("table") DET("[[100, 240, 899, 330]]") "\nx <table><tr><th rowspan=2>A</th><td>&lt;"
        "<table><td>n</table></td></tr></table> <table></table>\n\n"
    REF("image") DET("[[100, 350, 500, 600]]") "\n\n\n"
    REF("\x02odd <label>") "no det<|/ref|>";
/* clang-format on */

static struct recto_page rich_page(void)
{
    struct recto_page p = test_page(STR(rich), RECTO_FINISH_LENGTH);

    p.number = 3;
    p.status = RECTO_PAGE_LENGTH;
    p.finish = RECTO_FINISH_LENGTH;
    p.width = 1998, p.height = 2997;
    p.tiles_w = 2, p.tiles_h = 3;
    p.dpi = 197.04, p.width_pt = 595.28, p.height_pt = 841.89;
    p.n_visual = 1121, p.n_prompt = 1131, p.n_token = 77, p.n_intervention = 2;
    p.conf = 0.99314159;
    p.rotate = 270;
    p.n_attempt = 2;
    p.attempt = mem_zero(2, sizeof *p.attempt);
    p.attempt[0] = (struct recto_attempt){"first", RECTO_FINISH_LOOP, 300, 0.25, false};
    p.attempt[1] = (struct recto_attempt){"halves", RECTO_FINISH_LENGTH, 77, 0.9931, true};
    p.n_warning = 2;
    p.warning = mem_zero(2, sizeof *p.warning);
    p.warning[0] = mem_strdup("truncated");
    p.warning[1] = mem_strdup("caf\xE9.png: odd name");
    p.error = RECTO_ETOOLARGE;
    p.error_text = mem_strdup("9 x 9 is over the limit");
    p.timing = (struct recto_timing){.queue = 0.1234567, .vision = 12345.678, .total = 23456.0004};
    return p;
}

static char *to_json(const struct recto_page *p)
{
    struct buf b = {0};

    writer_json_page(&b, p);
    return b.p;
}

static void expect_same_text(const char *a, size_t n_a, const char *b, size_t n_b)
{
    assert_int_equal(n_a, n_b);
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_memory_equal(a, b, n_a);
}

static void test_round_trip(void **state)
{
    struct recto_page p = rich_page(), q;
    char *first = to_json(&p), *second;

    assert_int_equal(recto_page_from_json(first, strlen(first), &q), 0);
    second = to_json(&q);
    assert_string_equal(first, second);
    assert_int_equal(q.number, 3);
    assert_int_equal(q.status, RECTO_PAGE_LENGTH);
    assert_int_equal(q.finish, RECTO_FINISH_LENGTH);
    assert_int_equal(q.tiles_h, 3);
    assert_true(q.dpi == 197.04 && q.width_pt == 595.28 && q.height_pt == 841.89);
    assert_int_equal(q.n_visual, 1121);
    assert_int_equal(q.n_intervention, 2);
    assert_int_equal(q.n_stray, 1);
    assert_true(q.conf == 0.9931);
    assert_int_equal(q.rotate, 270);
    assert_int_equal(q.n_attempt, 2);
    for (int i = 0; i < 2; i++)
        assert_string_equal(q.attempt[i].rung, p.attempt[i].rung);
    assert_int_equal(q.attempt[0].finish, RECTO_FINISH_LOOP);
    assert_int_equal(q.attempt[0].n_token, 300);
    assert_true(q.attempt[0].conf == 0.25 && !q.attempt[0].is_chosen && q.attempt[1].is_chosen);
    assert_int_equal(q.error, RECTO_ETOOLARGE);
    assert_string_equal(q.error_text, p.error_text);
    assert_string_equal(q.warning[1], "caf\xEF\xBF\xBD.png: odd name");
    assert_true(q.timing.vision == 12345.678);
    expect_same_text(q.raw, q.n_raw, p.raw, p.n_raw);
    assert_int_equal(q.n_block, p.n_block);
    for (int i = 0; i < p.n_block; i++) {
        const struct recto_block *a = &p.block[i], *b = &q.block[i];

        assert_string_equal(a->label, b->label);
        assert_int_equal(a->kind, b->kind);
        assert_int_equal(a->order, b->order);
        assert_int_equal(a->level, b->level);
        assert_int_equal(a->flags, b->flags);
        assert_int_equal(a->box_error, b->box_error);
        assert_int_equal(a->n_box, b->n_box);
        if (a->n_box)
            assert_memory_equal(a->box, b->box, (size_t)a->n_box * sizeof *a->box);
        expect_same_text(a->det, a->n_det, b->det, b->n_det);
        expect_same_text(a->text, a->n_text, b->text, b->n_text);
        expect_same_text(a->raw, a->n_raw, b->raw, b->n_raw);
    }
    free(first);
    free(second);
    recto_page_reset(&p);
    recto_page_reset(&q);
}

static void expect_keys(const json_t *obj, const char *const *keys)
{
    assert_true(json_is_object(obj));
    for (; *keys; keys++)
        assert_non_null(json_object_get(obj, *keys));
}

/* What the schema requires, and the public call as the way in. */
static void test_document(void **state)
{
    static const char *const top[] = {"schema", "tool", "source", "settings", "pages", NULL};
    static const char *const tool[] = {"version", "model_sha256", "backend", "precision", NULL};
    static const char *const source[] = {"name", "kind", "sha256", "n_pages", NULL};
    static const char *const settings[] = {"task",       "prompt",  "dpi",    "guard",
                                           "max_tokens", "retries", "rotate", NULL};
    static const char *const page[] = {"page", "status", "size_px", "rotate",
                                       "grid", "blocks", NULL};
    static const char *const block[] = {"id", "order", "kind", "label", "boxes_999", "text", NULL};
    struct recto_page p = rich_page(), q = {.number = 4, .status = RECTO_PAGE_BLANK}, r;
    const struct recto_page *list[] = {&p, &q};
    json_t *root, *blocks, *b;
    char *out;
    size_t n, i;

    assert_int_equal(recto_write("json", list, 2, &out, &n), 0);
    assert_int_equal(out[n - 1], '\n');
    assert_int_equal(json_parse(&root, (str){out, n}, "test"), 0);
    expect_keys(root, top);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "recto-layout-1");
    expect_keys(json_object_get(root, "tool"), tool);
    expect_keys(json_object_get(root, "source"), source);
    expect_keys(json_object_get(root, "settings"), settings);
    assert_int_equal(json_array_size(json_object_get(root, "pages")), 2);
    expect_keys(json_array_get(json_object_get(root, "pages"), 0), page);
    expect_keys(json_array_get(json_object_get(root, "pages"), 1), page);
    blocks = json_object_get(json_array_get(json_object_get(root, "pages"), 0), "blocks");
    assert_int_equal(json_array_size(blocks), p.n_block);
    json_array_foreach(blocks, i, b) expect_keys(b, block);
    assert_int_equal(recto_page_from_json(out, n, &r), RECTO_EFORMAT); /* two pages are not one */
    free(out);
    assert_int_equal(recto_write("json", list, 1, &out, &n), 0);
    assert_int_equal(recto_page_from_json(out, n, &r), 0);
    assert_int_equal(r.n_block, p.n_block);
    free(out);
    json_decref(root);
    recto_page_reset(&p);
    recto_page_reset(&r);
}

/* The derived keys, as the worked example has them. */
static void test_values(void **state)
{
    struct recto_page p = rich_page();
    char *out = to_json(&p);

    assert_non_null(strstr(
        out,
        "{\"id\":\"p3b0\",\"order\":0,\"kind\":\"title\",\"label\":\"title\",\"level\":1,"
        "\"boxes_999\":[[100,50,500,80]],\"boxes_px\":[[200,150,1000,240]],\"text\":\"Report "));
    assert_non_null(strstr(out, "\"conf\":0.9931,"));
    assert_non_null(strstr(out, "\"size_px\":[1998,2997],"));
    assert_non_null(strstr(out, "\"det_raw\":\"[[5000, 9, 8, 7]]\",\"box_error\":\"range\""));
    assert_non_null(strstr(out, "\"det_raw\":\"__import__('os')\",\"box_error\":\"syntax\""));
    assert_non_null(strstr(out, "\"flags\":[\"swapped\"]"));
    assert_non_null(strstr(out, "\"flags\":[\"duplicate\"]"));
    assert_non_null(strstr(out, "\"complete\":false,\"flags\":[\"incomplete\"]"));
    assert_non_null(strstr(out, "\"tex\":\"E = mc^{2}\""));
    assert_non_null(strstr(
        out, "\"html\":\"<table><tr><th>A</th><td>&lt;<table><tr><td>n</td></tr></table></td></tr>"
             "</table>\""));
    assert_non_null(strstr(
        out, "\"table\":{\"rows\":1,\"cols\":2,\"cells\":[{\"r\":0,\"c\":0,\"rs\":1,\"cs\":1,\"tex"
             "t\":\"A\","
             "\"header\":true},{\"r\":0,\"c\":1,\"rs\":1,\"cs\":1,\"text\":\"< "
             "n\",\"tables\":[{\"rows\":1,"));
    assert_non_null(
        strstr(out, "\"error\":{\"code\":\"E_TOO_LARGE\",\"text\":\"9 x 9 is over the limit\"}"));
    assert_non_null(strstr(out, "\"vision\":12345.678,"));
    free(out);
    recto_page_reset(&p);
}

static int take(void *out, const char *side, const void *bytes, size_t n)
{
    buf_add(out, bytes, n);
    return 0;
}

static void test_facts(void **state)
{
    struct recto_write_options o;
    struct recto_writer *w;
    struct buf b = {0};

    recto_write_options_init(&o);
    o.model_sha256 = "5fca";
    o.name = "a\xFF.png";
    o.dpi = "144";
    o.created = "2026-01-01T00:00:00Z";
    assert_int_equal(recto_writer_open(&w, "json", &o, take, &b), 0);
    assert_int_equal(recto_writer_close(w), 0);
    assert_non_null(strstr(b.p, "\"created\":\"2026-01-01T00:00:00Z\""));
    assert_non_null(strstr(b.p, "\"model_sha256\":\"5fca\",\"backend\":null"));
    assert_non_null(strstr(b.p, "\"name\":\"a\xEF\xBF\xBD.png\""));
    assert_non_null(strstr(b.p, "\"dpi\":144,\"guard\":null,\"max_tokens\":null"));
    assert_non_null(strstr(b.p, "\"pages\":[\n]}\n"));
    buf_clear(&b);
    o.dpi = "auto";
    assert_int_equal(recto_writer_open(&w, "json", &o, take, &b), 0);
    assert_int_equal(recto_writer_close(w), 0);
    assert_non_null(strstr(b.p, "\"dpi\":\"auto\","));
    buf_reset(&b);
}

/* ---- what is refused ------------------------------------------------------------------------- */

#define HEAD "{\"page\":1,\"status\":\"ok\",\"size_px\":[9,9],\"grid\":[1,1],\"rotate\":0,"

#define BLOCK(boxes)                                                                  \
    HEAD "\"blocks\":[{\"order\":0,\"kind\":\"text\",\"label\":\"x\",\"text\":\"t\"," \
         "\"boxes_999\":" boxes "}]}"

static void expect_bad(const char *json, const char *sentence)
{
    struct recto_page p;

    assert_int_equal(recto_page_from_json(json, strlen(json), &p), RECTO_EFORMAT);
    assert_int_equal(p.n_block, 0);
    assert_null(p.block);
    if (sentence)
        assert_string_equal(err_text(), sentence);
}

static void test_bad(void **state)
{
    expect_bad("", NULL);
    expect_bad("[]", "page: expected an object");
    expect_bad("{}", "page: page is missing");
    expect_bad("{\"pages\":[]}", NULL);
    expect_bad("{\"pages\":[3]}", "page: expected an object");
    expect_bad(HEAD "\"blocks\":{}}", "page: blocks: expected an array");
    expect_bad(HEAD "\"blocks\":[3]}", "page: blocks[0]: expected an object");
    expect_bad(HEAD "\"finish\":\"soon\",\"blocks\":[]}", "page: finish: unknown value 'soon'");
    expect_bad(HEAD "\"conf\":2,\"blocks\":[]}", NULL);
    expect_bad(HEAD "\"attempts\":[1],\"blocks\":[]}", "page: attempts: expected objects");
    expect_bad(HEAD "\"attempts\":[{\"rung\":\"too long a name\"}],\"blocks\":[]}", NULL);
    expect_bad(HEAD "\"attempts\":[{\"rung\":\"wide\",\"finish\":\"soon\"}],\"blocks\":[]}", NULL);
    expect_bad(HEAD "\"warnings\":[1],\"blocks\":[]}", "page: warnings: expected strings");
    expect_bad(HEAD "\"error\":{\"code\":\"E_WHAT\"},\"blocks\":[]}",
               "page: error: code: unknown value 'E_WHAT'");
    expect_bad(HEAD "\"blocks\":[{\"order\":0,\"kind\":\"poem\"}]}",
               "page: blocks[0]: kind: unknown value 'poem'");
    expect_bad(BLOCK("[[1,2,3]]"),
               "page: blocks[0]: boxes_999: expected four numbers from 0 to 999");
    expect_bad(BLOCK("[[1,2,3,1000]]"), NULL);
    expect_bad(BLOCK("[[9,2,3,4]]"),
               "page: blocks[0]: boxes_999: expected left, top, right, bottom");
    expect_bad(BLOCK("[\"x\"]"), NULL);
}

/* The least that is a page; unknown keys are passed over. */
static void test_least(void **state)
{
    static const char json[] = BLOCK("[[1,2,3,4]]");
    struct recto_page p;

    assert_int_equal(recto_page_from_json(json, sizeof json - 1, &p), 0);
    assert_int_equal(p.n_block, 1);
    assert_string_equal(p.block[0].raw, "t");
    assert_string_equal(p.block[0].det, "[[1, 2, 3, 4]]");
    assert_int_equal(p.finish, RECTO_FINISH_NONE);
    recto_page_reset(&p);
}

/* A page whose text is the PDF's own, and one that has it beside what was read, come back as they went. */
static void own_text(void **state)
{
    struct recto_page p = {
        .number = 1, .is_layer = true, .layer = "caf\xC3\xA9", .n_layer = 5, .layer_trusted = true};
    struct recto_page back;
    struct buf out = {0};

    writer_json_page(&out, &p);
    assert_int_equal(recto_page_from_json(out.p, out.n, &back), 0);
    assert_true(back.is_layer && back.layer_trusted && back.n_layer == 5);
    assert_string_equal(back.layer, p.layer);
    recto_page_reset(&back);
    p = (struct recto_page){.number = 1};
    buf_reset(&out);
    writer_json_page(&out, &p);
    assert_int_equal(recto_page_from_json(out.p, out.n, &back), 0);
    assert_true(!back.is_layer && !back.layer);
    recto_page_reset(&back);
    buf_reset(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_text),      cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_document), cmocka_unit_test(test_values),
        cmocka_unit_test(test_facts),    cmocka_unit_test(test_bad),
        cmocka_unit_test(test_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
