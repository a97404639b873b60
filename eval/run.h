/* An evaluation: a set, what was read, the scores, and how they are summed up. */
#ifndef RECTO_EVAL_RUN_H
#define RECTO_EVAL_RUN_H

#include "page_score.h"

/* How the reading of a page went; all 0 when the prediction came from files without it. */
struct eval_reading {
    bool is_known;
    enum recto_status status;
    bool has_looped; /* in some attempt */
    int n_attempt, n_token, n_intervention;
    int tiles_w, tiles_h;
    double conf, total_ms;
};

struct eval_result {
    bool is_there; /* false: there was no prediction */
    struct eval_reading reading;
    struct eval_page_score score;
    json_t *
        more; /* OmniDocBench, olmOCR-bench: what came of the page (omni.h, olm.h); NULL for a folder */
};

struct eval_run {
    const struct eval_set *set;
    struct eval_pred *pred;     /* [set->n] */
    struct eval_result *result; /* [set->n] */
    enum eval_norm norm;        /* of what is shown first, and of the worst pages */
    uint64_t seed;              /* of the bootstrap */
    json_t *
        record; /* what the scores depend on: settings, model, set. Equal records give equal scores */
    json_t *run; /* date, times, command: what may differ between two runs that are the same */
};

/* Score all pages on `threads` threads (0: all processors); result must be zeroed. */
void eval_score(struct eval_run *r, int threads);
void eval_run_reset(struct eval_run *r); /* frees results, predictions, record, run; not the set */

/* Pages in order of how badly they were read: by the share of olmOCR-bench's tests that failed, by OmniDocBench's Text Edit, by
 * CER, or without any of these by confidence. [set->n], free it. */
int *eval_worst_first(const struct eval_run *r);

/* {"pages":N,"text":{"raw":{"cer":...},"N1":{...},"N2":{...}},"tables":{...},"order":{...},"boxes":{...},"reading":{...},
 *  "omnidoc":{...},"olmocr":{...}}
 * over n pages; parts of which nothing is known are missing.
 *   cer, cer_ns, wer  sums of edits / sums of lengths; cer_mean, cer_median over pages; ned the mean over pages
 *   teds, teds_s, order  means over the pages that have tables, an order
 *   loop_rate  pages with an attempt that looped / pages; loops_left  pages that ended so / pages
 *   interventions  of the guard in 1000 tokens
 *   omnidoc  each the mean over the pages that have it; overall_nocdm = (100 (1 - text_edit) + 100 teds + 100 (1 -
 *            formula_edit)) / 3; surplus the letters read that no truth has / letters of all truths
 *   olmocr  sets: pass rates of the JSONL files; score their mean, with a 95 % interval by 1000 bootstraps within files */
json_t *eval_summary(const struct eval_run *r, const int *index, int n);

/* The whole report as text: record, summary, groups, pages. Everything but "run" is the same for the same record. */
void eval_report_json(const struct eval_run *r, struct page_text *out);
void eval_report_md(const struct eval_run *r, struct page_text *out);
/* The worst pages, `most` at most, with picture, boxes and differences. Pictures go into dir/report.files/, drawn with
 * `settings` (the helper); a page that cannot be drawn has none. */
void eval_report_html(const struct eval_run *r, const char *dir, int most,
                      const struct recto_settings *settings, struct page_text *out);

/* Two reports, by their report.json or its folder: fields of the record that differ, pages, and the difference of the sums
 * with a 95 % interval by 1000 paired bootstraps. *is_same_record, *is_same_score tell what to make of it. */
int eval_compare(const char *a, const char *b, uint64_t seed, struct page_text *out,
                 bool *is_same_record, bool *is_same_score, struct eval_fault *f);

#endif
