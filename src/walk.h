/* The walk of a page, room by room: pixels, views, prompt, engine, text, blocks.
 *
 * A job is one page of a submitted document (book.h).  It goes page worker (job_run) -> the engine -> course_stage_done, which
 * ends it or sends it to the workers for another reading (course.h), and belongs to whoever holds it; only its requests'
 * is_cancelled is shared. */
#ifndef RECTO_WALK_H
#define RECTO_WALK_H

#include "book.h"
#include "devices.h"
#include "engine/fleet.h"
#include "event.h"
#include "page/inkcheck.h"
#include "page/source.h"
#include "reading.h"
#include "result/parse.h"

#define PAGE_WORKERS_MAX 16

#define JOB_READINGS 4
#define JOB_ATTEMPTS (2 + RECTO_RETRIES_MAX)

struct job {
    struct recto *recto;
    struct book *book; /* its document, options and name */
    int number, index; /* its page number, and which of the book's pages it is */
    struct recto_page *page;
    struct ink ink;
    bool is_blank; /* by its ink */
    int turn;      /* degrees clockwise, of the readings from now on */
    bool is_probed;

    /* ---- the stage that is prepared, or in the engine (course.h) ---- */
    enum rung rung;
    struct reading reading[JOB_READINGS];
    int n_reading;
    atomic_int n_open; /* not yet ended */
    bool has_views;    /* reading[0] has its views already */
    struct redo redo;

    /* ---- the readings so far ---- */
    struct outcome out[JOB_ATTEMPTS];
    struct recto_page *got[JOB_ATTEMPTS]; /* NULL: it failed */
    int turn_of[JOB_ATTEMPTS];
    int n_out, n_spent; /* n_spent: new ids */
    int failure;        /* of the first reading, with its sentence */
    char failure_text[ERR_TEXT_MAX];

    int64_t start_ns;
    struct job *prev, *next; /* list of live jobs, recto.lock */
    struct job *next_held;
};

struct recto {
    struct device_plan plan;
    struct recto_settings set; /* strings owned */
    char *model_dir;
    bool is_default_model;
    struct fleet fleet;
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

/* All engines have the same. */
static inline const struct model *model_of(const struct recto *r)
{
    return &r->fleet.engine[0].model;
}

/* The page that b->page[index] names. */
struct job *job_new(struct recto *r, struct book *b, int index);
/* On a page worker: draw it if need be, prepare its next stage, hand over to the engine; a failure ends the stage. */
void job_run(struct job *j, struct page_source *source);
/* Hand the prepared stage to the engine. */
void job_send(struct job *j);
/* Nothing more comes of a document: tell so, free it. */
void book_end(struct recto *r, struct book *b);
/* The document could not be opened: it ends with one page, number 0, that says why. */
void book_fail(struct recto *r, struct book *b, int code);
/* The page goes out as it is; with the last of its document nothing more comes of the request. */
void job_end(struct job *j);
/* End a page with a failure: code is RECTO_ECANCELED or one with its sentence. */
void job_fail(struct job *j, int code);
void page_set_error(struct recto_page *p, int code, const char *text);
void job_free(struct job *j); /* also takes it off the list of live jobs */
/* The job that a redo is part of. */
struct job *job_of_redo(struct redo *r);
/* on_done of a reading's request: the last of a stage ends it. */
void reading_done(struct request *q);

#endif
