/* From bytes to a queued job. */
#include "desk.h"

#include "job_options.h"
#include "page_range.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MAX = 1000, HEAD = 1024, NAME_MAX_ = 1024, IDEM_S = 86400, KEY_MAX = 128 };

struct upload_file {
    char *path; /* in incoming/; NULL: accepted */
    int fd;
    SHA2_CTX sha;
    unsigned char head[HEAD];
    size_t n_head;
    bool is_known; /* its kind */
    struct input_row row;
};

struct jobs_upload {
    struct jobs *jobs;
    char owner[OWNER_BYTES];
    struct jobs_limits limits;
    bool has_limits;
    json_t *options;
    struct upload_file *file;
    int n_file;
    int64_t bytes;
};

/* ---- begin ---------------------------------------------------------------------------------------------------------------------- */
static int check_disk(struct jobs *j)
{
    int64_t free_bytes = blob_free_bytes(&j->blob);

    if (free_bytes < 0 || free_bytes >= j->set.disk_min)
        return 0;
    return fault(JOBS_STORAGE_FULL, NULL,
                 "%lld bytes are free, uploads need %lld: delete jobs, or lower disk-min",
                 (long long)free_bytes, (long long)j->set.disk_min);
}

static int check_draining(struct jobs *j)
{
    pthread_mutex_lock(&j->lock);
    bool is_draining = j->is_draining;
    pthread_mutex_unlock(&j->lock);
    return is_draining ? fault(JOBS_DRAINING, NULL, "the server is about to stop: try again later")
                       : 0;
}

int jobs_upload_begin(struct jobs *j, const char *owner, const struct jobs_limits *limits,
                      struct jobs_upload **out)
{
    *out = NULL;
    TRY(check_draining(j));
    TRY(check_disk(j));
    if (strlen(owner) >= OWNER_BYTES)
        return fault(JOBS_INTERNAL, NULL, "an owner's name has at most %d bytes",
                     (int)OWNER_BYTES - 1);
    struct jobs_upload *u = calloc(1, sizeof *u);
    if (!u)
        abort();
    u->jobs = j;
    strcpy(u->owner, owner);
    u->has_limits = limits != NULL;
    u->limits = limits ? *limits : (struct jobs_limits){.may_interactive = true};
    u->options = json_object();
    *out = u;
    return 0;
}

/* UTF-8 that JSON can hold, without control characters, cut at a whole character. */
static char *clean_name(const char *name)
{
    size_t n = name ? strnlen(name, NAME_MAX_) : 0;
    char *out = calloc(1, n + 16);

    if (!out)
        abort();
    memcpy(out, name ? name : "", n);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)out[i] < 0x20 || out[i] == 0x7f)
            out[i] = '_';
    json_t *v = json_stringn(out, n);
    for (size_t cut = 0; !v && cut < 3 && n > 0; cut++)
        v = json_stringn(out, --n);
    if (!v)
        for (size_t i = 0; i < n; i++)
            out[i] = (char)((unsigned char)out[i] < 0x80 ? out[i] : '_');
    json_decref(v);
    out[n] = 0;
    if (n == 0)
        strcpy(out, "document");
    return out;
}

