/* What the scores of an evaluation depend on, so that it can be done again; and what does not matter for them. */
#include "eval.h"

#include <revision.h>

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

static void put(json_t *obj, const char *key, const char *value)
{
    json_object_set_new(obj, key, value ? json_string(value) : json_null());
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The first line that `pdftoppm -v` says; NULL without it. */
static char *renderer(void)
{
    FILE *f = popen("pdftoppm -v 2>&1", "r"); /* NOLINT: a fixed command */
    char line[128] = "";
    bool is_one = f && fgets(line, sizeof line, f) && strncmp(line, "pdftoppm version", 16) == 0;

    if (f)
        pclose(f);
    line[strcspn(line, "\n")] = '\0';
    return is_one ? strdup(line) : NULL;
}

static bool has_pdf(const struct eval_set *s)
{
    for (int i = 0; i < s->n; i++) {
        const char *dot = s->at[i].file ? strrchr(s->at[i].file, '.') : NULL;

        if (dot && strcmp(dot, ".pdf") == 0)
            return true;
    }
    return false;
}

static void put_engine(json_t *rec, const struct evaluation *e)
{
    const struct recto_info *f = &e->identity.info;

    put(rec, "model", f->model_name);
    put(rec, "model_sha256", e->identity.model);
    put(rec, "backend", f->backend);
    put(rec, "device", e->settings.device);
    put(rec, "kernels", f->kernels);
    put(rec, "precision", f->precision);
    put(rec, "weights", f->weights);
    put(rec, "router", e->settings.router);
}

static void put_guard(json_t *rec, const struct evaluation *e)
{
    const struct recto_info *f = &e->identity.info;
    int n = e->page.guard_n ? e->page.guard_n : f->guard_n,
        w = e->page.guard_n ? e->page.guard_w : f->guard_w;
    char text[32];

    snprintf(text, sizeof text, w < 0 ? "%d/all" : "%d/%d", n, w);
    put(rec, "guard", n < 0 ? "off" : text);
}

static void put_reading(json_t *rec, const struct evaluation *e)
{
    const struct options *o = e->o;
    char *pdf = has_pdf(&e->set) ? renderer() : NULL;

    put(rec, "renderer", pdf);
    put(rec, "task", opt_text(o, OPT_TASK) ? opt_text(o, OPT_TASK) : "markdown");
    put(rec, "prompt", opt_text(o, OPT_PROMPT));
    put(rec, "official", opt_text(o, OPT_OFFICIAL));
    json_object_set_new(rec, "dpi",
                        e->input.dpi ? json_integer(e->input.dpi) : json_string("auto"));
    put_guard(rec, e);
    json_object_set_new(rec, "retries", json_integer(e->page.retries));
    put(rec, "rotate",
        e->page.rotate == RECTO_ROTATE_AUTO ? "auto"
        : e->page.rotate == 0               ? "off"
                                            : opt_text(o, OPT_ROTATE));
    json_object_set_new(rec, "max_tokens",
                        e->page.max_tokens ? json_integer(e->page.max_tokens) : json_null());
    json_object_set_new(rec, "temperature", json_real(e->page.temperature));
    json_object_set_new(rec, "top_p", json_real(e->page.top_p));
    json_object_set_new(rec, "blank_check", json_boolean(!e->page.no_blank_check));
    put(rec, "text_layer", opt_text(o, OPT_TEXT_LAYER) ? opt_text(o, OPT_TEXT_LAYER) : "ignore");
    free(pdf);
}

static json_t *record(const struct evaluation *e)
{
    json_t *rec = json_object(), *pages = json_array();
    char files[65];

    put(rec, "recto", RECTO_VERSION " " RECTO_REVISION);
    put(rec, "build", RECTO_BUILD);
    if (e->engine) {
        put_engine(rec, e);
        put_reading(rec, e);
    }
    put(rec, "normalisation", eval_norm_name(e->run.norm));
    json_object_set_new(rec, "seed", json_integer((json_int_t)e->run.seed));
    put(rec, "layout", eval_layout_name(e->set.layout));
    put(rec, "truth_sha256", e->set.truth_sha256);
    eval_set_hash_files(&e->set, files);
    put(rec, "files_sha256", files[0] ? files : NULL);
    for (int i = 0; i < e->set.n; i++)
        json_array_append_new(pages, json_string(e->set.at[i].name));
    json_object_set_new(rec, "pages", pages);
    return rec;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The words of the command, a space between. */
static char *command_line(void)
{
    char *text;
    FILE *f = fopen("/proc/self/cmdline", "re");
    size_t cap = 0;
    ssize_t n;

    text = NULL;
    n = f ? getdelim(&text, &cap, EOF, f) : -1;
    for (ssize_t i = 0; i + 1 < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    if (f)
        fclose(f);
    return text;
}

static json_t *page_times(const struct evaluation *e)
{
    json_t *list = json_array();

    for (int i = 0; i < e->set.n; i++)
        json_array_append_new(list, json_integer((json_int_t)e->run.result[i].reading.total_ms));
    return list;
}

static json_t *run_facts(const struct evaluation *e)
{
    const time_t now = time(NULL);
    json_t *run = json_object();
    char *command = command_line(), date[32];
    struct utsname u;
    struct tm tm;
    int n_read = e->work.n_known - e->n_before;

    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    put(run, "date", date);
    put(run, "command", command);
    put(run, "set", e->set.path);
    if (uname(&u) == 0) {
        char *machine = eval_string("%s %s, %s", u.sysname, u.release, u.machine);

        put(run, "machine", machine);
        free(machine);
    }
    if (e->engine) {
        double s = e->seconds > 0.001 ? e->seconds : 0.001;

        json_object_set_new(run, "threads", json_integer(e->identity.info.threads));
        json_object_set_new(run, "seconds", json_real(e->seconds));
        json_object_set_new(run, "pages_read", json_integer(n_read));
        json_object_set_new(run, "pages_from_before", json_integer(e->n_before));
        json_object_set_new(run, "pages_per_s", json_real(n_read / s));
        if (e->n_before == 0)
            json_object_set_new(run, "tokens_per_s", json_real((double)e->n_token / s));
        json_object_set_new(run, "page_ms", page_times(e));
    }
    free(command);
    return run;
}

void eval_record(struct evaluation *e)
{
    e->run.record = record(e);
    e->run.run = run_facts(e);
}
