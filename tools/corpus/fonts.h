/* The fonts that pages are set in: they must be there, and the index says which files they were, since
 * another version of a font gives other pages. */
#ifndef CORPUS_FONTS_H
#define CORPUS_FONTS_H

#include <jansson.h>

/* Add [{family, style, file, sha256}] of a family's regular and bold faces to list. RECTO_ENOTFOUND when
 * the family is not installed. */
int fonts_add(json_t *list, const char *family);

#endif
