/* Sums over pages, as JSON: the one place where they are made; all reports read it. */
#include "bench_sums.h"
#include "run.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static void add(struct eval_errors *sum, struct eval_errors e)
{
    sum->edits += e.edits;
    sum->ref += e.ref;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return (v[n / 2] + v[(n - 1) / 2]) / 2;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static json_t *text_sum(const struct eval_run *r, const int *index, int n, int norm)
{
    struct eval_errors chars = {0}, chars_ns = {0}, words = {0};
    double *cer = eval_alloc((size_t)n, sizeof *cer), sum = 0, ned = 0;
    int n_text = 0;

    for (int i = 0; i < n; i++) {
        const struct eval_page_score *s = &r->result[index[i]].score;

        if (!s->has_text)
            continue;
        add(&chars, s->text[norm].chars);
        add(&chars_ns, s->text[norm].chars_ns);
        add(&words, s->text[norm].words);
        ned += s->text[norm].ned;
        sum += cer[n_text++] = eval_rate(s->text[norm].chars);
    }
    json_t *out = n_text == 0 ? NULL
                              : json_pack("{sisIsfsfsfsfsfsf}", "pages", n_text, "characters",
                                          (json_int_t)chars.ref, "cer", eval_rate(chars),
                                          "cer_mean", sum / n_text, "cer_median",
                                          median(cer, n_text), "cer_ns", eval_rate(chars_ns), "wer",
                                          eval_rate(words), "ned", ned / n_text);
    free(cer);
    return out;
}

static json_t *text_sums(const struct eval_run *r, const int *index, int n)
{
    json_t *all = json_object();

    for (int k = 0; k < N_EVAL_NORM; k++) {
        json_t *one = text_sum(r, index, n, k);

        if (one)
            json_object_set_new(all, eval_norm_name((enum eval_norm)(EVAL_N0 + k)), one);
    }
    if (json_object_size(all) > 0)
        return all;
    json_decref(all);
    return NULL;
}

static json_t *table_sum(const struct eval_run *r, const int *index, int n)
{
    int n_page = 0, n_truth = 0, n_found = 0, n_rough = 0;
    double teds = 0, teds_s = 0;

    for (int i = 0; i < n; i++) {
        const struct eval_table_score *t = &r->result[index[i]].score.table;

        n_found += t->n_found;
        n_rough += t->n_rough;
        n_truth += t->n_truth;
        n_page += t->n_truth > 0;
        teds += t->teds;
        teds_s += t->teds_s;
    }
    if (n_truth == 0)
        return NULL;
    return json_pack("{sisisisfsfsi}", "pages", n_page, "tables", n_truth, "found", n_found, "teds",
                     teds / n_page, "teds_s", teds_s / n_page, "rough", n_rough);
}

static json_t *order_sum(const struct eval_run *r, const int *index, int n)
{
    int n_page = 0;
    double sum = 0;

    for (int i = 0; i < n; i++)
        if (r->result[index[i]].score.n_ordered >= 2) {
            sum += r->result[index[i]].score.order;
            n_page++;
        }
    return n_page ? json_pack("{sisf}", "pages", n_page, "distance", sum / n_page) : NULL;
}

static void add_boxes(struct eval_box_score *sum, const struct eval_box_score *b)
{
    sum->n_truth += b->n_truth;
    sum->n_found += b->n_found;
    sum->n_50 += b->n_50;
    sum->n_75 += b->n_75;
    sum->sum_iou += b->sum_iou;
}

/* Sums of pairs over all pages, then rates. */
static json_t *box_sum(const struct eval_box_score *b)
{
    struct eval_match half = {b->n_truth, b->n_found, b->n_50, 0};
    struct eval_match most = {b->n_truth, b->n_found, b->n_75, 0};

    return json_pack("{sisisfsfsfsfsfsfsf}", "truth", b->n_truth, "found", b->n_found, "recall_50",
                     eval_recall(&half), "precision_50", eval_precision(&half), "f1_50",
                     eval_f1(&half), "recall_75", eval_recall(&most), "precision_75",
                     eval_precision(&most), "f1_75", eval_f1(&most), "iou",
                     b->n_50 ? b->sum_iou / b->n_50 : 0.0);
}

static json_t *box_sums(const struct eval_run *r, const int *index, int n)
{
    struct eval_box_score sum[N_EVAL_KIND + 1] = {{0}};
    json_t *out, *kinds;
    bool is_known = false;

    for (int i = 0; i < n; i++) {
        const struct eval_page_score *s = &r->result[index[i]].score;

        is_known |= s->has_boxes;
        add_boxes(&sum[N_EVAL_KIND], &s->box);
        for (int k = 0; k < N_EVAL_KIND; k++)
            add_boxes(&sum[k], &s->box_of[k]);
    }
    if (!is_known)
        return NULL;
    out = json_object();
    kinds = json_object();
    json_object_set_new(out, "all", box_sum(&sum[N_EVAL_KIND]));
    for (int k = 0; k < N_EVAL_KIND; k++)
        if (sum[k].n_truth + sum[k].n_found > 0)
            json_object_set_new(kinds, recto_block_kind_name((enum recto_block_kind)k),
                                box_sum(&sum[k]));
    json_object_set_new(out, "kinds", kinds);
    return out;
}

static json_t *reading_sum(const struct eval_run *r, const int *index, int n)
{
    int n_status[RECTO_PAGE_CANCELLED + 1] = {0}, n_page = 0, n_looped = 0, n_again = 0;
    long long n_token = 0, n_intervention = 0;
    double conf = 0;
    json_t *status = json_object();

    for (int i = 0; i < n; i++) {
        const struct eval_reading *q = &r->result[index[i]].reading;

        if (!q->is_known)
            continue;
        n_page++;
        n_status[q->status]++;
        n_looped += q->has_looped;
        n_again += q->n_attempt > 1;
        n_token += q->n_token;
        n_intervention += q->n_intervention;
        conf += q->conf;
    }
    for (int s = 0; s <= RECTO_PAGE_CANCELLED; s++)
        if (n_status[s])
            json_object_set_new(status, recto_status_name((enum recto_status)s),
                                json_integer(n_status[s]));
    if (n_page == 0) {
        json_decref(status);
        return NULL;
    }
    return json_pack(
        "{siso sf sf si sI sf sf}", "pages", n_page, "status", status, "loop_rate",
        (double)n_looped / n_page, "loops_left", (double)n_status[RECTO_PAGE_LOOP] / n_page,
        "read_again", n_again, "tokens", (json_int_t)n_token, "interventions",
        n_token ? 1000.0 * (double)n_intervention / (double)n_token : 0.0, "conf", conf / n_page);
}

static void set_known(json_t *obj, const char *key, json_t *value)
{
    if (value)
        json_object_set_new(obj, key, value);
}

json_t *eval_summary(const struct eval_run *r, const int *index, int n)
{
    json_t *out = json_pack("{si}", "pages", n);
    int n_missing = 0;

    for (int i = 0; i < n; i++)
        n_missing += !r->result[index[i]].is_there;
    if (n_missing)
        json_object_set_new(out, "missing", json_integer(n_missing));
    set_known(out, "text", text_sums(r, index, n));
    set_known(out, "tables", table_sum(r, index, n));
    set_known(out, "order", order_sum(r, index, n));
    set_known(out, "boxes", box_sums(r, index, n));
    set_known(out, "reading", reading_sum(r, index, n));
    if (r->set->layout == EVAL_OMNIDOC)
        set_known(out, "omnidoc", omni_sum(r, index, n));
    if (r->set->layout == EVAL_OLMOCR)
        set_known(out, "olmocr", olm_sum(r, index, n));
    return out;
}
