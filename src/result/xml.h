/* Text in XML and HTML: what could be markup is escaped, what XML cannot hold is U+FFFD. */
#ifndef RECTO_RESULT_XML_H
#define RECTO_RESULT_XML_H

#include "base/str.h"

/* Append s for an element or for an attribute between double quotes. */
void xml_put(struct buf *out, str s);

#endif
