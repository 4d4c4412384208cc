/* ir_text.h: index forms, expressions and definitions as text, and back.
 *
 *     input %x: float32[n, 8]                                      a value that exists
 *     %y: float32[i0<n, j1<4] order 1,0 = sum:float32(k2<8; mul(%x[i0, (2*k2 + j1)], 0.5:float32))
 *
 * Variables are a small letter (not u) and their number; symbols that look so, and other odd names,
 * are quoted. Values without a name, and twins of older ones, have #number behind: %#7, %w#9.
 * Constants have their type behind, except i64 and bool; NaN are followed by their bits. at(e in
 * lo..hi) is an index that data choose.
 *
 * Reading builds through the constructors of expr.h, so what is read is in normal form; what was
 * printed in a pool reads in that pool as the same pointers. Texts are a developer's: the first
 * error unwinds (ST_USAGE, with its line), but no text may crash. Not in the text: to which nodes a
 * definition belongs.
 */
#ifndef SINTER_IR_TEXT_H
#define SINTER_IR_TEXT_H
#include "graph/graph.h"

bool ir_is_var_name(const char *s);
void ir_print_value(Buf *b, const Value *v);
void ir_print_vars(Buf *b, int n, const Var *const *v); /* i0<4, j1<n */
void ir_print_order(Buf *b, const Value *v);            /* nothing when row-major */
void ir_print_decl(Buf *b, const Value *v);

/* A text under way, and what its names mean. */
typedef struct IrReader {
    Ctx *cx;
    Pool *pool;
    Graph *graph; /* its values are known by their texts; new ones are added */
    const char *text, *at;
    int depth;
    Map vars;   /* "i0" -> Var */
    Map values; /* "%x" -> Value */
} IrReader;
void ir_open(IrReader *r, Graph *g, const char *text);
void ir_next(IrReader *r, const char *text); /* another text; names keep their meaning */
/* what i0 means; else i0<extent makes a new variable */
void ir_know_var(IrReader *r, const Var *v);

const Ix *ir_ix(IrReader *r);
const Expr *ir_expr(IrReader *r);
Def *ir_def(IrReader *r);         /* sets its value's def */
Value *ir_decl(IrReader *r);      /* input, const or value; NULL if none comes next */
const Var *ir_new_var(IrReader *r); /* i0<extent */
int ir_vars(IrReader *r, const Var **v, int max); /* a list of these, up to a closing bracket */
const Var *ir_var(IrReader *r);     /* a known variable */
Value *ir_value(IrReader *r);       /* a known value */
int ir_index(IrReader *r, const Ix **idx); /* [ix, ix]: how many */
DType ir_dtype(IrReader *r);
Red ir_red(IrReader *r);
int64_t ir_int(IrReader *r);
char *ir_word(IrReader *r);
bool ir_accept(IrReader *r, const char *token);
bool ir_accept_word(IrReader *r, const char *word); /* as a whole word */
void ir_expect(IrReader *r, const char *token);
bool ir_at_end(IrReader *r);
void ir_bad(IrReader *r, const char *wanted) NORETURN;
/* Every declaration and definition up to the end. */
typedef VEC(Def *) Defs;
void ir_defs(IrReader *r, Defs *out);

#endif
