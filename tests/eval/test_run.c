/* A set from files to reports: what is loaded, scored, summed up, compared, and shown. */
#include "assign.h"
#include "bootstrap.h"
#include "diff.h"
#include "groups.h"
#include "run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

static char dir[64];

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/test_run.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

/* DIR/path with this content; folders are made. */
static void put(const char *path, const char *content)
{
    struct eval_fault f;
    char whole[256];

    for (const char *p = path; (p = strchr(p, '/')); p++) {
        snprintf(whole, sizeof whole, "%s/%.*s", dir, (int)(p - path), path);
        assert_int_equal(eval_make_dir(whole, &f), 0);
    }
    snprintf(whole, sizeof whole, "%s/%s", dir, path);
    assert_int_equal(eval_write_file(whole, content, strlen(content), &f), 0);
}

static int open_set(struct eval_set *s, const char *name, struct eval_fault *f)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return eval_set_open(s, path, NULL, 0, f);
}

/* Load, score with predictions of a folder. */
static void run_set(struct eval_run *r, struct eval_set *s, const char *name, const char *pred)
{
    struct eval_fault f;
    char path[128];

    if (open_set(s, name, &f) < 0)
        fail_msg("%s", f.text);
    snprintf(path, sizeof path, "%s/%s", dir, pred);
    *r = (struct eval_run){
        .set = s,
        .pred = calloc((size_t)s->n, sizeof *r->pred),
        .result = calloc((size_t)s->n, sizeof *r->result),
        .norm = EVAL_N1,
        .record = json_pack("{ssss}", "truth_sha256", s->truth_sha256, "normalisation", "N1"),
        .run = json_object()};
    for (int i = 0; i < s->n; i++)
        if (eval_pred_load(&r->pred[i], &s->at[i], path, false, &f) < 0)
            fail_msg("%s", f.text);
    eval_score(r, 2);
}

static double number(const json_t *v, const char *a, const char *b, const char *c)
{
    v = json_object_get(v, a);
    v = b ? json_object_get(v, b) : v;
    v = c ? json_object_get(v, c) : v;
    assert_true(json_is_number(v));
    return json_number_value(v);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void is_page(const char *md, int number, const char *want)
{
    char *page = eval_md_page(md, number);

    if (want)
        assert_string_equal(page, want);
    else
        assert_null(page);
    free(page);
}

static void pages_of_markdown(void **state)
{
    is_page("a\n\n<!-- page 2 -->\n\nb\n", 1, "a\n\n");
    is_page("a\n\n<!-- page 2 -->\n\nb\n", 2, "\nb\n");
    is_page("a\n\n<!-- page 2 -->\n\nb\n", 3, NULL);
    is_page("a\n<!-- page 3 -->\nc", 3, "c");
    is_page("a\n<!-- page 3 -->\nc", 2, NULL);
    is_page("<!-- page 4 -->\nd", 4, "d");
    is_page("<!-- page 4 -->\nd", 1, NULL);
    is_page("a <!-- page 2 -->\nb", 1, "a <!-- page 2 -->\nb"); /* not a line of its own */
    is_page("", 1, "");
}

/* The magic of a PNG is all that a page needs here. */
#define PNG "\x89PNG\r\n\x1a\n"

static void folder(void **state)
{
    struct eval_fault f;
    struct eval_set s;

    put("set/pages/b.png", PNG);
    put("set/pages/notes.c", "int x;");
    put("set/pages/.hidden.png", PNG);
    put("set/truth/a.txt", "one\ftwo\fthree");
    put("set/truth/b.md", "# B\n");
    put("set/truth/b.html", "<table><tr><td>1</td></tr></table>");
    put("set/truth/b.json",
        "{\"pages\":[{\"page\":1,\"status\":\"ok\",\"size_px\":[10,10],\"rotate\":0,\"grid\":[1,1],"
        "\"kind\":\"letters\",\"lang\":\"en\",\"blocks\":[{\"id\":\"p1b0\",\"order\":0,\"kind\":\"title\","
        "\"label\":\"title\",\"boxes_999\":[[1,2,3,4]],\"text\":\"B\"}]}]}");
    if (open_set(&s, "set", &f) < 0)
        fail_msg("%s", f.text);
    assert_int_equal(s.layout, EVAL_FOLDER);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.n_unknown, 1);
    assert_string_equal(s.at[1].name, "a-p0002");
    assert_string_equal(s.at[1].txt, "two");
    assert_null(s.at[1].file);
    assert_int_equal(s.at[2].n_page, 3);
    assert_string_equal(s.at[3].name, "b");
    assert_non_null(s.at[3].file);
    assert_string_equal(s.at[3].md, "# B\n");
    assert_string_equal(s.at[3].group[EVAL_KIND], "letters");
    assert_null(s.at[3].group[EVAL_LEVEL]);
    assert_int_equal(s.at[3].layout->n_block, 1);
    assert_int_equal(strlen(s.truth_sha256), 64);
    char *hash = eval_copy(s.truth_sha256);
    eval_set_close(&s);

    put("set/truth/b.md", "# C\n");
    assert_int_equal(open_set(&s, "set", &f), 0);
    assert_string_not_equal(s.truth_sha256, hash);
    eval_set_close(&s);
    free(hash);
}

