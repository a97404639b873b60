/* A desk over a scripted engine and a data directory of its own, and documents for it. */
#ifndef RECTO_TESTS_DESK_ROOM_H
#define RECTO_TESTS_DESK_ROOM_H

#include "jobs.h"
#include "tests/scripted.h"

#include <ftw.h>
#include <time.h>

struct room {
    char data[64];
    struct recto_settings engine;
    struct recto *recto;
    struct reader *reader;
    struct jobs *jobs;
    bool keeps; /* the data directory stays */
};

static inline void room_open_engine(struct room *m, const char *script)
{
    recto_settings_init(&m->engine);
    if (scripted_try(&m->recto, script, &m->engine) < 0)
        fail_msg("%s", recto_last_error());
    assert_int_equal(reader_start(&m->reader, m->recto), 0);
}

static inline struct jobs_settings room_settings(const struct room *m)
{
    struct jobs_settings s;

    jobs_settings_init(&s);
    s.data = m->data;
    s.recto = m->recto;
    s.reader = m->reader;
    s.engine = &m->engine;
    s.disk_min = 0;
    return s;
}

static inline void room_open_jobs(struct room *m)
{
    struct jobs_settings s = room_settings(m);

    if (jobs_open(&m->jobs, &s) < 0)
        fail_msg("%s", jobs_last_error());
}

static inline void room_open(struct room *m, const char *script)
{
    *m = (struct room){0};
    strcpy(m->data, "/tmp/recto-room-XXXXXX");
    assert_non_null(mkdtemp(m->data));
    room_open_engine(m, script);
    room_open_jobs(m);
}

static inline int room_remove_one(const char *path, const struct stat *st, int what, struct FTW *f)
{
    (void)st;
    (void)what;
    (void)f;
    return remove(path);
}

static inline void room_close_jobs(struct room *m)
{
    jobs_close(m->jobs);
    m->jobs = NULL;
}

static inline void room_close_engine(struct room *m)
{
    reader_end(m->reader);
    recto_close(m->recto);
}

static inline void room_close(struct room *m)
{
    room_close_jobs(m);
    room_close_engine(m);
    if (!m->keeps)
        nftw(m->data, room_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- documents ---------------------------------------------------------------------------------------------------------------- */
static inline void le16(struct buf *b, unsigned v)
{
    buf_char(b, (char)(v & 255));
    buf_char(b, (char)(v >> 8));
}

static inline void le32(struct buf *b, unsigned v)
{
    le16(b, v & 65535);
    le16(b, v >> 16);
}

static inline void tiff_entry(struct buf *b, unsigned tag, unsigned type, unsigned v)
{
    le16(b, tag);
    le16(b, type);
    le32(b, 1);
    le32(b, v);
}

enum { TIFF_SIDE = 96, TIFF_BYTES = TIFF_SIDE * TIFF_SIDE, TIFF_DIR = 2 + 9 * 12 + 4 };

/* A TIFF of so many grey pages of lines, each a little different. */
static inline struct buf tiff_of_pages(int n)
{
    struct buf b = {0};

    buf_text(&b, "II");
    le16(&b, 42);
    le32(&b, 8);
    for (int page = 0; page < n; page++) {
        unsigned at = (unsigned)b.n;
        le16(&b, 9);
        tiff_entry(&b, 256, 4, TIFF_SIDE);
        tiff_entry(&b, 257, 4, TIFF_SIDE);
        tiff_entry(&b, 258, 3, 8);
        tiff_entry(&b, 259, 3, 1);
        tiff_entry(&b, 262, 3, 1);
        tiff_entry(&b, 273, 4, at + TIFF_DIR);
        tiff_entry(&b, 277, 3, 1);
        tiff_entry(&b, 278, 4, TIFF_SIDE);
        tiff_entry(&b, 279, 4, TIFF_BYTES);
        le32(&b, page + 1 < n ? at + TIFF_DIR + TIFF_BYTES : 0);
        for (int y = 0; y < TIFF_SIDE; y++)
            for (int x = 0; x < TIFF_SIDE; x++)
                buf_char(&b, y / 8 % 2 == 0 && x > 8 && (x * 7 + page) % 11 < 7 && y > 8 ? 0 : -1);
    }
    return b;
}

/* ---- jobs --------------------------------------------------------------------------------------------------------------------------- */
/* Upload; the code, and *job on success. Options: JSON with ' for "; NULL: none. */
static inline int room_try(struct room *m, const char *owner, const char *name, str bytes,
                           const char *options, json_t **job)
{
    struct jobs_upload *u;
    bool is_replayed;
    int rc = jobs_upload_begin(m->jobs, owner, NULL, &u);

    *job = NULL;
    if (rc < 0)
        return rc;
    char *o = options ? mem_strdup(options) : NULL;
    for (char *p = o; p && *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (o)
        rc = jobs_upload_options(u, o, strlen(o));
    free(o);
    if (rc == 0)
        rc = jobs_upload_file(u, name);
    if (rc == 0)
        rc = jobs_upload_write(u, bytes.p, bytes.n);
    if (rc == 0)
        rc = jobs_upload_commit(u, NULL, job, &is_replayed);
    if (rc < 0)
        jobs_upload_abort(u);
    return rc;
}

static inline const char *text_of(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static inline int64_t int_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Pages of a job with that state or status. */
static inline int count_of(const json_t *job, const char *what)
{
    return (int)int_of(json_object_get(job, "pages"), what);
}

/* Upload a TIFF; its id. */
static inline void room_add(struct room *m, const char *owner, int n_page, const char *options,
                            char id[40])
{
    struct buf tiff = tiff_of_pages(n_page);
    json_t *job;

    if (room_try(m, owner, "scan.tif", buf_view(&tiff), options, &job) < 0)
        fail_msg("%s", jobs_last_error());
    snprintf(id, 40, "%s", text_of(job, "id"));
    json_decref(job);
    buf_reset(&tiff);
}

static inline json_t *room_get(struct room *m, const char *id)
{
    json_t *job;

    if (jobs_get(m->jobs, NULL, id, &job) < 0)
        fail_msg("%s", jobs_last_error());
    return job;
}

/* Wait until it has ended; the job. */
static inline json_t *room_wait(struct room *m, const char *id)
{
    for (int i = 0; i < 6000; i++) {
        json_t *job = room_get(m, id);
        if (int_of(job, "ended_ms") > 0)
            return job;
        json_decref(job);
        usleep(10000);
    }
    fail_msg("job %s does not end", id);
    return NULL;
}

static inline json_t *room_page(struct room *m, const char *id, int page)
{
    json_t *list, *row;

    assert_int_equal(jobs_pages(m->jobs, NULL, id, page, 1, &list), 0);
    row = json_incref(json_array_get(json_object_get(list, "data"), 0));
    json_decref(list);
    assert_int_equal(int_of(row, "page"), page);
    return row;
}

#endif
