/* element.c: see element.h. One table says what an element type is; 16-bit floats are converted
 * here because the command stands on sinter.h alone. */
#include "element.h"
#include "cli.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int size;
    ElementClass class;
} types[] = {
    [SINTER_FLOAT32] = {"float32", 4, CLASS_FLOAT},
    [SINTER_UINT8] = {"uint8", 1, CLASS_UNSIGNED},
    [SINTER_INT8] = {"int8", 1, CLASS_SIGNED},
    [SINTER_UINT16] = {"uint16", 2, CLASS_UNSIGNED},
    [SINTER_INT16] = {"int16", 2, CLASS_SIGNED},
    [SINTER_INT32] = {"int32", 4, CLASS_SIGNED},
    [SINTER_INT64] = {"int64", 8, CLASS_SIGNED},
    [SINTER_STRING] = {"string", 0, CLASS_OTHER},
    [SINTER_BOOL] = {"bool", 1, CLASS_BOOL},
    [SINTER_FLOAT16] = {"float16", 2, CLASS_FLOAT},
    [SINTER_FLOAT64] = {"float64", 8, CLASS_FLOAT},
    [SINTER_UINT32] = {"uint32", 4, CLASS_UNSIGNED},
    [SINTER_UINT64] = {"uint64", 8, CLASS_UNSIGNED},
    [SINTER_COMPLEX64] = {"complex64", 8, CLASS_COMPLEX},
    [SINTER_COMPLEX128] = {"complex128", 16, CLASS_COMPLEX},
    [SINTER_BFLOAT16] = {"bfloat16", 2, CLASS_FLOAT},
};

static bool known(sinter_dtype t)
{
    return (size_t)t < sizeof types / sizeof *types && types[t].name;
}

const char *dtype_name(sinter_dtype t)
{
    return known(t) ? types[t].name : cli_printf("type %d", (int)t);
}

int dtype_size(sinter_dtype t) { return known(t) ? types[t].size : 0; }

ElementClass dtype_class(sinter_dtype t) { return known(t) ? types[t].class : CLASS_OTHER; }

/* Every float16 is exact in double: integer fraction times a power of two. */
static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x;
    if (exponent == 31)
        x = fraction ? NAN : INFINITY;
    else
        x = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return h >> 15 ? -x : x;
}

/* One rounding, from double: the unit of the last place is known from the exponent, so rint() does
 * it. */
static uint16_t half_from_double(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;
    x = fabs(x);
    if (isnan(x))
        return sign | 0x7e00;
    if (x >= 65520)
        return sign | 0x7c00;
    if (x < ldexp(1, -14))
        return (uint16_t)(sign | (uint16_t)rint(ldexp(x, 24)));
    frexp(x, &exponent); /* x = f * 2^exponent, f in [0.5, 1) */
    return (uint16_t)(sign | (((exponent + 13) << 10) + ((int)rint(ldexp(x, 11 - exponent)))));
}

