/* How alike two tables are: TEDS, the tree edit distance based similarity of HTML tables (Zhong, ShafieiBavani,
 * Jimeno Yepes: Image-based table recognition: data, model, and evaluation, ECCV 2020), as OmniDocBench's code
 * computes it.
 *
 * The tree of a table: its element, below it those inside, as they come.  A td is a leaf: it has its colspan,
 * its rowspan and its content as tokens, one for each character, one for each tag of an element inside ("<b>",
 * "</b>").  To insert or delete a node costs 1; to rename one 1 if tag, colspan or rowspan differ, between two td
 * lev(tokens) / length of the longer, else 0.  TEDS = 1 - distance / max(n1, n2), n the number of elements below
 * <table>, those inside cells among them.  Of trees of very different shape it may be below 0, as there, and never below -1: nodes
 * that cannot be paired in order are deleted on one side and inserted on the other. */
#ifndef RECTO_EVAL_TEDS_H
#define RECTO_EVAL_TEDS_H

#include <stdbool.h>
#include <stddef.h>

/* Of the first table of each HTML text, in UTF-8; 0 when one has none or an empty one.  structure_only (TEDS-S): as
 * if every cell were empty.  *is_rough (may be NULL) when the tables are so large, n1 n2 > 4e7, that rows are
 * compared instead of trees. */
double eval_teds(const char *truth, const char *html, bool structure_only, bool *is_rough);

#endif
