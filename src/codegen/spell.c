/* spell.c: the scalar language in C. See spell.h. */
#include "codegen/spell.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* X(type, C type of a local, of memory, unsigned type to wrap in, bounds as double-exact C
 * constants) */
#define CTYPES(X)                                                                                  \
    X(DT_F32, "float", "float", "", "", "")                                                        \
    X(DT_F64, "double", "double", "", "", "")                                                      \
    X(DT_F16, "float", "sn_u16", "", "", "")                                                       \
    X(DT_BF16, "float", "sn_u16", "", "", "")                                                      \
    X(DT_BOOL, "sn_u8", "sn_u8", "(sn_u32)", "0", "1")                                             \
    X(DT_I8, "sn_i8", "sn_i8", "(sn_u32)", "-128", "127")                                          \
    X(DT_U8, "sn_u8", "sn_u8", "(sn_u32)", "0", "255")                                             \
    X(DT_I16, "sn_i16", "sn_i16", "(sn_u32)", "-32768", "32767")                                   \
    X(DT_U16, "sn_u16", "sn_u16", "(sn_u32)", "0", "65535")                                        \
    X(DT_I32, "sn_i32", "sn_i32", "(sn_u32)", "-2147483648l", "2147483647")                        \
    X(DT_U32, "sn_u32", "sn_u32", "(sn_u32)", "0", "4294967295l")                                  \
    X(DT_I64, "sn_i64", "sn_i64", "(sn_u64)", "-9223372036854775807l - 1", "9223372036854775807l") \
    X(DT_U64, "sn_u64", "sn_u64", "(sn_u64)", "", "")

typedef struct CType {
    const char *local, *memory, *wrap, *lo, *hi;
} CType;
static const CType ctypes[DT_COUNT] = {
#define X(type, local, memory, wrap, lo, hi) [type] = {local, memory, wrap, lo, hi},
    CTYPES(X)
#undef X
};

const char *spell_ctype(DType t) { return ctypes[t].local; }
const char *spell_memtype(DType t) { return ctypes[t].memory; }

static bool is_half(DType t) { return t == DT_F16 || t == DT_BF16; }

/* ---- constants ------------------------------------------------------------------------------- */

/* A finite, non-zero magnitude as a hex float: exact, and free of the locale in every compiler. */
static void hex_float(Buf *out, double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    int e = (int)(u >> 52 & 2047);
    uint64_t m = u & 0xfffffffffffffu;
    if (e == 0) { /* subnormal: shift the leading one up to the implicit place */
        e = 1;
        for (; !(m >> 52); e--)
            m <<= 1;
        m &= 0xfffffffffffffu;
    }
    int digits = 13;
    for (; digits > 0 && !(m & 15); digits--)
        m >>= 4;
    if (digits)
        buf_printf(out, "0x1.%0*llxp%d", digits, (unsigned long long)m, e - 1023);
    else
        buf_printf(out, "0x1p%d", e - 1023);
}

/* Values that the type can't hold finitely have no literal: they are spelled by their bits. */
static void float_const(Buf *out, DType t, double x)
{
    float f = (float)x;
    uint32_t u32;
    uint64_t u64;
    memcpy(&u32, &f, 4);
    memcpy(&u64, &x, 8);
    bool wide = t == DT_F64, negative = u64 >> 63;
    if ((u64 >> 52 & 2047) == 2047 || (!wide && (u32 >> 23 & 255) == 255)) {
        if (wide)
            buf_printf(out, "sn_f64(0x%llxul)", (unsigned long long)u64);
        else
            buf_printf(out, "sn_f32(0x%xu)", u32);
        return;
    }
    buf_puts(out, negative ? "(-" : "");
    double a = wide ? x : (double)f;
    if (a == 0)
        buf_puts(out, "0x0p0");
    else
        hex_float(out, negative ? -a : a);
    buf_puts(out, wide ? "" : "f");
    buf_puts(out, negative ? ")" : "");
}

/* Parenthesised where it has a sign; typed as wide as needed, so that no cast is needed around it.
 */
