/* expr.c: typed scalar expressions: hash-consing, folding, and the laws that hold bit for bit. */
#include "graph/pool.h"
#include "graph/graph.h"
#include <math.h>

/* The words that identify an expression: kind, type, prim, then constants, children by id. */
static const Expr *intern(Pool *p, const Expr *e, const int64_t *key, int n)
{
    size_t len = (size_t)n * sizeof *key;
    Expr *found = map_get(&p->exprs, key, len);
    if (found)
        return found;
    Expr *x = NEW(p->cx, Expr);
    *x = *e;
    x->id = p->n_exprs++;
    if (e->kind == EX_PRIM) {
        const Expr **arg = NEW_N(p->cx, const Expr *, e->n);
        memcpy(arg, e->arg, (size_t)e->n * sizeof *arg);
        x->arg = arg;
    } else if (e->kind == EX_LOAD && e->n) {
        const Ix **idx = NEW_N(p->cx, const Ix *, e->n);
        memcpy(idx, e->idx, (size_t)e->n * sizeof *idx);
        x->idx = idx;
    }
    void *copy = ctx_alloc(p->cx, len);
    x->hash = hash_bytes(memcpy(copy, key, len), len, 2);
    map_put(&p->exprs, copy, len, x);
    return x;
}

const Expr *ex_const(Pool *p, DType t, Scalar s)
{
    int64_t key[4] = {EX_CONST, t, s.i, 0};
    return intern(p, &(Expr){.kind = EX_CONST, .type = t, .k = s}, key, 4);
}

const Expr *ex_f(Pool *p, DType t, double x) { return ex_const(p, t, scalar_f(t, x)); }

const Expr *ex_i(Pool *p, int64_t x) { return ex_const(p, DT_I64, (Scalar){.i = x}); }

const Expr *ex_bool(Pool *p, bool x) { return ex_const(p, DT_BOOL, (Scalar){.u = x}); }

const Expr *ex_ix(Pool *p, const Ix *ix)
{
    if (ix_is_const(ix))
        return ex_i(p, ix->c);
    if (ix->c == 0 && ix->n == 1 && ix->term[0].coef == 1 && ix->term[0].n == 1) {
        const Atom *a = ix->term[0].atom[0];
        if (a->kind == AT_DATA && a->data->type == DT_I64)
            return a->data;
    }
    int64_t key[3] = {EX_IX, DT_I64, ix->id};
    return intern(p, &(Expr){.kind = EX_IX, .type = DT_I64, .ix = ix}, key, 3);
}

const Expr *ex_load(Pool *p, const Value *v, int n, const Ix *const *idx)
{
    int64_t key[3 + MAX_RANK] = {EX_LOAD, (int64_t)(intptr_t)v, n};
    for (int i = 0; i < n; i++)
        key[3 + i] = idx[i]->id;
    return intern(p, &(Expr){.kind = EX_LOAD, .type = v->type, .value = v, .n = n, .idx = idx}, key,
        3 + n);
}

Scalar red_identity(Red red, DType t)
{
    bool fl = dtype_is_float(t), sg = dtype_is_signed(t);
    int bits = dtype_bits(t);
    switch (red) {
    case RED_PROD: return scalar_f(t, 1);
    case RED_ALL: return (Scalar){.u = 1};
    case RED_MAX:
        if (fl)
            return (Scalar){.f = -INFINITY};
        return (Scalar){.i = sg ? (int64_t)((uint64_t)-1 << (bits - 1)) : 0};
    case RED_MIN:
        if (fl)
            return (Scalar){.f = INFINITY};
        return (Scalar){.u = t == DT_BOOL ? 1 : (uint64_t)-1 >> (64 - bits + sg)};
    default: return (Scalar){.u = 0};
    }
}

const Expr *ex_identity(Pool *p, int red, DType t)
{
    return ex_const(p, red == RED_ALL ? DT_BOOL : t, red_identity((Red)red, t));
}

/* ---- primitives --------------------------------------------------------------------------------
 */

static bool is_k(const Expr *e, double x)
{
    if (e->kind != EX_CONST)
        return false;
    return dtype_is_float(e->type) ? e->k.f == x && signbit(e->k.f) == signbit(x)
                                   : (double)e->k.i == x;
}

static bool is_true(const Expr *e) { return e->kind == EX_CONST && e->k.u; }

