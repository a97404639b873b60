/* A ZIP archive, written to a file: PKWARE's APPNOTE 6.3.9, sections 4.3 and 4.4, without ZIP64, so below 4 GiB and 65535 entries.
 * Names are UTF-8 and ours. Times are fixed, so the same entries give the same bytes. */
#ifndef RECTO_SERVER_ARCHIVE_H
#define RECTO_SERVER_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

struct archive;

/* fd is open for writing, at its start, and stays the caller's. */
struct archive *archive_new(int fd);
/* One entry after the other; is_packed: deflated. Faults stay and come from archive_end: JOBS_STORAGE_FULL, JOBS_INTERNAL. sha256: of the
 * entry, 64 hex digits. */
void archive_begin(struct archive *z, const char *name, bool is_packed);
void archive_write(struct archive *z, const void *bytes, size_t n);
void archive_close(struct archive *z, char sha256[65]);
/* Write the directory and free. */
int archive_end(struct archive *z);

#endif
