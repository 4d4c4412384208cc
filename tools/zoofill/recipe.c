/* recipe.c: see recipe.h. All arithmetic is in double and rounded once to the tensor's type; the
 * file is built with -ffp-contract=off, since a fused multiply-add would change the last bit. */
#include "recipe.h"
#include "wire.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { T_FLOAT = 1, T_UINT8 = 2, T_INT8 = 3, T_INT32 = 6, T_INT64 = 7, T_BOOL = 9, T_DOUBLE = 11 };

size_t element_size(int dtype)
{
    switch (dtype) {
    case T_UINT8:
    case T_INT8:
    case T_BOOL: return 1;
    case T_FLOAT:
    case T_INT32: return 4;
    case T_INT64:
    case T_DOUBLE: return 8;
    default: return 0;
    }
}

/* The top 24 bits of a counter hash (splitmix64), as a fraction. */
static double unit(uint64_t seed, uint64_t i)
{
    uint64_t z = (seed + i) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (double)(z >> 40) * 0x1p-24;
}

static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *d = c ? strchr(digits, c) : NULL;
    return d ? (int)(d - digits) : -1;
}

/* base64 -> bytes; returns how many. */
static size_t base64(const char *text, uint8_t *out)
{
    uint32_t acc = 0;
    int bits = 0;
    size_t n = 0;
    for (; base64_digit(*text) >= 0; text++) {
        acc = acc << 6 | (uint32_t)base64_digit(*text);
        bits += 6;
        if (bits >= 8)
            out[n++] = (uint8_t)(acc >> (bits -= 8));
    }
    return n;
}

static void unpack(Recipe *r, const char *text)
{
    uint8_t *packed = xmalloc(strlen(text));
    uLongf n = r->bytes;
    r->stored = xmalloc(r->bytes);
    if (uncompress(r->stored, &n, packed, base64(text, packed)) != Z_OK || n != r->bytes)
        die("%s: its stored bytes do not unpack to %llu bytes", r->name,
            (unsigned long long)r->bytes);
    free(packed);
}

static FillKind kind_of(const char *name, const char *word)
{
    static const struct {
        const char *word;
        FillKind kind;
    } words[] = {{"uniform", FILL_UNIFORM}, {"normal", FILL_NORMAL}, {"int", FILL_INT},
        {"const", FILL_CONST}, {"ones", FILL_CONST}, {"grid", FILL_GRID}, {"zlib", FILL_STORED}};
    for (size_t i = 0; word && i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i].word))
            return words[i].kind;
    die("%s: unknown recipe '%s'", name, word ? word : "?");
}

/* A number of a recipe; constants of masks are written true and false. */
static double number(const json_t *j)
{
    return json_is_boolean(j) ? json_is_true(j) : json_number_value(j);
}

Recipe recipe_read(const char *name, const json_t *json, int dtype, int rank, const int64_t *dim)
{
    Recipe r = {.name = name, .dtype = dtype, .rank = rank, .count = 1};
    if (rank > RECIPE_RANK || !element_size(dtype))
        die("%s: no recipe makes rank %d, type %d", name, rank, dtype);
    for (int i = 0; i < rank; i++)
        r.count *= (uint64_t)(r.dim[i] = dim[i]);
    r.bytes = r.count * element_size(dtype);
    const json_t *first = json_array_get(json, 1);
    r.kind = kind_of(name, json_string_value(json_array_get(json, 0)));
    r.a = first ? number(first) : 1; /* "ones" is a constant without its number */
    r.b = number(json_array_get(json, 2));
    r.seed = (uint64_t)crc32(0, (const Bytef *)name, (uInt)strlen(name)) << 32;
    if (r.kind == FILL_STORED)
        unpack(&r, json_string_value(first));
    return r;
}

void recipe_free(Recipe *r)
{
    free(r->stored);
    r->stored = NULL;
}

static double element(const Recipe *r, uint64_t i)
{
    switch (r->kind) {
    case FILL_UNIFORM: return r->a + (r->b - r->a) * unit(r->seed, i);
    case FILL_NORMAL: return r->a + r->b * sqrt(12.0) * (unit(r->seed, i) - 0.5);
    case FILL_INT: return r->a + floor((r->b - r->a) * unit(r->seed, i));
    case FILL_GRID: /* the last axis holds (row, column) */
        return (double)(i & 1 ? i / 2 % (uint64_t)r->dim[1] : i / 2 / (uint64_t)r->dim[1]);
    default: return r->a;
    }
}

/* Rounds v to the type and stores it as element k. */
static void store(int dtype, void *out, uint64_t k, double v)
{
    switch (dtype) {
    case T_FLOAT: ((float *)out)[k] = (float)v; break;
    case T_DOUBLE: ((double *)out)[k] = v; break;
    case T_INT64: ((int64_t *)out)[k] = (int64_t)v; break;
    case T_INT32: ((int32_t *)out)[k] = (int32_t)v; break;
    case T_INT8: ((int8_t *)out)[k] = (int8_t)v; break;
    case T_UINT8: ((uint8_t *)out)[k] = (uint8_t)v; break;
    case T_BOOL: ((uint8_t *)out)[k] = v != 0; break;
    }
}

void recipe_make(const Recipe *r, uint64_t start, uint64_t n, void *out)
{
    size_t size = element_size(r->dtype);
    if (r->kind == FILL_STORED) {
        memcpy(out, r->stored + start * size, n * size);
        return;
    }
    for (uint64_t k = 0; k < n; k++)
        store(r->dtype, out, k, element(r, start + k));
}
