/* test_api_guard.c: generated code stays inside its memory. Inputs, outputs, constants, the arena
 * and the scratch each end where the page ends and the next page can't be touched (or begin where
 * the page before can't); and nothing that an earlier run left in the arena matters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/internal.h"
#include "support/net.h"

/* ---- guarded blocks -------------------------------------------------------------------------- */

/* Pages of a block and one more on each side. */
static size_t span(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) / page * page + 2 * page;
}

/* A block that ends (or begins) at a page that can't be touched; NULL when there is none. */
static void *guarded(size_t size, size_t align, bool at_end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = span(size);
    char *p = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (size && mprotect(p + page, whole - 2 * page, PROT_READ | PROT_WRITE)) {
        munmap(p, whole);
        return NULL;
    }
    memset(p + page, 0xff, whole - 2 * page);
    return at_end ? p + whole - page - (size + align - 1) / align * align : p + page;
}

static void unguard(void *block, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *p = (char *)((uintptr_t)block / page * page);
    munmap(p - page, span(size));
}

static void *guard_get(void *user, size_t size, size_t align)
{
    return guarded(size, align, *(bool *)user);
}

static void guard_put(void *user, void *p, size_t size)
{
    (void)user;
    unguard(p, size);
}

/* ---- running in them ------------------------------------------------------------------------- */

enum { MAX_IO = 4, MAX_SIZES = 4 };

/* A model, and the values of its (at most two) symbolic dims. */
typedef struct Case {
    const char *name;
    Pb (*model)(void);
    const char *file;
    const char *dim[2];
    int64_t size[MAX_SIZES][2]; /* ends with 0, 0 */
} Case;

// clang-format off
static const Case cases[] = {
    {"normalized", net_normalized, NULL, {"batch", "seq"}, {{1, 1}, {3, 5}, {1, 17}}},
    {"attention", net_attention, NULL, {"batch", "seq"}, {{1, 1}, {2, 7}, {1, 33}}},
    {"pooled", net_pooled, NULL, {"h", "w"}, {{1, 1}, {5, 9}, {16, 31}}},
    {"reshaped", net_reshaped, NULL, {"batch", "seq"}, {{1, 1}, {3, 7}}},
    {"joined", net_joined, NULL, {"n", "m"}, {{1, 2}, {7, 3}}},
    {"sliced", net_sliced, NULL, {"n", "m"}, {{1, 1}, {7, 9}, {8, 64}}},
    {"small", net_small, NULL, {"batch", "seq"}, {{1, 1}, {3, 5}}},
    {"mnist8_cnn", NULL, "models/mnist8_cnn/model.onnx", {NULL}, {{1, 1}}},
    {"upscaled", net_upscaled, NULL, {"h", "w"}, {{1, 1}, {5, 9}, {3, 31}}},
    {"mobile", net_mobile, NULL, {"h", "w"}, {{1, 1}, {5, 9}, {3, 31}}},
};
// clang-format on

/* The value's contents in a guarded block of the right size. */
static sinter_value *in_guarded(const sinter_value *v, bool at_end)
{
    sinter_tensor t;
    sinter_value *copy;
    sinter_tensor_get(v, &t);
    void *p = guarded(t.bytes, (size_t)dtype_bytes((DType)t.dtype), at_end);
    assert_non_null(p);
    memcpy(p, t.data, t.bytes);
    assert_int_equal(sinter_tensor_new(t.dtype, t.rank, t.dim, p, t.bytes, &copy, NULL), 0);
    return copy;
}

static void free_guarded(sinter_value *v)
{
    sinter_tensor t;
    sinter_tensor_get(v, &t);
    unguard(t.data, t.bytes);
    sinter_value_free(v);
}

/* Required inputs with the dims of this run; dims without a size are 1 (or 24 for images of the
 * files). */
