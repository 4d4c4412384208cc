/* reference.h: the program that others are judged by. */
#ifndef SINTER_CLI_REFERENCE_H
#define SINTER_CLI_REFERENCE_H
#include "compare.h"
#include "session.h"

/* The verdict on one output. */
typedef struct Verdict {
    Comparison comparison;
    const char *name;
    const char *expected, *actual; /* the worst element, printed; "" when all are equal */
    const char *worst_index;
    sinter_dtype dtype;
    int rank;
    int64_t dim[SINTER_MAX_RANK];
} Verdict;

typedef struct Judgement {
    const char *reference; /* "interpreter" or "scalar unfused" */
    bool same;
    double max_ulp, max_abs;
    int n;
    Verdict *verdict;
} Judgement;

/* Compiles and runs the reference on the session's inputs and compares the outputs that
 * session->main has now. */
sinter_code judge(Session *s, Judgement *j, sinter_error *err);

#endif
