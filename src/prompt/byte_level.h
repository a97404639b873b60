/* The byte alphabet of byte-level BPE: each of the 256 bytes is written as one printable character,
 * so that a vocabulary of byte strings can be kept in a JSON file. Bytes 33-126, 161-172 and
 * 174-255 stand for themselves (as U+0021 ... U+00FF); the 68 others, in increasing order, are
 * U+0100 ... U+0143. A space is U+0120, a newline U+010A.
 * Source: bytes_to_unicode in openai/gpt-2, src/encoder.py. */
#ifndef RECTO_PROMPT_BYTE_LEVEL_H
#define RECTO_PROMPT_BYTE_LEVEL_H

#include "base/str.h"

/* The byte that a character of the alphabet stands for; -1: it is not in the alphabet. */
int byte_level_byte(uint32_t code);

/* Alphabet text -> bytes at out, which has room for text.n of them; their number, or -1 if a
 * character is not in the alphabet or text is not UTF-8. */
int64_t byte_level_decode(str text, char *out);

#endif
