/* threads.h: fork-join over a persistent team. One pinned helper per extra CPU; a helper spins
 * about 0.3 ms after its last work, then sleeps on a futex. Not for nesting. */
#ifndef SINTER_THREADS_H
#define SINTER_THREADS_H
#include "base/base.h"

typedef struct Team Team;
typedef int (*TeamFn)(void *arg, int64_t lo, int64_t hi, int thread);
/* CPUs that affinity and cgroup quotas (v1 and v2) allow; at least 1. */
int threads_allowed(void);
/* A team of n threads, the caller included (n = 1: no helper). Raises ST_MEMORY / ST_RUNTIME;
 * released with cx. */
Team *team_new(Ctx *cx, int n);
int team_size(const Team *t);
/* Calls fn over [0, n) split into at most team_size contiguous slices of near-equal length, each a
 * multiple of `grain` (the last may be shorter); returns the first non-zero result (lowest slice).
 * Only one caller at a time. */
int team_run(Team *t, int64_t n, int64_t grain, TeamFn fn, void *arg);

#endif
