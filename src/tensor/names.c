#include "tensor/names.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>

#define PROBE_ORIGINAL "model.sam_model.pos_embed"
#define PROBE_NATIVE   "model.vision_tower.sam_encoder.pos_embed"
#define PROBE_GGUF     "v.sam.pos_embd.weight"

/* The first entry whose `from` begins the name wins; the rest of the name is renamed by `inner`, if
 * there is one. */
struct rename {
    const char *from, *to;
    const struct rename *inner;
};

/* What follows blocks.N. in SAM. */
static const struct rename sam_block[] = {
    {"norm1.", "layer_norm1.", NULL},
    {"norm2.", "layer_norm2.", NULL},
    {"attn.", "attn.", NULL},
    {"mlp.", "mlp.", NULL},
    {NULL, NULL, NULL},
};
static const struct rename table[] = {
    {"model.sam_model.pos_embed", "model.vision_tower.sam_encoder.pos_embed", NULL},
    {"model.sam_model.patch_embed.proj.", "model.vision_tower.sam_encoder.patch_embed.projection.",
     NULL},
    {"model.sam_model.blocks.", "model.vision_tower.sam_encoder.layers.", sam_block},
    {"model.sam_model.neck.0.", "model.vision_tower.sam_encoder.neck.conv1.", NULL},
    {"model.sam_model.neck.1.", "model.vision_tower.sam_encoder.neck.layer_norm1.", NULL},
    {"model.sam_model.neck.2.", "model.vision_tower.sam_encoder.neck.conv2.", NULL},
    {"model.sam_model.neck.3.", "model.vision_tower.sam_encoder.neck.layer_norm2.", NULL},
    {"model.sam_model.net_2.", "model.vision_tower.sam_encoder.proj.conv1.", NULL},
    {"model.sam_model.net_3.", "model.vision_tower.sam_encoder.proj.conv2.", NULL},
    {"model.qwen2_model.model.model.", "model.vision_tower.vision_encoder.", NULL},
    {"model.qwen2_model.query_768.", "model.vision_tower.query_768_resolution.", NULL},
    {"model.qwen2_model.query_1024.", "model.vision_tower.query_1024_resolution.", NULL},
    {"model.projector.layers.", "model.multi_modal_projector.", NULL},
    {"model.view_seperator", "model.view_separator", NULL},
    {"model.embed_tokens.", "model.language_model.embed_tokens.", NULL},
    {"model.layers.", "model.language_model.layers.", NULL},
    {"model.norm.", "model.language_model.norm.", NULL},
    {"lm_head.", "lm_head.", NULL},
    {NULL, NULL, NULL},
};
/* Native names of a draft of the converter: tried when the final one is not there. */
static const struct rename draft[] = {
    {"model.vision_tower.query_768_resolution.", "model.vision_tower.query_768.", NULL},
    {"model.vision_tower.query_1024_resolution.", "model.vision_tower.query_1024.", NULL},
    {"model.multi_modal_projector.", "model.multi_modal_projector.proj.", NULL},
    {NULL, NULL, NULL},
};

const char *names_layout_text(enum names_layout l)
{
    return l == NAMES_NATIVE ? "native" : "original";
}

int names_detect(const struct ckpt *c)
{
    if (ckpt_find(c, PROBE_ORIGINAL))
        return NAMES_ORIGINAL;
    if (ckpt_find(c, PROBE_NATIVE))
        return NAMES_NATIVE;
    if (ckpt_find(c, PROBE_GGUF))
        return err(RECTO_EMODEL,
                   "%s: tensors named as in GGUF files; "
                   "recto reads the original or the transformers names",
                   c->where);
    return err(RECTO_EMODEL,
               "%s: not a checkpoint of DeepSeek-OCR-2: neither " PROBE_ORIGINAL
               " nor " PROBE_NATIVE " is in it",
               c->where);
}

static const struct rename *find_rename(const struct rename *t, const char *name)
{
    for (; t->from; t++)
        if (strncmp(name, t->from, strlen(t->from)) == 0)
            return t;
    return NULL;
}

/* "12." in front of s: 3, its length; else 0. */
static size_t layer_length(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return n && n <= 4 && s[n] == '.' ? n + 1 : 0;
}

static int unknown(const char *original)
{
    return err(RECTO_EINTERNAL, "%.100s: not a tensor name of the original checkpoint", original);
}

