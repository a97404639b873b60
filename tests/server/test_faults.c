/* A full disk, a database that somebody holds, helpers that are killed: jobs wait or pages fail, nothing is lost or doubled, and
 * all goes on by itself when the fault is over. */
#include "desk_process.h"

#include <dirent.h>
#include <poll.h>
#include <sqlite3.h>

enum { PAGES = 60 };

static bool comes_within(struct client *c, int ms)
{
    struct pollfd p = {.fd = fileno(c->events), .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

/* Read what comes until nothing has come for so long. Lines are unbuffered here, so that poll sees them all. */
static void read_until_quiet(struct client *c, int ms)
{
    while (comes_within(c, ms))
        assert_true(next_event(c));
}

static void read_until_done(struct client *c)
{
    while (strcmp(c->job_state, "done") != 0)
        assert_true(next_event(c));
}

static void upload(struct client *c)
{
    c->uploaded[0] = 0;
    assert_int_equal(write(c->hold, "upload\n", 7), 7);
    while (!c->uploaded[0])
        assert_true(next_event(c));
}

static void expect_each_once(struct client *c)
{
    for (int p = 2; p <= PAGES; p++) /* page 1 may be of the second job too */
        assert_int_equal(c->n_ended[p], 1);
}

static void begin(struct client *c)
{
    new_data(c);
    start(c);
    setvbuf(c->events, NULL, _IONBF, 0);
    for (int i = 0; i < 40; i++)
        assert_true(next_event(c));
}

static int n_ended(const struct client *c)
{
    int n = 0;

    for (int p = 1; p <= PAGES_MAX; p++)
        n += c->n_ended[p];
    return n;
}

static void a_full_disk_makes_jobs_wait(void **state)
{
    struct client c = {.n_page = PAGES, .preload = BIN_DIR "/../tests/libfull_disk.so"};
    char flag[] = "/tmp/recto-full-XXXXXX";

    close(mkstemp(flag));
    unlink(flag);
    setenv("RECTO_TEST_FULL", flag, 1);
    setenv("RECTO_TEST_DATA", "/tmp/recto-room-", 1);
    begin(&c);
    fclose(fopen(flag, "w"));
    read_until_quiet(&c, 500);
    int n = n_ended(&c);
    assert_true(n < PAGES);
    upload(&c);
    assert_string_equal(c.uploaded, "storage_full");
    read_until_quiet(&c, 1500);
    assert_int_equal(n_ended(&c), n);
    unlink(flag);
    read_until_done(&c);
    expect_each_once(&c);
    upload(&c);
    assert_string_equal(c.uploaded, "ok");
    stop(&c, false);
    end_data(&c);
    unsetenv("RECTO_TEST_FULL");
}

static void a_locked_database_makes_jobs_wait(void **state)
{
    struct client c = {.n_page = PAGES};
    char path[80];
    sqlite3 *db;

    begin(&c);
    snprintf(path, sizeof path, "%s/recto.db", c.data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    read_until_quiet(&c, 300);
    int n = n_ended(&c);
    assert_true(n < PAGES);
    upload(&c);
    assert_string_equal(c.uploaded, "store_unavailable");
    assert_int_equal(n_ended(&c), n);
    assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    read_until_done(&c);
    expect_each_once(&c);
    stop(&c, false);
    end_data(&c);
}

/* Is it a helper of that process? */
static bool is_helper(const char *pid, pid_t parent)
{
    char path[64], name[64];
    int ppid = 0;

    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "r");
    bool is_one = f && fscanf(f, "%*d (%63[^)]) %*c %d", name, &ppid) == 2 && ppid == parent &&
                  strncmp(name, "recto-decode", 12) == 0;
    if (f)
        fclose(f);
    return is_one;
}

static int kill_helpers(pid_t parent)
{
    DIR *d = opendir("/proc");
    int n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_helper(e->d_name, parent))
            n += kill((pid_t)atoi(e->d_name), SIGKILL) == 0;
    closedir(d);
    return n;
}

static int n_lost(const struct client *c)
{
    int n = 0;

    for (int p = 1; p <= PAGES; p++)
        n += c->n_lost[p];
    return n;
}

/* Twice all helpers there are, after some page was read. A helper that dies while it opens the document takes all pages
 * that were claimed with it, and no more are claimed than may be in flight. */
static void killed_helpers_cost_their_pages_at_most(void **state)
{
    enum { ROUNDS = 2, IN_FLIGHT = 12 };
    struct client c = {.n_page = PAGES};

    begin(&c);
    for (int i = 0; i < ROUNDS; i++) {
        int n_read = n_ended(&c) - n_lost(&c);
        while (n_ended(&c) - n_lost(&c) == n_read && n_ended(&c) < PAGES)
            assert_true(next_event(&c));
        while (kill_helpers(c.pid) == 0) {
            assert_true(n_ended(&c) < PAGES); /* else too late to kill any */
            if (comes_within(&c, 2))
                assert_true(next_event(&c));
        }
    }
    read_until_done(&c);
    expect_each_once(&c);
    assert_in_range(n_lost(&c), 0, ROUNDS * IN_FLIGHT);
    stop(&c, false);
    end_data(&c);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_makes_jobs_wait),
        cmocka_unit_test(a_locked_database_makes_jobs_wait),
        cmocka_unit_test(killed_helpers_cost_their_pages_at_most),
    };

    if (desk_is_asked(argc, argv))
        return desk_process(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
