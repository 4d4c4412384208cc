/* cuda_prelude.c: the CUDA C++ text around the common prelude. It includes nothing, so that NVRTC
 * takes it as it is; what nvcc and NVRTC know without a header (threadIdx, the math functions,
 * shuffles, atomics) is all it uses. */
#include "codegen/emit.h"

const char cuda_head[] =
    "/* CUDA C++ for NVRTC or nvcc -cubin. Any grid; blocks of a multiple of 32 threads. "
    "-fmad=false\n"
    "   gives elementwise results without fused multiply-adds. */\n"
    "#define SN_FN static __device__ __forceinline__\n"
    "#define SN_LIBM\n"
    "#if defined(__CUDACC__)\n"
    "#pragma nv_diag_suppress 550\n" /* sn_err, where nothing is divided */
    "#endif\n";

/* Errors: the first thread to fail wins; all go on, since others wait for them at barriers.
 *
 * A group is the threads that share a row of a vector body: a warp each if there are rows enough,
 * else the whole block for one row after the other. Where rows depend on each other (they add to
 * the same memory) it is the block as well: a lane then is the same thread's in every row. */
const char cuda_prelude[] =
    "typedef struct sinter_kctx {\n"
    "    char *scratch;  /* gridDim.x times the kernel's scratch */\n"
    "    sn_i64 *error;  /* zeros; then the offending index, and the number of the place */\n"
    "    sn_u64 seed;\n"
    "} sinter_kctx;\n"
    "SN_FN void sn_fail(const sinter_kctx *c, sn_i64 site, sn_i64 index)\n"
    "{\n"
    "    if (atomicCAS((unsigned long long *)c->error + 1, 0ull, (unsigned long long)site) == 0)\n"
    "        c->error[0] = index;\n"
    "}\n"
    /* 64-bit division is slow there, and hardly ever needed */
    "SN_FN sn_i64 sn_quot(sn_i64 a, sn_i64 b)\n"
    "{\n"
    "    return (a | b) >> 32 ? a / b : (sn_i64)((sn_u32)a / (sn_u32)b);\n"
    "}\n"
    "typedef struct sn_group { sn_i64 first, step, lane, width; int warp; bool block; } sn_group;\n"
    "SN_FN sn_group sn_group_of(sn_i64 rows, bool in_order)\n"
    "{\n"
    "    sn_group g;\n"
    "    g.warp = blockDim.x < 32 ? (int)blockDim.x : 32;\n"
    "    g.step = blockDim.x / g.warp;\n"
    "    g.block = in_order || rows < g.step;\n"
    "    g.first = g.block ? 0 : threadIdx.x / g.warp;\n"
    "    g.lane = g.block ? threadIdx.x : threadIdx.x % g.warp;\n"
    "    g.width = g.block ? blockDim.x : g.warp;\n"
    "    g.step = g.block ? 1 : g.step;\n"
    "    return g;\n"
    "}\n"
    "SN_FN void sn_sync(const sn_group &g)\n"
    "{\n"
    "    if (g.block)\n"
    "        __syncthreads();\n"
    "    else\n"
    "        __syncwarp();\n"
    "}\n"
    "SN_FN double sn_swap(double v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }\n"
    "SN_FN float sn_swap(float v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }\n"
    "SN_FN sn_i32 sn_swap(sn_i32 v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }\n"
    "SN_FN sn_i64 sn_swap(sn_i64 v, int d) { return __shfl_xor_sync(0xffffffffu, v, d); }\n"
    "SN_FN sn_u8 sn_swap(sn_u8 v, int d) { return (sn_u8)__shfl_xor_sync(0xffffffffu, (int)v, d); "
    "}\n"
    /* where the warps of a block leave their parts of a reduction: 32 numbers of any type */
    "SN_FN void *sn_parts()\n"
    "{\n"
    "    __shared__ double part[32];\n"
    "    return part;\n"
    "}\n";
