/* Resize an RGB picture with Pillow's bicubic filter, bit for bit.
 *
 * The model was trained on pictures that Pillow made smaller, and its tests compare views byte by
 * byte, so "a" bicubic filter will not do: this is the separable, antialiased Keys cubic (a = -0.5)
 * of python-pillow/Pillow src/libImaging/Resample.c: horizontal pass first, an intermediate rounded
 * to 8 bits, then the vertical pass, weights as integers of 22 fraction bits.  A pass whose size
 * does not change is skipped; equal sizes are a copy.
 *
 * For an axis of n input and m output samples (all in double):
 *     scale = n/m    fs = max(scale, 1)    support = 2 fs    center = (x + 0.5) scale
 *     x0 = max(0, trunc(center - support + 0.5))    x1 = min(n, trunc(center + support + 0.5))
 *     w[k] = K((k + x0 - center + 0.5) / fs), divided by their sum, then rounded to int32 at 2^22
 *     out = clamp((2^21 + sum W[k] in[x0+k]) >> 22, 0, 255) */
#ifndef RECTO_PAGE_RESIZE_H
#define RECTO_PAGE_RESIZE_H

/* in  [in_h][in_w][3], out [out_h][out_w][3], both row-major without gaps and not overlapping; all
 * sides >= 1. Memory: one intermediate of out_w x in_h pixels, freed before the return.
 * RECTO_ENOMEM. */
int resize_bicubic(unsigned char *out, int out_w, int out_h, const unsigned char *in, int in_w,
                   int in_h);

#endif
