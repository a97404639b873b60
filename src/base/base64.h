/* Base64 with padding (RFC 4648, section 4). */
#ifndef RECTO_BASE_BASE64_H
#define RECTO_BASE_BASE64_H

#include "base/str.h"

void base64_add(struct buf *out, str bytes);

#endif
