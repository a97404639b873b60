/* The list of boxes between <|det|> and <|/det|>, read as data and never evaluated.
 *
 *   det   = ws "[" [ boxes ] [ "," ] "]" ws
 *   boxes = box { ws "," ws box }  |  four ints          a flat [a, b, c, d] is one box
 *   box   = "[" ws [ int ws "," ws int ws "," ws int ws "," ws int ws ] "]"
 *   int   = [ "-" ] digit { digit }                       1 to 6 digits
 *
 * Values are on the 0..999 grid; what lies outside is clamped, and is a fault unless within
 * -1..1000.  Corners in the wrong order are exchanged.  A box with other than four values, or
 * with values that are numbers but not such ints (floats, exponents, hex), is dropped and the
 * rest kept; anything else ends the list there. */
#ifndef RECTO_RESULT_BOXES_H
#define RECTO_RESULT_BOXES_H

#include "base/str.h"
#include "recto.h"

struct boxes {
    struct recto_box *box; /* owned by the caller */
    int n_box;
    enum recto_box_error error; /* syntax if the list broke off, else the first fault of a box */
    bool swapped, capped;
};

void boxes_read(str det, struct boxes *out);

/* Length of the front of s that is one bracketed list: through the "]" that closes it. 0 if s
 * does not begin with one. For a det marker that was never closed. */
size_t boxes_end(str s);

#endif
