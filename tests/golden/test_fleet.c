/* Engines side by side before one queue: every page is read once, as one engine alone reads it; a device that is lost in the
 * middle costs no page, and when all are lost every page says so. */
#include "base/err.h"
#include "engine/fleet.h"
#include "engine/shelf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "golden/tiny_pages.h"

enum { N_PAGE = INSTRUMENTED ? 6 : 8, MOST = 3 };

/* ---- a device that dies: from its n-th product on nothing works any more, on whichever engines have the record ------------ */
static struct backend mortal;
static struct device *mortal_device[MOST];
static atomic_int life[MOST]; /* products left */

static int number_of(const struct device *d)
{
    int i = 0;

    while (mortal_device[i] != d)
        i++;
    return i;
}

static bool is_dead(const struct device *d)
{
    return atomic_load(&life[number_of(d)]) <= 0;
}

static int dead(void)
{
    return err(RECTO_EDEVICE, "device: it fell off the bus");
}

static int mortal_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                         enum linear_mode mode)
{
    if (atomic_fetch_sub(&life[number_of(d)], 1) <= 1)
        return dead();
    return backend_cpu.linear(d, y, x, w, mode);
}

static int mortal_upload(struct device *d, void *dst, const void *src, size_t bytes)
{
    return is_dead(d) ? dead() : backend_cpu.upload(d, dst, src, bytes);
}

static int mortal_finish(struct device *d)
{
    return is_dead(d) ? dead() : backend_cpu.finish(d);
}

/* lives [n]: products that each engine's device does; 0: it lives on. */
static void open_fleet(struct fleet *f, int n, const int *lives)
{
    struct device_opts dev[MOST];
    struct engine_opts o = {
        .max_running = 2, .chunk_tok = 200, .max_waiting = 4, .kv_block_tok = 16, .kv_tok = 2048};

    for (int i = 0; i < n; i++)
        dev[i] = (struct device_opts){
            .name = "cpu", .precision = "fp32", .kernels = "auto", .threads = 1};
    if (fleet_open(f, TEST_DIR "/golden/tiny", "cpu", dev, &o, n) < 0)
        fail_msg("%s", err_text());
    mortal = backend_cpu;
    mortal.linear = mortal_linear;
    mortal.upload = mortal_upload;
    mortal.finish = mortal_finish;
    for (int i = 0; i < n; i++) {
        mortal_device[i] = f->engine[i].model.dev;
        atomic_store(&life[i], lives[i] ? lives[i] : 1 << 30);
        if (lives[i])
            f->engine[i].runner.run.be = &mortal;
    }
    if (fleet_start(f) < 0)
        fail_msg("%s", err_text());
}

static void read_all(struct fleet *f, struct page *page, int n)
{
    struct timespec ms = {0, 1000000};

    for (int i = 0; i < n; i++) {
        make_page(&page[i], i);
        assert_int_equal(fleet_submit_wait(f, &page[i].req), 0);
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < HANG_MS && !atomic_load(&page[i].is_done); k++)
            nanosleep(&ms, NULL);
    for (int i = 0; i < n; i++)
        assert_true(atomic_load(&page[i].is_done));
}

static void free_pages(struct page *page, int n)
{
    for (int i = 0; i < n; i++)
        free_page(&page[i]);
}

static struct page alone[N_PAGE];

static int read_alone(void **state)
{
    static const int lives[] = {0};
    struct fleet f;

    open_fleet(&f, 1, lives);
    read_all(&f, alone, N_PAGE);
    fleet_close(&f);
    return 0;
}

static int forget_alone(void **state)
{
    free_pages(alone, N_PAGE);
    return 0;
}

static void two_engines_read_as_one(void **state)
{
    static const int lives[] = {0, 0};
    struct page page[N_PAGE];
    struct engine_stats one, all;
    struct fleet f;

    open_fleet(&f, 2, lives);
    read_all(&f, page, N_PAGE);
    compare(alone, page, N_PAGE);
    fleet_get_stats(&f, &all);
    for (int i = 0; i < 2; i++) {
        engine_get_stats(&f.engine[i], &one);
        print_message("engine %d: %d pages\n", i, (int)one.n_done);
        assert_true(one.n_done > 0);
    }
    assert_int_equal(all.n_done, N_PAGE);
    assert_int_equal(all.n_moved + all.n_lost, 0);
    fleet_close(&f);
    free_pages(page, N_PAGE);
}

