/* Pages that fail, read again: every rung, the choice, boxes back on the page, orientation, cancelling and faults on the way;
 * through the whole system, with a script in the model's place. */
#include "scripted.h"

#include <time.h>

#define BLOCK(label, box) "<|ref|>" label "<|/ref|><|det|>[[" box "]]<|/det|>\\n"
#define FOR_EVER          "'text':'so ','repeat':'and again '"
#define GOOD \
    "'text':'" BLOCK("text", "100, 200, 300, 400") "All is well here, thank you.','logp':-0.1"

static struct recto_options options(void)
{
    struct recto_options o;

    recto_options_init(&o);
    o.rotate = 0;
    o.guard_n = -1;
    return o;
}

static struct recto_options guarded(void)
{
    struct recto_options o = options();

    o.guard_n = 20;
    o.guard_w = 90;
    return o;
}

static struct picture upright(void)
{
    return picture_of_lines(900, 1200, 24);
}

/* Read a page of lines by a script; with the ids that all its readings made together. */
static struct recto_page *read_counted(const char *script, const struct recto_options *o,
                                       int64_t *n_out)
{
    struct picture p = upright();
    struct recto *r = scripted_open(script);
    struct recto_page *page = scripted_read(r, "one.ppm", &p, o);
    struct recto_stats s = {.size = sizeof s};

    if (n_out) {
        usleep(50000); /* counters are published after the page */
        recto_get_stats(r, &s);
        *n_out = s.n_out;
    }
    recto_close(r);
    buf_reset(&p.ppm);
    return page;
}

static struct recto_page *read_by(const char *script, const struct recto_options *o)
{
    return read_counted(script, o, NULL);
}

/* "first wide*": rungs in order, the chosen one marked. */
static void expect_attempts(const struct recto_page *p, const char *want)
{
    char got[200] = "";

    for (int i = 0; i < p->n_attempt; i++) {
        size_t n = strlen(got);

        snprintf(got + n, sizeof got - n, "%s%s%s", i ? " " : "", p->attempt[i].rung,
                 p->attempt[i].is_chosen ? "*" : "");
    }
    assert_string_equal(got, want);
}

static void expect_box(struct recto_box got, int x1, int y1, int x2, int y2)
{
    assert_int_equal(got.x1, x1);
    assert_int_equal(got.y1, y1);
    assert_int_equal(got.x2, x2);
    assert_int_equal(got.y2, y2);
}

/* ---- the ladder ------------------------------------------------------------------------------------------------------ */

static void a_good_page_is_read_once(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'pages':[{" GOOD "}]}", &o);

    assert_int_equal(p->status, RECTO_PAGE_OK);
    expect_attempts(p, "first*");
    assert_int_equal(p->attempt[0].finish, RECTO_FINISH_EOS);
    assert_int_equal(p->attempt[0].n_token, p->n_token);
    assert_true(p->attempt[0].conf == p->conf);
    scripted_free(p);
}

static void every_rung_in_order(void **state)
{
    struct recto_options o = guarded();
    struct recto_page *p;

    o.retries = RECTO_RETRIES_MAX;
    p = read_by("{'pages':[{" FOR_EVER "}]}", &o);
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    assert_int_equal(p->finish, RECTO_FINISH_LOOP);
    expect_attempts(p, "first wide* shift halves text"); /* most text */
    scripted_free(p);
    o.retries = 2;
    p = read_by("{'pages':[{" FOR_EVER "}]}", &o);
    expect_attempts(p, "first wide* shift");
    scripted_free(p);
    o.retries = 0;
    p = read_by("{'pages':[{" FOR_EVER "}]}", &o);
    expect_attempts(p, "first*");
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    assert_memory_equal(p->block[0].text, "so and again", 12);
    scripted_free(p);
}

