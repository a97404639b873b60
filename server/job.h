/* The states of pages and jobs, and how they change. No HTTP, no SQL, no threads: integers in, integers out.
 *
 *     page   queued -> rendering -> reading -> ended      and from each of the first three to ended at once
 *            rendering, reading -> queued                  given back: the server stops, or died
 *            ended -> queued                               a retry, attempt + 1
 *     job    queued -> running -> done | failed | cancelled; from these to running again by a retry */
#ifndef RECTO_SERVER_JOB_H
#define RECTO_SERVER_JOB_H

#include "recto.h"

enum page_state { PAGE_QUEUED, PAGE_RENDERING, PAGE_READING, PAGE_ENDED, PAGE_STATES };
enum job_state { JOB_QUEUED, JOB_RUNNING, JOB_DONE, JOB_FAILED, JOB_CANCELLED, JOB_STATES };

const char *page_state_name(enum page_state s); /* "queued", ... */
const char *job_state_name(enum job_state s);
/* The state of that name, or -1. */
int job_state_of_name(const char *name);

/* What may happen to a page. */
enum page_step {
    STEP_CLAIM,  /* handed to the page workers */
    STEP_START,  /* drawn; the engine has it */
    STEP_END,    /* it has a status now */
    STEP_CANCEL, /* ended as cancelled while it was queued */
    STEP_BACK,   /* given back */
    STEP_RETRY,
    PAGE_STEPS
};
/* The state after a step, or -1: that cannot happen. */
int page_step(enum page_state from, enum page_step step);

/* How many of a job's pages are in each state, those that ended by status. */
enum { JOB_COUNTS = PAGE_ENDED + RECTO_PAGE_CANCELLED + 1 };
/* Where a page in that state is counted; status matters when it has ended. */
int job_count_of(enum page_state s, enum recto_status status);
const char *job_count_name(int i); /* "queued", "rendering", "reading", "ok", ... */

/* What the pages make of their job. begun: a page of it has ever been handed out. is_cancelled: its owner, or the deadline,
 * ended it. With pages left it is queued or running; else cancelled if it was, or if nothing but cancelled pages is there;
 * failed if no page is ok, suspect, loop, length, blank or skipped; else done. */
enum job_state job_state_of(const int count[JOB_COUNTS], bool has_begun, bool is_cancelled);
/* Pages that somebody should look at: suspect, loop, length, error. */
int job_attention(const int count[JOB_COUNTS]);
int job_left(const int count[JOB_COUNTS]); /* not ended */
int job_total(const int count[JOB_COUNTS]);

/* Is a new reading better than the one that is there? By status (ok, blank; suspect; text up to a fault; none), then by
 * confidence, for loop and length by length of text. */
struct reading_rank {
    enum recto_status status;
    double conf;
    size_t n_text;
};
bool reading_is_better(const struct reading_rank *is, const struct reading_rank *was);

#endif
