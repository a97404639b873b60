#include "book.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/range.h"
#include "settings.h"

#include <stdlib.h>

void book_list_init(struct book_list *l, int max_new, int max_out)
{
    *l = (struct book_list){.max_new = max_new, .max_out = max_out};
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->has_page, NULL);
}

void book_list_reset(struct book_list *l)
{
    while (l->live)
        book_free(l, l->live);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->has_page);
}

/* ---- a book ---------------------------------------------------------------------------------------------------------- */

static char *dup_or_null(const char *s)
{
    return s ? mem_strdup(s) : NULL;
}

static struct book *book_new(const struct recto_input *in, const struct recto_options *o)
{
    struct book *b = mem_zero(1, sizeof *b);

    b->start_ns = clock_ns();
    b->in = *in;
    b->in.name = mem_strdup(in->name ? in->name : in->path ? in->path : "bytes");
    b->in.path = dup_or_null(in->path);
    b->in.pages = dup_or_null(in->pages);
    b->in.frames = dup_or_null(in->frames);
    b->in.password = dup_or_null(in->password);
    b->in.data = NULL;
    b->in.skip = NULL;
    if (in->n_skip > 0) {
        bool *copy = mem_alloc((size_t)in->n_skip);

        memcpy(copy, in->skip, (size_t)in->n_skip);
        b->in.skip = copy;
    }
    if (!in->path) {
        void *copy = mem_alloc(in->len);

        memcpy(copy, in->data, in->len);
        b->in.data = copy;
    }
    b->opt = *o;
    recto_options_imitate(&b->opt);
    b->opt.phrase = dup_or_null(o->phrase);
    b->opt.prompt = dup_or_null(o->prompt);
    b->doc.pdf.fd = -1;
    return b;
}

static void forget_input(struct book *b)
{
    if (b->in.password)
        explicit_bzero((char *)b->in.password, strlen(b->in.password));
    free((char *)b->in.password);
    free((void *)b->in.data);
    b->in.password = NULL;
    b->in.data = NULL;
}

static void destroy(struct book *b)
{
    forget_input(b);
    page_doc_close(&b->doc);
    free((char *)b->in.name);
    free((char *)b->in.path);
    free((char *)b->in.pages);
    free((char *)b->in.frames);
    free((bool *)b->in.skip);
    free((char *)b->opt.phrase);
    free((char *)b->opt.prompt);
    free(b->page);
    free(b);
}

static bool is_skipped(const struct book *b, int index)
{
    return index < b->in.n_skip && b->in.skip[index];
}

/* On to the next page that is to be read. */
static void pass_skipped(struct book *b)
{
    while (b->n_given < b->n_page && is_skipped(b, b->n_given))
        b->n_given++;
}

int book_open(struct book *b, struct page_source *s)
{
    int is_past;

    if (atomic_load(&b->is_cancelled) || atomic_load(&b->is_stopped))
        return err(RECTO_ECANCELED, "cancelled");
    TRY(page_doc_open(&b->doc, s, &b->in));
    b->doc.official = b->opt.official;
    if (b->opt.official == RECTO_OFFICIAL_PDF && b->doc.look.dpi == 0)
        b->doc.look.dpi = RECTO_OFFICIAL_PDF_DPI;
    forget_input(b);
    TRY(page_doc_select(&b->doc, b->in.pages, &b->page, &b->n_page, &is_past));
    b->is_past = is_past;
    for (int i = 0; i < b->n_page; i++)
        b->n_ended += is_skipped(b, i);
    pass_skipped(b);
    return 0;
}

/* ---- the list (lock held) -------------------------------------------------------------------------------------------- */

static void list_add(struct book_list *l, struct book *b)
{
    b->is_listed = true;
    if (l->last)
        l->last->next_listed = b;
    else
        l->first = b;
    l->last = b;
    b->next = l->live;
    if (l->live)
        l->live->prev = b;
    l->live = b;
}

static void unlist(struct book_list *l, struct book *b)
{
    struct book **at = &l->first, *before = NULL;

    if (!b->is_listed)
        return;
    while (*at != b) {
        before = *at;
        at = &before->next_listed;
    }
    *at = b->next_listed;
    if (l->last == b)
        l->last = before;
    b->is_listed = false;
}

/* What a page costs its class: places are shared 8 : 3 : 1 while all wait. */
static const int class_cost[BOOK_CLASSES] = {3, 8, 24};

/* The earliest of the class that is next; a class that had nothing to give has saved nothing for later. */
static struct book *find_ready(struct book_list *l)
{
    struct book *best = NULL;
    int64_t best_pass = 0;

    for (struct book *b = l->first; b; b = b->next_listed) {
        int64_t pass = l->pass[b->opt.priority];
        bool is_first;

        pass = pass > l->pass_now ? pass : l->pass_now;
        is_first = !best || pass < best_pass ||
                   (pass == best_pass && b->opt.priority < best->opt.priority);
        if (b->state != BOOK_OPENING && is_first) {
            best = b;
            best_pass = pass;
        }
    }
    return best;
}

static void pay(struct book_list *l, enum recto_class class)
{
    int64_t *pass = &l->pass[class];

    l->pass_now = *pass > l->pass_now ? *pass : l->pass_now;
    *pass = l->pass_now + class_cost[class];
}

