/* report.json: a line for the record, the run, the summary, each group and each page, so that reports can be compared line by
 * line. */
#include "groups.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Takes v. */
static void print_json(struct page_text *out, json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));

    print(out, "%s", text ? text : "null");
    free(text);
    json_decref(v);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static json_t *errors_json(struct eval_errors e)
{
    return json_pack("[II]", (json_int_t)e.edits, (json_int_t)e.ref);
}

static json_t *text_json(const struct eval_text_score *t)
{
    return json_pack("{sosososfsfsfsf}", "chars", errors_json(t->chars), "chars_ns",
                     errors_json(t->chars_ns), "words", errors_json(t->words), "cer",
                     eval_rate(t->chars), "cer_ns", eval_rate(t->chars_ns), "wer",
                     eval_rate(t->words), "ned", t->ned);
}

static json_t *boxes_json(const struct eval_box_score *b)
{
    return json_pack("{sisisisisf}", "truth", b->n_truth, "found", b->n_found, "pairs_50", b->n_50,
                     "pairs_75", b->n_75, "iou", b->n_50 ? b->sum_iou / b->n_50 : 0.0);
}

static void add_reading(json_t *obj, const struct eval_reading *q)
{
    json_object_set_new(obj, "status", json_string(recto_status_name(q->status)));
    json_object_set_new(obj, "attempts", json_integer(q->n_attempt));
    json_object_set_new(obj, "has_looped", json_boolean(q->has_looped));
    json_object_set_new(obj, "tokens", json_integer(q->n_token));
    json_object_set_new(obj, "interventions", json_integer(q->n_intervention));
    json_object_set_new(obj, "conf", json_real(q->conf));
    json_object_set_new(obj, "grid", json_pack("[ii]", q->tiles_w, q->tiles_h));
}

static void add_score(json_t *obj, const struct eval_page_score *s)
{
    json_t *text = json_object();

    for (int k = 0; k < N_EVAL_NORM && s->has_text; k++)
        json_object_set_new(text, eval_norm_name((enum eval_norm)(EVAL_N0 + k)),
                            text_json(&s->text[k]));
    if (s->has_text)
        json_object_set(obj, "text", text);
    json_decref(text);
    if (s->table.n_truth + s->table.n_found > 0)
        json_object_set_new(obj, "tables",
                            json_pack("{sisisfsfsi}", "truth", s->table.n_truth, "found",
                                      s->table.n_found, "teds", s->table.teds, "teds_s",
                                      s->table.teds_s, "rough", s->table.n_rough));
    if (s->n_ordered >= 2)
        json_object_set_new(obj, "order",
                            json_pack("{sisf}", "blocks", s->n_ordered, "distance", s->order));
    if (s->has_boxes)
        json_object_set_new(obj, "boxes", boxes_json(&s->box));
}

static json_t *page_json(const struct eval_case *c, const struct eval_result *q)
{
    json_t *obj = json_pack("{ss}", "name", c->name);

    for (int g = 0; g < N_EVAL_GROUP; g++)
        if (c->group[g])
            json_object_set_new(obj, eval_group_name((enum eval_group)g), json_string(c->group[g]));
    if (!q->is_there)
        json_object_set_new(obj, "missing", json_true());
    if (q->reading.is_known)
        add_reading(obj, &q->reading);
    add_score(obj, &q->score);
    if (q->more)
        json_object_update(obj, q->more);
    return obj;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void print_groups(const struct eval_run *r, struct page_text *out)
{
    bool is_first = true;

    print(out, ",\n\"groups\":[");
    for (int a = 0; a < N_EVAL_GROUP; a++)
        for (int b = a; b < N_EVAL_GROUP; b++) {
            struct groups g = groups_by(r->set, (enum eval_group)a, (enum eval_group)b);

            for (int i = 0; i < g.n; i++) {
                json_t *one = eval_summary(r, g.at[i].index, g.at[i].n);

                json_object_set_new(one, "by", json_string(g.title));
                json_object_set_new(one, "name", json_string(g.at[i].name));
                print(out, is_first ? "\n" : ",\n");
                print_json(out, one);
                is_first = false;
            }
            groups_reset(&g);
        }
    print(out, "]");
}

void eval_report_json(const struct eval_run *r, struct page_text *out)
{
    int n = r->set->n, *all = eval_alloc((size_t)n, sizeof *all);

    for (int i = 0; i < n; i++)
        all[i] = i;
    print(out, "{\"schema\":\"recto-eval-1\",\n\"record\":");
    print_json(out, json_incref(r->record));
    print(out, ",\n\"run\":");
    print_json(out, json_incref(r->run));
    print(out, ",\n\"summary\":");
    print_json(out, eval_summary(r, all, n));
    print_groups(r, out);
    print(out, ",\n\"pages\":[");
    for (int i = 0; i < n; i++) {
        print(out, i ? ",\n" : "\n");
        print_json(out, page_json(&r->set->at[i], &r->result[i]));
    }
    print(out, "\n]}\n");
    free(all);
}
