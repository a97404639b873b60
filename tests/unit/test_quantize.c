/* Quantised model folders: what is in them, that loading one gives the bits of quantising while
 * loading, and what is refused. */
#include "ckpt_file.h"

#include "base/err.h"
#include "engine/model.h"
#include "recto.h"
#include "tensor/inventory.h"

#define TINY TEST_DIR "/golden/tiny"

static char report[256];

static void keep_line(void *ctx, const char *line)
{
    (void)ctx;
    snprintf(report, sizeof report, "%s", line);
}

static int quantize(const char *from, const char *to, const char *scheme, int threads)
{
    return recto_quantize(from, temp_path(to), scheme, threads, keep_line, NULL);
}

static int open_model(struct model *m, const char *dir, const char *weights)
{
    struct device_opts o = {.name = "cpu", .threads = 1, .weights = weights};

    return model_open(m, dir, "cpu", &o);
}

static void fails(const char *name, const char *weights, const char *words)
{
    struct model m;

    assert_int_equal(open_model(&m, temp_path(name), weights), RECTO_EMODEL);
    if (!strstr(err_text(), words))
        fail_msg("'%s' does not say '%s'", err_text(), words);
    model_close(&m);
}

/* Decoder matrices quantised, with scales; all else the same bytes. */
struct compared {
    struct ckpt a, b;
    enum weight_kind kind;
    int n_matrix, n_same;
};

static int check_item(void *ctx, const struct inventory_item *it)
{
    struct compared *c = ctx;
    struct ckpt_view a, b, scale;
    char name[NAMES_MAX + 8];

    assert_int_equal(names_find(&c->a, NAMES_ORIGINAL, it->name, &a), 0);
    assert_int_equal(names_find(&c->b, NAMES_ORIGINAL, it->name, &b), 0);
    if (b.dtype == a.dtype) {
        assert_int_equal(a.bytes, b.bytes);
        assert_memory_equal(a.data, b.data, a.bytes);
        c->n_same++;
        return 0;
    }
    snprintf(name, sizeof name, "%s_scale", it->name);
    assert_int_equal(names_find(&c->b, NAMES_ORIGINAL, name, &scale), 0);
    assert_int_equal(b.dtype, quant_dtype(c->kind));
    assert_int_equal(b.n[0], it->n[0]);
    assert_int_equal(b.n[1], quant_row_bytes(c->kind, it->n[1]));
    assert_int_equal(scale.dtype, DT_BF16);
    assert_int_equal(scale.n[1], quant_groups(c->kind, it->n[1]));
    assert_true(!strstr(it->name, "sam_model") && !strstr(it->name, "qwen2_model") &&
                !strstr(it->name, "mlp.gate.weight") && !strstr(it->name, "embed_tokens") &&
                !strstr(it->name, "norm"));
    c->n_matrix++;
    return 0;
}

static void contents(void **state)
{
    struct compared c = {0};
    struct model_config config;

    assert_int_equal(config_load(&config, TINY), 0);
    assert_int_equal(ckpt_open(&c.a, TINY), 0);
    for (int k = WEIGHT_INT8; k <= WEIGHT_INT4; k++) {
        const char *kind = quant_kind_text((enum weight_kind)k);

        c.kind = (enum weight_kind)k;
        c.n_matrix = c.n_same = 0;
        assert_int_equal(quantize(TINY, kind, kind, 2), 0);
        assert_int_equal(ckpt_open(&c.b, temp_path(kind)), 0);
        assert_int_equal(inventory_each(&config, check_item, &c), 0);
        /* 3 layers of 4, one dense of 3, two with 3 x (8 experts and the shared one), the head */
        assert_int_equal(c.n_matrix, 3 * 4 + 3 + 2 * 3 * 9 + 1);
        assert_int_equal(c.n_same + c.n_matrix, inventory_count(&config, NULL));
        ckpt_close(&c.b);
        assert_non_null(strstr(report, "70 matrices as int"));
    }
    ckpt_close(&c.a);
}

