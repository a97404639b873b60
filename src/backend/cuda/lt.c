/* cuBLASLt for the products of views, where rows are many and its kernels are at the machine's
 * limit.
 *
 * The library is opened at run time, so a build runs without it (own kernels do everything).  Its
 * heuristics choose by the number of rows, which would let a row's result depend on its neighbours:
 * so the algorithm is asked for once for each shape of weight, at a fixed number of rows, without
 * split-K, and kept.  Products of the decoder never come here. */
#include "backend/cuda/cuda.h"

#include "base/err.h"
#include "base/mem.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <stdlib.h>

enum { TYPICAL_ROWS = 16384, LT_WORK = 32 << 20, N_TRY = 8 };

/* name, return type and arguments follow cublasLt.h by typeof */
#define LT_CALLS(X)                                                                            \
    X(cublasLtCreate)                                                                          \
    X(cublasLtDestroy)                                                                         \
    X(cublasLtMatmul)                                                                          \
    X(cublasLtMatmulAlgoGetHeuristic)                                                          \
    X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute) \
        X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy)                           \
            X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy)               \
                X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatmulAlgoConfigGetAttribute)

struct plan {
    int64_t n, k;
    cudaDataType_t out;
    bool adds, has_bias, works;
    cublasLtMatmulDesc_t op;
    cublasLtMatmulAlgo_t algo;
};

struct lt {
    void *library;
    cublasLtHandle_t handle;
#define X(name) __typeof__(name) *name;
    LT_CALLS(X)
#undef X
    struct plan *plan;
    int n_plan;
};

static void *open_library(void)
{
    static const char *const names[] = {"libcublasLt.so.13",
                                        "/usr/local/cuda/lib64/libcublasLt.so.13"};
    void *p = NULL;

    for (size_t i = 0; !p && i < COUNT(names); i++)
        p = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return p;
}

static bool find_calls(struct lt *lt)
{
    bool all = true;

#define X(name) all = (*(void **)(void *)&lt->name = dlsym(lt->library, #name)) && all;
    LT_CALLS(X)
#undef X
    return all;
}

struct lt *lt_open(struct device *d)
{
    struct lt *lt = mem_zero(1, sizeof *lt);

    if (!getenv("RECTO_CUDA_NO_LT")) /* for comparisons */
        lt->library = open_library();
    if (lt->library && find_calls(lt) && lt->cublasLtCreate(&lt->handle) == CUBLAS_STATUS_SUCCESS)
        return lt;
    lt_close(lt);
    return NULL;
}

void lt_close(struct lt *lt)
{
    if (!lt)
        return;
    for (int i = 0; i < lt->n_plan; i++)
        lt->cublasLtMatmulDescDestroy(lt->plan[i].op);
    free(lt->plan);
    if (lt->handle)
        lt->cublasLtDestroy(lt->handle);
    if (lt->library)
        dlclose(lt->library);
    free(lt);
}

/* Column-major for the library: y^T [n, rows] = W^T' [n, k] x^T [k, rows]. */
struct layouts {
    cublasLtMatrixLayout_t w, x, y;
};

static void open_layouts(struct lt *lt, struct layouts *l, const struct plan *p, int64_t rows)
{
    lt->cublasLtMatrixLayoutCreate(&l->w, CUDA_R_16BF, (uint64_t)p->k, (uint64_t)p->n, p->k);
    lt->cublasLtMatrixLayoutCreate(&l->x, CUDA_R_16BF, (uint64_t)p->k, (uint64_t)rows, p->k);
    lt->cublasLtMatrixLayoutCreate(&l->y, p->out, (uint64_t)p->n, (uint64_t)rows, p->n);
}

static void close_layouts(struct lt *lt, struct layouts *l)
{
    lt->cublasLtMatrixLayoutDestroy(l->w);
    lt->cublasLtMatrixLayoutDestroy(l->x);
    lt->cublasLtMatrixLayoutDestroy(l->y);
}

