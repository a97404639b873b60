/* Prompts on the mini model's tokenizer; the released model's ids are in
 * golden/test_tokenizer_real.c. */
#include "base/err.h"
#include "prompt/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct tokenizer mini;

static int open_mini(void **state)
{
    (void)state;
    return tokenizer_open(&mini, SOURCE_DIR "/models/mini/tokenizer.json");
}

static int close_mini(void **state)
{
    (void)state;
    tokenizer_close(&mini);
    return 0;
}

/* The prompt as text: pieces joined, each run of the image id as "[N]". */
static void spell(const struct prompt *p, int32_t image_id, struct buf *out)
{
    for (int i = 0; i < p->n; i++) {
        int run = 0;

        while (i + run < p->n && p->id[i + run] == image_id)
            run++;
        if (run) {
            buf_fmt(out, "[%d]", run);
            i += run - 1;
        } else {
            buf_str(out, tokenizer_piece(&mini, p->id[i]));
        }
    }
}

#define BOS "<｜begin▁of▁sentence｜>"

static void assert_prompt(const struct prompt_ask *ask, const char *want)
{
    struct prompt p;
    struct buf got = {0};
    int32_t image_id = ask->image_id < 0 ? 280 : ask->image_id;

    if (prompt_build(&p, &mini, ask) < 0)
        fail_msg("%s", err_text());
    spell(&p, image_id, &got);
    assert_string_equal(got.p, want);
    assert_int_equal(p.n_visual, ask->n_visual);
    for (int i = 0; i < p.n; i++)
        assert_int_equal(p.id[i] == image_id, i >= p.slot && i < p.slot + p.n_visual);
    buf_reset(&got);
    prompt_reset(&p);
}

static void assert_refused(const struct prompt_ask *ask, int code)
{
    struct prompt p;

    assert_int_equal(prompt_build(&p, &mini, ask), code);
    assert_null(p.id);
    prompt_reset(&p);
}

static void test_tasks(void **state)
{
    static const char *const want[] = {
        [RECTO_TASK_MARKDOWN] = BOS "[257]\n<|grounding|>Convert the document to markdown.",
        [RECTO_TASK_TEXT] = BOS "[257]\nFree OCR.",
        [RECTO_TASK_OCR] = BOS "[257]\n<|grounding|>OCR this image.",
        [RECTO_TASK_FIGURE] = BOS "[257]\nParse the figure.",
        [RECTO_TASK_DESCRIBE] = BOS "[257]\nDescribe this image in detail.",
        [RECTO_TASK_LOCATE] = BOS "[257]\nLocate <|ref|>the sum<|/ref|> in the image.",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(want); i++) {
        struct prompt_ask ask = {
            .task = (enum recto_task)i, .phrase = "the sum", .image_id = -1, .n_visual = 257};
        assert_prompt(&ask, want[i]);
    }
    assert_refused(&(struct prompt_ask){.task = (enum recto_task)6}, RECTO_EUSAGE);
    assert_refused(&(struct prompt_ask){.task = (enum recto_task) - 1}, RECTO_EUSAGE);
}

static void test_markers_are_ids(void **state)
{
    struct prompt p;

    (void)state;
    assert_int_equal(prompt_build(&p, &mini, &(struct prompt_ask){.image_id = -1, .n_visual = 3}),
                     0);
    assert_int_equal(p.slot, 1);
    assert_int_equal(p.id[0], mini.bos);
    assert_int_equal(p.id[1], 280);
    assert_int_equal(p.id[3], 280);
    assert_int_equal(p.id[4], 201);
    assert_int_equal(p.id[5], 285); /* <|grounding|> */
    prompt_reset(&p);
}

