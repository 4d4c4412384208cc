/* tensor.h: a TensorProto as the output judge sees it. */
#ifndef ZOOFILL_TENSOR_H
#define ZOOFILL_TENSOR_H
#include "wire.h"

#define TENSOR_RANK 16

typedef enum { OF_FLOATS, OF_INTEGERS, OF_STRINGS } ValueClass;

/* Floats of every width as double, integers and bools as int64 (uint64 by its bits), strings as
 * spans. */
typedef struct {
    int dtype, rank;
    int64_t dim[TENSOR_RANK];
    uint64_t count;
    ValueClass class;
    double *floats;
    int64_t *integers;
    Span *strings; /* parts of the message */
    Span message;
} Values;

/* The TensorProto in a file. */
Values values_read(const char *path);
void values_free(Values *v);
/* Sets the class and the count from dtype and dims. */
void values_shape(Values *v, const char *where);
#endif
