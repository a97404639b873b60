/* The inverse of config_layout.c: a configuration as the text of a config.json, nothing left to
 * defaults. */
#include "tensor/config.h"

#include "base/mem.h"

#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Nine digits carry any float; this is the shortest decimal number that is the same float, so that
 * 1e-6 stays 1e-6. */
static json_t *real(float f)
{
    char text[32];
    int digits = 1;

    do
        snprintf(text, sizeof text, "%.*g", digits, f);
    while (strtof(text, NULL) != f && ++digits <= 9);
    return json_real(strtod(text, NULL));
}

static json_t *globals(const struct sam_config *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->layers; i++)
        if (c->is_global[i])
            json_array_append_new(list, json_integer(i));
    return list;
}

/* A ratio that truncation turns into the inner width again. */
static json_t *mlp_ratio(const struct sam_config *c)
{
    return json_real(c->mlp % c->width ? (c->mlp + 0.5) / c->width : (double)(c->mlp / c->width));
}

static json_t *original(const struct model_config *m, const char *dtype)
{
    const struct sam_config *s = &m->sam;
    const struct flow_config *f = &m->flow;
    const struct decoder_config *d = &m->decoder;

    json_t *text = json_pack(
        "{s:[s], s:i, s:i, s:i, s:i, s:i, s:n, s:b, s:i, "
        "s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:n, s:i, s:i, s:b, "
        "s:i, s:s, s:s, s:b, s:i, s:i, s:o, s:o}",
        "architectures", "DeepseekV2ForCausalLM", "bos_token_id", d->bos, "eos_token_id", d->eos,
        "first_k_dense_replace", d->first_dense, "hidden_size", d->hidden, "intermediate_size",
        d->dense_inner, "kv_lora_rank", "lm_head", 1, "max_position_embeddings", d->context,
        "moe_intermediate_size", d->expert_inner, "n_group", 1, "n_routed_experts", d->n_expert,
        "n_shared_experts", d->n_shared, "num_attention_heads", d->heads, "num_experts_per_tok",
        d->n_pick, "num_hidden_layers", d->layers, "num_key_value_heads", d->kv_heads,
        "q_lora_rank", "qk_nope_head_dim", 0, "qk_rope_head_dim", 0, "rm_head", 0, "topk_group", 1,
        "topk_method", "greedy", "torch_dtype", dtype, "use_mla", 0, "v_head_dim", 0, "vocab_size",
        d->vocab, "rms_norm_eps", real(d->eps), "rope_theta", real(d->theta));
    json_t *sam = json_pack("{s:i, s:i, s:i, s:o, s:i, s:[ii], s:i, s:i, s:o}", "width", s->width,
                            "layers", s->layers, "heads", s->heads, "global_attn_indexes",
                            globals(s), "out_chans", s->out_chans, "downsample_channels", s->net2,
                            f->dim, "window_size", s->window, "patch_size", s->patch, "mlp_ratio",
                            mlp_ratio(s));
    json_t *flow = json_pack("{s:i, s:i, s:i, s:i, s:i, s:o, s:o}", "dim", f->dim, "layers",
                             f->layers, "heads", f->heads, "kv_heads", f->kv_heads,
                             "intermediate_size", f->inner, "rope_theta", real(f->theta),
                             "rms_norm_eps", real(f->eps));
    return json_pack("{s:[s], s:s, s:s, s:i, s:i, s:b, s:o, s:{s:i, s:i, s:s, s:s}, s:s, "
                     "s:{s:i, s:s, s:s, s:{s:o, s:o}}}",
                     "architectures", "DeepseekOCR2ForCausalLM", "model_type", "deepseek_vl_v2",
                     "torch_dtype", dtype, "bos_token_id", d->bos, "eos_token_id", d->eos,
                     "crop_mode", m->crop_mode, "language_config", text, "projector_config",
                     "input_dim", f->dim, "n_embed", d->hidden, "model_type", "mlp_projector",
                     "projector_type", "linear", "tile_tag", "2D", "vision_config", "image_size",
                     m->image_size, "model_name", "deepencoderv2", "model_type", "vision", "width",
                     "sam_vit_b", sam, "qwen2-0-5b", flow);
}

static json_t *layer_types(const struct decoder_config *d)
{
    json_t *list = json_array();

    for (int i = 0; i < d->layers; i++)
        json_array_append_new(list, json_string(i < d->first_dense ? "dense" : "sparse"));
    return list;
}

static json_t *rope(float theta)
{
    return json_pack("{s:o, s:s}", "rope_theta", real(theta), "rope_type", "default");
}

static json_t *native(const struct model_config *m, const char *dtype)
{
    const struct sam_config *s = &m->sam;
    const struct flow_config *f = &m->flow;
    const struct decoder_config *d = &m->decoder;

    json_t *text = json_pack(
        "{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:o, "
        "s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:o, s:o, s:b}",
        "model_type", "deepseek_ocr2_text", "hidden_act", "silu", "vocab_size", d->vocab,
        "hidden_size", d->hidden, "num_hidden_layers", d->layers, "num_attention_heads", d->heads,
        "num_key_value_heads", d->kv_heads, "head_dim", d->head_dim, "intermediate_size",
        d->dense_inner, "moe_intermediate_size", d->expert_inner, "mlp_layer_types", layer_types(d),
        "n_routed_experts", d->n_expert, "num_experts_per_tok", d->n_pick, "n_shared_experts",
        d->n_shared, "max_position_embeddings", d->context, "bos_token_id", d->bos, "eos_token_id",
        d->eos, "topk_method", "greedy", "rope_parameters", rope(d->theta), "rms_norm_eps",
        real(d->eps), "tie_word_embeddings", 0);
    json_t *sam = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:[ii], s:o, s:o}",
                            "model_type", "deepseek_ocr2_sam_vision_model", "hidden_size", s->width,
                            "num_hidden_layers", s->layers, "num_attention_heads", s->heads,
                            "output_channels", s->out_chans, "mlp_dim", s->mlp, "window_size",
                            s->window, "patch_size", s->patch, "image_size", m->image_size,
                            "downsample_channels", s->net2, f->dim, "layer_norm_eps", real(s->eps),
                            "global_attn_indexes", globals(s));
    json_t *flow = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:o}", "model_type",
                             "deepseek_ocr2_encoder", "hidden_act", "silu", "hidden_size", f->dim,
                             "num_hidden_layers", f->layers, "num_attention_heads", f->heads,
                             "num_key_value_heads", f->kv_heads, "intermediate_size", f->inner,
                             "rope_parameters", rope(f->theta), "rms_norm_eps", real(f->eps));
    return json_pack("{s:[s], s:s, s:s, s:b, s:o, s:{s:s, s:o, s:o}}", "architectures",
                     "DeepseekOcr2ForConditionalGeneration", "model_type", "deepseek_ocr2", "dtype",
                     dtype, "crop_mode", m->crop_mode, "text_config", text, "vision_config",
                     "model_type", "deepseek_ocr2_vision", "sam_config", sam, "encoder_config",
                     flow);
}

void config_write(const struct model_config *c, enum config_layout layout, const char *dtype,
                  struct buf *out)
{
    json_t *root = layout == CONFIG_NATIVE ? native(c, dtype) : original(c, dtype);

    assert(root);
    if (c->image_token_id >= 0)
        json_object_set_new(root, "image_token_id", json_integer(c->image_token_id));
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    buf_text(out, text);
    buf_char(out, '\n');
    free(text);
    json_decref(root);
}
