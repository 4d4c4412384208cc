/* ix.c: index forms: hash-consed integer polynomials over variables, symbols, div, mod, min, max,
 * data. The rules that make the div and mod of reshapes vanish are at ix_div and ix_mod. */
#include "graph/pool.h"

int64_t sat_add(int64_t a, int64_t b)
{
    int64_t r;
    if (a >= IX_INF || b >= IX_INF)
        return IX_INF;
    if (a <= -IX_INF || b <= -IX_INF || !add_ok(a, b, &r))
        return -IX_INF;
    return MAX(-IX_INF, MIN(IX_INF, r));
}

int64_t sat_mul(int64_t a, int64_t b)
{
    int64_t r;
    if (a == 0 || b == 0)
        return 0;
    if (!mul_ok(a, b, &r))
        return (a < 0) == (b < 0) ? IX_INF : -IX_INF;
    return MAX(-IX_INF, MIN(IX_INF, r));
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

/* ---- terms -------------------------------------------------------------------------------------
 */

/* Higher degree first, then by atom ids: a monomial order, so that long division works. */
static int term_order(const IxTerm *a, const IxTerm *b)
{
    if (a->n != b->n)
        return b->n - a->n;
    for (int i = 0; i < a->n; i++)
        if (a->atom[i] != b->atom[i])
            return a->atom[i]->id - b->atom[i]->id;
    return 0;
}

static const Atom *const *mono_mul(Pool *p, const IxTerm *a, const IxTerm *b)
{
    const Atom **m = NEW_N(p->cx, const Atom *, a->n + b->n);
    int i = 0, j = 0, n = 0;
    while (i < a->n || j < b->n) {
        bool left = j >= b->n || (i < a->n && a->atom[i]->id <= b->atom[j]->id);
        m[n++] = left ? a->atom[i++] : b->atom[j++];
    }
    return m;
}

/* t / d for monomials: true and *q when d divides t. */
static bool term_div(Pool *p, const IxTerm *t, const IxTerm *d, IxTerm *q)
{
    if (d->n > t->n || t->coef % d->coef)
        return false;
    const Atom **m = NEW_N(p->cx, const Atom *, t->n);
    int n = 0, j = 0;
    for (int i = 0; i < t->n; i++)
        if (j < d->n && t->atom[i] == d->atom[j])
            j++;
        else
            m[n++] = t->atom[i];
    if (j < d->n)
        return false;
    *q = (IxTerm){t->coef / d->coef, n, m};
    return true;
}

static void push_term(IxSum *s, IxTerm t)
{
    if (s->n == IX_MAX_TERMS || t.n > IX_MAX_DEGREE)
        ctx_fail(s->p->cx, ST_LIMIT, NULL,
            "an index expression has more than %d terms or degree %d", IX_MAX_TERMS, IX_MAX_DEGREE);
    s->term[s->n++] = t;
}

static int64_t checked(Pool *p, bool ok, int64_t r)
{
    if (!ok || r > IX_INF || r < -IX_INF)
        ctx_fail(p->cx, ST_LIMIT, NULL, "a dimension or index overflows 62 bits");
    return r;
}

void ixsum_add(IxSum *s, const Ix *a, int64_t coef)
{
    int64_t r;
    bool ok = mul_ok(a->c, coef, &r);
    ok = ok && add_ok(s->c, r, &r);
    s->c = checked(s->p, ok, r);
    for (int i = 0; i < a->n; i++) {
        IxTerm t = a->term[i];
        ok = mul_ok(t.coef, coef, &r);
        t.coef = checked(s->p, ok, r);
        push_term(s, t);
    }
}

static void sort_and_merge(IxSum *s)
{
    for (int i = 1; i < s->n; i++) { /* few terms, mostly sorted */
        IxTerm t = s->term[i];
        int j = i;
        for (; j > 0 && term_order(&s->term[j - 1], &t) > 0; j--)
            s->term[j] = s->term[j - 1];
        s->term[j] = t;
    }
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        if (n && term_order(&s->term[n - 1], &s->term[i]) == 0)
            s->term[n - 1].coef = sat_add(s->term[n - 1].coef, s->term[i].coef);
        else
            s->term[n++] = s->term[i];
        if (s->term[n - 1].coef == 0)
            n--;
    }
    s->n = n;
}

