#include "backend/cpu/attend.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

int head_dim_check(int64_t hd)
{
    if (hd < PANEL || hd % PANEL || hd > MAX_HEAD_DIM)
        return err(RECTO_ESHAPE,
                   "attention: a head of %lld numbers; this build takes multiples of %d up to %d",
                   (long long)hd, PANEL, MAX_HEAD_DIM);
    return 0;
}

/* ---- a worker's memory ----------------------------------------------------------------------- */
void tile_carve(struct tile *t, struct arena *a, int hd, int side)
{
    size_t f = sizeof(float), n = TILE_ROWS;

    *t = (struct tile){.hd = hd};
    t->limit = arena_take(a, n * sizeof *t->limit);
    t->raw = arena_take(a, n * (size_t)hd * f);
    t->q = arena_take(a, n * (size_t)hd * f);
    t->s = arena_take(a, n * STEP_KEYS * f);
    t->p = arena_take(a, n * STEP_KEYS * f);
    t->max = arena_take(a, n * f);
    t->sum = arena_take(a, n * f);
    t->o = arena_take(a, n * (size_t)hd * f);
    t->values = arena_take(a, STEP_KEYS * (size_t)hd * 2);
    if (!side)
        return;
    t->panels_across = (int)div_up(side, PANEL);
    t->bias_y_stride = side;
    t->bias_x_stride = t->panels_across * PANEL;
    t->bias_y = arena_take(a, n * (size_t)t->bias_y_stride * f);
    t->bias_x = arena_take(a, n * (size_t)t->bias_x_stride * f);
}

void tile_query(struct tile *t, int i, const float *src)
{
    memcpy(t->raw + (int64_t)i * t->hd, src, (size_t)t->hd * sizeof *src);
}

/* ---- the walk over keys ---------------------------------------------------------------------- */
static void product(const struct device *d, const struct mul *m)
{
    if (d->is_fp32)
        d->kern.mul_ff(m);
    else if (d->has_bb)
        d->kern.mul_bb(m);
    else
        d->kern.mul_fb(m);
}

static size_t input_size(const struct device *d)
{
    return d->has_bb ? 2 : 4;
}

/* q = raw / sqrt(hd), rounded if the products are bf16 */
static void scale_queries(const struct device *d, struct tile *t)
{
    float scale = 1.0f / sqrtf((float)t->hd),
          *q = d->has_bb ? t->o : t->q; /* o is free before the first step */
    int n = t->n * t->hd;

    for (int i = 0; i < n; i++)
        q[i] = t->raw[i] * scale;
    if (d->has_bb)
        d->kern.round_bf16(t->q, q, n);
}

/* Panels from key on that lie in one block, at most n. */
static int run_in_block(const struct head_keys *keys, int key, int n)
{
    return MIN(n, (keys->block_tok - key % keys->block_tok) / PANEL);
}

static int64_t block_at(const struct head_keys *keys, int key)
{
    return keys->block ? keys->block[key / keys->block_tok] * keys->block_bytes : 0;
}

/* Keys of the panel at `at`, and values. */
static const char *keys_at(const struct device *d, const struct tile *t,
                           const struct head_keys *keys, int at)
{
    return keys->k + block_at(keys, at) + (size_t)(at % keys->block_tok * t->hd) * key_size(d);
}

static const char *values_at(const struct device *d, const struct head_keys *keys, int at)
{
    return keys->v + block_at(keys, at) + (size_t)(at % keys->block_tok * PANEL) * key_size(d);
}

/* s = q K^T for rows from `first` on and n_panel panels from key on. The values of these keys are
 * wanted next. */
static void scores(const struct device *d, const struct tile *t, const struct head_keys *keys,
                   int first, int key, int n_panel)
{
    for (int p = 0, n; p < n_panel; p += n) {
        int at = key + p * PANEL;
        struct mul m = {.y = t->s + first * STEP_KEYS + p * PANEL,
                        .x = (const char *)t->q + (size_t)(first * t->hd) * input_size(d),
                        .w = keys_at(d, t, keys, at),
                        .y_stride = STEP_KEYS,
                        .x_stride = t->hd,
                        .w_stride = t->hd * PANEL,
                        .k = t->hd,
                        .rows = t->n - first,
                        .next = values_at(d, keys, at)};

        n = run_in_block(keys, at, n_panel - p);
        m.n_panel = n;
        product(d, &m);
    }
}

/* Values of a run of keys, and how many keys lie between two panels of them. */
struct values {
    const char *v;
    int block_tok;
};