static void faults(void **state)
{
    struct eval_fault f;
    struct eval_set s;

    assert_int_equal(open_set(&s, "nowhere", &f), RECTO_ENOTFOUND);
    eval_set_close(&s);
    put("other/x", "");
    assert_int_equal(open_set(&s, "other", &f), RECTO_EKIND);
    eval_set_close(&s);
    put("bare/pages/x", "no picture");
    assert_int_equal(open_set(&s, "bare", &f), RECTO_EEMPTY);
    eval_set_close(&s);
    put("twice/pages/a.png", PNG);
    put("twice/pages/a.pdf", "%PDF-1.4\n");
    assert_int_equal(open_set(&s, "twice", &f), RECTO_EUSAGE);
    assert_non_null(strstr(f.text, "same truth"));
    eval_set_close(&s);
    put("broken/truth/a.json", "{\"pages\":");
    assert_int_equal(open_set(&s, "broken", &f), RECTO_EFORMAT);
    eval_set_close(&s);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void sums(void **state)
{
    struct eval_set s;
    struct eval_run r;
    int all[] = {0, 1, 2, 3}, *worst;

    put("sum/truth/a.md", "abcd\n");    /* 1 edit of 4 */
    put("sum/truth/b.md", "one two\n"); /* 0 of 7 */
    put("sum/truth/c.md",
        "<table><tr><td>x</td><td>y</td></tr></table>\n\nend\n"); /* 0 of 7; TEDS 1 */
    put("sum/truth/d.md", "lost");                                /* 4 of 4: no prediction */
    put("sum-pred/a.md", "abxd\n");
    put("sum-pred/b.md", "**one** two");
    put("sum-pred/c.md", "<table><tr><td>x</td><td>y</td></tr></table>\n\nend\n");
    run_set(&r, &s, "sum", "sum-pred");
    json_t *sum = eval_summary(&r, all, 4);
    NEAR(number(sum, "text", "N1", "cer"), 5.0 / 22);
    NEAR(number(sum, "text", "N1", "cer_mean"), 1.25 / 4);
    NEAR(number(sum, "text", "N1", "cer_median"), 0.125);
    NEAR(number(sum, "text", "N1", "wer"), 2.0 / 7);
    NEAR(number(sum, "text", "raw", "pages"), 4);
    assert_int_equal(r.result[1].score.text[0].chars.edits, 4); /* raw: the four stars */
    assert_int_equal(r.result[1].score.text[1].chars.edits, 0);
    NEAR(number(sum, "tables", "teds", NULL), 1);
    NEAR(number(sum, "missing", NULL, NULL), 1);
    assert_null(json_object_get(sum, "reading"));
    json_decref(sum);
    sum = eval_summary(&r, all + 1, 1);
    NEAR(number(sum, "text", "N1", "cer"), 0);
    json_decref(sum);
    worst = eval_worst_first(&r);
    assert_int_equal(worst[0], 3);
    assert_int_equal(worst[1], 0);
    assert_int_equal(worst[2], 1);
    free(worst);
    eval_run_reset(&r);
    eval_set_close(&s);
}

#define BLOCK(order, kind, box, text)                                                        \
    "{\"id\":\"p1b" #order "\",\"order\":" #order ",\"kind\":\"" kind "\",\"label\":\"" kind \
    "\",\"boxes_999\":[[" box "]],\"text\":\"" text "\"}"
#define PAGE(blocks)                                                                             \
    "{\"pages\":[{\"page\":1,\"status\":\"ok\",\"size_px\":[10,10],\"rotate\":0,\"grid\":[1,1]," \
    "\"blocks\":[" blocks "]}]}"

/* Two blocks exchanged; one box of two right, the title's too small. */
static void layout(void **state)
{
    struct eval_set s;
    struct eval_run r;
    int all = 0;

    put("lay/truth/p.json", PAGE(BLOCK(0, "title", "0,0,100,100", "Alpha beta") "," BLOCK(
                                1, "text", "0,200,100,300",
                                "gamma delta") "," BLOCK(2, "page_number", "0,900,100,950", "7")));
    put("lay-pred/p.json", PAGE(BLOCK(0, "text", "0,200,100,300", "gamma delta") "," BLOCK(
                               1, "title", "0,0,100,40", "Alpha beta")));
    put("lay-pred/p.md", "gamma delta\n\n# Alpha beta\n");
    run_set(&r, &s, "lay", "lay-pred");
    json_t *sum = eval_summary(&r, &all, 1);
    NEAR(number(sum, "order", "distance", NULL), 1); /* two of two are elsewhere */
    const json_t *boxes = json_object_get(sum, "boxes");
    NEAR(number(boxes, "all", "recall_50", NULL), 1.0 / 3);
    NEAR(number(boxes, "all", "precision_50", NULL), 1.0 / 2);
    NEAR(number(boxes, "all", "iou", NULL), 1);
    NEAR(number(boxes, "kinds", "text", "f1_75"), 1);
    NEAR(number(boxes, "kinds", "title", "recall_50"), 0);
    NEAR(number(sum, "reading", "status", "ok"), 1);
    json_decref(sum);
    eval_run_reset(&r);
    eval_set_close(&s);
}

/* ---- reports --------------------------------------------------------------------------------- */

static void check_reports(const struct eval_run *r)
{
    struct page_text json = {0}, md = {0}, html = {0}, again = {0};
    struct recto_settings settings;
    json_t *root;

    recto_settings_init(&settings);
    eval_report_json(r, &json);
    eval_report_json(r, &again);
    assert_string_equal(json.p, again.p);
    root = json_loads(json.p, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "pages")), r->set->n);
    json_decref(root);
    eval_report_md(r, &md);
    assert_non_null(strstr(md.p, "| N1 | 1 |"));
    eval_report_html(r, dir, 20, &settings, &html);
    assert_null(strstr(html.p, "<script"));
    assert_null(strstr(html.p, "onerror=\"x"));
    assert_non_null(strstr(html.p, "&lt;script&gt;"));
    assert_non_null(strstr(html.p, "cannot be drawn"));
    free(json.p);
    free(again.p);
    free(md.p);
    free(html.p);
}

