#include "base/mem.h"
#include "engine/sched.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MAX_SEQ = 4 };

struct expect {
    const char *what;
    struct sched_seq seq[MAX_SEQ];
    int n, chunk;
    bool has_work;
    int encode, n_part;
    struct sched_part part[MAX_SEQ];
};

static const struct expect table[] = {
    {"nothing there", {{0, 0}}, 0, 8, false, -1, 0, {{0, 0, 0}}},
    {"views first", {{3, 20}}, 1, 8, true, 0, 0, {{0, 0, 0}}},
    {"prompt in chunks", {{0, 20}}, 1, 8, true, -1, 1, {{0, 8, false}}},
    {"last chunk", {{0, 4}}, 1, 8, true, -1, 1, {{0, 4, true}}},
    {"decode does not use the budget", {{0, 20}, {0, 1}, {0, 1}}, 3, 8, true, -1, 3, {{0, 8, 0}, {1, 1, 1}, {2, 1, 1}}},
    {"oldest prompt first", {{0, 6}, {0, 6}}, 2, 8, true, -1, 2, {{0, 6, true}, {1, 2, false}}},
    {"no budget left", {{0, 9}, {0, 9}, {0, 1}}, 3, 8, true, -1, 2, {{0, 8, false}, {2, 1, true}}},
    {"encode beside decode", {{0, 1}, {2, 9}, {1, 9}}, 3, 8, true, 1, 1, {{0, 1, true}}},
};

static void policy(void **state)
{
    struct sched_part part[MAX_SEQ];
    struct sched_step step = {.part = part};

    for (size_t i = 0; i < COUNT(table); i++) {
        const struct expect *e = &table[i];

        print_message("%s\n", e->what);
        assert_int_equal(sched_next(e->seq, e->n, e->chunk, &step), e->has_work);
        assert_int_equal(step.encode, e->encode);
        assert_int_equal(step.n_part, e->n_part);
        for (int k = 0; k < e->n_part; k++) {
            assert_int_equal(step.part[k].seq, e->part[k].seq);
            assert_int_equal(step.part[k].n_tok, e->part[k].n_tok);
            assert_int_equal(step.part[k].is_last, e->part[k].is_last);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(policy)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
