/* The paged cache: causal attention against a direct softmax, and what must not matter to a
 * single bit: the size of blocks and their order in the slab, how a prompt is cut into steps,
 * what else is in the step, the number of threads, and what a block's last owner left behind.
 * Tolerances: test_attend.c. */
#include "ops.h"

enum { N_TOK = 203, HEADS = 3, HD = 32, WIDTH = HEADS * HD, LAYERS = 2, SLAB_TOK = 1024 };

static const char *const precisions[] = {"fp32", "bf16"};

#define EACH_DEVICE(isa, prec) EACH_ISA(isa) for (int prec = 0; prec < 2; prec++)

static float *q, *k, *v;

static int make_tokens(void **state)
{
    q = rand_f32(N_TOK * WIDTH, 2);
    k = rand_f32(N_TOK * WIDTH, 2);
    v = rand_f32(N_TOK * WIDTH, 1);
    return 0;
}

static int free_tokens(void **state)
{
    free(q), free(k), free(v);
    return 0;
}

static struct kv *open_kv(struct device *d, int block_tok)
{
    struct kv_shape s = {LAYERS, HEADS, HD, SLAB_TOK / block_tok, block_tok};
    struct kv *kv;

    assert_int_equal(backend_cpu.kv_open(d, &kv, &s), 0);
    return kv;
}

/* Up to 2 sequences over the tokens above: sequence s has its blocks scattered from its own end
 * of the slab. */
struct steps {
    int32_t pos[2 * N_TOK], slot[2 * N_TOK], row[3], len[2], block[2][SLAB_TOK / 16];
    int block_tok;
    struct batch b;
};

static void steps_init(struct steps *s, int block_tok)
{
    int n = SLAB_TOK / block_tok;

    memset(s, 0, sizeof *s);
    s->block_tok = block_tok;
    for (int i = 0; i < n / 2; i++) {
        s->block[0][i] = (i * 7 + 3) % (n / 2); /* 7 divides no n / 2 here: a permutation */
        s->block[1][i] = n - 1 - i;
    }
    s->b = (struct batch){.pos = s->pos,
                          .slot = s->slot,
                          .seq_row = s->row,
                          .seq_len = s->len,
                          .block = s->block[0],
                          .block_stride = SLAB_TOK / 16};
}

static void steps_begin(struct steps *s)
{
    s->b.n_tok = s->b.n_seq = 0;
}

/* Rows [from, to) of the tokens as sequence `seq`; sequences in order. */
static void steps_add(struct steps *s, int seq, int from, int to)
{
    while (s->b.n_seq <= seq)
        s->row[s->b.n_seq++] = s->b.n_tok;
    for (int t = from; t < to; t++) {
        s->pos[s->b.n_tok] = t;
        s->slot[s->b.n_tok++] = s->block[seq][t / s->block_tok] * s->block_tok + t % s->block_tok;
    }
    s->row[s->b.n_seq] = s->b.n_tok;
    s->len[seq] = to;
}

/* Store and attend for tokens [from, to) of one sequence at `layer`. */
static void run_part(struct device *d, struct kv *kv, struct steps *s, int layer, int from, int to,
                     float *out)
{
    int n = to - from;

    steps_begin(s);
    steps_add(s, 0, from, to);
    assert_int_equal(backend_cpu.kv_store(d, kv, layer, matrix(k + from * WIDTH, n, WIDTH),
                                          matrix(v + from * WIDTH, n, WIDTH), &s->b),
                     0);
    assert_int_equal(backend_cpu.attend(d, matrix(out + from * WIDTH, n, WIDTH),
                                        matrix(q + from * WIDTH, n, WIDTH), kv, layer, &s->b),
                     0);
}

static void run_whole(struct device *d, int block_tok, float *out)
{
    struct kv *kv = open_kv(d, block_tok);
    static struct steps s;

    steps_init(&s, block_tok);
    run_part(d, kv, &s, 1, 0, N_TOK, out);
    backend_cpu.kv_close(d, kv);
}

