/* The tokenizer on the mini model's file, and on random vocabularies against a naive merge loop. */
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "prompt/byte_level.h"
#include "prompt/tokenizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <cmocka.h>

#define MINI SOURCE_DIR "/models/mini/"

static struct tokenizer mini;

static int open_mini(void **state)
{
    (void)state;
    return tokenizer_open(&mini, MINI "tokenizer.json");
}

static int close_mini(void **state)
{
    (void)state;
    tokenizer_close(&mini);
    return 0;
}

/* ---- helpers --------------------------------------------------------------------------------- */

static void decode(const struct tokenizer *t, const struct ids *ids, struct buf *out)
{
    for (int i = 0; i < ids->n; i++)
        buf_str(out, tokenizer_piece(t, ids->id[i]));
}

static void assert_ids(const struct tokenizer *t, str text, bool parse_special, const int32_t *want,
                       int n)
{
    struct ids got = {0};

    assert_int_equal(tokenizer_encode(t, text, parse_special, &got), 0);
    assert_int_equal(got.n, n);
    if (n)
        assert_memory_equal(got.id, want, sizeof(*want) * (size_t)n);
    ids_reset(&got);
}

#define assert_mini(text, special, ...)                             \
    assert_ids(&mini, STR(text), special, (int32_t[]){__VA_ARGS__}, \
               (int)(sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t)))

static uint32_t random_next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* ---- the mini model's tokenizer -------------------------------------------------------------- */

static void test_mini_ids(void **state)
{
    (void)state;
    assert_int_equal(mini.bos, 0);
    assert_int_equal(mini.eos, 1);
    assert_int_equal(tokenizer_n_vocab(&mini), 290);
    assert_int_equal(tokenizer_id(&mini, STR("<image>")), 280);
    assert_int_equal(tokenizer_id(&mini, STR("</tr>")), 289);
    assert_int_equal(tokenizer_id(&mini, STR("é")), 259); /* the first merge */
    assert_int_equal(tokenizer_id(&mini, STR("\xc3")), 130);
    assert_int_equal(tokenizer_id(&mini, STR("<imag>")), -1);
    assert_int_equal(tokenizer_id(&mini, STR("")), -1);
    assert_true(str_eq(tokenizer_piece(&mini, 223), STR(" ")));
    assert_true(str_eq(tokenizer_piece(&mini, 0), STR("<｜begin▁of▁sentence｜>")));
    assert_int_equal(tokenizer_piece(&mini, 290).n, 0);
    assert_int_equal(tokenizer_piece(&mini, -1).n, 0);
    assert_mini("a b\n", false, 67, 223, 68, 201);
    assert_mini("né", false, 80, 259);
    assert_mini("a\0b", false, 67, 191, 68);
}

static void test_mini_markers(void **state)
{
    (void)state;
    assert_mini("<td>1</td>", true, 286, 19, 287);
    assert_mini("<td>", false, 30, 86, 70, 32);
    assert_mini("<<image>", true, 30, 280);
    assert_mini("<image<image>", true, 30, 75, 79, 67, 73, 71, 280);
    assert_mini("<|/ref|><|ref|>", true, 282, 281);
    assert_mini("<|ref", true, 30, 94, 84, 71, 72);
    assert_mini("<｜end▁of▁sentence｜>", true, 1);
    assert_ids(&mini, STR(""), true, NULL, 0);
}

static void test_invalid_utf8_is_replaced(void **state)
{
    static const struct {
        str bad, good;
    } cases[] = {
        {STR("\xff"), STR("\uFFFD")},
        {STR("a\xc3"), STR("a\uFFFD")},
        {STR("\xe2\x82"
             "b"),
         STR("\uFFFDb")},
        {STR("\xed\xa0\x80"), STR("\uFFFD\uFFFD\uFFFD")},
        {STR("x\x80y\xf0\x9f\x98<td>"), STR("x\uFFFDy\uFFFD<td>")},
        {STR("\xc0\x80"), STR("\uFFFD\uFFFD")},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct ids want = {0};
        assert_int_equal(tokenizer_encode(&mini, cases[i].good, true, &want), 0);
        assert_ids(&mini, cases[i].bad, true, want.id, want.n);
        ids_reset(&want);
    }
}

