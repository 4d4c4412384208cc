/* expr.h: the scalar language of sinter: integer index forms (Ix), typed values (Expr), definitions
 * (Def).
 *
 * Ix is an exact integer expression in normal form: a polynomial  c + sum coef * atom * atom ...
 * whose atoms are iteration variables, dimension symbols, floor-div, mod, min, max, and data-chosen
 * integers. It is the language of indices, of strides, of extents and of dims alike, so a symbolic
 * shape is nothing special. All Ix are hash-consed: equal forms are the same pointer. Construction
 * simplifies; a variable carries its extent, so simplification needs no context. (Mixed-radix
 * forms: with the ranges known, nearly every div and mod that a Reshape brings cancels against the
 * multiplication that another Reshape brings.)
 *
 * Expr is a typed scalar expression: constants, an Ix as i64 value, loads of a tensor element,
 * primitives. Hash-consed too. Def says what one element of a value is; see graph.h for Value.
 */
#ifndef SINTER_EXPR_H
#define SINTER_EXPR_H
#include "base/base.h"

typedef struct Ix Ix;
typedef struct Expr Expr;
typedef struct Value Value;
typedef struct Pool Pool; /* the hash-cons tables of one compilation */

/* ---- element types --------------------------------------------------------------------------- */

/* Numbers are those of TensorProto.DataType. X(name, number, text, bits of an element) */
#define DTYPES(X)                                                                                  \
    X(DT_F32, 1, "float32", 32)                                                                    \
    X(DT_U8, 2, "uint8", 8)                                                                        \
    X(DT_I8, 3, "int8", 8)                                                                         \
    X(DT_U16, 4, "uint16", 16)                                                                     \
    X(DT_I16, 5, "int16", 16)                                                                      \
    X(DT_I32, 6, "int32", 32)                                                                      \
    X(DT_I64, 7, "int64", 64)                                                                      \
    X(DT_STRING, 8, "string", 64)                                                                  \
    X(DT_BOOL, 9, "bool", 8)                                                                       \
    X(DT_F16, 10, "float16", 16)                                                                   \
    X(DT_F64, 11, "float64", 64)                                                                   \
    X(DT_U32, 12, "uint32", 32)                                                                    \
    X(DT_U64, 13, "uint64", 64)                                                                    \
    X(DT_C64, 14, "complex64", 64)                                                                 \
    X(DT_C128, 15, "complex128", 128)                                                              \
    X(DT_BF16, 16, "bfloat16", 16)                                                                 \
    X(DT_F8E4M3FN, 17, "float8e4m3fn", 8)                                                          \
    X(DT_F8E4M3FNUZ, 18, "float8e4m3fnuz", 8)                                                      \
    X(DT_F8E5M2, 19, "float8e5m2", 8)                                                              \
    X(DT_F8E5M2FNUZ, 20, "float8e5m2fnuz", 8)                                                      \
    X(DT_U4, 21, "uint4", 4)                                                                       \
    X(DT_I4, 22, "int4", 4)                                                                        \
    X(DT_F4E2M1, 23, "float4e2m1", 4)                                                              \
    X(DT_F8E8M0, 24, "float8e8m0", 8)                                                              \
    X(DT_U2, 25, "uint2", 2)                                                                       \
    X(DT_I2, 26, "int2", 2)
typedef enum {
    DT_NONE = 0,
#define X(name, number, text, bits) name = number,
    DTYPES(X)
#undef X
        DT_COUNT = 27
} DType;
const char *dtype_text(DType t); /* "float32"; "undefined" when unknown */
int dtype_bits(DType t);
/* of one element alone */
static inline int dtype_bytes(DType t) { return (dtype_bits(t) + 7) / 8; }
bool dtype_is_float(DType t);    /* f16 bf16 f32 f64 */
bool dtype_is_int(DType t);      /* signed or unsigned, 8..64 bits */
bool dtype_is_signed(DType t);   /* signed integers */
bool dtype_computes(DType t);    /* has arithmetic in this version: floats, ints 8..64, bool */

/* One scalar, by the class of its type: f for floats, i for signed, u for unsigned and bool.
 * float16 and bfloat16 are held as the double they denote, already rounded to the type. */
typedef union Scalar {
    double f;
    int64_t i;
    uint64_t u;
} Scalar;
Scalar scalar_load(DType t, const void *p, int64_t index);
void scalar_store(DType t, void *p, int64_t index, Scalar s);
/* ONNX Cast: ints wrap, float to int truncates */
Scalar scalar_cast(DType from, DType to, Scalar s);
/* to the nearest value of float type t, ties to even */
double scalar_round(DType t, double x);
Scalar scalar_f(DType t, double x);                 /* x converted to t */
double scalar_double(DType t, Scalar s);

/* ---- index forms ----------------------------------------------------------------------------- */

typedef enum { AT_VAR, AT_SYM, AT_DIV, AT_MOD, AT_MIN, AT_MAX, AT_DATA } AtomKind;

