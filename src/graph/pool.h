/* pool.h: what the files that build index forms and expressions share. */
#ifndef SINTER_POOL_H
#define SINTER_POOL_H
#include "graph/expr.h"

struct Pool {
    Ctx *cx;
    Map ix, atoms, exprs; /* hash-cons tables; keys are the words that identify the object */
    Map sym_names;
    int n_ix, n_atoms, n_exprs, n_vars;
    VEC(Sym *) syms;
    const Ix *small[65]; /* constants 0..64 */
};

/* A polynomial under construction; terms in any order, like terms not yet merged. */
enum { IX_MAX_TERMS = 256, IX_MAX_DEGREE = 16 };
typedef struct IxSum {
    Pool *p;
    int64_t c;
    int n;
    IxTerm term[IX_MAX_TERMS];
} IxSum;
const Ix *ix_intern(IxSum *s); /* merges, sorts, recombines, hash-conses */
void ixsum_add(IxSum *s, const Ix *a, int64_t coef);
const Ix *ix_of_atom(Pool *p, const Atom *a);
const Ix *ix_of_term(Pool *p, const IxTerm *t);
void ix_atom_range(Pool *p, Atom *a);
int64_t sat_add(int64_t a, int64_t b);
int64_t sat_mul(int64_t a, int64_t b);
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);
#endif
