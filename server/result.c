#include "result.h"

#include "job_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 64 };

/* ---- bodies ---------------------------------------------------------------------------------------------------------------------- */
void jobs_body_reset(struct jobs_body *b)
{
    if (b->fd >= 0)
        close(b->fd);
    free(b->name);
    *b = (struct jobs_body){.fd = -1};
}

const char *media_of_format(const char *format)
{
    static const char *const table[][2] = {
        {"md", "text/markdown"},      {"txt", "text/plain"},          {"html", "text/html"},
        {"json", "application/json"}, {"jsonl", "application/jsonl"}, {"pdf", "application/pdf"},
        {"zip", "application/zip"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(format, table[i][0]) == 0)
            return table[i][1];
    return NULL;
}

int body_of_bytes(struct jobs_body *b, const char *bytes, size_t n, const char *media)
{
    b->fd = memfd_create("body", MFD_CLOEXEC);
    if (b->fd < 0)
        return fault_write("a body");
    for (size_t at = 0; at < n;) {
        ssize_t done = pwrite(b->fd, bytes + at, n - at, (off_t)at);
        if (done <= 0 && errno != EINTR)
            return fault_write("a body");
        at += done > 0 ? (size_t)done : 0;
    }
    b->size = (int64_t)n;
    snprintf(b->media_type, sizeof b->media_type, "%s", media);
    return 0;
}

int body_of_file(struct jobs_body *b, const char *path, const char *media)
{
    struct stat st;

    b->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (b->fd < 0 || fstat(b->fd, &st) < 0)
        return fault(JOBS_NOT_FOUND, NULL, "%s: %s", path, strerror(errno));
    b->size = st.st_size;
    snprintf(b->media_type, sizeof b->media_type, "%s", media);
    return 0;
}

/* A suffix that looks like one is replaced. */
void body_name(struct jobs_body *b, const char *name, const char *extension)
{
    const char *dot = strrchr(name, '.');
    int n = dot && dot > name && strlen(dot) <= 6 ? (int)(dot - name) : (int)strlen(name);

    free(b->name);
    if (asprintf(&b->name, "%.*s.%s", n, name, extension) < 0)
        abort();
}

/* ---- writing ---------------------------------------------------------------------------------------------------------------------- */
struct making {
    struct jobs *jobs;
    const struct job_row *job;
    int fd, rc;
    struct fault_note why; /* of the sink */
    result_side_fn *side;
    void *side_ctx;
};

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fault_write("a result");
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int sink(void *ctx, const char *side, const void *bytes, size_t n)
{
    struct making *m = ctx;
    int rc = side ? (m->side ? m->side(m->side_ctx, side, bytes, n) : 0)
                  : write_all(m->fd, bytes, n);

    if (rc == 0)
        return 0;
    m->rc = rc;
    fault_save(&m->why, rc);
    return RECTO_EOUTPUT;
}

static int n_inputs(const struct job_row *job)
{
    json_t *in = json_loads(job->inputs, 0, NULL);
    int n = (int)json_array_size(in);

    json_decref(in);
    return n;
}

/* Whether the format looks at pixels here: figures inside html, beside md; lines of pdf. */
static bool needs_document(const char *format, const char *stem)
{
    return strcmp(format, "pdf") == 0 || strcmp(format, "html") == 0 ||
           (strcmp(format, "md") == 0 && stem);
}

/* Pixels come from one file; a job of several has text formats without figures. */
static int open_document(const struct making *m, const char *format, const char *stem,
                         struct recto_document **doc)
{
    bool is_one = n_inputs(m->job) == 1;

    *doc = NULL;
    if (strcmp(format, "pdf") == 0 && !is_one)
        return fault(
            JOBS_INVALID_VALUE, NULL,
            "a searchable PDF is made of one file, and this job has %d: take another format, or a job for each file",
            n_inputs(m->job));
    if (!is_one || !needs_document(format, stem))
        return 0;
    int rc = job_document(m->jobs, m->job, 0, doc);
    return rc < 0 && strcmp(format, "pdf") != 0 ? 0 : rc; /* text does without figures */
}

static int write_page(struct making *m, struct recto_writer *w, const struct page_row *row,
                      bool is_json)
{
    struct recto_page p;

    TRY(job_page_load(m->jobs, m->job, row, is_json ? VERSION_MODEL : VERSION_USER, 0, &p));
    if (is_json && row->state != PAGE_ENDED && row->best == 0)
        p.status = RECTO_PAGE_SKIPPED; /* not an error of the page */
    int rc = recto_writer_page(w, &p);
    recto_page_reset(&p);
    return rc < 0 ? fault(JOBS_INVALID_VALUE, NULL, "page %d: %s", row->page, recto_last_error())
                  : 0;
}

static int write_pages(struct making *m, struct recto_writer *w, bool is_json)
{
    int from = 1, n = PAGES_AT_ONCE, rc = 0;

    while (n == PAGES_AT_ONCE && rc == 0) {
        struct page_row *page;
        TRY(store_pages(m->jobs->store, m->job->key, from, PAGES_AT_ONCE, &page, &n));
        for (int i = 0; i < n && rc == 0; i++) {
            rc = write_page(m, w, &page[i], is_json);
            from = page[i].page + 1;
        }
        store_rows_free(page, n);
    }
    return rc;
}

static void set_options(struct recto_write_options *o, const struct making *m,
                        struct recto_document *doc, const char *stem)
{
    recto_write_options_init(o);
    o->doc = doc;
    o->stem = stem;
    o->name = m->job->name;
    o->embed = doc && !stem;
}

static int run(struct making *m, const char *format, const struct recto_write_options *o)
{
    struct recto_writer *w;
    bool is_json = strncmp(format, "json", 4) == 0;

    if (recto_writer_open(&w, format, o, sink, m) < 0)
        return fault(JOBS_INVALID_VALUE, NULL, "%s: %s", format, recto_last_error());
    int rc = write_pages(m, w, is_json);
    if (rc < 0) {
        recto_writer_abort(w);
        return m->rc < 0 ? fault_load(&m->why) : rc;
    }
    if (recto_writer_close(w) < 0)
        return m->rc < 0 ? fault_load(&m->why)
                         : fault(JOBS_INVALID_VALUE, NULL, "%s: %s", format, recto_last_error());
    return 0;
}

int result_write(struct jobs *j, const struct job_row *job, const char *format, int fd,
                 const char *stem, result_side_fn *side, void *ctx)
{
    struct making m = {.jobs = j, .job = job, .fd = fd, .side = side, .side_ctx = ctx};
    struct recto_write_options o;
    struct recto_document *doc;

    TRY(open_document(&m, format, stem, &doc));
    json_t *input = json_loads(job->inputs, 0, NULL), *first = json_array_get(input, 0);
    set_options(&o, &m, doc, stem);
    if (json_array_size(input) == 1) {
        o.source_sha256 = json_string_value(json_object_get(first, "sha256"));
        o.n_pages = (int)json_integer_value(json_object_get(first, "pages"));
    }
    int rc = run(&m, format, &o);
    struct fault_note why;
    fault_save(&why, rc);
    recto_document_close(doc);
    json_decref(input);
    return fault_load(&why);
}

/* ---- the API's ---------------------------------------------------------------------------------------------------------------------- */
static int make(struct jobs *j, const struct job_row *job, const char *format, const char *path)
{
    char *tmp = NULL;
    int fd, rc = blob_cache_new(&j->blob, job->id, &tmp, &fd);

    if (rc == 0)
        rc = strcmp(format, "zip") == 0 ? result_write_zip(j, job, fd)
                                        : result_write(j, job, format, fd, NULL, NULL, NULL);
    if (rc == 0)
        rc = blob_cache_put(tmp, path);
    if (fd >= 0)
        close(fd);
    if (rc < 0 && tmp)
        unlink(tmp);
    free(tmp);
    return rc;
}

/* What is in the cache is of this revision; a page that ends meanwhile makes another. */
static int find_or_make(struct jobs *j, const struct job_row *job, const char *format,
                        bool is_whole, struct jobs_body *out)
{
    char name[64];

    snprintf(name, sizeof name, "r%lld%s.%s", (long long)job->rev, is_whole ? "" : "p", format);
    char *path = blob_cached(&j->blob, job->id, name);
    pthread_mutex_lock(&j->make_lock);
    int rc = body_of_file(out, path, media_of_format(format));
    if (rc < 0) {
        rc = make(j, job, format, path);
        if (rc == 0)
            rc = body_of_file(out, path, media_of_format(format));
    }
    pthread_mutex_unlock(&j->make_lock);
    free(path);
    snprintf(out->etag, sizeof out->etag, "%s-%.40s", job->id, name);
    return rc;
}

int jobs_result(struct jobs *j, const char *owner, const char *id, const char *format, bool partial,
                struct jobs_body *out)
{
    struct job_row job;
    int rc = store_job(j->store, owner, id, &job);
    bool is_whole = rc == 0 && job_left(job.count) == 0;

    *out = (struct jobs_body){.fd = -1};
    if (rc == 0 && !media_of_format(format))
        rc = fault(JOBS_INVALID_VALUE, NULL,
                   "there is no result '%.20s': expected md, txt, html, json, jsonl, pdf or zip",
                   format);
    if (rc == 0 && !is_whole && !partial)
        rc = fault(JOBS_JOB_NOT_FINISHED, NULL,
                   "job %s has %d pages left: wait until it has ended, or ask with partial=1",
                   job.id, job_left(job.count));
    if (rc == 0)
        rc = find_or_make(j, &job, format, is_whole, out);
    if (rc == 0)
        body_name(out, job.name, format);
    else
        jobs_body_reset(out);
    job_row_reset(&job);
    return rc;
}

int jobs_input(struct jobs *j, const char *owner, const char *id, int k, struct jobs_body *out)
{
    struct input_row *in = NULL;
    struct job_row job;
    int n = 0, rc = store_job(j->store, owner, id, &job);

    *out = (struct jobs_body){.fd = -1};
    if (rc == 0)
        rc = store_inputs(j->store, job.key, &in, &n);
    if (rc == 0 && (k < 0 || k >= n))
        rc = fault(JOBS_NOT_FOUND, NULL, "the job has %d files, from 0", n);
    if (rc == 0) {
        char *path = blob_input(&j->blob, in[k].sha256);
        rc = body_of_file(out, path, in[k].media);
        snprintf(out->etag, sizeof out->etag, "%s", in[k].sha256);
        out->name = strdup(in[k].name);
        free(path);
    }
    for (int i = 0; i < n; i++)
        input_row_reset(&in[i]);
    free(in);
    job_row_reset(&job);
    if (rc < 0)
        jobs_body_reset(out);
    return rc;
}
