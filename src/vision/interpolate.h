/* Learned positions brought to the grid of a smaller view; once, when a model is opened. */
#ifndef RECTO_VISION_INTERPOLATE_H
#define RECTO_VISION_INTERPOLATE_H

#include <stdbool.h>

/* in [from, from, c] -> new [to, to, c] (malloc'd): bicubic, a = -0.5, antialiased when shrinking, corners not aligned;
 * computed in fp32, then rounded to bf16 if the checkpoint is.  Source: get_abs_pos_sam in deepencoderv2/sam_vary_sdpa.py,
 * torch.nn.functional.interpolate(mode="bicubic", antialias=True). */
float *interpolate_positions(const float *in, int from, int to, int c, bool round_bf16);

/* in [from, c] -> new [to, c]: linear, corners not aligned, no antialiasing.  Source: get_rel_pos, same file. */
float *interpolate_rows(const float *in, int from, int to, int c, bool round_bf16);

#endif
