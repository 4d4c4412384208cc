/* emit.h: the emitter's state, shared by its files. One emitter walks Loop IR; a Target is a table
 * of spellings. */
#ifndef SINTER_EMIT_H
#define SINTER_EMIT_H
#include "codegen/loop.h"
#include "codegen/spell.h"

typedef struct Emit Emit;
typedef struct Target {
    const char *name;
    const char *const *prelude; /* what stands in front of the kernels; ends in NULL */
    const char *kernel_open;    /* printf form with the kernel's name */
    const char *kernel_close;
    const char *parallel_open;  /* the loop over the slice */
    const char *scratch;        /* where the scratch memory begins */
    const char *plane;          /* printf form with rows, lanes: loops over r < rows, l < lanes */
    bool goes_on; /* after a failure: the other threads of the block would wait at the barriers */
    void (*begin)(Emit *e);                    /* declarations of a kernel, or NULL */
    void (*stmts)(Emit *e, const Stmts *list); /* what one tile does */
    /* index: the offending one, or NULL */
    void (*fail)(Emit *e, int site, const char *index);
    void (*body_def)(Emit *e, const Stmt *s, const char *name); /* a body as text */
    void (*contract)(Emit *e, const Contract *c);               /* or NULL: as in C */
} Target;
extern const Target target_c, target_cuda;
extern const char index_text[];                /* the arithmetic of index forms */
extern const char cuda_head[], cuda_prelude[]; /* in front of the common prelude, and behind it */

struct Emit {
    Ctx *cx;
    Pool *p;
    Buf *out;
    const EmitOptions *o;
    const Target *t;
    Kernel *k;
    Map memo;          /* expression id -> name of the local that holds it, in the open scopes */
    VEC(const int *) scope_keys; /* memo keys in the order they were put */
    int depth, locals;
    int n_bodies;
    /* CUDA: since the last barrier, threads touched memory that others may touch next */
    bool dirty;
};

void emit_line(Emit *e, const char *fmt, ...) PRINTF_LIKE(2, 3); /* indented, with a newline */
int emit_push(Emit *e);            /* opens a scope of locals; returns the mark */
void emit_pop(Emit *e, int mark);
/* The index form as a C expression of type sn_i64; data-chosen parts are computed into locals
 * first. */
const char *emit_ix(Emit *e, const Ix *a);
/* the name of a local (or a literal) that holds the value */
const char *emit_ex(Emit *e, const Expr *x);
/* "p3": the base pointer of a place, as char pointer */
const char *emit_ptr(Emit *e, const Place *pl);
/* That data-chosen indices are in range; the name of a guard for what uses them, or NULL. */
const char *emit_check(Emit *e, const Value *v, const Ix *const *idx);
int emit_site(Emit *e, const Value *v, const char *what); /* number of an error site, >= 1 */
void emit_stmts(Emit *e, const Stmts *list);
void emit_contract(Emit *e, const Contract *c);
void emit_contract_cuda(Emit *e, const Contract *c);
/* of an element, as char pointer */
const char *emit_address(Emit *e, const Value *v, const Ix *const *idx);
void emit_row_vars(Emit *e, const Contract *c, const char *type, const char *suffix,
    const char *row);
void emit_loop_open(Emit *e, const Var *v);
void emit_loop_close(Emit *e, int mark);
void emit_body_call(Emit *e, const Stmt *s);
void emit_body_def(Emit *e, const Stmt *s); /* the function, before the kernel */
#endif
