/* What may stand in a tokenizer.json: its alphabet and strings, and files that must be refused. */
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "prompt/byte_level.h"
#include "prompt/json_scan.h"
#include "prompt/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define MINI SOURCE_DIR "/models/mini/"

static void assert_says(const char *what)
{
    if (!strstr(err_text(), what))
        fail_msg("\"%s\" does not say \"%s\"", err_text(), what);
}

/* ---- the byte alphabet and the scanner ------------------------------------------------------- */

static void test_byte_alphabet(void **state)
{
    int code_of[256], n_other = 0;

    (void)state;
    memset(code_of, -1, sizeof(code_of));
    for (int code = 0; code < 1000; code++) {
        int byte = byte_level_byte((uint32_t)code);
        if (byte >= 0) {
            assert_int_equal(code_of[byte], -1);
            code_of[byte] = code;
        }
    }
    for (int b = 0; b < 256; b++) /* the definition of byte_level.h */
        if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174)
            assert_int_equal(code_of[b], b);
        else
            assert_int_equal(code_of[b], 256 + n_other++);
    assert_int_equal(n_other, 68);

    char out[8];
    assert_int_equal(byte_level_decode(STR("Ġa"), out), 2);
    assert_memory_equal(out, " a", 2);
    assert_int_equal(byte_level_decode(STR("a b"), out), -1);
    assert_int_equal(byte_level_decode(STR("\xc4"), out), -1);
}

