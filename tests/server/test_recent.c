/* The last events in memory: what a client is told of them, and when it is sent to the log. */
#include "jobs.h"
#include "recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 20000, ENOUGH = 1 << 20 };

/* Event seq: of owner "a" and job "one" when it is odd, "b" and "two" when it is even. */
static void add(struct recent *r, uint64_t seq)
{
    struct jobs_event ev = {.seq = seq,
                            .owner = seq % 2 ? "a" : "b",
                            .job = seq % 2 ? "one" : "two",
                            .type = "page",
                            .body = "{}"};

    recent_add(r, &ev);
}

/* The ids of a text, as "5 7 ". */
static void ids_of(const struct text *t, char *out, size_t n)
{
    size_t at = 0;

    out[0] = 0;
    for (const char *p = t->p; p && (p = strstr(p, "id: ")); p += 4)
        at += (size_t)snprintf(out + at, n - at, "%llu ", strtoull(p + 4, NULL, 10));
}

static void expect(struct recent *r, uint64_t since, const char *owner, const char *job,
                   const char *ids, uint64_t then)
{
    struct text t = {0};
    char got[200];

    assert_true(recent_since(r, &since, owner, job, ENOUGH, &t));
    ids_of(&t, got, sizeof got);
    assert_string_equal(got, ids);
    assert_int_equal(since, then);
    text_reset(&t);
}

static void each_is_told_what_concerns_it(void **state)
{
    struct recent *r = recent_open();

    recent_begin(r, 4);
    for (uint64_t seq = 5; seq <= 9; seq++)
        add(r, seq);
    expect(r, 4, NULL, NULL, "5 6 7 8 9 ", 9);
    expect(r, 7, NULL, NULL, "8 9 ", 9);
    expect(r, 9, NULL, NULL, "", 9);
    expect(r, 4, "a", NULL, "5 7 9 ", 9);
    expect(r, 4, NULL, "two", "6 8 ", 9);
    expect(r, 4, "a", "two", "", 9);
    recent_close(r);
}

static void what_is_not_here_is_in_the_log(void **state)
{
    struct recent *r = recent_open();
    struct text t = {0};
    uint64_t seq = 0;

    assert_false(recent_since(r, &seq, NULL, NULL, ENOUGH, &t)); /* nothing is known yet */
    recent_begin(r, 4);
    expect(r, 4, NULL, NULL, "", 4);
    seq = 3;
    assert_false(recent_since(r, &seq, NULL, NULL, ENOUGH, &t));
    for (uint64_t s = 5; s < 5 + MANY; s++)
        add(r, s);
    seq = 5;
    assert_false(recent_since(r, &seq, NULL, NULL, ENOUGH, &t));
    assert_int_equal(seq, 5);
    assert_int_equal(t.n, 0);
    expect(r, MANY + 1, NULL, NULL, "20002 20003 20004 ", MANY + 4);
    assert_int_equal(recent_last(r), MANY + 4);
    recent_close(r);
}

/* An event may come before the log was asked for its newest number, and be that. */
static void an_early_event_is_not_lost(void **state)
{
    struct recent *r = recent_open();

    add(r, 5);
    recent_begin(r, 5);
    expect(r, 4, NULL, NULL, "5 ", 5);
    recent_close(r);
    r = recent_open();
    recent_begin(r, 5); /* the log has it already */
    add(r, 5);
    expect(r, 5, NULL, NULL, "", 5);
    recent_close(r);
}

static void pieces_have_no_gap(void **state)
{
    struct recent *r = recent_open();
    uint64_t seq = 0;

    recent_begin(r, 0);
    for (uint64_t s = 1; s <= 20; s++)
        add(r, s);
    for (uint64_t s = 1; s <= 20; s++) {
        struct text t = {0};
        char ids[20], want[20];
        assert_true(recent_since(r, &seq, NULL, NULL, 1, &t));
        snprintf(want, sizeof want, "%d ", (int)s);
        ids_of(&t, ids, sizeof ids);
        assert_string_equal(ids, want);
        text_reset(&t);
    }
    recent_close(r);
}

static void who_waits_for_a_job(void **state)
{
    struct recent *r = recent_open();

    add(r, 5);
    add(r, 7);
    assert_true(recent_has(r, 4, "one"));
    assert_true(recent_has(r, 6, "one"));
    assert_false(recent_has(r, 7, "one"));
    assert_false(recent_has(r, 4, "two"));
    recent_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_what_concerns_it),
        cmocka_unit_test(what_is_not_here_is_in_the_log),
        cmocka_unit_test(an_early_event_is_not_lost),
        cmocka_unit_test(pieces_have_no_gap),
        cmocka_unit_test(who_waits_for_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
