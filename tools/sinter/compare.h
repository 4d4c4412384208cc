/* compare.h: how far one tensor is from what it should be. */
#ifndef SINTER_CLI_COMPARE_H
#define SINTER_CLI_COMPARE_H
#include "sinter.h"
#include <stdbool.h>

/* Floats: |actual - expected| <= atol + rtol * |expected|. Negative: the default of the element
 * type, which is rtol 1e-3 and atol 1e-5 * max|expected|, for 16-bit floats 1e-2 and 1e-3 *
 * max|expected|. All else must be equal. */
typedef struct Tolerance {
    double rtol, atol;
} Tolerance;

typedef struct Comparison {
    bool same;           /* within the tolerance everywhere */
    const char *problem; /* type or shape differ: says so; else NULL and the rest holds */
    int64_t differing;   /* elements outside the tolerance */
    int64_t worst; /* the element farthest outside, or farthest off; -1: all are equal */
    double max_abs; /* largest |actual - expected|; infinite where just one is NaN or infinite */
    double max_ulp; /* largest distance in units of the last place; integers: the difference */
} Comparison;

Comparison compare_tensors(const sinter_tensor *expected, const sinter_tensor *actual,
    Tolerance tolerance);
/* "[0, 3, 17]": the index vector of flat element i. */
const char *show_index(const sinter_tensor *t, int64_t i);

#endif
