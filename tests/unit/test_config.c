#include "ckpt_file.h"

#include "base/err.h"
#include "base/json.h"
#include "tensor/config.h"

static void read_text(struct buf *b, const char *path)
{
    buf_clear(b);
    assert_int_equal(file_read(b, path, 1 << 20), 0);
}

static void parse_file(struct model_config *c, const char *path)
{
    struct buf b = {0};

    read_text(&b, path);
    if (config_parse(c, buf_view(&b), "config.json") != 0)
        fail_msg("%s: %s", path, err_text());
    buf_reset(&b);
}

/* Field by field: structs have holes. */
static void expect_equal(const struct model_config *a, const struct model_config *b)
{
#define SAME(field) assert_true(a->field == b->field)
    SAME(sam.width), SAME(sam.layers), SAME(sam.heads), SAME(sam.head_dim), SAME(sam.mlp),
        SAME(sam.out_chans);
    SAME(sam.net2), SAME(sam.window), SAME(sam.patch), SAME(sam.eps);
    for (int i = 0; i < CONFIG_SAM_LAYER_MAX; i++)
        SAME(sam.is_global[i]);
    SAME(flow.dim), SAME(flow.layers), SAME(flow.heads), SAME(flow.kv_heads), SAME(flow.head_dim),
        SAME(flow.inner);
    SAME(flow.theta), SAME(flow.eps);
    SAME(decoder.vocab), SAME(decoder.hidden), SAME(decoder.layers), SAME(decoder.heads),
        SAME(decoder.kv_heads);
    SAME(decoder.head_dim), SAME(decoder.dense_inner), SAME(decoder.first_dense),
        SAME(decoder.expert_inner);
    SAME(decoder.n_expert), SAME(decoder.n_pick), SAME(decoder.n_shared), SAME(decoder.theta),
        SAME(decoder.eps);
    SAME(decoder.context), SAME(decoder.bos), SAME(decoder.eos), SAME(decoder.norm_topk),
        SAME(decoder.scaling);
    SAME(crop_mode), SAME(image_size), SAME(tile), SAME(n_query_global), SAME(n_query_tile);
#undef SAME
}

static void released(void **state)
{
    struct model_config want, got;

    config_released(&want);
    parse_file(&got, TEST_DIR "/fixtures/config_released.json");
    expect_equal(&got, &want);
    assert_int_equal(got.layout, CONFIG_ORIGINAL);
    assert_int_equal(got.image_token_id, -1);
    assert_int_equal(got.guard_n, 20);
    assert_int_equal(got.guard_w, 90);
    /* The traps: 896 and 3072, whatever the file says. */
    assert_int_equal(got.flow.dim, 896);
    assert_int_equal(got.sam.mlp, 3072);

    parse_file(&got, TEST_DIR "/fixtures/config_native.json");
    expect_equal(&got, &want);
    assert_int_equal(got.layout, CONFIG_NATIVE);
    assert_int_equal(got.image_token_id, 128815);
}

static void small_models(void **state)
{
    struct model_config c;

    assert_int_equal(config_load(&c, TEST_DIR "/golden/tiny"), 0);
    assert_int_equal(c.image_token_id, 600);
    assert_true(c.crop_mode);
    assert_int_equal(c.sam.head_dim, 16);
    assert_true(c.sam.is_global[1] && !c.sam.is_global[0] && !c.sam.is_global[2]);
    assert_int_equal(c.flow.head_dim, 16);
    assert_int_equal(c.flow.kv_heads, 2);
    assert_int_equal(c.decoder.head_dim, 16);
    assert_int_equal(c.decoder.n_pick, 3);
    assert_int_equal(c.guard_n, 20);

    assert_int_equal(config_load(&c, SOURCE_DIR "/models/mini"), 0);
    assert_int_equal(c.image_token_id, 280);
    assert_false(c.crop_mode);
    assert_int_equal(c.sam.out_chans, 128);
    assert_int_equal(c.guard_n, 40);
    assert_int_equal(c.guard_w, 180);
}

