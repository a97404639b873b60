/* The body of a chat call: members, parts, options. */
#include "chat.h"

#include "api.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 1024, PROMPT_MAX = 8000 };

/* The questions the model was trained on, as tasks: the engine knows more about those. */
static const struct {
    const char *prompt;
    enum recto_task task;
} known_prompts[] = {{"<|grounding|>Convert the document to markdown.", RECTO_TASK_MARKDOWN},
                     {"Free OCR.", RECTO_TASK_TEXT},
                     {"<|grounding|>OCR this image.", RECTO_TASK_OCR},
                     {"Parse the figure.", RECTO_TASK_FIGURE},
                     {"Describe this image in detail.", RECTO_TASK_DESCRIBE}};

struct reading {
    struct server *server;
    struct request *q;
    struct chat_ask *ask;
    const struct sieve *sieve;
};

static bool wrong(struct reading *r, enum fault f, const char *param, const char *why)
{
    answer_fault(r->q, f, param, "%s", why);
    return false;
}

static void warn(struct chat_ask *a, const char *sentence)
{
    json_array_append_new(a->warnings, json_string(sentence));
}

/* ---- numbers ----------------------------------------------------------------------------------------------------------- */
static bool number(struct reading *r, const json_t *v, const char *name, double lo, double hi,
                   double *out)
{
    if (json_is_null(v))
        return true;
    if (!json_is_number(v) || !(json_number_value(v) >= lo && json_number_value(v) <= hi)) {
        answer_fault(r->q, FAULT_invalid_value, name, "%s must be a number from %g to %g", name, lo,
                     hi);
        return false;
    }
    *out = json_number_value(v);
    return true;
}

static bool whole(struct reading *r, const json_t *v, const char *name, double lo, double hi,
                  int64_t *out)
{
    double x = (double)*out;

    if (!number(r, v, name, lo, hi, &x))
        return false;
    if (x != floor(x))
        return wrong(r, FAULT_invalid_value, name, "expected a whole number");
    *out = (int64_t)x;
    return true;
}

/* ---- members of the call ----------------------------------------------------------------------------------------------- */
static bool read_model(struct reading *r, const json_t *v)
{
    if (json_is_string(v) && openai_is_model(json_string_value(v)))
        return true;
    answer_fault(r->q, FAULT_model_not_found, "model",
                 "the model here is deepseek-ocr-2, not '%.100s'",
                 json_is_string(v) ? json_string_value(v) : "(no name)");
    return false;
}

static bool read_stream(struct reading *r, const json_t *v)
{
    r->ask->stream = json_is_true(v);
    return json_is_boolean(v) || json_is_null(v) ||
           wrong(r, FAULT_invalid_value, "stream", "stream must be true or false");
}

static bool read_stream_options(struct reading *r, const json_t *v)
{
    r->ask->include_usage = json_is_true(json_object_get(v, "include_usage"));
    return json_is_object(v) || json_is_null(v) ||
           wrong(r, FAULT_invalid_value, "stream_options", "stream_options must be an object");
}

/* A limit of the client's own: what is cut there is no fault, so nothing is read again. */
static bool read_max_tokens(struct reading *r, const json_t *v)
{
    int64_t n = 0;

    if (!whole(r, v, "max_tokens", 1, 1e6, &n))
        return false;
    if (n > 0) {
        r->ask->options.max_tokens = (int)n;
        r->ask->options.retries = 0;
    }
    return true;
}

static bool read_temperature(struct reading *r, const json_t *v)
{
    return number(r, v, "temperature", 0, 2, &r->ask->options.temperature);
}

static bool read_top_p(struct reading *r, const json_t *v)
{
    return number(r, v, "top_p", 1e-6, 1, &r->ask->options.top_p);
}

static bool read_seed(struct reading *r, const json_t *v)
{
    int64_t seed = 0;

    if (!whole(r, v, "seed", 0, 9e15, &seed))
        return false;
    r->ask->options.seed = (uint64_t)seed;
    return true;
}

