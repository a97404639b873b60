#include "backend/sim/sim.h"

#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What recto itself takes on a machine. */
struct measured {
    double tile_ms, global_ms;       /* a view among those of a page */
    double prompt_ms, prompt_row_ms; /* a step with prompts, and each row of them */
    struct {
        int rows;
        double ms;
    } decode
        [8]; /* a step of so many decoding rows at a context of 1430, between two of them by a straight line */
};

struct machine {
    const char *name;
    double flops, bytes; /* a second, as reached by tuned kernels */
    double launch_s;     /* of one op */
    int view_batch;
    const struct measured *measured; /* NULL: by flops, bytes and launch_s */
};

/* bench/results/h200.md; views by the page with four together. A global view counts as two tiles. */
static const struct measured h200_measured = {
    12.70 / 8,
    12.70 / 4,
    2.70,
    1.73e-3,
    {{1, 0.830}, {8, 1.608}, {32, 3.105}, {100, 4.832}, {256, 8.752}, {512, 14.965}}};

/* H200: 776 TFLOP/s and 4.23 TB/s measured, of which 60 % and 75 % are expected. A100: 312 and 2.0 by its data sheet, same
 * shares. Two Zen 4 cores: 451 GFLOP/s and 29 GB/s measured, 75 % and 95 %. */
static const struct machine machines[] = {
    {"h200", 776e12 * 0.60, 4.23e12 * 0.75, 1.0e-6, 24, NULL},
    {"a100", 312e12 * 0.60, 2.0e12 * 0.75, 1.5e-6, 16, NULL},
    {"cpu2", 451e9 * 0.75, 29e9 * 0.95, 2e-6, 1, NULL},
    {"h200-measured", 0, 0, 0, 28, &h200_measured},
};

struct device {
    const struct machine *machine;
    double now_s;
    int64_t held;
    uint64_t break_every;
};

struct kv {
    struct kv_shape shape;
};

/* Every block is preceded by its size. */
struct held {
    size_t bytes;
    char pad[48];
};

static void spend(struct device *d, double flop, double bytes)
{
    const struct machine *m = d->machine;

    if (!m->measured)
        d->now_s += fmax(flop / m->flops, bytes / m->bytes) + m->launch_s;
}

/* A group of views, at its first op. */
static void spend_views(struct device *d, tensor pixels)
{
    const struct measured *m = d->machine->measured;

    if (m)
        d->now_s += (double)pixels.n[0] * (pixels.n[1] > 768 ? m->global_ms : m->tile_ms) / 1e3;
}

static double decode_ms(const struct measured *m, int rows)
{
    int i = 1;

    while (m->decode[i + 1].rows && rows > m->decode[i].rows)
        i++;
    return m->decode[i].ms + (m->decode[i].ms - m->decode[i - 1].ms) * (rows - m->decode[i].rows) /
                                 (m->decode[i].rows - m->decode[i - 1].rows);
}

/* A step's rows, at its first attention. Rows of both kinds cost what they cost apart. */
static void spend_rows(struct device *d, const struct batch *b)
{
    const struct measured *m = d->machine->measured;
    int n_decode = 0, n_prompt;

    for (int s = 0; s < b->n_seq; s++)
        n_decode += b->seq_row[s + 1] - b->seq_row[s] == 1;
    n_prompt = b->n_tok - n_decode;
    d->now_s += ((n_decode ? decode_ms(m, n_decode) : 0) +
                 (n_prompt ? m->prompt_ms + n_prompt * m->prompt_row_ms : 0)) /
                1e3;
}

static double size_of(tensor t)
{
    return (double)tensor_count(t) * (double)dtype_size(t.dtype);
}

/* ---- device ---------------------------------------------------------------------------------------------------------- */

static int sim_open(struct device **out, const struct device_opts *o)
{
    const char *name = o->name ? strchr(o->name, ':') : NULL;

    *out = NULL;
    for (size_t i = 0; name && i < COUNT(machines); i++)
        if (strcmp(machines[i].name, name + 1) == 0) {
            *out = mem_zero(1, sizeof **out);
            (*out)->machine = &machines[i];
            return 0;
        }
    return err(
        RECTO_EUSAGE,
        "device: simulated machines are sim:h200, sim:a100, sim:cpu2 and sim:h200-measured, not '%s'",
        o->name ? o->name : "");
}

static void sim_close(struct device *d)
{
    free(d);
}

static void sim_info(const struct device *d, struct device_info *info)
{
    *info = (struct device_info){.precision = "bf16",
                                 .kv_block_tok = 64,
                                 .view_batch = d->machine->view_batch,
                                 .act = DT_BF16};
    snprintf(info->kernels, sizeof info->kernels, "simulated %s", d->machine->name);
}

/* Addresses that nothing may follow: what is handed out is a header of bookkeeping. */
static int sim_alloc(struct device *d, size_t bytes, void **out)
{
    struct held *h = mem_zero(1, sizeof *h);

    h->bytes = bytes;
    d->held += (int64_t)bytes;
    *out = h;
    return 0;
}

