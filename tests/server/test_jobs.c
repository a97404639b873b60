/* Jobs over a scripted engine: from the upload to the last page, and what owners do in between. */
#include "desk_room.h"

#include <pthread.h>

static void a_document_is_read_to_its_end(void **state)
{
    struct room m;
    char id[40];

    room_open(&m,
              "{'pages': [{'page': 2, 'text': 'second', 'logp': -0.5}, {'text': 'page {page}'}]}");
    room_add(&m, "anna", 5, "{'name':'five','meta':{'a':1}}", id);
    json_t *job = room_wait(&m, id);
    assert_string_equal(text_of(job, "state"), "done");
    assert_string_equal(text_of(job, "name"), "five");
    assert_int_equal(count_of(job, "total"), 5);
    assert_int_equal(count_of(job, "ok"), 5);
    assert_int_equal(int_of(job, "attention"), 0);
    assert_true(int_of(job, "expires_ms") > int_of(job, "ended_ms"));
    json_t *in = json_array_get(json_object_get(job, "input"), 0);
    assert_string_equal(text_of(in, "media_type"), "image/tiff");
    assert_int_equal(int_of(in, "pages"), 5);
    json_decref(job);
    json_t *page = room_page(&m, id, 2);
    assert_string_equal(text_of(page, "state"), "ended");
    assert_string_equal(text_of(page, "status"), "ok");
    assert_int_equal(int_of(page, "attempt"), 1);
    assert_int_equal(int_of(page, "width_px"), TIFF_SIDE);
    assert_true(json_real_value(json_object_get(page, "min_logp")) < -0.4);
    json_decref(page);
    room_close(&m);
}

/* ---- the log ------------------------------------------------------------------------------------------------------------------- */
struct story {
    uint64_t last;
    int n, n_page_end, n_job, n_wrong;
    char state[16];
};

static void hear(void *ctx, const struct jobs_event *ev)
{
    struct story *s = ctx;
    json_t *body = json_loads(ev->body, 0, NULL);

    s->n_wrong += !body || ev->seq <= s->last;
    s->last = ev->seq;
    s->n++;
    if (strcmp(ev->type, "page") == 0)
        s->n_page_end += strcmp(text_of(body, "state"), "ended") == 0;
    if (strcmp(ev->type, "job") == 0) {
        s->n_job++;
        s->n_wrong += (uint64_t)int_of(body, "seq") != ev->seq;
        snprintf(s->state, sizeof s->state, "%s", text_of(body, "state"));
    }
    json_decref(body);
}

static void every_change_is_told_once_and_in_order(void **state)
{
    struct story live = {0}, replay = {0}, tail = {0};
    struct jobs_watch *w;
    struct room m;
    bool is_gone;
    uint64_t last;
    char id[40];

    room_open(&m, "{'pages': [{'text': 'x'}]}");
    assert_int_equal(jobs_watch(m.jobs, hear, &live, &w), 0);
    room_add(&m, "anna", 20, NULL, id);
    json_t *job = room_wait(&m, id);
    jobs_unwatch(w);
    assert_int_equal(jobs_events(m.jobs, "anna", id, 0, 1000, hear, &replay, &is_gone, &last), 0);
    assert_false(is_gone);
    assert_int_equal(replay.n_wrong + live.n_wrong, 0);
    assert_int_equal(live.n, replay.n);
    assert_int_equal(replay.n, 60 + 3); /* rendering, reading, ended; queued, running, done */
    assert_int_equal(replay.n_page_end, 20);
    assert_int_equal(replay.n_job, 3);
    assert_string_equal(replay.state, "done");
    assert_int_equal(last, replay.last);
    assert_int_equal(int_of(job, "seq"), (int64_t)last);
    assert_int_equal(jobs_events(m.jobs, "anna", NULL, last - 5, 3, hear, &tail, &is_gone, &last),
                     0);
    assert_int_equal(tail.n, 3);
    memset(&tail, 0, sizeof tail);
    assert_int_equal(jobs_events(m.jobs, "bert", NULL, 0, 1000, hear, &tail, &is_gone, &last), 0);
    assert_int_equal(tail.n, 0);
    json_decref(job);
    room_close(&m);
}