static void term_range(const IxTerm *t, int64_t *lo, int64_t *hi)
{
    *lo = *hi = t->coef;
    for (int i = 0; i < t->n; i++) {
        int64_t a = t->atom[i]->lo, b = t->atom[i]->hi;
        int64_t w = sat_mul(*lo, a), x = sat_mul(*lo, b), y = sat_mul(*hi, a), z = sat_mul(*hi, b);
        *lo = MIN(MIN(w, x), MIN(y, z));
        *hi = MAX(MAX(w, x), MAX(y, z));
    }
}

static const Ix *intern_sorted(IxSum *s)
{
    Pool *p = s->p;
    int64_t key[2 + IX_MAX_TERMS * (2 + IX_MAX_DEGREE)];
    int k = 0;
    key[k++] = s->c;
    for (int i = 0; i < s->n; i++) {
        key[k++] = s->term[i].coef;
        key[k++] = -1 - s->term[i].n;
        for (int j = 0; j < s->term[i].n; j++)
            key[k++] = s->term[i].atom[j]->id;
    }
    size_t len = (size_t)k * sizeof key[0];
    Ix *found = map_get(&p->ix, key, len);
    if (found)
        return found;
    Ix *x = NEW(p->cx, Ix);
    IxTerm *t = NEW_N(p->cx, IxTerm, s->n);
    if (s->n)
        memcpy(t, s->term, (size_t)s->n * sizeof *t);
    *x = (Ix){.c = s->c, .n = s->n, .term = t, .lo = s->c, .hi = s->c, .id = p->n_ix++};
    for (int i = 0; i < s->n; i++) {
        int64_t lo, hi;
        term_range(&t[i], &lo, &hi);
        bool open = x->lo <= -IX_INF || lo <= -IX_INF;
        x->lo = open ? -IX_INF : sat_add(x->lo, lo);
        x->hi = sat_add(x->hi, hi);
    }
    void *copy = ctx_alloc(p->cx, len);
    x->hash = hash_bytes(memcpy(copy, key, len), len, 1);
    map_put(&p->ix, copy, len, x);
    return x;
}

/* k*(L div k) + L mod k = L, times any common factor: where a term holds a mod atom, put L for it
 * and see whether that makes the whole shorter. Only worth a try when a div is there too. */
static bool recombine(IxSum *s)
{
    bool div = false;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->term[i].n; j++)
            div |= s->term[i].atom[j]->kind == AT_DIV;
    for (int i = 0; div && i < s->n; i++)
        for (int j = 0; j < s->term[i].n; j++) {
            const Atom *m = s->term[i].atom[j];
            if (m->kind != AT_MOD)
                continue;
            IxTerm atom = {1, 1, &m}, rest;
            term_div(s->p, &s->term[i], &atom, &rest);
            const Ix *factor = ix_of_term(s->p, &rest);
            const Ix *q = ix_mul(s->p, ix_div(s->p, m->a, m->b), m->b);
            IxSum t = *s;
            ixsum_add(&t, ix_of_term(s->p, &s->term[i]),
                -1); /* not ix_mul: that would come back here */
            ixsum_add(&t, ix_mul(s->p, factor, q), -1);
            ixsum_add(&t, ix_mul(s->p, factor, m->a), 1);
            sort_and_merge(&t);
            if (t.n < s->n) {
                *s = t;
                return true;
            }
        }
    return false;
}

const Ix *ix_intern(IxSum *s)
{
    sort_and_merge(s);
    while (recombine(s))
        ;
    return intern_sorted(s);
}

const Ix *ix_int(Pool *p, int64_t c)
{
    bool small = c >= 0 && c < NELEM(p->small);
    if (small && p->small[c])
        return p->small[c];
    IxSum s;
    s.p = p;
    s.c = c;
    s.n = 0;
    const Ix *x = intern_sorted(&s);
    if (small)
        p->small[c] = x;
    return x;
}

const Ix *ix_of_term(Pool *p, const IxTerm *t)
{
    IxSum s;
    s.p = p;
    s.c = t->n ? 0 : t->coef;
    s.n = 0;
    if (t->n)
        push_term(&s, *t);
    return intern_sorted(&s);
}

const Ix *ix_add(Pool *p, const Ix *a, const Ix *b)
{
    if (a->n == 0 && a->c == 0)
        return b;
    if (b->n == 0 && b->c == 0)
        return a;
    IxSum s;
    s.p = p;
    s.c = 0;
    s.n = 0;
    ixsum_add(&s, a, 1);
    ixsum_add(&s, b, 1);
    return ix_intern(&s);
}

const Ix *ix_sub(Pool *p, const Ix *a, const Ix *b)
{
    return a == b ? ix_int(p, 0) : ix_add(p, a, ix_muli(p, b, -1));
}