/* Copy the name with its prefixes exchanged. */
static int rename_whole(const char *original, char out[NAMES_MAX])
{
    const struct rename *r = find_rename(table, original);
    const char *rest = r ? original + strlen(r->from) : NULL, *to = "";
    size_t layer = 0;

    if (r && r->inner) {
        layer = layer_length(rest);
        const struct rename *in = find_rename(r->inner, rest + layer);
        if (!layer || !in)
            return unknown(original);
        to = in->to;
        int n = snprintf(out, NAMES_MAX, "%s%.*s%s%s", r->to, (int)layer, rest, to,
                         rest + layer + strlen(in->from));
        return n < NAMES_MAX ? 0 : unknown(original);
    }
    if (!r || snprintf(out, NAMES_MAX, "%s%s", r->to, rest) >= NAMES_MAX)
        return unknown(original);
    return 0;
}

int names_to_native(const char *original, struct native_name *out)
{
    static const struct {
        const char *tail, *fused;
        enum names_part part;
    } parts[] = {
        {"gate_proj.weight", "gate_up_proj", NAMES_GATE},
        {"up_proj.weight", "gate_up_proj", NAMES_UP},
        {"down_proj.weight", "down_proj", NAMES_DOWN},
    };
    static const char mark[] = ".mlp.experts.";

    *out = (struct native_name){.part = NAMES_WHOLE};
    TRY(rename_whole(original, out->name));
    char *at = strstr(out->name, mark);
    if (!at)
        return 0;
    char *expert = at + sizeof mark - 1;
    size_t n = layer_length(expert);
    for (size_t i = 0; n && i < COUNT(parts); i++)
        if (strcmp(expert + n, parts[i].tail) == 0) {
            out->part = parts[i].part;
            out->expert = atoi(expert);
            strcpy(expert, parts[i].fused); /* shorter than what stood there: digits, dot, tail */
            return 0;
        }
    return unknown(original);
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int view_whole(const struct ckpt *c, const char *name, struct ckpt_view *v)
{
    const struct ckpt_tensor *t;

    TRY(ckpt_get(c, name, &t));
    if (t->rank > TENSOR_RANK)
        return err(RECTO_EMODEL,
                   "%s: tensor %s has %d sizes, expected at most 4; download the file again",
                   ckpt_path(c, t), name, t->rank);
    *v = (struct ckpt_view){
        .dtype = t->dtype, .rank = t->rank, .count = t->count, .data = t->data, .bytes = t->bytes};
    memcpy(v->n, t->n, sizeof v->n);
    for (int i = t->rank; i < TENSOR_RANK; i++)
        v->n[i] = 1;
    v->tensor = t;
    return 0;
}

/* One expert's matrix out of [E, rows, cols]: the whole slice, or its first or second half. */
static int view_part(const struct ckpt *c, const struct native_name *nn, struct ckpt_view *v)
{
    char shape[SHAPE_TEXT_MAX];

    TRY(view_whole(c, nn->name, v));
    bool is_half = nn->part != NAMES_DOWN;
    if (v->rank != 3 || nn->expert >= v->n[0] || (is_half && v->n[1] % 2))
        return err(RECTO_EMODEL,
                   "%s: tensor %s of shape %s does not hold expert %d; download the model again",
                   ckpt_path(c, v->tensor), nn->name, shape_text(shape, v->rank, v->n), nn->expert);
    int64_t rows = is_half ? v->n[1] / 2 : v->n[1], cols = v->n[2];
    int64_t first = nn->expert * v->n[1] + (nn->part == NAMES_UP ? rows : 0);
    size_t row_bytes = (size_t)cols * dtype_size(v->dtype);
    v->data = (const char *)v->data + (size_t)first * row_bytes;
    v->bytes = (size_t)rows * row_bytes;
    v->rank = 2;
    v->n[0] = rows, v->n[1] = cols, v->n[2] = 1;
    v->count = rows * cols;
    v->is_slice = true;
    return 0;
}

int names_find(const struct ckpt *c, enum names_layout layout, const char *original,
               struct ckpt_view *v)
{
    struct native_name nn;
    char other[NAMES_MAX];

    *v = (struct ckpt_view){0};
    if (layout == NAMES_ORIGINAL)
        return view_whole(c, original, v);
    TRY(names_to_native(original, &nn));
    if (ckpt_find(c, nn.name))
        return nn.part == NAMES_WHOLE ? view_whole(c, nn.name, v) : view_part(c, &nn, v);
    const struct rename *d = find_rename(draft, nn.name);
    if (d && snprintf(other, sizeof other, "%s%s", d->to, nn.name + strlen(d->from)) < NAMES_MAX &&
        ckpt_find(c, other))
        return view_whole(c, other, v);
    if (nn.part != NAMES_WHOLE && rename_whole(original, other) == 0 && ckpt_find(c, other))
        return view_whole(c, other, v);
    return err(
        RECTO_EMODEL,
        "%s: tensor %s (%.100s in the original checkpoint) is missing; download the model again",
        c->where, nn.name, original);
}

void names_drop(const struct ckpt *c, const struct ckpt_view *v)
{
    file_map_drop(&c->file[v->tensor->file].map, v->data, v->bytes);
}