static void another_owners_jobs_do_not_exist(void **state)
{
    struct jobs_query q = {0};
    struct room m;
    char id[40];
    json_t *o;
    bool is_replayed;

    room_open(&m, "{'pages': [{'text': 'x'}]}");
    room_add(&m, "anna", 1, NULL, id);
    json_decref(room_wait(&m, id));
    assert_int_equal(jobs_get(m.jobs, "bert", id, &o), JOBS_NOT_FOUND);
    assert_int_equal(jobs_pages(m.jobs, "bert", id, 1, 10, &o), JOBS_NOT_FOUND);
    assert_int_equal(jobs_cancel(m.jobs, "bert", id, &o), JOBS_NOT_FOUND);
    assert_int_equal(jobs_retry(m.jobs, "bert", id, "{}", 2, NULL, &o, &is_replayed),
                     JOBS_NOT_FOUND);
    assert_int_equal(jobs_rename(m.jobs, "bert", id, "x", &o), JOBS_NOT_FOUND);
    assert_int_equal(jobs_delete(m.jobs, "bert", id), JOBS_NOT_FOUND);
    assert_int_equal(jobs_list(m.jobs, "bert", &q, &o), 0);
    assert_int_equal(json_array_size(json_object_get(o, "data")), 0);
    json_decref(o);
    assert_int_equal(jobs_list(m.jobs, "anna", &q, &o), 0);
    assert_int_equal(json_array_size(json_object_get(o, "data")), 1);
    json_decref(o);
    room_close(&m);
}

static void cancel_keeps_what_is_finished(void **state)
{
    struct room m;
    char id[40];
    json_t *job;

    room_open(&m, "{'pages': [{'page': 1, 'text': 'one'}, {'page': 2, 'text': 'two'},"
                  " {'text': 'x', 'end': 'on', 'token_ms': 20}]}");
    room_add(&m, "anna", 40, NULL, id);
    for (int i = 0; i < 1000; i++) {
        job = room_get(&m, id);
        bool is_there = count_of(job, "ok") == 2;
        json_decref(job);
        if (is_there)
            break;
        usleep(10000);
    }
    assert_int_equal(jobs_cancel(m.jobs, "anna", id, &job), 0);
    assert_int_equal(count_of(job, "queued"), 0);
    json_decref(job);
    job = room_wait(&m, id);
    assert_string_equal(text_of(job, "state"), "cancelled");
    assert_int_equal(count_of(job, "ok"), 2);
    assert_int_equal(count_of(job, "cancelled"), 38);
    json_decref(job);
    assert_int_equal(jobs_cancel(m.jobs, "anna", id, &job), JOBS_JOB_FINISHED);
    room_close(&m);
}

