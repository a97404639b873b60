/* A forward-only reader for the two long parts of a tokenizer.json, its vocabulary and its merges:
 * 400,000 strings that jansson would turn into as many objects (180 ms to parse and 50 ms to free,
 * on a Zen 4 core). Everything else in the file is jansson's. */
#ifndef RECTO_PROMPT_JSON_SCAN_H
#define RECTO_PROMPT_JSON_SCAN_H

#include "base/str.h"

struct json_scan {
    const char *p, *end; /* what is left */
};

/* The next byte that is no white space, not consumed; 0 at the end. */
char scan_peek(struct json_scan *s);
/* Consume c if it is the next byte that is no white space. */
bool scan_char(struct json_scan *s, char c);
/* Consume a string: strict JSON (no raw control characters, valid UTF-8, no lone surrogates). *out
 * lies in the input, or in scratch (whose content is replaced) if there was an escape in it. */
bool scan_string(struct json_scan *s, struct buf *scratch, str *out);
/* Consume a whole number without sign, at most 9 digits, no leading zeros. */
bool scan_number(struct json_scan *s, int64_t *out);
/* Consume any value. Only brackets and the ends of strings are looked at: true says where the value
 * ends, not that it is valid. False: it has no end. */
bool scan_skip(struct json_scan *s);

#endif
