/* inputs.h: the values that a model is run with. */
#ifndef SINTER_CLI_INPUTS_H
#define SINTER_CLI_INPUTS_H
#include "cli.h"
#include <jansson.h>

/* A symbolic dim of the inputs. The order of `how` is that of authority. */
typedef struct DimBinding {
    const char *name;
    int64_t size;
    enum { DIM_UNKNOWN, DIM_DEFAULT, DIM_FROM_INPUT, DIM_GIVEN } how;
} DimBinding;

typedef struct Inputs {
    int n;
    sinter_io *io;
    sinter_value **value; /* NULL: the model's own default (an input that is also an initializer) */
    int n_dims;
    DimBinding *dims;
} Inputs;

/* Makes all inputs of the model by --input, --dim, --shape; what is not given is generated, and
 * said so. */
sinter_code inputs_make(const Args *args, const sinter_model *model, Inputs *in, sinter_error *err);
void inputs_free(Inputs *in);
/* "[batch, 3, ?]": the shape that a model declares. */
const char *show_io_shape(const sinter_io *io);
/* {"batch": 1, "seq": 8} */
json_t *inputs_dims_json(const Inputs *in);
/* Reads a .pb file; the tensor's name (may be "") is owned by the value. */
sinter_code value_read(const char *path, sinter_value **value, const char **name,
    sinter_error *err);

#endif
