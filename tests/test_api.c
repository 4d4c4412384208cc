/* test_api.c: the public interface: five calls do it all, buffers of the caller are used in place,
 * errors say what is wrong and where, a program is shared by threads, and a run after the first
 * allocates nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/net.h"

#define MNIST "models/mnist8_cnn/"

/* ---- the usual way --------------------------------------------------------------------------- */

static void five_calls_from_file_to_answer(void **state)
{
    (void)state;
    sinter_model *model;
    sinter_program *program;
    sinter_run_context *run;
    sinter_error err;
    assert_int_equal(sinter_load_file(SINTER_SOURCE_DIR "/" MNIST "model.onnx", NULL, &model, &err),
        SINTER_OK);
    assert_int_equal(sinter_compile(model, NULL, &program, &err), SINTER_OK);
    assert_int_equal(sinter_context_new(program, &run, &err), SINTER_OK);
    for (int set = 0; set < 2; set++) {
        char in_path[64], out_path[64];
        snprintf(in_path, sizeof in_path, MNIST "test_data_set_%d/input_0.pb", set);
        snprintf(out_path, sizeof out_path, MNIST "test_data_set_%d/output_0.pb", set);
        sinter_value *in = net_value(in_path), *want = net_value(out_path), *out = NULL;
        const sinter_value *given = in;
        assert_int_equal(sinter_run(run, &given, 1, &out, 1, &err), SINTER_OK);
        assert_int_equal(err.code, SINTER_OK);
        assert_close(out, want, out_path);
        sinter_value_free(in);
        sinter_value_free(want);
    }
    sinter_context_free(run);
    sinter_program_free(program);
    sinter_model_free(model);
}

static void open_mnist(Session *s, const sinter_options *o)
{
    Pb m = net_file(MNIST "model.onnx");
    session_open(s, &m, o);
    memset(m.at, 0xff, m.n); /* the library has its own copy */
    pb_free(&m);
}

static void a_model_is_described(void **state)
{
    (void)state;
    Session s;
    open_mnist(&s, NULL);
    sinter_io io;
    assert_int_equal(sinter_input_count(s.model), 9);
    assert_int_equal(sinter_output_count(s.model), 1);
    assert_int_equal(sinter_input(s.model, 0, &io), SINTER_OK);
    assert_string_equal(io.name, "Input3");
    assert_int_equal(io.dtype, SINTER_FLOAT32);
    assert_int_equal(io.rank, 4);
    assert_int_equal(io.dim[2], 28);
    assert_int_equal(io.optional, 0);
    assert_int_equal(sinter_input(s.model, 1, &io),
        SINTER_OK); /* a weight that is listed as input too */
    assert_int_equal(io.optional, 1);
    assert_int_equal(sinter_output(s.model, 0, &io), SINTER_OK);
    assert_string_equal(io.name, "Plus214_Output_0");
    assert_int_equal(io.dim[1], 10);
    assert_int_equal(sinter_input(s.model, sinter_input_count(s.model), &io), SINTER_ERR_USAGE);
    assert_int_equal(sinter_output(s.model, -1, &io), SINTER_ERR_USAGE);
    assert_non_null(strstr(sinter_model_json(s.model), "\"Conv\":2"));
    assert_int_equal(sinter_model_problem(s.model, 0, &s.err), SINTER_ERR_USAGE);
    session_close(&s);
}

static void symbolic_dims_have_names(void **state)
{
    (void)state;
    Session s;
    Pb m = net_small();
    session_open(&s, &m, NULL);
    sinter_io io;
    assert_int_equal(sinter_input(s.model, 0, &io), SINTER_OK);
    assert_int_equal(io.dim[0], -1);
    assert_string_equal(io.dim_name[0], "batch");
    assert_string_equal(io.dim_name[1], "seq");
    assert_int_equal(io.dim[2], 8);
    assert_null(io.dim_name[2]);
    session_close(&s);
    pb_free(&m);
}