static void same_weight(const struct weight *a, const struct weight *b, enum weight_kind kind)
{
    assert_int_equal(a->kind, kind);
    assert_int_equal(b->kind, kind);
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->data, b->data, (size_t)a->bytes);
}

static void same_bits(void **state)
{
    for (int k = WEIGHT_INT8; k <= WEIGHT_INT4; k++) {
        const char *kind = quant_kind_text((enum weight_kind)k);
        struct model a, b;

        assert_int_equal(quantize(TINY, kind, kind, 1), 0);
        assert_int_equal(open_model(&a, temp_path(kind), "auto"), 0);
        assert_int_equal(open_model(&b, TINY, kind), 0);
        assert_int_equal(a.weights.n_param, b.weights.n_param);
        assert_int_equal(a.weights.bytes, b.weights.bytes);
        assert_int_equal(a.weights.quantised, k);
        same_weight(&a.decoder.lm_head, &b.decoder.lm_head, (enum weight_kind)k);
        for (int i = 0; i < a.cfg.decoder.layers; i++) {
            struct decoder_block *x = &a.decoder.block[i], *y = &b.decoder.block[i];

            same_weight(&x->wo, &y->wo, (enum weight_kind)k);
            for (int e = 0; e < x->moe.n_expert; e++)
                same_weight(&x->moe.down[e], &y->moe.down[e], (enum weight_kind)k);
        }
        assert_int_equal(a.decoder.block[1].moe.router.kind, WEIGHT_F32);
        assert_false(quant_is(a.vision.projector.kind));
        model_close(&a), model_close(&b);
    }
}

/* One text of the header replaced by another of its length, in the first place it stands behind
 * `behind`. */
static void damage(const char *from, const char *to, const char *behind, const char *a,
                   const char *b)
{
    struct buf file = {0};
    char *path = file_join(temp_path(from), "model.safetensors"),
         *copy = file_join(temp_path(to), "model.safetensors"), *at;

    assert_int_equal(strlen(a), strlen(b));
    assert_int_equal(mkdir(temp_path(to), 0777), 0);
    assert_int_equal(file_read(&file, path, 1 << 26), 0);
    at = memmem(file.p, file.n, behind, strlen(behind));
    assert_non_null(at);
    at = memmem(at, file.n - (size_t)(at - file.p), a, strlen(a));
    assert_non_null(at);
    memcpy(at, b, strlen(b));
    assert_int_equal(file_write(copy, buf_view(&file)), 0);
    free(path), free(copy);
    path = file_join(temp_path(to), "config.json");
    assert_int_equal(file_copy(path, TINY "/config.json", 1 << 20), 0);
    free(path);
    buf_reset(&file);
}

static void refusals(void **state)
{
    static const char head[] = "\"lm_head.weight\"", scale[] = "\"lm_head.weight_scale\"";

    assert_int_equal(quantize(TINY, "a", "int8", 1), 0);
    assert_int_equal(quantize(TINY, "a", "int8", 1), RECTO_EUSAGE); /* is there already */
    assert_int_equal(quantize(TINY, "b", "int3", 1), RECTO_EUSAGE);
    assert_int_equal(quantize(TINY, "b", "bf16", 1), RECTO_EUSAGE);
    assert_int_equal(quantize(TINY, "no/where", "int8", 1), RECTO_EOUTPUT);
    assert_int_equal(quantize(TEST_DIR, "b", "int8", 1), RECTO_EMODEL);
    assert_int_equal(quantize(temp_path("a"), "b", "int4", 1), RECTO_EMODEL); /* twice */
    fails("a", "int4", "cannot become int4");
    damage("a", "c", scale, "[640,2]", "[320,4]");
    fails("c", "auto", "lm_head.weight_scale");
    damage("a", "d", scale, "\"BF16\"", "\"F16\" ");
    fails("d", "auto", "expected BF16");
    damage("a", "e", head, "[640,80]", "[800,64]");
    fails("e", "auto", "[640, 80]");
    damage("a", "f", head, scale, "\"lm_head.weight_skale\"");
    fails("f", "auto", "lm_head.weight_scale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(contents, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(same_bits, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(refusals, temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