/* What config_write writes, config_parse reads back; in both layouts, and for odd sizes too. */
static void write_and_read(void **state)
{
    const char *const paths[] = {TEST_DIR "/fixtures/config_released.json",
                                 TEST_DIR "/golden/tiny/config.json",
                                 SOURCE_DIR "/models/mini/config.json"};
    struct model_config want, got;
    struct buf b = {0};

    for (size_t i = 0; i < 2 * COUNT(paths); i++) {
        parse_file(&want, paths[i / 2]);
        want.sam.mlp += (int)i % 3;
        want.flow.eps *= 1.1f, want.decoder.theta *= 1.7f;
        buf_clear(&b);
        config_write(&want, i % 2 ? CONFIG_NATIVE : CONFIG_ORIGINAL, "float32", &b);
        if (config_parse(&got, buf_view(&b), "written") != 0)
            fail_msg("%s", err_text());
        expect_equal(&got, &want);
        assert_int_equal(got.image_token_id, want.image_token_id);
        assert_int_equal(got.layout, i % 2 ? CONFIG_NATIVE : CONFIG_ORIGINAL);
    }
    buf_reset(&b);
}

/* Set the value at a dotted path (NULL: remove it). */
static void edit(json_t *root, const char *path, const char *value)
{
    json_t *v = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    const char *dot;
    char key[64];

    assert_true(v || !value);
    for (; (dot = strchr(path, '.')); path = dot + 1) {
        snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
        root = json_object_get(root, key);
        assert_non_null(root);
    }
    if (v)
        json_object_set_new(root, path, v);
    else
        json_object_del(root, path);
}

struct change {
    const char *path, *value, *says; /* says: NULL when it must still load */
};

static void expect_changes(const char *file, const struct change *change, size_t n)
{
    struct buf b = {0};
    struct model_config c;

    read_text(&b, file);
    for (size_t i = 0; i < n; i++) {
        json_t *root;

        assert_int_equal(json_parse(&root, buf_view(&b), file), 0);
        edit(root, change[i].path, change[i].value);
        char *text = json_dumps(root, 0);
        int rc = config_parse(&c, str_of(text), "config.json");
        const char *value = change[i].value ? change[i].value : "(removed)";
        if (!change[i].says && rc != 0)
            fail_msg("%s = %s: %s", change[i].path, value, err_text());
        if (change[i].says && (rc != RECTO_EMODEL || !strstr(err_text(), change[i].says)))
            fail_msg("%s = %s: expected \"%s\", got %d: %s", change[i].path, value, change[i].says,
                     rc, rc ? err_text() : "");
        free(text);
        json_decref(root);
    }
    buf_reset(&b);
}

#define LANG "language_config."
#define SAM  "vision_config.width.sam_vit_b."
#define FLOW "vision_config.width.qwen2-0-5b."