const Ix *ix_addi(Pool *p, const Ix *a, int64_t c) { return ix_add(p, a, ix_int(p, c)); }

const Ix *ix_muli(Pool *p, const Ix *a, int64_t c)
{
    if (c == 0 || c == 1)
        return c ? a : ix_int(p, 0);
    IxSum s;
    s.p = p;
    s.c = 0;
    s.n = 0;
    ixsum_add(&s, a, c);
    return intern_sorted(&s);
}

const Ix *ix_mul(Pool *p, const Ix *a, const Ix *b)
{
    if (a->n == 0)
        return ix_muli(p, b, a->c);
    if (b->n == 0)
        return ix_muli(p, a, b->c);
    IxSum s;
    s.p = p;
    s.c = 0;
    s.n = 0;
    ixsum_add(&s, ix_muli(p, a, b->c), 1);
    for (int j = 0; j < b->n; j++) {
        const IxTerm *u = &b->term[j];
        int64_t r;
        bool ok = mul_ok(a->c, u->coef, &r);
        if (a->c)
            push_term(&s, (IxTerm){checked(p, ok, r), u->n, u->atom});
        for (int i = 0; i < a->n; i++) {
            ok = mul_ok(a->term[i].coef, u->coef, &r);
            push_term(&s,
                (IxTerm){checked(p, ok, r), a->term[i].n + u->n, mono_mul(p, &a->term[i], u)});
        }
    }
    return ix_intern(&s);
}

/* ---- division ----------------------------------------------------------------------------------
 */

static const Atom *atom2(Pool *p, AtomKind kind, const Ix *a, const Ix *b)
{
    int64_t key[4] = {kind, a->id, b->id, 0};
    Atom *found = map_get(&p->atoms, key, sizeof key);
    if (found)
        return found;
    Atom *x = NEW(p->cx, Atom);
    *x = (Atom){.kind = kind, .id = p->n_atoms++, .a = a, .b = b};
    ix_atom_range(p, x);
    void *copy = ctx_alloc(p->cx, sizeof key);
    map_put(&p->atoms, memcpy(copy, key, sizeof key), sizeof key, x);
    return x;
}

static bool in_range(Pool *p, const Ix *r, const Ix *k)
{
    return ix_nonneg(p, r) && ix_less(p, r, k);
}

/* a = k*q + r for a constant k, the coefficients of r in [0, k), or, where that makes r small,
 * nearest 0. */
static void split_const(Pool *p, const Ix *a, int64_t k, const Ix **q, const Ix **r)
{
    for (int nearest = 0; nearest < 2; nearest++) {
        IxSum qs, rs;
        qs.p = rs.p = p;
        qs.n = rs.n = 0;
        qs.c = floor_div(a->c, k);
        rs.c = floor_mod(a->c, k);
        for (int i = 0; i < a->n; i++) {
            IxTerm t = a->term[i];
            int64_t m = floor_mod(t.coef, k);
            if (nearest && 2 * m > k)
                m -= k;
            if (m)
                push_term(&rs, (IxTerm){m, t.n, t.atom});
            if (t.coef != m)
                push_term(&qs, (IxTerm){(t.coef - m) / k, t.n, t.atom});
        }
        const Ix *rr = ix_intern(&rs);
        if (nearest == 0) {
            *q = ix_intern(&qs);
            *r = rr;
        }
        if (in_range(p, rr, ix_int(p, k))) {
            *q = ix_intern(&qs);
            *r = rr;
            return;
        }
    }
}

/* Polynomial long division by k's leading term. */
static void split_poly(Pool *p, const Ix *a, const Ix *k, const Ix **q, const Ix **r)
{
    *q = ix_int(p, 0);
    *r = a;
    for (int step = 0; step < 64; step++) {
        IxTerm t;
        bool found = false;
        for (int i = 0; i < (*r)->n && !found; i++)
            found = term_div(p, &(*r)->term[i], &k->term[0], &t);
        if (!found)
            return;
        const Ix *f = ix_of_term(p, &t);
        *q = ix_add(p, *q, f);
        *r = ix_sub(p, *r, ix_mul(p, f, k));
    }
}

static void split(Pool *p, const Ix *a, const Ix *k, const Ix **q, const Ix **r)
{
    if (k->n == 0) {
        split_const(p, a, k->c, q, r);
        return;
    }
    split_poly(p, a, k, q, r);
    if (k->n + (k->c != 0) > 1 && !ix_is(*r, 0) &&
        !in_range(p, *r, k)) { /* a partial quotient by a sum explains nothing */
        *q = ix_int(p, 0);
        *r = a;
    }
}

