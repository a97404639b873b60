/* The tests of olmOCR-bench: facts about a page that a reading of it must show.  Source: allenai/olmocr, olmocr/bench/tests.py and
 * benchmark.py.  Two things are not as there: formulas that are not literally equal count as `unrendered`, since telling equal
 * pictures apart needs KaTeX and a browser; and a heading is a cell above (or to the left) that is in the first row (column) or a
 * <th>. */
#ifndef RECTO_EVAL_OLM_H
#define RECTO_EVAL_OLM_H

#include "pred.h"

/* tests: an array of the benchmark's test objects, each with "set", the JSONL file it is of.
 *   {"olmocr":{"tests":[{"id":..,"type":..,"set":..,"passed":true}],"passed":N,"failed":N,"unrendered":N,"pass_rate":..}}
 * Of several repeats more than half must pass. "passed" is null when unrendered. */
json_t *olm_score(const json_t *tests, const struct eval_pred *p);

#endif
