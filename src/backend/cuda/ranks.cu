// Sums over ranks: each writes its part of a row into every other's memory and adds what came, in the
// order of ranks, so that all get the same bits.  Plain addresses (peer access), no NVLink multicast.
//
// Few rows travel as numbers with the epoch beside each, eight bytes at once, so that seeing the epoch is
// having the number, and no fence is waited for; that doubles the bytes.  Many rows travel as they are,
// and one flag for each block of rows follows behind a fence.  Both ways write to the half of the inbox
// that the epoch's last bit names: who begins epoch e has everybody's part of e - 1, so all kernels of
// e - 2 have ended and nobody reads that half any more.
//
// An epoch belongs to a block, which counts it itself, and row r always to block r mod RANK_BLOCKS:
// nothing depends on the host, so a recorded step can be replayed.  All blocks of a launch are on the
// device at once, and each sends all it has before it waits.
//
// Who waits too long, or is told that a rank has failed, gives up and says so in words[1]; what it then
// leaves behind means nothing.
#include "backend/cuda/kern.cuh"

enum { SUM_THREADS = 320, ASK_EVERY = 256 };

static const uint64_t PATIENCE_NS = 20000000000ull;

struct wait {
    int32_t *words; // host memory
    uint64_t until;
    unsigned n_ask;
};

__device__ __forceinline__ uint64_t now_ns()
{
    uint64_t t;

    asm volatile("mov.u64 %0, %%globaltimer;\n" : "=l"(t));
    return t;
}

__device__ __forceinline__ int32_t load_word(const int32_t *p)
{
    int32_t v;

    asm volatile("ld.volatile.global.s32 %0, [%1];\n" : "=r"(v) : "l"(p) : "memory");
    return v;
}

// Is it time to give up?  Asks rarely: the words are on the host.
__device__ __forceinline__ bool gives_up(struct wait *w)
{
    if (++w->n_ask % ASK_EVERY)
        return false;
    if (!w->until)
        w->until = now_ns() + PATIENCE_NS;
    if (!load_word(&w->words[0]) && !load_word(&w->words[1]) && now_ns() < w->until)
        return false;
    *(volatile int32_t *)&w->words[1] = 1;
    return true;
}

__device__ __forceinline__ void send(void *to, float a, float b, uint32_t epoch)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};\n" ::"l"(to),
                 "r"(__float_as_uint(a)), "r"(epoch), "r"(__float_as_uint(b)), "r"(epoch)
                 : "memory");
}

// Two numbers, once both are of this epoch.
__device__ __forceinline__ void receive(float *a, float *b, const void *from, uint32_t epoch,
                                        struct wait *w)
{
    uint32_t v[4];

    do
        asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "l"(from)
                     : "memory");
    while ((v[1] != epoch || v[3] != epoch) && !gives_up(w));
    *a = __uint_as_float(v[0]);
    *b = __uint_as_float(v[2]);
}

__device__ __forceinline__ void raise_flag(uint32_t *flag, uint32_t epoch)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;\n" ::"l"(flag), "r"(epoch) : "memory");
}

__device__ __forceinline__ void await_flag(const uint32_t *flag, uint32_t epoch, struct wait *w)
{
    uint32_t v;

    do
        asm volatile("ld.acquire.sys.global.u32 %0, [%1];\n" : "=r"(v) : "l"(flag) : "memory");
    while ((int32_t)(v - epoch) < 0 && !gives_up(w));
}

// Places in a rank's room for what comes from rank `from`.
__device__ __forceinline__ char *mail_of(const struct rank_sum &s, int at, int from, uint32_t epoch)
{
    return s.room[at] + s.mail_at + ((int64_t)(epoch & 1) * s.n + from) * s.mail_bytes;
}

__device__ __forceinline__ char *bulk_of(const struct rank_sum &s, int at, int from, uint32_t epoch)
{
    return s.room[at] + s.bulk_at + ((int64_t)(epoch & 1) * s.n + from) * s.bulk_bytes;
}

__device__ __forceinline__ uint32_t *flag_of(const struct rank_sum &s, int at, int from)
{
    return (uint32_t *)s.room[at] + (1 + from) * RANK_BLOCKS + blockIdx.x;
}

__device__ __forceinline__ float4 load_mail(const char *from, uint32_t epoch, struct wait *w)
{
    float4 v;

    receive(&v.x, &v.y, from, epoch, w);
    receive(&v.z, &v.w, from + 16, epoch, w);
    return v;
}

__device__ __forceinline__ void store_mail(char *to, float4 v, uint32_t epoch)
{
    send(to, v.x, v.y, epoch);
    send(to + 16, v.z, v.w, epoch);
}

