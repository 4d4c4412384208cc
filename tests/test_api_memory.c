/* test_api_memory.c: any allocation may fail: the call says so, everything is given back, and a
 * retry works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/net.h"

/* An allocator that fails at call number `fail_at`, or from there on. */
typedef struct Faulty {
    int64_t calls, fail_at, live;
    bool once;
} Faulty;

static void *faulty_get(void *user, size_t size, size_t align)
{
    Faulty *f = user;
    f->calls++;
    if (f->fail_at && (f->calls == f->fail_at || (!f->once && f->calls > f->fail_at)))
        return NULL;
    void *p = NULL;
    if (posix_memalign(&p, MAX(align, sizeof(void *)), size))
        return NULL;
    f->live += (int64_t)size;
    return memset(p, 0xa5, size); /* nothing may rely on fresh memory being zero */
}

static void faulty_put(void *user, void *p, size_t size)
{
    Faulty *f = user;
    f->live -= (int64_t)size;
    free(p);
}

typedef struct Case {
    Pb model;
    int level;
    sinter_value *in[2]; /* two runs, with different dims if there are symbols */
    sinter_value *want[2][2];
} Case;

static sinter_code run_both(Session *s, const Case *c, bool compare)
{
    int n = sinter_output_count(s->model);
    sinter_code code = SINTER_OK;
    for (int i = 0; i < 2 && !code; i++) {
        sinter_value *out[2] = {0};
        const sinter_value *given = c->in[i];
        code = sinter_run(s->run, &given, 1, out, n, &s->err);
        for (int k = 0; k < n && !code && compare; k++)
            assert_close(out[k], c->want[i][k], "after a failure elsewhere");
    }
    return code;
}

/* Everything from load to the second run; a run that failed is tried again on the same context. */
static sinter_code work(const Case *c, Faulty *f)
{
    Session s;
    sinter_options o = net_options(c->level, 2, NULL);
    o.alloc = faulty_get;
    o.release = faulty_put;
    o.alloc_user = f;
    f->calls = 0;
    sinter_code code = session_try(&s, &c->model, &o);
    bool ready = !code;
    if (ready)
        code = run_both(&s, c, false);
    if (code == SINTER_ERR_MEMORY)
        assert_non_null(strstr(s.err.message, "memory"));
    if (ready && code) {
        int64_t fail_at = f->fail_at;
        f->fail_at = 0;
        assert_int_equal(run_both(&s, c, true), SINTER_OK);
        f->fail_at = fail_at;
    }
    session_close(&s);
    return code;
}

/* Walks the failing call by `step`; every failure is clean. */
static void walk(const Case *c, bool once, int64_t step)
{
    Faulty f = {.once = once};
    int64_t failures = 0;
    assert_int_equal(work(c, &f), SINTER_OK);
    int64_t calls = f.calls;
    assert_int_equal(f.live, 0);
    for (int64_t n = 1; n <= calls; n += step) {
        f.fail_at = n;
        sinter_code code = work(c, &f);
        if (code != SINTER_ERR_MEMORY && code != SINTER_OK)
            fail_msg("call %lld of %lld: code %d", (long long)n, (long long)calls, code);
        failures += code != SINTER_OK;
        if (f.live)
            fail_msg("call %lld of %lld: %lld bytes leaked", (long long)n, (long long)calls,
                (long long)f.live);
    }
    /* A few calls are for speed only: without them all goes well. */
    assert_true(once ? failures > 0 : failures >= (calls + step - 1) / step - 4);
    f.fail_at = 0;
    assert_int_equal(work(c, &f), SINTER_OK);
}

static void expect(Case *c)
{
    Session s;
    sinter_options o = net_options(0, 1, NULL);
    session_open(&s, &c->model, &o);
    for (int i = 0; i < 2; i++) {
        sinter_value *out[2] = {0};
        const sinter_value *given = c->in[i];
        int n = sinter_output_count(s.model);
        assert_int_equal(sinter_run(s.run, &given, 1, out, n, &s.err), SINTER_OK);
        for (int k = 0; k < n; k++) {
            sinter_tensor t;
            sinter_tensor_get(out[k], &t);
            sinter_tensor_new(t.dtype, t.rank, t.dim, NULL, 0, &c->want[i][k], NULL);
            sinter_tensor w;
            sinter_tensor_get(c->want[i][k], &w);
            memcpy(w.data, t.data, t.bytes);
        }
    }
    session_close(&s);
}

static Case mnist_case(void)
{
    Case c = {.model = net_file("models/mnist8_cnn/model.onnx")};
    for (int i = 0; i < 2; i++)
        c.in[i] = net_random(DIMS(1, 1, 28, 28), (uint64_t)i);
    expect(&c);
    return c;
}

static Case small_case(void)
{
    Case c = {.model = net_small()};
    for (int i = 0; i < 2; i++)
        c.in[i] = net_random(DIMS(1 + 2 * i, 4 + i, 8), (uint64_t)i);
    expect(&c);
    return c;
}

static void free_case(Case *c)
{
    for (int i = 0; i < 4; i++)
        sinter_value_free(c->want[i / 2][i % 2]);
    sinter_value_free(c->in[0]);
    sinter_value_free(c->in[1]);
    pb_free(&c->model);
}

static void any_chunk_may_fail(void **state)
{
    Case *c = *state;
    for (c->level = 0; c->level <= 2; c->level++)
        for (int once = 0; once <= 1; once++)
            walk(c, once, 1);
}

/* Each request of an arena a call: every one of the longest way, samples of the others. */
static void any_request_may_fail(void **state)
{
    Case *c = *state;
    alloc_default()->chunk = 1;
    for (c->level = 0; c->level <= 2; c->level++)
        for (int once = 0; once <= 1; once++)
            walk(c, once, c->level == 2 && !once ? 1 : 97);
    alloc_default()->chunk = 0;
}

int main(void)
{
    Case mnist = mnist_case(), small = small_case();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(any_chunk_may_fail, &mnist),
        cmocka_unit_test_prestate(any_chunk_may_fail, &small),
        cmocka_unit_test_prestate(any_request_may_fail, &mnist),
        cmocka_unit_test_prestate(any_request_may_fail, &small),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free_case(&mnist);
    free_case(&small);
    return failed;
}
