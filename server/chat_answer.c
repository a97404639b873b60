/* The answer to a chat call: one object when all pages are done, or chunks as their text comes. */
#include "chat.h"

#include "clock.h"
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_CAP = 2 << 20 };

static const char model_id[] = "deepseek-ocr-2";

/* ---- text ------------------------------------------------------------------------------------------------------------ */
static void strip_into(void *ctx, const char *text, size_t n)
{
    text_add(ctx, text, n);
}

/* What the client sees of a finished page. */
static void add_page_text(const struct chat *c, const struct recto_page *page, struct text *out)
{
    char *md = NULL;
    size_t n = 0;

    if (c->ask.output == CHAT_RAW) {
        text_add(out, page->raw, page->raw ? page->n_raw : 0);
    } else if (recto_write("md", &page, 1, &md, &n) == 0) {
        while (n > 0 && md[n - 1] == '\n')
            n--;
        text_add(out, md, n);
        recto_free(md);
    }
}

/* Cut at the first stop sequence; true if there was one. */
static bool cut_at_stop(const struct chat_ask *a, struct text *t)
{
    size_t least = t->n;

    for (int i = 0; i < a->n_stop; i++) {
        char *hit = t->n ? memmem(t->p, t->n, a->stop[i], strlen(a->stop[i])) : NULL;
        if (hit && (size_t)(hit - t->p) < least)
            least = (size_t)(hit - t->p);
    }
    if (least == t->n)
        return false;
    t->n = least;
    t->p[least] = 0;
    return true;
}

/* ---- facts ----------------------------------------------------------------------------------------------------------- */
struct sums {
    int64_t prompt, visual, output;
    struct recto_timing timing;
    bool is_cut;
    int n_page, n_error;
};

static void add_timing(struct recto_timing *sum, const struct recto_timing *t)
{
    sum->queue += t->queue;
    sum->decode_image += t->decode_image;
    sum->preprocess += t->preprocess;
    sum->vision += t->vision;
    sum->prefill += t->prefill;
    sum->decode += t->decode;
    sum->post += t->post;
}

static struct sums sums_of(const struct chat *c)
{
    struct sums s = {0};

    for (int i = 0; i < c->ask.n_doc; i++)
        for (int k = 0; k < c->part[i].n_sheet; k++) {
            const struct recto_page *p = c->part[i].sheet[k].page;
            if (!p)
                continue;
            s.n_page++;
            s.n_error += p->status == RECTO_PAGE_ERROR;
            s.prompt += p->n_prompt;
            s.visual += p->n_visual;
            s.output += p->n_token;
            s.is_cut |= p->status == RECTO_PAGE_LOOP || p->status == RECTO_PAGE_LENGTH;
            add_timing(&s.timing, &p->timing);
        }
    return s;
}

static json_t *usage_json(const struct sums *s)
{
    return json_pack("{s:I, s:I, s:I, s:{s:i, s:I}}", "prompt_tokens", (json_int_t)s->prompt,
                     "completion_tokens", (json_int_t)s->output, "total_tokens",
                     (json_int_t)(s->prompt + s->output), "prompt_tokens_details", "cached_tokens",
                     0, "image_tokens", (json_int_t)s->visual);
}

static json_t *page_json(const struct recto_page *p)
{
    json_t *v = json_pack("{s:i, s:s, s:i, s:f}", "page", p->number, "status",
                          recto_status_name(p->status), "attempt", p->n_attempt, "confidence",
                          p->conf);

    if (p->status == RECTO_PAGE_ERROR)
        json_object_set_new(v, "error", json_string(p->error_text ? p->error_text : ""));
    for (int i = 0; i < p->n_warning; i++) {
        if (i == 0)
            json_object_set_new(v, "warnings", json_array());
        json_array_append_new(json_object_get(v, "warnings"), json_string(p->warning[i]));
    }
    return v;
}

static json_t *timings_json(const struct chat *c, const struct recto_timing *t)
{
    double total = (double)(clock_mono_ns() - c->start_ns) / 1e6;

    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "queue", t->queue, "preprocess",
                     t->decode_image + t->preprocess, "vision", t->vision, "prefill", t->prefill,
                     "decode", t->decode, "total", total);
}

