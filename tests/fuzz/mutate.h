/* mutate.h: mutants of ONNX files that keep most of the structure, so that they get past the first
 * checks.
 *
 * Half of the mutants (even seeds) are edits of the tree of messages, written out again with all
 * lengths right; the other half (odd seeds) are edits of bytes, with lengths left as they were.
 * Weights are edited rarely: at most one edit in ten. The same seed and file give the same mutant
 * everywhere.
 */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H
#include "support/onnx_pb.h"

typedef struct MutantStats {
    int64_t edits, edits_in_weights, repaired, mutants;
} MutantStats;

/* A mutant of the model, on the heap (pb_free). */
Pb mutant_make(const uint8_t *model, size_t n, uint64_t seed, MutantStats *stats);
#endif
