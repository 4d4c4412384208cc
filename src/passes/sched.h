/* sched.h: what the files of the pass schedule share: turning one group into one kernel of Loop
 * IR. */
#ifndef SINTER_SCHED_H
#define SINTER_SCHED_H
#include "passes/region.h"

typedef struct Sched {
    Module *m;
    Ctx *cx;
    Pool *p;
    Group *g;
    Kernel *k;
    Tiling tiling;
    Region *region; /* by stage */
    const Ix *scratch; /* bytes used so far */
    int end;           /* stages before this one may share a nest */
    int depth;         /* of splits */
} Sched;

/* Is the value read outside its group, or an output? Such values live in buffers. */
bool value_materialised(const Module *m, const Value *v);
/* The tile loops for a group of these stages, the last being its root; false if there are no legal
 * ones. */
bool group_tiling(Module *m, Def *const *stage, int n, Tiling *t);
static inline int64_t sat_volume(int64_t a, int64_t b)
{
    int64_t r;
    return mul_ok(a, b, &r) ? r : INT64_MAX / 4;
}

/* The place of a value in the kernel, made on first use: argument or scratch. */
const Place *sched_place(Sched *s, const Value *v, bool written);
const Ix *sched_scratch(Sched *s, const Ix *bytes); /* offset of a new 64-byte aligned piece */
/* Places for all that a stage loads and stores. */
void sched_operands(Sched *s, const Def *d);
/* The region of a value that is a stage of this group, or NULL. */
const Region *sched_region(const Sched *s, const Value *v);

/* Loops over the box of stage i with fresh variables; the body's axis variables are replaced by lo
 * + local. `at` gets the index forms of the axes. Returns the innermost statement list. */
Stmts *sched_loops(Sched *s, Stmts *into, const Def *d, const Region *r, const Ix **at,
    Subst *subst);

void sched_scalar(Sched *s, Stmts *into, int stage); /* any stage, element by element */
/* Vector bodies and contractions; 0 or false if the stage is not of their kind. */
/* A map with a condition on one of its axes, as two maps over parts of it. */
int sched_split(Sched *s, Stmts *into, int stage);
int sched_vector(Sched *s, Stmts *into, int stage); /* how many stages it took; 0: none */
bool sched_depthwise(Sched *s, Stmts *into, int stage); /* sums over windows, channel by channel */
bool sched_contraction(Sched *s, Stmts *into, int stage);
#endif
