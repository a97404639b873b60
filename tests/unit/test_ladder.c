/* The rules of the retry ladder and of the orientation probe, by tables. */
#include "base/mem.h"
#include "ladder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define LOOP   RECTO_FINISH_LOOP
#define LENGTH RECTO_FINISH_LENGTH
#define EOS    RECTO_FINISH_EOS

static struct ladder_terms terms(void)
{
    return (struct ladder_terms){.retries = 5,
                                 .budget = 9999,
                                 .has_ink = true,
                                 .is_greedy = true,
                                 .wants_text = true,
                                 .asks_boxes = true,
                                 .can_halve = true,
                                 .guard_n = 20,
                                 .guard_w = 90};
}

static struct outcome of(enum rung r, enum recto_finish finish, size_t n_char, double conf)
{
    return (struct outcome){
        .rung = r, .finish = finish, .n_char = n_char, .n_token = (int)n_char / 4, .conf = conf};
}

/* The whole ladder when every reading ends as the first did. */
static void expect_rungs(const struct ladder_terms *t, struct outcome base, const enum rung *want,
                         int n)
{
    struct outcome o[16] = {base};

    for (int i = 0; i <= n; i++) {
        enum rung next = ladder_next(t, o, i + 1);

        assert_int_equal(next, i < n ? want[i] : RUNG_NONE);
        o[i + 1] = base;
        o[i + 1].rung = next;
    }
}

#define EXPECT(t, base, ...)                                \
    expect_rungs(t, base, (const enum rung[]){__VA_ARGS__}, \
                 COUNT(((const enum rung[]){__VA_ARGS__})))

static void order_of_rungs(void **state)
{
    struct ladder_terms t = terms();
    struct outcome loop = of(RUNG_FIRST, LOOP, 400, 0.9), table = loop,
                   empty = of(RUNG_FIRST, EOS, 0, 0);

    table.in_table = true;
    EXPECT(&t, loop, RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT);
    EXPECT(&t, table, RUNG_TABLE, RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT);
    EXPECT(&t, of(RUNG_FIRST, EOS, 400, 0.3), RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT);
    EXPECT(&t, of(RUNG_FIRST, LENGTH, 400, 0.9), RUNG_HALVES, RUNG_WIDE, RUNG_SHIFT, RUNG_TEXT);
    table.finish = LENGTH;
    EXPECT(&t, table, RUNG_HALVES, RUNG_TABLE, RUNG_WIDE, RUNG_SHIFT, RUNG_TEXT);
    EXPECT(&t, empty, RUNG_SHIFT); /* one, and the ban cannot have done it */
    t.retries = 3;
    EXPECT(&t, loop, RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES);
}

static void rungs_that_do_not_apply(void **state)
{
    struct outcome loop = of(RUNG_FIRST, LOOP, 400, 0.9), o[2];
    struct ladder_terms t = terms();

    t.guard_n = 0;
    EXPECT(&t, loop, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT);
    t = terms();
    t.guard_w = -1;
    EXPECT(&t, loop, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT);
    t = terms();
    t.asks_boxes = false;
    EXPECT(&t, loop, RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES);
    t.wants_text = false;
    EXPECT(&t, loop, RUNG_WIDE, RUNG_SHIFT);
    t = terms();
    t.can_halve = false;
    EXPECT(&t, of(RUNG_FIRST, LENGTH, 400, 0.9), RUNG_WIDE, RUNG_SHIFT, RUNG_TEXT);
    o[0] = loop;
    t.retries = 0;
    assert_int_equal(ladder_next(&t, o, 1), RUNG_NONE);
    t = terms();
    t.budget = 0;
    assert_int_equal(ladder_next(&t, o, 1), RUNG_NONE);
}

static void what_is_good(void **state)
{
    struct ladder_terms t = terms();
    struct outcome o = of(RUNG_FIRST, EOS, 400, 0.5), none = of(RUNG_FIRST, EOS, 0, 0);

    assert_true(ladder_is_good(&t, &o));
    o.conf = 0.499;
    assert_false(ladder_is_good(&t, &o));
    t.is_greedy = false;
    assert_true(ladder_is_good(&t, &o));
    assert_false(ladder_is_good(&t, &none));
    none.has_figure = true;
    assert_true(ladder_is_good(&t, &none));
    none.has_figure = t.has_ink = false;
    assert_true(ladder_is_good(&t, &none));
    o.finish = LENGTH;
    assert_false(ladder_is_good(&t, &o));
}

