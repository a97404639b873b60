/* How well the pages of a benchmark were read, where the truth is beside them: speed alone can be had by reading badly. */
#ifndef RECTO_CLI_BENCH_ACCURACY_H
#define RECTO_CLI_BENCH_ACCURACY_H

#include <stdbool.h>

struct accuracy {
    int n_page; /* with a truth */
    double cer, cer_ns;
};

/* Is this file .../pages/NAME.EXT, and is there .../truth/NAME.md or .txt? What was read of its page `number` is in the
 * Markdown file `text`. Adds to the sums; false: no truth, or a program without recto eval. */
struct accuracy_sum;
struct accuracy_sum *accuracy_open(void); /* NULL without memory or without recto eval */
bool accuracy_add(struct accuracy_sum *s, const char *file, int number, const char *text);
struct accuracy accuracy_close(struct accuracy_sum *s); /* s may be NULL */

#endif
