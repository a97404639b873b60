#include "bench_pages.h"
#include "json_text.h"
#include "plot.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double percentile(const struct pages_round *r, double share)
{
    int i = (int)ceil(share * r->n_page) - 1;

    return r->n_page ? r->latency_s[i < 0 ? 0 : i] : NAN;
}

static double mean_latency(const struct pages_round *r)
{
    double sum = 0;

    for (int i = 0; i < r->n_page; i++)
        sum += r->latency_s[i];
    return r->n_page ? sum / r->n_page : NAN;
}

static void print_known(const char *what, double value, const char *unit)
{
    if (isnan(value))
        printf("%s -", what);
    else
        printf("%s %.1f %s", what, value, unit);
}

static void print_device(const struct device_summary *d)
{
    print_known(" busy", 100 * d->busy, "%");
    print_known(", memory peak", d->peak_bytes / (1 << 30), "GiB");
    print_known(", power mean", d->mean_w, "W");
    print_known(", temperature peak", d->peak_c, "C");
    printf("; %d samples\n", d->n);
}

static void print_devices(const struct pages_round *r)
{
    for (int i = 0; i < r->device.n; i++) {
        printf("device %d:", i);
        print_device(&r->device.at[i]);
    }
    print_known("devices:", r->device.all.mean_w * r->s / r->n_page, "J/page");
    printf("; processor %.2f s/page of this process\n", r->cpu_s / r->n_page);
}

static void print_accuracy(const struct pages_bench *b)
{
    const struct accuracy *a = &b->accuracy;

    if (a->n_page > 0)
        printf(
            "accuracy of this run: CER %.3f %%, CER-ns %.3f %% over %d pages with a truth beside them\n",
            100 * a->cer, 100 * a->cer_ns, a->n_page);
    else
        puts("accuracy of this run: - (no truth/ beside pages/)");
}

void report_rounds(const struct pages_bench *b)
{
    const struct pages_round *r = &b->round[b->n_round / 2];
    double n = r->n_page, speed = r->n_page / r->s;
    const struct stages *t = &r->sum;

    printf("pages/s: median %.2f [%.2f .. %.2f] of %d rounds; %d pages in %.1f s\n", speed,
           b->round[0].n_page / b->round[0].s,
           b->round[b->n_round - 1].n_page / b->round[b->n_round - 1].s, b->n_round, r->n_page,
           r->s);
    printf("latency (%s): mean %.3f  p50 %.3f  p90 %.3f  p99 %.3f s; pages in flight %.1f\n",
           b->rate > 0 ? "from arrival" : "service time", mean_latency(r), percentile(r, 0.5),
           percentile(r, 0.9), percentile(r, 0.99), speed * mean_latency(r));
    printf("a page: %.1f visual rows, %.1f prompt ids, %.1f new ids; output %.1f tok/s, total %.1f "
           "tok/s\n",
           (double)r->n_visual / n, (double)r->n_in / n, (double)r->n_out / n,
           (double)r->n_out / r->s, (double)(r->n_in + r->n_out) / r->s);
    printf("a page's own time, ms: image %.1f, views %.1f, queue %.1f, vision %.1f, prefill %.1f, "
           "decode %.1f (steps are shared, so these overlap)\n",
           t->decode_image / n, t->preprocess / n, t->queue / n, t->vision / n, t->prefill / n,
           t->decode / n);
    printf("status:");
    for (int s = 0; s <= RECTO_PAGE_CANCELLED; s++)
        if (r->n_by_status[s])
            printf(" %d %s", r->n_by_status[s], recto_status_name((enum recto_status)s));
    printf("; %d read more than once\n", r->n_retried);
    print_accuracy(b);
    print_devices(r);
    puts(
        "claimed by others, on other pages and hardware, never measured here: 8.2 pages/s on one A100, 18.9 on two;\n"
        "their latencies of 0.122 and 0.053 s are 1 / throughput, one page in flight; more than twice as fast on two\n"
        "cards, so that the rows differ in more than the cards");
}

void report_head(const struct pages_bench *b)
{
    struct recto_info f;

    recto_get_info(b->recto, &f);
    printf("model %s, %lld parameters; %s, %s kernels, precision %s, %d threads; recto %s\n",
           f.model_name, (long long)f.n_param, f.backend, f.kernels, f.precision, f.threads,
           RECTO_VERSION);
    machine_print(&b->machine);
    printf("%d files, ", b->in.n);
    if (b->rate > 0)
        printf("open loop, %.3g files/s (Poisson)", b->rate);
    else
        printf("closed loop, at most %d handed over", b->window);
    if (b->page.ignore_eos)
        printf(", every page made %d tokens long: shapes, not text", b->page.max_tokens);
    puts("");
}

static void write_number(FILE *out, const char *key, double v)
{
    if (isnan(v))
        fprintf(out, ",\"%s\":null", key);
    else
        fprintf(out, ",\"%s\":%.6g", key, v);
}

