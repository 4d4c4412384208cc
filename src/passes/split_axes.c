/* split_axes.c: the pass split: a reduction variable that a load sees through div and mod is split
 * at the radix, k = r*k1 + k2, so that both become plain variables. Output axes are not split: it
 * would cascade. */
#include "passes/pass.h"

typedef struct Find {
    const Var *var;
    int64_t radix;
} Find;

static void find_in_ix(Find *f, const Ix *a)
{
    for (int i = 0; i < a->n && !f->radix; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            bool plain = (t->kind == AT_DIV || t->kind == AT_MOD) && t->a->c == 0 && t->a->n == 1 &&
                t->a->term[0].coef == 1 && t->a->term[0].n == 1 &&
                t->a->term[0].atom[0] == f->var->atom;
            if (plain && ix_is_const(t->b) && f->var->extent->c % t->b->c == 0)
                f->radix = t->b->c;
            else if (t->a) {
                find_in_ix(f, t->a);
                find_in_ix(f, t->b);
            }
        }
}

static void find_in_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    for (int i = 0; i < load->n; i++)
        find_in_ix(user, load->idx[i]);
}

static void split_at(Module *m, Def *d, int k, int64_t radix)
{
    Pool *p = m->graph->pool;
    const Var **red = NEW_N(m->cx, const Var *, d->n_red + 1);
    memcpy(red, d->red_axis, (size_t)d->n_red * sizeof *red);
    const Var *old = red[k];
    for (int i = d->n_red; i > k + 1; i--)
        red[i] = red[i - 1];
    red[k] = ix_var_new(p, ix_int(p, old->extent->c / radix), old->name);
    red[k + 1] = ix_var_new(p, ix_int(p, radix), old->name);
    Subst s;
    subst_init(&s, p);
    subst_var(&s, old,
        ix_add(p, ix_muli(p, ix_of_var(p, red[k]), radix), ix_of_var(p, red[k + 1])));
    d->body = ex_subst(&s, d->body);
    d->red_axis = red;
    d->n_red++;
}

void pass_split(Module *m)
{
    for (int i = 0; i < m->defs.n; i++) {
        Def *d = m->defs.at[i];
        for (int k = 0; k < d->n_red && d->n_red < MAX_RANK; k++) {
            Find f = {d->red_axis[k], 0};
            if (ix_is_const(d->red_axis[k]->extent))
                ex_visit_loads(m->cx, d->body, find_in_load, &f);
            if (f.radix > 1 && f.radix < d->red_axis[k]->extent->c)
                split_at(m, d, k--, f.radix);
        }
    }
}
