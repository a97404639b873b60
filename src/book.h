/* A submitted document, and the list of those that still have pages to give.
 *
 * Page workers take pages from the list one at a time, by class (8 : 3 : 1 while all wait, so that the picture of a caller who
 * waits does not stand behind all the pages that were there before), of a class the earliest document first; whoever comes to a
 * document that is not open yet opens it, while others go on to the next.  So several workers draw one long PDF together, and
 * nothing is drawn before the engine can soon read it (a worker waits with its one prepared page until there is room).
 *
 * A book lives until its last page has ended; pages hold a pointer to it. */
#ifndef RECTO_BOOK_H
#define RECTO_BOOK_H

#include "page/document.h"

#include <pthread.h>
#include <stdatomic.h>

struct book;

/* A page that goes back to the workers for its next stage (course.h); part of its job. */
struct redo {
    struct redo *next;
    struct book *book;
    bool is_first; /* it has not been read yet: goes before pages that nobody drew */
    int n_reading; /* requests that the stage will be */
    bool is_out;   /* a retry, taken and not done */
};

struct book {
    uint64_t id;
    struct recto_input
        in; /* strings and bytes owned; bytes are given back once the document is open */
    struct recto_options opt; /* strings owned */
    int64_t start_ns;
    atomic_bool is_cancelled,
        is_stopped; /* book_cancel: with and without the pages that have begun */

    struct page_doc doc; /* open from is_open on, then only read */
    int *page, n_page;   /* numbers to read, in this order */
    bool is_past;        /* the range names pages beyond the last */

    /* ---- under the list's lock ---- */
    enum { BOOK_NEW, BOOK_OPENING, BOOK_OPEN } state;
    int n_given, n_ended;
    bool is_listed;
    struct book *next_listed;
    struct book *prev, *next; /* all that live */
};

enum { BOOK_CLASSES = RECTO_CLASS_BATCH + 1 };

struct book_list {
    pthread_mutex_t lock;
    pthread_cond_t has_page;
    struct book *first, *last; /* with pages to give, oldest first */
    struct book *live;
    int64_t pass[BOOK_CLASSES], pass_now; /* the class with the least is next; of the last taken */
    struct redo *redo, *last_redo;
    int n_out,
        max_out; /* requests of retries that are prepared or in the engine, and their limit */
    int n_new, max_new;
    uint64_t last_id;
    bool is_stopped;
};

void book_list_init(struct book_list *l, int max_new, int max_out);
void book_list_reset(struct book_list *l); /* with whatever still lives in it */

/* Copy the input and put it on the list; *id names it. RECTO_EAGAIN: max_new wait unopened, or RECTO_ECANCELED after stop. */
int book_add(struct book_list *l, const struct recto_input *in, const struct recto_options *o,
             uint64_t *id);
/* No page of it begins any more; `begun_too`: those that have begun are to end as well. */
void book_cancel(struct book_list *l, uint64_t id, bool begun_too);

/* What a page worker is to do next: redo != NULL: the next stage of that page; else, if book is in state BOOK_OPENING, open it,
 * then call book_opened; else read book->page[index]. */
struct book_task {
    struct book *book;
    int index;
    struct redo *redo;
};
/* Wait for something to do; false after book_list_stop.  Retries come when there is nothing else to do, so that they delay no
 * page's first reading, and only while less than max_out of their requests are under way. */
bool book_take(struct book_list *l, struct book_task *t);
/* Any thread. r belongs to the list until it is taken. */
void book_put_redo(struct book_list *l, struct redo *r);
/* The stage has ended; no effect on what was no retry. */
void book_redo_done(struct book_list *l, struct redo *r);
/* After book_list_stop: one of those left; NULL: none. */
struct redo *book_left_redo(struct book_list *l);
/* Open b's document and select its pages; a failure (RECTO_*, with its sentence) is also handed to book_opened. */
int book_open(struct book *b, struct page_source *s);
/* rc < 0: it gives no pages. */
void book_opened(struct book_list *l, struct book *b, int rc);
/* A page has ended; true when it was the last of its book, which is then the caller's: book_free. */
bool book_page_ended(struct book_list *l, struct book *b);
void book_free(struct book_list *l, struct book *b);
/* Wake the workers; they get no more pages. Every book counts as cancelled. */
void book_list_stop(struct book_list *l);

#endif
