/* nest.h: a nest is a run of stages that share their loops over rows and lanes, and become one
 * vector body. */
#ifndef SINTER_NEST_H
#define SINTER_NEST_H
#include "passes/sched.h"

/* a map over lanes; one value per row; a reduction of the lanes */
typedef enum { NS_LANES, NS_ROW, NS_REDUCE } NestKind;

typedef struct NestStage {
    int stage; /* of the group */
    NestKind kind;
    const Ix *at[MAX_RANK]; /* the axes in the nest's variables */
    Subst subst;            /* axis (and lane reduction) variables -> nest variables */
    int segment;
    bool in_memory;         /* its value is read outside the nest, or in a later segment */
} NestStage;

/* The loops: row axes, outer to inner, and lanes. */
typedef struct Frame {
    int n;
    const Ix *ext[MAX_RANK];
    const Ix *lane; /* NULL: no lanes so far */
} Frame;

typedef struct Nest Nest;
struct Nest {
    Sched *s;
    Frame frame;
    const Var *row[MAX_RANK], *lane;
    bool rows_outside; /* the innermost row axis must be a loop around the body too */
    int n;
    NestStage at[64];
    int n_segments;
    bool loop[130]; /* by segment: over lanes, or row code */
};

/* The frame that a stage has when it starts a nest; false if it can't be vector code. */
bool stage_frame(Sched *s, int stage, Frame *f);
/* Adds the stage if its loops are the nest's and all its operands can be had there. */
bool nest_add(Nest *nest, int stage);
void nest_init(Nest *nest, Sched *s, const Frame *f);
/* The statements of the nest. */
void nest_emit(Nest *nest, Stmts *into);
/* Can the expression be computed in a body over these variables? Sets *rows_outside when only one
 * row at a time. Loads of values that `inside` knows (same nest, same element) need nothing. */
typedef struct Vectorizable {
    Sched *s;
    const Var *row, *lane; /* NULL: none */
    Nest *nest;
    bool rows_outside, guarded, failed;
} Vectorizable;
bool vector_ok(Vectorizable *v, const Expr *e);
/* A reduction whose lanes are an axis of its result: passes over an accumulator row in memory. */
int sched_passes(Sched *s, Stmts *into, int stage);
const NestStage *nest_stage_of(const Nest *nest, const Expr *load);

/* ---- bodies (nest_body.c) -------------------------------------------------------------------- */

/* Translates expressions into body instructions. */
typedef struct Translate {
    Sched *s;
    Body *body;
    Stmt *stmt;
    VEC(PortRef) ports;
    Map row_memo, lane_memo; /* expression id -> value + 1 */
    const Var *row, *lane;
    Nest *nest;              /* or NULL */
    int value_id[64];        /* by nest stage: its value in the body, -1 */
    bool in_loop;
    int segment;
} Translate;
void translate_init(Translate *t, Sched *s, const Var *row, const Var *lane, Nest *nest);
int translate(Translate *t, const Expr *e);
int translate_cast(Translate *t, int value, DType from, DType to);
int translate_port(Translate *t, const Value *v, const Ix *const *idx, bool store, bool lanes);
DType lane_type(DType t);
void translate_finish(Translate *t, const Ix *rows, const Ix *lanes);
#endif