/* Each rung can save the page, and what it says is what comes out. */
static void each_rung_saves(void **state)
{
    static const struct {
        const char *rung, *attempts;
    } cases[] = {
        {"wide", "first wide*"},
        {"shift", "first wide shift*"},
        {"halves", "first wide shift halves*"},
        {"text", "first wide shift halves text*"},
    };
    struct recto_options o = guarded();

    o.retries = RECTO_RETRIES_MAX;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char script[300];
        struct recto_page *p;

        snprintf(script, sizeof script,
                 "{'pages':[{'rung':'%s','text':'Saved by {rung}, reading {attempt}.'},{" FOR_EVER
                 "}]}",
                 cases[i].rung);
        p = read_by(script, &o);
        expect_attempts(p, cases[i].attempts);
        assert_int_equal(p->status, RECTO_PAGE_OK);
        assert_non_null(strstr(p->raw, cases[i].rung));
        scripted_free(p);
    }
}

/* The ban makes 1 ... 365 of 365 equal cells; without retries that never passes as read, and the table rung reads them. */
#define EQUAL_CELLS                                                                       \
    "{'pages':[{'text':'" BLOCK(                                                          \
        "table", "0, 0, 999, 999") "<table>','repeat':'<tr><td>7</td></tr>','times':365," \
                                   "'tail':'</table>'}]}"

static void equal_cells(void **state)
{
    struct recto_options o = guarded();
    struct recto_page *p = read_by(EQUAL_CELLS, &o);
    int n = 0;

    expect_attempts(p, "first table*");
    assert_int_equal(p->attempt[0].finish, RECTO_FINISH_LOOP);
    assert_int_equal(p->status, RECTO_PAGE_OK);
    for (const char *s = p->block[0].text; (s = strstr(s, "<td>7</td>")); s++)
        n++;
    assert_int_equal(n, 365);
    assert_int_equal(p->block[0].flags, 0);
    assert_int_equal(p->n_warning, 0);
    scripted_free(p);
    o.retries = 0;
    p = read_by(EQUAL_CELLS, &o);
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    assert_true(p->block[0].flags & RECTO_BLOCK_GUARD_IN_TABLE);
    scripted_free(p);
}