static bool add_stop(struct reading *r, const json_t *v)
{
    if (!json_is_string(v) || json_string_length(v) == 0 || json_string_length(v) > 200 ||
        r->ask->n_stop == CHAT_STOPS)
        return wrong(r, FAULT_invalid_value, "stop", "stop is up to 4 texts of 1 to 200 bytes");
    r->ask->stop[r->ask->n_stop++] = server_strdup(json_string_value(v));
    return true;
}

static bool read_stop(struct reading *r, const json_t *v)
{
    const json_t *one;
    size_t i;

    if (json_is_null(v))
        return true;
    if (!json_is_array(v))
        return add_stop(r, v);
    json_array_foreach(v, i, one) if (!add_stop(r, one)) return false;
    return true;
}

static bool read_n(struct reading *r, const json_t *v)
{
    return json_is_null(v) || json_integer_value(v) == 1 ||
           wrong(r, FAULT_unsupported_parameter, "n", "one answer is given a call: n must be 1");
}

static bool read_tools(struct reading *r, const json_t *v)
{
    return json_is_null(v) || (json_is_array(v) && json_array_size(v) == 0) ||
           wrong(r, FAULT_unsupported_parameter, "tools",
                 "the model reads pages; it calls no tools");
}

static bool read_audio(struct reading *r, const json_t *v)
{
    return json_is_null(v) ||
           wrong(r, FAULT_unsupported_parameter, "audio", "the model does not speak");
}

static bool read_logprobs(struct reading *r, const json_t *v)
{
    return json_is_null(v) || json_is_false(v) ||
           (json_is_integer(v) && json_integer_value(v) == 0) ||
           wrong(
               r, FAULT_unsupported_parameter, "logprobs",
               "log-probabilities of single tokens are not given; recto.pages has the mean confidence");
}

static bool read_response_format(struct reading *r, const json_t *v)
{
    const char *type = json_string_value(json_object_get(v, "type"));

    return json_is_null(v) || (type && strcmp(type, "text") == 0) ||
           wrong(r, FAULT_unsupported_parameter, "response_format",
                 "only text; for JSON ask for recto.output layout, or POST /v1/jobs");
}

/* ---- guard, task, output: the member "recto", and vLLM's names for it ---------------------------------------------------- */
static bool read_guard_n(struct reading *r, const json_t *v)
{
    int64_t n = 0;
    bool is_fine = whole(r, v, "ngram_size", 0, 1000, &n);

    r->ask->options.guard_n = n == 0 && json_is_integer(v) ? -1 : (int)n;
    return is_fine;
}

static bool read_guard_w(struct reading *r, const json_t *v)
{
    int64_t w = 0;
    bool is_fine = whole(r, v, "ngram_window", 1, 1e6, &w);

    r->ask->options.guard_w = (int)w;
    return is_fine;
}

static bool read_output(struct reading *r, const json_t *v)
{
    static const char *const names[] = {"markdown", "raw", "layout"};
    const char *text = json_string_value(v);

    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            r->ask->output = (enum chat_output)i;
            return true;
        }
    return wrong(r, FAULT_invalid_value, "recto.output", "output is markdown, raw or layout");
}

static bool read_images(struct reading *r, const json_t *v)
{
    const char *text = json_string_value(v);

    return (text && strcmp(text, "omit") == 0) ||
           wrong(r, FAULT_invalid_value, "recto.images",
                 "images is omit: figures are left out here; jobs have them as files");
}

static bool read_pages(struct reading *r, const json_t *v)
{
    if (json_is_null(v))
        return true;
    if (!json_is_string(v) || recto_range_check(json_string_value(v)) < 0)
        return wrong(r, FAULT_invalid_value, "recto.pages",
                     "pages is a list as in 1-3,7 or 5- or odd");
    r->ask->pages = server_strdup(json_string_value(v));
    return true;
}

