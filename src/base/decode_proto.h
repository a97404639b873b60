/* What recto and its helper program recto-decode say to each other, over one stream (the helper's
 * stdin and stdout).
 *
 *     helper -> recto   hello     once, when it is inside its sandbox
 *     recto  -> helper  request   then n_bytes bytes of the file
 *     helper -> recto   answer    then n_rgb bytes: RGB, rows from the top, without gaps
 *     ...                         request and answer alternate until recto closes the stream
 *
 * Whole numbers are little-endian, fields lie one after the other without gaps.  Each side checks
 * every field that it receives; recto treats the helper as hostile, since a hostile file may have
 * taken it over.  Fields are of 32 bits unless marked:
 *
 *     hello     12 bytes  magic "RDH1", version, flags (enum decode_sandbox)
 *     request   40 bytes  magic "RDQ1", kind (1: image), n_bytes 64, max_pixels 64, keep_pixels 64,
 *                         frame, flags (enum decode_how)
 *     answer   332 bytes  magic "RDA1", -code, width, height, declared_width, declared_height,
 *                         reduce, rows, orientation, flags (enum decode_flag), dpi_x, dpi_y,
 *                         n_frame, n_rgb 64, kind [16 bytes], text [256 bytes] */
#ifndef RECTO_BASE_DECODE_PROTO_H
#define RECTO_BASE_DECODE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECODE_VERSION       4
#define DECODE_HELLO_BYTES   12
#define DECODE_REQUEST_BYTES 40
#define DECODE_ANSWER_BYTES  332
#define DECODE_SIDE_MAX      100000 /* pixels, either side */
#define DECODE_DPI_MAX       100000
#define DECODE_FILE_MAX      ((uint64_t)1 << 29) /* bytes of one file */
#define DECODE_PIXELS_MAX    ((int64_t)DECODE_SIDE_MAX * DECODE_SIDE_MAX)
#define DECODE_FRAMES_MAX    10000
#define DECODE_COUNT_ONLY    DECODE_FRAMES_MAX /* as frame: how many are there? */
#define DECODE_KIND_MAX      16                /* with the NUL */
#define DECODE_TEXT_MAX      256

enum decode_sandbox { /* flags of hello: what the kernel could not give */
                      DECODE_NO_LANDLOCK = 1 << 0,
                      DECODE_NO_SECCOMP = 1 << 1,
                      DECODE_REFUSED = 1 << 2, /* strict: the helper ends after this hello */
};

enum decode_flag {                            /* flags of answer */
                   DECODE_TRUNCATED = 1 << 0, /* ends early: from `rows` on all is grey 127, or the
                                                 whole is coarse */
                   DECODE_CORRUPT = 1 << 1,   /* damaged inside, but all rows came out */
                   DECODE_ICC = 1 << 2,       /* has a colour profile, which was ignored */
                   DECODE_ALPHA =
                       1
                       << 3, /* had transparency: laid on white, or on grey 64 with the next flag */
                   DECODE_BACKDROP = 1 << 4, /* white lettering on transparency: laid on grey 64 */
                   DECODE_RETIRING =
                       1 << 5, /* the helper has used its time and ends after this answer */
                   DECODE_FLAGS_ALL = (1 << 6) - 1,
};

enum decode_how { /* flags of request */
                  DECODE_AS_PILLOW =
                      1
                      << 0, /* transparency is dropped, not laid on anything; grey of 16 bits is cut at
                                                255, not scaled */
                  DECODE_HOW_ALL = 1,
};

struct decode_hello {
    unsigned flags; /* enum decode_sandbox */
};

struct decode_request {
    uint64_t n_bytes;
    int64_t max_pixels; /* refuse a picture that declares more */
    int64_t
        keep_pixels; /* give back at most this many: reduce by a whole factor if there are more */
    unsigned how;    /* enum decode_how */
    int frame;       /* of a file with several, from 0; DECODE_COUNT_ONLY: no picture is wanted */
};

struct decode_answer {
    int code;          /* 0, or a RECTO_* error whose sentence is text; then all sizes are 0 */
    int width, height; /* of the picture that follows, as stored: orientation is not applied */
    int declared_width, declared_height; /* of the file */
    int reduce;                          /* factor between them, rounded up: 1 = untouched */
    int rows;                            /* rows of the file that could be decoded */
    int orientation;                     /* EXIF 1..8 */
    unsigned flags;                      /* enum decode_flag */
    int dpi_x, dpi_y;                    /* 0: unknown */
    int n_frame;                         /* in the file: pages of a TIFF, frames of a GIF */
    uint64_t n_rgb;                      /* width * height * 3 */
    char kind[DECODE_KIND_MAX];          /* "JPEG", "PNG"; printable ASCII */
    char text[DECODE_TEXT_MAX];          /* printable ASCII */
};

void decode_hello_pack(unsigned char out[DECODE_HELLO_BYTES], const struct decode_hello *h);
void decode_request_pack(unsigned char out[DECODE_REQUEST_BYTES], const struct decode_request *q);
void decode_answer_pack(unsigned char out[DECODE_ANSWER_BYTES], const struct decode_answer *a);

/* The inverses; RECTO_EFORMAT names the first field that cannot be. An answer is also checked
 * against its request: sizes within keep_pixels and max_pixels, and consistent with each other. */
int decode_hello_unpack(struct decode_hello *h, const unsigned char in[DECODE_HELLO_BYTES]);
int decode_request_unpack(struct decode_request *q, const unsigned char in[DECODE_REQUEST_BYTES]);
int decode_answer_unpack(struct decode_answer *a, const unsigned char in[DECODE_ANSWER_BYTES],
                         const struct decode_request *q);

#endif
