/* A ZIP archive, entry by entry into a buffer that the caller empties: nothing is held but the list of entries. Entries are deflated
 * where that makes them smaller, and all have the same date, so the same entries give the same bytes.
 * Source: PKWARE APPNOTE.TXT 6.3 (local header, central directory, end record; no ZIP64). */
#ifndef RECTO_RESULT_ZIP_H
#define RECTO_RESULT_ZIP_H

#include "base/str.h"

#define ZIP_ENTRIES_MAX 65535
#define ZIP_BYTES_MAX   ((uint64_t)4000000000)

struct zip { /* zeroed at first */
    struct buf central;
    uint64_t n_byte; /* of the archive so far */
    int n_entry;
};

/* Append an entry. name: with "/" between folders, ASCII. RECTO_ETOOLARGE: over the limits above. */
int zip_add(struct zip *z, struct buf *out, const char *name, str content);
/* Append the end; z is empty then. */
void zip_end(struct zip *z, struct buf *out);
void zip_reset(struct zip *z);

#endif
