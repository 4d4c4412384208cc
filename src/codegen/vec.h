/* vec.h: vector code: what a body becomes before it gets registers. A straight list in single
 * assignment, each value one 256-bit register; nearly every instruction is one machine instruction
 * (a row of x86.def).
 *
 * body_select.c and body_math.c write it, body_x86.c gives it registers, loops and tails. Values of
 * 64-bit elements are two registers, the lower four lanes first; masks are all-ones lanes of some
 * width.
 */
#ifndef SINTER_VEC_H
#define SINTER_VEC_H
#include "codegen/body.h"
#include "codegen/x86.h"

typedef enum {
    V_X,      /* dst = x(a, b, c, imm) */
    V_CONST,  /* imm: entry of the pool; visible everywhere */
    V_LOAD,   /* x loads lanes of `port`; part: 1 for the upper four lanes */
    V_STORE,  /* x stores a to lanes of `port` */
    V_LOAD1,  /* x broadcasts the element of row port `port` */
    V_STORE1, /* x stores lane 0 of a to row port `port` */
    V_LANE,   /* the index of the first lane in all lanes; x pbroadcastd or pbroadcastq */
    V_MASK,   /* which lanes exist; part 0: 32-bit lanes, 1, 2: lower and upper 64-bit lanes */
    V_REDUCE, /* x combines a over the loop; b: the same with absent lanes made c, the identity */
    V_LOOP,
    V_END
} VKind;

typedef struct VIns {
    uint8_t kind, x, imm, part;
    bool tail_only; /* exists only where lanes may be absent */
    bool wide;      /* V_REDUCE: of 64-bit lanes */
    int a, b, c;
    int port;
} VIns;

/* An entry of the pool: 32 bytes. */
typedef struct VConst {
    uint32_t lane[8];
} VConst;

typedef struct VCode {
    Ctx *cx;
    const Body *body;
    VEC(VIns) ins;
    VEC(VConst) pool;
    int mask[3]; /* the V_MASK values */
    bool failed; /* something in the body can't be done */
} VCode;

/* The prefix V_ of primitives: v1(v, X_sqrtps, a) and so on append and return the value. */
VIns v_blank(VKind kind, XOp x); /* no operands */
int v_push(VCode *v, VIns ins);
int v1(VCode *v, XOp x, int a);
int v1i(VCode *v, XOp x, int a, int imm);
int v2(VCode *v, XOp x, int a, int b);
int v2i(VCode *v, XOp x, int a, int b, int imm);
int v3(VCode *v, XOp x, int a, int b, int c); /* fma: a * b + c; blend: c ? b : a */
int v_k(VCode *v, VConst k);
int v_k32(VCode *v, uint32_t k); /* in all lanes */
int v_k64(VCode *v, uint64_t k);
int v_kf(VCode *v, float k);
int v_kd(VCode *v, double k);
int v_zero(VCode *v);
int v_ones(VCode *v);

/* The primitive p on float32 lanes by polynomials (body_math.c); -1 if there is none. */
int v_math(VCode *v, Prim p, int a, int b);

/* body_select.c: false if the body has something that can't be selected. */
bool body_select(VCode *v, Ctx *cx, const Body *b);

#endif