static void ref_row(double *out, int row, int head, int prec)
{
    double p[N_TOK], max = -INFINITY, sum = 0;

    for (int i = 0; i <= row; i++) {
        p[i] = 0;
        for (int c = head * HD; c < (head + 1) * HD; c++)
            p[i] += q[row * WIDTH + c] * (prec ? to_bf16(k[i * WIDTH + c]) : k[i * WIDTH + c]) /
                    sqrt(HD);
        max = fmax(max, p[i]);
    }
    for (int i = 0; i <= row; i++)
        sum += p[i] = exp(p[i] - max);
    for (int c = 0; c < HD; c++) {
        out[c] = 0;
        for (int i = 0; i <= row; i++)
            out[c] += p[i] / sum *
                      (prec ? to_bf16(v[i * WIDTH + head * HD + c]) : v[i * WIDTH + head * HD + c]);
    }
}

static void test_reference(void **state)
{
    float out[N_TOK * WIDTH];
    double want[HD];

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);
        double tol = rounds_inputs(isa, precisions[prec]) ? 0x1p-5 : 3e-5;

        run_whole(d, 64, out);
        for (int i = 0; i < N_TOK * HEADS; i++) {
            ref_row(want, i / HEADS, i % HEADS, prec);
            for (int c = 0; c < HD; c++)
                close_to(out[i * HD + c], want[c], tol, 3, "attend", i * HD + c);
        }
        backend_cpu.close(d);
    }
}

static void test_blocks_and_threads(void **state)
{
    static const int sizes[] = {16, 32, 48, 128};
    float want[N_TOK * WIDTH], got[N_TOK * WIDTH];

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2),
                      *one = device_of(isa, precisions[prec], 1);

        run_whole(d, 64, want);
        for (size_t i = 0; i < COUNT(sizes); i++) {
            run_whole(d, sizes[i], got);
            same_bits(got, want, N_TOK * WIDTH, "blocks of another size");
        }
        run_whole(one, 64, got);
        same_bits(got, want, N_TOK * WIDTH, "one thread and two");
        backend_cpu.close(d), backend_cpu.close(one);
    }
}

/* A prompt in ragged chunks and then token by token. */
static void test_chunks(void **state)
{
    static const int cut[] = {0, 1, 3, 50, 64, 65, 130, 191, N_TOK - 5};
    float want[N_TOK * WIDTH], got[N_TOK * WIDTH];
    static struct steps s;

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);
        struct kv *kv = open_kv(d, 16);

        run_whole(d, 64, want);
        steps_init(&s, 16);
        for (size_t i = 1; i < COUNT(cut); i++)
            run_part(d, kv, &s, 0, cut[i - 1], cut[i], got);
        for (int t = N_TOK - 5; t < N_TOK; t++)
            run_part(d, kv, &s, 0, t, t + 1, got);
        same_bits(got, want, N_TOK * WIDTH, "whole and chunked");
        backend_cpu.kv_close(d, kv);
        backend_cpu.close(d);
    }
}