static void test_scan_strings(void **state)
{
    static const struct {
        str json, want; /* want.p NULL: refused */
    } cases[] = {
        {STR("\"\""), STR("")},
        {STR(" \"a\\n\\u00e9\\\\\\\"\\/\" "), STR("a\né\\\"/")},
        {STR("\"x\\ud83d\\ude00y\""), STR("x😀y")},
        {STR("\"\\u0000\""), STR("\0")},
        {STR("\"\\ud83d\""), {0}},
        {STR("\"\\ud83dx\""), {0}},
        {STR("\"\\ud83d\\u0041\""), {0}},
        {STR("\"\\ude00\""), {0}},
        {STR("\"\\u12g4\""), {0}},
        {STR("\"\\u12"), {0}},
        {STR("\"\\x\""), {0}},
        {STR("\"\\\0\""), {0}},
        {STR("\"a\nb\""), {0}},
        {STR("\"\xff\""), {0}},
        {STR("\"\xe2\x82\""), {0}},
        {STR("\"abc"), {0}},
        {STR("\"abc\\"), {0}},
        {STR("\"a\\n"), {0}},
        {STR("abc"), {0}},
        {STR(""), {0}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_scan s = {cases[i].json.p, cases[i].json.p + cases[i].json.n};
        struct buf scratch = {0};
        str got;
        bool ok = scan_string(&s, &scratch, &got);

        assert_int_equal(ok, cases[i].want.p != NULL);
        if (ok)
            assert_true(str_eq(got, cases[i].want));
        buf_reset(&scratch);
    }
}

static void test_scan_numbers(void **state)
{
    static const struct {
        const char *json;
        int64_t want; /* -1: refused */
    } cases[] = {{"0", 0},   {" 12,", 12}, {"999999999", 999999999}, {"1234567890", -1}, {"01", -1},
                 {"-1", -1}, {"x", -1}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_scan s = {cases[i].json, cases[i].json + strlen(cases[i].json)};
        int64_t got;

        assert_int_equal(scan_number(&s, &got), cases[i].want >= 0);
        if (cases[i].want >= 0)
            assert_int_equal(got, cases[i].want);
    }
}

/* ---- broken and unsupported files ------------------------------------------------------------ */

/* The mini file with `from` replaced by `to` once. */
static void edit(struct buf *json, const char *from, const char *to)
{
    struct buf file = {0};

    assert_int_equal(file_read(&file, MINI "tokenizer.json", 1 << 20), 0);
    size_t at = str_find(buf_view(&file), str_of(from), 0);
    if (at == file.n)
        fail_msg("no %s in the mini tokenizer", from);
    buf_clear(json);
    buf_add(json, file.p, at);
    buf_text(json, to);
    buf_text(json, file.p + at + strlen(from));
    buf_reset(&file);
}

static void test_refused_files(void **state)
{
    static const struct {
        const char *from, *to;
        int code;
        const char *says;
    } cases[] = {
        {"\"BPE\"", "\"Unigram\"", RECTO_EMODEL, "Unigram"},
        {"\"dropout\": null", "\"dropout\": 0.1", RECTO_EMODEL, "dropout"},
        {"\"byte_fallback\": false", "\"byte_fallback\": true", RECTO_EMODEL, "byte_fallback"},
        {"\"ignore_merges\": false", "\"ignore_merges\": true", RECTO_EMODEL, "ignore_merges"},
        {"\"unk_token\": null", "\"unk_token\": \"?\"", RECTO_EMODEL, "unk_token"},
        {"\"normalizers\": []", "\"normalizers\": [{\"type\": \"NFC\"}]", RECTO_EMODEL,
         "normalizer"},
        {"\"Isolated\"", "\"Removed\"", RECTO_EMODEL, "behavior"},
        {"\"invert\": false", "\"invert\": true", RECTO_EMODEL, "invert"},
        {"\"Regex\"", "\"String\"", RECTO_EMODEL, "pretokenizers[0]"},
        {"\"use_regex\": false", "\"use_regex\": true", RECTO_EMODEL, "use_regex"},
        {"\"add_prefix_space\": false", "\"add_prefix_space\": true", RECTO_EMODEL,
         "add_prefix_space"},
        {"\"ByteLevel\"", "\"Metaspace\"", RECTO_EMODEL, "Metaspace"},
        {"\"lstrip\": false", "\"lstrip\": true", RECTO_EMODEL, "lstrip"},
        {"\"id\": 280", "\"id\": 5", RECTO_EFORMAT, "added_tokens[3]"},
        {"\"id\": 280", "\"id\": -1", RECTO_EFORMAT, "added_tokens[3]"},
        {"\"id\": 280", "\"id\": 2000000000", RECTO_EFORMAT, "added_tokens[3]"},
        {"\"<image>\"", "\"<td>\"", RECTO_EFORMAT, "same text"},
        {"\"<image>\"", "\"\"", RECTO_EFORMAT, "empty"},
        {"\"added_tokens\"", "\"tokens\"", RECTO_EFORMAT, "added_tokens"},
        {"\"pre_tokenizer\"", "\"pre\"", RECTO_EFORMAT, "pre_tokenizer"},
        {"\"vocab\"", "\"words\"", RECTO_EFORMAT, "vocab"},
        {"\"merges\"", "\"pairs\"", RECTO_EFORMAT, "merges"},
        {"\"!\": 3", "\"!\": 4", RECTO_EFORMAT, "given twice"},
        {"\"!\": 3", "\"!\": 3.5", RECTO_EFORMAT, "model.vocab"},
        {"\"!\": 3", "\"!\": 3 \"x\": 7", RECTO_EFORMAT, "comma"},
        {"\"!\": 3", "\"\": 3", RECTO_EFORMAT, "empty"},
        {"\"!\": 3", "\"!!\": 3", RECTO_EMODEL, "byte 33"},
        {"\"!\": 3", "\"!\": 3, \"!\": 300", RECTO_EFORMAT, "same text"},
        {"\"!\": 3", "\"!\": 3000000", RECTO_EFORMAT, "id 3000000"},
        {"\"model\": {", "\"model\": {\"vocab\": {},", RECTO_EFORMAT, "uplicate"},
        {"\"model\"", "\"model\": 5, \"x\"", RECTO_EFORMAT, "model"},
    };
    struct buf json = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer t;

        edit(&json, cases[i].from, cases[i].to);
        int rc = tokenizer_parse(&t, buf_view(&json), "FILE");
        if (rc != cases[i].code)
            fail_msg("%s -> %s: %d (%s)", cases[i].from, cases[i].to, rc, err_text());
        assert_says("FILE");
        assert_says(cases[i].says);
        tokenizer_close(&t);
    }
    buf_reset(&json);
}