/* A table that the guard altered, but too little for a loop, says so. */
static void altered_cells_are_flagged(void **state)
{
    struct recto_options o = guarded();
    struct recto_page *p = read_by(
        "{'pages':[{'text':'Before.\\n" BLOCK("text", "1, 1, 2, 2") "Text.\\n\\n" BLOCK(
            "table",
            "0, 0, 9, 9") "<table>','repeat':'<tr><td>7</td></tr>','times':7,'tail':'</table>\\n\\n" BLOCK("text",
                                                                                                           "5, 5, 6, 6") "End.'}]}",
        &o);

    expect_attempts(p, "first*");
    assert_int_equal(p->n_block, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(!!(p->block[i].flags & RECTO_BLOCK_GUARD_IN_TABLE), i == 2);
    assert_true(p->n_intervention > 0);
    assert_int_equal(p->n_warning, 1);
    assert_string_equal(p->warning[0], "repeated cells may be altered");
    scripted_free(p);
}

/* A unit of seven ids stops 135 ids after it starts, and one unit is kept. */
static void a_loop_stops_in_time(void **state)
{
    struct recto_options o = options();
    int64_t n_out;
    struct recto_page *p;

    o.retries = 0;
    p = read_counted("{'pages':[{'text':'','repeat':'1234567'}]}", &o, &n_out);
    assert_int_equal(p->finish, RECTO_FINISH_LOOP);
    assert_int_equal(n_out, 135);
    assert_string_equal(p->block[0].text, "1234567");
    scripted_free(p);
}

static void equal_blocks_are_a_loop(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;

    o.retries = 0;
    p = read_by("{'pages':[{'text':'" BLOCK("title", "1, 1, 5, 5") "# Top\\n\\n','repeat':'" BLOCK(
                    "text", "1, 2, 3, 4") "{document}\\n\\n','times':5}]}",
                &o);
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    assert_int_equal(p->n_block, 2);
    scripted_free(p);
}

/* Too long for the context: its halves are read, and their blocks lie where they are on the page. */
static void length_goes_to_halves(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by(
        "{'pages':[{'half':1,'text':'" BLOCK(
            "title",
            "0, 0, 999, 999") "# Upper','logp':-0.1},"
                              "{'half':2,'text':'" BLOCK("text", "0, 0, 999, 999") "Lower.\\n\\n" BLOCK(
                                  "text", "500, 0, 999, 999") "Right.','logp':-0.3},"
                                                              "{'end':'on'}]}",
        &o);
    int cut;

    expect_attempts(p, "first halves*");
    assert_int_equal(p->attempt[0].finish, RECTO_FINISH_LENGTH);
    assert_int_equal(p->status, RECTO_PAGE_OK);
    assert_int_equal(p->n_block, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(p->block[i].order, i);
    cut = p->block[0].box[0].y2;
    assert_in_range(cut, 400, 600);
    expect_box(p->block[0].box[0], 0, 0, 999, cut);
    expect_box(p->block[1].box[0], 0, cut, 999, 999);
    expect_box(p->block[2].box[0], 500, cut, 999, 999);
    assert_int_equal(p->width, 900);
    assert_int_equal(p->n_token, p->attempt[1].n_token);
    assert_true(p->conf > 0.74 && p->conf < 0.91);
    assert_non_null(strstr(p->raw, "# Upper\n\n<|ref|>"));
    scripted_free(p);
}

static void shifted_boxes_come_back(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by(
        "{'pages':[{'rung':'shift','text':'" BLOCK("text", "0, 0, 999, 999") "Page.\\n\\n" BLOCK(
            "text", "500, 250, 999, 500") "Part.'},{" FOR_EVER "}]}",
        &o);

    /* 900 x 1200 with a border of 27 and 36: the picture is 954 x 1272 */
    expect_attempts(p, "first shift*");
    expect_box(p->block[0].box[0], 0, 0, 999, 999);
    expect_box(p->block[1].box[0], 500, 235, 999, 500);
    scripted_free(p);
}

/* All go round: the one that was surest is kept. */
static void the_surest_loop_is_kept(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by(
        "{'pages':[{'rung':'halves'," FOR_EVER ",'logp':-0.01},{" FOR_EVER ",'logp':-0.2}]}", &o);

    expect_attempts(p, "first shift halves* text");
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    scripted_free(p);
}

static void unsure_pages_are_read_again(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by(
        "{'pages':[{'rung':'shift','text':'Now sure.'},{'text':'Hmm.','logp':-0.8}]}", &o);

    expect_attempts(p, "first shift*");
    assert_int_equal(p->status, RECTO_PAGE_OK);
    scripted_free(p);
    p = read_by("{'pages':[{'text':'Hmm.','logp':-0.8}]}", &o);
    expect_attempts(p, "first shift halves* text"); /* twice the text */
    assert_int_equal(p->status, RECTO_PAGE_SUSPECT);
    scripted_free(p);
}

static void nothing_on_a_page_with_ink(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'pages':[{'text':''}]}", &o);

    expect_attempts(p, "first* shift");
    assert_int_equal(p->status, RECTO_PAGE_SUSPECT);
    scripted_free(p);
    p = read_by("{'pages':[{'attempt':2,'text':'Found.'},{'text':''}]}", &o);
    expect_attempts(p, "first shift*");
    assert_int_equal(p->status, RECTO_PAGE_OK);
    scripted_free(p);
    p = read_by("{'pages':[{'text':'" BLOCK("image", "0, 0, 999, 999") "'}]}", &o);
    expect_attempts(p, "first*"); /* only a figure is fine */
    assert_int_equal(p->status, RECTO_PAGE_OK);
    scripted_free(p);
}

/* Whatever happens, a page costs no more than three contexts. */
static void the_budget_holds(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;
    int64_t n_out;

    o.retries = RECTO_RETRIES_MAX;
    p = read_counted("{'pages':[{'end':'on'}]}", &o, &n_out);
    assert_int_equal(p->status, RECTO_PAGE_LENGTH);
    assert_true(p->n_attempt >= 3);
    assert_in_range(n_out, 2 * 8192, 3 * 8192);
    scripted_free(p);
}

/* ---- faults, cancelling, deadlines ----------------------------------------------------------------------------------- */

static void a_fault_in_a_retry(void **state)
{
    struct recto_options o = guarded();
    struct recto_page *p = read_by(
        "{'pages':[{'rung':'wide','end':'fail'},{'rung':'shift'," GOOD "},{" FOR_EVER "}]}", &o);

    expect_attempts(p, "first wide shift*");
    assert_int_equal(p->attempt[1].finish, RECTO_FINISH_NONE);
    assert_int_equal(p->status, RECTO_PAGE_OK);
    scripted_free(p);
    p = read_by("{'pages':[{'rung':'first'," FOR_EVER "},{'text':'x','end':'fail'}]}", &o);
    expect_attempts(p, "first* wide shift halves");
    assert_int_equal(p->status, RECTO_PAGE_LOOP); /* never dropped */
    assert_true(p->n_block > 0);
    scripted_free(p);
    p = read_by("{'pages':[{'text':'x','end':'fail'}]}", &o);
    expect_attempts(p, "first");
    assert_int_equal(p->status, RECTO_PAGE_ERROR);
    assert_int_equal(p->error, RECTO_EDEVICE);
    scripted_free(p);
}

#define SLOW_RETRY "{'pages':[{'rung':'first'," FOR_EVER "},{'end':'on','token_ms':20}]}"

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void wait_for_retry(struct recto *r)
{
    struct recto_stats s = {.size = sizeof s};

    for (int i = 0; i < 3000; i++) {
        recto_get_stats(r, &s);
        if (s.n_loop > 0 && s.n_running > 0)
            return;
        usleep(10000);
    }
    fail_msg("no retry has started");
}

static void cancelled_during_a_retry(void **state)
{
    struct picture p = upright();
    struct recto_options o = options();
    struct recto *r = scripted_open(SLOW_RETRY);
    uint64_t id = scripted_submit(r, "one.ppm", &p, &o);
    struct recto_page *page;
    double start;

    wait_for_retry(r);
    start = seconds();
    recto_cancel(r, id);
    page = scripted_next(r);
    assert_int_equal(page->status, RECTO_PAGE_CANCELLED);
    assert_true(seconds() - start <
                10); /* at twenty milliseconds an id the retry would take minutes */
    scripted_free(page);
    recto_close(r);
    buf_reset(&p.ppm);
}

static void closed_during_a_retry(void **state)
{
    struct picture p = upright();
    struct recto_options o = options();
    struct recto *r = scripted_open(SLOW_RETRY);

    for (int i = 0; i < 3; i++)
        scripted_submit(r, "one.ppm", &p, &o);
    wait_for_retry(r);
    recto_close(r);
    buf_reset(&p.ppm);
}

static void late_during_a_retry(void **state)
{
    struct picture p = upright();
    struct recto_options o = options();
    struct recto *r = scripted_open(SLOW_RETRY);
    struct recto_page *page;

    o.deadline_ms = 3000;
    page = scripted_read(r, "one.ppm", &p, &o);
    assert_int_equal(page->status, RECTO_PAGE_LOOP); /* what the first reading gave is kept */
    assert_int_equal(page->attempt[page->n_attempt - 1].finish, RECTO_FINISH_NONE);
    assert_true(page->n_block > 0);
    scripted_free(page);
    recto_close(r);
    buf_reset(&p.ppm);
}

/* Pages that come while a retry runs are not held up by it. */
static void retries_come_last(void **state)
{
    struct picture p = upright();
    struct recto_options o = options();
    struct recto_settings set;
    struct recto *r;
    char name[16];

    recto_settings_init(&set);
    set.max_running = 1;
    if (scripted_try(&r,
                     "{'pages':[{'document':'bad','rung':'first'," FOR_EVER "},"
                     "{'document':'bad','end':'on','token_ms':2},{" GOOD "}]}",
                     &set) < 0)
        fail_msg("%s", recto_last_error());
    o.retries = 1;
    o.max_tokens = 1000;
    scripted_submit(r, "bad", &p, &o);
    wait_for_retry(r);
    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "good%d", i);
        scripted_submit(r, name, &p, &o);
    }
    for (int i = 0; i < 6; i++) {
        struct recto_page *page = scripted_next(r);

        assert_int_equal(page->status, i < 5 ? RECTO_PAGE_OK : RECTO_PAGE_LENGTH);
        scripted_free(page);
    }
    recto_close(r);
    buf_reset(&p.ppm);
}

