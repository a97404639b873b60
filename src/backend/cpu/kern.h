/* The inner kernels of the CPU: one record, filled once when a device opens.
 *
 * kern_c.c fills every slot in portable C; each instruction set then overrides what it does better.
 * All matrix products of the program, attention included, are the three `mul` slots over one layout
 * of the right-hand matrix:
 *
 *   panel      16 output columns side by side
 *   fp32       [n / 16][k][16] float
 *   bf16       [n / 16][k / 2][16][2] bf16: two steps of k next to each other, as VDPBF16PS reads
 *              them; k is padded to even and n to 16, both with zeros
 *
 * Every output is summed over k in rising order (in mul_bb by groups of mul_step), whatever rows and
 * n_panel are, so a row gives the same bits alone or among others.
 *
 * The row kernels are one source, kern_rows.h, compiled once for each instruction set; sums run
 * over 16 lanes and then a fixed tree.  They differ between sets only where FMA replaces a product
 * and a sum. */
#ifndef RECTO_BACKEND_CPU_KERN_H
#define RECTO_BACKEND_CPU_KERN_H

#include <stdbool.h>
#include <stdint.h>

#define PANEL      16 /* columns of a panel                           */
#define MUL_PANELS 4  /* panels a mul takes at most                   */
#define STEP_KEYS  64 /* keys of an attention step: MUL_PANELS panels */
#define CHUNK_MOST 32 /* rows of a product whose sums are kept near       */

/* y[r][p * 16 + j] (+)= sum over k of x[r][k] * w[p][k][j] */
struct mul {
    float *y;
    const void *x, *w;
    int64_t y_stride, x_stride; /* elements between rows                         */
    int64_t w_stride;           /* elements between panels                       */
    int64_t k;                  /* even in mul_bb, any number >= 1 in the others */
    int rows, n_panel;          /* rows >= 1, 1 <= n_panel <= MUL_PANELS         */
    bool add;                   /* start from y instead of 0                     */
    /* Panels with the same stride that will be wanted after these, or NULL: a kernel may ask for
     * their lines while it multiplies. */
    const void *next;
};

/* Products by weights of 8 and 4 bits (tensor/quant.h) are sums of whole numbers, exact within a
 * group, so that every set gives the same: inputs become whole numbers of 16 bits, too, with a scale
 * for each group, which is finer than bf16 for all but what is 1/256 of the group's largest.
 *
 *     y[r][j] (+)= sum over groups g of (sum over k in g of q_x q_w) * (scale_w[g][j] * scale_x[g])
 *
 *   x       a row is [n_group] struct quant_head, padded to 64 bytes, then n_group * group numbers of 16
 *           bits in an order of the set's own; written by `quantise`, padded with zeros
 *   panel   [n_group][16] scale, bf16, padded to 64 bytes; then
 *   int8    [k / 4][16][4] q + 128
 *   int4    [k / 8][16][4] (q + 8) of k .. k + 3 in the low halves, of k + 4 .. k + 7 in the high
 *
 * In a struct mul for these all of x_stride and w_stride are bytes, and k counts groups. */
struct quant_head {
    float scale;
    int32_t start; /* quant_start of the group's numbers */
};

/* What a sum over a group begins with, to take away what + 128 and + 8 added: sum is that of its
 * inputs. */
static inline int32_t quant_start(int32_t sum, int group)
{
    return -(group == 64 ? 128 : 8) * sum;
}

#define QUANT_INPUT_MAX 32639 /* 127 * 256 + 127: both halves of it are signed bytes */

static inline int64_t quant_head_bytes(int64_t n_group)
{
    return (n_group * (int64_t)sizeof(struct quant_head) + 63) / 64 * 64;
}
static inline int64_t quant_input_bytes(int64_t n_group, int group)
{
    return quant_head_bytes(n_group) + n_group * 2 * group;
}
static inline int64_t quant_scale_bytes(int64_t n_group)
{
    return (n_group * PANEL * 2 + 63) / 64 * 64;
}

/* One step of the online softmax over n_panel * 16 keys for each row (Milakov and Gimelshein 2018,
 * "Online normalizer calculation for softmax"): scores become weights, maximum and sum are updated,
 * the output so far is rescaled to the new maximum. */
