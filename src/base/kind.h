/* What a file is, by its first bytes, never by its name. */
#ifndef RECTO_BASE_KIND_H
#define RECTO_BASE_KIND_H

#include <stdbool.h>
#include <stddef.h>

#define KIND_HEAD 1024 /* bytes that suffice */

/* "JPEG", "PNG", "PDF", "a web page (HTML)"...; "nothing" for no bytes, "unknown data" if nothing
 * fits. */
const char *kind_of(const void *head, size_t n);
/* Whether files of this kind can be read as pages. */
bool kind_is_read(const char *kind);

#endif
