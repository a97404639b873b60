#include "engine/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Device time of interactive steps for each unit of shared steps while both want to run: a lone page is then about 1.4 times
 * as slow as on an idle device, and two that come together still about twice. Chosen by bench_sim:
 * with one lone page every 3 s beside a saturated H200 its p99 stays under twice the idle median, with one a second not. */
#define INTERACTIVE_WEIGHT 3

enum { A4_VIEWS = 7 };

/* While pages wait for places, those that have just got one are held until they are this part of all: their views and prompts
 * cost less together (on an H200 a prompt of a page takes 4.7 ms alone and 2.3 of eight, its views 14.7 and 12.7), and so few
 * places that stand still cost 1.6 % at most.  Not for longer than HOLD_STEPS. */
enum { HOLD_PART = 64, HOLD_STEPS = 64 };

void sched_init(struct sched *s, const struct sched_opts *o, struct kv_pool *pool)
{
    *s = (struct sched){.opt = *o, .pool = pool};
    if (s->opt.view_batch_shared <= 0)
        s->opt.view_batch_shared = MIN(o->view_batch, A4_VIEWS);
    s->running = mem_zero((size_t)o->max_running, sizeof(struct sched_page *));
    s->step.part = mem_zero((size_t)o->max_running, sizeof *s->step.part);
    s->step.view = mem_zero((size_t)o->view_batch, sizeof *s->step.view);
}

void sched_reset(struct sched *s)
{
    free(s->running);
    free(s->step.part);
    free(s->step.view);
    waiting_reset(&s->waiting);
    *s = (struct sched){0};
}

int sched_add(struct sched *s, struct sched_page *p)
{
    if (div_up(p->max_tok, s->pool->block_tok) > s->pool->n_block)
        return RECTO_ENOSPC;
    p->n_known = p->n_prompt;
    kv_seq_room(&p->kv,
                (int)div_up(p->max_tok, s->pool->block_tok)); /* so that steps allocate nothing */
    p->state = SCHED_WAITING;
    waiting_add(&s->waiting, p, false);
    return 0;
}