/* bfloat16 is the upper half of a float32. */
static double bfloat_to_double(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* The carry of rounding runs into the exponent, which is right; a NaN must not round to infinity.
 */
static uint16_t bfloat_from_double(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if (isnan(f))
        return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* 64-bit integers lose digits here: comparisons use the exact readers below. */
double element_get(sinter_dtype t, const void *data, int64_t i)
{
    switch (t) {
    case SINTER_FLOAT32:
    case SINTER_COMPLEX64: return ((const float *)data)[i];
    case SINTER_FLOAT64:
    case SINTER_COMPLEX128: return ((const double *)data)[i];
    case SINTER_FLOAT16: return half_to_double(((const uint16_t *)data)[i]);
    case SINTER_BFLOAT16: return bfloat_to_double(((const uint16_t *)data)[i]);
    case SINTER_BOOL: return ((const uint8_t *)data)[i] != 0;
    default: break;
    }
    return dtype_class(t) == CLASS_SIGNED ? (double)element_signed(t, data, i)
                                          : (double)element_unsigned(t, data, i);
}

/* Exact for every signed type, and for unsigned ones up to 32 bits. */
int64_t element_signed(sinter_dtype t, const void *data, int64_t i)
{
    switch (t) {
    case SINTER_INT8: return ((const int8_t *)data)[i];
    case SINTER_INT16: return ((const int16_t *)data)[i];
    case SINTER_INT32: return ((const int32_t *)data)[i];
    case SINTER_INT64: return ((const int64_t *)data)[i];
    default: return (int64_t)element_unsigned(t, data, i);
    }
}

uint64_t element_unsigned(sinter_dtype t, const void *data, int64_t i)
{
    switch (t) {
    case SINTER_UINT8:
    case SINTER_BOOL: return ((const uint8_t *)data)[i];
    case SINTER_UINT16: return ((const uint16_t *)data)[i];
    case SINTER_UINT32: return ((const uint32_t *)data)[i];
    case SINTER_UINT64: return ((const uint64_t *)data)[i];
    default: return 0;
    }
}

/* Range of an integer type: signed types by their sign bit, unsigned ones from 0. */
static void int_range(sinter_dtype t, int64_t *lo, uint64_t *hi)
{
    int bits = 8 * dtype_size(t);
    bool negative = dtype_class(t) == CLASS_SIGNED;
    *hi = t == SINTER_BOOL ? 1 : UINT64_MAX >> (64 - bits + negative);
    *lo = negative ? -(int64_t)*hi - 1 : 0;
}

/* Stores the low bytes: little-endian, as all data of sinter. */
static void store_int(sinter_dtype t, void *data, int64_t i, uint64_t bits)
{
    size_t n = (size_t)dtype_size(t);
    memcpy((char *)data + n * (size_t)i, &bits, n);
}

/* Clamped: a generated or written value never wraps around. */
void element_set(sinter_dtype t, void *data, int64_t i, double x)
{
    int64_t lo;
    uint64_t hi;
    switch (t) {
    case SINTER_FLOAT32:
    case SINTER_COMPLEX64: ((float *)data)[i] = (float)x; return;
    case SINTER_FLOAT64:
    case SINTER_COMPLEX128: ((double *)data)[i] = x; return;
    case SINTER_FLOAT16: ((uint16_t *)data)[i] = half_from_double(x); return;
    case SINTER_BFLOAT16: ((uint16_t *)data)[i] = bfloat_from_double(x); return;
    case SINTER_BOOL: ((uint8_t *)data)[i] = x != 0; return;
    default: break;
    }
    int_range(t, &lo, &hi);
    if (!(x > (double)lo))
        store_int(t, data, i, (uint64_t)lo);
    else if (x >= (double)hi)
        store_int(t, data, i, hi);
    else
        store_int(t, data, i, x < 0 ? (uint64_t)(int64_t)x : (uint64_t)x);
}

/* A minus sign takes the signed reader: strtoull would wrap around silently. */
static bool parse_int(sinter_dtype t, void *data, int64_t i, const char *text)
{
    int64_t lo;
    uint64_t hi;
    char *end;
    bool minus = text[strspn(text, " ")] == '-';
    errno = 0;
    uint64_t bits = minus ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    int_range(t, &lo, &hi);
    if (end == text || *end || errno || (minus ? (int64_t)bits < lo : bits > hi))
        return false;
    store_int(t, data, i, bits);
    return true;
}

/* Numbers that a type can't have are refused, not rounded: "1.5" for an int64 is a mistake. */
bool element_parse(sinter_dtype t, void *data, int64_t i, const char *text)
{
    char *end;
    ElementClass class = dtype_class(t);
    if (class == CLASS_SIGNED || class == CLASS_UNSIGNED || class == CLASS_BOOL)
        return parse_int(t, data, i, text);
    if (class != CLASS_FLOAT)
        return false;
    double x = strtod(text, &end);
    if (end == text || *end)
        return false;
    element_set(t, data, i, x);
    return true;
}

/* Bools as words, complex numbers as a+bj. */
void element_print(sinter_dtype t, const void *data, int64_t i, int digits, char *out)
{
    switch (dtype_class(t)) {
    case CLASS_FLOAT: snprintf(out, 64, "%.*g", digits, element_get(t, data, i)); break;
    case CLASS_COMPLEX:
        snprintf(out, 64, "%.*g%+.*gj", digits, element_get(t, data, 2 * i), digits,
            element_get(t, data, 2 * i + 1));
        break;
    case CLASS_SIGNED: snprintf(out, 64, "%" PRId64, element_signed(t, data, i)); break;
    case CLASS_UNSIGNED: snprintf(out, 64, "%" PRIu64, element_unsigned(t, data, i)); break;
    case CLASS_BOOL:
        snprintf(out, 64, "%s", element_unsigned(t, data, i) ? "true" : "false");
        break;
    case CLASS_OTHER: snprintf(out, 64, "?"); break;
    }
}