static void sim_free(struct device *d, void *p)
{
    struct held *h = p;

    if (h)
        d->held -= (int64_t)h->bytes;
    free(h);
}

static int sim_move(struct device *d, void *dst, const void *src, size_t bytes)
{
    return 0;
}

static int sim_finish(struct device *d)
{
    return 0;
}

static int sim_pack(struct device *d, struct weight *w, const void *src, enum dtype dtype,
                    int64_t n_out, int64_t n_in, bool force_f32)
{
    w->n_out = n_out;
    w->n_in = n_in;
    w->kind = force_f32 ? WEIGHT_F32 : WEIGHT_BF16;
    w->bytes = n_out * n_in * (force_f32 ? 4 : 2);
    return sim_alloc(d, (size_t)w->bytes, &w->data);
}

static int64_t sim_now_ns(struct device *d)
{
    return (int64_t)(d->now_s * 1e9);
}

void sim_wait_until(struct device *d, int64_t t_ns)
{
    d->now_s = fmax(d->now_s, (double)t_ns * 1e-9);
}

void sim_break_pages(struct device *d, uint64_t every)
{
    d->break_every = every;
}

int64_t sim_bytes(const struct device *d)
{
    return d->held;
}

/* ---- ops: bytes and operations of each; sources of the counts: the shapes of backend.h ------------------------------- */

static int sim_rmsnorm(struct device *d, tensor y, tensor x, tensor w, float eps)
{
    spend(d, 0, size_of(x) + size_of(y));
    return 0;
}

static int sim_layernorm(struct device *d, tensor y, tensor x, tensor w, tensor b, float eps)
{
    spend(d, 0, size_of(x) + size_of(y));
    return 0;
}

static int sim_swiglu(struct device *d, tensor y, tensor gate, tensor up)
{
    spend(d, 0, 3 * size_of(y));
    return 0;
}

static int sim_add_cyclic(struct device *d, tensor x, tensor p)
{
    spend(d, 0, 2 * size_of(x));
    return 0;
}

static int sim_rope(struct device *d, tensor x, tensor pos, tensor table)
{
    spend(d, 0, 2 * size_of(x));
    return 0;
}

static int sim_gather(struct device *d, tensor y, tensor x, tensor row)
{
    spend(d, 0, 2 * size_of(y));
    return 0;
}

static int sim_copy(struct device *d, tensor y, tensor x)
{
    spend(d, 0, size_of(x) + size_of(y));
    return 0;
}

static int sim_embed(struct device *d, tensor x, tensor table, tensor id)
{
    spend(d, 0, 2 * size_of(x));
    return 0;
}

static double weight_flop(const struct weight *w, double rows)
{
    return 2 * rows * (double)w->n_out * (double)w->n_in;
}

static int sim_linear(struct device *d, tensor y, tensor x, const struct weight *w,
                      enum linear_mode mode)
{
    spend(d, weight_flop(w, (double)x.n[0]), size_of(x) + size_of(y) + (double)w->bytes);
    return 0;
}

static int sim_linear_swiglu(struct device *d, tensor y, tensor x, const struct weight *gate,
                             const struct weight *up)
{
    spend(d, 2 * weight_flop(gate, (double)x.n[0]),
          size_of(x) + size_of(y) + 2 * (double)gate->bytes);
    return 0;
}

/* Experts that a step of so many rows reads, when rows choose evenly: E (1 - (1 - k/E)^rows). */
static int sim_moe(struct device *d, tensor y, tensor h, const struct moe *m)
{
    double rows = (double)h.n[0], all = m->n_expert, part = m->n_pick / all;
    double touched = all * (1 - pow(1 - part, rows));
    double expert = (double)(m->gate[0].bytes + m->up[0].bytes + m->down[0].bytes);
    double flop = 3 * weight_flop(&m->gate[0], rows * m->n_pick) +
                  3 * weight_flop(&m->shared_gate, rows);
    double shared = (double)(m->shared_gate.bytes + m->shared_up.bytes + m->shared_down.bytes);

    spend(d, flop, touched * expert + shared + (double)m->router.bytes + 2 * size_of(h));
    return 0;
}

static int sim_patches(struct device *d, tensor out, tensor pixels, int patch)
{
    spend(d, 0, size_of(out) + size_of(pixels));
    spend_views(d, pixels);
    return 0;
}

static int sim_im2col(struct device *d, tensor out, tensor x, int stride)
{
    spend(d, 0, size_of(out) + size_of(x));
    return 0;
}

static int sim_attend_relpos(struct device *d, tensor out, tensor qkv, const float *bias,
                             tensor rel_h, tensor rel_w, int grid, int window, int n_head)
{
    double keys = window ? (double)window * window : (double)grid * grid, width = (double)out.n[1];

    spend(d, 4 * (double)out.n[0] * keys * width, size_of(qkv) + size_of(out));
    return 0;
}

