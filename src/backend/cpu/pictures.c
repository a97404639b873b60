/* Pixels and feature maps as rows that a matrix product can take: a convolution is its patches
 * times its weights. */
#include "backend/cpu/cpu.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

struct patch_job {
    float *out;
    const uint8_t *pixels;
    int64_t side; /* S */
    int patch;
    float value[256]; /* of each byte */
};

/* One patch: channel, then row, then column. */
static void patch_row(const struct patch_job *j, float *out, const uint8_t *corner)
{
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < j->patch; y++)
            for (int x = 0; x < j->patch; x++)
                *out++ = j->value[corner[(y * j->side + x) * 3 + c]];
}

static void patch_rows(void *ctx, int64_t from, int64_t to)
{
    const struct patch_job *j = ctx;
    int64_t g = j->side / j->patch, width = 3 * (int64_t)j->patch * j->patch;

    for (int64_t r = from; r < to; r++) {
        int64_t view = r / (g * g), y = r / g % g * j->patch, x = r % g * j->patch;

        patch_row(j, j->out + r * width, j->pixels + ((view * j->side + y) * j->side + x) * 3);
    }
}

/* (u / 255 - 0.5) / 0.5 in the order of operations of the reference: ToTensor, then
 * Normalize(0.5, 0.5). */
int cpu_patches(struct device *d, tensor out, tensor pixels, int patch)
{
    struct patch_job j = {
        .out = out.data, .pixels = pixels.data, .side = pixels.n[1], .patch = patch};

    if (patch < 1 || pixels.n[1] % patch || pixels.n[1] != pixels.n[2] || pixels.n[3] != 3)
        return err(RECTO_ESHAPE, "patches: a view is not a square of whole patches of %d pixels",
                   patch);
    for (int u = 0; u < 256; u++)
        j.value[u] = ((float)u / 255.0f - 0.5f) / 0.5f;
    cpu_rows(d, patch_rows, &j, out.n[0], out.n[1]);
    return 0;
}

struct im2col_job {
    float *out;
    const float *x;
    int64_t h, w, c, h_out, w_out;
    int stride;
};

/* The 3 pixels around (y, x0 + 1): memory order is already (kx, c), so inside the picture it is
 * one copy. */
static void im2col_line(const struct im2col_job *j, float *out, const float *view, int64_t y,
                        int64_t x0)
{
    size_t pixel = (size_t)j->c * sizeof *out;

    for (int64_t x = x0; x < x0 + 3; x++, out += j->c)
        if (y < 0 || y >= j->h || x < 0 || x >= j->w)
            memset(out, 0, pixel);
        else
            memcpy(out, view + (y * j->w + x) * j->c, pixel);
}

static void im2col_rows(void *ctx, int64_t from, int64_t to)
{
    const struct im2col_job *j = ctx;

    for (int64_t r = from; r < to; r++) {
        int64_t view = r / (j->h_out * j->w_out), y = r / j->w_out % j->h_out, x = r % j->w_out;

        for (int ky = 0; ky < 3; ky++)
            im2col_line(j, j->out + (r * 9 + ky * 3) * j->c, j->x + view * j->h * j->w * j->c,
                        y * j->stride + ky - 1, x * j->stride - 1);
    }
}

int cpu_im2col(struct device *d, tensor out, tensor x, int stride)
{
    struct im2col_job j = {
        .out = out.data, .x = x.data, .h = x.n[1], .w = x.n[2], .c = x.n[3], .stride = stride};

    j.h_out = (j.h - 1) / stride + 1;
    j.w_out = (j.w - 1) / stride + 1;
    cpu_rows(d, im2col_rows, &j, x.n[0] * j.h_out * j.w_out, 9 * j.c);
    return 0;
}
