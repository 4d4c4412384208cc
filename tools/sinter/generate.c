/* generate.c: see generate.h.
 *
 * Element i of a tensor is a hash of (seed, name, i), so a value depends neither on the order in
 * which inputs are made nor on their sizes: growing a batch keeps the rows that were there.
 */
#include "generate.h"
#include "element.h"
#include <math.h>

/* FNV-1a: inputs of one model get streams of their own. */
static uint64_t name_hash(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* The output function of splitmix64 (Steele, Lea, Flood 2014) at counter i, as a number in [0, 1).
 */
static double uniform(uint64_t key, uint64_t i)
{
    uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return ldexp((double)((z ^ z >> 31) >> 11), -53);
}

void generate(const sinter_tensor *t, const char *name, uint64_t seed, double lo, double hi)
{
    ElementClass class = dtype_class(t->dtype);
    int64_t parts = t->count * (class == CLASS_COMPLEX ? 2 : 1);
    uint64_t key = name_hash(name) ^ seed * 0xd1342543de82ef95u;
    for (int64_t i = 0; i < parts; i++) {
        double x = lo + (hi - lo) * uniform(key, (uint64_t)i);
        if (class == CLASS_BOOL)
            x = x >= 0.5;
        else if (class == CLASS_SIGNED || class == CLASS_UNSIGNED)
            x = floor(x);
        element_set(t->dtype, t->data, i, x);
    }
}

/* Integers are often indices or masks, where 0 and 1 are the values that nearly every model takes;
 * bytes are mostly pixels. */
void default_range(sinter_dtype type, double *lo, double *hi)
{
    bool floats = dtype_class(type) == CLASS_FLOAT || dtype_class(type) == CLASS_COMPLEX;
    *lo = floats ? -1 : 0;
    *hi = floats ? 1 : type == SINTER_UINT8 ? 256 : dtype_class(type) == CLASS_BOOL ? 1 : 2;
}
