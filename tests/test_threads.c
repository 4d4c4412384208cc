/* test_threads.c: a team runs every element once, reports the first error, and ends with its Ctx.
 */
#include "base/base.h"
#include "runtime/cgroup.h"
#include "runtime/threads.h"
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

enum { MAX_N = 257, SIZES = 5 };

/* What the slices of one run report; each element of `seen` is written by whoever was given it. */
typedef struct Log {
    int seen[MAX_N];
    int64_t n, grain;
    atomic_int slices, wrong;
    int64_t length[64];
} Log;

static int mark(void *arg, int64_t lo, int64_t hi, int thread)
{
    Log *g = arg;
    atomic_fetch_add(&g->slices, 1);
    if (lo >= hi || lo % g->grain || (hi % g->grain && hi != g->n))
        atomic_fetch_add(&g->wrong, 1);
    g->length[thread] = hi - lo;
    for (int64_t i = lo; i < hi; i++)
        g->seen[i]++;
    return 0;
}

static void check_run(Team *t, int64_t n, int64_t grain)
{
    Log g = {.n = n, .grain = grain};
    assert_int_equal(team_run(t, n, grain, mark, &g), 0);
    int64_t units = (n + grain - 1) / grain, slices = MIN(units, team_size(t));
    assert_int_equal(g.slices, slices);
    assert_int_equal(g.wrong, 0);
    for (int64_t i = 0; i < MAX_N; i++)
        assert_int_equal(g.seen[i], i < n);
    for (int64_t i = 0; i < slices; i++)
        assert_true(g.length[i] <= (units / slices + 1) * grain);
}

/* Opens a Ctx with a team of n; fails the test if that unwinds. */
static Team *team_in(Ctx *cx, int n)
{
    Team *volatile t = NULL;
    ctx_init(cx, alloc_default());
    TRY(cx)
        t = team_new(cx, n);
    CATCH
        fail_msg("%s", cx->problems->message);
    return t;
}

static void every_element_runs_once(void **state)
{
    (void)state;
    static const int64_t ns[] = {1, 2, 3, 7, 64, 100, MAX_N}, grains[] = {1, 2, 5, 64, 1000};
    for (int size = 1; size <= SIZES; size++) {
        Ctx cx;
        Team *t = team_in(&cx, size);
        assert_int_equal(team_size(t), size);
        for (int i = 0; i < NELEM(ns); i++)
            for (int j = 0; j < NELEM(grains); j++)
                check_run(t, ns[i], grains[j]);
        ctx_free(&cx);
    }
}

static void nothing_runs_for_no_elements(void **state)
{
    (void)state;
    Ctx cx;
    Team *t = team_in(&cx, 3);
    Log g = {.grain = 1};
    assert_int_equal(team_run(t, 0, 1, mark, &g), 0);
    assert_int_equal(team_run(t, -5, 1, mark, &g), 0);
    assert_int_equal(g.slices, 0);
    ctx_free(&cx);
}

typedef struct Ends {
    int64_t lo[SIZES], hi[SIZES];
} Ends;

static int note_ends(void *arg, int64_t lo, int64_t hi, int thread)
{
    Ends *e = arg;
    e->lo[thread] = lo;
    e->hi[thread] = hi;
    return 0;
}

static void huge_extents_do_not_overflow(void **state)
{
    (void)state;
    static const int64_t grains[] = {1, 3, INT64_MAX / 4, INT64_MAX - 1};
    Ctx cx;
    Team *t = team_in(&cx, SIZES);
    for (int i = 0; i < NELEM(grains); i++) {
        Ends e = {0};
        int64_t at = 0;
        team_run(t, INT64_MAX, grains[i], note_ends, &e);
        for (int s = 0; s < SIZES && at < INT64_MAX; s++) {
            assert_true(e.lo[s] == at && e.hi[s] > at && at % grains[i] == 0);
            at = e.hi[s];
        }
        assert_true(at == INT64_MAX);
    }
    ctx_free(&cx);
}

