/* vec.c: writing vector code. See vec.h. */
#include "codegen/vec.h"

/* The id of an instruction is its place in the list. */
int v_push(VCode *v, VIns ins)
{
    VEC_PUSH(v->cx, &v->ins, ins);
    return v->ins.n - 1;
}

VIns v_blank(VKind kind, XOp x)
{
    return (VIns){.kind = kind, .x = (uint8_t)x, .a = -1, .b = -1, .c = -1, .port = -1};
}

int v3(VCode *v, XOp x, int a, int b, int c)
{
    VIns ins = v_blank(V_X, x);
    ins.a = a;
    ins.b = b;
    ins.c = c;
    return v_push(v, ins);
}

int v2i(VCode *v, XOp x, int a, int b, int imm)
{
    int id = v3(v, x, a, b, -1);
    v->ins.at[id].imm = (uint8_t)imm;
    return id;
}

int v2(VCode *v, XOp x, int a, int b) { return v2i(v, x, a, b, 0); }
int v1i(VCode *v, XOp x, int a, int imm) { return v2i(v, x, a, -1, imm); }
int v1(VCode *v, XOp x, int a) { return v2i(v, x, a, -1, 0); }

/* The same constant is the same value. */
int v_k(VCode *v, VConst k)
{
    for (int i = 0; i < v->ins.n; i++)
        if (v->ins.at[i].kind == V_CONST &&
            memcmp(&v->pool.at[v->ins.at[i].port], &k, sizeof k) == 0)
            return i;
    VEC_PUSH(v->cx, &v->pool, k);
    VIns ins = v_blank(V_CONST, X_movups);
    ins.port = v->pool.n - 1;
    return v_push(v, ins);
}

/* Two dwords are a pattern for 64-bit lanes; equal ones also serve 32-bit lanes. */
int v_k64(VCode *v, uint64_t k)
{
    VConst c;
    for (int i = 0; i < 8; i++)
        c.lane[i] = (uint32_t)(k >> (i & 1) * 32);
    return v_k(v, c);
}

int v_k32(VCode *v, uint32_t k) { return v_k64(v, (uint64_t)k << 32 | k); }

int v_kf(VCode *v, float k)
{
    uint32_t u;
    memcpy(&u, &k, 4);
    return v_k32(v, u);
}

int v_kd(VCode *v, double k)
{
    uint64_t u;
    memcpy(&u, &k, 8);
    return v_k64(v, u);
}

int v_zero(VCode *v) { return v_k32(v, 0); }
int v_ones(VCode *v) { return v_k32(v, ~0u); }
