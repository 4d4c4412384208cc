/* generate.h: inputs that nobody gave. */
#ifndef SINTER_CLI_GENERATE_H
#define SINTER_CLI_GENERATE_H
#include "sinter.h"

/* Fills a tensor with numbers evenly spread over [lo, hi): integers rounded down, bools true from
 * 0.5 on. */
void generate(const sinter_tensor *tensor, const char *name, uint64_t seed, double lo, double hi);
/* The range for an input that no option describes. */
void default_range(sinter_dtype type, double *lo, double *hi);

#endif
