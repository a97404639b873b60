#include "ckpt_file.h"

#include "base/err.h"
#include "tensor/ckpt_write.h"

#define LONG "____________________________________________________________"

static void renames(void **state)
{
    static const struct {
        const char *original, *native;
        enum names_part part;
        int expert;
    } cases[] = {
        {"model.sam_model.pos_embed", "model.vision_tower.sam_encoder.pos_embed", NAMES_WHOLE, 0},
        {"model.sam_model.patch_embed.proj.bias",
         "model.vision_tower.sam_encoder.patch_embed.projection.bias", NAMES_WHOLE, 0},
        {"model.sam_model.blocks.11.norm1.weight",
         "model.vision_tower.sam_encoder.layers.11.layer_norm1.weight", NAMES_WHOLE, 0},
        {"model.sam_model.blocks.0.attn.rel_pos_h",
         "model.vision_tower.sam_encoder.layers.0.attn.rel_pos_h", NAMES_WHOLE, 0},
        {"model.sam_model.blocks.3.mlp.lin2.bias",
         "model.vision_tower.sam_encoder.layers.3.mlp.lin2.bias", NAMES_WHOLE, 0},
        {"model.sam_model.neck.0.weight", "model.vision_tower.sam_encoder.neck.conv1.weight",
         NAMES_WHOLE, 0},
        {"model.sam_model.neck.3.bias", "model.vision_tower.sam_encoder.neck.layer_norm2.bias",
         NAMES_WHOLE, 0},
        {"model.sam_model.net_2.weight", "model.vision_tower.sam_encoder.proj.conv1.weight",
         NAMES_WHOLE, 0},
        {"model.qwen2_model.query_768.weight", "model.vision_tower.query_768_resolution.weight",
         NAMES_WHOLE, 0},
        {"model.qwen2_model.model.model.layers.23.self_attn.q_proj.bias",
         "model.vision_tower.vision_encoder.layers.23.self_attn.q_proj.bias", NAMES_WHOLE, 0},
        {"model.qwen2_model.model.model.norm.weight",
         "model.vision_tower.vision_encoder.norm.weight", NAMES_WHOLE, 0},
        {"model.projector.layers.weight", "model.multi_modal_projector.weight", NAMES_WHOLE, 0},
        {"model.view_seperator", "model.view_separator", NAMES_WHOLE, 0},
        {"model.embed_tokens.weight", "model.language_model.embed_tokens.weight", NAMES_WHOLE, 0},
        {"model.layers.0.mlp.gate_proj.weight",
         "model.language_model.layers.0.mlp.gate_proj.weight", NAMES_WHOLE, 0},
        {"model.layers.7.mlp.gate.weight", "model.language_model.layers.7.mlp.gate.weight",
         NAMES_WHOLE, 0},
        {"model.layers.7.mlp.shared_experts.up_proj.weight",
         "model.language_model.layers.7.mlp.shared_experts.up_proj.weight", NAMES_WHOLE, 0},
        {"model.layers.7.mlp.experts.63.gate_proj.weight",
         "model.language_model.layers.7.mlp.experts.gate_up_proj", NAMES_GATE, 63},
        {"model.layers.11.mlp.experts.0.up_proj.weight",
         "model.language_model.layers.11.mlp.experts.gate_up_proj", NAMES_UP, 0},
        {"model.layers.1.mlp.experts.5.down_proj.weight",
         "model.language_model.layers.1.mlp.experts.down_proj", NAMES_DOWN, 5},
        {"model.norm.weight", "model.language_model.norm.weight", NAMES_WHOLE, 0},
        {"lm_head.weight", "lm_head.weight", NAMES_WHOLE, 0},
    };
    static const char *const unknown[] = {
        "",
        "weight",
        "model.",
        "model.sam_model.blocks.x.norm1.weight",
        "model.sam_model.blocks.0.norm3.weight",
        "model.layers.1.mlp.experts.gate_proj.weight",
        "model.layers.1.mlp.experts.1.side_proj.weight",
        "model.layers.1.mlp.experts.1.gate_proj.bias",
        ("model.layers." LONG LONG LONG),
    };
    struct native_name n;

    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(names_to_native(cases[i].original, &n), 0);
        assert_string_equal(n.name, cases[i].native);
        assert_int_equal(n.part, cases[i].part);
        assert_int_equal(n.expert, cases[i].expert);
    }
    for (size_t i = 0; i < COUNT(unknown); i++)
        assert_int_equal(names_to_native(unknown[i], &n), RECTO_EINTERNAL);
}

/* ---- the same weights in every arrangement --------------------------------------------------- */

struct models {
    struct model_config config;
    struct ckpt original, other;
    enum names_layout layout; /* of other */
    int n_slice;
};