/* The first of the library's proposals that does not split K. */
static void choose(struct lt *lt, struct plan *p)
{
    cublasLtMatmulHeuristicResult_t found[N_TRY];
    cublasLtMatmulPreference_t want;
    size_t work = LT_WORK;
    struct layouts l;
    int n = 0;

    open_layouts(lt, &l, p, TYPICAL_ROWS);
    lt->cublasLtMatmulPreferenceCreate(&want);
    lt->cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &work,
                                             sizeof work);
    if (lt->cublasLtMatmulAlgoGetHeuristic(lt->handle, p->op, l.w, l.x, l.y, l.y, want, N_TRY,
                                           found, &n) != CUBLAS_STATUS_SUCCESS)
        n = 0;
    for (int i = 0; i < n && !p->works; i++) {
        int32_t split = 1;
        size_t size;

        lt->cublasLtMatmulAlgoConfigGetAttribute(&found[i].algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM,
                                                 &split, sizeof split, &size);
        p->works = split <= 1;
        p->algo = found[i].algo;
    }
    lt->cublasLtMatmulPreferenceDestroy(want);
    close_layouts(lt, &l);
}

static void set(struct lt *lt, cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t which,
                const void *value, size_t size)
{
    lt->cublasLtMatmulDescSetAttribute(op, which, value, size);
}

static void set_bias(struct lt *lt, const struct plan *p, const struct weight *w)
{
    cublasLtEpilogue_t epilogue = w->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    cudaDataType_t type = CUDA_R_32F;

    set(lt, p->op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!w->bias)
        return;
    set(lt, p->op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &w->bias, sizeof w->bias);
    set(lt, p->op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
}

static struct plan *find_plan(struct lt *lt, const struct weight *w, cudaDataType_t out, bool adds)
{
    cublasOperation_t turned = CUBLAS_OP_T;
    struct plan *p;

    for (int i = 0; i < lt->n_plan; i++) {
        p = &lt->plan[i];
        if (p->n == w->n_out && p->k == w->n_in && p->out == out && p->adds == adds &&
            p->has_bias == (w->bias != NULL))
            return p;
    }
    lt->plan = mem_grow(lt->plan, (size_t)lt->n_plan + 1, sizeof *lt->plan);
    p = &lt->plan[lt->n_plan++];
    *p = (struct plan){
        .n = w->n_out, .k = w->n_in, .out = out, .adds = adds, .has_bias = w->bias != NULL};
    lt->cublasLtMatmulDescCreate(&p->op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(lt, p->op, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    set_bias(lt, p, w);
    choose(lt, p);
    return p;
}

static int run_plan(struct device *d, struct plan *p, tensor y, tensor x, const struct weight *w)
{
    struct lt *lt = d->lt;
    float one = 1.0f, beta = p->adds ? 1.0f : 0.0f;
    struct layouts l;
    void *work;
    int rc;

    TRY(cuda_work(d, WORK_LT, LT_WORK, &work));
    set_bias(lt, p, w);
    open_layouts(lt, &l, p, x.n[0]);
    rc = (int)lt->cublasLtMatmul(lt->handle, p->op, &one, w->data, l.w, x.data, l.x, &beta, y.data,
                                 l.y, y.data, l.y, &p->algo, work, LT_WORK, d->stream);
    close_layouts(lt, &l);
    if (rc)
        return err(
            RECTO_EDEVICE,
            "device: cuBLASLt failed on [%lld, %lld] x [%lld, %lld] (status %d); set RECTO_CUDA_NO_LT=1 to go without",
            (long long)x.n[0], (long long)p->k, (long long)p->n, (long long)p->k, rc);
    return 0;
}

/* Its bias must be of the result's type and its GELU is the tanh form: such products stay with our
 * kernels. */
bool lt_linear(struct device *d, tensor y, tensor x, const struct weight *w, enum linear_mode mode,
               int *rc)
{
    struct plan *p;

    if (!d->lt || !w->is_of_views || x.dtype != DT_BF16 || w->kind != WEIGHT_BF16 || w->n_in % 16 ||
        w->n_out % 16 || mode == LINEAR_GELU || (w->bias && y.dtype != DT_F32))
        return false;
    p = find_plan(d->lt, w, y.dtype == DT_F32 ? CUDA_R_32F : CUDA_R_16BF, mode == LINEAR_ADD);
    if (!p->works)
        return false;
    *rc = run_plan(d, p, y, x, w);
    return true;
}
