/* The document model: what the parser fills and the writers read (struct recto_page and its
 * blocks, recto.h).
 *
 * Here are the parts that both sides need: names of the enumerations, kinds from labels, pixels
 * from boxes. */
#ifndef RECTO_RESULT_MODEL_H
#define RECTO_RESULT_MODEL_H

#include "base/str.h"
#include "recto.h"

/* Limits of one page; past them the last block kept is flagged RECTO_BLOCK_CAPPED. */
#define BLOCKS_MAX 8192
#define BOXES_MAX  1024
#define LABEL_MAX  64 /* bytes */

/* The inverse of recto_*_name: false if there is no such name. */
bool status_from_name(str name, enum recto_status *out);
bool finish_from_name(str name, enum recto_finish *out);
bool block_kind_from_name(str name, enum recto_block_kind *out);
bool box_error_from_name(str name, enum recto_box_error *out);

/* Name of one flag bit ("implicit", "swapped", ...); NULL past the last. Bits are 1 << 0, 1 <<
 * 1, ... */
const char *block_flag_name(int bit);

/* What a label means. Labels are free text: "Sub-Title", "sub_title" and "section header" are
 * all headings; unknown ones are RECTO_BLOCK_OTHER and read as text. */
enum recto_block_kind block_kind_of_label(str label);

/* Headers, footers and page numbers: left out of reading text unless asked for. */
bool block_is_furniture(const struct recto_block *b);

/* A box in pixels of a page of width x height: trunc(v / 999 * size) in double, clamped to [0,
 * size].  The right and lower edges are exclusive, so 999 is the full size. Source:
 * draw_bounding_boxes in deepseek-ai/DeepSeek-OCR-2, run_dpsk_ocr2_image.py (the clamp is ours). */
struct recto_box box_px(struct recto_box box_999, int width, int height);

/* Boxes as the model spells them: "[[1, 2, 3, 4], [5, 6, 7, 8]]"; "[]" when there is none. */
void boxes_spell(struct buf *out, const struct recto_box *box, int n_box);

/* Where the page's blocks begin to go round: the first of three duplicates in a row, or block
 * 400 of a longer page; -1 when they do not.  The caller may stop reading there. */
int page_block_loop(const struct recto_page *page);

void block_reset(struct recto_block *b);

/* Put a copy of text at the end of the page's warnings. */
void page_add_warning(struct recto_page *p, const char *text);

#endif