template <bool MAIL> __device__ void send_rows(const struct rank_sum &s, uint32_t epoch)
{
    int quads = s.width / 4;

    for (int row = blockIdx.x; row < s.rows; row += gridDim.x)
        for (int q = threadIdx.x; q < quads; q += SUM_THREADS) {
            int64_t i = (int64_t)row * quads + q;
            float4 v = ((const float4 *)s.part)[i];

            for (int k = 1; k < s.n; k++) {
                int to = (s.rank + k) % s.n;

                if (MAIL)
                    store_mail(mail_of(s, to, s.rank, epoch) + 32 * i, v, epoch);
                else
                    ((float4 *)bulk_of(s, to, s.rank, epoch))[i] = v;
            }
        }
}

// Everybody's rows of this block have come.
__device__ void exchange_flags(const struct rank_sum &s, uint32_t epoch, struct wait *w)
{
    int other = threadIdx.x;

    __syncthreads();
    if (other < s.n && other != s.rank) {
        __threadfence_system();
        raise_flag(flag_of(s, other, s.rank), epoch);
        await_flag(flag_of(s, s.rank, other), epoch, w);
    }
    __syncthreads();
}

__device__ __forceinline__ float4 add(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <bool MAIL>
__device__ __forceinline__ float4 sum_of(const struct rank_sum &s, int64_t i, uint32_t epoch,
                                         struct wait *w)
{
    float4 sum, own = ((const float4 *)s.part)[i];

    for (int r = 0; r < s.n; r++) {
        float4 v = own;

        if (r != s.rank && MAIL)
            v = load_mail(mail_of(s, s.rank, r, epoch) + 32 * i, epoch, w);
        else if (r != s.rank)
            v = __ldcv((const float4 *)bulk_of(s, s.rank, r, epoch) + i);
        sum = r ? add(sum, v) : v;
    }
    return sum;
}

template <class H> __device__ __forceinline__ void store_h(void *h, int64_t i, float4 v)
{
    H *to = (H *)h + 4 * i;

    to[0] = from_f32<H>(v.x);
    to[1] = from_f32<H>(v.y);
    to[2] = from_f32<H>(v.z);
    to[3] = from_f32<H>(v.w);
}

// y += sum, part = 0, h = RMSNorm(y), for the rows of this block.
template <bool MAIL, class H>
__device__ void add_rows(const struct rank_sum &s, uint32_t epoch, struct wait *w)
{
    __shared__ float room[32];
    int quads = s.width / 4;

    for (int row = blockIdx.x; row < s.rows; row += gridDim.x) {
        float squares = 0;

        for (int q = threadIdx.x; q < quads; q += SUM_THREADS) {
            int64_t i = (int64_t)row * quads + q;
            float4 y = add(((const float4 *)s.y)[i], sum_of<MAIL>(s, i, epoch, w));

            ((float4 *)s.y)[i] = y;
            ((float4 *)s.part)[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            squares += y.x * y.x + y.y * y.y + y.z * y.z + y.w * y.w;
        }
        if (!s.h)
            continue;
        float scale = rsqrtf(block_sum(squares, room) / (float)s.width + s.eps);

        for (int q = threadIdx.x; q < quads; q += SUM_THREADS) {
            int64_t i = (int64_t)row * quads + q;
            float4 y = ((const float4 *)s.y)[i], g = ((const float4 *)s.norm)[q];

            store_h<H>(s.h, i,
                       make_float4(y.x * scale * g.x, y.y * scale * g.y, y.z * scale * g.z,
                                   y.w * scale * g.w));
        }
    }
}

template <bool MAIL, class H>
__global__ void __launch_bounds__(SUM_THREADS) sum_kernel(const struct rank_sum s)
{
    uint32_t *count = (uint32_t *)s.room[s.rank] + blockIdx.x, epoch = 0;
    struct wait w = {s.words, 0, 0};

    grid_release();
    grid_wait();
    if (s.n > 1) {
        epoch = *count + 1;
        epoch += epoch == 0; // what was never written is of epoch 0
        send_rows<MAIL>(s, epoch);
        if (!MAIL)
            exchange_flags(s, epoch, &w);
    }
    add_rows<MAIL, H>(s, epoch, &w);
    __syncthreads(); // all have read count
    if (s.n > 1 && threadIdx.x == 0)
        *count = epoch;
}

template <bool MAIL> static cudaError_t run(launch_stream s, const struct rank_sum *p)
{
    dim3 grid((unsigned)(p->rows < RANK_BLOCKS ? p->rows : RANK_BLOCKS));

    if (p->h_is_f32)
        return launch(sum_kernel<MAIL, float>, grid, SUM_THREADS, 0, s, p->overlaps, *p);
    return launch(sum_kernel<MAIL, bf16>, grid, SUM_THREADS, 0, s, p->overlaps, *p);
}

int launch_sum_ranks(launch_stream s, const struct rank_sum *p)
{
    return p->is_mail ? run<true>(s, p) : run<false>(s, p);
}
