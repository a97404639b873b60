/* Pages as pictures for a report. */
#ifndef RECTO_EVAL_PICTURE_H
#define RECTO_EVAL_PICTURE_H

#include "set.h"

/* The page as a JPEG into path, drawn by the sandboxed helper that s names. False when it cannot be drawn or written: a report
 * without that picture is still one. */
bool eval_picture(const struct eval_case *c, const struct recto_settings *s, const char *path);

#endif
