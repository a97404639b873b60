/* The sums of OmniDocBench and of olmOCR-bench over pages, as parts of eval_summary (run.h). */
#ifndef RECTO_EVAL_BENCH_SUMS_H
#define RECTO_EVAL_BENCH_SUMS_H

#include "run.h"

json_t *omni_sum(const struct eval_run *r, const int *index, int n);
json_t *olm_sum(const struct eval_run *r, const int *index, int n);

#endif
