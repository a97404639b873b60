#include "ladder.h"

#include "base/mem.h"

#include <math.h>

#define ENOUGH_TEXT 0.8
#define PROBE_LEAST 16
#define PROBE_GAIN  0.25 /* nat a token */

const char *rung_name(enum rung r)
{
    static const char *const names[] = {"none", "first", "probe",  "turned", "table",
                                        "wide", "shift", "halves", "text"};

    return (size_t)r < COUNT(names) ? names[r] : "none";
}

static bool is_empty(const struct ladder_terms *t, const struct outcome *o)
{
    return t->wants_text && t->has_ink && o->n_char == 0 && !o->has_figure;
}

bool ladder_is_good(const struct ladder_terms *t, const struct outcome *o)
{
    if (o->has_failed || o->finish != RECTO_FINISH_EOS || is_empty(t, o))
        return false;
    return o->n_token == 0 || !t->is_greedy || o->conf >= LADDER_LEAST_CONF;
}

static bool applies(enum rung r, const struct ladder_terms *t, const struct outcome *base)
{
    switch (r) {
    case RUNG_TABLE:
        return t->guard_n > 0 && base->in_table && base->finish != RECTO_FINISH_EOS;
    case RUNG_WIDE:
        return t->guard_n > 0 && t->guard_w >= 0 && t->guard_w < LADDER_WIDE_W && base->n_token > 0;
    case RUNG_HALVES:
        return t->wants_text && t->can_halve;
    case RUNG_TEXT:
        return t->wants_text && t->asks_boxes;
    default:
        return true;
    }
}

static int base_of(const struct outcome *o, int n)
{
    int base = 0;

    for (int i = 0; i < n; i++)
        if (o[i].rung == RUNG_TURNED)
            base = i;
    return base;
}

static bool was_tried(enum rung r, const struct outcome *o, int n)
{
    for (int i = 0; i < n; i++)
        if (o[i].rung == r)
            return true;
    return false;
}

enum rung ladder_next(const struct ladder_terms *t, const struct outcome *o, int n)
{
    static const enum rung order[] = {RUNG_TABLE, RUNG_WIDE, RUNG_SHIFT, RUNG_HALVES, RUNG_TEXT};
    int base = base_of(o, n), n_retry = n - 1 - base;
    bool is_nothing = o[base].finish == RECTO_FINISH_EOS && is_empty(t, &o[base]);
    int most = is_nothing ? MIN(t->retries, 1) : t->retries;

    if (ladder_is_good(t, &o[n - 1]) || n_retry >= most || t->budget <= 0)
        return RUNG_NONE;
    if (o[base].finish == RECTO_FINISH_LENGTH && applies(RUNG_HALVES, t, &o[base]) &&
        !was_tried(RUNG_HALVES, o, n))
        return RUNG_HALVES;
    for (size_t i = 0; i < COUNT(order); i++)
        if (applies(order[i], t, &o[base]) && !was_tried(order[i], o, n))
            return order[i];
    return RUNG_NONE;
}

/* ---- the best -------------------------------------------------------------------------------------------------------- */

static int rank(const struct outcome *o)
{
    return o->has_failed                      ? 0
           : o->finish == RECTO_FINISH_EOS    ? 3
           : o->finish == RECTO_FINISH_LENGTH ? 2
                                              : 1;
}

static int choose_from(const struct outcome *o, int from, int n)
{
    int best_rank = 0, best = -1;
    size_t longest = 0;

    for (int i = from; i < n; i++)
        best_rank = MAX(best_rank, rank(&o[i]));
    for (int i = from; i < n; i++)
        if (rank(&o[i]) == best_rank)
            longest = MAX(longest, o[i].n_char);
    for (int i = from; i < n && best_rank; i++) {
        bool is_enough = (double)o[i].n_char >= ENOUGH_TEXT * (double)longest;

        if (rank(&o[i]) == best_rank && is_enough && (best < 0 || o[i].conf > o[best].conf))
            best = i;
    }
    return best;
}

int ladder_choose(const struct outcome *o, int n)
{
    int best = choose_from(o, base_of(o, n), n);

    return best >= 0 ? best : choose_from(o, 0, n);
}

/* ---- orientation ----------------------------------------------------------------------------------------------------- */

bool probe_is_due(const struct ladder_terms *t, const struct outcome *first)
{
    return first->finish != RECTO_FINISH_EOS || is_empty(t, first) ||
           (t->is_greedy && first->n_token > 0 && first->conf < PROBE_CONF);
}

int probe_choose(const int n_token[4], const double mean_logp[4])
{
    int best = 0;

    for (int i = 1; i < 4; i++)
        if (n_token[i] > 0 && (n_token[best] == 0 || mean_logp[i] > mean_logp[best]))
            best = i;
    if (n_token[best] < PROBE_LEAST)
        return 0;
    return n_token[0] == 0 || mean_logp[best] - mean_logp[0] >= PROBE_GAIN ? best : 0;
}