/* What strangers wrote stays text. */
static void hostile(void **state)
{
    struct eval_set s;
    struct eval_run r;

    put("bad/truth/x<script>.txt", "a <script>alert(1)</script> | b\x01");
    put("bad-pred/x<script>.md", "<img src=x onerror=\"x\"> &amp; \xFF");
    run_set(&r, &s, "bad", "bad-pred");
    check_reports(&r);
    eval_run_reset(&r);
    eval_set_close(&s);
}

static char *report_of(const char *set, const char *pred, const char *as)
{
    struct page_text json = {0};
    struct eval_set s;
    struct eval_run r;

    run_set(&r, &s, set, pred);
    eval_report_json(&r, &json);
    put(as, json.p);
    free(json.p);
    eval_run_reset(&r);
    eval_set_close(&s);
    return eval_string("%s/%s", dir, as);
}

static void comparison(void **state)
{
    struct page_text out = {0};
    struct eval_fault f;
    bool same_record, same_score;

    put("cmp-pred/a.md", "abcd\n");
    put("cmp-pred/b.md", "one two");
    put("cmp-pred/c.md", "end");
    put("cmp-pred/d.md", "lost");
    char *a = report_of("sum", "sum-pred", "a.json"), *b = report_of("sum", "cmp-pred", "b.json");
    assert_int_equal(eval_compare(a, a, 1, &out, &same_record, &same_score, &f), 0);
    assert_true(same_record && same_score);
    free(out.p);
    out = (struct page_text){0};
    assert_int_equal(eval_compare(a, b, 1, &out, &same_record, &same_score, &f), 0);
    assert_true(same_record && !same_score);
    /* 5 of 22, then 4 of 22: "x y " is lost in c */
    assert_non_null(strstr(out.p, "CER               4    0.227273    0.181818   -0.045455"));
    assert_non_null(strstr(out.p, "-1.000000  1.000000 -> 0.000000  d"));
    free(out.p);
    out = (struct page_text){0};
    assert_int_equal(eval_compare(a, dir, 1, &out, &same_record, &same_score, &f), RECTO_ENOTFOUND);
    put("c.json", "{\"schema\":\"something\"}");
    char *c = eval_string("%s/c.json", dir);
    assert_int_equal(eval_compare(a, c, 1, &out, &same_record, &same_score, &f), RECTO_EFORMAT);
    free(out.p);
    free(a);
    free(b);
    free(c);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void differences(void **state)
{
    static const struct {
        const char *a, *b, *want;
    } cases[] = {
        {"", "", ""},
        {"a b", "a b", "a b"},
        {"the cat sat", "the bat sat", "the -cat-+bat+ sat"},
        {"a", "", "-a-"},
        {"", "a<", "+a&lt;+"},
        {"\u4E2D\u6587", "\u4E2D", "\u4E2D-\u6587-"},
    };
    static const char *const mark[] = {"", "-", "+"};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct eval_text a = eval_text_of(cases[i].a, strlen(cases[i].a), EVAL_N0);
        struct eval_text b = eval_text_of(cases[i].b, strlen(cases[i].b), EVAL_N0);
        struct diff d = diff_of(&a, &b);
        struct page_text got = {0};

        print(&got, "%s", "");
        for (int k = 0; k < d.n; k++)
            print(&got, "%s%s%s", mark[d.part[k].kind], d.part[k].text, mark[d.part[k].kind]);
        assert_string_equal(got.p, cases[i].want);
        free(got.p);
        diff_reset(&d);
        eval_text_reset(&a);
        eval_text_reset(&b);
    }
}

