/* loop.h: Loop IR: what a kernel does, as loops over elements. The single emitter walks it;
 * target_c.c and target_cuda.c are spellings.
 *
 * A Kernel takes buffers (its arguments), dims (the values of the model's symbols, by id) and a
 * slice [lo, hi) of its parallel axis. Values live in places: an argument buffer, or the thread's
 * scratch, with a stride per axis and an origin (the lowest index that is held). Statements refer
 * to values with logical indices; where that is in memory follows from the place.
 */
#ifndef SINTER_LOOP_H
#define SINTER_LOOP_H
#include "codegen/body.h"
#include "graph/graph.h"

/* Where a value lives inside a kernel. Element idx is at base + sum over axes of (idx[k] -
 * origin[k]) * stride[k]. */
typedef struct Place {
    const Value *value;
    int arg;          /* index among the kernel's arguments, or -1: scratch */
    const Ix *offset; /* scratch: in bytes from the thread's scratch */
    const Ix *stride[MAX_RANK];
    const Ix *origin[MAX_RANK]; /* NULL: 0 */
    const Ix *bytes;            /* scratch: how much */
} Place;

typedef enum {
    S_FOR,    /* var from 0 below its extent: body. The first of a kernel may be PARALLEL. */
    S_IF,     /* body only where expr is true */
    S_LET,    /* var stands for `ix` inside the body (one evaluation instead of many) */
    S_ACC,    /* a scalar accumulator `acc` of type `type` starts as `expr` */
    S_UPDATE, /* acc = red(acc, expr) */
    /* value[idx] = expr, or the accumulator `acc` (cast to the value's type) when expr is NULL */
    S_STORE,
    S_BODY,   /* a vector body over rows and lanes */
    /* value[idx + r, c] = port[0][.. r, c] for rows x lanes: contiguous along rows there, lanes
     * here */
    S_TRANSPOSE,
    S_CALL    /* a contraction over a region: see Contract */
} StmtKind;
typedef enum { LOOP_SERIAL, LOOP_PARALLEL } LoopKind;

/* One port of a vector body: element idx (with row and lane variables at 0) of a value, and how the
 * pointer moves. */
typedef struct PortRef {
    const Value *value;
    const Ix *scalar; /* instead of a value: an i64 that is computed before the body */
    const Ix *idx[MAX_RANK];
    const Ix *step; /* elements of memory per row */
} PortRef;

typedef struct Stmt Stmt;
typedef VEC(Stmt *) Stmts;

/* sum over (taps, kc) of A-rows times packed B, for m rows and n columns of a region; see
 * contract.c */
typedef struct Contract Contract;

struct Stmt {
    StmtKind kind;
    LoopKind loop;
    const Var *var; /* S_FOR, S_LET */
    const Ix *ix;
    Stmts body;
    int acc;
    DType type;
    Red red;
    const Expr *expr;
    const Value *value; /* S_STORE */
    const Ix *idx[MAX_RANK];
    Body *vec; /* S_BODY */
    int n_ports;
    PortRef *port;
    const Ix *rows, *lanes;
    /* S_TRANSPOSE: of rows in value, of lanes in the port's value; elements */
    const Ix *row_stride, *lane_stride;
    Contract *call;
};

/* A place in a kernel that can fail; kernels return its number, counted from 1. */
typedef struct Site {
    const Value *value;
    const char *what;
} Site;

/* One parallel axis: a tile variable; the kernel's flat slice is unflattened over them, the last
 * fastest. */
typedef struct Kernel {
    int id;
    const char *name;
    const Node **nodes; /* that it came from */
    int n_nodes;
    VEC(const Value *) args; /* buffers, in order: kernel argument i */
    VEC(bool) arg_written;
    VEC(Place) places;
    VEC(const Var *) tile; /* parallel tile variables */
    Stmts body;            /* inside the tile loops */
    const Ix *tiles;       /* product of the tile extents: the length of the parallel axis */
    const Ix *scratch;     /* bytes per thread */
    int n_accs, loop_nests, contractions;
    bool checks;           /* it can report an index out of range or a division by zero */
    bool divides;          /* holds an integer division */
    VEC(Site) sites;       /* filled by the emitter */
    /* hash of the emitted text without names: equal kernels have equal ones */
    uint64_t signature;
} Kernel;

Stmt *stmt_new(Ctx *cx, StmtKind kind);
void kernel_print(Buf *b, const Kernel *k);
void kernel_verify(Ctx *cx, const Kernel *k);
const Place *kernel_place(const Kernel *k, const Value *v);
/* The memory offset, in elements, of value[idx] relative to its place's base. */
const Ix *place_offset(Pool *p, const Place *pl, int n, const Ix *const *idx);

/* Text of all kernels. `tier` 0: plain C; 1: with vector bodies and calls through the kernel
 * context. */
typedef struct EmitOptions {
    int tier;
    bool jit;         /* for TinyCC in this process: libm through the context's helper table */
    const char *isa;
    const char *arch;     /* CUDA: the architecture meant, as sm_90, or NULL */
} EmitOptions;
void emit_c(Buf *out, Ctx *cx, Pool *pool, Kernel *const *k, int n, const EmitOptions *o);
void emit_cuda(Buf *out, Ctx *cx, Pool *pool, Kernel *const *k, int n, const EmitOptions *o);
#endif