static int64_t gcd(int64_t a, int64_t b)
{
    a = a < 0 ? -a : a;
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* r = g*a + b with g | k, 1 < g < k, 0 <= b < g: the coarser form. Tries each coefficient's gcd
 * with k. */
static bool coarsen(Pool *p, const Ix *r, int64_t k, int64_t *g, const Ix **a, const Ix **b)
{
    for (int i = 0; i < r->n; i++) {
        *g = gcd(r->term[i].coef, k);
        if (*g <= 1 || *g >= k)
            continue;
        split_const(p, r, *g, a, b);
        if (in_range(p, *b, ix_int(p, *g)))
            return true;
    }
    return false;
}

static const Atom *only_atom(const Ix *r, AtomKind kind)
{
    bool one = r->c == 0 && r->n == 1 && r->term[0].coef == 1 && r->term[0].n == 1;
    return one && r->term[0].atom[0]->kind == kind ? r->term[0].atom[0] : NULL;
}

const Ix *ix_div(Pool *p, const Ix *a, const Ix *k)
{
    if (ix_is(k, 1) || ix_is(a, 0))
        return a;
    if (ix_is(k, 0)) /* nothing is ever divided by an empty axis: 0, as where that is known only
                        when run */
        return k;
    if (k->n == 0 && k->c < 0)
        ctx_fail(p->cx, ST_INTERNAL, NULL, "index form divided by %lld", (long long)k->c);
    if (a->n == 0 && k->n == 0)
        return ix_int(p, floor_div(a->c, k->c));
    const Ix *q, *r, *c, *rest;
    int64_t g;
    split(p, a, k, &q, &r);
    if (ix_is(r, 0) || in_range(p, r, k)) /* where k is 0 nothing is ever divided by it */
        return q;
    if (k->n == 0 && coarsen(p, r, k->c, &g, &c, &rest))
        return ix_add(p, q, ix_div(p, c, ix_int(p, k->c / g)));
    const Atom *d = only_atom(r, AT_DIV), *m = only_atom(r, AT_MOD);
    if (d)
        return ix_add(p, q, ix_div(p, d->a, ix_mul(p, d->b, k)));
    if (m && k->n == 0 && m->b->n == 0 &&
        m->b->c % k->c == 0) /* (x mod jk) div k = (x div k) mod j */
        return ix_add(p, q, ix_mod(p, ix_div(p, m->a, k), ix_int(p, m->b->c / k->c)));
    return ix_add(p, q, ix_of_atom(p, atom2(p, AT_DIV, r, k)));
}

const Ix *ix_mod(Pool *p, const Ix *a, const Ix *k)
{
    if (ix_is(k, 1) || ix_is(a, 0) || ix_is(k, 0))
        return ix_int(p, 0);
    if (a->n == 0 && k->n == 0 && k->c > 0)
        return ix_int(p, floor_mod(a->c, k->c));
    const Ix *q, *r, *c, *rest;
    int64_t g;
    split(p, a, k, &q, &r);
    if (ix_is(r, 0) || in_range(p, r, k))
        return r;
    if (k->n == 0 && coarsen(p, r, k->c, &g, &c, &rest))
        return ix_add(p, ix_muli(p, ix_mod(p, c, ix_int(p, k->c / g)), g), rest);
    const Atom *m = only_atom(r, AT_MOD);
    if (m && k->n == 0 && m->b->n == 0 && m->b->c % k->c == 0) /* (x mod jk) mod k = x mod k */
        return ix_mod(p, m->a, k);
    return ix_of_atom(p, atom2(p, AT_MOD, r, k));
}

const Ix *ix_ceil_div(Pool *p, const Ix *a, const Ix *b)
{
    return ix_div(p, ix_addi(p, ix_add(p, a, b), -1), b);
}

const Ix *ix_min(Pool *p, const Ix *a, const Ix *b)
{
    if (a == b || ix_nonneg(p, ix_sub(p, b, a)))
        return a;
    if (ix_nonneg(p, ix_sub(p, a, b)))
        return b;
    bool swap = a->id > b->id;
    return ix_of_atom(p, atom2(p, AT_MIN, swap ? b : a, swap ? a : b));
}

const Ix *ix_max(Pool *p, const Ix *a, const Ix *b)
{
    if (a == b || ix_nonneg(p, ix_sub(p, a, b)))
        return a;
    if (ix_nonneg(p, ix_sub(p, b, a)))
        return b;
    bool swap = a->id > b->id;
    return ix_of_atom(p, atom2(p, AT_MAX, swap ? b : a, swap ? a : b));
}
