// cuda_host.h: runs emitted CUDA on the CPU: enough of CUDA's language for g++ to compile model.cu
// behind this header (-include). A block is CUDA_THREADS threads of the system; barriers and
// shuffles are real ones, so that a missing barrier shows. RUN_BLOCK(kernel) makes a function of
// the C kernels' signature.
#include <atomic>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))

struct HostDim {
    unsigned x;
};
static thread_local HostDim threadIdx;
static HostDim blockIdx = {0}, gridDim = {1}, blockDim = {CUDA_THREADS};
static pthread_barrier_t host_block, host_warp[CUDA_THREADS / 32 + 1];
static double host_slot[CUDA_THREADS];

static inline void __syncthreads() { pthread_barrier_wait(&host_block); }
static inline void __syncwarp() { pthread_barrier_wait(&host_warp[threadIdx.x / 32]); }
template <class T> static T __shfl_xor_sync(unsigned, T v, int lane)
{
    memcpy(&host_slot[threadIdx.x], &v, sizeof v);
    __syncwarp();
    memcpy(&v, &host_slot[threadIdx.x ^ lane], sizeof v);
    __syncwarp();
    return v;
}
static inline unsigned long long atomicCAS(unsigned long long *p, unsigned long long old,
    unsigned long long to)
{
    return __sync_val_compare_and_swap(p, old, to);
}

// What the runtime gives a C kernel; the CUDA one gets scratch and an error slot of its own.
struct HostCtx {
    char *scratch;
    long thread, threads;
    long *error;
    unsigned long seed;
};

template <class Kernel, class Ctx>
static int host_run(Kernel *kernel, const HostCtx *h, void *const *buf, const long *dim, long lo,
    long hi)
{
    long error[2] = {0, 0};
    Ctx c = {h->scratch, error, h->seed};
    unsigned n = blockDim.x, warp = n < 32 ? n : 32;
    pthread_barrier_init(&host_block, nullptr, n);
    for (unsigned i = 0; i < n / warp; i++)
        pthread_barrier_init(&host_warp[i], nullptr, warp);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; i++)
        threads.emplace_back([=, &c] {
            threadIdx.x = i;
            kernel(&c, buf, dim, lo, hi);
        });
    for (auto &t : threads)
        t.join();
    h->error[0] = error[0];
    return (int)error[1];
}
#define RUN_BLOCK(name)                                                                            \
    extern "C" int host_##name(                                                                    \
        const HostCtx *h, void *const *buf, const long *dim, long lo, long hi)                     \
    {                                                                                              \
        return host_run<decltype(name), sinter_kctx>(name, h, buf, dim, lo, hi);                   \
    }
