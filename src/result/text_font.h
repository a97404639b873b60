/* The font of invisible text: one for all scripts. Its glyphs are never painted, so there are only three, .notdef, one as
 * wide as a Latin letter and one as wide as a Chinese character; what a character means says the ToUnicode map, and
 * which of the glyphs it has the CIDToGIDMap.
 *
 * Both glyphs have an outline, a box: some readers leave out text whose glyphs are empty. Characters are numbered as
 * they are met. */
#ifndef RECTO_RESULT_TEXT_FONT_H
#define RECTO_RESULT_TEXT_FONT_H

#include "base/str.h"

#define TEXT_FONT_HALF 500 /* advances in thousandths of the font's size */
#define TEXT_FONT_FULL 1000

struct text_font {
    uint16_t *cid[0x1100]; /* by code point / 256; NULL: none of these yet */
    uint32_t *code;        /* [n + 1]: of each CID; the first is 1 */
    int n, cap;
};

/* The number of a character in this font. More than 65534 different ones: the rest are U+FFFD. */
int text_font_cid(struct text_font *f, uint32_t code);
/* Its advance: 500, or 1000 for one that is wide in East Asian text. */
int text_font_advance(uint32_t code);
void text_font_reset(struct text_font *f);

/* The TrueType file: 1000 units an em. */
void text_font_file(struct buf *out);
/* CIDToGIDMap; ToUnicode CMap; the W array of all that are not 500 wide ("[]" when there are none). */
void text_font_map(struct buf *out, const struct text_font *f);
void text_font_unicode(struct buf *out, const struct text_font *f);
void text_font_widths(struct buf *out, const struct text_font *f);

#endif