static void check_page(const json_t *page, const char *precision)
{
    json_t *run = json_object_get(page, precision), *list = json_object_get(run, "ids");
    struct ids ids = {0};
    struct buf text = {0};

    for (size_t i = 0; i < json_array_size(list); i++)
        ids_add(&ids, (int32_t)json_integer_value(json_array_get(list, i)));
    assert_true(ids.n > 0);
    decode(&mini, &ids, &text);
    assert_string_equal(text.p, json_string_value(json_object_get(run, "text")));
    assert_ids(&mini, buf_view(&text), true, ids.id, ids.n);
    buf_reset(&text);
    ids_reset(&ids);
}

static void test_expected_pages(void **state)
{
    json_t *pages;

    (void)state;
    assert_int_equal(json_read(&pages, MINI "expected.json", 1 << 24), 0);
    assert_int_equal(json_array_size(pages), 12);
    for (size_t i = 0; i < json_array_size(pages); i++) {
        check_page(json_array_get(pages, i), "fp32");
        check_page(json_array_get(pages, i), "bf16");
    }
    json_decref(pages);
}

struct same {
    str text;
    struct ids want;
    atomic_int n_differs;
};

static void encode_again(void *ctx, int64_t i, int worker)
{
    struct same *s = ctx;
    struct ids got = {0};

    (void)worker;
    if (tokenizer_encode(&mini, s->text, true, &got) < 0 || got.n != s->want.n ||
        memcmp(got.id, s->want.id, sizeof(*got.id) * (size_t)got.n))
        s->n_differs++;
    ids_reset(&got);
}

static void test_threads_share_a_tokenizer(void **state)
{
    struct same s = {.text = STR("<td>Caf\u00e9 12345 \u2014 a  b\r\n</td> \xff")};
    struct pool *pool = pool_open(4);

    (void)state;
    assert_int_equal(tokenizer_encode(&mini, s.text, true, &s.want), 0);
    pool_run(pool, encode_again, &s, 2000);
    assert_int_equal(s.n_differs, 0);
    pool_close(pool);
    ids_reset(&s.want);
}

static void test_round_trip_of_random_text(void **state)
{
    uint32_t seed = 7;

    (void)state;
    for (int i = 0; i < 2000; i++) {
        struct buf text = {0}, back = {0};
        struct ids ids = {0};

        for (uint32_t n = random_next(&seed) % 40; n; n--)
            buf_utf8(&text, random_next(&seed) % (n % 3 ? 0x80 : n % 2 ? 0x3000 : 0x110000));
        assert_int_equal(tokenizer_encode(&mini, buf_view(&text), i % 2, &ids), 0);
        decode(&mini, &ids, &back);
        assert_true(str_eq(buf_view(&text), buf_view(&back)));
        ids_reset(&ids);
        buf_reset(&back);
        buf_reset(&text);
    }
}

/* ---- merging against the plain definition ---------------------------------------------------- */

#define N_RANDOM_MERGES 300

struct naive {
    struct ids product; /* of merge r */
    struct buf text[256 + N_RANDOM_MERGES];
    int left[N_RANDOM_MERGES], right[N_RANDOM_MERGES];
    int n_token, n_merge;
};

/* ASCII letters only, so a token's text is its spelling in the file. */
static void naive_random(struct naive *v, uint32_t *seed)
{
    *v = (struct naive){.n_token = 256};
    for (int b = 0; b < 256; b++)
        buf_char(&v->text[b], (char)b);
    while (v->n_merge < N_RANDOM_MERGES) {
        int n_side = v->n_token - 256 + 3;
        int l = (int)(random_next(seed) % (uint32_t)n_side),
            r = (int)(random_next(seed) % (uint32_t)n_side);
        l = l < 3 ? 'a' + l : 253 + l;
        r = r < 3 ? 'a' + r : 253 + r;
        struct buf both = {0};
        buf_str(&both, buf_view(&v->text[l]));
        buf_str(&both, buf_view(&v->text[r]));
        bool is_new = both.n <= 12;
        for (int i = 0; i < v->n_token; i++)
            is_new = is_new && !str_eq(buf_view(&v->text[i]), buf_view(&both));
        if (!is_new) {
            buf_reset(&both);
            continue;
        }
        v->left[v->n_merge] = l;
        v->right[v->n_merge++] = r;
        v->text[v->n_token++] = both;
    }
}

static void naive_reset(struct naive *v)
{
    for (int i = 0; i < v->n_token; i++)
        buf_reset(&v->text[i]);
}

