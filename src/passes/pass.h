/* pass.h: the state of one compilation and the passes over it, in order. pass.c holds the table. */
#ifndef SINTER_PASS_H
#define SINTER_PASS_H
#include "graph/graph.h"
#include "codegen/loop.h"

typedef struct Options {
    int level;   /* 0 interpreter, 1 scalar C unfused, 2 fused vector bodies, 3 system compiler */
    int threads; /* >= 1 */
    int fuse;    /* 0 one kernel per node, 1 by time, 2 as few kernels as possible */
    bool strict;
    const char *isa;
    /* of that instruction set: floats per vector, columns and rows of a contraction tile */
    int lanes, nr, mr;
    int64_t max_memory;
    uint64_t seed;
    const char *const *disable_pass, *const *keep; /* NULL-terminated or NULL */
    const char *print_after, *dump_dir;
    bool overridable; /* inputs with a default are variables; else their defaults are constants */
} Options;

/* The stages that one kernel computes, in order; each is needed only inside, unless its value is
 * read elsewhere or is an output of the graph. */
typedef struct Group {
    int id;
    VEC(Def *) stages;
    Kernel *kernel;    /* filled by schedule */
    int stamp;         /* of the last walk that came by */
} Group;
typedef VEC(Def *) Uses; /* the definitions that load a value */

/* The memory of a value that steps read or write: the caller's, a constant's, or a piece of the
 * arena that is live from step `first` (written) to step `last` (read). */
typedef enum { BUF_INPUT, BUF_OUTPUT, BUF_CONST, BUF_ARENA } BufferKind;
typedef struct Buffer {
    int id;
    BufferKind kind;
    const Value *value;
    int io;          /* BUF_INPUT, BUF_OUTPUT: which */
    const Ix *bytes;
    int first, last; /* steps */
} Buffer;

/* One launch: arg[i] is the buffer id of the kernel's argument i. */
typedef struct Step {
    Kernel *kernel;
    int *arg;
} Step;

/* A value that one node makes and another reads, noted before inlining: the account says what
 * became of it. */
typedef struct Edge {
    const Value *value;
    const Node *to;
    const Value *reader;
} Edge;

/* One compilation. Passes read and write the fields that their comments name. */
typedef struct Module {
    Ctx *cx;
    Graph *graph;
    Options opt;
    VEC(Def *) defs;      /* after lower: all that must be computed, in order */
    VEC(Group *) groups;  /* after fuse: in an order that respects their reads */
    VEC(Buffer *) buffers; /* after memplan */
    VEC(Step) steps;
    VEC(Edge) edges;      /* after cse */
    int unfused_launches; /* one per node, views free */
    int64_t unfused_values, unfused_bytes; /* what they would materialise, at the hints */
    int nodes_final;      /* nodes whose results are needed, after folding */
    struct Nest *nest;    /* working space of schedule */
    Uses *uses;           /* by value id, while fusing */
    int stamp;
    /* by value id, after fuse: the group that writes it to a buffer, or NULL */
    Group **home;
} Module;

typedef struct Pass {
    const char *name, *what;
    void (*run)(Module *m); /* NULL: done inside an earlier pass */
    int level;              /* lowest optimisation level that runs it */
    bool optional;          /* may be disabled */
} Pass;
extern const Pass pass_table[];
extern const int pass_table_n;
void passes_run(Module *m); /* all that the level asks for; verifies after each */
bool pass_disabled(const Module *m, const char *name);
/* The state in text: the plan once there is one, else kernels, groups, definitions, or nodes. */
void module_print(Module *m, Buf *b);

/* node by node: operators define their outputs; constants are folded */
void pass_infer(Module *m);
void pass_lower(Module *m);   /* collects the definitions that the outputs need */
void pass_cse(Module *m);     /* equal definitions become one */
void pass_inline(Module *m);  /* loads of cheap definitions become those definitions */
void pass_constexpr(Module *m); /* parts that read constants only become constants */
void pass_split(Module *m);    /* reduction variables split at the radix of div and mod */
void pass_dce(Module *m);     /* drops what no output needs */
void pass_layout(Module *m);  /* storage orders: channels last */
void pass_fuse(Module *m);    /* groups */
void pass_schedule(Module *m); /* groups to Loop IR */
void pass_memplan(Module *m); /* buffers and steps */

/* Folds the node if all that it reads is constant and the result is worth storing. */
bool fold_node(Module *m, Node *n);

bool value_is_const(const Value *v);
void def_add_nodes(Ctx *cx, Def *d, const Def *from); /* d does the work of from's nodes too */
void account_edges(Module *m); /* notes edges and the unfused counts, before inlining */

/* ---- contractions (roles.c) ------------------------------------------------------------------ */

/* The roles of a sum of products out[m, n, batch] = sum(k; A[m, batch, k] * B[n, batch, k]). */
typedef enum { ROLE_M, ROLE_N, ROLE_BATCH } Role;
typedef struct Roles {
    const Expr *a, *b;     /* the two loads */
    const Expr *guard;     /* A counts as 0 where this is false; NULL: always inside */
    Role role[MAX_RANK];   /* by output axis */
} Roles;
/* Is d a float32 contraction that the microkernel can do? B is the operand to be packed: a constant
 * if any is. */
bool contraction_roles(Pool *p, const Def *d, Roles *r);
/* The factors of a float32 sum of products, guard and constant sorted out; no roles. */
bool product_factors(const Def *d, Roles *r);
bool load_uses_var(const Expr *load, const Var *v);
int ex_cost(Ctx *cx, const Expr *e); /* in cheap operations */
#endif
