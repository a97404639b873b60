/* Which pages of a document: "1-3,7", "odd", "r1". The grammar:
 *
 *     list = item {"," item}
 *     item = n | n "-" [m] | "-" m | "all" | "last" | "odd" | "even" | "r" n
 *
 * Pages count from 1, whatever numbers are printed on them; r1 is the last page, r2 the one before.
 * "5-2" runs downwards. White space may stand around any part. The order is kept, a page named
 * twice is taken once. */
#ifndef RECTO_PAGE_RANGE_H
#define RECTO_PAGE_RANGE_H

#include <stdint.h>

#define RANGE_TEXT_MAX 4096 /* bytes of a list */

/* Is text such a list? 0, or RECTO_EPAGERANGE: `bad page range 'TEXT'`. */
int range_check(const char *text);

/* The pages that text (NULL: all) selects of n_page >= 1: *page, owned by the caller, *n >= 1 of
 * them. *is_past tells that it names pages beyond the last, which are left out.
 * RECTO_EPAGERANGE: as range_check, or `no page in 'TEXT' (has N)`. */
int range_select(const char *text, int n_page, int **page, int *n, int *is_past);

#endif