/* An iteration variable: 0 <= var < extent. Unique; two definitions never share one. */
typedef struct Var {
    int id;
    const Ix *extent;
    const char *name; /* a hint for printing: i, j, k */
    const struct Atom *atom;
} Var;

/* An integer that is not known when compiling but fixed once the inputs are bound: a named dim of
 * the model (>= 0), or "u0", "u1"... for what depends on data: those have `source`, an i64 Expr
 * without variables. */
typedef struct Sym {
    int id;
    const char *name;
    const Expr *source;
    int64_t hint; /* the size the cost model assumes */
    const struct Atom *atom;
} Sym;

typedef struct Atom {
    AtomKind kind;
    int id;
    const Var *var;    /* AT_VAR */
    const Sym *sym;    /* AT_SYM */
    const Ix *a, *b;   /* AT_DIV, AT_MOD: a by b (floor, b > 0); AT_MIN, AT_MAX */
    /* AT_DATA: an integer value; range [lo, hi] declared, checked when it is computed */
    const Expr *data;
    int64_t lo, hi;    /* numeric range, saturated at +-IX_INF */
} Atom;
#define IX_INF ((int64_t)1 << 62)

/* coef * product of atoms, the atoms sorted by id (repeats allowed) */
typedef struct IxTerm {
    int64_t coef;
    int n;
    const Atom *const *atom;
} IxTerm;

struct Ix {
    int64_t c; /* the constant */
    int n;     /* terms, sorted */
    const IxTerm *term;
    int64_t lo, hi; /* numeric range, saturated */
    uint64_t hash;
    int id;
};

Pool *pool_new(Ctx *cx);
Ctx *pool_ctx(Pool *p);

Var *ix_var_new(Pool *p, const Ix *extent, const char *name);
Sym *ix_sym_named(Pool *p, const char *name);           /* the same Sym for the same name */
/* The same Sym for the same source; `lo` bounds it below (0 for dims, -IX_INF for arbitrary
 * integers). */
Sym *ix_sym_fresh(Pool *p, const Expr *source, int64_t lo);
int pool_n_syms(const Pool *p);
Sym *pool_sym(const Pool *p, int id);

