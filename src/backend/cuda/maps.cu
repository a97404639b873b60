// Maps of matrices for the copy engine of compute capability 9.0.
#include "backend/cuda/sm90.cuh"

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

// The driver's function, looked up so that nothing links against the driver.
static encode_fn *find_encode()
{
    static encode_fn *found;
    cudaDriverEntryPointQueryResult how;
    void *p = nullptr;

    if (!found && cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &p, 12000,
                                                   cudaEnableDefault, &how) == cudaSuccess)
        found = (encode_fn *)p;
    return found;
}

bool make_map(CUtensorMap *map, const void *data, int rows, int cols, bool is_f32, int box_rows)
{
    cuuint64_t bytes = is_f32 ? 4 : 2, size[] = {(cuuint64_t)cols, (cuuint64_t)rows},
               stride[] = {(cuuint64_t)cols * bytes};
    cuuint32_t box[] = {(cuuint32_t)(128 / bytes), (cuuint32_t)box_rows}, step[] = {1, 1};
    encode_fn *encode = find_encode();

    return encode &&
           encode(map, is_f32 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                  2, (void *)data, size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

int launch_map_bytes()
{
    return (int)sizeof(CUtensorMap);
}

bool launch_make_map(void *to, const void *data, int rows, int k)
{
    return make_map((CUtensorMap *)to, data, rows, k, false, MAP_ROWS);
}
