/* The two layouts of config.json. Key by key: docs/model.md. */
#include "tensor/config.h"

#include "base/err.h"
#include "base/mem.h"
#include "tensor/config_key.h"

/* Sizes that a model of this kind could have; they also keep every product within 64 bits. */
enum {
    WIDTH_MAX = 65536,
    HEADS_MAX = 1024,
    INNER_MAX = 1 << 20,
    EXPERT_MAX = 4096,
    VOCAB_MAX = 1 << 24
};

static int get_width(const struct place *p, const char *key, int *out)
{
    return get_int(p, key, REQUIRED, 1, WIDTH_MAX, out);
}

static int get_eps(const struct place *p, const char *key, float *out)
{
    return get_float(p, key, OPTIONAL, 1e-12, 1e-1, out);
}

static int get_theta(const struct place *p, const char *key, int optional, float *out)
{
    return get_float(p, key, optional, 1, 1e12, out);
}

/* ---- refused values -------------------------------------------------------------------------- */

static const struct rule decoder_rules[] = {
    {"use_mla", MUST_FALSE, 0, NULL, "latent attention"},
    {"kv_lora_rank", MUST_ABSENT, 0, NULL, "latent attention"},
    {"q_lora_rank", MUST_ABSENT, 0, NULL, "latent attention"},
    {"qk_nope_head_dim", MUST_NUMBER, 0, NULL, "latent attention"},
    {"qk_rope_head_dim", MUST_NUMBER, 0, NULL, "latent attention"},
    {"v_head_dim", MUST_NUMBER, 0, NULL, "latent attention"},
    {"topk_method", MUST_TEXT, 0, "greedy", "grouped choice of experts"},
    {"scoring_func", MUST_TEXT, 0, "softmax", "other scores of experts"},
    {"norm_topk_prob", MUST_FALSE, 0, NULL, "renormalised expert weights"},
    {"routed_scaling_factor", MUST_NUMBER, 1, NULL, "scaled experts"},
    {"moe_layer_freq", MUST_NUMBER, 1, NULL, "dense layers between those with experts"},
    {"hidden_act", MUST_TEXT, 0, "silu", "other activation in the decoder"},
    {"attention_bias", MUST_FALSE, 0, NULL, "biases in the decoder's attention"},
    {"mlp_bias", MUST_FALSE, 0, NULL, "biases in the decoder's MLP"},
    {"tie_word_embeddings", MUST_FALSE, 0, NULL, "output layer that is the embedding"},
    {"rope_scaling", MUST_ABSENT, 0, NULL, "scaled rope"},
    {"lm_head", MUST_TRUE, 0, NULL, "decoder without an output layer"},
    {"rm_head", MUST_FALSE, 0, NULL, "reward head"},
    {"sliding_window", MUST_ABSENT, 0, NULL, "sliding attention"},
    {"quantization_config", MUST_ABSENT, 0, NULL, "reader of packed checkpoints; use the bf16 one"},
};
static const struct rule flow_rules[] = {
    {"hidden_act", MUST_TEXT, 0, "silu", "other activation in the encoder"},
    {"use_sliding_window", MUST_FALSE, 0, NULL, "sliding attention"},
    {"rope_scaling", MUST_ABSENT, 0, NULL, "scaled rope"},
};
static const struct rule sam_rules[] = {
    {"hidden_act", MUST_TEXT, 0, "gelu", "other activation in SAM"},
    {"layer_norm_eps", MUST_NUMBER, 1e-6, NULL, "other epsilon in SAM"},
    {"qkv_bias", MUST_TRUE, 0, NULL, "SAM without these biases"},
    {"use_abs_pos", MUST_TRUE, 0, NULL, "SAM without absolute positions"},
    {"use_rel_pos", MUST_TRUE, 0, NULL, "SAM without relative positions"},
    {"num_channels", MUST_NUMBER, 3, NULL, "other pictures than RGB"},
};

/* ---- the original layout --------------------------------------------------------------------- */

static int read_global(const struct place *p, struct sam_config *c)
{
    json_t *list, *v;
    size_t i;

    memset(c->is_global, 0, sizeof c->is_global);
    TRY(json_get_array(p->obj, p->where, "global_attn_indexes", false, &list));
    json_array_foreach(list, i, v)
    {
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= c->layers)
            return err(RECTO_EMODEL,
                       "%s: global_attn_indexes: entry %zu is no layer, expected 0 to %d", p->where,
                       i, c->layers - 1);
        c->is_global[json_integer_value(v)] = true;
    }
    return 0;
}

/* The official code truncates width * mlp_ratio. */
static int read_mlp_ratio(const struct place *p, struct sam_config *c)
{
    double ratio = 4;

    TRY(json_double(p->obj, p->where, "mlp_ratio", true, 1, 64, &ratio));
    c->mlp = (int)(c->width * ratio);
    return 0;
}

