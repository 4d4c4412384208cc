/* cgroup.c: CPU quotas of control groups.
 *
 * A container is usually limited not by affinity but by a quota: so many microseconds of CPU time
 * per period. A team larger than that is stopped in the middle of its work when the time is used
 * up, which costs far more than the missing thread; so quotas are rounded down. Version 2 keeps
 * "quota period" in cpu.max, version 1 two files.
 */
#include "runtime/cgroup.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

/* One line of mountinfo: id parent dev ROOT MOUNTPOINT options ... - TYPE source SUPER. */
typedef struct Mount {
    char root[LINE], point[LINE], type[64], super[LINE];
} Mount;

static bool parse_mount(const char *line, Mount *m)
{
    const char *tail = strstr(line, " - ");
    return tail && sscanf(line, "%*s %*s %*s %4095s %4095s", m->root, m->point) == 2 &&
        sscanf(tail, " - %63s %*s %4095s", m->type, m->super) == 2;
}

/* Whether a comma-separated list names `word`. */
static bool lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (!strncmp(p, word, n) && (p[n] == ',' || p[n] == '\0'))
            return true;
    return false;
}

/* This process's group: "0::PATH" for version 2, "N:...,cpu,...:PATH" for version 1. */
static bool group_path(const char *cgroup, bool v2, char *path)
{
    FILE *f = fopen(cgroup, "re");
    char line[LINE];
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL;
        if (!at)
            continue;
        *at++ = '\0';
        found = v2 ? !strcmp(line, "0:") : lists(list + 1, "cpu");
        strcpy(path, at);
    }
    if (f)
        fclose(f);
    return found;
}

/* The first two numbers of a file; false when there are none ("max" means no limit). */
static bool read_numbers(const char *folder, const char *name, long long *a, long long *b)
{
    char path[2 * LINE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "re");
    int n = f ? fscanf(f, "%lld %lld", a, b) : 0;
    if (f)
        fclose(f);
    return n >= 1;
}

static int64_t folder_quota(const char *folder, bool v2)
{
    long long quota = -1, period = 100000;
    if (v2 ? !read_numbers(folder, "cpu.max", &quota, &period)
           : !read_numbers(folder, "cpu.cfs_quota_us", &quota, &period) ||
                !read_numbers(folder, "cpu.cfs_period_us", &period, &(long long){0}))
        return INT64_MAX;
    if (quota <= 0 || period <= 0)
        return INT64_MAX;
    return quota < period ? 1 : quota / period;
}

/* The tightest of the group's own folder and all above it. The mount may show only a part of the
 * hierarchy, from `root` down: that much of the group's path is not in the file system. */
static int64_t mount_quota(const Mount *m, const char *group, bool v2)
{
    size_t skip = strcmp(m->root, "/") ? strlen(m->root) : 0, base = strlen(m->point);
    bool below = !strncmp(group, m->root, skip) && (group[skip] == '/' || group[skip] == '\0');
    char folder[2 * LINE];
    snprintf(folder, sizeof folder, "%s%s", m->point, below ? group + skip : "");
    int64_t least = INT64_MAX;
    for (;;) {
        int64_t q = folder_quota(folder, v2);
        least = q < least ? q : least;
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < base)
            return least;
        *slash = '\0';
    }
}

int64_t cgroup_cpus(const char *mountinfo, const char *cgroup)
{
    FILE *f = fopen(mountinfo, "re");
    char line[LINE], group[LINE];
    int64_t least = INT64_MAX;
    Mount m;
    while (f && fgets(line, sizeof line, f)) {
        if (!parse_mount(line, &m))
            continue;
        bool v2 = !strcmp(m.type, "cgroup2"),
             v1 = !strcmp(m.type, "cgroup") && lists(m.super, "cpu");
        if ((v1 || v2) && group_path(cgroup, v2, group)) {
            int64_t q = mount_quota(&m, group, v2);
            least = q < least ? q : least;
        }
    }
    if (f)
        fclose(f);
    return least;
}
