/* The decoders of recto-decode: bytes of a file in, an RGB raster out.  They know nothing of pipes
 * or sandboxes, so that a fuzzer can call them; all that may go wrong with hostile bytes goes wrong
 * below this function. */
#ifndef RECTO_HELPER_DECODE_H
#define RECTO_HELPER_DECODE_H

#include "base/decode_proto.h"
#include "base/str.h"
#include "helper/raster.h"

/* The bytes of a file, only read. */
struct file_bytes {
    const unsigned char *p;
    size_t n;
};

/* Decode one image, or frame q->frame of a file with several. *out gets the sizes, orientation, flags, resolution and kind; *rgb gets
 * out->n_rgb bytes, owned by the caller (free).  On failure *rgb is NULL and err_text() is the
 * sentence.  q->n_bytes is not used.
 *     RECTO_EEMPTY      no bytes at all
 *     RECTO_EKIND       a kind that is not read, or a variety of one
 *     RECTO_EPAGERANGE  there is no such frame
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
int decode_tiff(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb);
int decode_webp(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb);
int decode_gif(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);
int decode_bmp(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);
int decode_pnm(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);
int decode_jp2(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb);

/* Pages of a TIFF: its directories but previews and masks. RECTO_EDAMAGED when there is none. */
int tiff_count(struct file_bytes file);
/* Frames of an animation, at least 1; what is damaged ends the count. */
int gif_count(struct file_bytes file);
int webp_count(struct file_bytes file);

/* Has a file of n_frame frames the one that is asked for? RECTO_EPAGERANGE. */
int check_frame(const struct decode_request *q, int n_frame);

/* Refuse a declared size before anything is allocated for it: RECTO_EDAMAGED for an empty side,
 * RECTO_ETOOLARGE. */
int check_size(uint64_t width, uint64_t height, const struct decode_request *q);

/* The raster to RGB of the answer, after fault (NULL: none) ended the rows: what is missing becomes
 * grey, less than half is RECTO_ETRUNCATED, transparency is laid on its background, or dropped when
 * q asks for that. */
int finish_raster(struct raster *r, const char *fault, const struct decode_request *q,
                  struct decode_answer *out, unsigned char **rgb);

#endif
