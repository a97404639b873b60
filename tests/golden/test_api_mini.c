/* The public API over the mini model: events, streaming, back-pressure, cancelling, deadlines, bad input, reuse of images. */
#include "base/file.h"
#include "base/mem.h"
#include "recto.h"
#include "hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#define PAGE SOURCE_DIR "/models/mini/pages/page00.png"

/* One reading a page: its figures are what is looked at here. */
static void options_init(struct recto_options *o)
{
    recto_options_init(o);
    o->retries = o->rotate = 0;
}

static struct recto *open_with(int max_waiting)
{
    struct recto_settings s;
    struct recto *r;

    recto_settings_init(&s);
    s.model_dir = SOURCE_DIR "/models/mini";
    s.helper = BIN_DIR "/recto-decode";
    s.max_waiting = max_waiting;
    if (recto_open(&r, &s) < 0)
        fail_msg("%s", recto_last_error());
    return r;
}

/* Take events until the request is done; its page, which the caller frees. */
static struct recto_page *await(struct recto *r, uint64_t id, struct buf *text, int *n_started)
{
    struct recto_page *page = NULL;
    struct recto_event ev;
    bool done = false;

    while (!done && recto_poll(r, &ev, HANG_MS)) {
        if (ev.request == id && ev.kind == RECTO_EVENT_TEXT)
            buf_add(text, ev.text, ev.n_text);
        if (ev.request == id && ev.kind == RECTO_EVENT_STARTED)
            (*n_started)++;
        if (ev.request == id && ev.kind == RECTO_EVENT_PAGE) {
            page = ev.page;
            ev.page = NULL;
        }
        done = ev.request == id && ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
    assert_true(done);
    assert_non_null(page);
    return page;
}

static struct recto_page *read_input(struct recto *r, struct recto_input in,
                                     struct recto_options *o)
{
    struct buf text = {0};
    uint64_t id;
    int n = 0;
    struct recto_page *p;

