
SN_FN void b0(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, const void *pool)
{
    int *const sn_err = 0;
    (void)sn_err;
    (void)pool;
    const sn_group g = sn_group_of(rows, false);
    for (sn_i64 row = g.first; row < rows; row += g.step) {
        char *const p0 = (char *)ptr[0] + row * step[0];
        char *const p1 = (char *)ptr[1] + row * step[1];
        char *const p2 = (char *)ptr[2] + row * step[2];
        char *const p3 = (char *)ptr[3] + row * step[3];
        float v2 = sn_f32(0xff800000u);
        for (sn_i64 i = g.lane; i < n; i += g.width) {
            const float v1 = ((const float *)(p0))[i];
            v2 = sn_maxf(v2, v1);
        }
        for (int d = g.warp / 2; d; d /= 2) {
            const float part = sn_swap(v2, d);
            v2 = sn_maxf(v2, part);
        }
        if (g.block) {
            float *const of_warp = (float *)sn_parts();
            __syncthreads();
            if (threadIdx.x % g.warp == 0)
                of_warp[threadIdx.x / g.warp] = v2;
            __syncthreads();
            v2 = of_warp[0];
            for (int w = 1; w < blockDim.x / g.warp; w++) {
                const float part = of_warp[w];
                v2 = sn_maxf(v2, part);
            }
        }
        float v9 = 0x0p0f;
        for (sn_i64 i = g.lane; i < n; i += g.width) {
            const float v5 = ((const float *)(p0))[i];
            const float v6 = v5 - v2;
            const float v7 = expf(v6);
            ((float *)(p1))[i] = v7;
            v9 = v9 + v7;
        }
        for (int d = g.warp / 2; d; d /= 2) {
            const float part = sn_swap(v9, d);
            v9 = v9 + part;
        }
        if (g.block) {
            float *const of_warp = (float *)sn_parts();
            __syncthreads();
            if (threadIdx.x % g.warp == 0)
                of_warp[threadIdx.x / g.warp] = v9;
            __syncthreads();
            v9 = of_warp[0];
            for (int w = 1; w < blockDim.x / g.warp; w++) {
                const float part = of_warp[w];
                v9 = v9 + part;
            }
        }
        for (sn_i64 i = g.lane; i < n; i += g.width) {
            const float v12 = ((const float *)(p2))[i];
            const float v13 = v12 / v9;
            ((float *)(p3))[i] = v13;
        }
    }
}
#define b0_pool 0
/* Softmax "y" */
extern "C" __global__ void k00_softmax(const sinter_kctx *c, void *const *buf, const sn_i64 *dim, sn_i64 lo, sn_i64 hi)
{
    int sn_err_v = 0, *sn_err = &sn_err_v;
    (void)sn_err;
    char *const scratch = c->scratch + blockIdx.x * (384 * dim[0] + 64 * ((dim[0] + 3) / 4));
    for (sn_i64 t = lo + blockIdx.x; t < hi; t += gridDim.x) {
        __syncthreads();
        {
            void *pp[4];
            sn_i64 ss[4];
            pp[0] = ((char *)buf[0]) + 0;
            ss[0] = 400;
            pp[1] = (scratch + 0) + 0;
            ss[1] = 400;
            pp[2] = (scratch + 0) + 0;
            ss[2] = 400;
            pp[3] = ((char *)buf[1]) + 0;
            ss[3] = 400;
            b0(pp, ss, 100, dim[0], b0_pool);
        }
    }
}

