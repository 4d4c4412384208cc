/* cast.c: conversions between element types. */
#include "graph/ops/map.h"

static void cast_to(Op *o, DType to)
{
    const Value *x = op_in(o, 0, T_ANY);
    op_attr_i(o, "saturate", 1); /* both are about 8-bit floats alone */
    op_attr_s(o, "round_mode", "up");
    if (!dtype_computes(to))
        op_unsupported(o, "conversion from %s to %s", dtype_text(x->type), dtype_text(to));
    Build b = op_out(o, 0, to, x->rank, x->dim);
    build_map(&b, ex_cast(o->pool, to, op_load(o, x, b.i)));
}

/* Version 1 names the type: "FLOAT", "INT64"... */
static DType type_named(Op *o, const char *name)
{
    static const struct {
        const char *name;
        DType type;
    } names[] = {{"FLOAT", DT_F32}, {"DOUBLE", DT_F64}, {"FLOAT16", DT_F16}, {"INT8", DT_I8},
        {"INT16", DT_I16}, {"INT32", DT_I32}, {"INT64", DT_I64}, {"UINT8", DT_U8},
        {"UINT16", DT_U16}, {"UINT32", DT_U32}, {"UINT64", DT_U64}, {"BOOL", DT_BOOL}};
    for (int i = 0; i < NELEM(names); i++)
        if (!strcmp(names[i].name, name))
            return names[i].type;
    op_error(o, "attribute 'to' is '%s', which is no element type", name);
}

/* Cast (ai.onnx 1, 6, 9, 13, 19, 21, 23, 24, 25): to the type of the attribute. Integers wrap; a
 * float is truncated toward zero and saturates; bool is x != 0. */
static void cast(Op *o)
{
    if (!op_has_attr(o, "to"))
        op_error(o, "attribute 'to' is required");
    if (o->opset < 6) {
        cast_to(o, type_named(o, op_attr_s(o, "to", "")));
        return;
    }
    int64_t to = op_attr_i(o, "to", 0);
    if (to <= DT_NONE || to >= DT_COUNT)
        op_error(o, "attribute 'to' is %lld, which is no element type", (long long)to);
    cast_to(o, (DType)to);
}
OP("Cast", "", 1, cast)

/* CastLike (ai.onnx 15, 19, 21, 23, 24, 25): to the type of the second input. */
static void cast_like(Op *o) { cast_to(o, op_in(o, 1, T_ANY)->type); }
OP("CastLike", "", 15, cast_like)
