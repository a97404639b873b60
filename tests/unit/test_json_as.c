/* The layout as other programs have it: MinerU's content list and the DoclingDocument. */
#include "unit/written.h"

#include "base/json.h"

#include <string.h>

static struct recto_write_options options(const char *as)
{
    struct recto_write_options o;

    recto_write_options_init(&o);
    o.name = "x.pdf";
    o.source_kind = "PDF";
    o.source_sha256 = "00ff";
    o.json_as = as;
    return o;
}

static int draw(void *ctx, int page, struct recto_image *im)
{
    *im = (struct recto_image){1998, 2997, mem_zero(1998 * 2997, 3)};
    return 0;
}

/* A page of A4 shape with every kind of piece. */
/* clang-format off */
static const char pieces[] =
    REF("header") DET("[[0, 0, 999, 20]]") "\nHead\n\n"
    REF("sub_title") DET("[[0, 30, 999, 50]]") "\n### Deep *one*\n\n"
    REF("list") DET("[[0, 60, 999, 90]]") "\n1. first\ngoes on\n12) second\n\n"
    REF("table_caption") DET("[[0, 100, 999, 110]]") "\nTable 1\n\n"
    REF("table") DET("[[0, 120, 999, 200]]") "\n<table><tr><th>A</th><th>B</th></tr><tr><td colspan=\"2\">x &lt; y</td></tr></table>\nunder it\n\n"
    REF("text") DET("[[0, 210, 999, 300]]") "\nbefore \\[ a^2 \\] after\n\n"
    REF("figure_title") DET("[[0, 310, 999, 320]]") "\nFig. 1\n\n"
    REF("image") DET("[[0, 330, 500, 400], [500, 330, 999, 400]]") "\n\n"
    REF("image") DET("[]") "\n\n"
    REF("figure_title") DET("[[0, 410, 999, 420]]") "\nof nothing\n\n"
    REF("code") DET("[[0, 430, 999, 500]]") "\n```\na *b*\n```";
/* clang-format on */

static json_t *parsed(const char *text)
{
    json_error_t e;
    json_t *v = json_loads(text, JSON_REJECT_DUPLICATES, &e);

    if (!v)
        fail_msg("%s in %s", e.text, text);
    return v;
}

/* ---- MinerU ---------------------------------------------------------------------------------- */

static void test_mineru_example(void **state)
{
    struct recto_write_options o = options("mineru");
    struct pixels pixels = {.draw = draw};
    struct recto_page p = example_page();
    struct written w = {0};

    o.stem = "x";
    p.number = 7;
    assert_string_equal(
        written(&w, "json", &o, &pixels, &p, 1),
        "[\n{\"type\":\"text\",\"text\":\"Report\",\"text_level\":1,\"bbox\":[100,50,501,80],"
        "\"page_idx\":6},\n"
        "{\"type\":\"text\",\"text\":\"Cost is \\\\$5 (2024).\",\"bbox\":[100,100,900,160],"
        "\"page_idx\":6},\n"
        "{\"type\":\"equation\",\"img_path\":\"\",\"text\":\"$$\\nE \\\\coloneqq mc^{2} \\\\quad "
        "(1)\\n$$\",\"text_format\":\"latex\",\"bbox\":[300,180,701,220],\"page_idx\":6},\n"
        "{\"type\":\"table\",\"img_path\":\"\",\"table_caption\":[],\"table_footnote\":[],"
        "\"table_body\":\"" EXAMPLE_TABLE "\",\"bbox\":[100,240,900,330],\"page_idx\":6},\n"
        "{\"type\":\"image\",\"img_path\":\"x.files/p0007-f1.png\",\"image_caption\":"
        "[\"Fig. 1. Map\"],\"image_footnote\":[],\"bbox\":[100,350,501,601],\"page_idx\":6}\n]\n");
    assert_int_equal(w.n_side, 1);
    assert_string_equal(w.name, "p0007-f1.png");
    written_reset(&w);
    pixels_reset(&pixels);
    recto_page_reset(&p);
}

/* Types in order; nothing is lost and nothing comes twice. */
static void test_mineru_pieces(void **state)
{
    static const char *const types[] = {"text", "text",  "table", "text", "text", "equation",
                                        "text", "image", "image", "text", "text"};
    struct recto_write_options o = options("mineru");
    struct recto_page p = test_page(STR(pieces), RECTO_FINISH_EOS);
    struct written w = {0};
    json_t *list = parsed(written(&w, "json", &o, NULL, &p, 1));

    assert_int_equal(json_array_size(list), COUNT(types));
    for (size_t i = 0; i < COUNT(types); i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, i), "type")),
                            types[i]);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "text_level")), 3);
    assert_string_equal(json_string_value(json_array_get(
                            json_object_get(json_array_get(list, 2), "table_caption"), 0)),
                        "Table 1");
    assert_string_equal(json_string_value(json_array_get(
                            json_object_get(json_array_get(list, 7), "image_caption"), 0)),
                        "Fig. 1");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 9), "text")),
                        "of nothing");
    assert_int_equal(json_array_size(json_object_get(json_array_get(list, 8), "image_caption")), 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 10), "text")),
                        "a *b*");
    json_decref(list);
    written_reset(&w);
    o.keep_furniture = true;
    list = parsed(written(&w, "json", &o, NULL, &p, 1));
    assert_int_equal(json_array_size(list), COUNT(types) + 1);
    json_decref(list);
    written_reset(&w);
    recto_page_reset(&p);
}

