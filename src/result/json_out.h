/* JSON values as our files have them: compact, numbers of ten digits, text that is always UTF-8. */
#ifndef RECTO_RESULT_JSON_OUT_H
#define RECTO_RESULT_JSON_OUT_H

#include "base/str.h"

#include <jansson.h>

/* Any bytes as a string: what is not UTF-8 (a path in a warning) becomes U+FFFD. */
json_t *json_out_text(str s);
/* Append the value on one line, without a newline; it is given away. */
void json_out_dump(struct buf *out, json_t *value);

#endif
