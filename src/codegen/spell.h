/* spell.h: how the scalar language is written in C: types, constants, primitives, loads and stores.
 *
 * What is printed compiles with gcc, clang and tcc behind the text of body_c_prelude, includes
 * nothing, and means the same with each: integer arithmetic wraps, conversions saturate, nothing
 * depends on the locale, and no expression is left to the compiler to contract or reorder. Operands
 * are the names of locals (or what spell_const printed); each print is one operation, so nothing
 * nests.
 *
 * A local holding a value of type t has the C type spell_ctype(t): float16 and bfloat16 are floats
 * already rounded to the type, bool is an unsigned byte that is 0 or 1.
 *
 * Integer division reports through `sn_err`, an `int *` that must be in scope wherever P_div or
 * P_mod of integers is printed; it may be null. A zero divisor stores SN_DIV0 (1) there, and the
 * result is 0.
 */
#ifndef SINTER_SPELL_H
#define SINTER_SPELL_H
#include "graph/expr.h"

/* Typedefs sn_i8..sn_u64, the sn_ helpers as static inline functions, prototypes of the libm
 * functions used. */
extern const char body_c_prelude[];

const char *spell_ctype(DType t);   /* of a local */
const char *spell_memtype(DType t); /* of an element in memory: differs for float16 and bfloat16 */
void spell_const(Buf *out, DType t, Scalar k);

/* The expression of primitive p over operands of type `in` (of P_select: the type of the chosen
 * values). Its result has the type `out_type` and is rounded to it. */
void spell_prim(Buf *out, Prim p, DType in, DType out_type, const char *const *arg);
/* Does the C spelling of p exist for operands of this type? */
bool spell_has(Prim p, DType in);

/* Element `index` of the memory at `ptr` (any object pointer): an expression; and the assignment to
 * it, with its semicolon. The store takes a value of type t; see above for what a value of t is. */
void spell_load(Buf *out, DType t, const char *ptr, const char *index);
void spell_store(Buf *out, DType t, const char *ptr, const char *index, const char *value);

#endif
