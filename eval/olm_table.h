/* Tables as grids: which cell is next to which, spans counted. */
#ifndef RECTO_EVAL_OLM_TABLE_H
#define RECTO_EVAL_OLM_TABLE_H

#include "text.h"

struct olm_cell {
    int row, col, rowspan, colspan;
    bool is_header;        /* <th> */
    struct eval_text text; /* folded (olm_text.h) */
};

struct olm_table {
    struct olm_cell *cell;
    int n;
};

/* Of HTML; cells placed by HTML's table algorithm. Cells of tables in cells are text of the outer ones. */
struct olm_table olm_table_of(const char *html);
void olm_table_reset(struct olm_table *t);

enum olm_side { OLM_UP, OLM_DOWN, OLM_LEFT, OLM_RIGHT, OLM_TOP_HEADING, OLM_LEFT_HEADING };
/* Is cell b on this side of cell a: next to it, or of a heading: above it in the first row or a <th> (to the left in the first
 * column or a <th>)? */
bool olm_is_at(const struct olm_cell *a, enum olm_side side, const struct olm_cell *b);

#endif