static bool is_false(const Expr *e) { return e->kind == EX_CONST && !e->k.u; }

/* An i64 expression as an exact index form: only where nothing can wrap. */
static const Ix *as_ix(Pool *p, const Expr *e)
{
    if (e->type != DT_I64)
        return NULL;
    if (e->kind == EX_IX)
        return e->ix;
    bool small = e->kind == EX_CONST && e->k.i < ((int64_t)1 << 40) && e->k.i > -((int64_t)1 << 40);
    return small ? ix_int(p, e->k.i) : NULL;
}

/* Integer arithmetic on index forms stays an index form. */
static const Expr *fold_ix(Pool *p, Prim op, const Expr *a, const Expr *b)
{
    if (!b || (a->kind != EX_IX && b->kind != EX_IX))
        return NULL;
    const Ix *x = as_ix(p, a), *y = as_ix(p, b);
    if (!x || !y)
        return NULL;
    switch (op) {
    case P_add: return ex_ix(p, ix_add(p, x, y));
    case P_sub: return ex_ix(p, ix_sub(p, x, y));
    case P_mul: return ex_ix(p, ix_mul(p, x, y));
    case P_min: return ex_ix(p, ix_min(p, x, y));
    case P_max: return ex_ix(p, ix_max(p, x, y));
    case P_div: /* truncation is floor where both are known not negative */
        return ix_nonneg(p, x) && y->lo > 0 ? ex_ix(p, ix_div(p, x, y)) : NULL;
    case P_mod: return ix_nonneg(p, x) && y->lo > 0 ? ex_ix(p, ix_mod(p, x, y)) : NULL;
    case P_lt:
        return ix_less(p, x, y)             ? ex_bool(p, true)
            : ix_nonneg(p, ix_sub(p, x, y)) ? ex_bool(p, false)
                                            : NULL;
    case P_le:
        return ix_nonneg(p, ix_sub(p, y, x)) ? ex_bool(p, true)
            : ix_less(p, y, x)               ? ex_bool(p, false)
                                             : NULL;
    case P_eq:
        return x == y                              ? ex_bool(p, true)
            : ix_less(p, x, y) || ix_less(p, y, x) ? ex_bool(p, false)
                                                   : NULL;
    default: return NULL;
    }
}

/* Laws that hold for every value, bit for bit (x+0 does not: -0+0 is 0; x*0 does not: NaN). */
static const Expr *simplify(Pool *p, Prim op, const Expr *a, const Expr *b, const Expr *c)
{
    bool ints = !dtype_is_float(a->type);
    switch (op) {
    case P_select: return is_true(a) || b == c ? b : is_false(a) ? c : NULL;
    case P_and:
        return is_false(a) || (a->type == DT_BOOL && is_true(b)) || a == b ? a
            : is_false(b) || (a->type == DT_BOOL && is_true(a))            ? b
                                                                           : NULL;
    case P_or:
        if (a->type == DT_BOOL && (is_true(a) || is_true(b)))
            return ex_bool(p, true);
        return is_false(b) || a == b ? a : is_false(a) ? b : NULL;
    case P_not: return a->kind == EX_PRIM && a->prim == P_not ? a->arg[0] : NULL;
    case P_mul: return is_k(b, 1) ? a : is_k(a, 1) ? b : NULL;
    case P_div: return is_k(b, 1) ? a : NULL;
    case P_sub: return is_k(b, 0) ? a : NULL;
    case P_add:
        return (ints && is_k(b, 0)) || is_k(b, -0.0) ? a
            : (ints && is_k(a, 0)) || is_k(a, -0.0)  ? b
                                                     : NULL;
    case P_pow: return is_k(b, 1) ? a : is_k(b, 2) ? ex2(p, mul, a, a) : NULL;
    case P_min:
    case P_max: return a == b ? a : NULL;
    case P_neg: return a->kind == EX_PRIM && a->prim == P_neg ? a->arg[0] : NULL;
    case P_eq: return ints && a == b ? ex_bool(p, true) : NULL;
    default: return NULL;
    }
}