/* ---- orientation ----------------------------------------------------------------------------------------------------- */

/* The page as it lies after a turn clockwise. */
static struct picture turned(const struct picture *p, int turn)
{
    bool across = turn % 180 != 0;
    struct picture q = across ? picture_new(p->h, p->w) : picture_new(p->w, p->h);

    for (int y = 0; y < p->h; y++)
        for (int x = 0; x < p->w; x++) {
            int u = turn == 90 ? p->h - 1 - y : turn == 180 ? p->w - 1 - x : turn == 270 ? y : x;
            int v = turn == 90 ? x : turn == 180 ? p->h - 1 - y : turn == 270 ? p->w - 1 - x : y;

            memcpy(q.rgb + ((size_t)v * (size_t)q.w + (size_t)u) * 3,
                   p->rgb + ((size_t)y * (size_t)p->w + (size_t)x) * 3, 3);
        }
    return q;
}

/* A model that reads well only what stands upright: when the page needs a further turn of `right`. */
static struct recto_page *read_turned(int lies, int right, struct recto_options *o)
{
    struct picture p = upright(), q = turned(&p, lies);
    char script[600];
    struct recto *r;
    struct recto_page *page;

    snprintf(
        script, sizeof script,
        "{'pages':[{'rung':'probe','turn':%d,'text':'The page reads well this way up, as one can see here.','logp':-0.1},"
        "{'rung':'probe','text':'Odd bits of signs that say nothing much at all to us.','logp':-2},"
        "{'turn':%d,'text':'" BLOCK("text", "100, 200, 300, 450") "Upright.','logp':-0.1},"
                                                                  "{'text':'Junk.','logp':-0.6}]}",
        right, right);
    r = scripted_open(script);
    page = scripted_read(r, "one.ppm", &q, o);
    recto_close(r);
    buf_reset(&p.ppm);
    buf_reset(&q.ppm);
    return page;
}

