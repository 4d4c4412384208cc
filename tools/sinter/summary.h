/* summary.h: a tensor as people read it. */
#ifndef SINTER_CLI_SUMMARY_H
#define SINTER_CLI_SUMMARY_H
#include "cli.h"
#include <jansson.h>

typedef struct Statistics {
    double min, max, mean; /* of the finite values */
    int64_t not_finite, numbers;
} Statistics;

Statistics statistics(const sinter_tensor *t);
/* Names of the indices along the last axis, one a line; NULL path gives an empty list. */
sinter_code labels_read(const char *path, StrList *labels, sinter_error *err);
void summary_text(const char *name, const sinter_tensor *t, int top, const StrList *labels);
json_t *summary_json(const char *name, const sinter_tensor *t, int top, const StrList *labels);
/* One row: name, type, shape, count, min, max, mean. */
void summary_row(const char *name, const sinter_tensor *t, Format format);

/* Prints the cells of one CSV or Markdown row. */
void print_row(Format format, int n, const char *const *cell);
void print_header(Format format, int n, const char *const *cell);

#endif
