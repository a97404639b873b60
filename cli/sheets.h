/* The outputs of one document, page by page: every format's writer, and where its bytes go. */
#ifndef RECTO_CLI_SHEETS_H
#define RECTO_CLI_SHEETS_H

#include "identity.h"
#include "output.h"

struct run;
struct sheets;

/* Begin the outputs of document `doc`; NULL after a failure, which was told and has ended the run (read_end). */
struct sheets *sheets_open(struct run *r, int doc);
/* The next page. A failure is told and ends the run. */
void sheets_page(struct sheets *s, const struct recto_page *p);
/* Write the ends; with `keeps`, give the files their names, else leave nothing. s is freed. True if all is written. */
bool sheets_close(struct sheets *s, bool keeps);

#endif