/* The member "recto" of an answer. */
static json_t *recto_json(const struct chat *c, const struct sums *s)
{
    json_t *pages = json_array(), *layout = json_array(), *v;

    for (int i = 0; i < c->ask.n_doc; i++)
        for (int k = 0; k < c->part[i].n_sheet; k++) {
            const struct recto_page *p = c->part[i].sheet[k].page;
            char *text = NULL;
            size_t n = 0;
            if (!p)
                continue;
            json_array_append_new(pages, page_json(p));
            if (c->ask.output == CHAT_LAYOUT && recto_page_to_json(p, &text, &n) == 0)
                json_array_append_new(layout, json_loadb(text, n, 0, NULL));
            recto_free(text);
        }
    v = json_pack("{s:o, s:O, s:o}", "pages", pages, "warnings", c->ask.warnings, "timings_ms",
                  timings_json(c, &s->timing));
    if (c->ask.output == CHAT_LAYOUT)
        json_object_set(v, "layout", layout);
    json_decref(layout);
    return v;
}

static const char *reason_of(const struct chat *c, const struct sums *s)
{
    return s->is_cut && !c->is_stopped ? "length" : "stop";
}

/* ---- one object -------------------------------------------------------------------------------------------------------- */
static void whole_text(struct chat *c, struct text *out)
{
    for (int i = 0; i < c->ask.n_doc; i++)
        for (int k = 0; k < c->part[i].n_sheet; k++) {
            if (i > 0 || k > 0)
                text_str(out, CHAT_PAGE_SPLIT);
            if (c->part[i].sheet[k].page)
                add_page_text(c, c->part[i].sheet[k].page, out);
        }
    c->is_stopped = cut_at_stop(&c->ask, out);
}

static void answer_whole(struct chat *c)
{
    struct sums s = sums_of(c);
    struct text content = {0};

    whole_text(c, &content);
    answer_json(c->q, 200,
                json_pack("{s:s, s:s, s:I, s:s, s:[{s:i, s:{s:s, s:s%}, s:s, s:n}], s:o, s:o}",
                          "id", c->id, "object", "chat.completion", "created",
                          (json_int_t)c->created_s, "model", model_id, "choices", "index", 0,
                          "message", "role", "assistant", "content", content.p ? content.p : "",
                          content.n, "finish_reason", reason_of(c, &s), "logprobs", "usage",
                          usage_json(&s), "recto", recto_json(c, &s)));
    text_reset(&content);
}

