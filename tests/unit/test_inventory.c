#include "ckpt_file.h"

#include "base/err.h"
#include "base/json.h"
#include "tensor/inventory.h"

struct seen {
    json_t *expected; /* name -> shape; NULL: count only */
    int n, n_norm, n_linear;
    char last[NAMES_MAX];
};

static int see(void *ctx, const struct inventory_item *it)
{
    struct seen *s = ctx;

    s->n++;
    s->n_norm += it->role == ROLE_NORM;
    s->n_linear += it->role == ROLE_LINEAR;
    memcpy(s->last, it->name, sizeof s->last);
    if (!s->expected)
        return 0;
    const json_t *shape = json_object_get(s->expected, it->name);
    if (!shape)
        fail_msg("%s is not in tensors.json", it->name);
    assert_int_equal(json_array_size(shape), it->rank);
    for (int i = 0; i < it->rank; i++)
        if (json_integer_value(json_array_get(shape, (size_t)i)) != it->n[i])
            fail_msg("%s: size %d is %lld", it->name, i, (long long)it->n[i]);
    json_object_del(s->expected, it->name);
    return 0;
}

static void expect_tensors(const char *dir, int n, int64_t n_param)
{
    struct seen s = {0};
    struct model_config c;
    char *path = file_join(dir, "tensors.json");
    int64_t total;

    assert_int_equal(config_load(&c, dir), 0);
    assert_int_equal(json_read(&s.expected, path, 1 << 20), 0);
    assert_int_equal(json_object_size(s.expected), n);
    assert_int_equal(inventory_each(&c, see, &s), 0);
    assert_int_equal(json_object_size(s.expected), 0);
    assert_int_equal(inventory_count(&c, &total), n);
    assert_int_equal(total, n_param);
    json_decref(s.expected);
    free(path);
}

static void small_models(void **state)
{
    expect_tensors(TEST_DIR "/golden/tiny", 163, 880816);
    expect_tensors(SOURCE_DIR "/models/mini", 319, 16776448);
}

/* The numbers of the released checkpoint: tensors by the index file, parameters by the shapes. */
static void released(void **state)
{
    struct seen s = {0};
    struct model_config c;
    int64_t n_param;

    config_released(&c);
    assert_int_equal(inventory_count(&c, &n_param), 2707);
    assert_int_equal(n_param, 3389119360);
    assert_int_equal(inventory_each(&c, see, &s), 0);
    /* SAM 2 x 12 + 2, encoder 2 x 24 + 1, decoder 2 x 12 + 1 */
    assert_int_equal(s.n_norm, 26 + 49 + 25);
    /* SAM 4 x 12, encoder 7 x 24, projector, decoder 4 x 12, dense 3, 11 layers of 65 MLPs */
    assert_int_equal(s.n_linear, 48 + 168 + 1 + 48 + 3 + 11 * 65 * 3);
    assert_string_equal(s.last, "lm_head.weight");
}

static int stop_at_three(void *ctx, const struct inventory_item *it)
{
    return ++*(int *)ctx == 3 ? -99 : 0;
}

static void stops(void **state)
{
    struct model_config c;
    int n = 0;

    config_released(&c);
    assert_int_equal(inventory_each(&c, stop_at_three, &n), -99);
    assert_int_equal(n, 3);
}

static void fan_in(void *ctx, const struct inventory_item *it, const char *name, int64_t want)
{
    if (strcmp(it->name, name) == 0) {
        assert_int_equal(it->fan_in, want);
        ++*(int *)ctx;
    }
}

static int check_fan_in(void *ctx, const struct inventory_item *it)
{
    fan_in(ctx, it, "model.sam_model.patch_embed.proj.weight", 768);
    fan_in(ctx, it, "model.sam_model.net_3.weight", 4608);
    fan_in(ctx, it, "model.layers.1.mlp.gate.weight", 1280);
    fan_in(ctx, it, "model.layers.1.mlp.experts.63.down_proj.weight", 896);
    fan_in(ctx, it, "model.layers.1.mlp.shared_experts.down_proj.weight", 1792);
    fan_in(ctx, it, "model.embed_tokens.weight", 0);
    return 0;
}

static void fan_ins(void **state)
{
    struct model_config c;
    int n = 0;

    config_released(&c);
    inventory_each(&c, check_fan_in, &n);
    assert_int_equal(n, 6);
}

static void checkpoints(void **state)
{
    struct model_config c;
    struct ckpt k;

    assert_int_equal(config_load(&c, TEST_DIR "/golden/tiny"), 0);
    assert_int_equal(ckpt_open(&k, TEST_DIR "/golden/tiny"), 0);
    assert_int_equal(inventory_check(&c, &k, NAMES_ORIGINAL), 0);
    c.decoder.layers = 4;
    assert_int_equal(inventory_check(&c, &k, NAMES_ORIGINAL), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "model.layers.3.input_layernorm.weight is missing"));
    c.decoder.layers = 3;
    c.decoder.dense_inner = 161;
    assert_int_equal(inventory_check(&c, &k, NAMES_ORIGINAL), RECTO_EMODEL);
    assert_non_null(
        strstr(err_text(), "model.layers.0.mlp.gate_proj.weight is [160, 80], expected [161, 80]"));
    ckpt_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_models), cmocka_unit_test(released),    cmocka_unit_test(stops),
        cmocka_unit_test(fan_ins),      cmocka_unit_test(checkpoints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
