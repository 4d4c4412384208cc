/* interp.h: the oracle: evaluates definitions directly, one element at a time, in the obvious way.
 * Constant folding and bind-time shape arithmetic use it too. */
#ifndef SINTER_INTERP_H
#define SINTER_INTERP_H
#include "graph/graph.h"

/* What a value holds now; NULL if it is not known (then its definition is evaluated). */
typedef const Tensor *(*TensorOf)(void *user, const Value *v);

typedef struct Memo {
    int64_t stamp;
    Scalar s;
} Memo;
typedef struct Interp {
    Ctx *cx;
    Pool *pool;
    TensorOf tensor_of;
    void *user;
    const int64_t *sym; /* values of the symbols, by id; may be NULL if none occurs */
    const Node *node;   /* for messages */
    int64_t *var;       /* current values, by id */
    Memo *memo;         /* by expression id: the value at the current element */
    int n_var, n_memo;
    int64_t stamp;
    Map *computed;      /* Value* -> Tensor*: what had to be evaluated on the way */
    void (*on_load)(void *user, const Value *v, int64_t flat); /* told of each element read */
} Interp;

Interp *interp_new(Ctx *cx, Pool *pool, TensorOf tensor_of, void *user, const int64_t *sym);
int64_t interp_ix(Interp *it, const Ix *a);
Scalar interp_expr(Interp *it, const Expr *e); /* an expression without variables */
/* All elements of the value that d defines; raises ST_RUNTIME naming the node for an index out of
 * range or an integer division by zero. */
Tensor *interp_def(Interp *it, const Def *d);
/* One element: the axis variables (interp_var) hold its indices. interp_room comes first, and again
 * whenever the pool has grown. */
void interp_room(Interp *it);
static inline void interp_var(Interp *it, const Var *v, int64_t x) { it->var[v->id] = x; }
Scalar interp_element(Interp *it, const Def *d);
#endif
