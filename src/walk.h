/* The walk of a page, room by room: pixels, views, prompt, engine, text, blocks.
 *
 * A job is one page of a submitted document (book.h).  It goes page worker (job_run) -> the engine -> on_done, and belongs to
 * whoever holds it; only its request's is_cancelled is shared. */
#ifndef RECTO_WALK_H
#define RECTO_WALK_H

#include "book.h"
#include "engine/engine.h"
#include "event.h"
#include "page/inkcheck.h"
#include "page/source.h"
#include "page/view.h"
#include "prompt/template.h"
#include "result/detok.h"
#include "result/parse.h"
#include "script.h"

#define PAGE_WORKERS_MAX 16

struct job {
    struct recto *recto;
    struct book *book; /* its document, options and name */
    int number, index; /* its page number, and which of the book's pages it is */
    struct recto_page *page;
    struct ink ink;
    bool is_blank; /* by its ink */
    struct page_views views;
    struct prompt prompt;
    struct detok detok;
    struct buf text; /* not yet sent (opt.stream) */
    float *logp;
    struct kv_key image;
    struct request req;
    struct script_stream script;
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
    struct script script; /* of device "script:FILE" */
    struct parse_markers marker;
    int32_t exempt[2]; /* <td>, </td> */
    int32_t image_id;
    struct book_list books;
    pthread_t worker[PAGE_WORKERS_MAX];
    int n_worker;
    struct event_list events;
    pthread_mutex_t lock; /* live, held */
    struct job *live;
    bool is_held;
    struct job *held, *last_held; /* prepared, in order, by next_held */
};

/* A page of b, on a page worker: draw, cut views, build the prompt, hand over to the engine; a failure ends the page. */
struct job *job_new(struct recto *r, struct book *b, int index);
void job_run(struct job *j, struct page_source *source);
/* The document could not be opened: it ends with one page, number 0, that says why. */
/* Nothing more comes of a document: tell so, free it. */
void book_end(struct recto *r, struct book *b);
void book_fail(struct recto *r, struct book *b, int code);
/* Hand a prepared page to the engine, or end it. */
void job_send(struct job *j);
/* End a page that never reached the engine: code is RECTO_ECANCELED or a failure with its sentence. */
void job_fail(struct job *j, int code);
void job_free(struct job *j); /* also takes it off the list of live jobs */

#endif