static int fill_copy(void *ctx, const struct inventory_item *it, int64_t from, int64_t count,
                     float *to)
{
    const struct models *m = ctx;
    struct ckpt_view v;

    TRY(names_find(&m->original, NAMES_ORIGINAL, it->name, &v));
    return ckpt_read_f32(v.dtype, (const char *)v.data + (size_t)from * dtype_size(v.dtype), count,
                         to);
}

static int compare(void *ctx, const struct inventory_item *it)
{
    struct models *m = ctx;
    struct ckpt_view a, b;

    assert_int_equal(names_find(&m->original, NAMES_ORIGINAL, it->name, &a), 0);
    if (names_find(&m->other, m->layout, it->name, &b) != 0)
        fail_msg("%s", err_text());
    assert_int_equal(a.dtype, b.dtype);
    assert_int_equal(a.rank, b.rank);
    assert_memory_equal(a.n, b.n, sizeof a.n);
    assert_int_equal(a.bytes, b.bytes);
    assert_int_equal(a.count, it->count);
    assert_memory_equal(a.data, b.data, a.bytes);
    names_drop(&m->other, &b);
    assert_memory_equal(a.data, b.data, a.bytes);
    m->n_slice += b.is_slice;
    return 0;
}

static void expect_same(const char *dir, enum names_layout layout, enum dtype dtype, int shards,
                        int n_file, int n_tensor)
{
    struct models m = {.layout = layout};
    struct ckpt_written done;

    assert_int_equal(config_load(&m.config, dir), 0);
    assert_int_equal(ckpt_open(&m.original, dir), 0);
    assert_int_equal(names_detect(&m.original), NAMES_ORIGINAL);
    struct ckpt_plan plan = {.config = &m.config,
                             .layout = layout,
                             .dtype = dtype,
                             .n_shard = shards,
                             .threads = 2,
                             .fill = fill_copy,
                             .ctx = &m};
    if (ckpt_write(temp_dir, &plan, &done) != 0)
        fail_msg("%s", err_text());
    assert_int_equal(ckpt_open(&m.other, temp_dir), 0);
    assert_int_equal(done.n_tensor, m.other.n_tensor);
    assert_int_equal(m.other.n_tensor, n_tensor);
    assert_int_equal(m.other.n_file, n_file);
    assert_int_equal(names_detect(&m.other), layout);
    assert_int_equal(inventory_check(&m.config, &m.other, layout), 0);
    assert_int_equal(inventory_each(&m.config, compare, &m), 0);
    int moe = m.config.decoder.layers - m.config.decoder.first_dense;
    assert_int_equal(m.n_slice, layout == NAMES_NATIVE ? 3 * moe * m.config.decoder.n_expert : 0);
    /* There is a model now: a second one is refused. */
    assert_int_equal(ckpt_write(temp_dir, &plan, &done), RECTO_EUSAGE);
    ckpt_close(&m.original);
    ckpt_close(&m.other);
    temp_empty(temp_dir);
}

static void arrangements(void **state)
{
    expect_same(TEST_DIR "/golden/tiny", NAMES_NATIVE, DT_F32, 0, 1, 119);
    expect_same(TEST_DIR "/golden/tiny", NAMES_NATIVE, DT_F32, 4, 4, 119);
    expect_same(TEST_DIR "/golden/tiny", NAMES_ORIGINAL, DT_F32, 1, 1, 163);
    expect_same(TEST_DIR "/golden/tiny", NAMES_ORIGINAL, DT_F32, 3, 3, 163);
    expect_same(SOURCE_DIR "/models/mini", NAMES_NATIVE, DT_BF16, 2, 2, 209);
}

/* ---- odd checkpoints ------------------------------------------------------------------------- */

#define T(name, shape, from, to) \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"
#define EXPERTS "model.language_model.layers.1.mlp.experts."

static void open_with(struct ckpt *c, const char *header, size_t n)
{
    put_safetensors("model.safetensors", header, -1, n);
    assert_int_equal(ckpt_open(c, temp_dir), 0);
}

static void expect_view(const struct ckpt *c, const char *name, int64_t rows, int64_t cols,
                        int first)
{
    struct ckpt_view v;

    if (names_find(c, NAMES_NATIVE, name, &v) != 0)
        fail_msg("%s", err_text());
    assert_int_equal(v.n[0], rows);
    assert_int_equal(v.n[1], cols);
    assert_int_equal(v.bytes, rows * cols);
    for (int i = 0; i < rows * cols; i++)
        assert_int_equal(((const unsigned char *)v.data)[i], first + i);
}