static void changed_original(void **state)
{
    static const struct change changes[] = {
        /* arithmetic that recto does not do */
        {LANG "use_mla", "true",
         "config.json: language_config: use_mla is true, expected false: recto has no latent"},
        {"use_mla", "true", "config.json: use_mla is true, expected false"},
        {LANG "use_mla", NULL, "language_config: use_mla is missing"},
        {LANG "kv_lora_rank", "512", "kv_lora_rank is 512, expected null"},
        {LANG "q_lora_rank", "1536", "q_lora_rank"},
        {LANG "qk_nope_head_dim", "128", "qk_nope_head_dim is 128, expected 0"},
        {LANG "qk_rope_head_dim", "64", "qk_rope_head_dim"},
        {LANG "v_head_dim", "128", "v_head_dim"},
        {LANG "topk_method", "\"group_limited_greedy\"",
         "topk_method is \"group_limited_greedy\", expected \"greedy\""},
        {LANG "scoring_func", "\"sigmoid\"", "scoring_func"},
        {LANG "scoring_func", "\"softmax\"", NULL},
        {LANG "norm_topk_prob", "true", "norm_topk_prob is true, expected false"},
        {LANG "norm_topk_prob", "1", "norm_topk_prob is 1, expected false"},
        {"norm_topk_prob", "true", "norm_topk_prob"},
        {LANG "routed_scaling_factor", "16.0", "routed_scaling_factor is 16, expected 1"},
        {LANG "routed_scaling_factor", "1", NULL},
        {LANG "moe_layer_freq", "2", "moe_layer_freq"},
        {LANG "hidden_act", "\"gelu\"", "hidden_act"},
        {LANG "attention_bias", "true", "attention_bias"},
        {LANG "tie_word_embeddings", "true", "tie_word_embeddings"},
        {"tie_word_embeddings", "true", "tie_word_embeddings"},
        {LANG "rope_scaling", "{\"type\":\"yarn\"}", "rope_scaling is an object, expected null"},
        {LANG "rope_scaling", "null", NULL},
        {LANG "lm_head", "false", "lm_head"},
        {LANG "rm_head", "true", "rm_head"},
        {"quantization_config", "{}", "quantization_config"},
        {"tile_tag", "\"1D\"", "tile_tag is \"1D\", expected \"2D\""},
        {"projector_config.projector_type", "\"mlp_gelu\"", "projector_type"},
        /* never read */
        {"global_view_pos", "\"tail\"", NULL},
        {"candidate_resolutions", "[]", NULL},
        {"vision_config.mlp_ratio", "9", NULL},
        {"model_type", "\"anything\"", NULL},
        {"model_type", NULL, NULL},
        {LANG "n_group", "8", NULL},
        {SAM "downsample_channels", "[512, 1]", NULL},
        {"unheard_of", "{}", NULL},
        /* overrides */
        {SAM "mlp_ratio", "2", NULL},
        {FLOW "layers", "3", NULL},
        {LANG "rope_theta", "5000", NULL},
        {"rope_theta", "10000.0", NULL},
        {"crop_mode", "false", NULL},
        {"image_token_id", "128815", NULL},
        /* absent, of another kind, out of range */
        {"language_config", NULL, "not a configuration of DeepSeek-OCR-2"},
        {"language_config", "[]", "language_config: expected an object"},
        {"vision_config", NULL, "vision_config is missing"},
        {"projector_config", NULL, "projector_config is missing"},
        {"vision_config.width.qwen2-0-5b", NULL, "qwen2-0-5b is missing"},
        {LANG "hidden_size", NULL, "config.json: language_config: hidden_size is missing"},
        {LANG "hidden_size", "\"1280\"", "hidden_size: expected a whole number"},
        {LANG "hidden_size", "1280.0", "hidden_size"},
        {LANG "hidden_size", "0", "hidden_size is 0, expected 1 to 65536"},
        {LANG "hidden_size", "-1280", "hidden_size"},
        {LANG "hidden_size", "99999999999", "hidden_size"},
        {LANG "vocab_size", "1", "vocab_size"},
        {LANG "num_hidden_layers", "257", "num_hidden_layers is 257, expected 1 to 256"},
        {LANG "eos_token_id", "129280", "eos_token_id"},
        {LANG "first_k_dense_replace", "13", "first_k_dense_replace"},
        {LANG "num_experts_per_tok", "65", "num_experts_per_tok is 65"},
        {LANG "n_routed_experts", "0", "n_routed_experts"},
        {LANG "n_shared_experts", "null", "n_shared_experts is missing"},
        {LANG "max_position_embeddings", "100", "max_position_embeddings"},
        {LANG "rms_norm_eps", "0", "rms_norm_eps"},
        {LANG "rms_norm_eps", "\"tiny\"", "rms_norm_eps: expected a number"},
        {LANG "rope_theta", "0.5", "rope_theta"},
        {"image_token_id", "129280", "image_token_id"},
        {"image_token_id", "-1", "image_token_id"},
        {"crop_mode", "1", "crop_mode: expected true or false"},
        {SAM "layers", "65", "layers is 65, expected 1 to 64"},
        {SAM "global_attn_indexes", "[2, 12]",
         "global_attn_indexes: entry 1 is no layer, expected 0 to 11"},
        {SAM "global_attn_indexes", "[-1]", "entry 0"},
        {SAM "global_attn_indexes", "[\"2\"]", "entry 0"},
        {SAM "global_attn_indexes", "[]", NULL},
        {SAM "downsample_channels", "[512]", "downsample_channels"},
        {SAM "downsample_channels", "[0, 896]", "downsample_channels"},
        {SAM "patch_size", "14", "patch_size is 14, expected 16"},
        {SAM "window_size", "0", "window_size"},
        {SAM "mlp_ratio", "1e9", "mlp_ratio"},
        {"vision_config.image_size", "640", "image_size is 640, expected 1024"},
        {"projector_config.input_dim", "1024", "input_dim is 1024, expected 896"},
        {"projector_config.n_embed", "896", "n_embed is 896, expected 1280"},
        {"hidden_size", "1281", "hidden_size differs from language_config.hidden_size"},
        {"rms_norm_eps", "1e-5", NULL},
        /* sizes that do not fit together */
        {SAM "heads", "5", "SAM: 5 heads do not divide a width of 768"},
        {FLOW "heads", "13", "encoder: 13 heads do not divide a width of 896"},
        {FLOW "kv_heads", "4", "encoder: 4 heads do not divide a number of heads of 14"},
        {FLOW "heads", "128", "a head has 7 channels, expected an even number"},
        {FLOW "heads", "2", "a head has 448 channels"},
        {SAM "heads", "1024", "do not divide"},
    };

    expect_changes(TEST_DIR "/fixtures/config_released.json", changes, COUNT(changes));
}