static DType result_type(Pool *p, Prim op, const Expr *a, const Expr *b, const Expr *c)
{
    bool ok = true;
    DType t = a->type;
    switch (prim_info[op].types) {
    case 'f': ok = dtype_is_float(t); break;
    case 'i': ok = !dtype_is_float(t); break;
    case 'p': ok = dtype_is_float(t); break;
    case 's': ok = t == DT_BOOL && b->type == c->type; return ok ? b->type : DT_NONE;
    default: break;
    }
    if (b)
        ok = ok && b->type == t;
    if (!ok)
        ctx_fail(p->cx, ST_INTERNAL, NULL, "primitive %s applied to %s%s%s", prim_info[op].name,
            dtype_text(t), b ? ", " : "", b ? dtype_text(b->type) : "");
    return prim_info[op].types == 'c' || prim_info[op].types == 'p' ? DT_BOOL : t;
}

static const Expr *build(Pool *p, Prim op, DType t, const Expr *a, const Expr *b, const Expr *c)
{
    const Expr *arg[3] = {a, b, c};
    int n = prim_info[op].arity;
    bool constant = true;
    Scalar s[3];
    int64_t key[8] = {EX_PRIM, t, op};
    for (int i = 0; i < n; i++) {
        constant = constant && arg[i]->kind == EX_CONST;
        s[i] = arg[i]->k;
        key[3 + i] = arg[i]->id;
    }
    bool div0 = (op == P_div || op == P_mod) && !dtype_is_float(t) && constant && !s[1].u;
    if (constant && !div0) /* a division by zero is for the run to report */
        return ex_const(p, t, prim_eval(op, a->type, t, s));
    return intern(p, &(Expr){.kind = EX_PRIM, .type = t, .prim = op, .n = n, .arg = arg}, key,
        3 + n);
}

const Expr *ex_prim(Pool *p, Prim op, const Expr *a, const Expr *b, const Expr *c)
{
    DType t = result_type(p, op, a, b, c);
    const Expr *e = simplify(p, op, a, b, c);
    if (!e)
        e = fold_ix(p, op, a, b);
    return e ? e : build(p, op, t, a, b, c);
}

const Expr *ex_cast(Pool *p, DType to, const Expr *a)
{
    if (a->type == to)
        return a;
    /* A widening and its inverse cancel: f16 -> f32 -> f16, i32 -> i64 -> i32, bool -> any -> bool.
     */
    if (a->kind == EX_PRIM && a->prim == P_cast && a->arg[0]->type == to) {
        DType mid = a->type;
        bool ff = dtype_is_float(to) && dtype_is_float(mid) && dtype_bits(mid) > dtype_bits(to);
        bool ii = dtype_is_int(to) && dtype_is_int(mid) && dtype_bits(mid) > dtype_bits(to);
        if (ff || ii || to == DT_BOOL)
            return a->arg[0];
    }
    return build(p, P_cast, to, a, NULL, NULL);
}

const Expr *ex_select(Pool *p, const Expr *cond, const Expr *a, const Expr *b)
{
    return ex_prim(p, P_select, cond, a, b);
}

const Expr *ex_and(Pool *p, const Expr *a, const Expr *b) { return ex_prim(p, P_and, a, b, NULL); }

const Expr *ex_ix_less(Pool *p, const Ix *a, const Ix *b)
{
    if (ix_less(p, a, b))
        return ex_bool(p, true);
    if (ix_nonneg(p, ix_sub(p, a, b)))
        return ex_bool(p, false);
    return build(p, P_lt, DT_BOOL, ex_ix(p, a), ex_ix(p, b), NULL);
}

const Expr *ex_ix_inside(Pool *p, const Ix *a, const Ix *n)
{
    return ex_and(p, ex_ix_less(p, ix_int(p, -1), a), ex_ix_less(p, a, n));
}

const Ix *ix_of_expr(Pool *p, const Expr *e, int64_t lo, int64_t hi)
{
    if (e->kind == EX_CONST)
        return ix_int(p, dtype_is_float(e->type) ? (int64_t)e->k.f : e->k.i);
    if (e->kind == EX_IX)
        return e->ix;
    if (e->kind == EX_PRIM && e->prim == P_cast && e->arg[0]->kind == EX_IX &&
        dtype_is_int(e->type))
        return e->arg[0]->ix;
    return ix_data(p, ex_cast(p, DT_I64, e), lo, hi);
}

bool ix_reads_data(const Ix *a)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            if (t->kind == AT_DATA || (t->a && (ix_reads_data(t->a) || ix_reads_data(t->b))))
                return true;
        }
    return false;
}

bool ex_reads_data(const Expr *load)
{
    for (int i = 0; i < load->n; i++)
        if (ix_reads_data(load->idx[i]))
            return true;
    return false;
}

