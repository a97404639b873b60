/* The reader: each request's events go to its own function, whatever else is under way. */
#include "reader.h"
#include "tests/scripted.h"

#include <pthread.h>

struct seen {
    pthread_mutex_t lock;
    pthread_cond_t has_ended;
    int n_started, n_page, n_cancelled, n_done;
    bool is_late; /* an event came behind the last */
    char *raw;    /* of the last page */
};

static void seen_init(struct seen *s)
{
    *s = (struct seen){0};
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->has_ended, NULL);
}

static void seen_wait(struct seen *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->n_done)
        pthread_cond_wait(&s->has_ended, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void on_event(void *ctx, struct recto_event *ev)
{
    struct seen *s = ctx;

    pthread_mutex_lock(&s->lock);
    s->is_late = s->is_late || s->n_done;
    s->n_started += ev->kind == RECTO_EVENT_STARTED;
    if (ev->kind == RECTO_EVENT_PAGE) {
        s->n_page++;
        s->n_cancelled += ev->page->status == RECTO_PAGE_CANCELLED;
        free(s->raw);
        s->raw = ev->page->raw ? mem_strdup(ev->page->raw) : NULL;
    }
    s->n_done += ev->kind == RECTO_EVENT_DONE;
    pthread_cond_signal(&s->has_ended);
    pthread_mutex_unlock(&s->lock);
}

static uint64_t submit(struct reader *rd, const char *name, const struct picture *p, struct seen *s)
{
    struct recto_input in = {.name = name, .data = p->ppm.p, .len = p->ppm.n};
    struct recto_options o;
    uint64_t id;
    int rc;

    recto_options_init(&o);
    o.retries = 0;
    o.rotate = 0;
    while ((rc = reader_submit(rd, &in, &o, on_event, s, &id)) == RECTO_EAGAIN)
        usleep(1000);
    assert_int_equal(rc, 0);
    return id;
}

static void each_request_hears_its_own(void **state)
{
    struct recto *r = scripted_open("{'pages': [{'text': 'of {document}'}]}");
    struct picture p = picture_of_lines(200, 200, 4);
    struct reader *rd;
    struct seen s[40];
    char name[16], want[24];

    assert_int_equal(reader_start(&rd, r), 0);
    for (int i = 0; i < 40; i++) {
        seen_init(&s[i]);
        snprintf(name, sizeof name, "%d.ppm", i);
        submit(rd, name, &p, &s[i]);
    }
    for (int i = 0; i < 40; i++) {
        seen_wait(&s[i]);
        snprintf(want, sizeof want, "of %d.ppm", i);
        assert_string_equal(s[i].raw, want);
        assert_int_equal(s[i].n_page, 1);
        assert_int_equal(s[i].n_started, 1);
        free(s[i].raw);
    }
    assert_int_equal(reader_open_requests(rd), 0);
    reader_end(rd);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(s[i].n_done, 1);
        assert_false(s[i].is_late);
    }
    buf_reset(&p.ppm);
    recto_close(r);
}

/* A page that would go on for minutes: cancelled by number, and by reader_end. */
static void what_is_cancelled_still_ends(void **state)
{
    struct recto *r = scripted_open("{'pages': [{'text': 'x', 'end': 'on', 'token_ms': 20}]}");
    struct picture p = picture_of_lines(200, 200, 4);
    struct reader *rd;
    struct seen a, b;

    seen_init(&a);
    seen_init(&b);
    assert_int_equal(reader_start(&rd, r), 0);
    uint64_t id = submit(rd, "a.ppm", &p, &a);
    submit(rd, "b.ppm", &p, &b);
    reader_cancel(rd, id);
    reader_cancel(rd, 123456); /* nobody's */
    seen_wait(&a);
    assert_int_equal(a.n_cancelled, 1);
    assert_int_equal(b.n_done, 0);
    reader_end(rd);
    assert_int_equal(b.n_cancelled, 1);
    assert_int_equal(b.n_done, 1);
    free(a.raw);
    free(b.raw);
    buf_reset(&p.ppm);
    recto_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_hears_its_own),
        cmocka_unit_test(what_is_cancelled_still_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
