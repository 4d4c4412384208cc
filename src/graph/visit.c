/* visit.c: walks over the loads of an expression, each distinct expression once. */
#include "graph/graph.h"

typedef struct Walk {
    Map seen;
    void (*fn)(void *user, const Expr *load, bool in_index);
    void *user;
} Walk;

static void walk_ix(Walk *w, const Ix *a);

static void walk_ex(Walk *w, const Expr *e, bool in_index)
{
    if (e->kind == EX_CONST || map_get(&w->seen, &e->id, sizeof e->id))
        return;
    map_put(&w->seen, &e->id, sizeof e->id, (void *)e);
    if (e->kind == EX_IX)
        walk_ix(w, e->ix);
    for (int i = 0; i < e->n && e->kind == EX_LOAD; i++)
        walk_ix(w, e->idx[i]);
    for (int i = 0; i < e->n && e->kind == EX_PRIM; i++)
        walk_ex(w, e->arg[i], in_index);
    if (e->kind == EX_LOAD)
        w->fn(w->user, e, in_index);
}

static void walk_ix(Walk *w, const Ix *a)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            if (t->kind == AT_DATA)
                walk_ex(w, t->data, true);
            if (t->a) {
                walk_ix(w, t->a);
                walk_ix(w, t->b);
            }
        }
}

void ex_visit_loads(Ctx *cx, const Expr *e, void (*fn)(void *, const Expr *, bool), void *user)
{
    Walk w = {.fn = fn, .user = user};
    map_init(&w.seen, cx);
    walk_ex(&w, e, false);
    map_done(&w.seen);
}
