/* ix_atoms.c: variables, symbols, data atoms; ranges and proofs about index forms. */
#include "graph/pool.h"

Pool *pool_new(Ctx *cx)
{
    Pool *p = NEW(cx, Pool);
    p->cx = cx;
    map_init(&p->ix, cx);
    map_init(&p->atoms, cx);
    map_init(&p->exprs, cx);
    map_init(&p->sym_names, cx);
    return p;
}

Ctx *pool_ctx(Pool *p) { return p->cx; }

int pool_n_syms(const Pool *p) { return p->syms.n; }

Sym *pool_sym(const Pool *p, int id) { return p->syms.at[id]; }

Var *ix_var_new(Pool *p, const Ix *extent, const char *name)
{
    Var *v = NEW(p->cx, Var);
    Atom *a = NEW(p->cx, Atom);
    *v = (Var){p->n_vars++, extent, name, a};
    *a =
        (Atom){.kind = AT_VAR, .id = p->n_atoms++, .var = v, .hi = MAX(0, sat_add(extent->hi, -1))};
    return v;
}

/* What a dim of unknown size is taken for when choices are priced. */
enum { SYM_HINT = 32 };

static Sym *sym_new(Pool *p, const char *name, const Expr *source, int64_t lo)
{
    Sym *s = NEW(p->cx, Sym);
    Atom *a = NEW(p->cx, Atom);
    *s = (Sym){p->syms.n, name, source, SYM_HINT, a};
    *a = (Atom){.kind = AT_SYM, .id = p->n_atoms++, .sym = s, .lo = lo, .hi = (int64_t)1 << 40};
    VEC_PUSH(p->cx, &p->syms, s);
    return s;
}

Sym *ix_sym_named(Pool *p, const char *name)
{
    Sym *s = map_get_str(&p->sym_names, name);
    if (!s) {
        s = sym_new(p, ctx_strdup(p->cx, name), NULL, 0);
        map_put_str(&p->sym_names, s->name, s);
    }
    return s;
}

Sym *ix_sym_fresh(Pool *p, const Expr *source, int64_t lo)
{
    for (int i = 0; i < p->syms.n; i++)
        if (source && p->syms.at[i]->source == source && p->syms.at[i]->atom->lo == lo)
            return p->syms.at[i];
    char *name;
    int u = p->syms.n;
    do
        name = ctx_printf(p->cx, "u%d", u++);
    while (map_get_str(&p->sym_names, name));
    Sym *s = sym_new(p, name, source, lo);
    map_put_str(&p->sym_names, s->name, s);
    return s;
}

const Ix *ix_of_atom(Pool *p, const Atom *a)
{
    const Atom **m = NEW_N(p->cx, const Atom *, 1);
    m[0] = a;
    return ix_of_term(p, &(IxTerm){1, 1, m});
}

const Ix *ix_of_var(Pool *p, const Var *v)
{
    return ix_is(v->extent, 1) ? ix_int(p, 0) : ix_of_atom(p, v->atom);
}

const Ix *ix_of_sym(Pool *p, const Sym *s) { return ix_of_atom(p, s->atom); }

const Ix *ix_data(Pool *p, const Expr *e, int64_t lo, int64_t hi)
{
    int64_t key[4] = {AT_DATA, e->id, lo, hi};
    Atom *a = map_get(&p->atoms, key, sizeof key);
    if (!a) {
        a = NEW(p->cx, Atom);
        *a = (Atom){.kind = AT_DATA, .id = p->n_atoms++, .data = e, .lo = lo, .hi = hi};
        void *copy = ctx_alloc(p->cx, sizeof key);
        map_put(&p->atoms, memcpy(copy, key, sizeof key), sizeof key, a);
    }
    return ix_of_atom(p, a);
}

/* The numeric range of a div, mod, min or max atom from those of its parts. */
void ix_atom_range(Pool *p, Atom *x)
{
    (void)p;
    const Ix *a = x->a, *b = x->b;
    int64_t k = MAX(1, b->lo);
    switch (x->kind) {
    case AT_DIV:
        x->lo = a->lo <= -IX_INF ? -IX_INF
            : a->lo >= 0         ? a->lo / MAX(1, b->hi)
                                 : floor_div(a->lo, k);
        x->hi = a->hi >= IX_INF ? IX_INF : a->hi >= 0 ? a->hi / k : -1;
        break;
    case AT_MOD:
        x->lo = 0;
        x->hi = MAX(0, sat_add(b->hi, -1));
        if (a->lo >= 0)
            x->hi = MIN(x->hi, a->hi);
        break;
    case AT_MIN:
        x->lo = MIN(a->lo, b->lo);
        x->hi = MIN(a->hi, b->hi);
        break;
    default:
        x->lo = MAX(a->lo, b->lo);
        x->hi = MAX(a->hi, b->hi);
        break;
    }
}

