/* The tokenizer on the mini model's file, on random vocabularies against a naive merge loop, and on
 * broken files. */
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "prompt/byte_level.h"
#include "prompt/json_scan.h"
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

static void assert_says(const char *what)
{
    if (!strstr(err_text(), what))
        fail_msg("\"%s\" does not say \"%s\"", err_text(), what);
}

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

/* ---- the pre-tokenizer ----------------------------------------------------------------------- */

static void join_piece(void *ctx, str piece)
{
    buf_str(ctx, piece);
    buf_char(ctx, '|');
}

static void assert_split(const char *const *regex, str text, const char *want)
{
    struct presplit p = {0};
    struct buf got = {0};

    for (; *regex; regex++)
        if (presplit_add(&p, str_of(*regex)) < 0)
            fail_msg("%s", err_text());
    assert_int_equal(presplit_run(&p, text, join_piece, &got), 0);
    assert_string_equal(got.p ? got.p : "", want);
    buf_reset(&got);
    presplit_reset(&p);
}

#define REGEX(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_split(void **state)
{
    (void)state;
    assert_split(REGEX("b+"), STR("abbcab"), "a|bb|ca|b|");
    assert_split(REGEX("\\p{N}{1,3}", "[^x]+"), STR("a12345x"), "a|123|45|x|");
    assert_split(REGEX("\\p{N}", "\\s+(?!\\S)|\\s+"), STR("  1  a"),
                 "  |1| | |a|");                    /* ends where its piece does */
    assert_split(REGEX("b*"), STR("aab"), "aa|b|"); /* no empty matches */
    assert_split(REGEX("."), STR(""), "");
    assert_split(REGEX("\\\\s"), STR("a\\s "), "a|\\s| |"); /* a backslash, then an s */
}

/* White space of Unicode, which U+180E is not (since 6.3). */
static void test_white_space(void **state)
{
    static const uint32_t space[] = {9,      10,     11,     12,     13,     32,
                                     0x85,   0xA0,   0x1680, 0x2000, 0x200A, 0x2028,
                                     0x2029, 0x202F, 0x205F, 0x3000};
    static const uint32_t other[] = {0x180E, 0x200B, 0x1C, 0x1F, 0xFEFF, 0x2060, 'a'};

    (void)state;
    for (size_t i = 0; i < COUNT(space) + COUNT(other); i++) {
        struct buf text = {0}, want = {0};
        bool is_space = i < COUNT(space);

        buf_char(&text, 'x');
        buf_utf8(&text, is_space ? space[i] : other[i - COUNT(space)]);
        buf_str(&want, is_space ? STR("x|") : buf_view(&text));
        buf_add(&want, text.p + 1, is_space ? text.n - 1 : 0);
        buf_char(&want, '|');
        assert_split(REGEX("\\s+"), buf_view(&text), want.p);
        assert_split(REGEX("[^\\S]+"), buf_view(&text), want.p);
        assert_split(REGEX("\\S+"), buf_view(&text), want.p);
        buf_reset(&text);
        buf_reset(&want);
    }
}

static void test_refused_patterns(void **state)
{
    static const char *const bad[] = {"\\w+", "\\bx",   "(a)\\1", "\\C", "\\h",      "(",
                                      "[a",   "a{3,2}", "*",      "",    "\\p{Nope}"};
    struct presplit p = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(presplit_add(&p, str_of(bad[i])), RECTO_EMODEL);
    assert_int_equal(p.n_step, 0);
    for (int i = 0; i < PRESPLIT_MAX_STEPS; i++)
        assert_int_equal(presplit_add(&p, STR("a")), 0);
    assert_int_equal(presplit_add(&p, STR("a")), RECTO_EMODEL);
    presplit_reset(&p);
}

/* Exponential patterns end with a sentence, and soon. */
static void test_hostile_patterns(void **state)
{
    static const char *const bad[] = {"(x+x+)+y", "(x|xx)+y", "(?:(?:x*)*)*y", "((x?){30}){30}y"};
    struct buf text = {0}, sink = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        buf_char(&text, 'x');
    buf_char(&text, 'z');
    buf_char(&text, 'y');
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct presplit p = {0};
        int rc = presplit_add(&p, str_of(bad[i]));

        assert_int_equal(rc, 0);
        rc = presplit_run(&p, buf_view(&text), join_piece, &sink);
        assert_true(rc == 0 || rc == RECTO_EMODEL);
        presplit_reset(&p);
    }
    buf_reset(&text);
    buf_reset(&sink);
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
        cmocka_unit_test(test_mini_ids),
        cmocka_unit_test(test_mini_markers),
        cmocka_unit_test(test_invalid_utf8_is_replaced),
        cmocka_unit_test(test_expected_pages),
        cmocka_unit_test(test_threads_share_a_tokenizer),
        cmocka_unit_test(test_round_trip_of_random_text),
        cmocka_unit_test(test_merges_against_the_definition),
        cmocka_unit_test(test_long_piece),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_white_space),
        cmocka_unit_test(test_refused_patterns),
        cmocka_unit_test(test_hostile_patterns),
        cmocka_unit_test(test_byte_alphabet),
        cmocka_unit_test(test_scan_strings),
        cmocka_unit_test(test_scan_numbers),
        cmocka_unit_test(test_refused_files),
        cmocka_unit_test(test_refused_merges),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_missing_file),
    };

    return cmocka_run_group_tests(tests, open_mini, close_mini);
}
