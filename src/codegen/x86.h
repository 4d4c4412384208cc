/* x86.h: the encoder of x86-64 instructions: vector ones by table (x86.def), the few general ones
 * that loops need by hand. It knows nothing of bodies.
 */
#ifndef SINTER_X86_H
#define SINTER_X86_H
#include "base/base.h"

typedef enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 } XReg;

/* [base + (index << scale) + disp]; index < 0: none (RSP can't be an index) */
typedef struct XMem {
    int base, index, scale, disp;
} XMem;

typedef struct XCode {
    Ctx *cx;
    VEC(uint8_t) bytes;
} XCode;

typedef enum {
    XFORM_RVM,
    XFORM_RM,
    XFORM_SHIFT,
    XFORM_BLEND,
    XFORM_FMA,
    XFORM_MR,
    XFORM_MVR
} XForm;
enum { XF_I = 1, XF_C = 2, XF_X = 4 }; /* flags, see x86.def */
typedef struct XOpInfo {
    const char *name, *mnemonic;
    uint8_t form, map, pp, w, opcode, ext, flags;
} XOpInfo;
typedef enum {
#define XOP(name, ...) X_##name,
#include "codegen/x86.def"
#undef XOP
    N_XOPS
} XOp;
extern const XOpInfo xop_info[N_XOPS];

void x86_init(XCode *x, Ctx *cx);
void x86_byte(XCode *x, int byte);
void x86_int32(XCode *x, int64_t value);

/* The VEX-encoded instruction; `mem` takes the place of register rm when not NULL. */
void x86_vex(XCode *x, int map, int pp, int w, int l, int opcode, int reg, int vvvv, int rm,
    const XMem *mem);

/* A row of the table with its operands in their places. `mem` (or NULL) replaces the operand that
 * may be in memory: b of RVM and BLEND, a of RM, dst of MR and MVR. Not for FMA. */
typedef struct XArgs {
    int dst, a, b, c, imm;
    const XMem *mem;
} XArgs;
void x86_op(XCode *x, XOp op, XArgs arg);

/* Fused multiply-add. form: 0 dst = dst * rm + v (132), 1 dst = v * dst + rm (213), 2 dst = v * rm
 * + dst (231) */
void x86_fma(XCode *x, XOp op, int form, int dst, int v, int rm, const XMem *mem);

/* 64-bit general instructions: `op reg, rm` with opcodes as in the manual (03 add, 2B sub, 3B cmp,
 * 8B mov, 8D lea, 85 test...; 89 and 01 have rm as destination). */
void x86_gpr(XCode *x, int opcode, int reg, int rm, const XMem *mem);
void x86_gpr_imm(XCode *x, int ext, int rm, int32_t imm); /* group 81: 0 add, 4 and, 5 sub, 7 cmp */
void x86_push(XCode *x, int reg);
void x86_pop(XCode *x, int reg);

/* Jumps have 32-bit displacements. Conditions: the low four bits of the opcode (C_E...); C_ALWAYS.
 */
enum { C_E = 4, C_NE = 5, C_L = 12, C_GE = 13, C_LE = 14, C_G = 15, C_ALWAYS = 16 };
int x86_jump(XCode *x, int cond);             /* forward: returns what x86_land needs */
void x86_land(XCode *x, int jump);            /* the jump goes here */
void x86_jump_back(XCode *x, int cond, int to);
void x86_patch32(XCode *x, int at, int32_t value);
void x86_align(XCode *x, int to);             /* pads with long no-ops; to is a power of two */

#endif
