/* What `recto bench pages` keeps of a run, and its report. */
#ifndef RECTO_CLI_BENCH_PAGES_H
#define RECTO_CLI_BENCH_PAGES_H

#include "bench.h"
#include "bench_accuracy.h"
#include "bench_machine.h"
#include "inputs.h"

enum { MAX_PAGES_ROUNDS = 100 };

struct doc {
    uint64_t request;
    double arrived_s;
};

struct stages {
    double decode_image, preprocess, queue, vision, prefill, decode;
};

struct pages_round {
    double s, cpu_s;
    int n_page, n_by_status[RECTO_PAGE_CANCELLED + 1], n_retried;
    long long n_in, n_out, n_visual;
    struct stages sum; /* ms */
    double *latency_s; /* sorted, n_page */
    struct devices_summary device;
};

struct pages_bench {
    const struct options *o;
    struct recto *recto;
    struct recto_options page;
    struct inputs in;
    struct doc *doc;
    char *out;
    bool out_is_ours;
    double rate;
    int window, n_round;
    struct pages_round round[MAX_PAGES_ROUNDS];
    struct machine machine;
    struct accuracy accuracy; /* of the last round */
};

/* What is measured and on what, before the first round. */
void report_head(const struct pages_bench *b);
/* The median of the rounds, which lie in order of speed. */
void report_rounds(const struct pages_bench *b);
/* All rounds, slowest first. 0, or an exit code after a message. */
int report_json(const struct pages_bench *b, const char *path);
/* How long pages took, as shares of them, in the median round. 0, or an exit code after a message. */
int report_plot(const struct pages_bench *b, const char *path);

#endif
