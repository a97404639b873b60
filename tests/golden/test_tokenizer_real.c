/* The released model's tokenizer: 200 cases of the reference both ways, and the prompts' ids as
 * published. */
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "prompt/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define REAL  SOURCE_DIR "/.cache/tokenizer/tokenizer.json"
#define CASES TEST_DIR "/golden/tokenizer_cases.json"

static struct tokenizer real;

static int open_real(void **state)
{
    (void)state;
    if (!file_exists(REAL)) {
        fprintf(stderr, "%s is missing: run scripts/fetch-tokenizer\n", REAL);
        return -1;
    }
    int64_t start = clock_ns();
    int rc = tokenizer_open(&real, REAL);
    printf("tokenizer open_ms=%.1f ids=%d rc=%d %s\n", clock_ms_since(start),
           tokenizer_n_vocab(&real), rc, rc ? err_text() : "");
    return rc;
}

static int close_real(void **state)
{
    (void)state;
    tokenizer_close(&real);
    return 0;
}

static void test_ids(void **state)
{
    static const struct {
        str text;
        int id;
    } cases[] = {
        {STR("<｜begin▁of▁sentence｜>"), 0},
        {STR("<｜▁pad▁｜>"), 2},
        {STR("<｜place▁holder▁no▁799｜>"), 128799},
        {STR("<｜fim▁hole｜>"), 128800},
        {STR("<|EOT|>"), 128805},
        {STR("<image>"), 128815},
        {STR("<|grounding|>"), 128820},
        {STR("<td>"), 128821},
        {STR("</tr>"), 128824},
        {STR("<|Assistant|>"), 128826},
        {STR("<table>"), -1},
        {STR(" "), 223},
        {STR("\n"), 201},
    };

    (void)state;
    assert_int_equal(real.bos, 0);
    assert_int_equal(real.eos, 1);
    assert_int_equal(tokenizer_n_vocab(&real), 128827);
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(tokenizer_id(&real, cases[i].text), cases[i].id);
    for (int i = 0; i < tokenizer_n_vocab(&real); i++) /* every id has a text, every text its id */
        assert_int_equal(tokenizer_id(&real, tokenizer_piece(&real, i)), i);
}

static void keep_last_line(void *ctx, const char *line)
{
    snprintf(ctx, 128, "%s", line);
    printf("%s\n", line);
}

static void test_cases(void **state)
{
    char last[128] = "";

    (void)state;
    assert_int_equal(recto_verify_tokenizer(REAL, CASES, keep_last_line, last), 0);
    assert_string_equal(last, "tokenizer 200/200 encode, 200/200 decode");
}

static void ignore_line(void *ctx, const char *line)
{
    (*(int *)ctx)++;
}

/* A verifier that cannot fail would be no proof: the mini model's vocabulary must not pass. */
static void test_another_vocabulary_fails(void **state)
{
    int n_line = 0;

    (void)state;
    assert_int_equal(recto_verify_tokenizer(SOURCE_DIR "/models/mini/tokenizer.json", CASES,
                                            ignore_line, &n_line),
                     RECTO_EVERIFY);
    assert_true(n_line > 100);
}

/* Ids after the image block, of the table of prompts in the model's documentation. */
static void test_prompts(void **state)
{
    static const struct {
        enum recto_task task;
        const char *phrase, *prompt;
        int n;
        int32_t after[16];
    } cases[] = {
        {RECTO_TASK_MARKDOWN, NULL, NULL, 9, {201, 128820, 21842, 270, 4940, 304, 2121, 7919, 16}},
        {RECTO_TASK_TEXT, NULL, NULL, 4, {201, 21431, 126041, 16}},
        {RECTO_TASK_OCR, NULL, NULL, 6, {201, 128820, 119316, 566, 4609, 16}},
        {RECTO_TASK_FIGURE, NULL, NULL, 5, {201, 68779, 270, 5991, 16}},
        {RECTO_TASK_DESCRIBE, NULL, NULL, 7, {201, 72188, 566, 4609, 295, 6271, 16}},
        {RECTO_TASK_LOCATE,
         "a",
         NULL,
         11,
         {201, 26751, 434, 223, 128816, 67, 128817, 295, 270, 4609, 16}},
        {0,
         NULL,
         "<image>\nExtract the text in the image. ",
         9,
         {201, 17965, 1259, 270, 3051, 295, 270, 4609, 16}},
        {0, NULL, "Free OCR.", 4, {201, 21431, 126041, 16}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct prompt p;
        struct prompt_ask ask = {cases[i].task, cases[i].phrase, cases[i].prompt, -1, 1121};

        if (prompt_build(&p, &real, &ask) < 0)
            fail_msg("%s", err_text());
        assert_int_equal(p.n, 1 + 1121 + cases[i].n);
        assert_int_equal(p.id[0], 0);
        assert_int_equal(p.slot, 1);
        for (int k = 1; k < 1122; k++)
            assert_int_equal(p.id[k], 128815);
        assert_memory_equal(p.id + 1122, cases[i].after, sizeof(int32_t) * (size_t)cases[i].n);
        prompt_reset(&p);
    }
}

/* Long pieces stay cheap: 100 KB without a space, and 100 KB of one character. */
static void test_long_pieces(void **state)
{
    static const char alphabet[] = "etaoinshrdlu";
    uint32_t seed = 1;

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct buf text = {0}, back = {0};
        struct ids ids = {0};

        for (int i = 0; i < 100000; i++) {
            seed = seed * 1664525u + 1013904223u;
            buf_char(&text, kind ? "a <"[kind - 1] : alphabet[(seed >> 8) % 12]);
        }
        int64_t start = clock_ns();
        assert_int_equal(tokenizer_encode(&real, buf_view(&text), true, &ids), 0);
        printf("tokenizer piece_bytes=%zu kind=%d ids=%d encode_ms=%.1f\n", text.n, kind, ids.n,
               clock_ms_since(start));
        for (int i = 0; i < ids.n; i++)
            buf_str(&back, tokenizer_piece(&real, ids.id[i]));
        assert_true(str_eq(buf_view(&text), buf_view(&back)));
        ids_reset(&ids);
        buf_reset(&text);
        buf_reset(&back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_another_vocabulary_fails),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_long_pieces),
    };

    return cmocka_run_group_tests(tests, open_real, close_real);
}