static void answer_failure(struct chat *c)
{
    if (c->retry_ms > 0)
        answer_retry(c->q, c->retry_ms);
    answer_fault(c->q, c->fault, NULL, "%s", c->fault_text);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------ */
static int append(const char *bytes, size_t n, void *ctx)
{
    text_add(ctx, bytes, n);
    return 0;
}

static void send_event(struct chat *c, json_t *v)
{
    struct text t = {0};

    text_str(&t, "data: ");
    json_dump_callback(v, append, &t, JSON_COMPACT);
    json_decref(v);
    text_str(&t, "\n\n");
    stream_write(c->stream, t.p, t.n);
    text_reset(&t);
}

static void send_chunk(struct chat *c, json_t *delta, const char *reason, json_t *more)
{
    json_t *v = json_pack("{s:s, s:s, s:I, s:s, s:[{s:i, s:o, s:s?, s:n}]}", "id", c->id, "object",
                          "chat.completion.chunk", "created", (json_int_t)c->created_s, "model",
                          model_id, "choices", "index", 0, "delta", delta, "finish_reason", reason,
                          "logprobs");

    if (more)
        json_object_set_new(v, "recto", more);
    send_event(c, v);
}

/* The head of the answer goes out; from here on a fault is an event. */
static void begin_stream(struct chat *c)
{
    struct request *q = c->q;

    if (c->stream)
        return;
    c->stream = stream_open(STREAM_CAP);
    stream_on_gone(c->stream, chat_gone, c);
    pinger_add(c->server->pinger, c->stream);
    answer_stream(q, "text/event-stream", c->stream);
    c->q = NULL;
    request_finish(q);
    send_chunk(c, json_pack("{s:s, s:s}", "role", "assistant", "content", ""), NULL, NULL);
}

/* How much of t may go: not what may begin a stop sequence, nor half a character. */
static size_t ready_bytes(const struct chat_ask *a, const struct text *t, bool is_end)
{
    size_t hold = 0, n = t->n;

    for (int i = 0; i < a->n_stop; i++) {
        size_t len = strlen(a->stop[i]) - 1;
        hold = len > hold ? len : hold;
    }
    n = is_end ? n : n > hold ? n - hold : 0;
    while (n > 0 && n < t->n && ((unsigned char)t->p[n] & 0xC0) == 0x80)
        n--;
    return n;
}

static void flush_tail(struct chat *c, bool is_end)
{
    bool hit = cut_at_stop(&c->ask, &c->tail);
    size_t n = ready_bytes(&c->ask, &c->tail, is_end || hit);

    if (n > 0) {
        begin_stream(c);
        send_chunk(c, json_pack("{s:s%}", "content", c->tail.p, n), NULL, NULL);
        text_drop(&c->tail, n);
    }
    if (hit) {
        c->is_stopped = true;
        for (int i = 0; i < c->ask.n_doc; i++) /* nothing more is wanted */
            if (c->part[i].request)
                reader_cancel(c->server->reader, c->part[i].request);
    }
}

/* The new text of one page, without its markers unless they are wanted. */
static void take_text(struct chat *c, struct chat_sheet *s)
{
    if (c->ask.output == CHAT_RAW)
        text_add(&c->tail, s->text.p, s->text.n);
    else if (s->text.n > 0)
        strip_push(&s->strip, s->text.p, s->text.n, strip_into, &c->tail);
    text_clear(&s->text);
    if (s->is_done && c->ask.output != CHAT_RAW)
        strip_end(&s->strip, strip_into, &c->tail);
}

/* The page whose turn it is; NULL: it has not begun, or all are through. */
static struct chat_sheet *current(struct chat *c)
{
    struct chat_part *p = &c->part[c->at_part];

    return c->at_part < c->ask.n_doc && c->at_sheet < p->n_sheet ? &p->sheet[c->at_sheet] : NULL;
}

static void advance(struct chat *c)
{
    if (++c->at_sheet >= c->part[c->at_part].n_sheet) {
        c->at_part++;
        c->at_sheet = 0;
    }
    if (c->at_part < c->ask.n_doc)
        text_str(&c->tail, CHAT_PAGE_SPLIT);
}

void chat_send(struct chat *c)
{
    struct chat_sheet *s;

    if (!c->ask.stream || c->fault != FAULT_NONE || c->is_stopped)
        return;
    while ((s = current(c))) {
        take_text(c, s);
        if (!s->is_done)
            break;
        advance(c);
    }
    flush_tail(c, false);
}

static void end_stream(struct chat *c)
{
    struct sums s = sums_of(c);

    if (c->fault != FAULT_NONE) {
        send_event(c, fault_json(c->fault, NULL, c->fault_text, c->request_id));
    } else {
        if (!c->is_stopped)
            flush_tail(c, true);
        send_chunk(c, json_object(), reason_of(c, &s), recto_json(c, &s));
        if (c->ask.include_usage)
            send_event(c, json_pack("{s:s, s:s, s:I, s:s, s:[], s:o}", "id", c->id, "object",
                                    "chat.completion.chunk", "created", (json_int_t)c->created_s,
                                    "model", model_id, "choices", "usage", usage_json(&s)));
        stream_write(c->stream, "data: [DONE]\n\n", 14);
    }
    pinger_remove(c->server->pinger, c->stream);
    stream_release(c->stream);
    c->stream = NULL;
}

/* ---- the end ------------------------------------------------------------------------------------------------------------- */
static void count(struct chat *c)
{
    for (int i = 0; i < c->ask.n_doc; i++)
        for (int k = 0; k < c->part[i].n_sheet; k++)
            if (c->part[i].sheet[k].page)
                metrics_page(c->server->metrics, FROM_CHAT, c->part[i].sheet[k].page);
}

void chat_finish(struct chat *c)
{
    struct request *q;

    count(c);
    if (c->ask.stream && c->fault == FAULT_NONE)
        begin_stream(c);
    if (c->stream) {
        end_stream(c);
        return;
    }
    q = c->q;
    if (c->fault != FAULT_NONE)
        answer_failure(c);
    else
        answer_whole(c);
    request_finish(q);
}
