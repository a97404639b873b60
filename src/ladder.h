/* What to read next, and which reading to keep: the retry ladder and the orientation probe, as rules over what is known of the
 * readings so far.  Knows no page, no engine; course.c does what it says.
 *
 * The base is the first reading, or the one as the orientation asks.  When it went round, was cut short, gave no text where
 * there is ink, or its mean probability is under a half, these follow, each at most once, until one is good:
 *
 *     table    the stop lay in a table: no n-gram ban between <table> and </table>, and no count of interventions
 *     wide     the ban looks for 30 ids in the last 256
 *     shift    a white border of 3 %, twice the size if there were no tiles: the cuts between tiles move
 *     halves   two parts, cut where the page is emptiest; comes first when the base was cut short
 *     text     plain text is asked for, without boxes
 *
 * Rungs that do not apply are passed over: table and wide without a ban, wide when the ban looks at 256 ids or more or when
 * there was no id at all, halves and text when not all of the page's text was asked for.  An empty base gets one retry.
 * All readings of a page may have LADDER_CONTEXTS contexts of new ids together. */
#ifndef RECTO_LADDER_H
#define RECTO_LADDER_H

#include "recto.h"

#define LADDER_CONTEXTS   3
#define LADDER_WIDE_N     30
#define LADDER_WIDE_W     256
#define LADDER_LEAST_CONF 0.5 /* less: not trusted */

enum rung {
    RUNG_NONE,
    RUNG_FIRST,
    RUNG_PROBE,
    RUNG_TURNED,
    RUNG_TABLE,
    RUNG_WIDE,
    RUNG_SHIFT,
    RUNG_HALVES,
    RUNG_TEXT,
};
const char *rung_name(enum rung r); /* as in recto_attempt.rung */

/* What came out of a reading. */
struct outcome {
    enum rung rung;
    bool has_failed; /* the rest is zero */
    enum recto_finish finish;
    int n_token;
    size_t n_char; /* of text */
    bool has_figure;
    bool in_table; /* it stopped inside a table */
    double conf;
};

struct ladder_terms {
    int retries;     /* at most */
    int budget;      /* new ids that may still be made */
    bool has_ink;    /* so that no text means a failure */
    bool is_greedy;  /* confidence means something */
    bool wants_text; /* all text of the page was asked for */
    bool asks_boxes; /* and where it stands */
    bool can_halve;
    int guard_n, guard_w; /* of the base; n 0: none; w -1: everything */
};

/* Is this reading to be trusted? */
bool ladder_is_good(const struct ladder_terms *t, const struct outcome *o);
/* The next reading after o[0 .. n), n >= 1; RUNG_NONE: enough. */
enum rung ladder_next(const struct ladder_terms *t, const struct outcome *o, int n);
/* The one to keep: by finish (eos, length, loop), then those with at least 80 % of the most text among equals, then by
 * confidence, then the earliest.  Readings before the base do not count, unless all others failed; -1: all failed. */
int ladder_choose(const struct outcome *o, int n);

/* ---- orientation ----------------------------------------------------------------------------------------------------- */

#define PROBE_TOKENS     96
#define PROBE_LINE_RATIO 0.8  /* of the ink (page/inkcheck.h); less: probe before reading */
#define PROBE_CONF       0.75 /* of the first reading; less: probe after it */

/* Did the first reading go so badly that the page may lie on its side? */
bool probe_is_due(const struct ladder_terms *t, const struct outcome *first);
/* Which of the angles 0, 90, 180, 270 to read at, as an index: the one with the best mean log-probability if that is at least
 * 0.25 above the upright one's and it gave at least 16 ids; else 0. n_token[i] 0: nothing came. */
int probe_choose(const int n_token[4], const double mean_logp[4]);

#endif
