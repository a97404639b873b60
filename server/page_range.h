/* Lists of pages as the API spells them: "1-5,8,-1". */
#ifndef RECTO_SERVER_PAGE_RANGE_H
#define RECTO_SERVER_PAGE_RANGE_H

#include <stdbool.h>

/* Mark in wanted[1..n_page] what the list selects. Parts, with commas between them: N; A-B; A- (to the end); odd, even, last,
 * all. A number is 1, 2, ... or counted from the end: -1 or r1 is the last page, so "-3--1" are the last three. What lies beyond
 * the document is left out. 0, or a negative JOBS_* with its sentence: JOBS_INVALID_VALUE, JOBS_PAGE_OUT_OF_RANGE (nothing
 * selected). param: the member at fault, a literal. */
int page_range_select(const char *list, int n_page, bool *wanted, const char *param);
/* Is it such a list? JOBS_INVALID_VALUE. */
int page_range_check(const char *list, const char *param);

#endif