static void write_device(FILE *out, const struct device_summary *d)
{
    write_number(out, "utilisation", d->busy);
    write_number(out, "memory_peak_bytes", d->peak_bytes);
    write_number(out, "power_mean_w", d->mean_w);
    write_number(out, "temperature_peak_c", d->peak_c);
}

static void write_devices(FILE *out, const struct devices_summary *s)
{
    fputs(",\"devices\":[", out);
    for (int i = 0; i < s->n; i++) {
        fprintf(out, "%s{\"samples\":%d", i ? "," : "", s->at[i].n);
        write_device(out, &s->at[i]);
        fputs("}", out);
    }
    fputs("]", out);
}

/* The first line of a corpus's index.jsonl (kind, seed, fonts), if the first file lies in its pages/. */
static void write_corpus(const struct pages_bench *b, FILE *out)
{
    const char *file = b->in.in[0].path, *slash = strrchr(file, '/');
    char path[4200], *line = NULL;
    size_t cap = 0;
    FILE *f;

    snprintf(path, sizeof path, "%.*s../index.jsonl", slash ? (int)(slash + 1 - file) : 0, file);
    f = fopen(path, "re");
    ssize_t n = f ? getline(&line, &cap, f) : -1;
    if (n > 2 && strncmp(line, "{\"corpus\":", 10) == 0)
        fprintf(out, ",\"corpus\":%.*s", (int)n - 1, line);
    free(line);
    if (f)
        fclose(f);
}

static void write_head(const struct pages_bench *b, FILE *out)
{
    struct recto_info f;

    recto_get_info(b->recto, &f);
    fprintf(out, "{\"bench\":\"pages\",\"version\":\"%s\",\"files\":%d,\"loop\":\"%s\"",
            RECTO_VERSION, b->in.n, b->rate > 0 ? "open" : "closed");
    if (b->rate > 0)
        fprintf(out, ",\"files_per_s\":%.6g", b->rate);
    fprintf(
        out,
        ",\"model\":\"%s\",\"parameters\":%lld,\"backend\":\"%s\",\"kernels\":\"%s\",\"precision\":\"%s\","
        "\"weights\":\"%s\",\"threads\":%d,\"window\":%d,\"retries\":%d,\"fixed_output\":%s",
        f.model_name, (long long)f.n_param, f.backend, f.kernels, f.precision, f.weights, f.threads,
        b->window, b->page.retries, b->page.ignore_eos ? "true" : "false");
    machine_json(&b->machine, out);
    write_corpus(b, out);
    if (b->accuracy.n_page > 0)
        fprintf(out, ",\"accuracy\":{\"pages\":%d,\"cer\":%.6g,\"cer_ns\":%.6g}",
                b->accuracy.n_page, b->accuracy.cer, b->accuracy.cer_ns);
}

int report_json(const struct pages_bench *b, const char *path)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        say(SAY_ERROR, "cannot write %s: %s", path, strerror(errno));
        return EXIT_OUTPUT;
    }
    write_head(b, out);
    fputs(",\"rounds\":[", out);
    for (int i = 0; i < b->n_round; i++) {
        const struct pages_round *r = &b->round[i];

        fprintf(out, "%s{\"s\":%.6f,\"pages\":%d,\"input_tokens\":%lld,\"output_tokens\":%lld",
                i ? "," : "", r->s, r->n_page, r->n_in, r->n_out);
        write_number(out, "latency_mean_s", mean_latency(r));
        write_number(out, "latency_p50_s", percentile(r, 0.5));
        write_number(out, "latency_p90_s", percentile(r, 0.9));
        write_number(out, "latency_p99_s", percentile(r, 0.99));
        write_number(out, "cpu_s", r->cpu_s);
        write_device(out, &r->device.all);
        write_devices(out, &r->device);
        fputs("}", out);
    }
    fputs("]}\n", out);
    return fclose(out) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}

int report_plot(const struct pages_bench *b, const char *path)
{
    const struct pages_round *r = &b->round[b->n_round / 2];
    int n = r->n_page < 200 ? r->n_page : 200;
    struct plot_point point[201];
    struct plot_series all = {"share of pages", point, n + 1};
    char note[200];

    point[0] = (struct plot_point){0};
    for (int i = 1; i <= n; i++) {
        double share = (double)i / n;

        point[i] = (struct plot_point){.at_x = percentile(r, share), .y = 100 * share};
    }
    snprintf(note, sizeof note, "%.2f pages/s, median of %d rounds [%.2f .. %.2f]; %d pages",
             r->n_page / r->s, b->n_round, b->round[0].n_page / b->round[0].s,
             b->round[b->n_round - 1].n_page / b->round[b->n_round - 1].s, r->n_page);
    return plot_write(&(struct plot){.title = "recto bench pages: time that pages take",
                                     .note = note,
                                     .x_label = b->rate > 0 ? "seconds from arrival"
                                                            : "seconds from handing over",
                                     .y_label = "% of pages done",
                                     .series = &all,
                                     .n_series = 1},
                      path);
}
