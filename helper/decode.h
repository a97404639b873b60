/* The decoders of recto-decode: bytes of a file in, an RGB raster out.  They know nothing of pipes
 * or sandboxes, so that a fuzzer can call them; all that may go wrong with hostile bytes goes wrong
 * below this function. */
#ifndef RECTO_HELPER_DECODE_H
#define RECTO_HELPER_DECODE_H

#include "base/decode_proto.h"
#include "base/str.h"

/* The bytes of a file, only read. */
struct file_bytes {
    const unsigned char *p;
    size_t n;
};

/* Decode one image. *out gets the sizes, orientation, flags, resolution and kind; *rgb gets
 * out->n_rgb bytes, owned by the caller (free).  On failure *rgb is NULL and err_text() is the
 * sentence.  q->n_bytes is not used.
 *     RECTO_EEMPTY      no bytes at all
 *     RECTO_EKIND       neither JPEG nor PNG, or a variety of them that cannot be read
 *     RECTO_ETOOLARGE   a side over 100000, more than q->max_pixels, or more memory than there is
 *     RECTO_EDAMAGED    no header that makes sense
 *     RECTO_ETRUNCATED  fewer than half of the rows could be decoded */
int decode_image(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                 unsigned char **rgb);

/* One per kind; called with a file that starts as that kind does. They fill `out` and `rgb` as
 * above. */
int decode_jpeg(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb);
int decode_png(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);

/* What the first bytes say the file is: "JPEG", "PNG", "PDF", "a web page (HTML)"...; "unknown
 * data" if nothing fits. */
const char *kind_of(struct file_bytes file);

/* Refuse a declared size before anything is allocated for it: RECTO_EDAMAGED for an empty side,
 * RECTO_ETOOLARGE. */
int check_size(uint64_t width, uint64_t height, const struct decode_request *q);

#endif
