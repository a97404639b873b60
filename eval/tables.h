/* The report as tables of texts, made once; Markdown and HTML only write them down. */
#ifndef RECTO_EVAL_TABLES_H
#define RECTO_EVAL_TABLES_H

#include "run.h"

struct report_table {
    char *title, *note; /* note: a sentence below the title, or NULL */
    int n_col, n_row;   /* the first row has the names of the columns */
    char **cell;        /* [n_row][n_col] */
};

struct report_tables {
    struct report_table *at;
    int n;
};

struct report_tables report_tables_of(const struct eval_run *r);
void report_tables_reset(struct report_tables *s);

/* For those who make one: begin a table (copies both; columns parted by |), add a row of n_col cells, which it takes. */
struct report_table *report_tables_add(struct report_tables *s, const char *title, const char *note,
                                       const char *columns);
void report_table_row(struct report_table *s,
                      ...); /* n_col times char *, to be freed by the table */

/* "2.34 %", "0.9312", "-" for NULL. */
char *cell_percent(const json_t *v);
char *cell_number(const json_t *v);
char *cell_count(const json_t *v);

#endif
