/* npy.h: NumPy's .npy arrays and .npz archives of them, as values. */
#ifndef SINTER_CLI_NPY_H
#define SINTER_CLI_NPY_H
#include "sinter.h"
#include <stdbool.h>

/* Reads an array (format 1 to 3, C or Fortran order) from memory; `where` names it in messages. */
sinter_code npy_parse(const char *bytes, size_t n, const char *where, sinter_value **value,
    sinter_error *err);
sinter_code npy_read(const char *path, sinter_value **value, sinter_error *err);
/* The array `key` of an archive. Without a key: the one called `name`, or else the only one. */
sinter_code npz_read(const char *path, const char *key, const char *name, sinter_value **value,
    sinter_error *err);

/* Whether an array of the type can be written. */
bool npy_holds(sinter_dtype type);
/* The file image of a value, malloc'ed. */
sinter_code npy_format(const sinter_tensor *tensor, char **bytes, size_t *n, sinter_error *err);
/* Writes an archive of n arrays under their names, atomically. */
sinter_code npz_write(const char *path, int n, const char *const *name, const sinter_tensor *tensor,
    sinter_error *err);

#endif
