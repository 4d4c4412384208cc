/* random_body.c: see random_body.h. */
#include "random_body.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Xorshift (Marsaglia 2003): the same bodies everywhere. */
uint32_t rng_next(Rng *r)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (uint32_t)(r->state >> 32);
}

int rng_below(Rng *r, int n) { return (int)(rng_next(r) % (uint32_t)n); }

/* ---- values
 * ---------------------------------------------------------------------------------------- */

static const double special[] = {0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 3e38, -3e38, 1e-40, 65504,
    65520, 70000, 2147483648.0, -2147483648.0, 2147483520.0, 9.3e18, -9.3e18, 1e-8, 6e-8, 255.5,
    INFINITY, -INFINITY, NAN};

static double random_float(Rng *r)
{
    if (rng_below(r, 6) == 0)
        return special[rng_below(r, (int)(sizeof special / sizeof *special))];
    double x = (double)(int32_t)rng_next(r) * 0x1p-31;
    return ldexp(x, rng_below(r, 4) ? rng_below(r, 8) : rng_below(r, 60) - 30);
}

static int64_t random_int(Rng *r)
{
    int64_t x = (int64_t)((uint64_t)rng_next(r) << 32 | rng_next(r));
    switch (rng_below(r, 5)) {
    case 0: return x;
    case 1: return (int32_t)x;
    case 2: return x < 0 ? INT64_MIN : INT32_MIN;
    default: return x % 70;
    }
}

static Scalar random_scalar(Rng *r, DType t)
{
    if (dtype_is_float(t))
        return scalar_f(t, random_float(r));
    return scalar_cast(DT_I64, t, (Scalar){.i = random_int(r)});
}

/* ---- bodies
 * ---------------------------------------------------------------------------------------- */

static const DType value_types[] = {DT_F32, DT_F32, DT_F64, DT_I32, DT_I64, DT_BOOL};
static const DType port_types[] = {DT_F32, DT_F64, DT_I32, DT_I64, DT_BOOL, DT_F16, DT_BF16, DT_I8,
    DT_U8, DT_I16, DT_U16, DT_U32, DT_U64};

typedef struct Make {
    RandomBody *out;
    Body *b;
    Rng *r;
    bool encodable, in_loop;
    VEC(int) row, lane; /* the values that can be used: everywhere; in this loop */
    VEC(int) reduced;   /* visible after this loop */
} Make;

static void remember(Make *m, int id)
{
    if (m->in_loop)
        VEC_PUSH(m->b->cx, &m->lane, id);
    else
        VEC_PUSH(m->b->cx, &m->row, id);
}

static int constant(Make *m, DType t)
{
    int id = body_const(m->b, t, random_scalar(m->r, t));
    remember(m, id);
    return id;
}

/* A value of this type, made if there is none. */
static int pick(Make *m, DType t)
{
    int n = m->row.n + (m->in_loop ? m->lane.n : 0);
    for (int tries = 0; n && tries < 30; tries++) {
        int k = rng_below(m->r, n);
        int id = k < m->row.n ? m->row.at[k] : m->lane.at[k - m->row.n];
        if (m->b->ins.at[id].type == t)
            return id;
    }
    return constant(m, t);
}

static int new_port(Make *m, PortKind kind, DType t, bool store)
{
    int port = body_port(m->b, kind, t, store);
    m->out->shares[port] = -1;
    m->out->step[port] = store ? 1 : rng_below(m->r, 4) ? 1 : rng_below(m->r, 2) - 1;
    return port;
}

static DType random_port_type(Make *m) { return port_types[rng_below(m->r, NELEM(port_types))]; }

static void add_load(Make *m)
{
    bool row = !m->in_loop || rng_below(m->r, 5) == 0;
    if (m->b->ports.n < MAX_PORTS - 2)
        remember(m,
            body_load(m->b, new_port(m, row ? PORT_ROW : PORT_LANES, random_port_type(m), false)));
}

/* Into the memory of a load port of the same kind and type, now and then. */
static void add_store(Make *m)
{
    if (m->b->ports.n >= MAX_PORTS)
        return;
    DType t = random_port_type(m);
    DType value = t == DT_F16 || t == DT_BF16                    ? DT_F32
        : t == DT_I8 || t == DT_U8 || t == DT_I16 || t == DT_U16 ? DT_I32
        : t == DT_U32 || t == DT_U64                             ? DT_I64
                                                                 : t;
    PortKind kind = m->in_loop ? PORT_LANES : PORT_ROW;
    int a = pick(m, value), port = new_port(m, kind, t, true);
    for (int p = 0; p < port && rng_below(m->r, 2); p++) {
        const BodyPort *q = &m->b->ports.at[p];
        if (!q->store && q->kind == kind && q->type == t && m->out->step[p] == 1)
            m->out->shares[port] = p;
    }
    body_store(m->b, port, a);
}

/* Transcendental functions differ in the last bits between the tiers. */
static bool is_exact(Prim p) { return p < P_exp || p > P_atanh; }

