/* body.h: vector bodies. A Body is a straight-line program that touches elements: a fused stage, or
 * several stages that share their loops, over `rows` rows of `n` lanes each. It has three printers:
 * scalar C (body_c.c), CUDA (same file, other spellings), and x86 vector instructions (body_x86.c),
 * all with one meaning; the interpreter body_run is the reference.
 *
 *   void f(void *const *ptr, const int64_t *step, int64_t n, int64_t rows, const void *pool)
 *
 * A row is processed by the instructions in order. Instructions between B_LOOP and B_END run for
 * each lane 0..n-1; those outside run once per row, on row values. A value made outside a loop may
 * be used inside any later loop (broadcast). A value made inside a loop is visible only in that
 * loop, except those of the reductions (B_RSUM...), which are visible after their loop's B_END. A
 * body may have several loops. After each row, every port's pointer advances by its step (bytes;
 * may be 0 or negative). n >= 0 (reductions over no lanes give their identities) and
 * rows >= 0.
 *
 * Ports. PORT_LANES: element `lane` of the row: consecutive in memory. PORT_ROW: one element per
 * row (a load is broadcast; a store outside the loops writes one element). Pointers need only the
 * alignment of the element type; a store port may be the same memory as a load port only at the
 * same element (in place).
 *
 * Types of values: DT_F32, DT_F64, DT_I32, DT_I64, DT_BOOL (a mask). Ports may also be DT_F16,
 * DT_BF16, DT_I8, DT_U8, DT_I16, DT_U16, DT_U32, DT_U64: loads widen (f16, bf16 -> f32; small ints
 * -> i32; u32 -> i64; u64 is reinterpreted as i64), stores narrow (floats round to even, ints keep
 * the low bits). bool is one byte 0/1. Lane reductions are assigned to accumulators by lane index
 * (never by address), so that results depend only on n and on the instruction set.
 */
#ifndef SINTER_BODY_H
#define SINTER_BODY_H
#include "graph/expr.h"

typedef enum { PORT_LANES, PORT_ROW } PortKind;
typedef struct BodyPort {
    PortKind kind;
    DType type;
    bool store;
} BodyPort;

typedef enum {
    B_LOAD,  /* port -> value */
    B_STORE, /* a -> port */
    B_CONST, /* k */
    B_IOTA,  /* the lane number, i32 or i64; inside loops only */
    B_PRIM,  /* prim over a, b, c (value ids), result type `type`; P_cast: from a's type */
    /* Row reductions of a over the lanes of the enclosing loop; max, min: NaN wins. */
    B_RSUM, B_RPROD, B_RMAX, B_RMIN,
    B_RANY, B_RALL,                  /* of masks */
    B_LOOP, B_END
} BodyOp;

typedef struct BodyIns {
    BodyOp op;
    Prim prim;
    DType type;    /* of the result (of `a` for B_STORE) */
    int a, b, c;   /* operands: indices of earlier instructions, -1 none */
    int port;
    DType round;   /* DT_F16/DT_BF16: the f32 result is rounded to that type; else DT_NONE */
    Scalar k;
} BodyIns;

typedef struct Body {
    Ctx *cx;
    VEC(BodyIns) ins;
    VEC(BodyPort) ports;
} Body;

void body_init(Body *b, Ctx *cx);
int body_port(Body *b, PortKind kind, DType type, bool store); /* -> port number */
int body_load(Body *b, int port);                              /* all return the value's id */
void body_store(Body *b, int port, int a);
int body_const(Body *b, DType t, Scalar k);
int body_iota(Body *b, DType t);
int body_prim(Body *b, Prim p, DType type, int a, int b2, int c);
int body_reduce(Body *b, BodyOp red, int a);
void body_loop(Body *b);
void body_end(Body *b);

void body_verify(Ctx *cx, const Body *b);
void body_print(Buf *out, const Body *b);
/* The inverse of body_print; raises ST_MODEL with the line. */
void body_parse(Body *b, const char *text);
/* The meaning, slowly: same arguments as the compiled function. */
void body_run(const Body *b, void *const *ptr, const int64_t *step, int64_t n, int64_t rows);

/* ---- printers -------------------------------------------------------------------------------- */

/* A static C function `name` with the signature above (pool unused); one operation per local. */
void body_print_c(Buf *out, const Body *b, const char *name);
/* A CUDA device function of the same signature that all threads of a block call with the same
 * arguments: they share the rows and lanes. in_order: rows store to the same memory, so each lane
 * takes them one after the other. */
void body_print_cuda(Buf *out, const Body *b, const char *name, bool in_order);

/* x86 vector code. `isa`: "avx2" (and later "avx512", "sse2"). False if the body has something that
 * the encoder does not do for that instruction set; then the caller prints scalar C. */
bool body_encodable(const Body *b, const char *isa);
typedef struct BodyCode {
    const uint8_t *bytes; /* position independent, ends in ret; System V calling convention */
    size_t n_bytes;
    const uint8_t *pool;  /* the constants, passed as `pool`: best aligned to 64 bytes */
    size_t n_pool;
} BodyCode;
BodyCode body_encode(Ctx *cx, const Body *b, const char *isa, bool streaming_stores);

#endif
