/* op_case.c: see op_case.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/interp.h"
#include "graph/op.h"
#include "support/op_case.h"

typedef struct Run {
    Ctx *cx;
    Graph *g;
    Node *node;
    int64_t sym[64]; /* values of the symbols */
    Map inputs;      /* Value id -> Tensor */
} Run;

/* ---- reading ------------------------------------------------------------------------------------
 */

static const char *past_space(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static DType short_type(Ctx *cx, const char **s)
{
    static const struct {
        const char *name;
        DType type;
    } names[] = {{"f32", DT_F32}, {"f64", DT_F64}, {"f16", DT_F16}, {"bf16", DT_BF16},
        {"i8", DT_I8}, {"i16", DT_I16}, {"i32", DT_I32}, {"i64", DT_I64}, {"u8", DT_U8},
        {"u16", DT_U16}, {"u32", DT_U32}, {"u64", DT_U64}, {"bool", DT_BOOL}, {"str", DT_STRING},
        {"c64", DT_C64}};
    size_t n = strcspn(*s, "[");
    for (int i = 0; i < NELEM(names); i++)
        if (strlen(names[i].name) == n && !strncmp(names[i].name, *s, n)) {
            *s += n;
            return names[i].type;
        }
    ctx_fail(cx, ST_INTERNAL, NULL, "no element type at: %s", *s);
}

/* "[2,N=3]": extents in t, index forms in dim; a name stands for its symbol, whose value is kept.
 */
static const char *read_dims(Run *r, const char *s, Tensor *t, const Ix **dim)
{
    Pool *p = r->g->pool;
    for (s = past_space(s + 1); *s != ']'; s = *s == ',' ? past_space(s + 1) : s) {
        size_t n = strcspn(s, "=,]");
        const char *name = s[n] == '=' ? ctx_strndup(r->cx, s, n) : NULL;
        char *end;
        int64_t extent = strtoll(name ? s + n + 1 : s, &end, 10);
        const Sym *sym = name ? ix_sym_named(p, name) : NULL;
        if (sym)
            r->sym[sym->id] = extent;
        dim[t->rank] = sym ? ix_of_sym(p, sym) : ix_int(p, extent);
        t->dim[t->rank++] = extent;
        s = past_space(end);
    }
    return past_space(s + 1);
}

static Scalar read_scalar(DType t, const char *s, const char **end)
{
    if (dtype_is_float(t))
        return scalar_f(t, parse_double(s, end));
    char *e;
    uint64_t u = *s == '-' ? (uint64_t)strtoll(s, &e, 10) : strtoull(s, &e, 10);
    *end = e;
    return (Scalar){.u = u};
}

/* A tensor; one element given stands for all. Stops at ';' or the end. */
static Tensor *read_tensor(Run *r, const char **at, const Ix **dim)
{
    const char *s = *at, *end;
    Tensor head = {.type = short_type(r->cx, &s)};
    s = read_dims(r, s, &head, dim);
    Tensor *t = tensor_new(r->cx, head.type, head.rank, head.dim);
    int64_t n = 0;
    for (; *s && *s != ';'; s = past_space(end)) {
        Scalar x = read_scalar(t->type, s, &end);
        if (end == s || n >= t->count)
            ctx_fail(r->cx, ST_INTERNAL, NULL, "not an element of the tensor: %s", s);
        scalar_store(t->type, t->data, n++, x);
    }
    if (n != t->count && n != 1)
        ctx_fail(r->cx, ST_INTERNAL, NULL, "%lld elements of %lld", (long long)n,
            (long long)t->count);
    for (; n > 0 && n < t->count; n++)
        scalar_store(t->type, t->data, n, scalar_load(t->type, t->data, 0));
    *at = s;
    return t;
}

static Value *read_input(Run *r, const char **at, int k)
{
    bool constant = **at == '#';
    const Ix *dim[MAX_RANK];
    *at += constant;
    Tensor *t = read_tensor(r, at, dim);
    const char *name = ctx_printf(r->cx, "in%d", k);
    if (constant)
        return graph_constant(r->g, name, t);
    Value *v = graph_value(r->g, name);
    v->is_input = true;
    v->type = t->type;
    v->rank = t->rank;
    v->dim = NEW_N(r->cx, const Ix *, t->rank);
    if (t->rank)
        memcpy(v->dim, dim, (size_t)t->rank * sizeof *dim);
    map_put(&r->inputs, &v->id, sizeof v->id, t);
    return v;
}

static void read_inputs(Run *r, const char *s)
{
    VEC(Value *) in = {0};
    for (s = past_space(s); *s; s = *s == ';' ? past_space(s + 1) : s) {
        Value *v = NULL;
        if (*s == '_')
            s = past_space(s + 1);
        else
            v = read_input(r, &s, in.n);
        VEC_PUSH(r->cx, &in, v);
    }
    r->node->in = in.at;
    r->node->n_in = in.n;
}

static void read_attr(Ctx *cx, Attr *a, const char *value, size_t n)
{
    const char *last = value + n - 1;
    VEC(int64_t) ints = {0};
    VEC(float) floats = {0};
    a->s = ctx_strndup(cx, value, n);
    a->s_len = (int)n;
    if (*value == '[' && memchr(value, 'f', n)) {
        for (const char *s = value + 1; *s != ']'; s += strcspn(s, ",]"), s += *s == ',')
            VEC_PUSH(cx, &floats, (float)parse_double(s, &last));
        a->kind = ATTR_FLOATS;
        a->floats = floats.at;
        a->n = floats.n;
    } else if (*value == '[') {
        for (char *s = (char *)value + 1; *s != ']'; s += *s == ',')
            VEC_PUSH(cx, &ints, strtoll(s, &s, 10));
        a->kind = ATTR_INTS;
        a->ints = ints.at;
        a->n = ints.n;
    } else if (isalpha((unsigned char)*value))
        a->kind = ATTR_STRING;
    else if (*last == 'f') {
        a->kind = ATTR_FLOAT;
        a->f = (float)parse_double(value, &last);
    } else {
        a->kind = ATTR_INT;
        a->i = strtoll(value, NULL, 10);
    }
}

static void read_tensor_attr(Run *r, Attr *a, const char *value, size_t n)
{
    const char *text = ctx_strndup(r->cx, value + 1, n - 2);
    const Ix *dim[MAX_RANK];
    a->kind = ATTR_TENSOR;
    a->tensor = read_tensor(r, &text, dim);
}

static void read_attrs(Run *r, const char *s)
{
    VEC(Attr) attrs = {0};
    for (s = past_space(s); *s; s = past_space(s)) {
        size_t name = strcspn(s, "=") + 1, value = strcspn(s + name, " ");
        Attr a = {.name = ctx_strndup(r->cx, s, name - 1)};
        if (s[name] == '{')
            read_tensor_attr(r, &a, s + name, value = strcspn(s + name, "}") + 1);
        else
            read_attr(r->cx, &a, s + name, value);
        VEC_PUSH(r->cx, &attrs, a);
        s += name + value;
    }
    r->node->attr = attrs.at;
    r->node->n_attr = attrs.n;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static const Tensor *input_of(void *user, const Value *v)
{
    Run *r = user;
    return map_get(&r->inputs, &v->id, sizeof v->id);
}

/* What binding inputs does: values of the symbols that come from data, then the guards. */
static void bind(Run *r, Interp *it)
{
    for (int i = 0; i < pool_n_syms(r->g->pool); i++)
        if (pool_sym(r->g->pool, i)->source)
            r->sym[i] = interp_expr(it, pool_sym(r->g->pool, i)->source).i;
    for (int i = 0; i < r->g->guards.n; i++)
        if (!interp_expr(it, r->g->guards.at[i].cond).u)
            ctx_fail(r->cx, ST_INPUT, NULL, "%s", r->g->guards.at[i].what);
}

static bool close_enough(DType t, Scalar a, Scalar e)
{
    if (!dtype_is_float(t))
        return a.u == e.u;
    if (isnan(e.f) || isinf(e.f) || e.f == 0)
        return isnan(e.f) ? isnan(a.f) : fabs(a.f - e.f) < 1e-30 || a.f == e.f;
    double step = t == DT_F64 ? 1e-12 : t == DT_F32 ? 2e-6 : t == DT_F16 ? 1e-3 : 8e-3;
    return fabs(a.f - e.f) <= step * fabs(e.f);
}

static void print_elements(Buf *b, const Tensor *t)
{
    for (int64_t i = 0; i < t->count && i < 32; i++) {
        buf_puts(b, " ");
        Scalar s = scalar_load(t->type, t->data, i);
        if (dtype_is_float(t->type))
            buf_double(b, s.f);
        else
            buf_printf(b, "%lld", (long long)s.i);
    }
}

static void compare(Run *r, int k, const Tensor *got, const Tensor *want)
{
    bool ok = got->type == want->type && got->rank == want->rank;
    for (int i = 0; ok && i < got->rank; i++)
        ok = got->dim[i] == want->dim[i];
    for (int64_t i = 0; ok && i < got->count; i++)
        ok = close_enough(got->type, scalar_load(got->type, got->data, i),
            scalar_load(want->type, want->data, i));
    if (ok)
        return;
    Buf b;
    buf_init(&b, r->cx);
    for (int i = 0; i < got->rank; i++)
        buf_printf(&b, "%s%lld", i ? "," : "", (long long)got->dim[i]);
    buf_puts(&b, "]");
    print_elements(&b, got);
    ctx_fail(r->cx, ST_INTERNAL, NULL, "output %d is %s[%s", k, dtype_text(got->type), b.s);
}

static int count_outputs(const char *s)
{
    int n = 1;
    for (; *s; s++)
        n += *s == ';';
    return n;
}

static void compare_outputs(Run *r, Interp *it, const char *s)
{
    for (int k = 0; k < r->node->n_out; k++) {
        const Ix *dim[MAX_RANK];
        s = past_space(s);
        if (*s == '_')
            s = past_space(s + 1);
        else {
            Tensor *want = read_tensor(r, &s, dim);
            const Value *v = r->node->out[k];
            compare(r, k, v->data ? v->data : interp_def(it, v->def), want);
        }
        s += *s == ';';
    }
}

static void run_case(Run *r, const OpCase *c)
{
    r->g = graph_new(r->cx, NULL);
    r->node = graph_node(r->g, c->op, "", c->opset);
    map_init(&r->inputs, r->cx);
    read_inputs(r, c->in);
    read_attrs(r, c->attrs);
    bool fails = !strncmp(c->out, "error: ", 7);
    r->node->n_out = fails ? 1 : count_outputs(c->out);
    r->node->out = NEW_N(r->cx, Value *, r->node->n_out);
    for (int k = 0; k < r->node->n_out; k++)
        r->node->out[k] = graph_value(r->g, ctx_printf(r->cx, "out%d", k));
    const OpDef *op = op_find(c->op, "", c->opset);
    if (!op)
        ctx_fail(r->cx, ST_UNSUPPORTED, NULL, "no operator %s of version %d", c->op, c->opset);
    Op o = {r->g, r->node, r->cx, r->g->pool, c->opset};
    op->define(&o);
    Interp *it = interp_new(r->cx, r->g->pool, input_of, r, r->sym);
    bind(r, it);
    if (!fails)
        compare_outputs(r, it, c->out);
    else
        for (int k = 0; k < r->node->n_out; k++)
            interp_def(it, r->node->out[k]->def);
}

/* True when the case went as expected. */
static bool check_case(const OpCase *c)
{
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Run r = {.cx = &cx};
    volatile bool done = false;
    TRY(&cx) {
        run_case(&r, c);
        done = true;
    }
    bool fails = !strncmp(c->out, "error: ", 7);
    const char *message = cx.problems ? cx.problems->message : "no error";
    bool ok = fails ? !done && strstr(message, c->out + 7) : done;
    if (!ok)
        print_error("%s-%d {%s} (%s)\n    wanted %s\n    but: %s\n", c->op, c->opset, c->attrs,
            c->in, c->out, message);
    ctx_free(&cx);
    return ok;
}

void check_op_cases(const OpCase *c, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++)
        bad += !check_case(&c[i]);
    assert_int_equal(bad, 0);
}
