/* JSON as the program writes it by hand: one object a line. */
#ifndef RECTO_CLI_JSON_TEXT_H
#define RECTO_CLI_JSON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "recto.h"

enum { N_STATUS = RECTO_PAGE_CANCELLED + 1 };

/* s as a JSON string; bytes that are not UTF-8 become U+FFFD. */
void json_put_string(FILE *f, const char *s);
/* "file":"..." for a path, or "file_bytes":"..." in base64 when it is not UTF-8. */
void json_put_path(FILE *f, const char *path);
/* {"ok":3,"error":1} from n_status[N_STATUS]. */
void json_put_statuses(FILE *f, const int *n_status);
/* A line in memory: fclose it, then *line is the caller's (free). */
FILE *json_line_open(char **line, size_t *n);

#endif