struct softmax {
    /* [rows][STEP_KEYS] scores, already scaled; -inf: masked, weight exactly 0; one is finite */
    float *s;
    /* [rows][STEP_KEYS] weights out, bf16 or fp32; fp32 may be s */
    void *p;
    bool p_is_bf16;
    float *max, *sum;           /* [rows] running maximum (first -inf), sum of weights (first 0) */
    float *o;                   /* [rows][o_width] running output                                */
    int rows, n_panel, o_width; /* o_width is a multiple of 16                                   */
    /* Position bias, or NULL: panel i of the step adds, lane by lane,
     * bias_y[r][panel_y[i]] + bias_x[r][panel_x[i] + lane] */
    const float *bias_y, *bias_x;
    int bias_y_stride, bias_x_stride; /* elements between rows */
    int panel_y[MUL_PANELS], panel_x[MUL_PANELS];
};

struct cpu_kern {
    const char *name;

    /* x fp32 and w fp32; x fp32 and w bf16, exact products; x bf16 and w bf16, which is exact and
     * slow where has_bb is false */
    void (*mul_ff)(const struct mul *m);
    void (*mul_fb)(const struct mul *m);
    void (*mul_bb)(const struct mul *m);
    bool has_bb; /* mul_bb is faster than mul_fb: products may be taken in bf16 */
    /* A sum of mul_bb cut in two calls keeps its bits if the first has a multiple of mul_step k. */
    int mul_step;
    int chunk_rows; /* rows that suit the products, at most CHUNK_MOST */
    /* A thread begins a run of products, and ends it: a set may keep a state of the processor in
     * between.  Products are right outside such a run, too. */
    void (*begin)(void);
    void (*end)(void);

    /* Inputs of int8 and int4 weights, and products by them */
    void (*quantise)(void *row, const float *x, int64_t n, int group);
    void (*mul_q8)(const struct mul *m);
    void (*mul_q4)(const struct mul *m);

    /* To where nobody reads soon: past the caches, if the set knows how. Others see it after `end`. */
    void (*copy_far)(float *y, const float *x, int64_t n);
    /* To nearest, ties to even; a NaN stays one; subnormals may become 0. */
    void (*round_bf16)(uint16_t *y, const float *x, int64_t n);
    /* One row: x / sqrt(mean x^2 + eps) * w, and (x - mean) / sqrt(variance + eps) * w + b */
    void (*rmsnorm)(float *y, const float *x, const float *w, int64_t n, float eps);
    void (*layernorm)(float *y, const float *x, const float *w, const float *b, int64_t n,
                      float eps);
    /* x * Phi(x) in the exact form; y may be x */
    void (*gelu)(float *y, const float *x, int64_t n);
    /* gate / (1 + e^-gate) * up; y may be gate or up */
    void (*swiglu)(float *y, const float *gate, const float *up, int64_t n);
    void (*softmax)(const struct softmax *a);
    /* e^x; 0 below -87.3, at most 2^127 */
    void (*exp)(float *y, const float *x, int64_t n);
};

/* Sets in rising order; each includes the ones before it. */
enum cpu_isa { ISA_C, ISA_AVX2, ISA_AVX512, ISA_AVX512VNNI, ISA_AVX512BF16, ISA_AMX, N_ISA };

extern const struct cpu_kern cpu_kern_c;
/* Portable slots of the products by int8 and int4 weights */
void cpu_quant_c(struct cpu_kern *k);

/* Highest set that this CPU and its operating system can run. */
enum cpu_isa cpu_isa_present(void);
/* "c", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx" */
const char *cpu_isa_name(enum cpu_isa isa);
/* Fill every slot for a set that is present. */
void cpu_kern_init(struct cpu_kern *k, enum cpu_isa isa);

#if defined(__x86_64__)
enum cpu_isa cpu_isa_x86(void);
void cpu_kern_init_x86(struct cpu_kern *k, enum cpu_isa isa);
void cpu_kern_avx2(struct cpu_kern *k);
void cpu_kern_avx512(struct cpu_kern *k);
void cpu_kern_avx512bf16(struct cpu_kern *k);
void cpu_kern_amx(struct cpu_kern *k);
void cpu_quant_avx2(struct cpu_kern *k);
void cpu_quant_vnni(struct cpu_kern *k);
void cpu_quant_amx(struct cpu_kern *k);
/* Those of cpu_quant_vnni */
void vnni_mul_q8(const struct mul *m);
void vnni_mul_q4(const struct mul *m);
#endif

#endif
