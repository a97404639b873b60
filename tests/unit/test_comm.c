/* Ranks that meet: sums in the order of ranks and with the same bits for all, broadcasts, and a rank that fails while the
 * others wait. */
#include "backend/comm.h"
#include "base/err.h"
#include "engine/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, ROUNDS = 50, MOST = 5 };

struct meeting {
    struct comm *comm;
    int n, who_fails;
    float y[MOST][N], part[MOST][N];
    int came[MOST];
};

static float number(int rank, int round, int i)
{
    return (float)((rank + 1) * 1000003 % 977 + round * 31 + i) / 7.0f;
}

static int sum(void *ctx, int rank)
{
    struct meeting *m = ctx;

    memset(m->y[rank], 0, sizeof m->y[rank]);
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < N; i++)
            m->part[rank][i] = number(rank, k, i);
        TRY(comm_sum(m->comm, rank, m->y[rank], m->part[rank], N));
        for (int i = 0; i < N; i++)
            if (m->part[rank][i] != 0)
                return err(RECTO_EINTERNAL, "a part is left");
    }
    return 0;
}

static void sums_are_in_order(void **state)
{
    static struct meeting m;

    for (m.n = 2; m.n <= MOST; m.n++) {
        struct team *t;

        m.comm = comm_open(m.n);
        assert_int_equal(team_open(&t, m.n), 0);
        assert_int_equal(team_run(t, sum, &m), 0);
        for (int i = 0; i < N; i++) {
            float want = 0;

            for (int k = 0; k < ROUNDS; k++) {
                float all = number(0, k, i);

                for (int r = 1; r < m.n; r++)
                    all += number(r, k, i);
                want += all;
            }
            for (int r = 0; r < m.n; r++)
                assert_memory_equal(&m.y[r][i], &want, sizeof want);
        }
        team_close(t);
        comm_close(m.comm);
    }
}

static int spread(void *ctx, int rank)
{
    struct meeting *m = ctx;
    void *all[MOST];

    for (int root = 0; root < m->n; root++) {
        m->came[rank] = rank * 10 + root;
        TRY(comm_broadcast(m->comm, rank, root, &m->came[rank], sizeof m->came[rank]));
        if (m->came[rank] != root * 11)
            return err(RECTO_EINTERNAL, "rank %d got %d from %d", rank, m->came[rank], root);
    }
    TRY(comm_gather(m->comm, rank, &m->came[rank], all));
    for (int r = 0; r < m->n; r++)
        if (all[r] != &m->came[r])
            return err(RECTO_EINTERNAL, "another address");
    return 0;
}

static void everybody_gets_it(void **state)
{
    static struct meeting m = {.n = 3};
    struct team *t;

    m.comm = comm_open(m.n);
    assert_int_equal(team_open(&t, m.n), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(team_run(t, spread, &m), 0);
    team_close(t);
    comm_close(m.comm);
}

static int one_fails(void *ctx, int rank)
{
    struct meeting *m = ctx;

    for (int k = 0; k < 10; k++) {
        if (rank == m->who_fails && k == 7) {
            comm_abort(m->comm);
            return err(RECTO_ENOMEM, "rank %d has no memory", rank);
        }
        TRY(comm_barrier(m->comm));
    }
    return 0;
}

static void a_failure_wakes_those_who_wait(void **state)
{
    static struct meeting m = {.n = 3};
    struct team *t;

    m.comm = comm_open(m.n);
    assert_int_equal(team_open(&t, m.n), 0);
    for (m.who_fails = 0; m.who_fails < m.n; m.who_fails++) {
        assert_int_equal(team_run(t, one_fails, &m), RECTO_ENOMEM);
        assert_non_null(strstr(err_text(), "has no memory"));
        assert_true(comm_is_aborted(m.comm));
        assert_int_equal(comm_barrier(m.comm), RECTO_EDEVICE);
        comm_reset(m.comm);
        assert_int_equal(team_run(t, spread, &m), 0); /* as before */
    }
    team_close(t);
    comm_close(m.comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_in_order),
        cmocka_unit_test(everybody_gets_it),
        cmocka_unit_test(a_failure_wakes_those_who_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