/* Later slices fail sooner, so the order of time is not the order of slices. */
static int fail_late(void *arg, int64_t lo, int64_t hi, int thread)
{
    (void)hi;
    int first = *(int *)arg;
    if (thread < first)
        return 0;
    nanosleep(&(struct timespec){.tv_nsec = 1000000 * (SIZES - thread)}, NULL);
    return 100 + (int)lo;
}

static void the_lowest_slices_error_is_returned(void **state)
{
    (void)state;
    Ctx cx;
    Team *t = team_in(&cx, SIZES);
    for (int first = 0; first <= SIZES; first++)
        assert_int_equal(team_run(t, SIZES, 1, fail_late, &first), first < SIZES ? 100 + first : 0);
    ctx_free(&cx);
}

static int add_plain(void *arg, int64_t lo, int64_t hi, int thread)
{
    (void)thread;
    int64_t *sum = arg;
    for (int64_t i = lo; i < hi; i++)
        sum[i]++; /* not atomic: the join must order one run before the next */
    return 0;
}

static void ten_thousand_joins_lose_nothing(void **state)
{
    (void)state;
    Ctx cx;
    Team *t = team_in(&cx, 4);
    int64_t sum[16] = {0};
    for (int i = 0; i < 10000; i++)
        team_run(t, 1 + i % 16, 1, add_plain, sum);
    for (int i = 0; i < 16; i++)
        assert_int_equal(sum[i], 10000 / 16 * (16 - i));
    ctx_free(&cx);
}

/* Longer than the helpers look for work, so that each run wakes them and each end finds them
 * asleep. */
static void sleeping_helpers_wake(void **state)
{
    (void)state;
    Ctx cx;
    Team *t = team_in(&cx, 3);
    int64_t sum[3] = {0};
    for (int i = 0; i < 20; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        team_run(t, 3, 1, add_plain, sum);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(sum[i], 20);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    ctx_free(&cx);
}

static int thread_count(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    char line[256];
    int n = -1;
    while (f && n < 0 && fgets(line, sizeof line, f))
        sscanf(line, "Threads: %d", &n);
    if (f)
        fclose(f);
    return n;
}

static void a_team_ends_with_its_ctx(void **state)
{
    (void)state;
    int before = thread_count();
    for (int i = 0; i < 50; i++) {
        Ctx cx;
        team_in(&cx, 4);
        assert_true(thread_count() >= before + 3);
        ctx_free(&cx);
    }
    /* A joined thread may be listed for a moment longer; it must go away. */
    while (thread_count() > before)
        sched_yield();
}

/* Whether a team can be made when the nth allocation from now on fails; what was taken is given
 * back. */
static bool made_despite(Alloc *a, int64_t nth)
{
    volatile bool made = false;
    Ctx cx;
    ctx_init(&cx, a);
    a->fail_at = a->count + nth;
    TRY(&cx) {
        team_new(&cx, 3);
        made = true;
    }
    CATCH
        assert_int_equal(cx.problems->code, ST_MEMORY);
    a->fail_at = 0;
    ctx_free(&cx);
    return made;
}

static void no_failed_allocation_leaves_threads_or_memory(void **state)
{
    (void)state;
    Alloc *a = alloc_default();
    int64_t live = a->live_bytes, nth = 1;
    for (; !made_despite(a, nth); nth++)
        assert_int_equal(a->live_bytes, live);
    assert_true(nth > 1);
    assert_int_equal(a->live_bytes, live);
}

static void affinity_limits_the_threads(void **state)
{
    (void)state;
    cpu_set_t old, one;
    assert_int_equal(sched_getaffinity(0, sizeof old, &old), 0);
    int allowed = threads_allowed();
    assert_true(allowed >= 1 && allowed <= CPU_COUNT(&old));
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &old))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(threads_allowed(), 1);
    Ctx cx; /* more threads than CPUs: slower, but right */
    check_run(team_in(&cx, 3), 100, 1);
    ctx_free(&cx);
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
}

/* ---- control groups -------------------------------------------------------------------------- */

/* A folder of files that look like /proc and /sys/fs/cgroup. */
typedef struct Tree {
    char root[64], path[256];
} Tree;