/* ---- proofs ------------------------------------------------------------------------------------
 */

/* a = coef * atom + rest, false when the atom occurs to a higher power or inside coef. */
static bool isolate(Pool *p, const Ix *a, const Atom *atom, const Ix **coef, const Ix **rest)
{
    IxSum cs, rs;
    cs.p = rs.p = p;
    cs.n = rs.n = 0;
    cs.c = 0;
    rs.c = a->c;
    for (int i = 0; i < a->n; i++) {
        const IxTerm *t = &a->term[i];
        int times = 0, n = 0;
        const Atom **others = NEW_N(p->cx, const Atom *, t->n);
        for (int j = 0; j < t->n; j++)
            if (t->atom[j] == atom)
                times++;
            else
                others[n++] = t->atom[j];
        if (times > 1)
            return false;
        IxSum *to = times ? &cs : &rs;
        if (times && n == 0)
            cs.c += t->coef;
        else
            to->term[to->n++] = (IxTerm){t->coef, n, others};
    }
    *coef = ix_intern(&cs);
    *rest = ix_intern(&rs);
    return true;
}

static bool nonneg(Pool *p, const Ix *a, int depth);

/* A numeric bound that proofs can multiply without overflow; what saturated on the way here tells
 * nothing. */
static const Ix *known_bound(Pool *p, int64_t x)
{
    const int64_t most = (int64_t)1 << 31;
    return x >= -most && x <= most ? ix_int(p, x) : NULL;
}

/* The largest (or smallest) form that `atom` is known to have, other than itself; NULL if none. For
 * min and max both parts bound it; `which` picks one. */
static const Ix *atom_bound(Pool *p, const Atom *atom, bool upper, int which)
{
    switch (atom->kind) {
    case AT_VAR: return which ? NULL : upper ? ix_addi(p, atom->var->extent, -1) : ix_int(p, 0);
    case AT_MOD: return which ? NULL : upper ? ix_addi(p, atom->b, -1) : ix_int(p, 0);
    case AT_MIN: return upper ? (which ? atom->b : atom->a) : NULL;
    case AT_MAX: return upper ? NULL : (which ? atom->b : atom->a);
    case AT_DIV: return which ? NULL : known_bound(p, upper ? atom->hi : atom->lo);
    case AT_SYM:
    case AT_DATA:
        if (which)
            return NULL;
        if (upper)
            return atom->kind == AT_DATA ? known_bound(p, atom->hi) : NULL;
        return known_bound(p, atom->lo);
    }
    return NULL;
}

/* a >= 0 after replacing one atom by its bound; the polynomial is linear in it, so the bound is at
 * an end. */
static bool nonneg_without(Pool *p, const Ix *a, const Atom *atom, int depth)
{
    const Ix *coef, *rest;
    if (!isolate(p, a, atom, &coef, &rest))
        return false;
    bool upper;
    if (nonneg(p, coef, depth - 1))
        upper = false;
    else if (nonneg(p, ix_muli(p, coef, -1), depth - 1))
        upper = true;
    else
        return false;
    for (int which = 0; which < 2; which++) {
        const Ix *b = atom_bound(p, atom, upper, which);
        if (b && nonneg(p, ix_add(p, ix_mul(p, coef, b), rest), depth - 1))
            return true;
    }
    if (atom->kind == (upper ? AT_MAX : AT_MIN)) /* it is one of them */
        return nonneg(p, ix_add(p, ix_mul(p, coef, atom->a), rest), depth - 1) &&
            nonneg(p, ix_add(p, ix_mul(p, coef, atom->b), rest), depth - 1);
    /* k*(x div k) is in [x-k+1, x]: tiles of a symbolic extent end at it. */
    int64_t k = atom->kind == AT_DIV && ix_is_const(atom->b) ? atom->b->c : 0;
    if (k <= 0 || !ix_is_const(coef) || coef->c % k)
        return false;
    const Ix *b = upper ? atom->a : ix_addi(p, atom->a, 1 - k);
    return nonneg(p, ix_add(p, ix_muli(p, b, coef->c / k), rest), depth - 1);
}

/* Eliminates atoms from the innermost (youngest) outwards: bounds mention only older atoms. Symbols
 * stay to the end, where every coefficient must be >= 0. */
