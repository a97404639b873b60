/* Who goes with whom, so that the sum of costs is least. */
#ifndef RECTO_EVAL_ASSIGN_H
#define RECTO_EVAL_ASSIGN_H

/* cost [n_row][n_col], row-major; mate[i] is the column of row i, or -1 where there are more rows than columns.  Kuhn:
 * The Hungarian method for the assignment problem, Naval Research Logistics Quarterly 2 (1955), with the shortest augmenting
 * paths of Jonker and Volgenant, Computing 38 (1987).  O(n^3). */
void eval_assign(const double *cost, int n_row, int n_col, int *mate);

#endif