static int read_net2(const struct place *p, int optional, struct sam_config *c, int *net3)
{
    json_t *list;

    TRY(json_get_array(p->obj, p->where, "downsample_channels", optional, &list));
    if (!list)
        return 0;
    const json_t *v = json_array_get(list, 0), *w = json_array_get(list, 1);
    if (json_array_size(list) != 2 || !json_is_integer(v) || !json_is_integer(w) ||
        json_integer_value(v) < 1 || json_integer_value(v) > WIDTH_MAX ||
        json_integer_value(w) < 1 || json_integer_value(w) > WIDTH_MAX)
        return err(RECTO_EMODEL, "%s: downsample_channels: expected two sizes of 1 to %d", p->where,
                   WIDTH_MAX);
    c->net2 = (int)json_integer_value(v);
    *net3 = (int)json_integer_value(w);
    return 0;
}

static int original_sam(const struct place *p, struct sam_config *c)
{
    int unread;

    TRY(get_width(p, "width", &c->width));
    TRY(get_int(p, "layers", REQUIRED, 1, CONFIG_SAM_LAYER_MAX, &c->layers));
    TRY(get_int(p, "heads", REQUIRED, 1, HEADS_MAX, &c->heads));
    TRY(get_int(p, "out_chans", OPTIONAL, 1, WIDTH_MAX, &c->out_chans));
    TRY(get_int(p, "window_size", OPTIONAL, 1, 64, &c->window));
    TRY(get_int(p, "patch_size", OPTIONAL, 16, 16, &c->patch));
    TRY(read_mlp_ratio(p, c));
    TRY(read_net2(p, REQUIRED, c, &unread));
    return read_global(p, c);
}

static int original_flow(const struct place *p, struct flow_config *c)
{
    TRY(get_width(p, "dim", &c->dim));
    TRY(get_int(p, "layers", OPTIONAL, 1, CONFIG_LAYER_MAX, &c->layers));
    TRY(get_int(p, "heads", OPTIONAL, 1, HEADS_MAX, &c->heads));
    TRY(get_int(p, "kv_heads", OPTIONAL, 1, HEADS_MAX, &c->kv_heads));
    TRY(get_int(p, "intermediate_size", OPTIONAL, 1, INNER_MAX, &c->inner));
    TRY(get_theta(p, "rope_theta", OPTIONAL, &c->theta));
    return get_eps(p, "rms_norm_eps", &c->eps);
}

/* What both layouts call by the same name. */
static int read_decoder(const struct place *p, struct decoder_config *c)
{
    TRY(check_rules(p, decoder_rules, COUNT(decoder_rules)));
    TRY(get_int(p, "vocab_size", REQUIRED, 2, VOCAB_MAX, &c->vocab));
    TRY(get_width(p, "hidden_size", &c->hidden));
    TRY(get_int(p, "num_hidden_layers", REQUIRED, 1, CONFIG_LAYER_MAX, &c->layers));
    TRY(get_int(p, "num_attention_heads", REQUIRED, 1, HEADS_MAX, &c->heads));
    c->kv_heads = c->heads;
    TRY(get_int(p, "num_key_value_heads", OPTIONAL, 1, HEADS_MAX, &c->kv_heads));
    TRY(get_int(p, "intermediate_size", REQUIRED, 1, INNER_MAX, &c->dense_inner));
    TRY(get_int(p, "moe_intermediate_size", REQUIRED, 1, INNER_MAX, &c->expert_inner));
    TRY(get_int(p, "n_routed_experts", REQUIRED, 1, EXPERT_MAX, &c->n_expert));
    TRY(get_int(p, "num_experts_per_tok", REQUIRED, 1, 64, &c->n_pick));
    TRY(get_int(p, "n_shared_experts", REQUIRED, 1, 64, &c->n_shared));
    TRY(get_int(p, "max_position_embeddings", REQUIRED, 512, 1 << 20, &c->context));
    TRY(get_int(p, "bos_token_id", REQUIRED, 0, c->vocab - 1, &c->bos));
    TRY(get_int(p, "eos_token_id", REQUIRED, 0, c->vocab - 1, &c->eos));
    return get_eps(p, "rms_norm_eps", &c->eps);
}

/* The official classes read the decoder's options from copies at the top of the file, others from
 * language_config: where both are written they must agree. */
