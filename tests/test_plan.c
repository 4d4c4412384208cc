/* test_plan.c: buffers that live at the same time never share memory; totals are near the bound;
 * and planning of very many buffers is quick enough to be run here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/internal.h"

enum { MANY = 50000 };

typedef struct Plan {
    int n, first[MANY], last[MANY];
    int64_t bytes[MANY], offset[MANY], bound, total;
} Plan;
static Plan p;

static uint64_t state_of_random = 1;
static int below(int n)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return (int)((state_of_random >> 33) % (uint64_t)n);
}

static void add(int64_t bytes, int first, int last)
{
    p.bytes[p.n] = bytes;
    p.first[p.n] = first;
    p.last[p.n++] = last;
}

static int by_offset(const void *a, const void *b)
{
    int64_t x = p.offset[*(const int *)a], y = p.offset[*(const int *)b];
    return x < y ? -1 : x > y;
}

/* Of the buffers live at step t, each ends before the next begins. */
static void check_step(int t)
{
    static int live[MANY];
    int n = 0;
    for (int i = 0; i < p.n; i++)
        if (p.first[i] <= t && t <= p.last[i] && p.bytes[i])
            live[n++] = i;
    qsort(live, (size_t)n, sizeof *live, by_offset);
    for (int i = 0; i < n; i++) {
        int64_t end = p.offset[live[i]] + p.bytes[live[i]];
        assert_true(p.offset[live[i]] >= 0 && p.offset[live[i]] % 64 == 0);
        assert_true(end <= (i + 1 < n ? p.offset[live[i + 1]] : p.total));
    }
}

/* Plans, and checks `steps` steps, evenly spread. */
static void plan(int steps)
{
    Ctx cx;
    ctx_init(&cx, alloc_default());
    int end = 1;
    TRY(&cx)
        p.total = arena_plan(&cx, p.n, p.bytes, p.first, p.last, p.offset, &p.bound);
    CATCH
        fail_msg("%s", cx.problems->message);
    ctx_free(&cx);
    for (int i = 0; i < p.n; i++)
        end = MAX(end, p.last[i] + 1);
    for (int i = 0; i < steps; i++)
        check_step((int)((int64_t)i * end / steps));
    assert_true(p.total >= p.bound);
}

static void assert_ratio(double most)
{
    if ((double)p.total > most * (double)p.bound)
        fail_msg("%lld bytes, but %lld suffice: a ratio of %.3f", (long long)p.total,
            (long long)p.bound, (double)p.total / (double)p.bound);
}

static void nothing_takes_nothing(void **state)
{
    (void)state;
    p.n = 0;
    plan(0);
    assert_int_equal(p.total, 0);
    add(0, 0, 3);
    plan(4);
    assert_int_equal(p.total, 0);
}

static void a_chain_takes_its_two_largest_neighbours(void **state)
{
    (void)state;
    p.n = 0;
    for (int i = 0; i < MANY; i++)
        add(64 * (1 + i % 7), i, i + 1);
    plan(1000);
    assert_int_equal(p.total, 64 * (6 + 7));
}

/* Like an encoder and decoder: sizes fall, then grow; each level's result is read again on the way
 * back. */
static void skip_connections_stay_near_the_bound(void **state)
{
    (void)state;
    p.n = 0;
    enum { LEVELS = 10, DEEP = 6 };
    int step = 0;
    for (int l = 0; l < LEVELS; l++)
        for (int i = 0; i < DEEP; i++, step++)
            add((int64_t)1 << (20 - l), step, i == DEEP - 1 ? 2 * LEVELS * DEEP - step : step + 1);
    for (int l = LEVELS - 1; l >= 0; l--)
        for (int i = 0; i < DEEP; i++, step++)
            add((int64_t)1 << (20 - l), step, step + 1);
    plan(step);
    assert_ratio(1.02);
}

/* Residual blocks whose branches have different widths. */
static void residual_blocks_stay_near_the_bound(void **state)
{
    (void)state;
    p.n = 0;
    int step = 0;
    for (int block = 0; block < 48; block++) {
        int64_t width = 4096 * (1 + block / 12) * 3 / (1 + block / 24);
        add(width, step, step + 4);
        add(width * 4, step + 1, step + 2);
        add(width * 4, step + 2, step + 3);
        add(width / 3, step + 2, step + 4);
        step += 4;
    }
    plan(step);
    assert_ratio(1.02);
}

static void random_lifetimes_never_overlap(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        p.n = 0;
        int n = 1 + below(120), steps = 1 + below(80), longest = 1 + below(steps);
        for (int i = 0; i < n; i++) {
            int first = below(steps);
            add(below(5) ? below(10000) : 0, first, MIN(steps - 1, first + below(longest)));
        }
        plan(steps);
        assert_ratio(1.3);
    }
}

static void fifty_thousand_buffers(void **state)
{
    (void)state;
    static const int longest[] = {2, 20, 1000, MANY};
    for (int k = 0; k < NELEM(longest); k++) {
        p.n = 0;
        for (int i = 0; i < MANY; i++)
            add(64 * (1 + below(1000)), i, MIN(MANY - 1, i + 1 + below(longest[k])));
        plan(k < 2 ? 300 : 20);
        assert_ratio(1.6);
    }
}

static void fifty_thousand_buffers_that_all_live_to_the_end(void **state)
{
    (void)state;
    p.n = 0;
    for (int i = 0; i < MANY; i++)
        add(1 + below(10000), i, MANY);
    plan(10);
    assert_int_equal(p.total, p.bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_takes_nothing),
        cmocka_unit_test(a_chain_takes_its_two_largest_neighbours),
        cmocka_unit_test(skip_connections_stay_near_the_bound),
        cmocka_unit_test(residual_blocks_stay_near_the_bound),
        cmocka_unit_test(random_lifetimes_never_overlap),
        cmocka_unit_test(fifty_thousand_buffers),
        cmocka_unit_test(fifty_thousand_buffers_that_all_live_to_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
