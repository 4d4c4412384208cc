/* element.h: element types by name and size, and one element of a tensor as a number. */
#ifndef SINTER_CLI_ELEMENT_H
#define SINTER_CLI_ELEMENT_H
#include "sinter.h"
#include <stdbool.h>

typedef enum {
    CLASS_FLOAT, CLASS_SIGNED, CLASS_UNSIGNED, CLASS_BOOL, CLASS_COMPLEX, CLASS_OTHER
} ElementClass;

const char *dtype_name(sinter_dtype t); /* "float32", "int64"...; unknown numbers: "type 23" */
int dtype_size(sinter_dtype t);         /* bytes of one element; 0: not a fixed size */
ElementClass dtype_class(sinter_dtype t);

/* Element i of a float, integer or bool tensor. For complex types i counts the parts (real,
 * imaginary). */
double element_get(sinter_dtype t, const void *data, int64_t i);
int64_t element_signed(sinter_dtype t, const void *data, int64_t i);
uint64_t element_unsigned(sinter_dtype t, const void *data, int64_t i);
/* Rounds to nearest even for 16-bit floats; clamps for integers. */
void element_set(sinter_dtype t, void *data, int64_t i, double x);
/* Reads a number as the type has it: all 64 bits of integers. False when `text` is not one or is
 * out of range. */
bool element_parse(sinter_dtype t, void *data, int64_t i, const char *text);
/* Prints element i into `out` (at least 64 bytes); `digits` significant ones for floats. */
void element_print(sinter_dtype t, const void *data, int64_t i, int digits, char *out);

#endif