static void what_is_unsupported_is_listed(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "4");
    net_node(&g, "NoSuchOperator", "x", "y", "");
    net_node(&g, "NeitherThis", "y", "z", "");
    net_io(&g, GRAPH_OUTPUT, "z", DT_F32, "4");
    Pb m = pb_model(&g);
    Session s;
    assert_int_equal(session_try(&s, &m, NULL), SINTER_ERR_UNSUPPORTED);
    assert_non_null(strstr(s.err.message, "NoSuchOperator"));
    assert_non_null(strstr(s.err.message, "NeitherThis"));
    sinter_error problem;
    assert_int_equal(sinter_model_problem(s.model, 1, &problem), SINTER_OK);
    assert_string_equal(problem.op_type, "NeitherThis");
    assert_string_equal(problem.node, "z");
    assert_int_equal(sinter_model_problem(s.model, 2, &problem), SINTER_ERR_USAGE);
    session_close(&s);
    pb_free(&m);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void outputs_go_where_the_caller_wants_them(void **state)
{
    (void)state;
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        Session s;
        open_mnist(&s, &o);
        float memory[16] = {0};
        memory[10] = 77;
        sinter_value *in = net_value(MNIST "test_data_set_0/input_0.pb"),
                     *want = net_value(MNIST "test_data_set_0/output_0.pb"), *mine;
        const sinter_value *given = in;
        const int64_t dim[] = {1, 10};
        assert_int_equal(
            sinter_tensor_new(SINTER_FLOAT32, 2, dim, memory, sizeof memory, &mine, NULL), 0);
        sinter_value *out = mine;
        assert_int_equal(sinter_run(s.run, &given, 1, &out, 1, &s.err), SINTER_OK);
        assert_ptr_equal(out, mine);
        sinter_tensor t;
        assert_int_equal(sinter_tensor_get(mine, &t), SINTER_OK);
        assert_ptr_equal(t.data, memory);
        assert_close(mine, want, "output");
        assert_true(memory[10] == 77);
        sinter_value_free(mine);
        sinter_value_free(in);
        sinter_value_free(want);
        session_close(&s);
    }
}

/* A value with room for a larger result takes results of every size, the largest again too. */
static void a_callers_value_is_reused_for_smaller_and_larger_results(void **state)
{
    (void)state;
    Pb m = net_small();
    Session s;
    session_open(&s, &m, NULL);
    float *y_memory = calloc(1024, sizeof *y_memory);
    sinter_value *y;
    const int64_t room[] = {1024};
    assert_int_equal(sinter_tensor_new(SINTER_FLOAT32, 1, room, y_memory, 4096, &y, NULL), 0);
    static const int64_t batches[] = {8, 1, 8};
    for (int i = 0; i < NELEM(batches); i++) {
        sinter_value *in = net_random(DIMS(batches[i], 4, 8), 3), *out[] = {y, NULL};
        const sinter_value *given = in;
        assert_int_equal(sinter_run(s.run, &given, 1, out, 2, &s.err), SINTER_OK);
        sinter_tensor t;
        sinter_tensor_get(y, &t);
        assert_int_equal(t.dim[0], batches[i] * 4);
        assert_int_equal(t.dim[1], 3);
        sinter_value_free(in);
    }
    sinter_value_free(y);
    free(y_memory);
    session_close(&s);
    pb_free(&m);
}

static void outputs_stay_readable_until_the_next_run(void **state)
{
    (void)state;
    Pb m = net_small();
    Session s, other;
    session_open(&s, &m, NULL);
    session_open(&other, &m, NULL);
    sinter_value *in = net_random(DIMS(2, 3, 8), 1), *big = net_random(DIMS(9, 9, 8), 1);
    const sinter_value *given = in, *given_big = big;
    sinter_value *out[2] = {0}, *want[2] = {0}, *before[2] = {0}, *again[2] = {0};
    assert_int_equal(sinter_run(s.run, &given, 1, out, 2, NULL), SINTER_OK);
    assert_int_equal(sinter_run(other.run, &given, 1, before, 2, NULL), SINTER_OK);
    assert_int_equal(sinter_run(other.run, &given_big, 1, again, 2, NULL), SINTER_OK);
    assert_int_equal(sinter_run(other.run, &given, 1, want, 2, NULL), SINTER_OK);
    assert_same(out[0], want[0]);
    assert_same(out[1], want[1]);
    sinter_value_free(in);
    sinter_value_free(big);
    session_close(&s);
    session_close(&other);
    pb_free(&m);
}

