/* axes.c: sets of reduced axes, and reductions over them. See reduce.h. */
#include "graph/ops/reduce.h"

Axes axes_kept(Op *o, int rank, unsigned mask)
{
    Axes a = {.rank = rank, .out_rank = rank};
    for (int k = 0; k < rank; k++) {
        a.in[k] = ix_int(o->pool, mask >> k & 1);
        for (int j = 0; j < rank; j++)
            a.is[k][j] = ix_int(o->pool, j == k);
    }
    return a;
}

const Ix *axes_opaque(Op *o, const Ix *f)
{
    return ix_is_const(f) ? f : ix_of_sym(o->pool, ix_sym_fresh(o->pool, ex_ix(o->pool, f), 0));
}

static bool all_known(const Axes *a)
{
    for (int k = 0; k < a->rank; k++)
        if (!ix_is_const(a->in[k]))
            return false;
    return true;
}

/* f where the flag is 0, and `other` where it is 1. */
static const Ix *choose(Pool *p, const Ix *flag, const Ix *f, const Ix *other)
{
    return ix_add(p, f, ix_mul(p, flag, ix_sub(p, other, f)));
}

const Ix **axes_dims(Op *o, const Axes *a, const Ix *const *dim)
{
    Pool *p = o->pool;
    const Ix **out = NEW_N(o->cx, const Ix *, a->out_rank);
    for (int j = 0; j < a->out_rank; j++) {
        out[j] = ix_int(p, 0);
        for (int k = 0; k < a->rank; k++) {
            const Ix *kept = choose(p, a->in[k], dim[k], ix_int(p, 1));
            out[j] = ix_add(p, out[j], ix_mul(p, a->is[k][j], kept));
        }
        out[j] = all_known(a) ? out[j] : axes_opaque(o, out[j]);
    }
    return out;
}

void axes_at(Op *o, const Axes *a, const Ix *const *i, const Ix **at)
{
    for (int k = 0; k < a->rank; k++) {
        at[k] = ix_int(o->pool, 0);
        for (int j = 0; j < a->out_rank; j++)
            at[k] = ix_add(o->pool, at[k], ix_mul(o->pool, a->is[k][j], i[j]));
    }
}

/* How much of axis k one result covers: its extent if it is reduced, else 1. */
static const Ix *covered(Op *o, const Axes *a, const Ix *const *dim, int k)
{
    return choose(o->pool, a->in[k], ix_int(o->pool, 1), dim[k]);
}

const Ix *axes_count(Op *o, const Axes *a, const Ix *const *dim)
{
    const Ix *n = ix_int(o->pool, 1);
    for (int k = 0; k < a->rank; k++)
        n = ix_mul(o->pool, n, covered(o, a, dim, k));
    return n;
}

Fold fold_begin(Op *o, int out, DType type, const Value *x, const Axes *a)
{
    const Ix **dim = axes_dims(o, a, x->dim);
    Fold f = {.n = 0};
    f.b = out < 0 ? op_temp(o, type, a->out_rank, dim) : op_out(o, out, type, a->out_rank, dim);
    axes_at(o, a, f.b.i, f.kept);
    for (int k = 0; k < a->rank; k++) {
        f.at[k] = f.kept[k];
        if (ix_is(a->in[k], 0))
            continue;
        f.var[f.n] = op_var(o, covered(o, a, x->dim, k), "r");
        f.at[k] = ix_add(o->pool, f.at[k], ix_of_var(o->pool, f.var[f.n++]));
    }
    return f;
}

Value *fold_end(Fold *f, Red red, DType acc, const Expr *body)
{
    if (f->n == 0)
        return build_map(&f->b, ex_cast(f->b.o->pool, f->b.out->type, body));
    return build_reduce(&f->b, red, acc, f->n, f->var, body);
}

Value *fold_plain(Op *o, Red red, DType type, const Value *x, const Axes *a)
{
    Fold f = fold_begin(o, -1, type, x, a);
    return fold_end(&f, red, type, ex_cast(o->pool, type, op_load(o, x, f.at)));
}