void spell_const(Buf *out, DType t, Scalar k)
{
    if (dtype_is_float(t))
        float_const(out, t, k.f);
    else if (t == DT_U64 || t == DT_U32)
        buf_printf(out, t == DT_U64 ? "%lluul" : "%lluu", (unsigned long long)k.u);
    else if (t == DT_I64 || t == DT_I32) {
        const char *suffix = t == DT_I64 ? "l" : "";
        if (k.i == (t == DT_I64 ? INT64_MIN : (int64_t)INT32_MIN))
            buf_printf(out, "(-%lld%s - 1)", -(long long)(k.i + 1), suffix);
        else
            buf_printf(out, k.i < 0 ? "(%lld%s)" : "%lld%s", (long long)k.i, suffix);
    } else
        buf_printf(out, "(%s)%lld", ctypes[t].local, (long long)k.i);
}

/* ---- primitives ------------------------------------------------------------------------------ */

typedef struct Spelling {
    const char *f32, *f64, *i;
} Spelling;
static const Spelling spellings[N_PRIMS] = {
#define PRIM(name, arity, types, f32, f64, i) {f32, f64, i},
#include "graph/prim.def"
#undef PRIM
};

/* float16 and bfloat16 compute as float32. */
static const char *spelling_of(Prim p, DType in)
{
    const Spelling *s = &spellings[p];
    return in == DT_F64 ? s->f64 : dtype_is_float(in) ? s->f32 : s->i;
}

bool spell_has(Prim p, DType in) { return ctypes[in].local && spelling_of(p, in)[0]; }

/* The template with $k replaced by operand k, behind `prefix`. */
static void expand(Buf *out, const char *template, const char *prefix, const char *const *arg)
{
    for (const char *c = template; *c; c++)
        if (*c == '$') {
            buf_puts(out, prefix);
            buf_puts(out, arg[*++c - '0']);
        } else
            buf_putc(out, *c);
}

/* Signed overflow is undefined in C, and narrow operands are promoted to a signed int: so sums and
 * products are taken in an unsigned type at least as wide, and cut. */
static bool wraps(Prim p)
{
    return p == P_add || p == P_sub || p == P_mul || p == P_neg || p == P_not;
}

/* Between integers C keeps the low bits (all our compilers do, and document it); from floating
 * point it is undefined what does not fit, so a helper saturates. */
static void spell_cast_to_int(Buf *out, DType in, DType to, const char *a)
{
    if (!dtype_is_float(in))
        buf_printf(out, "(%s)%s", ctypes[to].local, a);
    else if (to == DT_U64)
        buf_printf(out, "sn_sat_u64(%s)", a);
    else
        buf_printf(out, "(%s)sn_sat(%s, %s, %s)", ctypes[to].local, a, ctypes[to].lo,
            ctypes[to].hi);
}

/* To a 16-bit float in one rounding, by way of a double that is exact or says on which side of a
 * tie it is. */
static void spell_cast_to_half(Buf *out, DType in, DType to, const char *a)
{
    const char *name = to == DT_F16 ? "sn_f16" : "sn_bf16";
    if (in == to)
        buf_puts(out, a);
    else if (is_half(in) || in == DT_F32)
        buf_printf(out, "%s(%s)", name, a);
    else if (in == DT_I64 || in == DT_U64)
        buf_printf(out, "%sd(sn_sticky_%s(%s))", name, in == DT_I64 ? "i64" : "u64", a);
    else
        buf_printf(out, "%sd((double)%s)", name, a);
}

/* Unsigned types go by way of a signed one: TinyCC would call a library function for them. */
static void spell_cast_to_float(Buf *out, DType in, DType to, const char *a)
{
    if (is_half(to))
        spell_cast_to_half(out, in, to, a);
    else if (in == DT_U64)
        buf_printf(out, "sn_u64_%s(%s)", to == DT_F64 ? "f64" : "f32", a);
    else if (in == DT_U32)
        buf_printf(out, "(%s)(sn_i64)%s", ctypes[to].local, a);
    else
        buf_printf(out, "(%s)%s", ctypes[to].local, a);
}

/* Any number but 0 is true, NaN too. */
static void spell_cast(Buf *out, DType in, DType to, const char *a)
{
    if (to == DT_BOOL)
        buf_printf(out, "%s != 0", a);
    else if (dtype_is_float(to))
        spell_cast_to_float(out, in, to, a);
    else
        spell_cast_to_int(out, in, to, a);
}

