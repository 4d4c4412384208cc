/* threads.c: fork-join over a persistent team.
 *
 * The caller and each helper talk through two gates of the helper's own cache lines: `go` is opened
 * by the caller when there is work, `done` by the helper when it has finished. A gate is a counter
 * to which one side waits for a change, first by looking (a hot round trip costs 0.1-0.4 us), then,
 * since a program that does something else should not burn its helpers' CPUs, by sleeping on a
 * futex (14-25 us to wake). The looking time covers the gaps between the parallel sections of one
 * inference.
 *
 * A child made by fork has the team's memory but not its threads: it must make its own.
 */
#include "runtime/threads.h"
#include "runtime/cgroup.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = 64, SPIN_NS = 300000, LOOKS_PER_CLOCK = 64 };

/* ---- gates ----------------------------------------------------------------------------------- */

typedef struct Gate {
    _Alignas(LINE_BYTES) atomic_uint count;
    atomic_uint asleep; /* whether the waiting side is in, or on its way to, the futex */
} Gate;

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Looks until the count differs from `old` or spin_ns have passed. By the clock, not by turns: a
 * pause takes from 5 to 140 cycles, depending on the CPU. */
static bool gate_look(const Gate *g, unsigned old, int64_t spin_ns)
{
    int64_t end = 0;
    for (;;) {
        for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
            if (atomic_load_explicit(&g->count, memory_order_acquire) != old)
                return true;
            relax();
        }
        int64_t t = now_ns();
        end = end ? end : t + spin_ns;
        if (t >= end)
            return false;
    }
}

/* Waits for a change of the count from `old`. `asleep` is set before the last look and read by
 * gate_open after its change, both sequentially consistent: either this side sees the change or the
 * other sees the sleeper. */