/* The definition: merge the leftmost pair of lowest rank, start again. */
static int naive_encode(const struct naive *v, str s, int32_t *id)
{
    int n = (int)s.n;

    for (int i = 0; i < n; i++)
        id[i] = (unsigned char)s.p[i];
    for (;;) {
        int best = v->n_merge, at = -1;

        for (int i = 0; i + 1 < n; i++)
            for (int r = 0; r < best; r++)
                if (v->left[r] == id[i] && v->right[r] == id[i + 1])
                    best = r, at = i;
        if (at < 0)
            return n;
        id[at] = 256 + best;
        memmove(id + at + 1, id + at + 2, sizeof(*id) * (size_t)(n - at - 2));
        n--;
    }
}

static void write_byte(struct buf *out, int byte)
{
    for (uint32_t code = 0; code < 0x144; code++)
        if (byte_level_byte(code) == byte)
            buf_fmt(out, "\"\\u%04x\"", (unsigned)code);
}

/* A tokenizer.json without splits. */
static void naive_write(const struct naive *v, bool as_pairs, struct buf *out)
{
    buf_text(
        out,
        "{\"added_tokens\": [], \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
        "[{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}]}, "
        "\"model\": {\"merges\": [");
    for (int r = 0; r < v->n_merge; r++) {
        const char *l = v->text[v->left[r]].p, *right = v->text[v->right[r]].p;
        buf_fmt(out, as_pairs ? "%s[\"%s\", \"%s\"]" : "%s\"%s %s\"", r ? "," : "", l, right);
    }
    buf_text(out, "], \"vocab\": {");
    for (int i = 0; i < v->n_token; i++) {
        if (i)
            buf_char(out, ',');
        if (i < 256)
            write_byte(out, i);
        else
            buf_fmt(out, "\"%s\"", v->text[i].p);
        buf_fmt(out, ": %d", i);
    }
    buf_text(out, "}, \"type\": \"BPE\"}}");
}

static void test_merges_against_the_definition(void **state)
{
    uint32_t seed = 1;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct naive v;
        struct buf json = {0};
        struct tokenizer t;

        naive_random(&v, &seed);
        naive_write(&v, round % 2, &json);
        if (tokenizer_parse(&t, buf_view(&json), "random") < 0)
            fail_msg("%s", err_text());
        for (int i = 0; i < 200; i++) {
            char text[64];
            int32_t want[64];
            size_t n = random_next(&seed) % sizeof(text);

            for (size_t k = 0; k < n; k++)
                text[k] = (char)('a' + random_next(&seed) % (i % 2 ? 2 : 3));
            int n_want = naive_encode(&v, (str){text, n}, want);
            assert_ids(&t, (str){text, n}, false, want, n_want);
        }
        tokenizer_close(&t);
        buf_reset(&json);
        naive_reset(&v);
    }
}

/* A megabyte in one piece: seconds with a heap, hours without. */
static void test_long_piece(void **state)
{
    struct naive v;
    struct buf json = {0}, text = {0}, back = {0};
    struct tokenizer t;
    struct ids ids = {0};
    uint32_t seed = 5;

    (void)state;
    naive_random(&v, &seed);
    naive_write(&v, true, &json);
    assert_int_equal(tokenizer_parse(&t, buf_view(&json), "random"), 0);
    for (int i = 0; i < 1 << 20; i++)
        buf_char(&text, (char)('a' + random_next(&seed) % 3));
    assert_int_equal(tokenizer_encode(&t, buf_view(&text), false, &ids), 0);
    decode(&t, &ids, &back);
    assert_true(str_eq(buf_view(&text), buf_view(&back)));
    ids_reset(&ids);
    while (text.n <= TOKENIZER_MAX_TEXT)
        buf_add(&text, back.p, back.n);
    assert_int_equal(tokenizer_encode(&t, buf_view(&text), false, &ids), RECTO_ETOOLARGE);
    assert_int_equal(ids.n, 0);
    tokenizer_close(&t);
    buf_reset(&json);
    buf_reset(&text);
    buf_reset(&back);
    naive_reset(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mini_ids),
        cmocka_unit_test(test_mini_markers),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_expected_pages),
        cmocka_unit_test(test_threads_share_a_tokenizer),
        cmocka_unit_test(test_round_trip_of_random_text),
        cmocka_unit_test(test_merges_against_the_definition),
        cmocka_unit_test(test_long_piece),
    };

    return cmocka_run_group_tests(tests, open_mini, close_mini);
}
