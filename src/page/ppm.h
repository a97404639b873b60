/* Binary PPM (P6, 8 bits): the one kind read without the helper program, so that a machine without
 * it can read pages that were rendered elsewhere. Small enough to be safe in this process: a header
 * of three numbers, then the bytes. Source: Netpbm ppm(5). Only one picture a file, only maxval
 * 255. */
#ifndef RECTO_PAGE_PPM_H
#define RECTO_PAGE_PPM_H

#include "recto.h"

bool ppm_is(const void *data, size_t n); /* starts with "P6" and white space */
/* RECTO_EDAMAGED, RECTO_EKIND (maxval), RECTO_ETOOLARGE (sides, max_pixels), RECTO_ETRUNCATED
 * (fewer than half of the rows), RECTO_ENOMEM. *rows is the number of whole rows in the file; the
 * missing ones are grey 127. */
int ppm_parse(struct recto_image *out, int *rows, const void *data, size_t n, int64_t max_pixels);

#endif