/* The least sum over all ways, by trying them. */
static double try_all(const double *cost, int n_row, int n_col, int row, unsigned used, int skips)
{
    double best = INFINITY;

    if (row == n_row)
        return 0;
    if (skips > 0)
        best = try_all(cost, n_row, n_col, row + 1, used, skips - 1);
    for (int j = 0; j < n_col; j++)
        if (!(used >> j & 1)) {
            double c = cost[row * n_col + j] +
                       try_all(cost, n_row, n_col, row + 1, used | 1u << j, skips);

            best = c < best ? c : best;
        }
    return best;
}

static void assignment(void **state)
{
    unsigned seed = 3;

    for (int k = 0; k < 300; k++) {
        int n_row = rand_r(&seed) % 6, n_col = rand_r(&seed) % 6, mate[6], n_mate = 0;
        double cost[36], sum = 0;

        for (int i = 0; i < n_row * n_col; i++)
            cost[i] = rand_r(&seed) % 10;
        eval_assign(cost, n_row, n_col, mate);
        unsigned used = 0;
        for (int i = 0; i < n_row; i++)
            if (mate[i] >= 0) {
                assert_false(used >> mate[i] & 1);
                used |= 1u << mate[i];
                sum += cost[i * n_col + mate[i]];
                n_mate++;
            }
        assert_int_equal(n_mate, n_row < n_col ? n_row : n_col);
        NEAR(sum, try_all(cost, n_row, n_col, 0, 0, n_row > n_col ? n_row - n_col : 0));
    }
}

static double mean(void *ctx, const int *pick, int n)
{
    const double *v = ctx;
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += v[pick[i]];
    return sum / n;
}

/* The mean of 400 coins lies within 1.96 * 0.5 / 20 of a half: so does the interval. */
static void bootstrap(void **state)
{
    double coin[400];

    for (int i = 0; i < 400; i++)
        coin[i] = i % 2;
    struct interval a = eval_bootstrap(400, 1000, 7, mean, coin);
    struct interval b = eval_bootstrap(400, 1000, 7, mean, coin);
    assert_true(a.lo == b.lo && a.hi == b.hi);
    assert_true(fabs(a.lo - (0.5 - 0.049)) < 0.008 && fabs(a.hi - (0.5 + 0.049)) < 0.008);
    a = eval_bootstrap(400, 1000, 8, mean, coin);
    assert_true(a.lo != b.lo || a.hi != b.hi);
}

static void tables(void **state)
{
    struct names t = eval_tables_of(
        "x <table><tr><td><table>a</table></td></tr></table> y <TABLE>b</TABLE>"
        "</table> <table>c");

    assert_int_equal(t.n, 3);
    assert_string_equal(t.name[0], "<table><tr><td><table>a</table></td></tr></table>");
    assert_string_equal(t.name[1], "<TABLE>b</TABLE>");
    assert_string_equal(t.name[2], "<table>c");
    names_reset(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_markdown),
        cmocka_unit_test(folder),
        cmocka_unit_test(faults),
        cmocka_unit_test(sums),
        cmocka_unit_test(layout),
        cmocka_unit_test(hostile),
        cmocka_unit_test(comparison),
        cmocka_unit_test(differences),
        cmocka_unit_test(assignment),
        cmocka_unit_test(bootstrap),
        cmocka_unit_test(tables),
    };

    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
