#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void id_make(char id[ID_BYTES], const char *prefix)
{
    static const char letter[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char byte[24];
    int n = snprintf(id, ID_BYTES - sizeof byte, "%s_", prefix);

    if (getrandom(byte, sizeof byte, 0) != (ssize_t)sizeof byte)
        abort(); /* the kernel gives 24 bytes or none, and none only before it has booted */
    for (size_t i = 0; i < sizeof byte; i++)
        id[(size_t)n + i] = letter[byte[i] & 31];
    id[(size_t)n + sizeof byte] = 0;
}

int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void job_row_reset(struct job_row *r)
{
    free(r->name);
    free(r->options);
    free(r->error);
    free(r->inputs);
    *r = (struct job_row){0};
}

void input_row_reset(struct input_row *r)
{
    free(r->name);
    free(r->media);
    *r = (struct input_row){0};
}

void page_row_reset(struct page_row *r)
{
    free(r->settings);
    free(r->error);
    free(r->error_text);
    *r = (struct page_row){0};
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------------- */
static void set(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

static json_t *time_or_null(int64_t ms)
{
    return ms ? json_integer(ms) : json_null();
}

static json_t *text_or_null(const char *s)
{
    json_t *v = s ? json_string(s) : NULL;

    return v ? v : json_null();
}

static json_t *parsed(const char *text, json_t *otherwise)
{
    json_t *v = text ? json_loads(text, 0, NULL) : NULL;

    if (!v)
        return otherwise;
    json_decref(otherwise);
    return v;
}

static json_t *fault_json(const char *code, const char *text)
{
    return code ? json_pack("{ssss}", "code", code, "message", text ? text : code) : json_null();
}

static json_t *counts_json(const int count[JOB_COUNTS])
{
    json_t *o = json_pack("{si}", "total", job_total(count));

    for (int i = 0; i < JOB_COUNTS; i++)
        set(o, job_count_name(i), json_integer(count[i]));
    return o;
}

static const char *class_name(enum recto_class c)
{
    return c == RECTO_CLASS_INTERACTIVE ? "interactive"
           : c == RECTO_CLASS_BATCH     ? "batch"
                                        : "normal";
}

json_t *job_row_json(const struct job_row *r)
{
    json_t *o = json_pack("{ssss}", "object", "job", "id", r->id);

    set(o, "name", text_or_null(r->name));
    set(o, "state", json_string(job_state_name(r->state)));
    set(o, "class", json_string(class_name(r->class)));
    set(o, "created_ms", json_integer(r->created_ms));
    set(o, "started_ms", time_or_null(r->started_ms));
    set(o, "ended_ms", time_or_null(r->ended_ms));
    set(o, "expires_ms", time_or_null(r->expires_ms));
    set(o, "pages", counts_json(r->count));
    set(o, "attention", json_integer(job_attention(r->count)));
    set(o, "input", parsed(r->inputs, json_array()));
    set(o, "options", parsed(r->options, json_object()));
    set(o, "speed_pages_s", json_null());
    set(o, "eta_s", json_null());
    set(o, "position", json_null());
    set(o, "error", fault_json(r->error, NULL));
    set(o, "rev", json_integer(r->rev));
    set(o, "seq", json_integer(r->seq));
    return o;
}

json_t *input_row_json(const struct input_row *r)
{
    return json_pack("{sssssIsssi}", "name", r->name, "media_type", r->media, "bytes",
                     (json_int_t)r->bytes, "sha256", r->sha256, "pages", r->n_page);
}

static json_t *real_or_null(bool is_known, double v)
{
    return is_known ? json_real(v) : json_null();
}

json_t *page_row_json(const struct page_row *r, const char *job)
{
    json_t *o = json_object();
    bool is_read = r->best > 0 && r->n_tok > 0;

    if (job)
        set(o, "job", json_string(job));
    set(o, "page", json_integer(r->page));
    set(o, "input", json_integer(r->input));
    set(o, "input_page", json_integer(r->input_page));
    set(o, "state", json_string(page_state_name(r->state)));
    set(o, "status", r->has_status ? json_string(recto_status_name(r->status)) : json_null());
    set(o, "attempt", json_integer(r->n_attempt + (r->state < PAGE_ENDED)));
    set(o, "attempts", json_integer(r->n_attempt));
    set(o, "best", json_integer(r->best));
    set(o, "width_px", r->width ? json_integer(r->width) : json_null());
    set(o, "height_px", r->height ? json_integer(r->height) : json_null());
    set(o, "rotation", json_integer(r->rotation));
    set(o, "n_tok", json_integer(r->n_tok));
    set(o, "conf", real_or_null(is_read, r->conf));
    set(o, "min_logp", real_or_null(is_read, r->min_logp));
    set(o, "edited", json_boolean(r->edited[0] != 0));
    set(o, "error", fault_json(r->error, r->error_text));
    set(o, "started_ms", time_or_null(r->started_ms));
    set(o, "ended_ms", time_or_null(r->ended_ms));
    set(o, "ms", r->ended_ms ? json_integer(r->ms) : json_null());
    return o;
}
