/* Where text breaks into lines whose widths are known. */
#ifndef RECTO_RESULT_WRAP_H
#define RECTO_RESULT_WRAP_H

/* Break n units of width t into k lines of ink width b (any scale; k <= n): first[i] is the first unit of line i, and
 * first[k] = n; every line has a unit.  Chosen is the least sum of (t_i / sum t - b_i / sum b)^2 over the lines, by
 * dynamic programming in O(k n log n): the best break moves to the right with the end of the line, since the cost is
 * convex in the line's width.  Over WRAP_CELLS = k n, a block that no page has, breaks go where the running share of
 * the text meets that of the ink. */
#define WRAP_CELLS (1 << 22)
void wrap_text(const double *t, int n, const double *b, int k, int *first);

#endif