static int check_copies(const struct place *top, const struct place *text)
{
    static const char *const keys[] = {
        "vocab_size",          "hidden_size",         "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "intermediate_size",   "rms_norm_eps",      "moe_intermediate_size",
        "n_routed_experts",    "num_experts_per_tok", "n_shared_experts",  "first_k_dense_replace",
        "rope_theta",          "bos_token_id",        "eos_token_id",
    };

    TRY(check_rules(top, decoder_rules, COUNT(decoder_rules)));
    for (size_t i = 0; i < COUNT(keys); i++) {
        const json_t *a = json_object_get(top->obj, keys[i]),
                     *b = json_object_get(text->obj, keys[i]);
        bool is_same = json_is_number(a) && json_is_number(b) &&
                       json_number_value(a) == json_number_value(b);

        if (a && b && !json_is_null(a) && !json_is_null(b) && !is_same)
            return err(RECTO_EMODEL, "%s: %s differs from language_config.%s; make them equal",
                       top->where, keys[i], keys[i]);
    }
    return 0;
}

static int original_projector(const struct place *top, const struct model_config *c)
{
    static const struct rule rules[] = {
        {"projector_type", MUST_TEXT, 0, "linear", "other projector"},
    };
    struct place p;
    int in = c->flow.dim, out = c->decoder.hidden;

    TRY(enter(&p, top, "projector_config"));
    TRY(check_rules(&p, rules, COUNT(rules)));
    TRY(get_int(&p, "input_dim", OPTIONAL, in, in, &in));
    return get_int(&p, "n_embed", OPTIONAL, out, out, &out);
}

int config_read_original(const struct place *top, struct model_config *c)
{
    static const struct rule rules[] = {
        {"tile_tag", MUST_TEXT, 0, "2D", "other arrangement of tiles"},
    };
    struct place vision, width, sam, flow, text;
    bool use_mla;

    TRY(check_rules(top, rules, COUNT(rules)));
    TRY(enter(&text, top, "language_config"));
    TRY(enter(&vision, top, "vision_config"));
    TRY(enter(&width, &vision, "width"));
    if (!json_object_get(width.obj, "qwen2-0-5b") && json_object_get(width.obj, "clip-l-14-224"))
        return err(
            RECTO_EMODEL,
            "%s: this is DeepSeek-OCR, the first one; recto reads DeepSeek-OCR-2: get that model",
            top->where);
    TRY(enter(&sam, &width, "sam_vit_b"));
    TRY(enter(&flow, &width, "qwen2-0-5b"));
    TRY(json_bool(text.obj, text.where, "use_mla", REQUIRED, &use_mla)); /* the class says true */
    TRY(get_int(&vision, "image_size", OPTIONAL, c->image_size, c->image_size, &c->image_size));
    TRY(original_sam(&sam, &c->sam));
    TRY(original_flow(&flow, &c->flow));
    TRY(get_theta(top, "rope_theta", OPTIONAL, &c->decoder.theta));
    TRY(get_eps(top, "rms_norm_eps", &c->decoder.eps));
    TRY(read_decoder(&text, &c->decoder));
    TRY(get_int(&text, "first_k_dense_replace", REQUIRED, 0, c->decoder.layers,
                &c->decoder.first_dense));
    TRY(get_theta(&text, "rope_theta", OPTIONAL, &c->decoder.theta));
    TRY(check_copies(top, &text));
    return original_projector(top, c);
}

/* ---- the native layout ----------------------------------------------------------------------- */

/* rope_parameters {rope_theta, rope_type}, or as the converter writes it, rope_theta alone. The
 * classes' defaults are not the released values, so one must be there. */
static int native_theta(const struct place *p, float *theta)
{
    static const struct rule rules[] = {
        {"rope_type", MUST_TEXT, 0, "default", "scaled rope"},
        {"type", MUST_TEXT, 0, "default", "scaled rope"},
        {"partial_rotary_factor", MUST_NUMBER, 1, NULL, "rope over a part of the head"},
    };
    struct place rope;

    if (!json_is_object(json_object_get(p->obj, "rope_parameters")))
        return get_theta(p, "rope_theta", REQUIRED, theta);
    TRY(enter(&rope, p, "rope_parameters"));
    TRY(check_rules(&rope, rules, COUNT(rules)));
    return get_theta(&rope, "rope_theta", REQUIRED, theta);
}

/* heads * head_dim = width everywhere, so a head_dim that is written must say so. */
static int native_head_dim(const struct place *p, int width, int heads)
{
    int dim = width / heads;

    return get_int(p, "head_dim", OPTIONAL, dim, dim, &dim);
}

/* Absent values are those of the class, which are the released ones. Sizes may be numbers or pairs
 * of equal ones. */
static int get_square(const struct place *p, const char *key, int want)
{
    const json_t *v = json_object_get(p->obj, key);
    int64_t n = want;

    if (!json_is_array(v))
        return json_int(p->obj, p->where, key, true, want, want, &n);
    for (size_t i = 0; i < json_array_size(v); i++)
        if (json_integer_value(json_array_get(v, i)) != want)
            return err(RECTO_EMODEL, "%s: %s: expected %d", p->where, key, want);
    return 0;
}

