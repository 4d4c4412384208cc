/* spec.h: the grammar of --input, --dim and --shape.
 *
 *     SPEC  = DIR | NAME=@FILE.npy | NAME=@FILE.pb | NAME=@FILE.npz[:KEY] | NAME=rand:SEED:LO:HI |
 * NAME=1,2,3 DIM   = NAME=N           the last '=' divides SHAPE = NAME:1x3x8       the last ':'
 * divides; NAME: alone is a scalar
 *
 * Names of a model may hold '=' and ':': the first '=' that is followed by '@', "rand:" or a number
 * ends the name.
 */
#ifndef SINTER_CLI_SPEC_H
#define SINTER_CLI_SPEC_H
#include "cli.h"

typedef enum { SPEC_FOLDER, SPEC_NPY, SPEC_PB, SPEC_NPZ, SPEC_RAND, SPEC_LIST } SpecKind;

typedef struct Spec {
    SpecKind kind;
    const char *name;       /* NULL for a folder */
    const char *path, *key; /* key: NULL when not given */
    uint64_t seed;
    double lo, hi;
    StrList numbers; /* as written: their type is the input's */
} Spec;

sinter_code spec_parse(const char *text, Spec *spec, sinter_error *err);
sinter_code dim_parse(const char *text, const char **name, int64_t *size, sinter_error *err);

typedef struct ShapeSpec {
    const char *name;
    int rank;
    int64_t dim[SINTER_MAX_RANK];
} ShapeSpec;
sinter_code shape_parse(const char *text, ShapeSpec *shape, sinter_error *err);

/* The folder that holds a data set's files: `path` itself, or its test_data_set_0 when `path` has
 * no PREFIX_K.pb. */
const char *data_set_folder(const char *path, const char *prefix);
/* Numbers K of the files PREFIX_K.pb of a folder, ascending; the count is returned, -1 when it
 * can't be read. */
int data_set_files(const char *folder, const char *prefix, int **numbers);

#endif