/* An output that is an input, a constant, or listed twice is filled like any other. */
static void every_output_is_filled(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n");
    net_weight(&g, "k", "3");
    net_node(&g, "Identity", "x", "same", "");
    net_node(&g, "Identity", "k", "constant", "");
    net_node(&g, "Neg", "x", "y", "");
    static const char *const names[] = {"same", "x", "constant", "y", "y"};
    for (int i = 0; i < NELEM(names); i++)
        net_io(&g, GRAPH_OUTPUT, names[i], DT_F32, i == 2 ? "3" : "n");
    Pb m = pb_model(&g);
    sinter_value *in = net_random(DIMS(5), 1);
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        Session s;
        session_open(&s, &m, &o);
        const sinter_value *given = in;
        sinter_value *out[5] = {0};
        assert_int_equal(sinter_run(s.run, &given, 1, out, 5, NULL), SINTER_OK);
        assert_same(out[0], in);
        assert_same(out[1], in);
        assert_same(out[3], out[4]);
        sinter_tensor k, x, y;
        sinter_tensor_get(out[2], &k);
        sinter_tensor_get(in, &x);
        sinter_tensor_get(out[3], &y);
        assert_int_equal(k.count, 3);
        assert_true(((float *)k.data)[0] != 0);
        for (int i = 0; i < 5; i++)
            assert_true(((float *)y.data)[i] == -((float *)x.data)[i]);
        session_close(&s);
    }
    sinter_value_free(in);
    pb_free(&m);
}

static void a_trailing_input_with_a_default_may_be_left_out(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "4");
    net_io(&g, GRAPH_INPUT, "b", DT_F32, "4");
    net_weight(&g, "b", "4");
    net_node(&g, "Sub", "x,b", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "4");
    Pb m = pb_model(&g);
    sinter_value *x = net_random(DIMS(4), 1);
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        Session s;
        session_open(&s, &m, &o);
        sinter_io io;
        assert_int_equal(sinter_input(s.model, 1, &io), SINTER_OK);
        assert_int_equal(io.optional, 1);
        const sinter_value *both[] = {x, x}, *null[] = {x, NULL};
        sinter_value *out = NULL, *again = NULL;
        sinter_tensor t;
        assert_int_equal(sinter_run(s.run, both, 2, &out, 1, &s.err), SINTER_OK);
        sinter_tensor_get(out, &t);
        for (int i = 0; i < 4; i++)
            assert_true(((float *)t.data)[i] == 0); /* what is given replaces the default */
        out = NULL;
        assert_int_equal(sinter_run(s.run, both, 1, &out, 1, &s.err), SINTER_OK);
        sinter_tensor_get(out, &t);
        assert_true(((float *)t.data)[0] != 0);
        assert_int_equal(sinter_run(s.run, null, 2, &again, 1, &s.err), SINTER_OK);
        assert_ptr_equal(out, again);
        assert_int_equal(sinter_run(s.run, both, 0, &again, 1, &s.err), SINTER_ERR_INPUT);
        assert_string_equal(s.err.tensor, "x");
        session_close(&s);
    }
    sinter_value_free(x);
    pb_free(&m);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* One wrong call on the model x[n,4] + y[n,4]: what it gives, and what the error says. */
typedef struct BadRun {
    const char *what;
    sinter_dtype type;
    int rank;
    int64_t dim[3];
    sinter_code code;
    const char *tensor, *says[2];
} BadRun;

static const BadRun bad_runs[] = {
    {"missing", 0, 0, {0}, SINTER_ERR_INPUT, "y", {"y", "missing"}},
    {"type", SINTER_FLOAT64, 2, {3, 4}, SINTER_ERR_INPUT, "y", {"float64", "float32"}},
    {"rank", SINTER_FLOAT32, 3, {3, 4, 1}, SINTER_ERR_INPUT, "y", {"rank 3", "2"}},
    {"dim", SINTER_FLOAT32, 2, {3, 5}, SINTER_ERR_INPUT, "y", {"5", "4"}},
    {"symbol", SINTER_FLOAT32, 2, {2, 4}, SINTER_ERR_INPUT, "y", {"'n'", "3"}},
};

static Pb sum_model(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n,4");
    net_io(&g, GRAPH_INPUT, "y", DT_F32, "n,4");
    net_node(&g, "Add", "x,y", "z", "");
    net_io(&g, GRAPH_OUTPUT, "z", DT_F32, "n,4");
    return pb_model(&g);
}