#define ENC  "vision_config.encoder_config."
#define NSAM "vision_config.sam_config."

static void changed_native(void **state)
{
    static const struct change changes[] = {
        {"text_config.topk_method", "\"noaux_tc\"", "topk_method"},
        {"text_config.norm_topk_prob", "true", "norm_topk_prob"},
        {"text_config.rope_parameters", "{\"rope_type\":\"yarn\",\"rope_theta\":1e4}",
         "rope_type is \"yarn\""},
        {"text_config.rope_parameters", "{\"rope_type\":\"default\"}", "rope_theta is missing"},
        {"text_config.rope_parameters", NULL, "config.json: text_config: rope_theta is missing"},
        {"text_config.rope_parameters", "{\"rope_theta\":1e4,\"partial_rotary_factor\":0.5}",
         "partial_rotary_factor"},
        {"text_config.mlp_layer_types", "[\"dense\"]",
         "has 1 entries, expected one for each of 12 layers"},
        {"text_config.mlp_layer_types", NULL, "mlp_layer_types is missing"},
        {"text_config.num_hidden_layers", "11", "mlp_layer_types has 12 entries"},
        {"text_config.head_dim", "64", "head_dim is 64, expected 128"},
        {"text_config.mlp_bias", "true", "mlp_bias"},
        {"text_config.hidden_size", NULL, "hidden_size is missing"},
        {"tie_word_embeddings", "true", "tie_word_embeddings"},
        {ENC "hidden_act", "\"gelu\"", "hidden_act"},
        {ENC "use_sliding_window", "true", "use_sliding_window"},
        {ENC "rope_parameters", "{\"rope_type\":\"linear\",\"factor\":2,\"rope_theta\":1e6}",
         "rope_type"},
        {ENC "layer_types", "[]", "layer_types has 0 entries"},
        {ENC "layer_types", NULL, NULL},
        {ENC "num_attention_heads", "13", "encoder: 13 heads do not divide"},
        {ENC "hidden_size", "448",
         "downsample_channels ends in 896, expected the encoder's hidden_size 448"},
        {NSAM "layer_norm_eps", "1e-5", "layer_norm_eps is 1e-05, expected 1e-06"},
        {NSAM "hidden_act", "\"gelu_pytorch_tanh\"", "hidden_act is \"gelu_pytorch_tanh\""},
        {NSAM "use_rel_pos", "false", "use_rel_pos"},
        {NSAM "use_abs_pos", "false", "use_abs_pos"},
        {NSAM "qkv_bias", "false", "qkv_bias"},
        {NSAM "num_channels", "1", "num_channels"},
        {NSAM "patch_size", "[16, 8]", "patch_size: expected 16"},
        {NSAM "patch_size", "[16, 16]", NULL},
        {NSAM "patch_size", "8", "patch_size is 8, expected 16"},
        {NSAM "image_size", "512", "image_size"},
        {NSAM "downsample_channels", "[512, 1024]", "downsample_channels ends in 1024"},
        {NSAM "downsample_channels", NULL, NULL},
        {NSAM "global_attn_indexes", NULL, NULL},
        {NSAM "mlp_dim", "null", NULL},
        {NSAM "hidden_size", NULL, NULL},
        {"vision_config.sam_config", NULL, "sam_config is missing"},
        {"text_config", NULL, "text_config is missing"},
        {"image_token_id", NULL, NULL},
    };
    struct model_config c;
    struct buf b = {0};

    expect_changes(TEST_DIR "/fixtures/config_native.json", changes, COUNT(changes));

    /* rope_theta as the converter leaves it, and a first sparse layer */
    json_t *root;
    read_text(&b, TEST_DIR "/fixtures/config_native.json");
    assert_int_equal(json_parse(&root, buf_view(&b), "native"), 0);
    edit(root, ENC "rope_parameters", NULL);
    edit(root, ENC "rope_theta", "250000.0");
    edit(root, "text_config.num_hidden_layers", "3");
    edit(root, "text_config.mlp_layer_types", "[\"dense\",\"dense\",\"sparse\"]");
    char *text = json_dumps(root, 0);
    assert_int_equal(config_parse(&c, str_of(text), "native"), 0);
    assert_true(c.flow.theta == 250000 && c.decoder.first_dense == 2);
    free(text);
    edit(root, "text_config.mlp_layer_types", "[\"dense\",\"sparse\",\"dense\"]");
    text = json_dumps(root, 0);
    assert_int_equal(config_parse(&c, str_of(text), "native"), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "entry 2 is dense, expected sparse"));
    free(text);
    json_decref(root);
    buf_reset(&b);
}