/* In views, in a prompt, while decoding: wherever it stops. */
static void a_lost_device_costs_no_page(void **state)
{
    static const int when[] = {3, 60, 250};
    int n_when = INSTRUMENTED ? 2 : 3;

    for (int k = 0; k < n_when; k++) {
        const int lives[] = {when[k], 0};
        struct page page[N_PAGE];
        struct engine_stats s;
        struct fleet f;

        open_fleet(&f, 2, lives);
        read_all(&f, page, N_PAGE);
        compare(alone, page, N_PAGE);
        fleet_get_stats(&f, &s);
        print_message("lost after %d products: %d pages moved\n", when[k], (int)s.n_moved);
        assert_int_equal(s.n_lost, 1);
        assert_true(s.n_moved >= 1);
        assert_int_equal(s.n_failed, 0);
        assert_int_equal(shelf_engines(f.shelf), 1);
        fleet_close(&f);
        free_pages(page, N_PAGE);
    }
}

static void two_of_three_are_lost(void **state)
{
    static const int lives[] = {50, 120, 0};
    struct page page[N_PAGE];
    struct engine_stats s;
    struct fleet f;

    open_fleet(&f, 3, lives);
    read_all(&f, page, N_PAGE);
    compare(alone, page, N_PAGE);
    fleet_get_stats(&f, &s);
    assert_int_equal(s.n_lost, 2);
    fleet_close(&f);
    free_pages(page, N_PAGE);
}

static void all_are_lost(void **state)
{
    static const int lives[] = {30, 90};
    struct page page[N_PAGE];
    struct engine_stats s;
    struct fleet f;
    int n_error = 0;

    open_fleet(&f, 2, lives);
    read_all(&f, page, N_PAGE); /* every page ends */
    for (int i = 0; i < N_PAGE; i++) {
        n_error += page[i].req.rc == RECTO_EDEVICE;
        assert_true(page[i].req.rc == 0 || page[i].req.rc == RECTO_EDEVICE);
        if (page[i].req.rc < 0)
            assert_non_null(strstr(page[i].req.rc_text, "fell off the bus"));
    }
    assert_true(n_error >= N_PAGE - 4);
    fleet_get_stats(&f, &s);
    assert_int_equal(s.n_lost, 2);
    fleet_close(&f);
    free_pages(page, N_PAGE);
}

static void closing_cancels_what_waits_for_all(void **state)
{
    static const int lives[] = {0, 0};
    struct page page[N_PAGE];
    struct fleet f;

    open_fleet(&f, 2, lives);
    for (int i = 0; i < N_PAGE; i++) {
        make_page(&page[i], i);
        assert_int_equal(fleet_submit_wait(&f, &page[i].req), 0);
    }
    fleet_close(&f);
    for (int i = 0; i < N_PAGE; i++) {
        assert_true(atomic_load(&page[i].is_done));
        assert_true(page[i].req.rc == 0 || page[i].req.rc == RECTO_ECANCELED);
    }
    free_pages(page, N_PAGE);
}

static void a_cancelled_page_leaves_the_queue(void **state)
{
    static const int lives[] = {0, 0};
    struct page page[N_PAGE];
    struct fleet f;

    open_fleet(&f, 2, lives);
    for (int i = 0; i < 6; i++) {
        make_page(&page[i], i);
        if (i == 5)
            atomic_store(&page[i].req.is_cancelled, true);
        assert_int_equal(fleet_submit_wait(&f, &page[i].req), 0);
    }
    for (int k = 0; k < HANG_MS && !atomic_load(&page[5].is_done); k++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_int_equal(page[5].req.rc, RECTO_ECANCELED);
    fleet_close(&f);
    free_pages(page, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_engines_read_as_one),
        cmocka_unit_test(a_lost_device_costs_no_page),
        cmocka_unit_test(two_of_three_are_lost),
        cmocka_unit_test(all_are_lost),
        cmocka_unit_test(closing_cancels_what_waits_for_all),
        cmocka_unit_test(a_cancelled_page_leaves_the_queue),
    };

    return cmocka_run_group_tests(tests, read_alone, forget_alone);
}
