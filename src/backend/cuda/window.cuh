// SAM's attention on tensor cores: within windows (window.cu), and over whole views on compute
// capability 9.0 (attend90.cu).
#ifndef RECTO_BACKEND_CUDA_WINDOW_CUH
#define RECTO_BACKEND_CUDA_WINDOW_CUH

#include "backend/cuda/kern.cuh"

enum { WINDOW_SIDE = 14, WINDOW_HEAD = 64 };

// bf16, a->side == WINDOW_SIDE, heads of WINDOW_HEAD numbers
void launch_windows(launch_stream s, const struct attend *a);
void prepare_windows(int shared_bytes, cudaError_t *rc);

// bf16, a->window == 0, sides of 48 and 64, heads of 64 numbers
int launch_views90(launch_stream s, const struct attend *a); // a cudaError_t
// The flow encoder's, heads of 64 numbers
int launch_prefix90(launch_stream s, const struct attend *a); // a cudaError_t
void prepare_views90(int shared_bytes, cudaError_t *rc);

#endif
