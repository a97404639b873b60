/* --json-lines: one JSON object a line on standard output, while a run goes on.
 *
 *     {"type":"start","version":…,"files":N}
 *     {"type":"page","file":…,"text":…, and the keys of a page of the layout JSON}
 *     {"type":"file","file":…,"pages":N,"statuses":{"ok":N,…}}
 *     {"type":"end","exit":N,"pages":N,"tokens":N,"seconds":S}
 *
 * A path that is not UTF-8 is given as "file_bytes" in base64. A file that an earlier run has finished (--resume) has no
 * page lines, and "done_before":true. The order is the caller's affair. */
#ifndef RECTO_CLI_JSON_LINES_H
#define RECTO_CLI_JSON_LINES_H

#include "read.h"

void json_start(struct run *r, int n_doc, bool as_they_come);
void json_page(struct run *r, int doc, const struct recto_page *p);
void json_document(struct run *r, int doc);
void json_end(struct run *r, int exit, double seconds);

#endif
