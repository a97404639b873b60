/* Opening a model folder that is wrong: each fault is one sentence that names it, and nothing leaks. */
#include "base/file.h"
#include "base/mem.h"
#include "base/err.h"
#include "engine/runner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <unistd.h>

#define TINY TEST_DIR "/golden/tiny"

static char dir[] = "/tmp/recto-test-model-XXXXXX";

static int setup(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    char *config = file_join(dir, "config.json"), *weights = file_join(dir, "model.safetensors");

    unlink(config);
    unlink(weights);
    free(config);
    free(weights);
    return rmdir(dir);
}

/* The tiny configuration with one text replaced, beside the first n bytes of its weights (0: none, -1: all). */
static void make_folder(const char *from, const char *to, ssize_t n)
{
    struct buf config = {0}, weights = {0}, changed = {0};
    char *path = file_join(dir, "config.json"), *weights_path = file_join(dir, "model.safetensors");
    size_t at;

    assert_int_equal(file_read(&config, TINY "/config.json", 1 << 20), 0);
    at = str_find(buf_view(&config), str_of(from), 0);
    assert_true(at < config.n);
    buf_add(&changed, config.p, at);
    buf_text(&changed, to);
    buf_text(&changed, config.p + at + strlen(from));
    assert_int_equal(file_write(path, buf_view(&changed)), 0);
    unlink(weights_path);
    if (n) {
        assert_int_equal(file_read(&weights, TINY "/model.safetensors", 1 << 24), 0);
        assert_int_equal(file_write(weights_path, (str){weights.p, n < 0 ? weights.n : (size_t)n}),
                         0);
    }
    buf_reset(&config);
    buf_reset(&weights);
    buf_reset(&changed);
    free(path);
    free(weights_path);
}

static int try_open(void)
{
    struct device_opts dev = {.name = "cpu", .precision = "fp32", .kernels = "auto", .threads = 1};
    struct model m;
    int rc = model_open(&m, dir, "cpu", &dev);

    model_close(&m);
    return rc;
}

static void expect(int code, const char *words)
{
    assert_int_equal(try_open(), code);
    if (!strstr(err_text(), words))
        fail_msg("'%s' does not say '%s'", err_text(), words);
}

static void an_unchanged_copy_opens(void **state)
{
    make_folder("\"vocab_size\": 640", "\"vocab_size\": 640", -1);
    assert_int_equal(try_open(), 0);
}

static void a_wrong_size_names_tensor_found_and_expected(void **state)
{
    make_folder("\"intermediate_size\": 160", "\"intermediate_size\": 176", -1);
    expect(RECTO_EMODEL, "model.layers.0.mlp.gate_proj.weight");
    expect(RECTO_EMODEL, "[160, 80]");
    expect(RECTO_EMODEL, "[176, 80]");
    expect(RECTO_EMODEL, dir);
}

static void more_experts_than_there_are(void **state)
{
    make_folder("\"n_routed_experts\": 8", "\"n_routed_experts\": 9", -1);
    expect(RECTO_EMODEL, "[9, 80]");
}

static void files_that_are_missing_or_short(void **state)
{
    make_folder("\"vocab_size\": 640", "\"vocab_size\": 640", 0);
    expect(RECTO_EMODEL, "model.safetensors");
    make_folder("\"vocab_size\": 640", "\"vocab_size\": 640", 5);
    expect(RECTO_EMODEL, "model.safetensors");
    make_folder("\"vocab_size\": 640", "\"vocab_size\": 640", 2000000);
    expect(RECTO_EMODEL, "model.safetensors");
}

static void options_that_would_change_the_numbers(void **state)
{
    make_folder("\"use_mla\": false", "\"use_mla\": true", -1);
    expect(RECTO_EMODEL, "use_mla");
}

static void dry_run_measures_what_is_used(void **state)
{
    struct device_opts dev = {.name = "cpu", .precision = "fp32", .kernels = "auto", .threads = 1};
    struct runner_opts o = {.max_tok = 64, .max_seq = 4, .max_out = 4, .kv_tok = 256};
    struct runner rn;
    struct model m;

    assert_int_equal(model_open(&m, TINY, "cpu", &dev), 0);
    assert_int_equal(runner_open(&rn, &m, &o), 0);
    assert_in_range(rn.run.scratch.cap, 1 << 20, 1 << 28);
    assert_int_equal(m.weights.n_param, 880816);
    runner_close(&rn);
    o.kv_block_tok = 24;
    assert_int_equal(runner_open(&rn, &m, &o), RECTO_EUSAGE);
    runner_close(&rn);
    model_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unchanged_copy_opens),
        cmocka_unit_test(a_wrong_size_names_tensor_found_and_expected),
        cmocka_unit_test(more_experts_than_there_are),
        cmocka_unit_test(files_that_are_missing_or_short),
        cmocka_unit_test(options_that_would_change_the_numbers),
        cmocka_unit_test(dry_run_measures_what_is_used),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
