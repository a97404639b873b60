/* The two facts we want from an EXIF block: how the picture is to be turned, and its resolution.
 * Source: CIPA DC-008 (EXIF 2.32) 4.6, TIFF 6.0 section 2: a TIFF header, then the first directory
 * of 12-byte entries. */
#ifndef RECTO_HELPER_EXIF_H
#define RECTO_HELPER_EXIF_H

#include <stddef.h>

struct exif {
    int orientation;  /* 1..8; 1 when absent or wrong */
    int dpi_x, dpi_y; /* 0: not given */
};

/* p: n bytes from the TIFF header ("II*\0" or "MM\0*") on, as in PNG's eXIf; JPEG's APP1 has
 * "Exif\0\0" before it, which is skipped. Damage is not an error: what cannot be read stays at its
 * default. Only the first directory is looked at. */
struct exif exif_read(const unsigned char *p, size_t n);

#endif
