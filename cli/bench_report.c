#include "bench_pages.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
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

static void print_device(const struct pages_round *r)
{
    print_known("device: busy", 100 * r->device.busy, "%");
    print_known(", memory peak", r->device.peak_bytes / (1 << 30), "GiB");
    print_known(", power mean", r->device.mean_w, "W");
    print_known(" =", r->device.mean_w * r->s / r->n_page, "J/page");
    print_known(", temperature peak", r->device.peak_c, "C");
    printf("; %d samples; processor %.2f s/page of this process\n", r->device.n,
           r->cpu_s / r->n_page);
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
    print_device(r);
}

void report_head(const struct pages_bench *b)
{
    struct recto_info f;

    recto_get_info(b->recto, &f);
    printf("model %s, %lld parameters; %s, %s kernels, precision %s, %d threads; recto %s\n",
           f.model_name, (long long)f.n_param, f.backend, f.kernels, f.precision, f.threads,
           RECTO_VERSION);
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

int report_json(const struct pages_bench *b, const char *path)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        say(SAY_ERROR, "cannot write %s: %s", path, strerror(errno));
        return EXIT_OUTPUT;
    }
    fprintf(out,
            "{\"bench\":\"pages\",\"version\":\"%s\",\"files\":%d,\"loop\":\"%s\",\"rounds\":[",
            RECTO_VERSION, b->in.n, b->rate > 0 ? "open" : "closed");
    for (int i = 0; i < b->n_round; i++) {
        const struct pages_round *r = &b->round[i];

        fprintf(out, "%s{\"s\":%.6f,\"pages\":%d,\"input_tokens\":%lld,\"output_tokens\":%lld",
                i ? "," : "", r->s, r->n_page, r->n_in, r->n_out);
        write_number(out, "latency_mean_s", mean_latency(r));
        write_number(out, "latency_p50_s", percentile(r, 0.5));
        write_number(out, "latency_p90_s", percentile(r, 0.9));
        write_number(out, "latency_p99_s", percentile(r, 0.99));
        write_number(out, "utilisation", r->device.busy);
        write_number(out, "memory_peak_bytes", r->device.peak_bytes);
        write_number(out, "power_mean_w", r->device.mean_w);
        write_number(out, "temperature_peak_c", r->device.peak_c);
        write_number(out, "cpu_s", r->cpu_s);
        fputs("}", out);
    }
    fputs("]}\n", out);
    return fclose(out) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}
