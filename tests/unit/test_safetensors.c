#include "ckpt_file.h"

#include "base/err.h"
#include "tensor/safetensors.h"

#include <math.h>

#define T(name, dtype, shape, from, to)                                                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #from "," #to \
    "]}"

/* Open a file of this header; the outcome must be RECTO_EMODEL and the sentence must hold `says`.
 * */
static void expect_refused(const char *name, const char *says)
{
    struct ckpt c;
    int rc = ckpt_open(&c, temp_path(name));

    ckpt_close(&c);
    if (rc != RECTO_EMODEL || !strstr(err_text(), says) || strchr(err_text(), '\n'))
        fail_msg("%s: expected \"%s\", got %d: %s", name, says, rc, rc ? err_text() : "");
}

static void hostile_headers(void **state)
{
    static const struct {
        const char *says, *header;
        int64_t header_len;
        size_t n_data;
    } cases[] = {
        {"no JSON object", "", 0, 0},
        {"cut short", "{}", 3, 0},
        {"cut short", "{}", 1 << 20, 0},
        {"not a safetensors file", "{}", INT64_MAX, 0},
        {"not a safetensors file", "{}", (int64_t)CKPT_HEADER_MAX + 1, 0},
        {"no tensors", "{}", -1, 0},
        {"no tensors", "{\"__metadata__\":{\"a\":\"b\"}}   ", -1, 0},
        {"no JSON object", "[]", -1, 0},
        {"no JSON object", "  {}", -1, 0},
        {"not valid JSON", "{\"a\":", -1, 0},
        {"not valid JSON", "{} x", -1, 0},
        {"not valid JSON", "{\"\xff\":{}}", -1, 0},
        {"not valid JSON", "{\"a\\u0000b\":{}}", -1, 0},
        {"duplicate", "{" T("a", "U8", "[1]", 0, 1) "," T("a", "U8", "[1]", 1, 2) "}", -1, 2},
        {"its entry is no JSON object", "{\"a\":7}", -1, 0},
        {"control characters", "{\"a\\nb\":{}}", -1, 0},
        {"name is empty", "{\"\":{}}", -1, 0},
        {"no dtype", "{\"a\":{}}", -1, 0},
        {"no dtype", "{\"a\":{\"dtype\":3,\"shape\":[],\"data_offsets\":[0,0]}}", -1, 0},
        {"shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", -1, 0},
        {"shape", "{" T("a", "U8", "[1,1,1,1,1,1,1,1,1]", 0, 1) "}", -1, 1},
        {"something else than sizes", "{" T("a", "U8", "[-1]", 0, 1) "}", -1, 1},
        {"something else than sizes", "{" T("a", "U8", "[1.0]", 0, 1) "}", -1, 1},
        {"something else than sizes", "{" T("a", "U8", "[\"1\"]", 0, 1) "}", -1, 1},
        {"larger than any file", "{" T("a", "U8", "[4294967296,4294967296]", 0, 1) "}", -1, 1},
        {"larger than any file", "{" T("a", "U8", "[4294967296,2147483648]", 0, 1) "}", -1, 1},
        {"does not take", "{" T("a", "F32", "[4611686018427387904]", 0, 0) "}", -1, 1},
        {"whole numbers", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", -1, 1},
        {"whole numbers", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", -1, 1},
        {"whole numbers", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", -1,
         1},
        {"whole numbers", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1.0]}}", -1,
         1},
        {"not valid JSON", "{" T("a", "U8", "[1]", 0, 99999999999999999999) "}", -1, 1},
        {"run backwards", "{" T("a", "U8", "[1]", 2, 1) "}", -1, 4},
        {"run backwards", "{" T("a", "U8", "[1]", -1, 0) "}", -1, 4},
        {"ends at byte", "{" T("a", "U8", "[1]", 0, 1) "}", -1, 0},
        {"ends at byte", "{" T("a", "U8", "[1]", 9223372036854775806, 9223372036854775807) "}", -1,
         8},
        {"does not take", "{" T("a", "F32", "[2]", 0, 4) "}", -1, 8},
        {"does not take", "{" T("a", "BF16", "[]", 0, 1) "}", -1, 8},
        {"does not take", "{" T("a", "F64", "[1]", 0, 4) "}", -1, 8},
        {"share bytes", "{" T("a", "U8", "[4]", 0, 4) "," T("b", "U8", "[4]", 3, 7) "}", -1, 8},
        {"share bytes", "{" T("a", "U8", "[8]", 0, 8) "," T("b", "U8", "[1]", 4, 5) "}", -1, 8},
        {"share bytes", "{" T("b", "U8", "[4]", 0, 4) "," T("a", "U8", "[4]", 0, 4) "}", -1, 8},
    };
    char name[32];

    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(name, sizeof name, "hostile%zu.safetensors", i);
        put_safetensors(name, cases[i].header, cases[i].header_len, cases[i].n_data);
        expect_refused(name, cases[i].says);
    }
}