static void slices(void **state)
{
    struct ckpt c;

    /* 3 experts, inner 2, hidden 5 */
    open_with(&c,
              "{" T(EXPERTS "gate_up_proj", "[3,4,5]", 0, 60) "," T(EXPERTS "down_proj", "[3,5,2]",
                                                                    60, 90) "}",
              90);
    expect_view(&c, "model.layers.1.mlp.experts.0.gate_proj.weight", 2, 5, 0);
    expect_view(&c, "model.layers.1.mlp.experts.0.up_proj.weight", 2, 5, 10);
    expect_view(&c, "model.layers.1.mlp.experts.2.gate_proj.weight", 2, 5, 40);
    expect_view(&c, "model.layers.1.mlp.experts.2.up_proj.weight", 2, 5, 50);
    expect_view(&c, "model.layers.1.mlp.experts.0.down_proj.weight", 5, 2, 60);
    expect_view(&c, "model.layers.1.mlp.experts.2.down_proj.weight", 5, 2, 80);
    struct ckpt_view v;
    assert_int_equal(
        names_find(&c, NAMES_NATIVE, "model.layers.1.mlp.experts.3.down_proj.weight", &v),
        RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "of shape [3, 5, 2] does not hold expert 3"));
    assert_int_equal(
        names_find(&c, NAMES_NATIVE, "model.layers.2.mlp.experts.0.down_proj.weight", &v),
        RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "is missing"));
    ckpt_close(&c);

    open_with(&c,
              "{" T(EXPERTS "gate_up_proj", "[3,5,4]", 0, 60) "," T(EXPERTS "down_proj", "[30]", 60,
                                                                    90) "}",
              90);
    assert_int_equal(
        names_find(&c, NAMES_NATIVE, "model.layers.1.mlp.experts.0.up_proj.weight", &v),
        RECTO_EMODEL);
    assert_int_equal(
        names_find(&c, NAMES_NATIVE, "model.layers.1.mlp.experts.0.down_proj.weight", &v),
        RECTO_EMODEL);
    ckpt_close(&c);
}

static void other_native_names(void **state)
{
    struct ckpt c;

    static const char header[] = "{" /* clang-format off */
        T(EXPERTS "1.gate_proj.weight", "[2,2]", 0, 4) ","
        T(EXPERTS "1.down_proj.weight", "[2,2]", 4, 8) ","
        T("model.vision_tower.query_768.weight", "[1,3]", 8, 11) ","
        T("model.vision_tower.query_1024.weight", "[2,1]", 11, 13) ","
        T("model.multi_modal_projector.proj.weight", "[1,2]", 13, 15) ","
        T("model.multi_modal_projector.proj.bias", "[1]", 15, 16) "}"; /* clang-format on */

    open_with(&c, header, 16);
    expect_view(&c, "model.layers.1.mlp.experts.1.gate_proj.weight", 2, 2, 0);
    expect_view(&c, "model.layers.1.mlp.experts.1.down_proj.weight", 2, 2, 4);
    expect_view(&c, "model.qwen2_model.query_768.weight", 1, 3, 8);
    expect_view(&c, "model.qwen2_model.query_1024.weight", 2, 1, 11);
    expect_view(&c, "model.projector.layers.weight", 1, 2, 13);
    expect_view(&c, "model.projector.layers.bias", 1, 1, 15);
    ckpt_close(&c);
}

static void detection(void **state)
{
    static const struct {
        const char *header;
        int rc;
    } cases[] = {
        {"{" T("model.sam_model.pos_embed", "[1]", 0, 1) "}", NAMES_ORIGINAL},
        {"{" T("model.vision_tower.sam_encoder.pos_embed", "[1]", 0, 1) "}", NAMES_NATIVE},
        {"{" T("v.sam.pos_embd.weight", "[1]", 0, 1) "}", RECTO_EMODEL},
        {"{" T("model.embed_tokens.weight", "[1]", 0, 1) "}", RECTO_EMODEL},
    };
    struct ckpt_view v;
    struct ckpt c;

    for (size_t i = 0; i < COUNT(cases); i++) {
        open_with(&c, cases[i].header, 1);
        assert_int_equal(names_detect(&c), cases[i].rc);
        ckpt_close(&c);
    }
    open_with(&c, "{" T("lm_head.weight", "[1,1,1,1,1]", 0, 1) "}", 1);
    assert_int_equal(names_find(&c, NAMES_ORIGINAL, "lm_head.weight", &v), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "has 5 sizes"));
    assert_int_equal(names_find(&c, NAMES_ORIGINAL, "model.norm.weight", &v), RECTO_EMODEL);
    ckpt_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(renames),
        cmocka_unit_test_setup_teardown(arrangements, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(slices, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(other_native_names, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(detection, temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
