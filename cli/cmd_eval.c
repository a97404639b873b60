/* recto eval: read pages whose truth is known, score them, write reports. */
#include "eval.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

enum { N_WORST = 20 };

static int tell(const struct eval_fault *f)
{
    say(SAY_ERROR, "%s (%s)", f->text, recto_error_name(f->code));
    return exit_of_error(f->code);
}

/* ---- predictions from files ------------------------------------------------------------------ */

static int load_predictions(struct evaluation *e, const char *dir)
{
    struct eval_fault f;
    int n = 0;

    for (int i = 0; i < e->set.n; i++) {
        if (eval_pred_load(&e->run.pred[i], &e->set.at[i], dir, e->set.layout == EVAL_OLMOCR, &f) <
            0)
            return tell(&f);
        n += e->run.pred[i].is_there;
    }
    if (n > 0)
        return EXIT_FINE;
    say(SAY_ERROR, "%s has no prediction for any page: expected %s.md and the like (%s)", dir,
        e->set.at[0].name, recto_error_name(RECTO_ENOTFOUND));
    return EXIT_INPUT;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int save(const struct evaluation *e, const char *name, struct page_text *text)
{
    struct eval_fault f;
    char *path = eval_string("%s/%s", e->out, name);
    int rc = eval_write_file(path, text->p, text->n, &f);

    free(path);
    recto_free(text->p);
    return rc < 0 ? tell(&f) : EXIT_FINE;
}

static int write_reports(struct evaluation *e)
{
    struct page_text json = {0}, md = {0}, html = {0};
    struct eval_fault f;
    char *pictures = eval_string("%s/report.files", e->out);
    int rc = eval_make_dir(pictures, &f) < 0 ? tell(&f) : EXIT_FINE;

    free(pictures);
    if (rc != EXIT_FINE)
        return rc;
    eval_report_json(&e->run, &json);
    eval_report_md(&e->run, &md);
    eval_report_html(&e->run, e->out, N_WORST, &e->settings, &html);
    rc = save(e, "report.json", &json);
    if (rc == EXIT_FINE)
        rc = save(e, "report.md", &md);
    else
        recto_free(md.p);
    if (rc == EXIT_FINE)
        rc = save(e, "report.html", &html);
    else
        recto_free(html.p);
    return rc;
}

static void print_benchmark(const json_t *sum)
{
    const json_t *omni = json_object_get(sum, "omnidoc"), *olm = json_object_get(sum, "olmocr"),
                 *range = json_object_get(olm, "interval");

    if (omni)
        printf("OmniDocBench v1.5, computed by recto: Text Edit %.4f, TEDS %.4f, Order Edit %.4f\n",
               json_number_value(json_object_get(omni, "text_edit")),
               json_number_value(json_object_get(omni, "teds")),
               json_number_value(json_object_get(omni, "order_edit")));
    if (olm)
        printf(
            "olmOCR-bench, computed by recto: %.2f %% [%.2f .. %.2f], %lld formulas unrendered\n",
            100 * json_number_value(json_object_get(olm, "score")),
            100 * json_number_value(json_array_get(range, 0)),
            100 * json_number_value(json_array_get(range, 1)),
            (long long)json_integer_value(json_object_get(olm, "unrendered")));
}

/* One line for each thing that is known. */
static void print_result(const struct evaluation *e)
{
    int n = e->set.n, *all = calloc((size_t)n, sizeof *all);
    const char *norm = eval_norm_name(e->run.norm);
    json_t *sum, *text, *tables, *reading, *boxes;

    for (int i = 0; all && i < n; i++)
        all[i] = i;
    sum = all ? eval_summary(&e->run, all, n) : NULL;
    text = json_object_get(json_object_get(sum, "text"), norm);
    tables = json_object_get(sum, "tables");
    boxes = json_object_get(json_object_get(sum, "boxes"), "all");
    reading = json_object_get(json_object_get(sum, "reading"), "status");
    printf("%d pages\n", n);
    if (text)
        printf("text (%s): CER %.3f %%, CER-ns %.3f %%, WER %.3f %%; median CER %.3f %%\n", norm,
               100 * json_number_value(json_object_get(text, "cer")),
               100 * json_number_value(json_object_get(text, "cer_ns")),
               100 * json_number_value(json_object_get(text, "wer")),
               100 * json_number_value(json_object_get(text, "cer_median")));
    if (tables)
        printf("tables: TEDS %.4f, TEDS-S %.4f\n",
               json_number_value(json_object_get(tables, "teds")),
               json_number_value(json_object_get(tables, "teds_s")));
    if (boxes)
        printf("boxes: F1 %.4f at IoU 0.5, %.4f at 0.75\n",
               json_number_value(json_object_get(boxes, "f1_50")),
               json_number_value(json_object_get(boxes, "f1_75")));
    if (reading) {
        char *status = json_dumps(reading, JSON_COMPACT);

        printf("status: %s\n", status ? status : "");
        free(status);
    }
    print_benchmark(sum);
    printf("reports: %s/report.html, report.md, report.json\n", e->out);
    json_decref(sum);
    free(all);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static enum eval_norm norm_from(const char *name)
{
    for (enum eval_norm k = EVAL_N0; k <= EVAL_N2; k++)
        if (name && strcmp(name, eval_norm_name(k)) == 0)
            return k;
    return EVAL_N1;
}

static int open_out(const struct evaluation *e)
{
    char *report = eval_string("%s/report.json", e->out);
    bool is_there = eval_is_file(report);
    struct eval_fault f;

    if (is_there && !opt_flag(e->o, OPT_FORCE) && !opt_flag(e->o, OPT_RESUME)) {
        say(SAY_ERROR, "%s exists; --force replaces it, --resume keeps pages that are read (%s)",
            report, recto_error_name(RECTO_EUSAGE));
        free(report);
        return EXIT_USAGE;
    }
    free(report);
    return eval_make_dir(e->out, &f) < 0 ? tell(&f) : EXIT_FINE;
}

static int prepare(struct evaluation *e)
{
    const struct options *o = e->o;
    struct eval_fault f;
    int rc;

    e->out = opt_text(o, OPT_OUT);
    if (o->n_input != 1 || !e->out) {
        say(SAY_ERROR, "expected: recto eval -o DIR SET, or recto eval --compare A B");
        return EXIT_USAGE;
    }
    if (opt_given(o, OPT_PRED) && opt_given(o, OPT_EXPORT)) {
        say(SAY_ERROR, "--export writes what is read, and with --pred nothing is");
        return EXIT_USAGE;
    }
    rc = page_options_from(o, &e->page);
    if (rc == EXIT_FINE)
        rc = input_options_from(o, &e->input, &e->password);
    if (rc != EXIT_FINE)
        return rc;
    if (eval_set_open(&e->set, o->input[0], opt_text(o, OPT_IMAGES), (int)opt_int(o, OPT_LIMIT, 0),
                      &f) < 0)
        return tell(&f);
    if (e->set.n_unknown)
        say(SAY_WARN, "warning: %d files of %s/pages are of no kind that can be read",
            e->set.n_unknown, e->set.path);
    return open_out(e);
}

static int export_pages(const struct evaluation *e)
{
    const char *pair = opt_text(e->o, OPT_EXPORT), *dir = pair ? strchr(pair, '=') + 1 : NULL;
    struct eval_fault f;

    if (!dir)
        return EXIT_FINE;
    if (!e->page.official)
        say(SAY_WARN,
            "warning: pages that are exported for published figures want --official eval");
    if (eval_make_dir(dir, &f) < 0)
        return tell(&f);
    for (int i = 0; i < e->set.n; i++)
        if (e->run.pred[i].is_there && eval_export(&e->run.pred[i], &e->set.at[i], dir, &f) < 0)
            return tell(&f);
    return EXIT_FINE;
}

static int evaluate(struct evaluation *e)
{
    size_t n = (size_t)e->set.n;
    int rc, n_bad = 0;

    e->run = (struct eval_run){.set = &e->set,
                               .pred = calloc(n, sizeof *e->run.pred),
                               .result = calloc(n, sizeof *e->run.result),
                               .norm = norm_from(opt_text(e->o, OPT_NORM)),
                               .seed = (uint64_t)opt_int(e->o, OPT_SEED, 0)};
    if (!e->run.pred || !e->run.result)
        return EXIT_BUG;
    settings_from(e->o, &e->settings);
    rc = opt_given(e->o, OPT_PRED) ? load_predictions(e, opt_text(e->o, OPT_PRED)) : eval_read(e);
    if (rc == EXIT_FINE)
        rc = export_pages(e);
    if (rc != EXIT_FINE)
        return rc;
    eval_score(&e->run, (int)opt_int(e->o, OPT_THREADS, 0));
    eval_record(e);
    rc = write_reports(e);
    if (rc != EXIT_FINE)
        return rc;
    print_result(e);
    for (int i = 0; i < e->set.n; i++)
        n_bad += !e->run.result[i].is_there;
    if (n_bad)
        say(SAY_ERROR, "%d of %d pages have no text: they were scored as empty", n_bad, e->set.n);
    return n_bad ? EXIT_PAGES : EXIT_FINE;
}

static int compare(const struct options *o)
{
    struct page_text out = {0};
    struct eval_fault f;
    bool same_record = false, same_score = false;

    if (o->n_input != 2) {
        say(SAY_ERROR, "expected: recto eval --compare A B, two report.json or their folders");
        return EXIT_USAGE;
    }
    int rc = eval_compare(o->input[0], o->input[1], (uint64_t)opt_int(o, OPT_SEED, 0), &out,
                          &same_record, &same_score, &f);
    if (rc < 0)
        rc = tell(&f);
    else
        fputs(out.p, stdout);
    recto_free(out.p);
    if (rc == EXIT_FINE && same_record && !same_score) {
        say(SAY_ERROR, "the same record gave other scores: please report this as a bug");
        rc = EXIT_PAGES;
    }
    return rc;
}

int cmd_eval(const struct options *o)
{
    struct evaluation e = {.o = o, .work.fd = -1};
    int rc;

    if (opt_flag(o, OPT_COMPARE))
        return compare(o);
    rc = prepare(&e);
    if (rc == EXIT_FINE)
        rc = evaluate(&e);
    recto_close(e.engine);
    work_close(&e.work);
    identity_run_reset(&e.identity);
    eval_run_reset(&e.run);
    eval_set_close(&e.set);
    free(e.password);
    return rc;
}