static bool nonneg(Pool *p, const Ix *a, int depth)
{
    if (a->lo >= 0)
        return true;
    if (a->hi < 0 || a->n == 0 || depth <= 0)
        return false;
    bool numeric = true; /* constants all over: the range said all that there is to say... */
    const Atom *youngest = NULL;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            numeric = numeric && t->kind == AT_VAR && t->var->extent->n == 0;
            if (!youngest || t->id > youngest->id)
                youngest = t;
        }
    if (numeric)
        return false; /* ...for variables with constant extents */
    for (int tries = 0; youngest && tries < 4; tries++) {
        if (nonneg_without(p, a, youngest, depth))
            return true;
        const Atom *next = NULL;
        for (int i = 0; i < a->n; i++)
            for (int j = 0; j < a->term[i].n; j++) {
                const Atom *t = a->term[i].atom[j];
                if (t->id < youngest->id && (!next || t->id > next->id))
                    next = t;
            }
        youngest = next;
    }
    return false;
}

bool ix_nonneg(Pool *p, const Ix *a) { return nonneg(p, a, 8); }

bool ix_less(Pool *p, const Ix *a, const Ix *b)
{
    if (a->hi < b->lo)
        return true;
    return ix_nonneg(p, ix_addi(p, ix_sub(p, b, a), -1));
}

static bool atom_has(const Atom *a, const Var *v);

static bool ex_has(const Expr *e, const Var *v)
{
    bool has = e->kind == EX_IX && (v ? ix_uses_var(e->ix, v) : ix_has_vars(e->ix));
    for (int i = 0; i < e->n && !has; i++)
        has = e->kind == EX_LOAD ? (v ? ix_uses_var(e->idx[i], v) : ix_has_vars(e->idx[i]))
                                 : ex_has(e->arg[i], v);
    return has;
}

bool ex_uses_var(const Expr *e, const Var *v) { return ex_has(e, v); }

/* Does the form hold variable v (any variable when NULL)? */
static bool ix_has(const Ix *a, const Var *v)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++)
            if (atom_has(a->term[i].atom[j], v))
                return true;
    return false;
}

static bool atom_has(const Atom *a, const Var *v)
{
    switch (a->kind) {
    case AT_VAR: return !v || a->var == v;
    case AT_SYM: return false;
    case AT_DATA: return ex_has(a->data, v);
    default: return ix_has(a->a, v) || ix_has(a->b, v);
    }
}

bool ix_has_vars(const Ix *a) { return ix_has(a, NULL); }

bool ix_uses_var(const Ix *a, const Var *v) { return ix_has(a, v); }

bool ex_uses_syms(const Expr *e)
{
    bool has = e->kind == EX_IX && ix_uses_syms(e->ix);
    for (int i = 0; i < e->n && !has; i++)
        has = e->kind == EX_LOAD ? ix_uses_syms(e->idx[i]) : ex_uses_syms(e->arg[i]);
    return has;
}

bool ix_uses_syms(const Ix *a)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            bool parts = t->a && (ix_uses_syms(t->a) || ix_uses_syms(t->b));
            if (t->kind == AT_SYM || parts || (t->kind == AT_DATA && ex_uses_syms(t->data)))
                return true;
        }
    return false;
}

const Ix *ix_coef(Pool *p, const Ix *a, const Var *v, const Ix **rest)
{
    const Ix *coef, *r;
    if (!isolate(p, a, v->atom, &coef, &r) || ix_has(r, v) || ix_has(coef, v))
        return NULL;
    *rest = r;
    return coef;
}

static int64_t atom_hint(const Atom *a)
{
    switch (a->kind) {
    case AT_VAR:
    case AT_DATA: return 0;
    case AT_SYM: return a->sym->hint;
    case AT_MIN: return MIN(ix_hint(a->a), ix_hint(a->b));
    case AT_MAX: return MAX(ix_hint(a->a), ix_hint(a->b));
    default: {
        int64_t x = ix_hint(a->a), k = MAX(1, ix_hint(a->b));
        return a->kind == AT_DIV ? floor_div(x, k) : floor_mod(x, k);
    }
    }
}

int64_t ix_hint(const Ix *a)
{
    int64_t sum = a->c;
    for (int i = 0; i < a->n; i++) {
        int64_t t = a->term[i].coef;
        for (int j = 0; j < a->term[i].n; j++)
            t = sat_mul(t, atom_hint(a->term[i].atom[j]));
        sum = sat_add(sum, t);
    }
    return sum;
}
