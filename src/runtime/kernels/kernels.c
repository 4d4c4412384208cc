/* kernels.c: which sets of kernels this CPU can run. The only source of this folder that is
 * compiled once. */
#include "runtime/kernels/kernels.h"
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
extern const Kernels kernels_sse2, kernels_avx2, kernels_avx512;
static const Kernels *const all[] = {&kernels_avx512, &kernels_avx2, &kernels_sse2};
static const char *const names[] = {"avx512", "avx2", "sse2", NULL};

/* Conversions of 16-bit floats, which bodies of the set avx2 use. __builtin_cpu_supports of some
 * compilers does not know the name. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

/* The position in `all` of the best set. The compiler's run-time library asks CPUID for the
 * instructions and XGETBV for whether the operating system saves the registers; both must agree.
 * The order makes each set imply those after it. */
static int best(void)
{
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
    return avx2 && avx512 ? 0 : avx2 ? 1 : 2;
}
#else
extern const Kernels kernels_portable;
static const Kernels *const all[] = {&kernels_portable};
static const char *const names[] = {"portable", NULL};
static int best(void) { return 0; }
#endif

const Kernels *kernels_for(const char *isa)
{
    int i = best();
    if (!isa)
        return all[i];
    for (; names[i]; i++)
        if (!strcmp(names[i], isa))
            return all[i];
    return NULL;
}

const char *const *kernels_available(void) { return names + best(); }
