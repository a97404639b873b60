#include "base/mem.h"
#include "decoder/sampler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rng = 1;

static uint32_t next_random(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 17;
    rng ^= rng << 5;
    return rng;
}

/* The processor's text, word by word: for every start that lies wholly in the window, compare n - 1 ids one at a time. */
static void naive_bans(const int32_t *o, int len, int n, int w, bool *banned)
{
    int from = len - w > 0 ? len - w : 0;

    if (len < n)
        return;
    for (int i = from; i + n <= len; i++) {
        bool same = true;

        for (int k = 0; k < n - 1; k++)
            same = same && o[i + k] == o[len - (n - 1) + k];
        if (same)
            banned[o[i + n - 1]] = true;
    }
}

static void ban_equals_the_naive_one(void **state)
{
    enum { VOCAB = 5, LEN = 300 };
    int32_t id[LEN], ban[LEN];
    int n_any = 0;

    for (int round = 0; round < 3000; round++) {
        int len = (int)(next_random() % LEN),
            n_prompt = len ? (int)(next_random() % (uint32_t)len) / 2 : 0;
        struct guard g = {1 + (int)(next_random() % 6), 1 + (int)(next_random() % 120), {-1, -1}};
        bool want[VOCAB] = {0}, got[VOCAB] = {0}, whole = round % 4 == 0;
        int n;

        for (int i = 0; i < len; i++)
            id[i] = (int32_t)(next_random() % VOCAB);
        if (whole)
            g.window = SAMPLER_WHOLE;
        else
            g.exempt[round % 2] = round % VOCAB;
        naive_bans(whole ? id : id + n_prompt, whole ? len : len - n_prompt, g.n,
                   whole ? LEN : g.window, want);
        if (!whole)
            want[round % VOCAB] = false;
        n = sampler_bans(&g, id, len, n_prompt, ban);
        for (int i = 0; i < n; i++)
            got[ban[i]] = true;
        assert_memory_equal(got, want, sizeof got);
        n_any += n > 0;
    }
    assert_in_range(n_any, 500, 3000); /* the streams do repeat */
}

static struct pick choose(const struct sampler *s, float *logits, int n, const int32_t *all,
                          int n_all)
{
    struct sampler_scratch w;
    float copy[16];
    struct pick p;

    assert_in_range(n, 1, 16);
    memcpy(copy, logits, (size_t)n * sizeof *copy);
    sampler_scratch_init(&w, 64, n);
    p = sampler_next(&(struct sample_ask){s, all, n_all, 0, 0, -1, 0}, logits, n, &w);
    sampler_scratch_reset(&w);
    assert_memory_equal(copy, logits, (size_t)n * sizeof *copy); /* restored */
    return p;
}

static void greedy_and_ties(void **state)
{
    struct sampler s = {.guard = {0, 0, {-1, -1}}, .top_p = 1};
    float logits[] = {1, 3, 3, 0};
    struct pick p = choose(&s, logits, 4, NULL, 0);
    double sum = exp(-2) + 1 + 1 + exp(-3);

    assert_int_equal(p.id, 1); /* the lowest of equals */
    assert_false(p.intervened);
    assert_float_equal(p.logp, -log(sum), 1e-6);
}

static void banned_best_is_an_intervention(void **state)
{
    struct sampler s = {.guard = {2, 10, {-1, -1}}, .top_p = 1};
    float logits[] = {1, 5, 3, 0};
    int32_t seen[] = {0, 1, 0}; /* 0 1 was seen: after 0, 1 is banned */
    struct pick p = choose(&s, logits, 4, seen, 3);

    assert_int_equal(p.id, 2);
    assert_true(p.intervened);
    s.guard.exempt[1] = 1;
    assert_int_equal(choose(&s, logits, 4, seen, 3).id, 1);
}

static void all_banned_falls_back(void **state)
{
    struct sampler s = {.guard = {1, 10, {-1, -1}}, .top_p = 1};
    float logits[] = {1, 5};
    int32_t seen[] = {0, 1};

    assert_int_equal(choose(&s, logits, 2, seen, 2).id, 1);
}

/* Frequencies of 20,000 draws against the softmax at the temperature, and the top-p cut. */
static void temperature_and_top_p(void **state)
{
    struct sampler s = {.guard = {0, 0, {-1, -1}}, .temperature = 2, .top_p = 1, .seed = 3};
    float logits[] = {0, 2, 4, -INFINITY};
    double want[4], sum = 0;
    int count[4] = {0}, cut[4] = {0};

    for (int i = 0; i < 4; i++)
        sum += want[i] = exp(logits[i] / 2);
    for (int i = 0; i < 20000; i++) {
        s.seed = (uint64_t)i * 77;
        s.top_p = 1;
        count[choose(&s, logits, 4, NULL, 0).id]++;
        s.top_p = 0.7; /* 0.665 + 0.245 reach it: id 0 is out */
        cut[choose(&s, logits, 4, NULL, 0).id]++;
    }
    for (int i = 0; i < 4; i++)
        assert_float_equal(count[i] / 20000.0, want[i] / sum, 0.012); /* 3.5 standard deviations */
    assert_int_equal(cut[0], 0);
    assert_float_equal(cut[2] / 20000.0, want[2] / (want[1] + want[2]), 0.012);
}

static void a_seed_decides(void **state)
{
    struct sampler s = {.guard = {0, 0, {-1, -1}}, .temperature = 5, .top_p = 1, .seed = 11};
    float logits[] = {0, 1, 2, 3, 1, 2};
    int32_t first[32], id;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 32; i++) {
            id = choose(&s, logits, 6, first, i).id;
            if (round)
                assert_int_equal(id, first[i]);
            else
                first[i] = id;
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ban_equals_the_naive_one),       cmocka_unit_test(greedy_and_ties),
        cmocka_unit_test(banned_best_is_an_intervention), cmocka_unit_test(all_banned_falls_back),
        cmocka_unit_test(temperature_and_top_p),          cmocka_unit_test(a_seed_decides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