static void wrong_inputs_are_told_by_name(void **state)
{
    (void)state;
    Pb m = sum_model();
    Session s;
    session_open(&s, &m, NULL);
    sinter_value *x = net_random(DIMS(3, 4), 1);
    for (int i = 0; i < NELEM(bad_runs); i++) {
        const BadRun *b = &bad_runs[i];
        sinter_value *y = NULL, *out = NULL;
        if (b->type)
            assert_int_equal(sinter_tensor_new(b->type, b->rank, b->dim, NULL, 0, &y, NULL), 0);
        const sinter_value *given[] = {x, y}, *right[] = {x, x};
        assert_int_equal(sinter_run(s.run, given, 2, &out, 1, &s.err), b->code);
        assert_int_equal(s.err.code, b->code);
        assert_string_equal(s.err.tensor, b->tensor);
        for (int k = 0; k < 2; k++)
            if (!strstr(s.err.message, b->says[k]))
                fail_msg("%s: '%s' does not say '%s'", b->what, s.err.message, b->says[k]);
        assert_null(out);
        assert_int_equal(sinter_run(s.run, right, 2, &out, 1, NULL), SINTER_OK);
        sinter_value_free(y);
    }
    sinter_value_free(x);
    session_close(&s);
    pb_free(&m);
}

static void outputs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    Pb m = sum_model();
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        Session s;
        session_open(&s, &m, &o);
        sinter_value *x = net_random(DIMS(3, 4), 1), *small = net_random(DIMS(11), 1), *ints;
        assert_int_equal(sinter_tensor_new(SINTER_INT32, DIMS(3, 4), NULL, 0, &ints, NULL),
            SINTER_OK);
        const sinter_value *given[] = {x, x};
        sinter_value *out[2] = {small, NULL};
        assert_int_equal(sinter_run(s.run, given, 2, out, 1, &s.err), SINTER_ERR_INPUT);
        assert_string_equal(s.err.tensor, "z");
        assert_non_null(strstr(s.err.message, "48 bytes"));
        out[0] = ints;
        assert_int_equal(sinter_run(s.run, given, 2, out, 1, &s.err), SINTER_ERR_INPUT);
        assert_non_null(strstr(s.err.message, "float32"));
        assert_int_equal(sinter_run(s.run, given, 2, out, 2, &s.err), SINTER_ERR_USAGE);
        assert_int_equal(sinter_run(s.run, given, 2, out, 0, &s.err), SINTER_ERR_USAGE);
        assert_int_equal(sinter_run(s.run, given, 3, out, 1, &s.err), SINTER_ERR_USAGE);
        assert_int_equal(sinter_run(s.run, given, -1, out, 1, &s.err), SINTER_ERR_USAGE);
        sinter_value_free(x);
        sinter_value_free(small);
        sinter_value_free(ints);
        session_close(&s);
    }
    pb_free(&m);
}

static void a_kernel_that_fails_names_its_node(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n");
    net_io(&g, GRAPH_INPUT, "i", DT_I64, "m");
    net_node(&g, "Gather", "x,i", "picked", "");
    net_io(&g, GRAPH_OUTPUT, "picked", DT_F32, "m");
    Pb m = pb_model(&g);
    int64_t index[] = {0, 4, 2};
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 2, NULL);
        Session s;
        session_open(&s, &m, &o);
        sinter_value *x = net_random(DIMS(4), 1), *i, *out = NULL;
        assert_int_equal(sinter_tensor_new(SINTER_INT64, DIMS(3), index, sizeof index, &i, NULL),
            SINTER_OK);
        const sinter_value *given[] = {x, i};
        index[1] = 4;
        assert_int_equal(sinter_run(s.run, given, 2, &out, 1, &s.err), SINTER_ERR_RUNTIME);
        assert_string_equal(s.err.node, "picked");
        assert_non_null(strstr(s.err.message, "4"));
        index[1] = 3;
        assert_int_equal(sinter_run(s.run, given, 2, &out, 1, &s.err), SINTER_OK);
        sinter_value_free(x);
        sinter_value_free(i);
        session_close(&s);
    }
    pb_free(&m);
}