bool ex_depends_on_ix_only(const Expr *e)
{
    if (e->kind == EX_LOAD || (e->kind == EX_IX && ix_reads_data(e->ix)))
        return false;
    for (int i = 0; i < e->n; i++)
        if (!ex_depends_on_ix_only(e->arg[i]))
            return false;
    return true;
}

/* ---- substitution ------------------------------------------------------------------------------
 */

void subst_init(Subst *s, Pool *p)
{
    s->pool = p;
    s->n = 0;
    s->load = NULL;
    s->user = NULL;
    map_init(&s->memo_ix, p->cx);
    map_init(&s->memo_ex, p->cx);
}

void subst_done(Subst *s)
{
    map_done(&s->memo_ix);
    map_done(&s->memo_ex);
}

void subst_var(Subst *s, const Var *v, const Ix *by)
{
    if (s->n == SUBST_VARS)
        ctx_fail(s->pool->cx, ST_LIMIT, NULL, "more than %d variables in one definition",
            SUBST_VARS);
    s->pair[s->n].var = v;
    s->pair[s->n++].by = by;
}

static const Ix *subst_atom(Subst *s, const Atom *a)
{
    Pool *p = s->pool;
    switch (a->kind) {
    case AT_VAR:
        for (int i = 0; i < s->n; i++)
            if (s->pair[i].var == a->var)
                return s->pair[i].by;
        return ix_of_atom(p, a);
    case AT_SYM: return ix_of_atom(p, a);
    case AT_DIV: return ix_div(p, ix_subst(s, a->a), ix_subst(s, a->b));
    case AT_MOD: return ix_mod(p, ix_subst(s, a->a), ix_subst(s, a->b));
    case AT_MIN: return ix_min(p, ix_subst(s, a->a), ix_subst(s, a->b));
    case AT_MAX: return ix_max(p, ix_subst(s, a->a), ix_subst(s, a->b));
    case AT_DATA: return ix_of_expr(p, ex_subst(s, a->data), a->lo, a->hi);
    }
    return NULL;
}

const Ix *ix_subst(Subst *s, const Ix *a)
{
    if (a->n == 0)
        return a;
    const Ix *known = map_get(&s->memo_ix, &a->id, sizeof a->id);
    if (known)
        return known;
    Pool *p = s->pool;
    const Ix *sum = ix_int(p, a->c);
    for (int i = 0; i < a->n; i++) {
        const Ix *t = ix_int(p, a->term[i].coef);
        for (int j = 0; j < a->term[i].n; j++)
            t = ix_mul(p, t, subst_atom(s, a->term[i].atom[j]));
        sum = ix_add(p, sum, t);
    }
    map_put(&s->memo_ix, &a->id, sizeof a->id, (void *)sum);
    return sum;
}

static const Expr *subst_new(Subst *s, const Expr *e)
{
    Pool *p = s->pool;
    const Ix *idx[MAX_RANK];
    const Expr *a[3] = {NULL, NULL, NULL};
    switch (e->kind) {
    case EX_CONST: return e;
    case EX_IX: return ex_ix(p, ix_subst(s, e->ix));
    case EX_LOAD:
        for (int i = 0; i < e->n; i++)
            idx[i] = ix_subst(s, e->idx[i]);
        e = ex_load(p, e->value, e->n, idx);
        return s->load ? s->load(s->user, e) : e;
    case EX_PRIM:
        if (e->prim == P_select) { /* a branch that is provably not taken is not even looked at */
            a[0] = ex_subst(s, e->arg[0]);
            if (a[0]->kind == EX_CONST)
                return ex_subst(s, e->arg[a[0]->k.u ? 1 : 2]);
        }
        for (int i = e->prim == P_select; i < e->n; i++)
            a[i] = ex_subst(s, e->arg[i]);
        return e->prim == P_cast ? ex_cast(p, e->type, a[0])
                                 : ex_prim(p, e->prim, a[0], a[1], a[2]);
    }
    return e;
}

const Expr *ex_subst(Subst *s, const Expr *e)
{
    if (e->kind == EX_CONST)
        return e;
    const Expr *known = map_get(&s->memo_ex, &e->id, sizeof e->id);
    if (!known) {
        known = subst_new(s, e);
        map_put(&s->memo_ex, &e->id, sizeof e->id, (void *)known);
    }
    return known;
}