static void stops_when_one_is_good(void **state)
{
    struct ladder_terms t = terms();
    struct outcome o[4] = {of(RUNG_FIRST, LOOP, 400, 0.9), of(RUNG_WIDE, EOS, 400, 0.9)};

    assert_int_equal(ladder_next(&t, o, 2), RUNG_NONE);
    o[1] = (struct outcome){.rung = RUNG_WIDE, .has_failed = true};
    assert_int_equal(ladder_next(&t, o, 2), RUNG_SHIFT); /* a fault is no end */
    /* a turned page starts anew */
    o[1] = of(RUNG_TURNED, LOOP, 10, 0.9);
    assert_int_equal(ladder_next(&t, o, 2), RUNG_WIDE);
    o[1] = of(RUNG_TURNED, EOS, 10, 0.9);
    assert_int_equal(ladder_next(&t, o, 2), RUNG_NONE);
}

static void the_choice(void **state)
{
    const struct {
        struct outcome o[4];
        int n, want;
    } cases[] = {
        /* finish first: eos, length, loop */
        {{{.finish = LOOP, .n_char = 900, .conf = 0.99},
          {.finish = EOS, .n_char = 10, .conf = 0.1}},
         2,
         1},
        {{{.finish = LOOP, .n_char = 900, .conf = 0.99},
          {.finish = LENGTH, .n_char = 10, .conf = 0.1}},
         2,
         1},
        {{{.finish = EOS, .n_char = 10, .conf = 0.1},
          {.finish = LENGTH, .n_char = 900, .conf = 0.99}},
         2,
         0},
        /* then enough text: 80 % of the longest of that finish */
        {{{.finish = EOS, .n_char = 1000, .conf = 0.6},
          {.finish = EOS, .n_char = 799, .conf = 0.9}},
         2,
         0},
        {{{.finish = EOS, .n_char = 1000, .conf = 0.6},
          {.finish = EOS, .n_char = 800, .conf = 0.9}},
         2,
         1},
        {{{.finish = EOS, .n_char = 100, .conf = 0.6},
          {.finish = LOOP, .n_char = 9000, .conf = 0.9}},
         2,
         0},
        /* then confidence, then the earliest */
        {{{.finish = LOOP, .n_char = 100, .conf = 0.6},
          {.finish = LOOP, .n_char = 100, .conf = 0.7},
          {.finish = LOOP, .n_char = 100, .conf = 0.65}},
         3,
         1},
        {{{.finish = LOOP, .n_char = 100, .conf = 0.6},
          {.finish = LOOP, .n_char = 100, .conf = 0.6}},
         2,
         0},
        /* what failed is never kept, what lay on its side only if all else failed */
        {{{.finish = LOOP, .n_char = 1, .conf = 0.1}, {.has_failed = true}}, 2, 0},
        {{{.finish = EOS, .n_char = 900, .conf = 0.9},
          {.rung = RUNG_TURNED, .finish = LOOP, .n_char = 1}},
         2,
         1},
        {{{.finish = EOS, .n_char = 900, .conf = 0.9}, {.rung = RUNG_TURNED, .has_failed = true}},
         2,
         0},
        {{{.has_failed = true}}, 1, -1},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(ladder_choose(cases[i].o, cases[i].n), cases[i].want);
}

static void when_to_probe(void **state)
{
    struct ladder_terms t = terms();
    struct outcome good = of(RUNG_FIRST, EOS, 400, 0.75), unsure = of(RUNG_FIRST, EOS, 400, 0.74),
                   loop = of(RUNG_FIRST, LOOP, 400, 0.99), empty = of(RUNG_FIRST, EOS, 0, 0);

    assert_false(probe_is_due(&t, &good));
    assert_true(probe_is_due(&t, &unsure));
    assert_true(probe_is_due(&t, &loop));
    assert_true(probe_is_due(&t, &empty));
    t.has_ink = false;
    assert_false(probe_is_due(&t, &empty));
}

static void which_angle(void **state)
{
    const struct {
        int n[4];
        double logp[4];
        int want;
    } cases[] = {
        {{96, 96, 96, 96}, {-0.5, -0.2, -0.9, -0.9}, 1},
        {{96, 96, 96, 96}, {-0.5, -0.26, -0.9, -0.9}, 0}, /* too small a gain */
        {{96, 96, 96, 96}, {-0.5, -0.25, -0.9, -0.1}, 3},
        {{96, 15, 96, 96}, {-0.5, -0.1, -0.9, -0.9}, 0}, /* the best said too little */
        {{96, 16, 96, 96}, {-0.5, -0.1, -0.9, -0.9}, 1},
        {{0, 0, 40, 0}, {0, 0, -0.3, 0}, 2}, /* upright gave nothing at all */
        {{0, 0, 0, 0}, {0, 0, 0, 0}, 0},
        {{96, 0, 96, 96}, {-0.1, 0, -0.9, -0.9}, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(probe_choose(cases[i].n, cases[i].logp), cases[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_rungs), cmocka_unit_test(rungs_that_do_not_apply),
        cmocka_unit_test(what_is_good),   cmocka_unit_test(stops_when_one_is_good),
        cmocka_unit_test(the_choice),     cmocka_unit_test(when_to_probe),
        cmocka_unit_test(which_angle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
