/* dims.c: extents and indices that come from the contents of small tensors. */
#include "graph/ops/dims.h"

int list_count(Op *o, const Value *v, int max)
{
    op_need_rank(o, v, 0, 1);
    if (v->rank && !ix_is_const(v->dim[0]))
        op_unsupported(o, "the length of input %s is not known when compiling", v->name);
    int64_t n = v->rank ? v->dim[0]->c : 1;
    if (n > max)
        op_error(o, "input %s has %lld elements; at most %d make sense", v->name, (long long)n,
            max);
    return (int)n;
}

const Expr *list_elem(Op *o, const Value *v, int i) { return value_elem(o->graph, (Value *)v, i); }

const Ix *dim_of_expr(Op *o, const Expr *e)
{
    if (e->kind == EX_CONST)
        return ix_int(o->pool, MAX(-IX_INF, MIN(IX_INF, e->k.i)));
    return e->kind == EX_IX ? e->ix : ix_of_sym(o->pool, ix_sym_fresh(o->pool, e, 0));
}

const Ix *list_dim(Op *o, const Value *v, int i)
{
    const Expr *e = ex_cast(o->pool, DT_I64, list_elem(o, v, i));
    if (e->kind == EX_CONST && e->k.i < 0)
        op_error(o, "element %d of %s is %lld: no extent", i, v->name, (long long)e->k.i);
    return dim_of_expr(o, e);
}

bool list_known(Op *o, const Value *v, int n)
{
    for (int i = 0; i < n; i++)
        if (list_elem(o, v, i)->kind != EX_CONST)
            return false;
    return true;
}

const Expr *list_names_axis(Op *o, const Value *v, int i, int k, int rank)
{
    Pool *p = o->pool;
    const Expr *e = ex_cast(p, DT_I64, list_elem(o, v, i));
    const Expr *in = ex_and(p, ex2(p, le, ex_i(p, -rank), e), ex2(p, lt, e, ex_i(p, rank)));
    op_require(o, in, "an axis is out of range");
    return ex2(p, or, ex2(p, eq, e, ex_i(p, k)), ex2(p, eq, e, ex_i(p, k - rank)));
}

const Ix *ix_fixed(Op *o, const Expr *e)
{
    if (e->kind == EX_CONST)
        return ix_int(o->pool, MAX(-IX_INF, MIN(IX_INF, e->k.i)));
    return e->kind == EX_IX ? e->ix : ix_of_sym(o->pool, ix_sym_fresh(o->pool, e, -IX_INF));
}

int list_axis(Op *o, const Value *v, int i, int rank)
{
    const Ix *a = op_elem_ix(o, v, i);
    if (!ix_is_const(a))
        op_unsupported(o, "input %s must be known when compiling", v->name);
    return op_axis(o, a->c, rank);
}

const Ix *safe_div(Op *o, const Ix *a, const Ix *n)
{
    return ix_is(n, 0) ? ix_int(o->pool, 0) : ix_div(o->pool, a, n);
}

const Ix *safe_mod(Op *o, const Ix *a, const Ix *n)
{
    return ix_is(n, 0) ? ix_int(o->pool, 0) : ix_mod(o->pool, a, n);
}

static const Expr *select_range(Op *o, const Ix *i, int lo, int hi, const Ix *const *table)
{
    if (hi - lo <= 1)
        return lo < hi ? ex_ix(o->pool, table[lo]) : ex_i(o->pool, 0);
    int mid = (lo + hi) / 2;
    const Expr *first = select_range(o, i, lo, mid, table),
               *rest = select_range(o, i, mid, hi, table);
    return ex_select(o->pool, ex_ix_less(o->pool, i, ix_int(o->pool, mid)), first, rest);
}

const Expr *select_ix(Op *o, const Ix *i, int n, const Ix *const *table)
{
    return select_range(o, i, 0, n, table);
}