static void not_a_configuration(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[]",
        "7",
        "null",
        "{}",
        "{\"language_config\":7}",
        "{\"model_type\":\"deepseek_ocr2\"}",
        "{\"model_type\":7,\"language_config\":{}}",
        "{\"language_config\":{},\"language_config\":{}}",
        "{\"a\":\"\xff\"}",
    };
    static const char first[] =
        "{\"language_config\":{},\"vision_config\":{\"width\":{\"clip-l-14-224\":{},"
        "\"sam_vit_b\":{}}}}";
    struct model_config c;

    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_int_equal(config_parse(&c, str_of(texts[i]), "x"), RECTO_EMODEL);
        assert_non_null(strchr(err_text(), 'x'));
    }
    assert_int_equal(config_parse(&c, STR(first), "x"), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "this is DeepSeek-OCR, the first one"));
    assert_int_equal(config_load(&c, "/nowhere"), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "/nowhere/config.json: no such file; download it"));
}

static void guards(void **state)
{
    static const struct {
        const char *text;
        int n, w; /* n = 0: refused */
    } cases[] = {
        {"{\"recto\":{\"guard\":\"40/180\"}}", 40, 180},
        {"{\"recto\":{\"guard\":\"1/1\"}}", 1, 1},
        {"{\"recto\":{\"guard\":\"35/all\"}}", 35, -1},
        {"{\"recto\":{\"guard\":\"off\"}}", -1, 90},
        {"{\"recto\":{}}", 20, 90},
        {"{\"recto\":{\"guard\":null}}", 20, 90},
        {"{\"eos_token_id\":1}", 20, 90},
        {"{\"recto\":{\"guard\":\"180/40\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"0/90\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"-1/90\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"20\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"20/\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"20/ 90\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"20/90x\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"/90\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"\"}}", 0, 0},
        {"{\"recto\":{\"guard\":\"20/99999999999999999999999999\"}}", 0, 0},
        {"{\"recto\":{\"guard\":20}}", 0, 0},
        {"{\"recto\":7}", 0, 0},
        {"[", 0, 0},
    };
    struct model_config c;

    for (size_t i = 0; i < COUNT(cases); i++) {
        config_released(&c);
        int rc = config_parse_guard(&c, str_of(cases[i].text), "generation_config.json");
        if (rc != (cases[i].n ? 0 : RECTO_EMODEL))
            fail_msg("%s: %d", cases[i].text, rc);
        if (rc == 0 && (c.guard_n != cases[i].n || c.guard_w != cases[i].w))
            fail_msg("%s: %d/%d", cases[i].text, c.guard_n, c.guard_w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(released),       cmocka_unit_test(small_models),
        cmocka_unit_test(write_and_read), cmocka_unit_test(changed_original),
        cmocka_unit_test(changed_native), cmocka_unit_test(not_a_configuration),
        cmocka_unit_test(guards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