static void four_turned_pages(void **state)
{
    struct recto_options o = options();
    static const char *const attempts[] = {"first*", "first*", "first turned*", "first*"};
    static const int box[4][4] = {
        {100, 200, 300, 450}, {549, 100, 799, 300}, {699, 549, 899, 799}, {200, 699, 450, 899}};

    o.rotate = RECTO_ROTATE_AUTO;
    for (int i = 0; i < 4; i++) {
        struct recto_page *p = read_turned(90 * i, (360 - 90 * i) % 360, &o);

        assert_string_equal(p->block[0].text, "Upright.");
        assert_int_equal(p->rotate, (360 - 90 * i) % 360);
        assert_int_equal(p->width, i % 2 ? 1200 : 900); /* as it lies */
        expect_attempts(p, attempts[i]);
        expect_box(p->block[0].box[0], box[i][0], box[i][1], box[i][2], box[i][3]);
        assert_int_equal(p->status, RECTO_PAGE_OK);
        scripted_free(p);
    }
}

static void fixed_turns_and_none(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;

    o.retries = 0;
    o.rotate = 270;
    p = read_turned(90, 270, &o); /* told so: no probe */
    assert_int_equal(p->rotate, 270);
    expect_attempts(p, "first*");
    expect_box(p->block[0].box[0], 549, 100, 799, 300);
    scripted_free(p);
    o.rotate = 0;
    p = read_turned(90, 270, &o);
    assert_int_equal(p->rotate, 0);
    assert_string_equal(p->block[0].text, "Junk.");
    scripted_free(p);
}

/* No angle is clearly better: the page stays as it lies, and the ladder goes on. */
static void a_probe_that_finds_nothing(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;

    o.rotate = RECTO_ROTATE_AUTO;
    p = read_by(
        "{'pages':[{'rung':'probe','turn':180,'text':'A little better than the others, though not by much.','logp':-0.5},"
        "{'rung':'probe','text':'Odd bits of signs that say nothing much at all to us.','logp':-0.7},"
        "{'rung':'first'," FOR_EVER "},{" GOOD "}]}",
        &o);
    assert_int_equal(p->rotate, 0);
    expect_attempts(p, "first shift*");
    scripted_free(p);
}

