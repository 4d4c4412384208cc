/* dtype.c: element types, and single scalars of them.
 *
 * The 16-bit floats are converted here in integer arithmetic, to the nearest value with ties to
 * even, straight from double: one rounding, whatever the machine's rounding mode and whatever the
 * compiler knows of halves.
 */
#include "graph/expr.h"
#include <math.h>

static const struct {
    const char *text;
    int bits;
} info[DT_COUNT] = {
#define X(name, number, text, bits) [name] = {text, bits},
    DTYPES(X)
#undef X
};

static bool known(DType t) { return (unsigned)t < DT_COUNT && info[t].text; }

const char *dtype_text(DType t) { return known(t) ? info[t].text : "undefined"; }

int dtype_bits(DType t) { return known(t) ? info[t].bits : 0; }

bool dtype_is_float(DType t) { return t == DT_F32 || t == DT_F64 || t == DT_F16 || t == DT_BF16; }

bool dtype_is_signed(DType t) { return t == DT_I8 || t == DT_I16 || t == DT_I32 || t == DT_I64; }

bool dtype_is_int(DType t)
{
    return dtype_is_signed(t) || t == DT_U8 || t == DT_U16 || t == DT_U32 || t == DT_U64;
}

bool dtype_computes(DType t) { return dtype_is_float(t) || dtype_is_int(t) || t == DT_BOOL; }

/* ---- rounding -------------------------------------------------------------------------------- */

/* A binary float format: bits of precision (the hidden one included), exponents of the normal
 * numbers. */
typedef struct Format {
    int precision, exp_min, exp_max;
} Format;
static const Format half = {11, -14, 15}, brain = {8, -126, 127};

/* m * 2^-shift to the nearest integer, ties to even; m < 2^63. */
static uint64_t shift_right_even(uint64_t m, int shift)
{
    if (shift <= 0)
        return m;
    if (shift > 62)
        return 0;
    uint64_t half_way = (uint64_t)1 << (shift - 1), rest = m & (2 * half_way - 1), q = m >> shift;
    return q + (rest > half_way || (rest == half_way && (q & 1)));
}

static double round_to(const Format *f, double x)
{
    if (x == 0 || isnan(x) || isinf(x))
        return x;
    int e;
    double fraction = frexp(fabs(x), &e);                     /* in [0.5, 1): x = fraction * 2^e */
    int lowest = MAX(e - 1, f->exp_min) - (f->precision - 1); /* exponent of the last bit kept */
    uint64_t m = shift_right_even((uint64_t)ldexp(fraction, 53), lowest - (e - 53));
    /* Formats are narrower than double, so a shift is always to the right. */
    double y = ldexp((double)m, lowest);
    double most = ldexp(2 - ldexp(1, 1 - f->precision), f->exp_max);
    return copysign(y > most ? INFINITY : y, x);
}

double scalar_round(DType t, double x)
{
    switch (t) {
    case DT_F32: return (float)x;
    case DT_F16: return round_to(&half, x);
    case DT_BF16: return round_to(&brain, x);
    default: return x;
    }
}

/* ---- the 16-bit encodings -------------------------------------------------------------------- */

static double half_decode(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double x = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h >> 15 ? -x : x;
}

/* x is already a value of the type. */
static uint16_t half_encode(double x)
{
    uint16_t sign = (uint16_t)(signbit(x) ? 0x8000 : 0);
    if (isnan(x))
        return sign | 0x7e00;
    if (isinf(x))
        return sign | 0x7c00;
    if (x == 0)
        return sign;
    int e;
    double fraction = frexp(fabs(x), &e);
    if (e - 1 < half.exp_min) /* subnormal: counted in units of 2^-24 */
        return (uint16_t)(sign | (int)ldexp(fabs(x), 24));
    return (uint16_t)(sign | (e - 1 + 15) << 10 | ((int)ldexp(fraction, 11) & 1023));
}

