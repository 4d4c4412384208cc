/* compare.c: see compare.h. NaN equals NaN and each infinity itself: a compiler must keep them. */
#include "compare.h"
#include "cli.h"
#include "element.h"
#include <math.h>
#include <string.h>

/* What turns into the verdict on one element. */
typedef struct Difference {
    double abs, ulp, excess; /* excess > 0: outside the tolerance */
} Difference;

/* Maps the bits of a float to integers that ascend as the floats do, so that a difference counts
 * floats between. */
static uint64_t ordered_bits(sinter_dtype t, const void *data, int64_t i)
{
    uint64_t bits = 0, sign;
    size_t size = t == SINTER_COMPLEX64 ? 4 : t == SINTER_COMPLEX128 ? 8 : (size_t)dtype_size(t);
    memcpy(&bits, (const char *)data + size * (size_t)i, size);
    sign = (uint64_t)1 << (8 * size - 1);
    return bits & sign ? sign - (bits & (sign - 1)) : sign + bits;
}

static double ulp_distance(sinter_dtype t, const void *e, const void *a, int64_t i)
{
    uint64_t x = ordered_bits(t, e, i), y = ordered_bits(t, a, i);
    return (double)(x > y ? x - y : y - x);
}

/* The distance given to NaN against a number: as many units as the type has values. */
static double most_ulp(sinter_dtype t)
{
    int size = t == SINTER_COMPLEX64 ? 4 : t == SINTER_COMPLEX128 ? 8 : dtype_size(t);
    return ldexp(1, 8 * size) - 1;
}

/* Nothing is near an infinity: a large finite number instead of it is an overflow handled wrongly.
 */
static Difference float_difference(sinter_dtype t, const void *e, const void *a, int64_t i,
    Tolerance tol)
{
    double x = element_get(t, e, i), y = element_get(t, a, i);
    if (isnan(x) && isnan(y))
        return (Difference){0, 0, 0};
    if (isnan(x) || isnan(y))
        return (Difference){INFINITY, most_ulp(t), INFINITY};
    if (x == y)
        return (Difference){0, 0, 0};
    double abs = fabs(y - x), allowed = isinf(x) ? 0 : tol.atol + tol.rtol * fabs(x);
    return (Difference){abs, ulp_distance(t, e, a, i), abs - allowed};
}

/* In 64-bit arithmetic: doubles would take two large neighbours for equal. */
static Difference int_difference(sinter_dtype t, const void *e, const void *a, int64_t i)
{
    double d;
    if (dtype_class(t) == CLASS_SIGNED) {
        int64_t x = element_signed(t, e, i), y = element_signed(t, a, i);
        d = x > y ? (double)((uint64_t)x - (uint64_t)y) : (double)((uint64_t)y - (uint64_t)x);
    } else {
        uint64_t x = element_unsigned(t, e, i), y = element_unsigned(t, a, i);
        d = (double)(x > y ? x - y : y - x);
    }
    return (Difference){d, d, d};
}

/* The scale of the default atol; one infinity must not make everything equal. */
static double largest_finite(const sinter_tensor *t, int64_t parts)
{
    double most = 0;
    for (int64_t i = 0; i < parts; i++) {
        double x = fabs(element_get(t->dtype, t->data, i));
        if (isfinite(x) && x > most)
            most = x;
    }
    return most;
}

/* What was not given depends on the type and on the size of what is expected. */
static Tolerance with_defaults(const sinter_tensor *expected, int64_t parts, Tolerance tol)
{
    bool narrow = expected->dtype == SINTER_FLOAT16 || expected->dtype == SINTER_BFLOAT16;
    if (tol.rtol < 0)
        tol.rtol = narrow ? 1e-2 : 1e-3;
    if (tol.atol < 0)
        tol.atol = (narrow ? 1e-3 : 1e-5) * largest_finite(expected, parts);
    return tol;
}

/* The reason why two tensors can't be compared element by element, or NULL. */
static const char *mismatch(const sinter_tensor *e, const sinter_tensor *a)
{
    if (e->dtype != a->dtype)
        return cli_printf("type %s, expected %s", dtype_name(a->dtype), dtype_name(e->dtype));
    if (e->rank != a->rank || memcmp(e->dim, a->dim, sizeof(int64_t) * (size_t)e->rank) != 0)
        return cli_printf("shape %s, expected %s", show_shape(a->rank, a->dim),
            show_shape(e->rank, e->dim));
    if (dtype_class(e->dtype) == CLASS_OTHER)
        return cli_printf("values of type %s can't be compared yet", dtype_name(e->dtype));
    return NULL;
}

/* The worst element is the one farthest outside its own tolerance, not the largest difference. */
static void add_difference(Comparison *c, Difference d, int64_t i, double *worst)
{
    c->max_abs = fmax(c->max_abs, d.abs);
    c->max_ulp = fmax(c->max_ulp, d.ulp);
    c->differing += d.excess > 0;
    if (d.abs > 0 && (c->worst < 0 || d.excess > *worst)) {
        c->worst = i;
        *worst = d.excess;
    }
}

Comparison compare_tensors(const sinter_tensor *expected, const sinter_tensor *actual,
    Tolerance tolerance)
{
    Comparison c = {.problem = mismatch(expected, actual), .worst = -1};
    if (c.problem)
        return c;
    ElementClass class = dtype_class(expected->dtype);
    bool floats = class == CLASS_FLOAT || class == CLASS_COMPLEX;
    int64_t parts = expected->count * (class == CLASS_COMPLEX ? 2 : 1);
    Tolerance tol = floats ? with_defaults(expected, parts, tolerance) : tolerance;
    double worst = 0;
    for (int64_t i = 0; i < parts; i++) {
        Difference d = floats
            ? float_difference(expected->dtype, expected->data, actual->data, i, tol)
            : int_difference(expected->dtype, expected->data, actual->data, i);
        add_difference(&c, d, class == CLASS_COMPLEX ? i / 2 : i, &worst);
    }
    c.same = c.differing == 0;
    return c;
}

const char *show_index(const sinter_tensor *t, int64_t i)
{
    int64_t at[SINTER_MAX_RANK] = {0};
    for (int k = t->rank - 1; k >= 0; k--) {
        at[k] = t->dim[k] ? i % t->dim[k] : 0;
        i = t->dim[k] ? i / t->dim[k] : 0;
    }
    return show_shape(t->rank, at);
}
