/* Which page the workers draw next: by class, then by age. */
#include "book.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { NEW_MAX = 100, OUT_MAX = 4 };

/* A document of so many pages that is open; nothing of it is read here. */
static uint64_t add(struct book_list *l, enum recto_class class, int n_page)
{
    struct recto_input in = {.name = "x", .data = "x", .len = 1};
    struct recto_options o;
    struct book *b;
    uint64_t id;

    recto_options_init(&o);
    o.priority = class;
    assert_int_equal(book_add(l, &in, &o, &id), 0);
    b = l->live; /* the newest */
    assert_int_equal(b->id, id);
    b->page = mem_zero((size_t)n_page, sizeof *b->page);
    b->n_page = n_page;
    b->state = BOOK_OPEN;
    l->n_new--;
    return id;
}

static uint64_t take(struct book_list *l)
{
    struct book_task t;

    assert_true(book_take(l, &t));
    return t.book->id;
}

static void of_a_class_the_earliest(void **state)
{
    struct book_list l;

    book_list_init(&l, NEW_MAX, OUT_MAX);
    uint64_t first = add(&l, RECTO_CLASS_NORMAL, 2), second = add(&l, RECTO_CLASS_NORMAL, 1);
    assert_int_equal(take(&l), first);
    assert_int_equal(take(&l), first);
    assert_int_equal(take(&l), second);
    book_list_reset(&l);
}

/* Whatever was drawn before: a caller who waits does not stand behind a long document. */
static void a_picture_overtakes_a_long_document(void **state)
{
    static const int drawn[] = {0, 1, 2, 50};

    for (int class = RECTO_CLASS_NORMAL; class <= RECTO_CLASS_BATCH; class ++)
        for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
            struct book_list l;
            book_list_init(&l, NEW_MAX, OUT_MAX);
            uint64_t job = add(&l, (enum recto_class) class, 100);
            for (int k = 0; k < drawn[i]; k++)
                assert_int_equal(take(&l), job);
            uint64_t chat = add(&l, RECTO_CLASS_INTERACTIVE, 1);
            assert_int_equal(take(&l), chat);
            assert_int_equal(take(&l), job);
            book_list_reset(&l);
        }
}

static void shares_while_all_wait(void **state)
{
    int n[BOOK_CLASSES] = {0};
    struct book_list l;

    book_list_init(&l, NEW_MAX, OUT_MAX);
    for (int class = RECTO_CLASS_BATCH; class >= 0; class --)
        add(&l, (enum recto_class) class, 200);
    for (int i = 0; i < 12 * 10; i++) {
        struct book_task t;
        assert_true(book_take(&l, &t));
        n[t.book->opt.priority]++;
    }
    assert_in_range(n[RECTO_CLASS_INTERACTIVE], 78, 82);
    assert_in_range(n[RECTO_CLASS_NORMAL], 28, 32);
    assert_in_range(n[RECTO_CLASS_BATCH], 8, 12);
    book_list_reset(&l);
}

/* Nobody else opens it, and what is behind it is drawn meanwhile. */
static void one_that_is_being_opened_is_passed(void **state)
{
    struct book_list l;
    struct book_task t;

    book_list_init(&l, NEW_MAX, OUT_MAX);
    uint64_t first = add(&l, RECTO_CLASS_INTERACTIVE, 1);
    l.live->state = BOOK_NEW;
    l.n_new++;
    uint64_t second = add(&l, RECTO_CLASS_BATCH, 1);
    assert_true(book_take(&l, &t));
    assert_int_equal(t.book->id, first);
    assert_int_equal(t.book->state, BOOK_OPENING);
    assert_int_equal(take(&l), second);
    book_opened(&l, t.book, 0);
    assert_int_equal(take(&l), first);
    book_list_reset(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_class_the_earliest),
        cmocka_unit_test(a_picture_overtakes_a_long_document),
        cmocka_unit_test(shares_while_all_wait),
        cmocka_unit_test(one_that_is_being_opened_is_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
