/* recto bench stages: vision, prefill and decode, one after the other. */
#include "bench.h"
#include "bench_machine.h"
#include "json_text.h"
#include "plot.h"
#include "progress.h"

#include <errno.h>
#include <string.h>

enum { MOST_STAGES = 32 };

struct stages {
    struct recto_stage at[MOST_STAGES];
    int n, n_line;
    struct machine machine;
    const char *weights;
};

static void print_line(void *ctx, const char *line)
{
    struct stages *s = ctx;

    if (s->n_line++ == 0)
        machine_print(&s->machine);
    puts(line);
    fflush(stdout); /* a stage takes seconds; show each when it is known */
}

static void keep(void *ctx, const struct recto_stage *stage)
{
    struct stages *s = ctx;

    if (s->n < MOST_STAGES)
        s->at[s->n++] = *stage;
}

static int write_json(const struct stages *s, const char *path)
{
    FILE *out = fopen(path, "we");

    if (!out) {
        say(SAY_ERROR, "cannot write %s: %s (%s)", path, strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
        return EXIT_OUTPUT;
    }
    fprintf(out, "{\"bench\":\"stages\",\"version\":\"%s\",\"weights\":\"%s\"", RECTO_VERSION,
            s->weights);
    machine_json(&s->machine, out);
    fputs(",\"stages\":[", out);
    for (int i = 0; i < s->n; i++) {
        const struct recto_stage *g = &s->at[i];

        fprintf(out, "%s{\"part\":\"%s\",\"name\":", i ? "," : "", g->part);
        json_put_string(out, g->name);
        fprintf(
            out,
            ",\"median_ms\":%.6g,\"least_ms\":%.6g,\"most_ms\":%.6g,\"rate\":%.6g,\"unit\":\"%s\","
            "\"peak_share\":%.4g}",
            g->median_ms, g->least_ms, g->most_ms, g->rate, g->unit, g->peak_share);
    }
    fputs("]}\n", out);
    return fclose(out) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}

static int draw(const struct stages *s, const char *path)
{
    struct plot_point point[MOST_STAGES];
    struct plot_series shares = {"share of peak", point, s->n};
    char name[MOST_STAGES][64];

    for (int i = 0; i < s->n; i++) {
        const struct recto_stage *g = &s->at[i];
        double share = 100 * g->peak_share;

        snprintf(name[i], sizeof name[i], "%.50s", g->name);
        point[i] = (struct plot_point){name[i], 0, share, share * g->median_ms / g->most_ms,
                                       share * g->median_ms / g->least_ms};
    }
    return plot_write(
        &(struct plot){
            .title = "recto bench stages: what is made of the machine",
            .note = "of products (vision, prefill) or of memory (decode), measured in the "
                    "same run; with the spread",
            .x_label = "",
            .y_label = "% of peak",
            .series = &shares,
            .n_series = 1,
            .is_bars = 1},
        path);
}

int bench_stages(const struct options *o)
{
    static struct stages stages;
    struct recto_settings s;
    int rc;

    if (o->n_input > 2) {
        say(SAY_ERROR, "expected: recto bench stages [vision|prefill|decode]");
        return EXIT_USAGE;
    }
    settings_from(o, &s);
    if (!s.model_dir)
        announce_default_model();
    stages = (struct stages){.weights = s.weights ? s.weights : "auto"};
    machine_look(&stages.machine);
    rc = recto_bench_stages(&s, o->n_input == 2 ? o->input[1] : NULL,
                            (int)opt_int(o, OPT_ROUNDS, 5), print_line, keep, &stages);
    if (rc < 0)
        return report_failure(rc);
    rc = opt_given(o, OPT_JSON) ? write_json(&stages, opt_text(o, OPT_JSON)) : EXIT_FINE;
    if (rc == EXIT_FINE && opt_given(o, OPT_PLOT) && stages.n > 0)
        rc = draw(&stages, opt_text(o, OPT_PLOT));
    return rc;
}
