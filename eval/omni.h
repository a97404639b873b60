/* A page as the end-to-end evaluation of OmniDocBench v1.5 scores it (Ouyang et al.: OmniDocBench: benchmarking diverse PDF
 * document parsing with comprehensive annotations, CVPR 2025), without CDM, which needs TeX to draw formulas.
 *
 * Known to differ from its code: arrays of one column are not taken apart line by line; LaTeX becomes Unicode by latex.h;
 * tables drawn in LaTeX count as empty, as in the copy that was read.  Published numbers come from the benchmark's own program
 * (recto eval --export omnidoc DIR writes its input). */
#ifndef RECTO_EVAL_OMNI_H
#define RECTO_EVAL_OMNI_H

#include <jansson.h>

#include "files.h"

/* page: an element of the benchmark's JSON; md: what was read.
 *   {"omnidoc":{"text":[edits, length],"text_edit":..,"formula":[..],"formula_edit":..,"table":[..],"table_edit":..,
 *               "teds":..,"teds_s":..,"tables":N,"order_edit":..,"surplus":[letters read that no truth has, letters of the
 *               truth]}}
 * A part of which the truth has nothing is missing. */
json_t *omni_score(const json_t *page, const char *md);

/* The truth of a page as Markdown, in reading order: for people, and for CER. */
char *omni_truth_md(const json_t *page);

#endif