/* A loop at first; the retry is good, so it counts. The third is a loop again, so it does not, unless asked for. */
static void a_retry_counts_when_it_is_better(void **state)
{
    static const char *const again = "{\"pages\":\"2\",\"options\":{\"guard\":\"30/256\"}}";
    static const char *const replace = "{\"pages\":\"2\",\"replace\":true}";
    struct room m;
    char id[40];
    json_t *job, *row;
    bool is_replayed;

    room_open(
        &m, "{'pages': [{'page': 2, 'text': 'a b c ', 'repeat': 'go round '}, {'text': 'good'}]}");
    room_add(&m, "anna", 3, "{'retry':{'max_retries':0}}", id);
    job = room_wait(&m, id);
    assert_string_equal(text_of(job, "state"), "done");
    assert_int_equal(int_of(job, "attention"), 1);
    json_decref(job);
    row = room_page(&m, id, 2);
    assert_string_not_equal(text_of(row, "status"), "ok");
    json_decref(row);
    assert_int_equal(jobs_retry(m.jobs, "anna", id, again, strlen(again), "k1", &job, &is_replayed),
                     0);
    assert_string_equal(text_of(job, "state"), "running");
    assert_false(is_replayed);
    json_decref(job);
    json_decref(room_wait(&m, id));
    row = room_page(&m, id, 2);
    assert_int_equal(int_of(row, "attempts"), 2);
    json_decref(row);
    assert_int_equal(jobs_retry(m.jobs, "anna", id, again, strlen(again), "k1", &job, &is_replayed),
                     0);
    assert_true(is_replayed);
    json_decref(job);
    assert_int_equal(
        jobs_retry(m.jobs, "anna", id, replace, strlen(replace), "k1", &job, &is_replayed),
        JOBS_IDEMPOTENCY_MISMATCH);
    assert_int_equal(
        jobs_retry(m.jobs, "anna", id, replace, strlen(replace), NULL, &job, &is_replayed), 0);
    json_decref(job);
    json_decref(room_wait(&m, id));
    row = room_page(&m, id, 2);
    assert_int_equal(int_of(row, "attempts"), 3);
    assert_int_equal(int_of(row, "best"), 3);
    json_decref(row);
    assert_int_equal(jobs_keep(m.jobs, "anna", id, 2, 1, &row), 0);
    assert_int_equal(int_of(row, "best"), 1);
    json_decref(row);
    assert_int_equal(jobs_keep(m.jobs, "anna", id, 2, 9, &row), JOBS_NOT_FOUND);
    room_close(&m);
}

static void what_is_deleted_is_gone(void **state)
{
    struct story s = {0};
    struct room m;
    char id[40];
    json_t *o;
    bool is_gone;
    uint64_t last;

    room_open(&m, "{'pages': [{'text': 'x', 'token_ms': 5, 'end': 'on'}]}");
    room_add(&m, "anna", 9, NULL, id);
    assert_int_equal(jobs_delete(m.jobs, "anna", id), 0);
    assert_int_equal(jobs_get(m.jobs, "anna", id, &o), JOBS_EXPIRED);
    assert_int_equal(jobs_get(m.jobs, "bert", id, &o), JOBS_NOT_FOUND);
    assert_int_equal(jobs_events(m.jobs, "anna", NULL, 0, 1000, hear, &s, &is_gone, &last), 0);
    assert_int_equal(s.n, 1);
    for (int i = 0; i < 500 && reader_open_requests(m.reader) > 0; i++)
        usleep(10000);
    assert_int_equal(reader_open_requests(m.reader), 0);
    room_close(&m);
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *options;
        int code;
        const char *param;
    } cases[] = {
        {"{'pages':'7'}", JOBS_PAGE_OUT_OF_RANGE, "pages"},
        {"{'pages':'x'}", JOBS_INVALID_VALUE, "pages"},
        {"{'colour':1}", JOBS_UNKNOWN_OPTION, NULL},
        {"{'dpi':5}", JOBS_INVALID_VALUE, "dpi"},
        {"{'rotate':45}", JOBS_INVALID_VALUE, "rotate"},
        {"{'mode':'locate'}", JOBS_INVALID_VALUE, "query"},
        {"{'retry':{'max_retries':9}}", JOBS_INVALID_VALUE, "retry"},
        {"{'pages':'1'", JOBS_INVALID_JSON, "options"},
        {"{'pages':'1','pages':'2'}", JOBS_INVALID_JSON, "options"},
        {"[]", JOBS_INVALID_JSON, NULL},
    };
    struct buf tiff = tiff_of_pages(3);
    struct room m;
    json_t *job;

    room_open(&m, "{'pages': [{'text': 'x'}]}");
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(room_try(&m, "", "a.tif", buf_view(&tiff), cases[i].options, &job),
                         cases[i].code);
        assert_true(strlen(jobs_last_error()) > 10);
        if (cases[i].param)
            assert_string_equal(jobs_last_param(), cases[i].param);
    }
    assert_int_equal(room_try(&m, "", "a.tif", STR("<html>no picture</html>"), NULL, &job),
                     JOBS_MEDIA_TYPE);
    assert_int_equal(room_try(&m, "", "a.pdf", STR("%PDF-1.4 and nothing else"), NULL, &job),
                     JOBS_UNREADABLE);
    buf_reset(&tiff);
    room_close(&m);
}