/* o += p V for n panels of keys from panel p of the step on. */
static void weigh_run(const struct device *d, const struct tile *t, struct values from, int first,
                      int p, int n, const char *next)
{
    for (int c = 0; c < t->hd; c += MUL_PANELS * PANEL) {
        struct mul m = {.y = t->o + (int64_t)first * t->hd + c,
                        .x = (const char *)t->p +
                             (size_t)(first * STEP_KEYS + p * PANEL) * input_size(d),
                        .w = from.v + (size_t)(c * from.block_tok) * key_size(d),
                        .y_stride = t->hd,
                        .x_stride = STEP_KEYS,
                        .w_stride = (int64_t)from.block_tok * PANEL,
                        .k = n * PANEL,
                        .rows = t->n - first,
                        .n_panel = MIN(MUL_PANELS, (t->hd - c) / PANEL),
                        .add = true,
                        .next = next + (size_t)(c * n * PANEL) * key_size(d)};

        product(d, &m);
    }
}

/* A step's values out of blocks shorter than mul_step, side by side. */
static struct values gather_values(const struct device *d, const struct tile *t,
                                   const struct head_keys *keys, int key, int n_panel)
{
    size_t panel = PANEL * PANEL * key_size(d);

    for (int p = 0; p < n_panel; p++) {
        const char *v = values_at(d, keys, key + p * PANEL);

        for (int c = 0; c < t->hd / PANEL; c++)
            memcpy(t->values + (size_t)(c * MUL_PANELS + p) * panel,
                   v + (size_t)(c * keys->block_tok / PANEL) * panel, panel);
    }
    return (struct values){t->values, STEP_KEYS};
}

/* o += p V, one run of keys inside a block after the other. The keys of the next step are wanted
 * next: part of them with each panel of values. */
static void weigh(const struct device *d, const struct tile *t, const struct head_keys *keys,
                  int first, int key, int n_panel)
{
    int last = t->limit[t->n - 1] - 1;

    if (d->has_bb && keys->block_tok % d->kern.mul_step) {
        weigh_run(d, t, gather_values(d, t, keys, key, n_panel), first, 0, n_panel,
                  keys_at(d, t, keys, MIN(key + STEP_KEYS, last / PANEL * PANEL)));
        return;
    }
    for (int p = 0, n; p < n_panel; p += n) {
        int at = key + p * PANEL;

        n = run_in_block(keys, at, n_panel - p);
        weigh_run(d, t, (struct values){values_at(d, keys, at), keys->block_tok}, first, p, n,
                  keys_at(d, t, keys, MIN(at + STEP_KEYS, last / PANEL * PANEL)));
    }
}

/* Keys past a row's limit score -inf. Only rows whose limit falls into this step have any. */
static void mask(const struct tile *t, int first, int key, int n_panel)
{
    for (int r = first; r < t->n && t->limit[r] < key + n_panel * PANEL; r++)
        for (int j = t->limit[r] - key; j < n_panel * PANEL; j++)
            t->s[r * STEP_KEYS + j] = -INFINITY;
}

static void weights(const struct device *d, const struct tile *t, int first, int key, int n_panel)
{
    struct softmax a = {.s = t->s + first * STEP_KEYS,
                        .p = (char *)(d->has_bb ? t->p : t->s) +
                             (size_t)(first * STEP_KEYS) * input_size(d),
                        .p_is_bf16 = d->has_bb,
                        .max = t->max + first,
                        .sum = t->sum + first,
                        .o = t->o + (int64_t)first * t->hd,
                        .rows = t->n - first,
                        .n_panel = n_panel,
                        .o_width = t->hd};

    if (t->bias_y) {
        a.bias_y = t->bias_y + first * t->bias_y_stride;
        a.bias_x = t->bias_x + first * t->bias_x_stride;
        a.bias_y_stride = t->bias_y_stride;
        a.bias_x_stride = t->bias_x_stride;
        for (int i = 0; i < n_panel; i++) {
            a.panel_y[i] = (key / PANEL + i) / t->panels_across;
            a.panel_x[i] = (key / PANEL + i) % t->panels_across * PANEL;
        }
    }
    d->kern.softmax(&a);
}