static void add_prim(Make *m)
{
    Prim p;
    do
        p = (Prim)rng_below(m->r, N_PRIMS);
    while (!is_exact(p));
    const PrimInfo *info = &prim_info[p];
    DType t = value_types[rng_below(m->r, NELEM(value_types))];
    bool is_float = t == DT_F32 || t == DT_F64;
    if ((info->types == 'f' || info->types == 'p') && !is_float)
        t = DT_F32;
    if (info->types == 'i' && is_float)
        t = DT_I32;
    if (info->types == 'a' && t == DT_BOOL)
        t = DT_F32;
    if ((p == P_shl || p == P_shr) && t == DT_BOOL)
        t = DT_I64;
    int a = pick(m, info->types == 's' ? DT_BOOL : t), b = info->arity > 1 ? pick(m, t) : -1;
    int c = info->arity > 2 ? pick(m, t) : -1;
    bool test = info->types == 'c' || info->types == 'p';
    DType result = test ? DT_BOOL
        : p == P_cast   ? value_types[rng_below(m->r, NELEM(value_types))]
                        : t;
    int id = body_prim(m->b, p, result, a, b, c);
    if (result == DT_F32 && rng_below(m->r, 6) == 0)
        m->b->ins.at[id].round = rng_below(m->r, 2) ? DT_F16 : DT_BF16;
    if (m->encodable && !body_encodable(m->b, "avx2"))
        m->b->ins.n = id; /* take it back */
    else
        remember(m, id);
}

/* Max and min of zeros of both signs may be either zero: adding +0 makes it +0. */
static void add_reduction(Make *m)
{
    DType t = value_types[rng_below(m->r, NELEM(value_types))];
    bool is_float = t == DT_F32 || t == DT_F64;
    BodyOp op = t == DT_BOOL ? (BodyOp)(B_RANY + rng_below(m->r, 2))
        : is_float           ? (BodyOp)(B_RMAX + rng_below(m->r, 2))
                             : (BodyOp)(B_RSUM + rng_below(m->r, 4));
    int id = body_reduce(m->b, op, pick(m, t));
    if (m->encodable && !body_encodable(m->b, "avx2"))
        m->b->ins.n = id;
    else
        VEC_PUSH(m->b->cx, &m->reduced, id);
}

static void use_reductions(Make *m)
{
    for (int k = 0; k < m->reduced.n; k++) {
        int id = m->reduced.at[k];
        DType t = m->b->ins.at[id].type;
        if (t == DT_F32 || t == DT_F64)
            id = body_prim(m->b, P_add, t, id, body_const(m->b, t, (Scalar){.f = 0}), -1);
        remember(m, id);
    }
    m->reduced.n = 0;
}

static void segment(Make *m, int size)
{
    for (int k = rng_below(m->r, 3); k >= 0; k--)
        add_load(m);
    if (m->in_loop && rng_below(m->r, 3) == 0)
        remember(m, body_iota(m->b, rng_below(m->r, 2) ? DT_I32 : DT_I64));
    for (int k = rng_below(m->r, size); k >= 0; k--)
        if (rng_below(m->r, 10) == 0)
            add_load(m);
        else
            add_prim(m);
    for (int k = rng_below(m->r, 3); m->in_loop && k > 0; k--)
        add_reduction(m);
    for (int k = rng_below(m->r, 3); k >= 0; k--)
        add_store(m);
}

void random_body(RandomBody *out, Ctx *cx, Rng *r, bool encodable, int size)
{
    body_init(&out->body, cx);
    Make m = {.out = out, .b = &out->body, .r = r, .encodable = encodable};
    for (int loops = 1 + rng_below(r, 3); loops > 0; loops--) {
        if (rng_below(r, 2))
            segment(&m, 6);
        body_loop(m.b);
        m.in_loop = true;
        m.lane.n = 0;
        segment(&m, size);
        body_end(m.b);
        m.in_loop = false;
        use_reductions(&m);
    }
    segment(&m, 6);
}

/* ---- memory
 * ---------------------------------------------------------------------------------------- */

Memory *memory_new(void)
{
    Memory *m = calloc(1, sizeof *m);
    for (int p = 0; m && p < MAX_PORTS; p++) {
        uint8_t *at = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED || mprotect(at + PAGE, PAGE, PROT_READ | PROT_WRITE))
            return NULL;
        m->page[p] = at + PAGE;
    }
    return m;
}

void memory_free(Memory *m)
{
    for (int p = 0; p < MAX_PORTS; p++)
        munmap(m->page[p] - PAGE, 3 * PAGE);
    free(m);
}

void memory_fill(Memory *m, const RandomBody *b, Rng *r, int64_t n, int64_t rows)
{
    bool at_end = rng_below(r, 2);
    for (int p = 0; p < b->body.ports.n; p++) {
        const BodyPort *port = &b->body.ports.at[p];
        int64_t bytes = dtype_bytes(port->type), row = (port->kind == PORT_LANES ? n : 1) * bytes;
        int64_t n_rows = b->step[p] ? MAX(rows, 1) : 1, first = at_end ? PAGE - row * n_rows : 0;
        memset(m->before[p], 0xA5, PAGE);
        for (int64_t i = 0; i < row * n_rows / bytes; i++)
            scalar_store(port->type, m->before[p] + first, i, random_scalar(r, port->type));
        uint8_t *page = m->page[b->shares[p] >= 0 ? b->shares[p] : p];
        m->step[p] = b->step[p] * row;
        m->ptr[p] = page + first + (b->step[p] < 0 ? (n_rows - 1) * row : 0);
    }
}

void memory_reset(Memory *m, int n_ports)
{
    for (int p = 0; p < n_ports; p++)
        memcpy(m->page[p], m->before[p], PAGE);
}

void memory_save(Memory *m, int n_ports)
{
    for (int p = 0; p < n_ports; p++)
        memcpy(m->after[p], m->page[p], PAGE);
}