static const char *at(Tree *t, const char *name)
{
    snprintf(t->path, sizeof t->path, "%s/%s", t->root, name);
    return t->path;
}

/* "$" in the text stands for the tree's root. Folders on the way are made. */
static void put(Tree *t, const char *name, const char *text)
{
    for (char *slash = strchr(at(t, name) + strlen(t->root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(t->path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(t->path, "w");
    assert_non_null(f);
    for (; *text; text++)
        if (*text == '$')
            fputs(t->root, f);
        else
            fputc(*text, f);
    fclose(f);
}

static int64_t quota_of(const Tree *t)
{
    char mounts[128], group[128];
    snprintf(mounts, sizeof mounts, "%s/mountinfo", t->root);
    snprintf(group, sizeof group, "%s/cgroup", t->root);
    return cgroup_cpus(mounts, group);
}

static void tree_new(Tree *t)
{
    strcpy(t->root, "/tmp/sinter-cgroup-XXXXXX");
    assert_non_null(mkdtemp(t->root));
}

static void tree_free(Tree *t)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", t->root);
    assert_int_equal(system(command), 0);
}

static void the_tightest_v2_quota_on_the_way_to_the_root_counts(void **state)
{
    (void)state;
    Tree t;
    tree_new(&t);
    put(&t, "mountinfo",
        "31 23 0:28 / $/fs rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    put(&t, "cgroup", "0::/box/inner\n");
    assert_true(quota_of(&t) == INT64_MAX);
    put(&t, "fs/box/inner/cpu.max", "max 100000\n");
    assert_true(quota_of(&t) == INT64_MAX);
    put(&t, "fs/box/cpu.max", "350000 100000\n");
    assert_int_equal(quota_of(&t), 3);
    put(&t, "fs/cpu.max", "50000 100000\n"); /* half a CPU still runs one thread */
    assert_int_equal(quota_of(&t), 1);
    tree_free(&t);
}

static void a_v1_quota_counts_where_the_mount_shows_part_of_the_tree(void **state)
{
    (void)state;
    Tree t;
    tree_new(&t);
    put(&t, "mountinfo",
        "40 31 0:37 / $/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 /docker/77 $/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
    put(&t, "cgroup", "5:memory:/docker/77\n4:cpuset:/\n3:cpu,cpuacct:/docker/77/job\n");
    put(&t, "cpu/job/cpu.cfs_period_us", "50000\n");
    put(&t, "cpu/job/cpu.cfs_quota_us", "-1\n");
    assert_true(quota_of(&t) == INT64_MAX);
    put(&t, "cpu/cpu.cfs_period_us", "50000\n");
    put(&t, "cpu/cpu.cfs_quota_us", "100000\n");
    assert_int_equal(quota_of(&t), 2);
    tree_free(&t);
}

static void unreadable_groups_set_no_limit(void **state)
{
    (void)state;
    Tree t;
    tree_new(&t);
    assert_true(quota_of(&t) == INT64_MAX);
    put(&t, "mountinfo", "no such\nform - of line\n\n31 23 0:28 / $/fs rw - cgroup2 c rw\n");
    put(&t, "cgroup", "rubbish\n0:\n");
    assert_true(quota_of(&t) == INT64_MAX);
    tree_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_runs_once),
        cmocka_unit_test(nothing_runs_for_no_elements),
        cmocka_unit_test(huge_extents_do_not_overflow),
        cmocka_unit_test(the_lowest_slices_error_is_returned),
        cmocka_unit_test(ten_thousand_joins_lose_nothing),
        cmocka_unit_test(sleeping_helpers_wake),
        cmocka_unit_test(a_team_ends_with_its_ctx),
        cmocka_unit_test(no_failed_allocation_leaves_threads_or_memory),
        cmocka_unit_test(affinity_limits_the_threads),
        cmocka_unit_test(the_tightest_v2_quota_on_the_way_to_the_root_counts),
        cmocka_unit_test(a_v1_quota_counts_where_the_mount_shows_part_of_the_tree),
        cmocka_unit_test(unreadable_groups_set_no_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