void tile_attend(const struct device *d, struct tile *t, const struct head_keys *keys)
{
    int last = t->limit[t->n - 1], first = 0;

    if (!d->has_bb)
        t->p = t->s;
    scale_queries(d, t);
    d->kern.begin();
    memset(t->o, 0, (size_t)(t->n * t->hd) * sizeof *t->o);
    for (int r = 0; r < t->n; r++) {
        t->max[r] = -INFINITY;
        t->sum[r] = 0.0f;
    }
    for (int key = 0; key < last; key += STEP_KEYS) {
        int n_panel = (int)div_up(MIN(STEP_KEYS, last - key), PANEL);

        while (t->limit[first] <=
               key) /* limits do not fall: the finished rows are the first ones */
            first++;
        scores(d, t, keys, first, key, n_panel);
        mask(t, first, key, n_panel);
        weights(d, t, first, key, n_panel);
        weigh(d, t, keys, first, key, n_panel);
    }
    d->kern.end();
    for (int r = 0; r < t->n; r++) {
        float inv = 1.0f / t->sum[r];

        for (int c = 0; c < t->hd; c++)
            t->o[r * t->hd + c] *= inv;
    }
}

/* ---- keys and values into panels ------------------------------------------------------------- */
static void pack16_f32(float *k, float *v, int block_tok, int off, int hd,
                       const float *const k_row[PANEL], const float *const v_row[PANEL])
{
    for (int i = 0; i < PANEL; i++)
        for (int c = 0; c < hd; c++) {
            k[(off / PANEL * hd + c) * PANEL + i] = k_row[i] ? k_row[i][c] : 0.0f;
            v[(c / PANEL * block_tok + off + i) * PANEL + c % PANEL] = v_row[i] ? v_row[i][c]
                                                                                : 0.0f;
        }
}

static void round16(const struct device *d, uint16_t half[PANEL][MAX_HEAD_DIM], int hd,
                    const float *const row[PANEL])
{
    for (int i = 0; i < PANEL; i++)
        if (row[i])
            d->kern.round_bf16(half[i], row[i], hd);
        else
            memset(half[i], 0, (size_t)hd * sizeof half[i][0]);
}

static void pack16_k(uint16_t *k, int hd, uint16_t half[PANEL][MAX_HEAD_DIM])
{
    for (int c = 0; c < hd; c += 2)
        for (int i = 0; i < PANEL; i++)
            memcpy(k + c * PANEL + 2 * i, &half[i][c], 2 * sizeof *k);
}

static void pack16_v(uint16_t *v, int block_tok, int hd, uint16_t half[PANEL][MAX_HEAD_DIM])
{
    for (int c = 0; c < hd; c += PANEL)
        for (int i = 0; i < PANEL; i += 2)
            for (int j = 0; j < PANEL; j++) {
                v[c * block_tok + i * PANEL + 2 * j] = half[i][c + j];
                v[c * block_tok + i * PANEL + 2 * j + 1] = half[i + 1][c + j];
            }
}

void keys_pack16(const struct device *d, char *k, char *v, int block_tok, int off, int hd,
                 const float *const k_row[PANEL], const float *const v_row[PANEL])
{
    uint16_t half[PANEL][MAX_HEAD_DIM];

    if (d->is_fp32) {
        pack16_f32((float *)(void *)k, (float *)(void *)v, block_tok, off, hd, k_row, v_row);
        return;
    }
    round16(d, half, hd, k_row);
    pack16_k((uint16_t *)(void *)k + off * hd, hd, half);
    round16(d, half, hd, v_row);
    pack16_v((uint16_t *)(void *)v + off * PANEL, block_tok, hd, half);
}

void keys_pack1(const struct device *d, char *k, char *v, int block_tok, int off, int hd,
                const float *k_row, const float *v_row)
{
    int lane = off % PANEL;

    if (d->is_fp32) {
        float *kf = (float *)(void *)k + (off - lane) * hd + lane,
              *vf = (float *)(void *)v + off * PANEL;

        for (int c = 0; c < hd; c++) {
            kf[c * PANEL] = k_row[c];
            vf[c / PANEL * PANEL * block_tok + c % PANEL] = v_row[c];
        }
    } else {
        uint16_t *kb = (uint16_t *)(void *)k + (off - lane) * hd + 2 * lane, half[MAX_HEAD_DIM];
        uint16_t *vb = (uint16_t *)(void *)v + off / 2 * 2 * PANEL + off % 2;

        d->kern.round_bf16(half, k_row, hd);
        for (int c = 0; c < hd; c++)
            kb[c / 2 * 2 * PANEL + c % 2] = half[c];
        d->kern.round_bf16(half, v_row, hd);
        for (int c = 0; c < hd; c++)
            vb[c / PANEL * PANEL * block_tok + 2 * (c % PANEL)] = half[c];
    }
}