static void null_is_refused_and_freed(void **state)
{
    (void)state;
    Session s;
    open_mnist(&s, NULL);
    sinter_model *model;
    sinter_program *program;
    sinter_value *value;
    sinter_io io;
    char *text;
    sinter_error e;
    assert_int_equal(sinter_load_file(NULL, NULL, &model, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_load_file("x", NULL, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_load_memory(NULL, 1, NULL, &model, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_load_memory("", 0, NULL, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_compile(NULL, NULL, &program, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_compile(s.model, NULL, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_context_new(NULL, &s.run, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_context_new(s.program, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_run(NULL, NULL, 0, NULL, 0, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_run(s.run, NULL, 1, NULL, 1, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_tensor_new(SINTER_FLOAT32, 1, NULL, NULL, 0, &value, &e),
        SINTER_ERR_USAGE);
    assert_int_equal(sinter_tensor_new(99, 0, NULL, NULL, 0, &value, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_tensor_get(NULL, NULL), SINTER_ERR_USAGE);
    assert_int_equal(sinter_value_parse(NULL, 1, &value, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_value_serialize(NULL, "", (void **)&text, NULL, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_report(NULL, NULL, &text, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_emit(s.program, NULL, NULL, 0, &text, &text, &e), SINTER_ERR_USAGE);
    assert_int_equal(sinter_input(NULL, 0, &io), SINTER_ERR_USAGE);
    assert_int_equal(sinter_input(s.model, 0, NULL), SINTER_ERR_USAGE);
    assert_int_equal(sinter_model_problem(NULL, 0, &e), SINTER_ERR_USAGE);
    assert_null(sinter_model_json(NULL));
    session_close(&s);
    sinter_model_free(NULL);
    sinter_program_free(NULL);
    sinter_context_free(NULL);
    sinter_value_free(NULL);
    sinter_text_free(NULL);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    Pb m = sum_model();
    Session s;
    sinter_options bad[5];
    for (int i = 0; i < NELEM(bad); i++)
        bad[i] = net_options(2, 1, NULL);
    static const char *const no_pass[] = {"nopass", NULL};
    bad[0].opt_level = 9;
    bad[1].threads = -1;
    bad[2].isa = "mmx";
    bad[3].disable_pass = no_pass;
    bad[4].print_after = "nopass";
    for (int i = 0; i < NELEM(bad); i++) {
        assert_int_equal(session_try(&s, &m, &bad[i]), SINTER_ERR_USAGE);
        assert_true(s.err.message[0]);
        session_close(&s);
    }
    pb_free(&m);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 8, RUNS = 50 };

typedef struct Shared {
    const sinter_program *program;
    const sinter_value *in, *want[2];
    int n_out, bad;
} Shared;

/* A context of its own on the shared program; counts the runs whose outputs differ. */
static void *run_many(void *arg)
{
    Shared *sh = arg;
    sinter_run_context *run;
    if (sinter_context_new(sh->program, &run, NULL))
        return (void *)1;
    intptr_t bad = 0;
    for (int i = 0; i < RUNS; i++) {
        sinter_value *out[2] = {0};
        bool ok = sinter_run(run, &sh->in, 1, out, sh->n_out, NULL) == SINTER_OK;
        for (int k = 0; k < sh->n_out && ok; k++) {
            sinter_tensor a, b;
            sinter_tensor_get(out[k], &a);
            sinter_tensor_get(sh->want[k], &b);
            ok = a.bytes == b.bytes && !memcmp(a.data, b.data, a.bytes);
        }
        bad += !ok;
    }
    sinter_context_free(run);
    return (void *)bad;
}

static void check_shared(const Pb *m, int rank, const int64_t *dim, const sinter_options *o)
{
    Session s;
    session_open(&s, m, o);
    sinter_value *in = net_random(rank, dim, 5), *want[2] = {0};
    Shared sh = {.program = s.program, .in = in, .n_out = sinter_output_count(s.model)};
    assert_int_equal(sinter_run(s.run, &sh.in, 1, want, sh.n_out, &s.err), SINTER_OK);
    memcpy(sh.want, want, sizeof want);
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_many, &sh), 0);
    for (int i = 0; i < THREADS; i++) {
        void *bad;
        pthread_join(thread[i], &bad);
        assert_null(bad);
    }
    sinter_value_free(in);
    session_close(&s);
}

static void threads_share_a_program(void **state)
{
    (void)state;
    Pb mnist = net_file(MNIST "model.onnx"), small = net_small();
    for (int threads = 1; threads <= 2; threads++) {
        sinter_options o = net_options(2, threads, NULL);
        check_shared(&mnist, DIMS(1, 1, 28, 28), &o);
        check_shared(&small, DIMS(3, 5, 8), &o);
    }
    sinter_options o = net_options(0, 1, NULL);
    check_shared(&small, DIMS(3, 5, 8), &o);
    pb_free(&mnist);
    pb_free(&small);
}

/* ---- allocations ----------------------------------------------------------------------------- */

typedef struct Counter {
    int64_t gets, live;
} Counter;

static void *count_get(void *user, size_t size, size_t align)
{
    Counter *c = user;
    c->gets++;
    c->live += (int64_t)size;
    void *p = NULL;
    return posix_memalign(&p, MAX(align, sizeof(void *)), size) ? NULL : p;
}

static void count_put(void *user, void *p, size_t size)
{
    Counter *c = user;
    c->live -= (int64_t)size;
    free(p);
}

/* Runs with the dims twice, and counts what the second run takes. */
static int64_t gets_of_second_run(Session *s, Counter *c, int rank, const int64_t *dim)
{
    sinter_value *in = net_random(rank, dim, 5), *out[2] = {0};
    const sinter_value *given = in;
    int n = sinter_output_count(s->model);
    int64_t before = 0;
    for (int i = 0; i < 2; i++) {
        before = c->gets;
        if (sinter_run(s->run, &given, 1, out, n, &s->err))
            fail_msg("%s", s->err.message);
    }
    sinter_value_free(in);
    return c->gets - before;
}

static Pb guarded_model(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n,m");
    net_node(&g, "Transpose", "x", "t", "");
    net_node(&g, "Add", "x,t", "y", ""); /* n and m must be equal, or one of them 1 */
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "p,q");
    return pb_model(&g);
}

static void a_second_run_allocates_nothing(void **state)
{
    (void)state;
    Pb m[] = {net_file(MNIST "model.onnx"), net_small(), guarded_model()};
    for (int i = 0; i < NELEM(m); i++)
        for (int level = 0; level <= 2; level++) {
            Counter c = {0};
            sinter_options o = net_options(level, 2, NULL);
            o.alloc = count_get;
            o.release = count_put;
            o.alloc_user = &c;
            Session s;
            session_open(&s, &m[i], &o);
            for (int n = 1; n < 40 && i; n += 19)
                assert_int_equal(i == 1 ? gets_of_second_run(&s, &c, DIMS(n, 4, 8))
                                        : gets_of_second_run(&s, &c, DIMS(n, n)),
                    0);
            if (i == 0)
                assert_int_equal(gets_of_second_run(&s, &c, DIMS(1, 1, 28, 28)), 0);
            session_close(&s);
            assert_int_equal(c.live, 0);
        }
    for (int i = 0; i < NELEM(m); i++)
        pb_free(&m[i]);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void a_run_that_needs_too_much_memory_is_refused_with_numbers(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "n,64");
    net_weight(&g, "w", "64,64");
    net_node(&g, "MatMul", "x,w", "a", "");
    net_node(&g, "Softmax", "a", "b", "axis=0");
    net_node(&g, "MatMul", "b,w", "y", "");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "n,64");
    Pb m = pb_model(&g);
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        o.max_memory = 200000;
        Session s;
        session_open(&s, &m, &o);
        sinter_value *small = net_random(DIMS(4, 64), 1), *big = net_random(DIMS(2000, 64), 1);
        const sinter_value *given = small, *given_big = big;
        sinter_value *out = NULL, *none = NULL;
        if (sinter_run(s.run, &given, 1, &out, 1, &s.err))
            fail_msg("%s", s.err.message);
        assert_int_equal(sinter_run(s.run, &given_big, 1, &none, 1, &s.err), SINTER_ERR_LIMIT);
        assert_null(none);
        assert_non_null(strstr(s.err.message, "200000"));
        assert_non_null(strstr(s.err.hint, "--max-memory"));
        assert_int_equal(sinter_run(s.run, &given, 1, &out, 1, &s.err), SINTER_OK);
        sinter_value_free(small);
        sinter_value_free(big);
        session_close(&s);
    }
    pb_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_calls_from_file_to_answer),
        cmocka_unit_test(a_model_is_described),
        cmocka_unit_test(symbolic_dims_have_names),
        cmocka_unit_test(what_is_unsupported_is_listed),
        cmocka_unit_test(outputs_go_where_the_caller_wants_them),
        cmocka_unit_test(a_callers_value_is_reused_for_smaller_and_larger_results),
        cmocka_unit_test(outputs_stay_readable_until_the_next_run),
        cmocka_unit_test(every_output_is_filled),
        cmocka_unit_test(a_trailing_input_with_a_default_may_be_left_out),
        cmocka_unit_test(wrong_inputs_are_told_by_name),
        cmocka_unit_test(outputs_that_do_not_fit_are_refused),
        cmocka_unit_test(a_kernel_that_fails_names_its_node),
        cmocka_unit_test(null_is_refused_and_freed),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(threads_share_a_program),
        cmocka_unit_test(a_second_run_allocates_nothing),
        cmocka_unit_test(a_run_that_needs_too_much_memory_is_refused_with_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