/* The same key and request: the same job. */
static void a_request_sent_twice_makes_one_job(void **state)
{
    struct buf tiff = tiff_of_pages(1);
    struct jobs_query q = {0};
    char id[2][40];
    struct room m;
    json_t *job;

    room_open(&m, "{'pages': [{'text': 'x'}]}");
    for (int i = 0; i < 3; i++) {
        struct jobs_upload *u;
        bool is_replayed;
        assert_int_equal(jobs_upload_begin(m.jobs, "anna", NULL, &u), 0);
        assert_int_equal(jobs_upload_file(u, "a.tif"), 0);
        assert_int_equal(jobs_upload_write(u, tiff.p, tiff.n), 0);
        if (i == 2) {
            assert_int_equal(jobs_upload_option(u, "mode", "text"), 0);
            assert_int_equal(jobs_upload_commit(u, "key", &job, &is_replayed),
                             JOBS_IDEMPOTENCY_MISMATCH);
            jobs_upload_abort(u);
            break;
        }
        assert_int_equal(jobs_upload_commit(u, "key", &job, &is_replayed), 0);
        assert_int_equal(is_replayed, i == 1);
        snprintf(id[i], sizeof id[i], "%s", text_of(job, "id"));
        json_decref(job);
    }
    assert_string_equal(id[0], id[1]);
    assert_int_equal(jobs_list(m.jobs, "anna", &q, &job), 0);
    assert_int_equal(json_array_size(json_object_get(job, "data")), 1);
    json_decref(job);
    buf_reset(&tiff);
    room_close(&m);
}

/* ---- text while a page is read ---------------------------------------------------------------------------------------------------- */
struct follower {
    pthread_mutex_t lock;
    struct buf text;
    int n_piece, n_wrong;
};

static void follow(void *ctx, const char *job, int page, int attempt, size_t offset,
                   const char *text, size_t n)
{
    struct follower *f = ctx;

    pthread_mutex_lock(&f->lock);
    f->n_wrong += page != 2 || attempt != 1 || offset != f->text.n;
    f->n_piece++;
    buf_add(&f->text, text, n);
    pthread_mutex_unlock(&f->lock);
}

static void the_text_of_a_page_can_be_followed(void **state)
{
    struct follower f = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct jobs_watch *w;
    struct room m;
    char id[40];

    room_open(&m, "{'pages': [{'text': 'the quick brown fox of page {page}', 'token_ms': 20}]}");
    room_add(&m, "anna", 3, "{'rotate':0}", id);
    assert_int_equal(jobs_watch_text(m.jobs, "bert", id, 2, follow, &f, &w), JOBS_NOT_FOUND);
    assert_int_equal(jobs_watch_text(m.jobs, "anna", id, 2, follow, &f, &w), 0);
    json_decref(room_wait(&m, id));
    jobs_unwatch(w);
    assert_string_equal(f.text.p, "the quick brown fox of page 2");
    assert_true(f.n_piece > 3);
    assert_int_equal(f.n_wrong, 0);
    buf_reset(&f.text);
    room_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_is_read_to_its_end),
        cmocka_unit_test(every_change_is_told_once_and_in_order),
        cmocka_unit_test(another_owners_jobs_do_not_exist),
        cmocka_unit_test(cancel_keeps_what_is_finished),
        cmocka_unit_test(a_retry_counts_when_it_is_better),
        cmocka_unit_test(what_is_deleted_is_gone),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_request_sent_twice_makes_one_job),
        cmocka_unit_test(the_text_of_a_page_can_be_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
