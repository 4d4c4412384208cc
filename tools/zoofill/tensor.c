/* tensor.c: TensorProto -> Values. Reads both encodings (raw_data and the typed fields) of every
 * type that the models of the tests put out. */
#include "tensor.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE, F32, U8, I8, U16, I16, I32, I64, STR, BOOL, F16, F64, U32, U64, BF16 = 16 };

static double half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double bfloat(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

void values_shape(Values *v, const char *where)
{
    v->count = 1;
    for (int i = 0; i < v->rank; i++)
        v->count *= (uint64_t)v->dim[i];
    switch (v->dtype) {
    case F32:
    case F16:
    case F64:
    case BF16: v->class = OF_FLOATS; break;
    case U8:
    case I8:
    case U16:
    case I16:
    case I32:
    case I64:
    case BOOL:
    case U32:
    case U64: v->class = OF_INTEGERS; break;
    case STR: v->class = OF_STRINGS; break;
    default: die("%s: outputs of type %d can't be compared", where, v->dtype);
    }
}

static size_t width(int dtype)
{
    switch (dtype) {
    case U8:
    case I8:
    case BOOL: return 1;
    case U16:
    case I16:
    case F16:
    case BF16: return 2;
    case F32:
    case I32:
    case U32: return 4;
    default: return 8;
    }
}

/* Element k from the little-endian bits of its type. */
static void set_bits(Values *v, uint64_t k, uint64_t bits)
{
    float f;
    double d;
    uint32_t low = (uint32_t)bits;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    switch (v->dtype) {
    case F32: v->floats[k] = f; break;
    case F64: v->floats[k] = d; break;
    case F16: v->floats[k] = half((uint16_t)bits); break;
    case BF16: v->floats[k] = bfloat((uint16_t)bits); break;
    case I8: v->integers[k] = (int8_t)bits; break;
    case I16: v->integers[k] = (int16_t)bits; break;
    case I32: v->integers[k] = (int32_t)bits; break;
    default: v->integers[k] = (int64_t)bits;
    }
}

static void set_raw(Values *v, Span raw, const char *where)
{
    size_t w = width(v->dtype);
    if (span_size(raw) != v->count * w)
        die("%s: %zu bytes for %llu elements", where, span_size(raw), (unsigned long long)v->count);
    for (uint64_t k = 0; k < v->count; k++) {
        uint64_t bits = 0;
        memcpy(&bits, raw.p + k * w, w);
        set_bits(v, k, bits);
    }
}

/* One typed field, packed or not; returns the elements seen so far. */
static uint64_t set_typed(Values *v, uint64_t k, const Field *f)
{
    size_t fixed = f->number == TENSOR_FLOATS ? 4 : f->number == TENSOR_DOUBLES ? 8 : 0;
    Span s = f->type == WIRE_BYTES ? f->bytes : (Span){0};
    if (f->type != WIRE_BYTES && k < v->count)
        set_bits(v, k++, f->value);
    while (s.p < s.end && k < v->count) {
        uint64_t bits = 0;
        if (!fixed) {
            bits = wire_varint(&s);
        } else {
            memcpy(&bits, s.p, MIN_SIZE(fixed, span_size(s)));
            s.p += MIN_SIZE(fixed, span_size(s));
        }
        set_bits(v, k++, bits);
    }
    return k;
}

static void read_type_and_dims(Values *v, Span t, const char *where)
{
    for (Field f; wire_next(&t, &f);) {
        if (f.number == TENSOR_TYPE)
            v->dtype = (int)f.value;
        if (f.number != TENSOR_DIMS)
            continue;
        Span packed = f.bytes;
        while (f.type == WIRE_VARINT || packed.p < packed.end) {
            if (v->rank == TENSOR_RANK)
                die("%s: rank over %d", where, TENSOR_RANK);
            v->dim[v->rank++] = (int64_t)(f.type == WIRE_VARINT ? f.value : wire_varint(&packed));
            if (f.type == WIRE_VARINT)
                break;
        }
    }
}

Values values_read(const char *where)
{
    Values v = {.message = read_file(where)};
    Span t = v.message;
    read_type_and_dims(&v, t, where);
    values_shape(&v, where);
    v.floats = v.class == OF_FLOATS ? xmalloc(v.count * sizeof(double)) : NULL;
    v.integers = v.class == OF_INTEGERS ? xmalloc(v.count * sizeof(int64_t)) : NULL;
    v.strings = v.class == OF_STRINGS ? xmalloc(v.count * sizeof(Span)) : NULL;
    uint64_t seen = 0;
    for (Field f; wire_next(&t, &f);) {
        if (f.number == TENSOR_RAW && v.class != OF_STRINGS) {
            set_raw(&v, f.bytes, where);
            seen = v.count;
        } else if (f.number == TENSOR_STRINGS && v.class == OF_STRINGS && seen < v.count) {
            v.strings[seen++] = f.bytes;
        } else if (v.class != OF_STRINGS &&
            (f.number == TENSOR_FLOATS || f.number == TENSOR_INT32S || f.number == TENSOR_INT64S ||
                f.number == TENSOR_DOUBLES || f.number == TENSOR_UINT64S)) {
            seen = set_typed(&v, seen, &f);
        }
    }
    if (seen != v.count)
        die("%s: %llu of %llu elements are there", where, (unsigned long long)seen,
            (unsigned long long)v.count);
    return v;
}

void values_free(Values *v)
{
    free(v->floats);
    free(v->integers);
    free(v->strings);
    free((void *)v->message.p);
}