/* Retries of a turned page are turned too. */
static void retries_stay_turned(void **state)
{
    struct recto_options o = options();
    struct picture a = upright(), b = turned(&a, 90);
    struct recto *r = scripted_open(
        "{'pages':[{'rung':'probe','turn':270,'text':'The page reads well this way up, as one can see.','logp':-0.1},"
        "{'rung':'probe','text':'Odd bits of signs that say nothing much at all.','logp':-2},"
        "{'rung':'halves','turn':270,'half':1,'text':'" BLOCK(
            "text",
            "0, 0, 999, 999") "A'},"
                              "{'rung':'halves','turn':270,'half':2,'text':'" BLOCK(
                                  "text",
                                  "0, 0, 999, 999") "B'},"
                                                    "{'turn':270,'end':'on'},{'end':'fail'}]}");
    struct recto_page *p;
    int cut;

    o.rotate = RECTO_ROTATE_AUTO;
    p = scripted_read(r, "one.ppm", &b, &o);
    expect_attempts(p, "first halves*");
    assert_int_equal(p->rotate, 270);
    /* the upper half lies on the right */
    cut = p->block[0].box[0].x1;
    assert_in_range(cut, 400, 600);
    expect_box(p->block[0].box[0], cut, 0, 999, 999);
    expect_box(p->block[1].box[0], 0, 0, cut, 999);
    scripted_free(p);
    recto_close(r);
    buf_reset(&a.ppm);
    buf_reset(&b.ppm);
}

/* Many pages at once, some good, some not: each comes once, with its own text. */
static void a_mixed_lot(void **state)
{
    enum { N = 24 };
    struct picture p = picture_of_lines(500, 600, 20);
    struct recto_options o = options();
    struct recto *r = scripted_open(
        "{'pages':[{'rung':'probe','text':'Nothing to be seen here at all.'},"
        "{'document':'d0','rung':'first'," FOR_EVER
        "},{'document':'d1','rung':'first','end':'fail'},"
        "{'document':'d2','attempt':1,'text':'Hmm','logp':-1},{'text':'{document} {rung}'}]}");
    uint64_t first_id = 0;
    int n_ok = 0, n_bad = 0, n_again = 0;

    o.rotate = RECTO_ROTATE_AUTO;
    for (int i = 0; i < N; i++) {
        char name[8];
        uint64_t id;

        snprintf(name, sizeof name, "d%d", i % 4);
        id = scripted_submit(r, name, &p, &o);
        first_id = first_id ? first_id : id;
    }
    for (int i = 0; i < N; i++) {
        struct recto_page *page = scripted_next(r);

        n_ok += page->status == RECTO_PAGE_OK;
        n_bad += page->status == RECTO_PAGE_ERROR;
        n_again += page->n_attempt == 2;
        scripted_free(page);
    }
    assert_int_equal(n_ok, N * 3 / 4);
    assert_int_equal(n_bad, N / 4);
    assert_int_equal(n_again, N / 2);
    recto_close(r);
    buf_reset(&p.ppm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_page_is_read_once),
        cmocka_unit_test(every_rung_in_order),
        cmocka_unit_test(each_rung_saves),
        cmocka_unit_test(equal_cells),
        cmocka_unit_test(altered_cells_are_flagged),
        cmocka_unit_test(a_loop_stops_in_time),
        cmocka_unit_test(equal_blocks_are_a_loop),
        cmocka_unit_test(length_goes_to_halves),
        cmocka_unit_test(shifted_boxes_come_back),
        cmocka_unit_test(the_surest_loop_is_kept),
        cmocka_unit_test(unsure_pages_are_read_again),
        cmocka_unit_test(nothing_on_a_page_with_ink),
        cmocka_unit_test(the_budget_holds),
        cmocka_unit_test(a_fault_in_a_retry),
        cmocka_unit_test(cancelled_during_a_retry),
        cmocka_unit_test(closed_during_a_retry),
        cmocka_unit_test(late_during_a_retry),
        cmocka_unit_test(retries_come_last),
        cmocka_unit_test(four_turned_pages),
        cmocka_unit_test(fixed_turns_and_none),
        cmocka_unit_test(a_probe_that_finds_nothing),
        cmocka_unit_test(retries_stay_turned),
        cmocka_unit_test(a_mixed_lot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
