/* The structure around the data of PNG and JPEG files, for taking the data over into another file without decoding them.
 * The files are from outside; what is damaged or unusual is only refused here. */
#ifndef RECTO_BASE_PICTURE_HEAD_H
#define RECTO_BASE_PICTURE_HEAD_H

#include "base/str.h"

struct png_head {
    int width, height, depth; /* bits of a sample */
    int colour;               /* 0 grey, 2 RGB, 3 palette (PNG, 11.2.2) */
    str palette;              /* colour 3: 3 bytes an entry */
};

/* True if the file is a PNG whose samples are all there is to show: no alpha, no transparent colour, not interlaced. */
bool png_head(struct png_head *h, str file);
/* Its compressed data, the contents of all IDAT. Call after png_head. */
void png_data(struct buf *out, str file);

struct jpeg_head {
    int width, height;
    int components, precision; /* precision: bits */
    bool is_huffman;           /* not arithmetic, not lossless: every reader can decode it */
    bool is_adobe;             /* CMYK is inverted */
};

/* True if there is a frame header. */
bool jpeg_head(struct jpeg_head *h, str file);

#endif