static int native_sam(const struct place *p, struct model_config *m)
{
    struct sam_config *c = &m->sam;
    int net3 = 896; /* the class's default */

    TRY(check_rules(p, sam_rules, COUNT(sam_rules)));
    TRY(get_int(p, "hidden_size", OPTIONAL, 1, WIDTH_MAX, &c->width));
    TRY(get_int(p, "num_hidden_layers", OPTIONAL, 1, CONFIG_SAM_LAYER_MAX, &c->layers));
    TRY(get_int(p, "num_attention_heads", OPTIONAL, 1, HEADS_MAX, &c->heads));
    TRY(get_int(p, "output_channels", OPTIONAL, 1, WIDTH_MAX, &c->out_chans));
    TRY(get_int(p, "window_size", OPTIONAL, 1, 64, &c->window));
    TRY(get_square(p, "patch_size", c->patch));
    TRY(get_square(p, "image_size", m->image_size));
    TRY(read_mlp_ratio(p, c));
    TRY(get_int(p, "mlp_dim", OPTIONAL, 1, INNER_MAX, &c->mlp));
    TRY(read_net2(p, OPTIONAL, c, &net3));
    if (net3 != m->flow.dim)
        return err(RECTO_EMODEL,
                   "%s: downsample_channels ends in %d, expected the encoder's hidden_size %d",
                   p->where, net3, m->flow.dim);
    const json_t *global = json_object_get(p->obj, "global_attn_indexes");
    if (!global || json_is_null(global))
        return 0;
    return read_global(p, c);
}

/* Every layer's kind in a list of texts must be `want` from layer `from` on (and not before); NULL
 * list: nothing known. */
static int check_kinds(const struct place *p, const char *key, int layers, const char *want,
                       int *n_before)
{
    json_t *list;

    TRY(json_get_array(p->obj, p->where, key, n_before == NULL, &list));
    if (!list)
        return 0;
    if (json_array_size(list) != (size_t)layers)
        return err(RECTO_EMODEL, "%s: %s has %zu entries, expected one for each of %d layers",
                   p->where, key, json_array_size(list), layers);
    int before = 0;
    for (int i = 0; i < layers; i++) {
        const char *s = json_string_value(json_array_get(list, (size_t)i));
        bool is_wanted = s && strcmp(s, want) == 0;

        if (!is_wanted && n_before && before == i && s && strcmp(s, "dense") == 0)
            before++;
        else if (!is_wanted)
            return err(RECTO_EMODEL, "%s: %s: entry %d is %.30s, expected %s", p->where, key, i,
                       s ? s : "no text", want);
    }
    if (n_before)
        *n_before = before;
    return 0;
}

static int native_flow(const struct place *p, struct flow_config *c)
{
    TRY(check_rules(p, flow_rules, COUNT(flow_rules)));
    TRY(get_width(p, "hidden_size", &c->dim));
    TRY(get_int(p, "num_hidden_layers", REQUIRED, 1, CONFIG_LAYER_MAX, &c->layers));
    TRY(get_int(p, "num_attention_heads", REQUIRED, 1, HEADS_MAX, &c->heads));
    c->kv_heads = c->heads;
    TRY(get_int(p, "num_key_value_heads", OPTIONAL, 1, HEADS_MAX, &c->kv_heads));
    TRY(get_int(p, "intermediate_size", REQUIRED, 1, INNER_MAX, &c->inner));
    TRY(native_head_dim(p, c->dim, c->heads));
    TRY(check_kinds(p, "layer_types", c->layers, "full_attention", NULL));
    TRY(native_theta(p, &c->theta));
    return get_eps(p, "rms_norm_eps", &c->eps);
}

static int native_decoder(const struct place *p, struct decoder_config *c)
{
    TRY(read_decoder(p, c));
    TRY(native_head_dim(p, c->hidden, c->heads));
    TRY(check_kinds(p, "mlp_layer_types", c->layers, "sparse", &c->first_dense));
    return native_theta(p, &c->theta);
}

int config_read_native(const struct place *top, struct model_config *c)
{
    struct place vision, sam, flow, text;

    c->layout = CONFIG_NATIVE;
    TRY(enter(&text, top, "text_config"));
    TRY(enter(&vision, top, "vision_config"));
    TRY(enter(&sam, &vision, "sam_config"));
    TRY(enter(&flow, &vision, "encoder_config"));
    TRY(native_flow(&flow, &c->flow));
    TRY(native_sam(&sam, c));
    return native_decoder(&text, &c->decoder);
}