static int make_inputs(const sinter_model *m, const Case *c, const int64_t *size, sinter_value **in)
{
    int n = 0;
    for (int i = 0; i < sinter_input_count(m); i++) {
        sinter_io io;
        assert_int_equal(sinter_input(m, i, &io), SINTER_OK);
        if (io.optional)
            continue;
        assert_int_equal(i, n);
        for (int k = 0; k < io.rank; k++)
            for (int s = 0; io.dim[k] < 0; s++) {
                bool named = s < 2 && c->dim[s] && io.dim_name[k];
                if (named && !strcmp(c->dim[s], io.dim_name[k]))
                    io.dim[k] = size[s];
                else if (s == 2)
                    io.dim[k] = k < 2 ? 1 : 24;
            }
        in[n++] = net_random(io.rank, io.dim, (uint64_t)i);
    }
    return n;
}

/* Runs twice, the second time over a poisoned arena. */
static void run_guarded(Session *s, sinter_value **in, int n, sinter_value **want, int n_out,
    bool at_end, const char *what)
{
    sinter_value *guarded_in[MAX_IO], *out[MAX_IO];
    for (int i = 0; i < n; i++)
        guarded_in[i] = in_guarded(in[i], at_end);
    for (int i = 0; i < n_out; i++)
        out[i] = in_guarded(want[i], at_end);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < n_out; i++) {
            sinter_tensor t;
            sinter_tensor_get(out[i], &t);
            memset(t.data, 0xff, t.bytes);
        }
        if (sinter_run(s->run, (const sinter_value *const *)guarded_in, n, out, n_out, &s->err))
            fail_msg("%s: %s", what, s->err.message);
        for (int i = 0; i < n_out; i++)
            assert_close(out[i], want[i], what);
        if (s->run->arena)
            memset(s->run->arena, 0xff, s->run->arena_bytes);
        if (s->run->scratch)
            memset(s->run->scratch, 0xff, s->run->scratch_bytes);
    }
    for (int i = 0; i < n; i++)
        free_guarded(guarded_in[i]);
    for (int i = 0; i < n_out; i++)
        free_guarded(out[i]);
}

static void check_case(const Case *c, Session *oracle, const Pb *m, const sinter_options *o,
    bool at_end)
{
    for (int k = 0; k < MAX_SIZES && c->size[k][0]; k++) {
        Session s; /* for each size a new one: the arena has just the bytes that this size needs */
        session_open(&s, m, o);
        sinter_value *in[MAX_IO], *want[MAX_IO] = {0};
        int n = make_inputs(s.model, c, c->size[k], in), n_out = sinter_output_count(s.model);
        if (sinter_run(oracle->run, (const sinter_value *const *)in, n, want, n_out, &s.err))
            fail_msg("%s: %s", c->name, s.err.message);
        char what[128];
        snprintf(what, sizeof what, "%s, -O%d, %s, %d threads, size %d", c->name, o->opt_level,
            o->isa, o->threads, k);
        run_guarded(&s, in, n, want, n_out, at_end, what);
        for (int i = 0; i < n; i++)
            sinter_value_free(in[i]);
        session_close(&s);
    }
}

/* All cases; each request of an arena gets pages of its own, so that constants are guarded too. */
static void check_cases(bool at_end)
{
    for (int i = 0; i < NELEM(cases); i++) {
        const Case *c = &cases[i];
        Pb m = c->model ? c->model() : net_file(c->file);
        Session oracle;
        sinter_options plain = net_options(c->file ? 1 : 0, 1, NULL);
        session_open(&oracle, &m, &plain);
        for (const char *const *isa = kernels_available(); *isa; isa++)
            for (int level = 1; level <= 2; level++) {
                sinter_options o = net_options(level, level, *isa);
                o.alloc = guard_get;
                o.release = guard_put;
                o.alloc_user = &at_end;
                alloc_default()->chunk = level == 2 ? 1 : 0;
                check_case(c, &oracle, &m, &o, at_end);
                alloc_default()->chunk = 0;
            }
        session_close(&oracle);
        pb_free(&m);
    }
}

static void nothing_is_touched_past_an_end(void **state)
{
    (void)state;
    check_cases(true);
}

static void nothing_is_touched_before_a_beginning(void **state)
{
    (void)state;
    check_cases(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_touched_past_an_end),
        cmocka_unit_test(nothing_is_touched_before_a_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