static void gate_wait(Gate *g, unsigned old, int64_t spin_ns)
{
    if (gate_look(g, old, spin_ns))
        return;
    atomic_store(&g->asleep, 1);
    while (atomic_load(&g->count) == old)
        syscall(SYS_futex, &g->count, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
    atomic_store(&g->asleep, 0);
}

static void gate_open(Gate *g)
{
    atomic_fetch_add(&g->count, 1);
    if (atomic_load(&g->asleep))
        syscall(SYS_futex, &g->count, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* ---- the team -------------------------------------------------------------------------------- */

typedef struct Helper {
    Gate go, done;
    Team *team;
    pthread_t thread;
    int number; /* 1.. */
    int cpu;    /* to be pinned to; -1: none */
    int result;
    unsigned finished; /* the caller's: how often `done` has been opened */
} Helper;

/* What a section runs; written by the caller before it opens a gate, read by the helpers behind it.
 */
typedef struct Job {
    TeamFn fn; /* NULL: leave */
    void *arg;
    int64_t n, grain, units, slices;
} Job;

struct Team {
    Job job;
    int64_t spin_ns;
    int size, started; /* threads, the caller included; helpers that run */
    Helper *helpers;   /* [size - 1] */
};

/* Slice i of a job: its share of the units of `grain`, the first ones getting one more where it
 * does not divide. */
static int run_slice(const Job *job, int i)
{
    int64_t share = job->units / job->slices, more = job->units % job->slices;
    int64_t lo = (share * i + MIN(i, more)) * job->grain;
    int64_t hi = i + 1 == job->slices ? job->n : (share * (i + 1) + MIN(i + 1, more)) * job->grain;
    return job->fn(job->arg, lo, hi, i);
}

static void pin(int cpu)
{
    cpu_set_t *set = cpu < 0 ? NULL : CPU_ALLOC(cpu + 1);
    if (!set)
        return; /* not pinned: slower, not wrong */
    size_t size = CPU_ALLOC_SIZE(cpu + 1);
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    pthread_setaffinity_np(pthread_self(), size, set);
    CPU_FREE(set);
}

static void *help(void *arg)
{
    Helper *h = arg;
    pin(h->cpu);
    for (unsigned seen = 0;; seen++) {
        gate_wait(&h->go, seen, h->team->spin_ns);
        const Job *job = &h->team->job;
        if (!job->fn)
            return NULL;
        h->result = run_slice(job, h->number);
        gate_open(&h->done);
    }
}

static void team_stop(void *arg)
{
    Team *t = arg;
    t->job.fn = NULL;
    for (int i = 0; i < t->started; i++)
        gate_open(&t->helpers[i].go);
    for (int i = 0; i < t->started; i++)
        pthread_join(t->helpers[i].thread, NULL);
}

/* ---- CPUs ------------------------------------------------------------------------------------ */

enum { MAX_CPUS = 1 << 16 };

/* This thread's affinity as a set to be freed with CPU_FREE; *size is its size in bytes. NULL if
 * unknown. The kernel refuses sets smaller than its own, hence the growth. */
static cpu_set_t *affinity(size_t *size)
{
    for (int cpus = CPU_SETSIZE; cpus <= MAX_CPUS; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        *size = CPU_ALLOC_SIZE(cpus);
        if (set && !sched_getaffinity(0, *size, set))
            return set;
        int error = errno;
        CPU_FREE(set);
        if (!set || error != EINVAL)
            return NULL;
    }
    return NULL;
}

static int affinity_count(void)
{
    size_t size;
    cpu_set_t *set = affinity(&size);
    if (!set)
        return MAX(1, (int)sysconf(_SC_NPROCESSORS_ONLN));
    int n = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    return MAX(1, n);
}

int threads_allowed(void)
{
    int64_t quota = cgroup_cpus("/proc/self/mountinfo", "/proc/self/cgroup");
    return (int)MIN(quota, affinity_count());
}

/* Gives each helper a CPU of its own, other than the caller's, if the team fills all CPUs that it
 * may use. A smaller team is left to the scheduler: else all small teams of a large machine would
 * meet on its first CPUs. */
static void choose_cpus(Team *t)
{
    for (int i = 0; i < t->size - 1; i++)
        t->helpers[i].cpu = -1;
    size_t size;
    cpu_set_t *set = affinity(&size);
    if (!set)
        return;
    int mine = sched_getcpu(), i = 0;
    if (CPU_COUNT_S(size, set) == t->size)
        for (int cpu = 0; cpu < (int)size * 8 && i < t->size - 1; cpu++)
            if (cpu != mine && CPU_ISSET_S(cpu, size, set))
                t->helpers[i++].cpu = cpu;
    CPU_FREE(set);
}

/* ---- interface ------------------------------------------------------------------------------- */

/* Signals are for the program's own threads: helpers start with all of them blocked. */
static int start_helper(Team *t, Helper *h)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&h->thread, NULL, help, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    t->started += !error;
    return error;
}

Team *team_new(Ctx *cx, int n)
{
    Team *t = NEW(cx, Team);
    t->size = MAX(1, n);
    /* Waiting by looking takes a CPU away from the work if there are more threads than CPUs. */
    t->spin_ns = t->size <= threads_allowed() ? SPIN_NS : 0;
    char *raw = ctx_array(cx, (size_t)t->size, sizeof(Helper));
    t->helpers = (Helper *)(raw +
        (-(uintptr_t)raw & (LINE_BYTES - 1))); /* one more than used: room to align */
    choose_cpus(t);
    ctx_defer(cx, team_stop, t);
    for (int i = 0; i < t->size - 1; i++) {
        Helper *h = &t->helpers[i];
        h->team = t;
        h->number = i + 1;
        int error = start_helper(t, h);
        if (error)
            ctx_fail(cx, ST_RUNTIME, &(Where){.hint = "use fewer threads (--threads)"},
                "can't start thread %d of %d: %s", i + 2, t->size, strerror(error));
    }
    return t;
}

int team_size(const Team *t) { return t->size; }

int team_run(Team *t, int64_t n, int64_t grain, TeamFn fn, void *arg)
{
    if (n <= 0)
        return 0;
    Job job = {.fn = fn, .arg = arg, .n = n, .grain = MAX(1, grain)};
    job.units = n / job.grain + (n % job.grain != 0);
    job.slices = MIN(job.units, t->size);
    if (job.slices == 1)
        return fn(arg, 0, n, 0);
    t->job = job;
    for (int i = 1; i < job.slices; i++)
        gate_open(&t->helpers[i - 1].go);
    int result = run_slice(&job, 0);
    for (int i = 1; i < job.slices; i++) {
        Helper *h = &t->helpers[i - 1];
        gate_wait(&h->done, h->finished++, t->spin_ns);
        result = result ? result : h->result;
    }
    return result;
}