static void other_files(void **state)
{
    static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n";

    put_bytes("empty", "", 0);
    expect_refused("empty", "0 bytes, too short");
    put_bytes("short", "1234567", 7);
    expect_refused("short", "7 bytes, too short");
    put_bytes("gguf", "GGUF\3\0\0\0aaaaaaaaaaaa", 20);
    expect_refused("gguf", "GGUF");
    put_bytes("lfs", lfs, sizeof lfs - 1);
    expect_refused("lfs", "git lfs pull");
    expect_refused("nothing", "no such file");
    assert_int_equal(mkdir(temp_path("dir"), 0777), 0);
    expect_refused("dir", "looked for model.safetensors, model.safetensors.index.json");
}

/* Every cut of a whole file is refused; no byte behind the end is touched. */
static void truncated(void **state)
{
    struct buf b = {0};

    put_safetensors("whole", "{" T("a", "F32", "[2]", 0, 8) "}", -1, 8);
    assert_int_equal(file_read(&b, temp_path("whole"), 1000), 0);
    for (size_t n = 0; n < b.n; n++) {
        put_bytes("cut", b.p, n);
        struct ckpt c;
        assert_int_equal(ckpt_open(&c, temp_path("cut")), RECTO_EMODEL);
        ckpt_close(&c);
    }
    buf_reset(&b);
}

static void single_file(void **state)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"}," T(
        "b", "F32", "[1,2]", 1,
        9) "," T("a", "U8", "[]", 0, 1) "," T("none", "F32", "[0,7]", 9,
                                              9) "," T("f8", "F8_E4M3", "[3]", 9,
                                                       12) "," T("new", "F4_SECRET_NAME", "[6]", 12,
                                                                 15) "}";
    const struct ckpt_tensor *t;
    struct ckpt c;
    float f[2];

    put_safetensors("one.safetensors", header, -1, 15);
    assert_int_equal(ckpt_open(&c, temp_path("one.safetensors")), 0);
    assert_int_equal(c.n_tensor, 5);
    assert_string_equal(c.tensor[0].name, "a");
    assert_string_equal(c.tensor[1].name, "b");
    t = ckpt_find(&c, "a");
    assert_int_equal(t->rank, 0);
    assert_int_equal(t->count, 1);
    assert_int_equal(*(const unsigned char *)t->data, 0);
    assert_int_equal(ckpt_get(&c, "b", &t), 0);
    assert_int_equal(t->n[1], 2);
    /* One byte behind an aligned header: reading must not assume alignment. */
    assert_int_equal(ckpt_read_f32(t->dtype, t->data, t->count, f), 0);
    assert_memory_equal(f, "\1\2\3\4\5\6\7\10", 8);
    assert_int_equal(ckpt_find(&c, "none")->count, 0);
    ckpt_drop(&c, t);
    assert_int_equal(ckpt_read_f32(t->dtype, t->data, t->count, f), 0);
    assert_memory_equal(f, "\1\2\3\4\5\6\7\10", 8);

    assert_null(ckpt_find(&c, "c"));
    assert_null(ckpt_find(&c, ""));
    assert_int_equal(ckpt_get(&c, "c", &t), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "tensor c is missing"));
    /* Listed, but not to be used. */
    assert_int_equal(ckpt_find(&c, "f8")->dtype, DT_NONE);
    assert_int_equal(ckpt_get(&c, "f8", &t), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "F8_E4M3"));
    assert_int_equal(ckpt_get(&c, "new", &t), RECTO_EMODEL);
    assert_non_null(strstr(err_text(), "F4_SECRET_N,"));
    ckpt_close(&c);
    ckpt_close(&c);
}

static void put_index(const char *map)
{
    struct buf b = {0};

    buf_fmt(&b, "{\"metadata\":{\"total_size\":1},\"weight_map\":%s}", map);
    put_bytes("model.safetensors.index.json", b.p, b.n);
    buf_reset(&b);
}