static bool read_dpi(struct reading *r, const json_t *v)
{
    int64_t dpi = 0;

    if (json_is_string(v) && strcmp(json_string_value(v), "auto") == 0)
        return true;
    if (!whole(r, v, "recto.dpi", 36, 600, &dpi))
        return false;
    r->ask->dpi = (int)dpi;
    return true;
}

static bool read_view(struct reading *r, const json_t *v)
{
    const char *text = json_string_value(v);

    return (text && strcmp(text, "auto") == 0) ||
           wrong(r, FAULT_invalid_value, "recto.view", "view is auto");
}

static bool read_mode(struct reading *r, const json_t *v)
{
    const char *name = json_string_value(v), *phrase = NULL;

    if (name && strcmp(name, "free") == 0)
        name = "text";
    if (!name || recto_task_parse(name, &r->ask->options.task, &phrase) < 0)
        return wrong(r, FAULT_invalid_value, "recto.mode",
                     "mode is markdown, text, ocr, figure, describe or locate=PHRASE");
    if (phrase)
        r->ask->phrase = server_strdup(phrase);
    return true;
}

static bool read_whitelist(struct reading *r, const json_t *v)
{
    warn(r->ask, "vllm_xargs.whitelist_token_ids is ignored: the rule here exempts no tokens");
    return true;
}

struct member {
    const char *name;
    bool (*read)(struct reading *r, const json_t *v); /* NULL: known, harmless, without effect */
};

/* Every member through the table; unknown ones are refused by name. */
static bool read_members(struct reading *r, const json_t *object, const struct member *table,
                         const char *prefix)
{
    const char *name;
    const json_t *v;

    json_object_foreach((json_t *)object, name, v)
    {
        const struct member *m = table;

        while (m->name && strcmp(m->name, name) != 0)
            m++;
        if (!m->name) {
            struct text param = {0};
            text_fmt(&param, "%s%.100s", prefix, name);
            answer_fault(r->q, FAULT_unknown_option, param.p, "there is no member '%s'", param.p);
            text_reset(&param);
            return false;
        }
        if (m->read && !m->read(r, v))
            return false;
    }
    return true;
}

static bool read_recto(struct reading *r, const json_t *v)
{
    static const struct member table[] = {{"output", read_output},
                                          {"images", read_images},
                                          {"pages", read_pages},
                                          {"dpi", read_dpi},
                                          {"view", read_view},
                                          {"mode", read_mode},
                                          {"ngram_size", read_guard_n},
                                          {"ngram_window", read_guard_w},
                                          {0}};

    if (json_is_null(v))
        return true;
    return json_is_object(v) ? read_members(r, v, table, "recto.")
                             : wrong(r, FAULT_invalid_value, "recto", "recto must be an object");
}

static bool read_vllm(struct reading *r, const json_t *v)
{
    static const struct member table[] = {{"ngram_size", read_guard_n},
                                          {"window_size", read_guard_w},
                                          {"whitelist_token_ids", read_whitelist},
                                          {0}};

    return json_is_object(v)
               ? read_members(r, v, table, "vllm_xargs.")
               : wrong(r, FAULT_invalid_value, "vllm_xargs", "vllm_xargs must be an object");
}

/* ---- messages ------------------------------------------------------------------------------------------------------------ */
static bool add_text(struct reading *r, struct text *prompt, const json_t *v)
{
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return wrong(r, FAULT_invalid_value, "messages", "a part of type text needs a string text");
    if (prompt->n > 0)
        text_char(prompt, '\n');
    text_str(prompt, json_string_value(v));
    return prompt->n <= PROMPT_MAX || wrong(r, FAULT_context_length_exceeded, "messages",
                                            "the text is longer than 8000 bytes");
}

/* What the file is, by its first bytes. */
static const char *kind_of(const struct sieve *s, int file)
{
    char head[HEAD_BYTES];
    ssize_t n = pread(s->fd[file], head, sizeof head, 0);

    return n > 0 ? recto_kind(head, (size_t)n) : NULL;
}

