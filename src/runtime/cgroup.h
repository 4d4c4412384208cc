/* cgroup.h: how many CPUs the control groups of this process leave it. */
#ifndef SINTER_CGROUP_H
#define SINTER_CGROUP_H
#include <stdint.h>

/* The smallest CPU quota, in whole CPUs (at least 1), on the way from this process's group to the
 * root of each hierarchy, version 1 and 2; INT64_MAX without a quota. The arguments are what
 * /proc/self/mountinfo and /proc/self/cgroup hold (paths, so that tests can give their own). Files
 * that can't be read set no limit. */
int64_t cgroup_cpus(const char *mountinfo, const char *cgroup);

#endif