static void several_files(void **state)
{
    struct ckpt c;

    put_safetensors("m-1.safetensors",
                    "{" T("a", "U8", "[2]", 0, 2) "," T("b", "U8", "[1]", 2, 3) "}", -1, 3);
    put_safetensors("m-2.safetensors", "{" T("c", "U8", "[4]", 0, 4) "}", -1, 4);
    put_index("{\"a\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\",\"b\":\"m-1.safetensors\"}");
    assert_int_equal(ckpt_open(&c, temp_dir), 0);
    assert_int_equal(c.n_file, 2);
    assert_int_equal(c.n_tensor, 3);
    assert_string_equal(ckpt_path(&c, ckpt_find(&c, "c")), temp_path("m-2.safetensors"));
    ckpt_close(&c);
    assert_int_equal(ckpt_open(&c, temp_path("model.safetensors.index.json")), 0);
    ckpt_close(&c);

    put_index("{\"a\":\"m-2.safetensors\",\"c\":\"m-2.safetensors\"}");
    expect_refused("", "tensor a is not in m-2.safetensors");
    put_index("{\"a\":\"m-1.safetensors\",\"c\":\"m-3.safetensors\"}");
    expect_refused("", "m-3.safetensors: missing");
    put_index("{\"a\":\"../m-1.safetensors\"}");
    expect_refused("", "not a file beside it");
    put_index("{\"a\":\"/etc/passwd\"}");
    expect_refused("", "not a file beside it");
    put_index("{\"a\":\"\"}");
    expect_refused("", "not a file beside it");
    put_index("{\"a\":1}");
    expect_refused("", "not a file beside it");
    put_index("{}");
    expect_refused("", "no tensors");
    put_index("[]");
    expect_refused("", "weight_map: expected an object");
    put_bytes("model.safetensors.index.json", "{}", 2);
    expect_refused("", "weight_map is missing");
    put_safetensors("m-2.safetensors", "{" T("b", "U8", "[4]", 0, 4) "}", -1, 4);
    put_index("{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}");
    expect_refused("", "both hold tensor b");
    put_safetensors("model.safetensors", "{" T("z", "U8", "[1]", 0, 1) "}", -1, 1);
    assert_int_equal(ckpt_open(&c, temp_dir), 0);
    assert_non_null(ckpt_find(&c, "z"));
    ckpt_close(&c);
}

static void numbers(void **state)
{
    /* 1.0, -0.0, smallest subnormal, largest, inf, nan in fp16, one byte off */
    static const unsigned char half[] = {9,    0x00, 0x3C, 0x00, 0x80, 0x01, 0x00,
                                         0xFF, 0x7B, 0x00, 0x7C, 0x01, 0x7E};
    static const unsigned char brain[] = {9, 0x80, 0x3F, 0x49, 0xC0};
    int64_t wide[2] = {-5, INT32_MAX};
    float f[6];
    int32_t n[2];

    assert_int_equal(ckpt_read_f32(DT_F16, half + 1, 6, f), 0);
    assert_true(f[0] == 1 && f[1] == 0 && signbit(f[1]) && f[2] == 0x1p-24f && f[3] == 65504 &&
                isinf(f[4]) && isnan(f[5]));
    assert_int_equal(ckpt_read_f32(DT_BF16, brain + 1, 2, f), 0);
    assert_true(f[0] == 1 && f[1] == -3.140625f);
    assert_int_equal(ckpt_read_f32(DT_I32, half, 1, f), RECTO_EMODEL);
    assert_int_equal(ckpt_read_i32(DT_I64, wide, 2, n), 0);
    assert_true(n[0] == -5 && n[1] == INT32_MAX);
    wide[0] = (int64_t)INT32_MAX + 1;
    assert_int_equal(ckpt_read_i32(DT_I64, wide, 2, n), RECTO_EMODEL);
    assert_int_equal(ckpt_read_i32(DT_I8, "\xff\x7f", 2, n), 0);
    assert_true(n[0] == -1 && n[1] == 127);
    assert_int_equal(ckpt_read_i32(DT_U8, "\xff\x7f", 2, n), 0);
    assert_true(n[0] == 255 && n[1] == 127);
    assert_int_equal(ckpt_read_i32(DT_F32, half, 1, n), RECTO_EMODEL);
}

static void golden(void **state)
{
    const struct ckpt_tensor *t;
    struct ckpt c;
    int32_t id[5];

    assert_int_equal(ckpt_open(&c, TEST_DIR "/golden/tiny"), 0);
    assert_int_equal(c.n_tensor, 163);
    for (int i = 0; i < c.n_tensor; i++)
        assert_ptr_equal(ckpt_find(&c, c.tensor[i].name), &c.tensor[i]);
    ckpt_close(&c);
    assert_int_equal(ckpt_open(&c, TEST_DIR "/golden/tiny/small.safetensors"), 0);
    assert_int_equal(ckpt_get(&c, "input_ids", &t), 0);
    assert_int_equal(t->count, 263);
    assert_int_equal(
        ckpt_read_i32(t->dtype, (const char *)t->data + 258 * dtype_size(t->dtype), 5, id), 0);
    assert_memory_equal(id, ((int32_t[]){11, 22, 33, 44, 55}), sizeof id);
    ckpt_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hostile_headers, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(other_files, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(truncated, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(single_file, temp_setup, temp_teardown),
        cmocka_unit_test_setup_teardown(several_files, temp_setup, temp_teardown),
        cmocka_unit_test(numbers),
        cmocka_unit_test(golden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
