
SN_FN void b0(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, const void *pool)
{
    int *const sn_err = 0;
    (void)sn_err;
    (void)pool;
    for (sn_i64 at = threadIdx.x; at < rows * n; at += blockDim.x) {
        const sn_i64 row = sn_quot(at, n), i = at - row * n;
        char *const p0 = (char *)ptr[0] + row * step[0];
        char *const p1 = (char *)ptr[1] + row * step[1];
        {
            const float v1 = ((const float *)(p0))[i];
            ((float *)(p1))[i] = v1;
        }
    }
}
#define b0_pool 0
/* Gather "y" */
extern "C" __global__ void k00_gather(const sinter_kctx *c, void *const *buf, const sn_i64 *dim, sn_i64 lo, sn_i64 hi)
{
    int sn_err_v = 0, *sn_err = &sn_err_v;
    (void)sn_err;
    for (sn_i64 t = lo + blockIdx.x; t < hi; t += gridDim.x) {
        for (sn_i64 r4 = 0; r4 < dim[1]; r4++) {
            __syncthreads();
            {
                void *pp[2];
                sn_i64 ss[2];
                sn_i64 v1 = ((const sn_i64 *)(((char *)buf[0])))[r4];
                sn_u8 v2 = v1 < 0l;
                sn_i64 v3;
                if (v2) {
                    sn_i64 v4 = (sn_i64)((sn_u64)v1 + (sn_u64)20l);
                    v3 = v4;
                } else {
                    v3 = v1;
                }
                sn_i64 x0 = v3;
                bool in5 = true;
                if ((sn_u64)x0 >= (sn_u64)20) {
                    sn_fail(c, 1, x0);
                    in5 = false;
                }
                pp[0] = ((char *)buf[1]) + (4 * dim[0] * v3);
                ss[0] = 0;
                pp[1] = ((char *)buf[2]) + (4 * dim[0] * r4);
                ss[1] = 0;
                if (in5)
                    b0(pp, ss, dim[0], 1, b0_pool);
            }
        }
    }
}

