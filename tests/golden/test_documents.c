/* Documents of several pages through the public API, with the mini model: every page comes once,
 * under its number, and the request ends once, whatever happens to it. */
#include "base/mem.h"
#include "recto.h"
#include "hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define CARDINAL SOURCE_DIR "/samples/cardinal.pdf"
#define MAX_PAGE 16

static struct recto *engine;

static int open_engine(void **state)
{
    struct recto_settings s;

    recto_settings_init(&s);
    s.model_dir = SOURCE_DIR "/models/mini";
    s.helper = BIN_DIR "/recto-decode";
    s.page_workers = 2;
    s.max_running = 2;
    s.max_waiting = 4;
    return recto_open(&engine, &s);
}

static int close_engine(void **state)
{
    recto_close(engine);
    return 0;
}

struct seen {
    int n_started, n_page, n_done;
    int number[MAX_PAGE], status[MAX_PAGE]; /* by index */
};

static uint64_t submit_input(const struct recto_input *in)
{
    struct recto_options o;
    uint64_t request;

    if (access("/usr/bin/pdftoppm", X_OK) != 0)
        skip();
    recto_options_init(&o);
    o.max_tokens = 2;
    o.retries = o.rotate = 0; /* one reading a page */
    assert_int_equal(recto_submit(engine, in, &o, &request), 0);
    return request;
}

static uint64_t submit(const char *path, const char *pages)
{
    return submit_input(&(struct recto_input){.path = path, .pages = pages});
}

/* Poll until `request` is done; nothing of it may come after that. */
enum what { ALL, CANCEL, STOP }; /* at the first page that starts */

static void collect(uint64_t request, struct seen *s, enum what what)
{
    struct recto_event ev;

    *s = (struct seen){0};
    while (s->n_done == 0) {
        assert_int_equal(recto_poll(engine, &ev, HANG_MS), 1);
        assert_true(ev.request == request);
        if (ev.kind == RECTO_EVENT_STARTED) {
            s->n_started++;
            assert_int_equal(ev.page->number, ev.number);
            if (what == CANCEL)
                recto_cancel(engine, request);
            if (what == STOP)
                recto_stop(engine, request);
        } else if (ev.kind == RECTO_EVENT_PAGE) {
            assert_int_equal(ev.page->number, ev.number);
            assert_in_range(ev.page->index, 0, MAX_PAGE - 1);
            assert_int_equal(s->number[ev.page->index], 0);
            s->number[ev.page->index] = ev.number;
            s->status[ev.page->index] = ev.page->status;
            s->n_page++;
        } else if (ev.kind == RECTO_EVENT_DONE)
            s->n_done++;
        recto_event_reset(&ev);
    }
    assert_int_equal(recto_poll(engine, &ev, 50), 0);
}

static void pages_come_once(void **state)
{
    struct seen s;

    collect(submit(CARDINAL, NULL), &s, ALL);
    assert_int_equal(s.n_started, 4);
    assert_int_equal(s.n_page, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(s.number[i], i + 1);
        assert_int_equal(s.status[i], RECTO_PAGE_LENGTH);
    }
}

static void ranges(void **state)
{
    struct seen s;

    collect(submit(CARDINAL, "4-3"), &s, ALL);
    assert_int_equal(s.n_page, 2);
    assert_int_equal(s.number[0], 4);
    assert_int_equal(s.number[1], 3);
    collect(submit(CARDINAL, "9-"), &s, ALL);
    assert_int_equal(s.n_page, 1);
    assert_int_equal(s.status[0], RECTO_PAGE_ERROR);
}

/* Pages that are known from before are not read; the others keep their places. */
static void skipped_pages(void **state)
{
    static const bool skip[] = {true, false, true}, all[] = {true, true, true, true, true};
    struct recto_input in = {.path = CARDINAL, .pages = "4-1", .skip = skip, .n_skip = 3};
    struct seen s;

    collect(submit_input(&in), &s, ALL);
    assert_int_equal(s.n_page, 2);
    assert_int_equal(s.number[1], 3);
    assert_int_equal(s.number[3], 1);
    in.skip = all;
    in.n_skip = 5; /* more than there are */
    collect(submit_input(&in), &s, ALL);
    assert_int_equal(s.n_started + s.n_page, 0);
    in.n_skip = 3; /* the last one alone */
    collect(submit_input(&in), &s, ALL);
    assert_int_equal(s.n_page, 1);
    assert_int_equal(s.number[3], 1);
}

static void cancel_stops_the_rest(void **state)
{
    struct seen s;
    int n_cancelled = 0;

    collect(submit(CARDINAL, NULL), &s, CANCEL);
    assert_int_equal(s.n_page, 4);
    for (int i = 0; i < 4; i++)
        n_cancelled += s.status[i] == RECTO_PAGE_CANCELLED;
    assert_in_range(n_cancelled, 1, 4);
}

/* Pages that have begun are read to their end, and no other is begun. */
static void stop_lets_finish(void **state)
{
    struct seen s;
    int n_read = 0;

    collect(submit(CARDINAL, NULL), &s, STOP);
    assert_int_equal(s.n_page, 4);
    for (int i = 0; i < 4; i++)
        n_read += s.status[i] != RECTO_PAGE_CANCELLED;
    assert_int_equal(n_read, s.n_started);
    assert_in_range(n_read, 1, 3);
}

static void documents_that_cannot_be_opened(void **state)
{
    static const char *const files[] = {"invalid.pdf", "encrypted_user.pdf", "nowhere.pdf"};

    for (size_t i = 0; i < COUNT(files); i++) {
        char path[512];
        struct seen s;

        snprintf(path, sizeof path, SOURCE_DIR "/samples/%s", files[i]);
        collect(submit(path, NULL), &s, ALL);
        assert_int_equal(s.n_started, 0);
        assert_int_equal(s.n_page, 1);
        assert_int_equal(s.number[0], 0);
        assert_int_equal(s.status[0], RECTO_PAGE_ERROR);
    }
}

static void wrong_calls(void **state)
{
    struct recto_options o;
    uint64_t request;

    recto_options_init(&o);
    o.retries = o.rotate = 0;
    assert_int_equal(
        recto_submit(engine, &(struct recto_input){.path = CARDINAL, .pages = "x"}, &o, &request),
        RECTO_EPAGERANGE);
    assert_int_equal(
        recto_submit(engine, &(struct recto_input){.path = CARDINAL, .dpi = 20}, &o, &request),
        RECTO_EUSAGE);
    assert_int_equal(recto_range_check("1-3,7"), 0);
    assert_string_equal(recto_kind("%PDF-1.4", 8), "PDF");
    assert_null(recto_kind("PK\x03\x04", 4));
}

/* With documents still waiting, being drawn and being read. */
static void closing_in_the_middle(void **state)
{
    submit(CARDINAL, NULL);
    submit(CARDINAL, "2-3");
    usleep(300000);
    recto_close(engine);
    engine = NULL;
    assert_int_equal(open_engine(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_come_once),  cmocka_unit_test(ranges),
        cmocka_unit_test(skipped_pages),    cmocka_unit_test(cancel_stops_the_rest),
        cmocka_unit_test(stop_lets_finish), cmocka_unit_test(documents_that_cannot_be_opened),
        cmocka_unit_test(wrong_calls),      cmocka_unit_test(closing_in_the_middle),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