/* ---- the list -------------------------------------------------------------------------------------------------------- */

int book_add(struct book_list *l, const struct recto_input *in, const struct recto_options *o,
             uint64_t *id)
{
    struct book *b;
    int rc = 0;

    pthread_mutex_lock(&l->lock);
    if (l->is_stopped)
        rc = RECTO_ECANCELED;
    else if (l->n_new >= l->max_new)
        rc = RECTO_EAGAIN;
    else
        l->n_new++; /* the place is taken before the copy, which may be large, is made */
    *id = rc ? 0 : ++l->last_id;
    pthread_mutex_unlock(&l->lock);
    if (rc)
        return rc;
    b = book_new(in, o);
    b->id = *id;
    pthread_mutex_lock(&l->lock);
    list_add(l, b);
    pthread_cond_signal(&l->has_page);
    pthread_mutex_unlock(&l->lock);
    return 0;
}

void book_cancel(struct book_list *l, uint64_t id, bool begun_too)
{
    pthread_mutex_lock(&l->lock);
    for (struct book *b = l->live; b; b = b->next)
        if (b->id == id)
            atomic_store(begun_too ? &b->is_cancelled : &b->is_stopped, true);
    pthread_cond_broadcast(&l->has_page); /* what waits for its next stage ends */
    pthread_mutex_unlock(&l->lock);
}

/* Off the list: the first that may go now. A cancelled one may at once, to end. */
static struct redo *take_redo(struct book_list *l, bool has_other)
{
    struct redo **at = &l->redo, *before = NULL, *r;

    for (; (r = *at); before = r, at = &r->next) {
        bool is_next = r->is_first || atomic_load(&r->book->is_cancelled);

        if (is_next || (!has_other && l->n_out < l->max_out))
            break;
    }
    if (!r)
        return NULL;
    *at = r->next;
    if (l->last_redo == r)
        l->last_redo = before;
    r->is_out = !r->is_first;
    l->n_out += r->is_out ? r->n_reading : 0;
    return r;
}

/* Page of b, or its opening. */
static void take_page(struct book_list *l, struct book *b, struct book_task *t)
{
    t->book = b;
    if (b->state == BOOK_NEW) {
        b->state = BOOK_OPENING;
        l->n_new--;
        return;
    }
    pay(l, b->opt.priority);
    t->index = b->n_given++;
    pass_skipped(b);
    if (b->n_given == b->n_page)
        unlist(l, b);
}

bool book_take(struct book_list *l, struct book_task *t)
{
    struct book *b = NULL;

    *t = (struct book_task){.index = -1};
    pthread_mutex_lock(&l->lock);
    while (!l->is_stopped) {
        b = find_ready(l);
        t->redo = take_redo(l, b != NULL);
        if (b || t->redo)
            break;
        pthread_cond_wait(&l->has_page, &l->lock);
    }
    if (t->redo)
        t->book = t->redo->book;
    else if (!l->is_stopped)
        take_page(l, b, t);
    pthread_mutex_unlock(&l->lock);
    return t->book != NULL;
}

void book_put_redo(struct book_list *l, struct redo *r)
{
    pthread_mutex_lock(&l->lock);
    r->next = NULL;
    if (l->last_redo)
        l->last_redo->next = r;
    else
        l->redo = r;
    l->last_redo = r;
    pthread_cond_signal(&l->has_page);
    pthread_mutex_unlock(&l->lock);
}

void book_redo_done(struct book_list *l, struct redo *r)
{
    pthread_mutex_lock(&l->lock);
    if (r->is_out)
        l->n_out -= r->n_reading;
    r->is_out = false;
    pthread_cond_signal(&l->has_page);
    pthread_mutex_unlock(&l->lock);
}

struct redo *book_left_redo(struct book_list *l)
{
    struct redo *r;

    pthread_mutex_lock(&l->lock);
    r = l->redo;
    l->redo = r ? r->next : NULL;
    l->last_redo = l->redo ? l->last_redo : NULL;
    pthread_mutex_unlock(&l->lock);
    return r;
}

void book_opened(struct book_list *l, struct book *b, int rc)
{
    pthread_mutex_lock(&l->lock);
    if (rc < 0 || b->n_given == b->n_page)
        unlist(l, b);
    b->state = BOOK_OPEN;
    pthread_cond_broadcast(&l->has_page);
    pthread_mutex_unlock(&l->lock);
}

bool book_page_ended(struct book_list *l, struct book *b)
{
    bool was_last;

    pthread_mutex_lock(&l->lock);
    was_last = ++b->n_ended == b->n_page;
    pthread_mutex_unlock(&l->lock);
    return was_last;
}

void book_free(struct book_list *l, struct book *b)
{
    pthread_mutex_lock(&l->lock);
    unlist(l, b);
    if (b->prev)
        b->prev->next = b->next;
    else
        l->live = b->next;
    if (b->next)
        b->next->prev = b->prev;
    pthread_mutex_unlock(&l->lock);
    destroy(b);
}

void book_list_stop(struct book_list *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_stopped = true;
    for (struct book *b = l->live; b; b = b->next)
        atomic_store(&b->is_cancelled, true);
    pthread_cond_broadcast(&l->has_page);
    pthread_mutex_unlock(&l->lock);
}