static int sim_attend_prefix(struct device *d, tensor out, tensor q, tensor k, tensor val, int len,
                             int n_prefix, int n_head, int n_kv)
{
    spend(d, 4 * (double)q.n[0] * 0.62 * len * (double)q.n[1],
          size_of(q) + 2 * size_of(k) + size_of(out));
    return 0;
}

static int sim_sample(struct device *d, tensor logits, const struct sample_ask *ask,
                      struct choice *next)
{
    int64_t n = logits.n[0], vocab = logits.n[1];

    spend(d, 0, size_of(logits));
    for (int64_t i = 0; i < n; i++) {
        int at = ask[i].n_id - ask[i].n_prompt;

        if (d->break_every && ask[i].image % d->break_every == 0)
            return err(RECTO_EDEVICE, "device: simulated fault of one page");
        next[i].id = at < sim_page_length(ask[i].image) ? sim_page_id(ask[i].image, at, (int)vocab)
                                                        : ask[i].eos;
        next[i] = (struct choice){.id = next[i].id, .best = next[i].id, .sum = 1};
    }
    return 0;
}

/* ---- cache ----------------------------------------------------------------------------------------------------------- */

static int64_t sim_kv_bytes(struct device *d, const struct kv_shape *s)
{
    return (int64_t)s->n_block * s->block_tok * s->n_layer * s->n_head * s->head_dim * 2 * 2;
}

static int sim_kv_open(struct device *d, struct kv **out, const struct kv_shape *s)
{
    *out = mem_zero(1, sizeof **out);
    (*out)->shape = *s;
    return 0;
}

static void sim_kv_close(struct device *d, struct kv *kv)
{
    free(kv);
}

static int sim_kv_store(struct device *d, struct kv *kv, int layer, tensor k, tensor v,
                        const struct batch *b)
{
    spend(d, 0, 4 * size_of(k));
    return 0;
}

static int sim_attend(struct device *d, tensor out, tensor q, struct kv *kv, int layer,
                      const struct batch *b)
{
    double row = (double)kv->shape.n_head * kv->shape.head_dim, keys = 0, pairs = 0;

    for (int s = 0; s < b->n_seq; s++) {
        int n = b->seq_row[s + 1] - b->seq_row[s];

        keys += b->seq_len[s];
        pairs += (double)n * (b->seq_len[s] - (n - 1) / 2.0);
    }
    spend(d, 4 * pairs * row, keys * row * 2 * 2 + 2 * size_of(q));
    if (d->machine->measured && layer == 0)
        spend_rows(d, b);
    return 0;
}

/* ---- the script ------------------------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

int sim_page_length(uint64_t image)
{
    return image >> 63 ? 600 : 100 + (int)(mix(image) % 1001);
}

int32_t sim_page_id(uint64_t image, int i, int vocab)
{
    return 2 +
           (int32_t)(mix(image + 0x9E3779B97F4A7C15u * (uint64_t)(i + 1)) % (uint64_t)(vocab - 2));
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* "script:FILE": as a simulated machine, but on the machine's own clock; ids come from FILE (decoder/script.h). */
static int scripted_open(struct device **out, const struct device_opts *o)
{
    *out = NULL;
    if (!o->name || strncmp(o->name, "script:", 7) != 0 || !o->name[7])
        return err(RECTO_EUSAGE, "device: expected script:FILE, not '%s'", o->name ? o->name : "");
    *out = mem_zero(1, sizeof **out);
    (*out)->machine = &machines[0];
    return 0;
}

static void scripted_info(const struct device *d, struct device_info *info)
{
    sim_info(d, info);
    snprintf(info->kernels, sizeof info->kernels, "none: text is scripted");
    snprintf(info->precision, sizeof info->precision, "none");
}

#define OPS                                                                               \
    .close = sim_close, .alloc = sim_alloc, .free = sim_free, .upload = sim_move,         \
    .download = sim_move, .finish = sim_finish, .pack = sim_pack, .rmsnorm = sim_rmsnorm, \
    .layernorm = sim_layernorm, .swiglu = sim_swiglu, .add_cyclic = sim_add_cyclic,       \
    .rope = sim_rope, .gather_rows = sim_gather, .copy = sim_copy, .embed = sim_embed,    \
    .linear = sim_linear, .linear_swiglu = sim_linear_swiglu, .moe_add = sim_moe,         \
    .patches = sim_patches, .im2col = sim_im2col, .attend_relpos = sim_attend_relpos,     \
    .attend_prefix = sim_attend_prefix, .kv_open = sim_kv_open, .kv_close = sim_kv_close, \
    .kv_bytes = sim_kv_bytes, .kv_store = sim_kv_store, .attend = sim_attend

const struct backend backend_sim = {
    .name = "sim",
    .is_simulated = true,
    .open = sim_open,
    .info = sim_info,
    .sample = sim_sample,
    .now_ns = sim_now_ns,
    OPS,
};

const struct backend backend_script = {
    .name = "script",
    .is_simulated = true,
    .is_scripted = true,
    .open = scripted_open,
    .info = scripted_info,
    OPS,
};
