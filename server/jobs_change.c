/* What owners do to their jobs, and requests that may be sent twice. */
#include "desk.h"

#include "job_options.h"
#include "page_range.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IDEM_S = 86400, KEY_MAX = 128, EDIT_MAX = 1 << 20, NAME_MAX_ = 1024 };

/* ---- idempotency: what runs is known here, what has been answered in the store ------------------------------------------------------------ */
struct idem_running {
    struct idem_running *next;
    char owner[OWNER_BYTES], key[KEY_MAX + 1];
};

static struct idem_running **running_at(struct jobs *j, const char *owner, const char *key)
{
    struct idem_running **at = &j->idem;

    while (*at && (strcmp((*at)->owner, owner) != 0 || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

static int note_running(struct jobs *j, const char *owner, const char *key)
{
    int rc = 0;

    pthread_mutex_lock(&j->idem_lock);
    struct idem_running **at = running_at(j, owner, key);
    if (*at)
        rc = fault(JOBS_IDEMPOTENCY_RUNNING, NULL,
                   "a request with this Idempotency-Key is being worked on: wait, then ask again");
    else {
        struct idem_running *r = calloc(1, sizeof *r);
        if (!r)
            abort();
        strcpy(r->owner, owner);
        strcpy(r->key, key);
        *at = r;
    }
    pthread_mutex_unlock(&j->idem_lock);
    return rc;
}

int jobs_idem_begin(struct jobs *j, const char *owner, const struct store_idem *idem,
                    json_t **answer)
{
    *answer = NULL;
    if (!idem->key)
        return 0;
    if (strlen(idem->key) > KEY_MAX)
        return fault(JOBS_INVALID_VALUE, NULL, "an Idempotency-Key has at most %d characters",
                     (int)KEY_MAX);
    TRY(note_running(j, owner, idem->key));
    int rc = store_idem(j->store, owner, idem, answer);
    if (rc == JOBS_NOT_FOUND)
        return 0;
    jobs_idem_end(j, owner, idem);
    return rc;
}

void jobs_idem_end(struct jobs *j, const char *owner, const struct store_idem *idem)
{
    if (!idem->key)
        return;
    pthread_mutex_lock(&j->idem_lock);
    struct idem_running **at = running_at(j, owner, idem->key), *r = *at;
    if (r)
        *at = r->next;
    free(r);
    pthread_mutex_unlock(&j->idem_lock);
}

/* ---- cancel, rename, keep, delete ---------------------------------------------------------------------------------------------------------- */
/* The row's object, if the call was a success. */
static int give(int rc, struct job_row *row, json_t **job)
{
    if (job)
        *job = rc == 0 ? job_row_json(row) : NULL;
    job_row_reset(row);
    return rc;
}

int jobs_cancel(struct jobs *j, const char *owner, const char *id, json_t **job)
{
    struct job_row row;
    int rc = store_cancel(j->store, owner, id, &row);

    if (rc == 0)
        desk_tell(j, (struct note){.what = NOTE_CANCEL, .job = row.key});
    return give(rc, &row, job);
}

int jobs_rename(struct jobs *j, const char *owner, const char *id, const char *name, json_t **job)
{
    struct job_row row;
    json_t *text = json_string(name);
    bool is_good = text && name[0] && strlen(name) <= NAME_MAX_;

    json_decref(text);
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        is_good = is_good && *p >= 0x20 && *p != 0x7f;
    if (!is_good)
        return fault(JOBS_INVALID_VALUE, "name",
                     "name: expected 1 to %d bytes of UTF-8 without control characters",
                     (int)NAME_MAX_);
    int rc = store_rename(j->store, owner, id, name, &row);
    return give(rc, &row, job);
}

int jobs_keep(struct jobs *j, const char *owner, const char *id, int page, int attempt,
              json_t **row)
{
    struct job_row job;
    struct page_row p = {0};
    int rc = store_keep(j->store, owner, id, page, attempt, &job);

    *row = NULL;
    if (rc == 0)
        rc = store_page(j->store, job.key, page, &p);
    if (rc == 0)
        *row = page_row_json(&p, NULL);
    page_row_reset(&p);
    job_row_reset(&job);
    return rc;
}

/* Inputs that no other job has. */
static void remove_inputs(struct jobs *j, struct input_row *in, int n)
{
    for (int i = 0; i < n; i++) {
        bool is_named = true;
        char *path = blob_input(&j->blob, in[i].sha256);

        pthread_mutex_lock(&j->blob_lock);
        if (store_has_blob(j->store, in[i].sha256, &is_named) == 0 && !is_named)
            unlink(path);
        pthread_mutex_unlock(&j->blob_lock);
        free(path);
    }
}

int jobs_delete(struct jobs *j, const char *owner, const char *id)
{
    struct input_row *in = NULL;
    struct job_row row;
    int n = 0, rc = store_job(j->store, owner, id, &row);

    if (rc == 0)
        rc = store_inputs(j->store, row.key, &in, &n);
    job_row_reset(&row);
    if (rc == 0) {
        rc = store_delete(j->store, owner, id, &row);
        if (rc == 0) {
            struct note note = {.what = NOTE_DELETE, .job = row.key};
            strcpy(note.id, row.id);
            desk_tell(j, note);
            remove_inputs(j, in, n);
        }
        job_row_reset(&row);
    }
    for (int i = 0; i < n; i++)
        input_row_reset(&in[i]);
    free(in);
    return rc;
}

/* ---- retry -------------------------------------------------------------------------------------------------------------------------------- */
struct retry_body {
    json_t *root, *settings; /* checked; settings NULL: none */
    const char *pages, *password;
    bool is_replace;
};

static int read_member(struct retry_body *b, const char *key, json_t *v)
{
    if (strcmp(key, "pages") == 0 && (json_is_string(v) || json_is_null(v))) {
        b->pages = json_string_value(v);
        return b->pages ? page_range_check(b->pages, "pages") : 0;
    }
    if (strcmp(key, "options") == 0) {
        json_t *checked = json_object();
        int rc = options_merge(checked, v, true);
        b->settings = json_object_size(checked) ? json_incref(checked) : NULL;
        json_decref(checked);
        return rc;
    }
    if (strcmp(key, "replace") == 0 && json_is_boolean(v)) {
        b->is_replace = json_is_true(v);
        return 0;
    }
    if (strcmp(key, "password") == 0 && (json_is_string(v) || json_is_null(v))) {
        b->password = json_string_value(v);
        return 0;
    }
    return fault(
        JOBS_UNKNOWN_OPTION, NULL,
        "'%.40s': expected pages (text), options, replace (true or false), password (text)", key);
}

static int read_body(struct retry_body *b, const char *body, size_t n)
{
    json_error_t e;
    const char *key;
    json_t *v;

    *b = (struct retry_body){.root = n ? json_loadb(body, n, JSON_REJECT_DUPLICATES, &e)
                                       : json_object()};
    if (!json_is_object(b->root))
        return fault(JOBS_INVALID_JSON, NULL, "the body is no JSON object");
    json_object_foreach(b->root, key, v) TRY(read_member(b, key, v));
    return 0;
}

/* The numbers that the list names, in a job whose documents have so many pages. */
static int list_pages(const struct job_row *row, const char *list, int **page, int *n)
{
    json_t *inputs = json_loads(row->inputs, 0, NULL), *in;
    size_t i;
    int n_all = 0;

    json_array_foreach(inputs, i, in)
        n_all += (int)json_integer_value(json_object_get(in, "pages"));
    json_decref(inputs);
    bool *wanted = malloc((size_t)n_all + 1);
    *page = malloc(((size_t)n_all + 1) * sizeof **page);
    if (!wanted || !*page)
        abort();
    int rc = page_range_select(list, n_all, wanted, "pages");
    *n = 0;
    for (int p = 1; p <= n_all && rc == 0; p++)
        if (wanted[p])
            (*page)[(*n)++] = p;
    free(wanted);
    return rc;
}

static int retry(struct jobs *j, const struct job_row *was, const struct retry_body *b,
                 const struct store_idem *idem, json_t **job)
{
    char *settings = b->settings ? json_dumps(b->settings, JSON_COMPACT) : NULL;
    struct job_row row = {0};
    int *page = NULL, n = 0;
    int rc = b->pages ? list_pages(was, b->pages, &page, &n) : 0;

    if (rc == 0 && b->password)
        jobs_set_password(j, was->id, b->password);
    if (rc == 0)
        rc = store_retry(j->store, was->owner, was->id, page, n, settings, b->is_replace,
                         j->set.max_queued_pages, idem, &row);
    if (rc == 0)
        desk_tell(j, (struct note){.what = NOTE_WORK, .job = row.key});
    free(settings);
    free(page);
    return give(rc, &row, job);
}

static void hash_retry(const char *id, const char *body, size_t n, char sha256[SHA_BYTES])
{
    SHA2_CTX all;

    SHA256Init(&all);
    SHA256Update(&all, (const uint8_t *)id, strlen(id) + 1);
    SHA256Update(&all, (const uint8_t *)body, n);
    SHA256End(&all, sha256);
}

int jobs_retry(struct jobs *j, const char *owner, const char *id, const char *body, size_t n,
               const char *idempotency_key, json_t **job, bool *is_replayed)
{
    char sha256[SHA_BYTES];
    struct store_idem idem = {
        .key = idempotency_key, .sha256 = sha256, .expires_ms = now_ms() + IDEM_S * 1000LL};
    struct retry_body b;
    struct job_row was;

    *job = NULL;
    *is_replayed = false;
    int rc = store_job(j->store, owner, id, &was);
    if (rc == 0) {
        hash_retry(id, body, n, sha256);
        rc = read_body(&b, body, n);
        if (rc == 0)
            rc = jobs_idem_begin(j, was.owner, &idem, job);
        *is_replayed = rc == 0 && *job;
        if (rc == 0 && !*is_replayed) {
            rc = retry(j, &was, &b, &idem, job);
            jobs_idem_end(j, was.owner, &idem);
        }
        json_decref(b.settings);
        json_decref(b.root);
    }
    job_row_reset(&was);
    return rc;
}