/* Markers in a phrase are characters; around it they are ids. */
static void test_phrase_is_plain(void **state)
{
    struct prompt p;
    int n_ref = 0, n_image = 0;

    (void)state;
    struct prompt_ask ask = {
        .task = RECTO_TASK_LOCATE, .phrase = "<|/ref|><image>", .image_id = -1, .n_visual = 5};
    assert_int_equal(prompt_build(&p, &mini, &ask), 0);
    for (int i = 0; i < p.n; i++) {
        n_ref += p.id[i] == 281 || p.id[i] == 282;
        n_image += p.id[i] == 280;
    }
    assert_int_equal(n_ref, 2);
    assert_int_equal(n_image, 5);
    prompt_reset(&p);
    ask.phrase = "";
    assert_refused(&ask, RECTO_EUSAGE);
    ask.phrase = NULL;
    assert_refused(&ask, RECTO_EUSAGE);
}

static void test_own_prompt(void **state)
{
    static const struct {
        const char *prompt, *want;
    } cases[] = {
        {"Read it.", BOS "[4]\nRead it."},
        {"<image>\nRead it.", BOS "[4]\nRead it."},
        {" \n\t<image>\nRead it. \r\n", BOS "[4]\nRead it."},
        {"Look: <image> what is it?", BOS "Look: [4] what is it?"},
        {"<image>", BOS "[4]"},
        {"a<image>", BOS "a[4]"},
        {"\u00a0\u3000\u2003x\u200b\u2028 ", BOS "[4]\nx\u200b"},
        {"\x1c\x1f"
         "é\xc2\x85",
         BOS "[4]\né"},
        {"<|grounding|><td>", BOS "[4]\n<|grounding|><td>"},
        {"a\xff\xa0", BOS "[4]\na\uFFFD\uFFFD"},
        {"\xa0", BOS "[4]\n\uFFFD"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_prompt(
            &(struct prompt_ask){
                .task = RECTO_TASK_TEXT, .prompt = cases[i].prompt, .image_id = -1, .n_visual = 4},
            cases[i].want);
    assert_refused(&(struct prompt_ask){.prompt = "<image> and <image>"}, RECTO_EUSAGE);
    assert_refused(&(struct prompt_ask){.prompt = "<image><image>"}, RECTO_EUSAGE);
    assert_refused(&(struct prompt_ask){.prompt = ""}, RECTO_EUSAGE);
    assert_refused(&(struct prompt_ask){.prompt = " \n\u3000"}, RECTO_EUSAGE);
}

static void test_image_id(void **state)
{
    struct tokenizer without = mini;
    struct prompt p;

    (void)state;
    assert_prompt(&(struct prompt_ask){.task = RECTO_TASK_TEXT, .image_id = 300, .n_visual = 2},
                  BOS "[2]\nFree OCR.");
    assert_prompt(&(struct prompt_ask){.task = RECTO_TASK_TEXT, .image_id = -1, .n_visual = 0},
                  BOS "\nFree OCR.");
    without.added[0].n = 0;
    struct prompt_ask ask = {.task = RECTO_TASK_TEXT, .image_id = -1, .n_visual = 2};
    assert_int_equal(prompt_build(&p, &without, &ask), RECTO_EMODEL);
    without.bos = -1;
    ask.image_id = 280;
    assert_int_equal(prompt_build(&p, &without, &ask), RECTO_EMODEL);
}

static void test_length(void **state)
{
    struct prompt p;

    (void)state;
    assert_int_equal(
        prompt_build(&p, &mini,
                     &(struct prompt_ask){.prompt = "ab", .image_id = -1, .n_visual = 10}),
        0);
    assert_int_equal(p.n, 14);
    assert_int_equal(prompt_check_length(&p, 15), 0);
    assert_int_equal(prompt_check_length(&p, 14), RECTO_EUSAGE);
    assert_non_null(strstr(err_text(), "14 tokens (10 of them the image)"));
    prompt_reset(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks),           cmocka_unit_test(test_markers_are_ids),
        cmocka_unit_test(test_phrase_is_plain), cmocka_unit_test(test_own_prompt),
        cmocka_unit_test(test_image_id),        cmocka_unit_test(test_length),
    };

    return cmocka_run_group_tests(tests, open_mini, close_mini);
}
