/* What the writers need to know of characters. */
#ifndef RECTO_RESULT_UNICODE_H
#define RECTO_RESULT_UNICODE_H

#include "base/str.h"

/* As wide as two Latin letters: East Asian Width W and F, in blocks. Source: Unicode Standard Annex 11. */
bool code_is_wide(uint32_t code);
/* Text that breaks between any two characters: wide, and not Hangul, which has spaces. */
bool code_is_cjk(uint32_t code);
/* Width of s: 1 for each wide character, 0.5 for others, 0 for combining marks. */
double text_width(str s);

#endif
