/* The walk of a page, room by room: pixels, views, prompt, engine, text, blocks.
 *
 * A job is one submitted page. It goes submit -> page queue -> a page worker (job_prepare) -> the engine -> job_done, and
 * belongs to whoever holds it; only its request's is_cancelled is shared. */
#ifndef RECTO_WALK_H
#define RECTO_WALK_H

#include "engine/engine.h"
#include "event.h"
#include "page/source.h"
#include "page/view.h"
#include "prompt/template.h"
#include "result/detok.h"
#include "result/parse.h"

#define PAGE_WORKERS_MAX 16

struct job {
    struct recto *recto;
    uint64_t id;
    char *name, *path; /* path NULL: the bytes at data */
    unsigned char *data;
    size_t len;
    struct recto_options opt; /* its strings are owned */
    struct recto_page *page;
    struct page_views views;
    struct prompt prompt;
    struct detok detok;
    struct buf text; /* not yet sent (opt.stream) */
    float *logp;
    struct kv_key image;
    struct request req;
    int64_t start_ns;
    struct job *prev, *next; /* list of live jobs, recto.lock */
    struct job *next_held;
};

struct recto {
    struct recto_settings set; /* strings owned */
    char *model_dir;
    bool is_default_model;
    struct engine engine;
    struct tokenizer tokenizer;
    struct parse_markers marker;
    int32_t exempt[2]; /* <td>, </td> */
    int32_t image_id;
    struct queue pages;
    pthread_t worker[PAGE_WORKERS_MAX];
    int n_worker;
    struct event_list events;
    pthread_mutex_t lock; /* live, last_id */
    struct job *live;
    bool is_held;
    struct job *held, *last_held; /* prepared, in order, by next_held */
    uint64_t last_id;
};

/* On a page worker: decode, cut views, build the prompt, hand over to the engine; a failure ends the page. */
void job_run(struct job *j, struct page_source *source);
/* Hand a prepared page to the engine, or end it. */
void job_send(struct job *j);
/* End a page that never reached the engine: code is RECTO_ECANCELED or a failure with its sentence. */
void job_fail(struct job *j, int code);
void job_free(struct job *j); /* also takes it off the list of live jobs */

#endif