/* By a helper, because C leaves x/0 and lowest/-1 undefined. */
static void spell_divide(Buf *out, Prim p, DType in, const char *const *arg)
{
    const char *kind = in == DT_I64 ? "i64" : in == DT_U64 || in == DT_U32 ? "u64" : "i32";
    buf_printf(out, "(%s)sn_%s_%s(%s, %s, sn_err)", ctypes[in].local, prim_info[p].name, kind,
        arg[0], arg[1]);
}

/* A count outside 0..width-1 gives 0; >> of a negative number is arithmetic in all our compilers.
 */
static void spell_shift(Buf *out, Prim p, DType in, const char *const *arg)
{
    const CType *t = &ctypes[in];
    buf_printf(out, "(sn_u64)%s < %d ? (%s)(%s%s %s %s) : 0", arg[1], dtype_bits(in), t->local,
        p == P_shl ? t->wrap : "", arg[0], p == P_shl ? "<<" : ">>", arg[1]);
}

/* Each case is here because C's own operator means something else, is undefined somewhere, or draws
 * a warning on unsigned operands. */
static void spell_int(Buf *out, Prim p, DType in, DType to, const char *const *arg)
{
    const CType *t = &ctypes[to];
    bool is_signed = dtype_is_signed(in);
    if (p == P_div || p == P_mod)
        spell_divide(out, p, in, arg);
    else if (p == P_shl || p == P_shr)
        spell_shift(out, p, in, arg);
    else if (p == P_not && in == DT_BOOL)
        buf_printf(out, "!%s", arg[0]);
    else if (p == P_abs && is_signed)
        buf_printf(out, "%s < 0 ? (%s)(0 - %s%s) : %s", arg[0], t->local, t->wrap, arg[0], arg[0]);
    else if (p == P_abs || p == P_sign)
        expand(out, is_signed ? spellings[p].i : p == P_abs ? "$0" : "$0 != 0", "", arg);
    else if (wraps(p)) {
        buf_printf(out, "(%s)(", t->local);
        expand(out, spellings[p].i, ctypes[in].wrap, arg);
        buf_putc(out, ')');
    } else
        expand(out, spellings[p].i, "", arg);
}

/* Results that float16 and bfloat16 hold whenever they hold the operands need no rounding. */
static bool is_exact(Prim p)
{
    switch (p) {
    case P_min:
    case P_max:
    case P_neg:
    case P_abs:
    case P_sign:
    case P_floor:
    case P_ceil:
    case P_trunc:
    case P_rint:
    case P_select: return true;
    default: return false;
    }
}

/* One operation; what the type must round to is wrapped around it. */
void spell_prim(Buf *out, Prim p, DType in, DType to, const char *const *arg)
{
    if (p == P_cast)
        spell_cast(out, in, to, arg[0]);
    else if (!dtype_is_float(in))
        spell_int(out, p, in, to, arg);
    else if (is_half(to) && !(in == to && is_exact(p))) {
        buf_puts(out, to == DT_F16 ? "sn_f16(" : "sn_bf16(");
        expand(out, spelling_of(p, in), "", arg);
        buf_putc(out, ')');
    } else
        expand(out, spelling_of(p, in), "", arg);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Indexing, never pointer arithmetic: every compiler turns it into one addressing mode. */
void spell_load(Buf *out, DType t, const char *ptr, const char *index)
{
    const char *convert = t == DT_F16 ? "sn_ld_f16(" : t == DT_BF16 ? "sn_ld_bf16(" : "";
    buf_printf(out, "%s((const %s *)(%s))[%s]%s", convert, ctypes[t].memory, ptr, index,
        convert[0] ? ")" : "");
    if (t == DT_BOOL)
        buf_puts(out, " != 0");
}

void spell_store(Buf *out, DType t, const char *ptr, const char *index, const char *value)
{
    const char *convert = t == DT_F16 ? "sn_st_f16(" : t == DT_BF16 ? "sn_st_bf16(" : "";
    buf_printf(out, "((%s *)(%s))[%s] = %s%s%s;", ctypes[t].memory, ptr, index, convert, value,
        convert[0] ? ")" : "");
}
