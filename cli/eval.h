/* The parts of `recto eval`: cmd_eval.c asks and answers, eval_read.c reads the pages of the set, eval_record.c writes down
 * what the scores depend on. */
#ifndef RECTO_CLI_EVAL_H
#define RECTO_CLI_EVAL_H

#include "cli.h"
#include "eval/run.h"
#include "identity.h"
#include "work.h"

struct evaluation {
    const struct options *o;
    const char *out; /* folder of the reports */
    struct eval_set set;
    struct eval_run run;
    struct recto_settings settings;
    struct recto_options page;
    struct recto_input input; /* what holds for all pages */
    char *password;           /* NULL here; input_options_from wants a place */
    struct recto *engine;     /* NULL with --pred */
    struct identity_run identity;
    struct work work; /* finished pages, in OUT/eval.recto-work */
    int n_status[RECTO_PAGE_CANCELLED + 1];
    int n_before; /* pages that an earlier run has read */
    long long n_token;
    double seconds;
};

/* Open the engine, read every page of the set that is not in the work file, fill run.pred. An exit code. */
int eval_read(struct evaluation *e);
/* run.record and run.run. */
void eval_record(struct evaluation *e);

#endif