const Ix *ix_int(Pool *p, int64_t c);
const Ix *ix_of_var(Pool *p, const Var *v);              /* 0 when the extent is 1 */
const Ix *ix_of_sym(Pool *p, const Sym *s);
const Ix *ix_data(Pool *p, const Expr *e, int64_t lo, int64_t hi);
const Ix *ix_add(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_sub(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_mul(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_addi(Pool *p, const Ix *a, int64_t c);
const Ix *ix_muli(Pool *p, const Ix *a, int64_t c);
/* floor; b is positive where it is evaluated */
const Ix *ix_div(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_mod(Pool *p, const Ix *a, const Ix *b);     /* in [0, b) */
const Ix *ix_ceil_div(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_min(Pool *p, const Ix *a, const Ix *b);
const Ix *ix_max(Pool *p, const Ix *a, const Ix *b);

static inline bool ix_is_const(const Ix *a) { return a->n == 0; }
static inline bool ix_is(const Ix *a, int64_t c) { return a->n == 0 && a->c == c; }
/* The symbol that `a` is; NULL where it is anything else. */
static inline const Sym *ix_only_sym(const Ix *a)
{
    bool one = a->c == 0 && a->n == 1 && a->term[0].coef == 1 && a->term[0].n == 1;
    return one && a->term[0].atom[0]->kind == AT_SYM ? a->term[0].atom[0]->sym : NULL;
}
/* provably >= 0 for every value of its variables and symbols */
bool ix_nonneg(Pool *p, const Ix *a);
bool ix_less(Pool *p, const Ix *a, const Ix *b); /* provably a < b */
bool ix_has_vars(const Ix *a);                   /* any AT_VAR inside, AT_DATA included */
bool ix_uses_var(const Ix *a, const Var *v);
bool ix_uses_syms(const Ix *a);
/* The coefficient of v if `a` is linear in it (not inside div, mod, data...): a = coef*v + rest,
 * else NULL. */
const Ix *ix_coef(Pool *p, const Ix *a, const Var *v, const Ix **rest);
/* value at the symbols' hints; variables count as 0 */
int64_t ix_hint(const Ix *a);

/* ---- value expressions ----------------------------------------------------------------------- */

/* Primitives: prim.def has a row each. */
typedef enum {
#define PRIM(name, arity, types, ...) P_##name,
#include "graph/prim.def"
#undef PRIM
    N_PRIMS
} Prim;
typedef struct PrimInfo {
    const char *name;
    int arity;
    char types; /* see prim.def */
} PrimInfo;
extern const PrimInfo prim_info[N_PRIMS];

typedef enum { EX_CONST, EX_IX, EX_LOAD, EX_PRIM } ExprKind;
struct Expr {
    ExprKind kind;
    DType type;
    Prim prim;            /* EX_PRIM; P_cast: from arg[0]->type to type */
    int n;                /* EX_PRIM: args; EX_LOAD: indices */
    Scalar k;             /* EX_CONST */
    const Ix *ix;         /* EX_IX, type DT_I64 */
    const Value *value;   /* EX_LOAD */
    const Expr *const *arg;
    const Ix *const *idx;
    uint64_t hash;
    int id;
};

const Expr *ex_const(Pool *p, DType t, Scalar s);
const Expr *ex_f(Pool *p, DType t, double x);   /* x converted to t */
const Expr *ex_i(Pool *p, int64_t x);           /* an i64 constant */
const Expr *ex_bool(Pool *p, bool x);
const Expr *ex_ix(Pool *p, const Ix *ix);       /* as i64 value */
const Expr *ex_load(Pool *p, const Value *v, int n, const Ix *const *idx);
/* Builds, folds constants and simplifies by the laws that hold bit for bit. Operand types must
 * agree with prim.def; `type` of the result follows from it. */
const Expr *ex_prim(Pool *p, Prim op, const Expr *a, const Expr *b, const Expr *c);
const Expr *ex_cast(Pool *p, DType to, const Expr *a);
#define ex1(p, op, a) ex_prim((p), P_##op, (a), NULL, NULL)
#define ex2(p, op, a, b) ex_prim((p), P_##op, (a), (b), NULL)
#define ex3(p, op, a, b, c) ex_prim((p), P_##op, (a), (b), (c))
const Expr *ex_select(Pool *p, const Expr *cond, const Expr *a, const Expr *b);
/* Conditions on indices; constant where provable. */
const Expr *ex_ix_less(Pool *p, const Ix *a, const Ix *b);      /* a < b */
const Expr *ex_ix_inside(Pool *p, const Ix *a, const Ix *n);    /* 0 <= a < n */
const Expr *ex_and(Pool *p, const Expr *a, const Expr *b);
/* An integer expression as an index: folded to a plain form where possible, else AT_DATA in [lo,
 * hi]. */
const Ix *ix_of_expr(Pool *p, const Expr *e, int64_t lo, int64_t hi);

/* Reductions. */
typedef enum { RED_NONE, RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_ANY, RED_ALL } Red;
Scalar prim_eval(Prim op, DType in, DType out, const Scalar *arg); /* the meaning of a primitive */
/* No loads: the value depends on variables and symbols alone. */
bool ex_depends_on_ix_only(const Expr *e);
bool ix_reads_data(const Ix *a);
bool ex_reads_data(const Expr *load); /* some index of the load is data */
bool ex_uses_var(const Expr *e, const Var *v);
bool ex_uses_syms(const Expr *e); /* any symbol */
/* what the reduction of nothing gives, in accumulator type t */
Scalar red_identity(Red red, DType t);
const Expr *ex_identity(Pool *p, int red, DType t); /* the same as a constant */

/* ---- substitution ---------------------------------------------------------------------------- */

/* Replaces variables by index forms and, if wanted, loads by expressions; memoised per Subst. */
#define SUBST_VARS 64
typedef struct Subst {
    Pool *pool;
    int n;
    struct {
        const Var *var;
        const Ix *by;
    } pair[SUBST_VARS];
    /* Called for each load with its indices already substituted; returns what stands for it. May be
     * NULL. */
    const Expr *(*load)(void *user, const Expr *load);
    void *user;
    Map memo_ix, memo_ex;
} Subst;
void subst_init(Subst *s, Pool *p);
void subst_done(Subst *s); /* optional: its memory is used again */
void subst_var(Subst *s, const Var *v, const Ix *by);
const Ix *ix_subst(Subst *s, const Ix *a);
const Expr *ex_subst(Subst *s, const Expr *e);

/* ---- definitions ----------------------------------------------------------------------------- */

extern const char *const red_name[];
Prim red_prim(Red red); /* what combines two elements */

/* out[axis...] = body                                    red == RED_NONE out[axis...] = red over
 * red_axis... of body            else; accumulated in type `acc`, then cast to out's Axis k of the
 * value has variable axis[k], whose extent is the value's dim k. A variable with extent 1 may be
 * absent from body. Zero-extent reductions give the identity (-inf or the type's lowest for
 * max...). */
typedef struct Def {
    Value *out;
    int n_axes, n_red;
    const Var **axis, **red_axis;
    Red red;
    DType acc;
    const Expr *body;
    /* whose work it does: the one that made it, and those inlined into it */
    VEC(const struct Node *) nodes;
} Def;

/* ---- text (read back by ir_text.h) ----------------------------------------------------------- */

void ix_print(Buf *b, const Ix *a);
void ex_print(Buf *b, const Expr *e);
void def_print(Buf *b, const Def *d);
void def_verify(Ctx *cx, const Def *d); /* reports broken invariants as ST_INTERNAL */

#endif