int jobs_upload_file(struct jobs_upload *u, const char *name)
{
    struct upload_file *all, *f;

    if (u->n_file == FILES_MAX)
        return fault(JOBS_INVALID_VALUE, "file", "a job has at most %d files", (int)FILES_MAX);
    all = realloc(u->file, (size_t)(u->n_file + 1) * sizeof *all);
    if (!all)
        abort();
    u->file = all;
    f = &all[u->n_file];
    memset(f, 0, sizeof *f);
    TRY(blob_incoming(&u->jobs->blob, &f->path, &f->fd));
    SHA256Init(&f->sha);
    f->row.name = clean_name(name);
    u->n_file++;
    return 0;
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------------------- */
static const char *media_of(const char *kind)
{
    static const char *const table[][2] = {
        {"PDF", "application/pdf"}, {"PNG", "image/png"},       {"JPEG", "image/jpeg"},
        {"WebP", "image/webp"},     {"TIFF", "image/tiff"},     {"GIF", "image/gif"},
        {"BMP", "image/bmp"},       {"JPEG 2000", "image/jp2"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(kind, table[i][0]) == 0)
            return table[i][1];
    return "application/octet-stream";
}

/* Its first bytes are there, or all of it. */
static int find_kind(struct upload_file *f)
{
    const char *kind = recto_kind(f->head, f->n_head);

    if (!kind)
        return fault(
            JOBS_MEDIA_TYPE, "file",
            "%s: its bytes are of no kind that is read: send a PDF, PNG, JPEG, WebP, TIFF, GIF or BMP",
            f->row.name);
    f->row.media = strdup(media_of(kind));
    f->is_known = true;
    return 0;
}

static int note_head(struct upload_file *f, const unsigned char *bytes, size_t n)
{
    size_t more = HEAD - f->n_head < n ? HEAD - f->n_head : n;

    memcpy(f->head + f->n_head, bytes, more);
    f->n_head += more;
    return f->n_head == HEAD && !f->is_known ? find_kind(f) : 0;
}

static int put(struct upload_file *f, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(f->fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fault_write("the upload");
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

int jobs_upload_write(struct jobs_upload *u, const void *bytes, size_t n)
{
    struct upload_file *f = &u->file[u->n_file - 1];
    int64_t was = u->bytes;

    if (u->n_file == 0)
        return fault(JOBS_INVALID_VALUE, "file", "there is no file to write to");
    u->bytes += (int64_t)n;
    if (u->bytes > u->jobs->set.max_upload)
        return fault(JOBS_BODY_TOO_LARGE, "file", "the upload is larger than %lld bytes, the limit",
                     (long long)u->jobs->set.max_upload);
    if (was >> 24 != u->bytes >> 24) /* each 16 MB */
        TRY(check_disk(u->jobs));
    TRY(note_head(f, bytes, n));
    SHA256Update(&f->sha, bytes, n);
    f->row.bytes += (int64_t)n;
    return put(f, bytes, n);
}

int jobs_upload_options(struct jobs_upload *u, const char *json, size_t n)
{
    json_error_t e;
    json_t *o = json_loadb(json, n, JSON_REJECT_DUPLICATES, &e);

    if (!o)
        return fault(JOBS_INVALID_JSON, "options", "options: %s at line %d, column %d", e.text,
                     e.line, e.column);
    int rc = options_merge(u->options, o, false);
    json_decref(o);
    return rc;
}

int jobs_upload_option(struct jobs_upload *u, const char *name, const char *value)
{
    return options_set_text(u->options, name, value);
}

/* ---- counting pages ---------------------------------------------------------------------------------------------------------------- */
/* Why a document cannot be opened, in the API's words. */
static int cannot_open(const struct upload_file *f, int rc, bool had_password)
{
    int code = JOBS_UNREADABLE;

    if (rc == RECTO_EPASSWORD)
        code = had_password ? JOBS_PASSWORD_WRONG : JOBS_PASSWORD_REQUIRED;
    else if (rc == RECTO_ETOOLARGE)
        code = JOBS_IMAGE_TOO_LARGE;
    else if (rc == RECTO_EKIND)
        code = JOBS_MEDIA_TYPE;
    else if (rc == RECTO_EINTERNAL || rc == RECTO_ENOMEM)
        code = JOBS_INTERNAL;
    return fault(
        code, code == JOBS_PASSWORD_REQUIRED || code == JOBS_PASSWORD_WRONG ? "password" : "file",
        "%s: %s", f->row.name, recto_last_error());
}

static int count_pages(struct jobs_upload *u, struct upload_file *f, const char *password)
{
    struct recto_input in = {.name = f->row.name, .path = f->path, .password = password};
    struct recto_document *d;
    int rc = recto_document_open(&d, &in, u->jobs->set.engine);

    if (rc < 0)
        return cannot_open(f, rc, password != NULL);
    f->row.n_page = recto_document_pages(d);
    recto_document_close(d);
    return f->row.n_page > 0 ? 0 : fault(JOBS_UNREADABLE, "file", "%s has no pages", f->row.name);
}

static int finish_file(struct jobs_upload *u, struct upload_file *f, const char *password)
{
    if (!f->is_known)
        TRY(find_kind(f));
    if (f->fd >= 0) {
        SHA256End(&f->sha, f->row.sha256);
        if (close(f->fd) < 0)
            return fault_write("the upload");
        f->fd = -1;
    }
    return count_pages(u, f, password);
}

/* ---- the job ---------------------------------------------------------------------------------------------------------------------- */
/* The pages that are wanted, as rows; *n of them. */
static int select_pages(const struct jobs_upload *u, struct page_row **out, int *n)
{
    const char *list = options_text(u->options, "pages");
    int n_all = 0, at = 0;

    *n = 0;
    for (int i = 0; i < u->n_file; i++)
        n_all += u->file[i].row.n_page;
    bool *wanted = malloc((size_t)n_all + 1);
    *out = calloc((size_t)n_all, sizeof **out);
    if (!wanted || !*out)
        abort();
    int rc = page_range_select(list ? list : "all", n_all, wanted, "pages");
    for (int i = 0; i < u->n_file && rc == 0; i++)
        for (int p = 1; p <= u->file[i].row.n_page; p++)
            if (wanted[++at])
                (*out)[(*n)++] = (struct page_row){.page = at, .input = i, .input_page = p};
    free(wanted);
    if (rc == 0 && *n > u->jobs->set.max_pages)
        rc = fault(JOBS_TOO_MANY_PAGES, "pages",
                   "%d pages, a job has at most %d: name fewer with pages", *n,
                   u->jobs->set.max_pages);
    return rc;
}

static void fill_job(const struct jobs_upload *u, struct job_row *j)
{
    const char *name = options_text(u->options, "name");
    json_t *inputs = json_array();
    int64_t deadline_s = options_int(u->options, "deadline_s", 0);
    int64_t retain_s = options_int(u->options, "retain_s", u->jobs->set.retain_s);

    *j = (struct job_row){.class = options_class(u->options), .created_ms = now_ms()};
    id_make(j->id, "job");
    strcpy(j->owner, u->owner);
    j->name = clean_name(name ? name : u->file[0].row.name);
    j->deadline_ms = deadline_s ? j->created_ms + deadline_s * 1000 : 0;
    j->retain_s = retain_s < u->jobs->set.retain_s ? retain_s : u->jobs->set.retain_s;
    for (int i = 0; i < u->n_file; i++)
        json_array_append_new(inputs, input_row_json(&u->file[i].row));
    j->inputs = json_dumps(inputs, JSON_COMPACT);
    j->options = json_dumps(u->options, JSON_COMPACT);
    json_decref(inputs);
}

static int accept_files(struct jobs_upload *u)
{
    for (int i = 0; i < u->n_file; i++) {
        struct upload_file *f = &u->file[i];
        TRY(blob_accept(&u->jobs->blob, f->path, f->row.sha256));
        free(f->path);
        f->path = NULL;
    }
    return 0;
}

/* From the blobs' arrival to the rows that name them no sweep may pass. */
static int add_job(struct jobs_upload *u, struct job_row *j, const struct page_row *page, int n,
                   const struct store_idem *idem)
{
    struct input_row *in = calloc((size_t)u->n_file, sizeof *in);

    if (!in)
        abort();
    for (int i = 0; i < u->n_file; i++)
        in[i] = u->file[i].row;
    pthread_mutex_lock(&u->jobs->blob_lock);
    int rc = accept_files(u);
    if (rc == 0)
        rc = store_add(u->jobs->store, j, in, u->n_file, page, n, u->has_limits ? &u->limits : NULL,
                       u->jobs->set.max_queued_pages, idem);
    pthread_mutex_unlock(&u->jobs->blob_lock);
    free(in);
    return rc;
}

static int make_job(struct jobs_upload *u, const char *password, const struct store_idem *idem,
                    json_t **out)
{
    struct page_row *page = NULL;
    struct job_row j = {0};
    int n = 0, rc = 0;

    for (int i = 0; i < u->n_file && rc == 0; i++)
        rc = finish_file(u, &u->file[i], password);
    if (rc == 0)
        rc = select_pages(u, &page, &n);
    if (rc == 0) {
        fill_job(u, &j);
        jobs_set_password(u->jobs, j.id, password);
        rc = add_job(u, &j, page, n, idem);
        if (rc < 0)
            jobs_set_password(u->jobs, j.id, NULL);
    }
    if (rc == 0) {
        *out = job_row_json(&j);
        desk_tell(u->jobs, (struct note){.what = NOTE_WORK, .job = j.key});
    }
    free(page);
    job_row_reset(&j);
    return rc;
}

/* ---- idempotency ------------------------------------------------------------------------------------------------------------------ */
/* What was asked for: options and files. */
static void request_hash(struct jobs_upload *u, char sha256[SHA_BYTES])
{
    char *text = json_dumps(u->options, JSON_COMPACT | JSON_SORT_KEYS), digest[SHA_BYTES];
    SHA2_CTX all;

    SHA256Init(&all);
    SHA256Update(&all, (const uint8_t *)text, strlen(text));
    for (int i = 0; i < u->n_file; i++) {
        SHA2_CTX copy = u->file[i].sha;
        SHA256End(&copy, digest);
        SHA256Update(&all, (const uint8_t *)digest, strlen(digest));
        SHA256Update(&all, (const uint8_t *)u->file[i].row.name, strlen(u->file[i].row.name) + 1);
    }
    SHA256End(&all, sha256);
    free(text);
}

static int check_request(struct jobs_upload *u)
{
    TRY(check_draining(u->jobs));
    if (u->n_file == 0)
        return fault(JOBS_INVALID_VALUE, "file",
                     "there is no file: send one as part 'file', or as the body");
    TRY(options_check(u->options));
    const char *class = options_text(u->options, "class");
    if (class && strcmp(class, "interactive") == 0 && u->has_limits && !u->limits.may_interactive)
        return fault(JOBS_FORBIDDEN, "class",
                     "this key may not ask for class interactive: take normal");
    return 0;
}

int jobs_upload_commit(struct jobs_upload *u, const char *idempotency_key, json_t **job,
                       bool *is_replayed)
{
    char sha256[SHA_BYTES];
    struct store_idem idem = {
        .key = idempotency_key, .sha256 = sha256, .expires_ms = now_ms() + IDEM_S * 1000LL};

    *job = NULL;
    *is_replayed = false;
    TRY(check_request(u));
    request_hash(u, sha256);
    int rc = jobs_idem_begin(u->jobs, u->owner, &idem, job);
    *is_replayed = rc == 0 && *job;
    if (rc == 0 && !*is_replayed) {
        char *password = options_complete(u->options);
        rc = make_job(u, password, &idem, job);
        if (password)
            explicit_bzero(password, strlen(password));
        free(password);
        jobs_idem_end(u->jobs, u->owner, &idem);
    }
    if (rc == 0)
        jobs_upload_abort(u);
    return rc;
}

/* Also after a commit: what was accepted is no longer here. */
void jobs_upload_abort(struct jobs_upload *u)
{
    if (!u)
        return;
    for (int i = 0; i < u->n_file; i++) {
        struct upload_file *f = &u->file[i];
        if (f->fd >= 0)
            close(f->fd);
        if (f->path)
            unlink(f->path);
        free(f->path);
        input_row_reset(&f->row);
    }
    free(u->file);
    json_decref(u->options);
    free(u);
}