static bool add_doc(struct reading *r, const char *url, const char *name, bool pdf_only)
{
    struct chat_ask *a = r->ask;
    int file = sieve_file(r->sieve, url);
    const char *kind = file >= 0 ? kind_of(r->sieve, file) : NULL;

    if (file < 0 && strncasecmp(url, "data:", 5) == 0)
        return wrong(r, FAULT_invalid_value, "messages", "a data: URL must be in base64");
    if (file < 0)
        return wrong(
            r, FAULT_url_fetch_disabled, "messages",
            "addresses are not fetched; send the picture itself as data:image/png;base64,...");
    if (!kind || (pdf_only && strcmp(kind, "PDF") != 0))
        return wrong(
            r, FAULT_unsupported_media_type, "messages",
            pdf_only
                ? "a part of type file must hold a PDF; pictures go into image_url"
                : "a picture is of no kind that can be read (PNG, JPEG, WebP, TIFF, GIF, BMP, PDF)");
    if (a->n_doc == CHAT_DOCS)
        return wrong(r, FAULT_too_many_pages, "messages",
                     "more than 32 pages in one call; POST /v1/jobs takes documents");
    a->doc[a->n_doc].file = file;
    snprintf(a->doc[a->n_doc].name, sizeof a->doc[0].name, "%.100s", name);
    a->n_doc++;
    return true;
}

static bool add_image(struct reading *r, const json_t *v)
{
    const json_t *url = json_is_object(v) ? json_object_get(v, "url") : v;
    char name[32];

    snprintf(name, sizeof name, "image %d", r->ask->n_doc + 1);
    return json_is_string(url) ? add_doc(r, json_string_value(url), name, false)
                               : wrong(r, FAULT_invalid_value, "messages", "image_url needs a url");
}

static bool add_file(struct reading *r, const json_t *v)
{
    const char *data = json_string_value(json_object_get(v, "file_data")),
               *name = json_string_value(json_object_get(v, "filename"));

    if (json_object_get(v, "file_id"))
        return wrong(r, FAULT_not_found, "messages", "there is no such file: send file_data");
    return data ? add_doc(r, data, name ? name : "file", true)
                : wrong(r, FAULT_invalid_value, "messages",
                        "file needs file_data: data:application/pdf;base64,...");
}

static bool read_part(struct reading *r, struct text *prompt, const json_t *part)
{
    const char *type = json_string_value(json_object_get(part, "type"));

    if (type && strcmp(type, "text") == 0)
        return add_text(r, prompt, json_object_get(part, "text"));
    if (type && strcmp(type, "image_url") == 0)
        return add_image(r, json_object_get(part, "image_url"));
    if (type && strcmp(type, "file") == 0)
        return add_file(r, json_object_get(part, "file"));
    return wrong(r, FAULT_invalid_value, "messages", "a part is of type text, image_url or file");
}

static void set_prompt(struct chat_ask *a, const struct text *prompt)
{
    const char *text = prompt->n ? prompt->p : "";

    if (strncmp(text, "<image>\n", 8) == 0)
        text += 8;
    for (size_t i = 0; i < sizeof known_prompts / sizeof *known_prompts; i++)
        if (strcmp(text, known_prompts[i].prompt) == 0) {
            a->options.task = known_prompts[i].task;
            return;
        }
    if (*text)
        a->prompt = server_strdup(text);
}

static bool read_content(struct reading *r, const json_t *content)
{
    struct text prompt = {0};
    const json_t *part;
    bool is_fine = true;
    size_t i;

    if (json_is_string(content))
        is_fine = add_text(r, &prompt, content);
    else if (!json_is_array(content))
        is_fine = wrong(r, FAULT_invalid_value, "messages",
                        "content must be a string or a list of parts");
    else
        json_array_foreach(content, i, part)
        {
            is_fine = read_part(r, &prompt, part);
            if (!is_fine)
                break;
        }
    if (is_fine)
        set_prompt(r->ask, &prompt);
    text_reset(&prompt);
    return is_fine;
}

