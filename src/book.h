/* A submitted document, and the list of those that still have pages to give.
 *
 * Page workers take pages from the list one at a time, the earliest document first; whoever comes to a document that is not
 * open yet opens it, while others go on to the next.  So several workers draw one long PDF together, and nothing is drawn
 * before the engine can soon read it (a worker waits with its one prepared page until there is room).
 *
 * A book lives until its last page has ended; pages hold a pointer to it. */
#ifndef RECTO_BOOK_H
#define RECTO_BOOK_H

#include "page/document.h"

#include <pthread.h>
#include <stdatomic.h>

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

struct book_list {
    pthread_mutex_t lock;
    pthread_cond_t has_page;
    struct book *first, *last; /* with pages to give, oldest first */
    struct book *live;
    int n_new, max_new;
    uint64_t last_id;
    bool is_stopped;
};

void book_list_init(struct book_list *l, int max_new);
void book_list_reset(struct book_list *l); /* with whatever still lives in it */

/* Copy the input and put it on the list; *id names it. RECTO_EAGAIN: max_new wait unopened, or RECTO_ECANCELED after stop. */
int book_add(struct book_list *l, const struct recto_input *in, const struct recto_options *o,
             uint64_t *id);
/* No page of it begins any more; `begun_too`: those that have begun are to end as well. */
void book_cancel(struct book_list *l, uint64_t id, bool begun_too);

/* For a page worker: wait for something to do.  A book in state BOOK_OPENING is to be opened, then handed to book_opened;
 * else b->page[*index] is to be read.  NULL after book_list_stop. */
struct book *book_take(struct book_list *l, int *index);
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
