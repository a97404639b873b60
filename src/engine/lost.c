#include "base/err.h"
#include "base/log.h"
#include "engine/engine_parts.h"
#include "engine/shelf.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOVES_MOST = 2 };

/* As it was when it came, but for the ids that it has. */
static void forget_device(struct engine *e, struct request *q)
{
    sched_drop(&e->sched, &q->s);
    if (q->seen)
        image_put(&e->images, q->seen);
    else
        runner_forget(&e->runner, q->visual);
    free(q->key);
    q->key = NULL;
    q->seen = NULL;
    q->visual = NULL;
    q->s.n_encoded = 0;
    q->s.is_covered = false;
    q->s.age = 0;
    q->s.n_known = q->n_prompt + q->n_new;
}

/* Back to the others, or, if it has cost devices before, to its end. */
static bool move(struct engine *e, struct request *q)
{
    if (q->n_moved == MOVES_MOST) {
        int rc = err(RECTO_EDEVICE,
                     "the page was on %d devices when they failed; the last said: %s",
                     MOVES_MOST + 1, e->lost_text);

        engine_finish(e, q, rc, RECTO_FINISH_NONE);
        return false;
    }
    forget_device(e, q);
    q->n_moved++;
    e->stats.n_moved++;
    shelf_return(e->shelf, q);
    return true;
}

static int move_all(struct engine *e)
{
    int n = 0, n_moved = 0;

    for (int i = 0; i < e->n_live; i++) {
        struct request *q = e->live[i];

        if (!q->is_done && move(e, q))
            n_moved++;
        else
            e->live[n++] = q;
    }
    e->n_live = n;
    return n_moved;
}

bool engine_lost(struct engine *e)
{
    int n_left, n_moved;
    char why[ERR_TEXT_MAX];

    if (e->is_lost)
        return true;
    snprintf(why, sizeof why, "%s", err_text());
    if (!e->shelf || runner_probe(&e->runner) == 0) {
        err(RECTO_EDEVICE, "%s", why); /* the probe may have said something of its own */
        return false;
    }
    snprintf(e->lost_text, sizeof e->lost_text, "%s", why);
    e->is_lost = true;
    e->stats.n_lost++;
    n_left = shelf_leave(e->shelf, e->number);
    if (n_left == 0) {
        log_warn("device=%s lost: %s; no other is left, so all pages from now on fail", e->name,
                 e->lost_text);
        engine_refuse(e);
        return true;
    }
    n_moved = move_all(e);
    log_warn("device=%s lost: %s; pages_moved=%d devices_left=%d", e->name, e->lost_text, n_moved,
             n_left);
    return true;
}

void engine_refuse(struct engine *e)
{
    for (int i = 0; i < e->n_live; i++)
        if (!e->live[i]->is_done)
            engine_finish(e, e->live[i],
                          err(RECTO_EDEVICE, "no device is left; the last said: %s", e->lost_text),
                          RECTO_FINISH_NONE);
}