static double brain_decode(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

static uint16_t brain_encode(double x)
{
    float y = (float)x; /* exact: the value is one of bfloat16's */
    uint32_t bits;
    memcpy(&bits, &y, 4);
    return (uint16_t)(bits >> 16 | (isnan(x) ? 0x40 : 0));
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* Element `index` of a sub-byte type: low bits of a byte first. */
static unsigned packed_get(const uint8_t *p, int64_t index, int bits)
{
    int64_t bit = index * bits;
    return p[bit >> 3] >> (bit & 7) & ((1u << bits) - 1);
}

static void packed_set(uint8_t *p, int64_t index, int bits, unsigned v)
{
    int64_t bit = index * bits;
    unsigned mask = ((1u << bits) - 1) << (bit & 7);
    p[bit >> 3] = (uint8_t)((p[bit >> 3] & ~mask) | (v << (bit & 7) & mask));
}

/* memcpy, because data that lie in a mapped file may stand at any address. */
#define LOAD(T, field)                                                     \
    {                                                                      \
        T x;                                                               \
        memcpy(&x, (const char *)p + index * (int64_t)sizeof x, sizeof x); \
        s.field = x;                                                       \
        return s;                                                          \
    }
#define STORE(T, value)                                              \
    {                                                                \
        T x = (T)(value);                                            \
        memcpy((char *)p + index * (int64_t)sizeof x, &x, sizeof x); \
        return;                                                      \
    }

Scalar scalar_load(DType t, const void *p, int64_t index)
{
    Scalar s = {.u = 0};
    uint16_t bits;
    switch (t) {
    case DT_F32: LOAD(float, f)
    case DT_F64: LOAD(double, f)
    case DT_I8: LOAD(int8_t, i)
    case DT_I16: LOAD(int16_t, i)
    case DT_I32: LOAD(int32_t, i)
    case DT_I64: LOAD(int64_t, i)
    case DT_U8: LOAD(uint8_t, u)
    case DT_U16: LOAD(uint16_t, u)
    case DT_U32: LOAD(uint32_t, u)
    case DT_U64: LOAD(uint64_t, u)
    case DT_F16:
    case DT_BF16:
        memcpy(&bits, (const char *)p + 2 * index, 2);
        s.f = t == DT_F16 ? half_decode(bits) : brain_decode(bits);
        return s;
    case DT_BOOL: s.u = ((const uint8_t *)p)[index] != 0; return s;
    case DT_U4:
    case DT_U2: s.u = packed_get(p, index, dtype_bits(t)); return s;
    case DT_I4:
    case DT_I2: {
        int sign = 1 << (dtype_bits(t) - 1);
        s.i = ((int)packed_get(p, index, dtype_bits(t)) ^ sign) - sign;
        return s;
    }
    default: /* no scalar of this version: strings, complex, 8-bit and 4-bit floats */ return s;
    }
}

void scalar_store(DType t, void *p, int64_t index, Scalar s)
{
    uint16_t bits;
    switch (t) {
    case DT_F32: STORE(float, s.f)
    case DT_F64: STORE(double, s.f)
    case DT_I8: STORE(int8_t, s.i)
    case DT_I16: STORE(int16_t, s.i)
    case DT_I32: STORE(int32_t, s.i)
    case DT_I64: STORE(int64_t, s.i)
    case DT_U8: STORE(uint8_t, s.u)
    case DT_U16: STORE(uint16_t, s.u)
    case DT_U32: STORE(uint32_t, s.u)
    case DT_U64: STORE(uint64_t, s.u)
    case DT_BOOL: STORE(uint8_t, s.u != 0)
    case DT_F16:
    case DT_BF16:
        bits = t == DT_F16 ? half_encode(s.f) : brain_encode(s.f);
        memcpy((char *)p + 2 * index, &bits, 2);
        return;
    case DT_U4:
    case DT_U2:
    case DT_I4:
    case DT_I2: packed_set(p, index, dtype_bits(t), (unsigned)s.u); return;
    default: return;
    }
}

/* ---- conversions ----------------------------------------------------------------------------- */

/* An integer of 64 bits as a double that rounds to a narrower format as the integer itself would:
 * what does not fit in 53 bits is kept as a sticky last bit. */
static double sticky_double(uint64_t magnitude, bool negative)
{
    double x = magnitude >> 53 ? ldexp((double)(magnitude >> 12 | ((magnitude & 4095) != 0)), 12)
                               : (double)magnitude;
    return negative ? -x : x;
}

static double int_to_float(DType from, DType to, Scalar s)
{
    bool negative = dtype_is_signed(from) && s.i < 0;
    if (to == DT_F64)
        return dtype_is_signed(from) ? (double)s.i : (double)s.u;
    return scalar_round(to, sticky_double(negative ? 0 - s.u : s.u, negative));
}

/* Truncates; what does not fit takes the nearest end of the type's range, NaN becomes 0. */
static Scalar float_to_int(DType to, double x)
{
    int bits = dtype_bits(to) - dtype_is_signed(to);
    double end = ldexp(1, bits); /* the first value past the range */
    Scalar s = {.u = 0};
    if (isnan(x))
        return s;
    if (dtype_is_signed(to))
        s.i = x >= end  ? (int64_t)(((uint64_t)1 << bits) - 1)
            : x <= -end ? -(int64_t)(((uint64_t)1 << bits) - 1) - 1
                        : (int64_t)x;
    else
        s.u = x >= end ? (bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1)
            : x <= 0   ? 0
                       : (uint64_t)x;
    return s;
}

/* An integer brought into the range of an integer type, modulo 2^bits. */
static Scalar wrap(DType to, Scalar s)
{
    int spare = 64 - dtype_bits(to);
    if (spare <= 0 || !dtype_is_int(to))
        return s;
    if (dtype_is_signed(to))
        s.i = (int64_t)(s.u << spare) >> spare;
    else
        s.u = s.u << spare >> spare;
    return s;
}

Scalar scalar_cast(DType from, DType to, Scalar s)
{
    bool is_float = dtype_is_float(from);
    if (to == DT_BOOL)
        return (Scalar){.u = is_float ? s.f != 0 : s.u != 0};
    if (dtype_is_float(to))
        return (Scalar){.f = is_float ? scalar_round(to, s.f) : int_to_float(from, to, s)};
    return is_float ? float_to_int(to, s.f) : wrap(to, s);
}

Scalar scalar_f(DType t, double x) { return scalar_cast(DT_F64, t, (Scalar){.f = x}); }

double scalar_double(DType t, Scalar s)
{
    return dtype_is_float(t) ? s.f : dtype_is_signed(t) ? (double)s.i : (double)s.u;
}