static bool read_messages(struct reading *r, const json_t *v)
{
    const json_t *m, *last = NULL;
    size_t i;

    json_array_foreach(v, i, m)
    {
        const char *role = json_string_value(json_object_get(m, "role"));
        if (role && strcmp(role, "user") == 0)
            last = m;
    }
    if (!last)
        return wrong(r, FAULT_invalid_value, "messages", "there is no message with the role user");
    if (json_array_size(v) > 1)
        warn(r->ask, "only the last message of the user counts; the others were ignored");
    if (!read_content(r, json_object_get(last, "content")))
        return false;
    return r->ask->n_doc > 0 ||
           wrong(r, FAULT_invalid_value, "messages",
                 "the message holds no picture: add a part of type image_url or file");
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------- */
static const struct member call_members[] = {{"model", read_model},
                                             {"messages", read_messages},
                                             {"stream", read_stream},
                                             {"stream_options", read_stream_options},
                                             {"max_tokens", read_max_tokens},
                                             {"max_completion_tokens", read_max_tokens},
                                             {"temperature", read_temperature},
                                             {"top_p", read_top_p},
                                             {"seed", read_seed},
                                             {"stop", read_stop},
                                             {"n", read_n},
                                             {"tools", read_tools},
                                             {"functions", read_tools},
                                             {"audio", read_audio},
                                             {"logprobs", read_logprobs},
                                             {"top_logprobs", read_logprobs},
                                             {"response_format", read_response_format},
                                             {"recto", read_recto},
                                             {"vllm_xargs", read_vllm},
                                             {"user", NULL},
                                             {"metadata", NULL},
                                             {"store", NULL},
                                             {"service_tier", NULL},
                                             {"parallel_tool_calls", NULL},
                                             {"tool_choice", NULL},
                                             {"frequency_penalty", NULL},
                                             {"presence_penalty", NULL},
                                             {"safety_identifier", NULL},
                                             {"prompt_cache_key", NULL},
                                             {"reasoning_effort", NULL},
                                             {"verbosity", NULL},
                                             {0}};

static bool read_timeout(struct reading *r)
{
    const char *text = request_header(r->q, "X-Recto-Timeout-Ms");
    long long ms = r->server->set.request_timeout_s * 1000LL;
    char *end = NULL;

    if (text) {
        long long asked = strtoll(text, &end, 10);
        if (end == text || *end || asked < 1)
            return wrong(r, FAULT_invalid_value, "X-Recto-Timeout-Ms", "expected milliseconds");
        ms = asked < ms ? asked : ms;
    }
    r->ask->options.deadline_ms = (int)ms;
    return true;
}

/* Of the name of a key, so that places are shared fairly over keys. */
static uint64_t caller_of(const char *name)
{
    uint64_t h = 1469598103934665603u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

bool chat_ask_read(struct server *s, struct request *q, struct chat_ask *a)
{
    struct body *b = &call_of(q)->body;
    struct reading r = {s, q, a, &b->sieve};
    json_t *v = body_object(q, b->sieve.text.p, b->sieve.text.n);
    bool is_fine = v != NULL;

    *a = (struct chat_ask){.warnings = json_array()};
    recto_options_init(&a->options);
    a->options.priority = RECTO_CLASS_INTERACTIVE;
    a->options.caller = caller_of(call_of(q)->key.name);
    if (is_fine && !json_object_get(v, "model"))
        is_fine = read_model(&r, NULL);
    if (is_fine && !json_object_get(v, "messages"))
        is_fine = read_messages(&r, NULL);
    is_fine = is_fine && read_members(&r, v, call_members, "") && read_timeout(&r);
    json_decref(v);
    a->options.prompt = a->prompt;
    a->options.phrase = a->phrase;
    a->options.stream = a->stream;
    if (a->stream)
        a->options.retries = 0;
    return is_fine;
}

void chat_ask_reset(struct chat_ask *a)
{
    free(a->prompt);
    free(a->phrase);
    free(a->pages);
    for (int i = 0; i < a->n_stop; i++)
        free(a->stop[i]);
    json_decref(a->warnings);
    *a = (struct chat_ask){0};
}