/* ---- Docling --------------------------------------------------------------------------------- */

/* What "#/texts/3" names. */
static const json_t *at_ref(const json_t *doc, const json_t *ref)
{
    const char *path = json_string_value(json_object_get(ref, "$ref"));
    char list[16];
    int i;

    assert_non_null(path);
    if (strcmp(path, "#/body") == 0)
        return json_object_get(doc, "body");
    assert_int_equal(sscanf(path, "#/%15[a-z]/%d", list, &i), 2);
    return json_array_get(json_object_get(doc, list), (size_t)i);
}

/* Each child names what is above it as its parent. Counts the items below. */
static int check_tree(const json_t *doc, const json_t *node)
{
    const json_t *children = json_object_get(node, "children"), *ref;
    int n = 0;
    size_t i;

    json_array_foreach(children, i, ref)
    {
        const json_t *child = at_ref(doc, ref);

        assert_non_null(child);
        assert_string_equal(json_string_value(json_object_get(child, "self_ref")),
                            json_string_value(json_object_get(ref, "$ref")));
        assert_ptr_equal(at_ref(doc, json_object_get(child, "parent")), node);
        n += 1 + check_tree(doc, child);
    }
    return n;
}

static const char *text_at(const json_t *doc, size_t i, const char *key)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(doc, "texts"), i), key));
}

static void test_docling(void **state)
{
    static const char *const want[][2] = {{"section_header", "Deep one"},
                                          {"list_item", "first\ngoes on"},
                                          {"list_item", "second"},
                                          {"caption", "Table 1"},
                                          {"text", "under it"},
                                          {"text", "before"},
                                          {"formula", "a^2"},
                                          {"text", "after"},
                                          {"caption", "Fig. 1"},
                                          {"caption", "of nothing"},
                                          {"code", "a *b*"}};
    struct recto_write_options o = options("docling");
    struct pixels pixels = {.draw = draw};
    struct recto_page p[2] = {test_page(STR(pieces), RECTO_FINISH_EOS), {.number = 2}};
    struct written w = {0};
    json_t *doc;

    o.stem = "x";
    p[0].width = 1998, p[0].height = 2997;
    p[0].crop_pt[2] = 666, p[0].crop_pt[3] = 999;
    p[0].width_pt = 666, p[0].height_pt = 999;
    doc = parsed(written(&w, "json", &o, &pixels, p, 2));
    assert_int_equal(json_array_size(json_object_get(doc, "texts")), COUNT(want));
    for (size_t i = 0; i < COUNT(want); i++) {
        assert_string_equal(text_at(doc, i, "label"), want[i][0]);
        assert_string_equal(text_at(doc, i, "text"), want[i][1]);
    }
    assert_int_equal(json_array_size(json_object_get(doc, "pictures")), 2);
    assert_int_equal(json_array_size(json_object_get(doc, "tables")), 1);
    assert_int_equal(json_object_size(json_object_get(doc, "pages")), 2);
    assert_int_equal(check_tree(doc, json_object_get(doc, "body")), (int)COUNT(want) + 2 + 1 + 1);
    assert_non_null(strstr(w.main.p, "\"enumerated\":true,\"marker\":\"12)\""));
    assert_non_null(strstr(w.main.p, "\"binary_hash\":0,"));
    assert_non_null(strstr(w.main.p, "{\"l\":0.0,\"t\":30.0,\"r\":666.0,\"b\":50.0,"
                                     "\"coord_origin\":\"TOPLEFT\"}"));
    assert_non_null(strstr(w.main.p, "\"uri\":\"x.files/p0001-f2.png\""));
    json_decref(doc);
    written_reset(&w);
    pixels_reset(&pixels);
    recto_page_reset(&p[0]);
}

static void test_empty(void **state)
{
    struct recto_write_options o = options("docling");
    struct written w = {0};

    json_decref(parsed(written(&w, "json", &o, NULL, NULL, 0)));
    written_reset(&w);
    o.json_as = "mineru";
    assert_string_equal(written(&w, "json", &o, NULL, NULL, 0), "[\n]\n");
    written_reset(&w);
    o.json_as = "xml";
    assert_int_equal(written_try(&w, "json", &o, NULL, NULL, 0), RECTO_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mineru_example),
        cmocka_unit_test(test_mineru_pieces),
        cmocka_unit_test(test_docling),
        cmocka_unit_test(test_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