/* First running page that is younger than that. */
static int after_age(const struct sched *s, int64_t age)
{
    int lo = 0, hi = s->n_running;

    while (lo < hi) {
        int mid = (lo + hi) / 2;

        if (s->running[mid]->age > age)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Out of its place, its blocks free. */
static void leave(struct sched *s, struct sched_page *p)
{
    int i = after_age(s, p->age) - 1;

    assert(i >= 0 && s->running[i] == p);
    memmove(&s->running[i], &s->running[i + 1],
            (size_t)(s->n_running - i - 1) * sizeof(struct sched_page *));
    s->n_running--;
    s->n_interactive -= p->cls == CLASS_INTERACTIVE;
    s->n_retry -= p->cls == CLASS_RETRY;
    kv_release(s->pool, &p->kv);
    p->n_cached = p->n_published = 0;
}

static void leave_step(struct sched_step *st, const struct sched_page *p)
{
    int n_part = 0, n_view = 0;

    for (int i = 0; i < st->n_part; i++)
        if (st->part[i].page != p)
            st->part[n_part++] = st->part[i];
    for (int i = 0; i < st->n_view; i++)
        if (st->view[i].page != p)
            st->view[n_view++] = st->view[i];
    st->n_part = n_part;
    st->n_view = n_view;
}

void sched_drop(struct sched *s, struct sched_page *p)
{
    leave_step(&s->step, p);
    if (p->state == SCHED_RUNNING)
        leave(s, p);
    else if (p->state == SCHED_WAITING)
        waiting_drop(&s->waiting, p);
    kv_seq_reset(&p->kv);
    p->state = SCHED_NEW;
}

/* ---- room ------------------------------------------------------------------------------------------------------------ */

/* The youngest of the least class; never the oldest page of all but a retry beside others, so somebody always gets through. */
static struct sched_page *victim(const struct sched *s)
{
    bool spares_oldest = s->n_retry == 0 || s->n_retry == s->n_running;
    struct sched_page *v = NULL;

    for (int i = s->n_running - 1; i >= spares_oldest; i--)
        if (!v || s->running[i]->cls > v->cls)
            v = s->running[i];
    return v;
}

static void preempt(struct sched *s, struct sched_page *p)
{
    leave_step(&s->step, p);
    leave(s, p);
    p->state = SCHED_WAITING;
    p->n_preempted++;
    s->n_preempted++;
    waiting_add(&s->waiting, p, true);
}

/* ---- admission ------------------------------------------------------------------------------------------------------- */

/* Blocks kept for interactive pages: as many pages of this size as places are reserved. */
static int reserved_blocks(const struct sched *s, const struct sched_page *p)
{
    int want = s->opt.reserve * (int)div_up(p->n_known + 1, s->pool->block_tok);

    return p->cls == CLASS_INTERACTIVE ? 0 : MIN(want, s->pool->n_block / 4);
}

/* The last known id always runs: its logits are wanted, so a block that holds it is not taken over. */
static int keys_of(const struct sched *s, const struct sched_page *p)
{
    return MIN(p->n_key, (p->n_known - 1) / s->pool->block_tok);
}

static bool try_start(struct sched *s, struct sched_page *p)
{
    int need = (int)div_up(p->n_known + 1, s->pool->block_tok), n;
    bool is_first = s->n_running ==
                    0; /* alone it may have everything: sched_add made sure that it fits */

    if (!is_first && need - kv_shareable(s->pool, p->key, keys_of(s, p)) + reserved_blocks(s, p) >
                         s->pool->n_free)
        return false;
    n = kv_share(s->pool, &p->kv, p->key, keys_of(s, p));
    if (kv_reserve(s->pool, &p->kv, p->n_known + 1) < 0) {
        kv_release(s->pool, &p->kv);
        return false;
    }
    p->n_cached = n * s->pool->block_tok;
    p->n_published = n;
    p->is_covered = p->n_cached >= p->image_end;
    return true;
}

/* Running pages stay in order of first admission, so one that comes back is as old as it was. */
static void enter(struct sched *s, struct sched_page *p)
{
    int i = s->n_running++;

    if (p->age == 0)
        p->age = ++s->n_admitted;
    for (; i > 0 && s->running[i - 1]->age > p->age; i--)
        s->running[i] = s->running[i - 1];
    s->running[i] = p;
    s->n_interactive += p->cls == CLASS_INTERACTIVE;
    s->n_retry += p->cls == CLASS_RETRY;
    p->state = SCHED_RUNNING;
}

/* The page that comes next and may have a place, retries last; NULL: none. */
static struct sched_page *next_for_place(const struct sched *s)
{
    int room = s->opt.max_running - s->opt.reserve - (s->n_running - s->n_interactive);
    struct sched_page *p = waiting_peek(&s->waiting,
                                        room + s->n_retry > 0 ? CLASS_RETRY : CLASS_NORMAL);

    return p || room <= 0 ? p : waiting_peek(&s->waiting, CLASSES);
}

static struct sched_page *youngest_retry(const struct sched *s)
{
    int i = s->n_running - 1;

    while (s->running[i]->cls != CLASS_RETRY)
        i--;
    return s->running[i];
}

/* A place and blocks for p; retries that run give way to what is none. */
static bool start(struct sched *s, struct sched_page *p)
{
    while (s->n_running == s->opt.max_running || !try_start(s, p)) {
        if (s->n_retry == 0 || p->cls == CLASS_RETRY)
            return false;
        preempt(s, youngest_retry(s));
    }
    return true;
}

static void admit(struct sched *s, int64_t since_us)
{
    struct sched_page *p;

    if (s->opt.is_static && (s->n_running || (waiting_count(&s->waiting) < s->opt.max_running &&
                                              since_us < s->opt.static_wait_us)))
        return;
    while ((p = next_for_place(s))) {
        bool started = start(s, p);

        if (!started &&
            p->cls != CLASS_INTERACTIVE) { /* what waits for room must not stop the others */
            p = waiting_peek(&s->waiting, CLASS_NORMAL);
            started = p && start(s, p);
        }
        if (!started)
            return;
        waiting_take(&s->waiting, p);
        enter(s, p);
    }
}

/* Blocks for n_tok more rows of p. False: p itself had to go. */
static bool make_room(struct sched *s, struct sched_page *p, int n_tok)
{
    while (kv_reserve(s->pool, &p->kv, p->n_cached + n_tok) < 0) {
        struct sched_page *v = victim(s);

        if (!v)
            v = p;
        preempt(s, v);
        if (v == p)
            return false;
    }
    return true;
}

/* ---- plan ------------------------------------------------------------------------------------------------------------ */

/* In a step interactive pages come first, retries last. */
enum group { GROUP_INTERACTIVE, GROUP_SHARED, GROUP_RETRY, GROUPS };

static enum group group_of(const struct sched_page *p)
{
    return p->cls == CLASS_INTERACTIVE ? GROUP_INTERACTIVE
           : p->cls == CLASS_RETRY     ? GROUP_RETRY
                                       : GROUP_SHARED;
}

static bool takes_part(const struct sched *s, const struct sched_page *p)
{
    return !s->step.is_interactive || p->cls == CLASS_INTERACTIVE;
}

static bool holds_views(struct sched *s)
{
    int n = 0;

    for (int i = 0; i < s->n_running; i++)
        n += !sched_is_encoded(s->running[i]);
    if (n == 0 || n * HOLD_PART >= s->n_running || s->n_interactive || s->opt.is_static ||
        waiting_count(&s->waiting) == 0 || s->step.n_part == 0 || s->n_held >= HOLD_STEPS) {
        s->n_held = 0;
        return false;
    }
    s->n_held++;
    return true;
}

/* As many views as a group has room for, page by page, tiles first. */
static void plan_views(struct sched *s, enum group group)
{
    struct sched_step *st = &s->step;
    int room = s->n_interactive ? s->opt.view_batch_shared : s->opt.view_batch;

    for (int i = 0; i < s->n_running && st->n_view < room; i++) {
        struct sched_page *p = s->running[i];

        if (!takes_part(s, p) || group_of(p) != group || sched_is_encoded(p))
            continue;
        for (int v = p->n_encoded; v <= p->n_tile && st->n_view < room; v++)
            st->view[st->n_view++] = (struct sched_view){p, v};
    }
}

static void add_part(struct sched *s, struct sched_page *p, int *budget)
{
    int todo = p->n_known - p->n_cached, n = todo == 1 ? 1 : MIN(todo, *budget);

    if (n <= 0 || !make_room(s, p, n))
        return;
    if (todo > 1)
        *budget -= n;
    s->step.part[s->step.n_part++] = (struct sched_part){p, n, n == todo};
}

/* One kind of rows: decoding or prompts, of one group of pages. */
static void plan_rows(struct sched *s, bool decoding, enum group group, int *budget)
{
    for (int i = 0; i < s->n_running; i++) {
        struct sched_page *p = s->running[i];
        int64_t age = p->age, n_preempted = s->n_preempted;

        if (sched_is_encoded(p) && takes_part(s, p) && group_of(p) == group &&
            (p->n_known - p->n_cached == 1) == decoding)
            add_part(s, p, budget);
        if (s->n_preempted != n_preempted)
            i = after_age(s, age) - 1; /* the list has moved */
    }
}

static void plan(struct sched *s)
{
    int budget = s->opt.chunk_tok;
    bool holds;

    s->step.n_view = s->step.n_part = 0;
    for (int g = 0; g < GROUPS; g++)
        plan_rows(s, true, g, &budget);
    for (int g = 0; g < GROUPS; g++)
        plan_rows(s, false, g, &budget);
    holds = holds_views(s);
    for (int g = 0; !holds && g < GROUPS; g++)
        plan_views(s, g);
}

bool sched_next(struct sched *s, int64_t since_us)
{
    bool mixed;

    admit(s, since_us);
    mixed = s->n_interactive && s->n_interactive < s->n_running;
    s->step.is_interactive = mixed && s->used_us[1] <= s->used_us[0];
    plan(s);
    if (s->step.is_interactive && s->step.n_part + s->step.n_view == 0) {
        s->step.is_interactive = false;
        plan(s);
    }
    return s->step.n_part + s->step.n_view > 0;
}

/* ---- commit ---------------------------------------------------------------------------------------------------------- */

/* Full blocks of the prompt can be shared from now on. */
static void publish(struct sched *s, struct sched_page *p)
{
    int n_full = MIN(p->n_key, p->n_cached / s->pool->block_tok);

    for (; p->n_published < n_full; p->n_published++)
        kv_publish(s->pool, &p->kv, p->n_published, p->key[p->n_published]);
}

void sched_commit(struct sched *s, int64_t used_us)
{
    bool mixed = s->n_interactive && s->n_interactive < s->n_running;
    int64_t level;

    for (int i = 0; i < s->step.n_part; i++) {
        struct sched_page *p = s->step.part[i].page;

        p->n_cached += s->step.part[i].n_tok;
        publish(s, p);
    }
    for (int i = 0; i < s->step.n_view; i++)
        s->step.view[i].page->n_encoded++;
    s->n_step++;
    s->n_shared_step += !s->step.is_interactive;
    s->used_us[s->step.is_interactive] += s->step.is_interactive ? used_us
                                                                 : INTERACTIVE_WEIGHT * used_us;
    level = mixed ? MIN(s->used_us[0], s->used_us[1]) : MAX(s->used_us[0], s->used_us[1]);
    s->used_us[0] = MAX(s->used_us[0], level) -
                    level; /* a side that had nothing to do saves nothing up */
    s->used_us[1] = MAX(s->used_us[1], level) - level;
}