static void test_refused_merges(void **state)
{
    static const char *const bad[] = {
        "[\"a\"]",
        "[\"a\", \"b\", \"c\"]",
        "\"ab\"",
        "\"a b c\"",
        "[\"a\", 1]",
        "7",
        "[\"a\", \"zzz\"]",
        "[\"a\", \"b\"]",
        "[\"\", \"a\"]",
        "\" a\"",
        "[\"▁\", \"a\"]",
        "[\"Ã\", \"©\"], [\"Ã\", \"©\"]",
        "",
    };
    struct buf json = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct tokenizer t;
        char merges[128];

        snprintf(merges, sizeof(merges), "\"merges\": [ %s,", bad[i]);
        edit(&json, "\"merges\": [", merges);
        assert_int_equal(tokenizer_parse(&t, buf_view(&json), "FILE"), RECTO_EFORMAT);
        assert_says("FILE: model.merges: entry ");
        tokenizer_close(&t);
    }
    buf_reset(&json);
}

static void test_every_cut_is_refused(void **state)
{
    struct buf file = {0};

    (void)state;
    assert_int_equal(file_read(&file, MINI "tokenizer.json", 1 << 20), 0);
    while (file.n && file.p[file.n - 1] != '}')
        file.n--;
    for (size_t n = 0; n < file.n; n++) {
        struct tokenizer t;
        char *exact = mem_alloc(n + 1); /* so that a sanitizer sees a read behind the end */

        memcpy(exact, file.p, n);
        exact = mem_grow(exact, n ? n : 1, 1);
        assert_int_equal(tokenizer_parse(&t, (str){exact, n}, "FILE"), RECTO_EFORMAT);
        tokenizer_close(&t);
        free(exact);
    }
    buf_reset(&file);
}

/* ---- tokenizer_config.json ------------------------------------------------------------------- */

static int open_with_config(struct tokenizer *t, const char *config)
{
    char dir[] = "/tmp/recto-tokenizer-XXXXXX";
    struct buf file = {0};

    assert_non_null(mkdtemp(dir));
    char *path = file_join(dir, "tokenizer.json"),
         *config_path = file_join(dir, "tokenizer_config.json");
    assert_int_equal(file_read(&file, MINI "tokenizer.json", 1 << 20), 0);
    assert_int_equal(file_write(path, buf_view(&file)), 0);
    if (config)
        assert_int_equal(file_write(config_path, str_of(config)), 0);
    int rc = tokenizer_open(t, path);
    remove(path);
    remove(config_path);
    remove(dir);
    free(path);
    free(config_path);
    buf_reset(&file);
    return rc;
}

static void test_config(void **state)
{
    static const struct {
        const char *config;
        int rc;
        int32_t bos, eos;
    } cases[] = {
        {NULL, 0, 0, 1},
        {"{}", 0, 0, 1},
        {"{\"bos_token\": null, \"eos_token\": \"<image>\"}", 0, 0, 280},
        {"{\"bos_token\": {\"content\": \"<td>\"}, \"eos_token\": \"é\"}", 0, 286, 259},
        {"{\"bos_token\": \"nothing\"}", RECTO_EMODEL, 0, 0},
        {"{\"bos_token\": 7}", RECTO_EFORMAT, 0, 0},
        {"{\"bos_token\": {}}", RECTO_EFORMAT, 0, 0},
        {"[]", RECTO_EFORMAT, 0, 0},
        {"{", RECTO_EFORMAT, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer t;

        assert_int_equal(open_with_config(&t, cases[i].config), cases[i].rc);
        if (cases[i].rc == 0) {
            assert_int_equal(t.bos, cases[i].bos);
            assert_int_equal(t.eos, cases[i].eos);
        } else {
            assert_says("tokenizer_config.json");
        }
        tokenizer_close(&t);
    }
}

static void test_missing_file(void **state)
{
    struct tokenizer t;

    (void)state;
    assert_int_equal(tokenizer_open(&t, "/nonexistent/tokenizer.json"), RECTO_ENOTFOUND);
    tokenizer_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_byte_alphabet),  cmocka_unit_test(test_scan_strings),
        cmocka_unit_test(test_scan_numbers),   cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_refused_merges), cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_config),         cmocka_unit_test(test_missing_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
