/* The program itself: what it writes loads, is the same whatever the threads and files, and
 * converts without loss. */
#include "ckpt_file.h"

#include "base/err.h"
#include "tensor/inventory.h"

#include <math.h>

#define TOOL BIN_DIR "/make_checkpoint"
#define TINY TEST_DIR "/golden/tiny"

/* Run TOOL with these words; %d in them is the test's folder. */
static int run(const char *words)
{
    struct buf command = {0};

    buf_text(&command, TOOL " ");
    for (const char *s = words; *s; s++) {
        if (s[0] == '%' && s[1] == 'd')
            buf_text(&command, temp_dir), s++;
        else
            buf_char(&command, *s);
    }
    buf_fmt(&command, " >%s/log 2>&1", temp_dir);
    int rc = system(command.p);
    buf_reset(&command);
    return rc;
}

static void expect_run(const char *words)
{
    struct buf log = {0};

    if (run(words) == 0)
        return;
    file_read(&log, temp_path("log"), 1 << 20);
    fail_msg("make_checkpoint %s: %s", words, buf_view(&log).p);
}

/* The same file content. */
static void expect_equal(const char *a, const char *b)
{
    struct file_map x, y;

    assert_int_equal(file_map_open(&x, temp_path(a)), 0);
    assert_int_equal(file_map_open(&y, temp_path(b)), 0);
    assert_int_equal(x.len, y.len);
    assert_memory_equal(x.data, y.data, x.len);
    file_map_close(&x);
    file_map_close(&y);
}

static void repeatable(void **state)
{
    expect_run("--config " TINY "/config.json --seed 7 --threads 1 %d/a");
    expect_run("--config " TINY "/config.json --seed 7 --threads 3 %d/b");
    expect_equal("a/model.safetensors", "b/model.safetensors");
    /* Fused on the way out, or fused afterwards: the same bytes. */
    expect_run("--config " TINY "/config.json --seed 7 --native %d/c");
    expect_run("--convert-native %d/a %d/d");
    expect_equal("c/model.safetensors", "d/model.safetensors");
    expect_equal("c/config.json", "d/config.json");
    /* In files */
    expect_run("--config " TINY "/config.json --seed 7 --native --shards 3 %d/e");
    expect_run("--convert-native %d/e %d/f");
    expect_equal("c/model.safetensors", "f/model.safetensors");
}

/* Mean and spread of every tensor: near 0 or 1, and matrices at 0.7 / sqrt(inputs). */
static int check_spread(void *ctx, const struct inventory_item *it)
{
    const struct ckpt *c = ctx;
    struct ckpt_view v;
    double sum = 0, squares = 0, largest = 0;

    assert_int_equal(names_find(c, NAMES_ORIGINAL, it->name, &v), 0);
    assert_int_equal(v.dtype, DT_F32);
    float *f = mem_alloc((size_t)v.count * 4);
    ckpt_read_f32(v.dtype, v.data, v.count, f);
    double centre = it->role == ROLE_NORM ? 1 : 0;
    for (int64_t i = 0; i < v.count; i++) {
        double x = f[i] - centre;
        sum += x, squares += x * x, largest = fmax(largest, fabs(x));
    }
    free(f);
    double n = (double)v.count, mean = sum / n, deviation = sqrt(squares / n);
    assert_true(fabs(mean) < 5 * deviation / sqrt(n));
    assert_true(largest < 3.5 * deviation * (n < 1000 ? 1.5 : 1.1));
    if (it->role == ROLE_LINEAR && n > 1000)
        assert_true(fabs(deviation * sqrt((double)it->fan_in) - 0.7) < 0.7 * 4 / sqrt(2 * n));
    if (it->role == ROLE_NORM)
        assert_true(largest <= 0.1001);
    return 0;
}

static void spreads(void **state)
{
    struct model_config config;
    struct ckpt c;

    expect_run("--config " TINY "/config.json --dtype f32 %d/a");
    assert_int_equal(config_load(&config, temp_path("a")), 0);
    assert_int_equal(ckpt_open(&c, temp_path("a")), 0);
    assert_int_equal(inventory_each(&config, check_spread, &c), 0);
    ckpt_close(&c);
}

static void tokenizer(void **state)
{
    struct buf b = {0};

    expect_run("--config " SOURCE_DIR "/models/mini/config.json --tokenizer " SOURCE_DIR
               "/models/mini/tokenizer.json %d/a");
    assert_int_equal(file_read(&b, temp_path("a/tokenizer_config.json"), 1 << 16), 0);
    assert_non_null(strstr(b.p, "\"bos_token\": \"<｜begin▁of▁sentence｜>\""));
    assert_non_null(strstr(b.p, "\"eos_token\": \"<｜end▁of▁sentence｜>\""));
    expect_run("--convert-native %d/a %d/b");
    expect_equal("a/tokenizer.json", "b/tokenizer.json");
    buf_reset(&b);
}

static void refusals(void **state)
{
    static const char *const words[] = {
        "",
        "%d/a %d/b",
        "--convert-native %d/a",
        "--dtype int8 %d/a",
        "--shards x %d/a",
        "--seed -1 %d/a",
        "--nonsense %d/a",
        "--config %d/nothing.json %d/a",
        "--config " TINY "/tensors.json %d/a",
        "--config " TINY "/config.json %d/nothing/a",
        "--config " TINY "/config.json " TINY,
        "--convert-native " TINY " " TINY,
        "--convert-native " TEST_DIR "/golden %d/a",
    };

    for (size_t i = 0; i < COUNT(words); i++)
        if (run(words[i]) == 0)
            fail_msg("make_checkpoint %s: succeeded", words[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(repeatable, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(spreads, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(tokenizer, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(refusals, temp_setup, temp_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
