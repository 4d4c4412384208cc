/* body_internal.h: what the files of the body IR share. */
#ifndef SINTER_BODY_INTERNAL_H
#define SINTER_BODY_INTERNAL_H
#include "codegen/body.h"

DType body_value_type(DType port); /* the type of a value loaded from such a port */
bool body_is_reduction(BodyOp op);
bool body_has_value(BodyOp op);

/* What combines two partial results of a reduction, and what it starts from (read as type t). */
Prim body_red_prim(BodyOp red);
Scalar body_red_identity(BodyOp red, DType t);

#endif