/* Two sequences in one step, one at its prompt and one decoding. */
static void test_batch(void **state)
{
    float want[N_TOK * WIDTH], first[N_TOK * WIDTH];
    static struct steps s;
    enum { A = 100, DONE = 150, ROWS = A + 1 };
    float *qq = rand_f32(ROWS * WIDTH, 0), *kk = rand_f32(ROWS * WIDTH, 0),
          *vv = rand_f32(ROWS * WIDTH, 0);
    float *out = rand_f32(ROWS * WIDTH, 0);

    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);
        struct kv *kv = open_kv(d, 32);

        run_whole(d, 64, want);
        steps_init(&s, 32);
        steps_begin(&s);
        steps_add(&s, 1, 0, DONE); /* sequence 0 is empty in this step */
        backend_cpu.kv_store(d, kv, 0, matrix(k, DONE, WIDTH), matrix(v, DONE, WIDTH), &s.b);
        backend_cpu.attend(d, matrix(first, DONE, WIDTH), matrix(q, DONE, WIDTH), kv, 0, &s.b);
        same_bits(first, want, DONE * WIDTH, "second sequence");

        memcpy(qq, q, A * WIDTH * sizeof *q),
            memcpy(qq + A * WIDTH, q + DONE * WIDTH, WIDTH * sizeof *q);
        memcpy(kk, k, A * WIDTH * sizeof *q),
            memcpy(kk + A * WIDTH, k + DONE * WIDTH, WIDTH * sizeof *q);
        memcpy(vv, v, A * WIDTH * sizeof *q),
            memcpy(vv + A * WIDTH, v + DONE * WIDTH, WIDTH * sizeof *q);
        steps_begin(&s);
        steps_add(&s, 0, 0, A);
        steps_add(&s, 1, DONE, DONE + 1);
        backend_cpu.kv_store(d, kv, 0, matrix(kk, ROWS, WIDTH), matrix(vv, ROWS, WIDTH), &s.b);
        backend_cpu.attend(d, matrix(out, ROWS, WIDTH), matrix(qq, ROWS, WIDTH), kv, 0, &s.b);
        same_bits(out, want, A * WIDTH, "prompt beside decode");
        same_bits(out + A * WIDTH, want + DONE * WIDTH, WIDTH, "decode beside prompt");
        backend_cpu.kv_close(d, kv);
        backend_cpu.close(d);
    }
    free(qq), free(kk), free(vv), free(out);
}

/* A page of NaN is read, its blocks are given to another: nothing of it remains. */
static void test_stale_blocks(void **state)
{
    float want[N_TOK * WIDTH], got[N_TOK * WIDTH], *nan = rand_f32(N_TOK * WIDTH, 0);
    static struct steps s;

    for (int i = 0; i < N_TOK * WIDTH; i++)
        nan[i] = NAN;
    EACH_DEVICE(isa, prec)
    {
        struct device *d = device_of(isa, precisions[prec], 2);
        struct kv *kv = open_kv(d, 64);

        run_whole(d, 64, want);
        steps_init(&s, 64);
        steps_begin(&s);
        steps_add(&s, 0, 0, N_TOK);
        backend_cpu.kv_store(d, kv, 0, matrix(nan, N_TOK, WIDTH), matrix(nan, N_TOK, WIDTH), &s.b);
        run_part(d, kv, &s, 0, 0, 70, got);
        for (int t = 70; t < 75; t++)
            run_part(d, kv, &s, 0, t, t + 1, got);
        same_bits(got, want, 75 * WIDTH, "blocks used before");
        backend_cpu.kv_close(d, kv);
        backend_cpu.close(d);
    }
    free(nan);
}

static void test_shapes(void **state)
{
    struct device *bf16 = device_of(0, "auto", 1), *fp32 = device_of(0, "fp32", 1);
    struct kv_shape s = {12, 10, 128, 128, 64}, bad = {1, 1, 24, 1, 16}, ragged = {1, 1, 16, 1, 20};
    struct kv *kv;

    assert_int_equal(backend_cpu.kv_bytes(bf16, &s), 61440LL * 8192);
    assert_int_equal(backend_cpu.kv_bytes(fp32, &s), 122880LL * 8192);
    assert_int_equal(backend_cpu.kv_open(bf16, &kv, &bad), RECTO_ESHAPE);
    assert_null(kv);
    assert_int_equal(backend_cpu.kv_bytes(bf16, &ragged), RECTO_ESHAPE);
    backend_cpu.kv_close(bf16, NULL);
    backend_cpu.close(bf16), backend_cpu.close(fp32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),    cmocka_unit_test(test_blocks_and_threads),
        cmocka_unit_test(test_chunks),       cmocka_unit_test(test_batch),
        cmocka_unit_test(test_stale_blocks), cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests(tests, make_tokens, free_tokens);
}