    assert_int_equal(recto_submit(r, &in, o, &id), 0);
    p = await(r, id, &text, &n);
    buf_reset(&text);
    return p;
}

static void free_page(struct recto_page *p)
{
    recto_page_reset(p);
    free(p);
}

static void streamed_text_is_the_page_s_text(void **state)
{
    struct recto *r = open_with(8);
    struct recto_options o;
    struct buf text = {0};
    uint64_t id;
    int n_started = 0;
    struct recto_page *p;

    options_init(&o);
    o.task = RECTO_TASK_TEXT;
    o.stream = true;
    assert_int_equal(recto_submit(r, &(struct recto_input){.path = PAGE}, &o, &id), 0);
    p = await(r, id, &text, &n_started);
    assert_int_equal(p->status, RECTO_PAGE_OK);
    assert_int_equal(n_started, 1);
    assert_string_equal(text.p, "silver wire thread");
    assert_string_equal(p->raw, text.p);
    assert_int_equal(p->n_token, 18);
    for (int i = 0; i < p->n_token; i++)
        assert_true(p->logp[i] <= 0);
    assert_true(p->conf > 0.9 && p->conf <= 1);
    free_page(p);
    buf_reset(&text);
    recto_close(r);
}

static void the_same_image_again_skips_vision(void **state)
{
    struct recto *r = open_with(8);
    struct recto_stats s = {.size = sizeof s};
    struct recto_options o;
    struct recto_page *a, *b, *c;

    options_init(&o);
    o.task = RECTO_TASK_TEXT;
    a = read_input(r, (struct recto_input){.path = PAGE}, &o);
    b = read_input(r, (struct recto_input){.path = PAGE}, &o);
    o.task = RECTO_TASK_MARKDOWN; /* another prompt for the same picture */
    c = read_input(r, (struct recto_input){.path = PAGE}, &o);
    recto_get_stats(r, &s);
    assert_int_equal(s.n_view, 1);
    assert_int_equal(s.n_image_hit, 2);
    assert_true(s.n_shared_tok > 400); /* all of b's prompt but its end, and c's visual rows */
    assert_string_equal(a->raw, b->raw);
    assert_memory_equal(a->logp, b->logp, sizeof *a->logp * (size_t)a->n_token);
    assert_int_equal(c->status, RECTO_PAGE_OK);
    free_page(a);
    free_page(b);
    free_page(c);
    recto_close(r);
}

static void a_full_queue_says_again(void **state)
{
    struct recto *r = open_with(2);
    struct recto_options o;
    struct recto_event ev;
    uint64_t id;
    int n_in = 0, n_done = 0, n_again = 0, rc;

    options_init(&o);
    o.task = RECTO_TASK_TEXT;
    recto_hold(r, true);
    while (n_in < 40) {
        rc = recto_submit(r, &(struct recto_input){.path = PAGE}, &o, &id);
        assert_true(rc == 0 || rc == RECTO_EAGAIN);
        n_in += rc == 0;
        n_again += rc == RECTO_EAGAIN;
        if (rc == RECTO_EAGAIN && recto_poll(r, &ev, 1000))
            recto_event_reset(&ev);
    }
    assert_in_range(n_again, 1, 1000000);
    recto_hold(r, false);
    while (n_done < n_in && recto_poll(r, &ev, HANG_MS)) {
        n_done += ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
    assert_int_equal(n_done, n_in); /* none lost */
    recto_close(r);
}

static void cancelled_and_late_pages_end(void **state)
{
    struct recto *r = open_with(8);
    struct recto_options o;
    struct recto_page *p;
    struct buf text = {0};
    uint64_t id;
    int n = 0;

    options_init(&o);
    o.ignore_eos = true;
    o.no_loop_check = true;
    assert_int_equal(recto_submit(r, &(struct recto_input){.path = PAGE}, &o, &id), 0);
    recto_cancel(r, id);
    p = await(r, id, &text, &n);
    assert_int_equal(p->status, RECTO_PAGE_CANCELLED);
    free_page(p);
    o.deadline_ms = 1;
    p = read_input(r, (struct recto_input){.path = PAGE}, &o);
    assert_int_equal(p->status, RECTO_PAGE_ERROR);
    assert_int_equal(p->error, RECTO_EDEADLINE);
    free_page(p);
    recto_cancel(r, 12345); /* unknown: no effect */
    recto_close(r);
}

static void bad_input_is_a_sentence_and_the_next_page_reads(void **state)
{
    static const char junk[] = "this is not a picture";
    struct recto *r = open_with(8);
    struct recto_options o;
    struct recto_page *p;

    options_init(&o);
    o.task = RECTO_TASK_TEXT;
    p = read_input(r, (struct recto_input){.name = "junk", .data = junk, .len = sizeof junk}, &o);
    assert_int_equal(p->status, RECTO_PAGE_ERROR);
    assert_int_equal(p->error, RECTO_EKIND);
    assert_non_null(strstr(p->error_text, "junk"));
    free_page(p);
    p = read_input(r, (struct recto_input){.path = "/nonexistent/page.png"}, &o);
    assert_int_equal(p->error, RECTO_ENOTFOUND);
    free_page(p);
    o.prompt = "<image><image> what?";
    p = read_input(r, (struct recto_input){.path = PAGE}, &o);
    assert_int_equal(p->error, RECTO_EUSAGE);
    free_page(p);
    o.prompt = NULL;
    o.max_tokens = 5;
    p = read_input(r, (struct recto_input){.path = PAGE}, &o);
    assert_int_equal(p->status, RECTO_PAGE_LENGTH);
    assert_string_equal(p->raw, "silve");
    free_page(p);
    recto_close(r);
}

static void wrong_calls_are_refused(void **state)
{
    struct recto *r = open_with(8);
    struct recto_settings s;
    struct recto_options o;
    struct recto *none;
    uint64_t id;

    options_init(&o);
    assert_int_equal(recto_submit(r, &(struct recto_input){0}, &o, &id), RECTO_EUSAGE);
    o.top_p = 0;
    assert_int_equal(recto_submit(r, &(struct recto_input){.path = PAGE}, &o, &id), RECTO_EUSAGE);
    recto_close(r);
    recto_settings_init(&s);
    s.model_dir = "/nonexistent";
    assert_true(recto_open(&none, &s) < 0);
    assert_null(none);
    assert_non_null(strstr(recto_last_error(), "/nonexistent"));
    s.model_dir = SOURCE_DIR "/models/mini";
    s.precision = "fp12";
    assert_int_equal(recto_open(&none, &s), RECTO_EUSAGE);
    s.precision = "auto";
    s.device = "toaster";
    assert_int_equal(recto_open(&none, &s), RECTO_EDEVICE);
    recto_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streamed_text_is_the_page_s_text),
        cmocka_unit_test(the_same_image_again_skips_vision),
        cmocka_unit_test(a_full_queue_says_again),
        cmocka_unit_test(cancelled_and_late_pages_end),
        cmocka_unit_test(bad_input_is_a_sentence_and_the_next_page_reads),
        cmocka_unit_test(wrong_calls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
