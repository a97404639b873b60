/* One reading: the model over a page, or a part of it, with one question.
 *
 * A page worker prepares it (views, prompt, request), the engine runs it, and reading_take makes blocks of what came, with
 * their boxes on the page as displayed. */
#ifndef RECTO_READING_H
#define RECTO_READING_H

#include "engine/request.h"
#include "ladder.h"
#include "page/frame.h"
#include "page/view.h"
#include "prompt/template.h"
#include "result/detok.h"
#include "script.h"

struct job;

struct reading_ask {
    enum rung rung;
    int attempt; /* 1, 2, ... of the page; 0: a probe */
    int half;    /* 1, 2; 0: the whole page */
    enum recto_task task;
    const char *phrase, *prompt; /* as in recto_options; borrowed */
    int max_new;                 /* 0: what the context leaves */
    int guard_n, guard_w;
    bool frees_tables; /* no ban between <table> and </table> */
    bool is_retry;     /* comes behind all first readings */
};

/* Is the text inside a table? Follows its bytes. */
struct table_watch {
    char last[8];
    bool is_in;
};

struct reading {
    struct job *job;
    struct reading_ask ask;
    struct page_frame frame;
    struct page_views views;
    struct kv_key image;
    struct prompt prompt;
    float *logp;
    struct script_stream script;
    struct detok detok;
    struct buf text; /* not yet sent (opt.stream) */
    struct table_watch table;
    int n_ref; /* blocks begun */
    int *
        forced_in; /* [n_forced] their number whenever the guard forbade the best id inside a table */
    int n_forced;
    struct request req;
};

/* Views of g->frame of the page as displayed, which stays the caller's. RECTO_ENOMEM. */
int reading_cut(struct reading *g, const struct recto_image *page);
/* Prompt and request for g->ask over g's views.  RECTO_EUSAGE, see prompt_build; RECTO_EDEVICE: nothing is scripted for it. */
int reading_build(struct reading *g);
/* What came of it, when req.rc is 0: raw, ids, logp, blocks and counts into *out, which is empty. */
void reading_take(struct reading *g, struct recto_page *out);
/* Free all but the views, which the next reading may take over. */
void reading_forget(struct reading *g);
void reading_reset(struct reading *g);

#endif
