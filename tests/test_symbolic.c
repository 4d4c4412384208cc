/* test_symbolic.c: one compilation serves every size of the symbolic dims, and agrees with the
 * interpreter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "support/net.h"

static const int64_t sizes[] = {7, 0, 1, 64, 2, 7};

enum { MAX_IO = 4 };

/* Makes the inputs of one run: each symbolic dim is size[its position in `names`]. */
static int make_inputs(const sinter_model *m, const char *const *names, const int64_t *size,
    sinter_value **in)
{
    int n = sinter_input_count(m);
    for (int i = 0; i < n; i++) {
        sinter_io io;
        assert_int_equal(sinter_input(m, i, &io), SINTER_OK);
        for (int k = 0; k < io.rank; k++)
            for (int s = 0; io.dim[k] < 0 && names[s]; s++)
                if (!strcmp(names[s], io.dim_name[k]))
                    io.dim[k] = size[s];
        in[i] = net_random(io.rank, io.dim, (uint64_t)i);
    }
    return n;
}

static void compare_run(Session *fast, Session *oracle, const char *const *names,
    const int64_t *size)
{
    sinter_value *in[MAX_IO], *out[MAX_IO] = {0}, *want[MAX_IO] = {0};
    int n = make_inputs(fast->model, names, size, in), m = sinter_output_count(fast->model);
    const sinter_value *const *given = (const sinter_value *const *)in;
    char what[64];
    if (sinter_run(fast->run, given, n, out, m, &fast->err))
        fail_msg("%lld,%lld: %s", (long long)size[0], (long long)size[1], fast->err.message);
    if (sinter_run(oracle->run, given, n, want, m, &oracle->err))
        fail_msg("%lld,%lld: %s", (long long)size[0], (long long)size[1], oracle->err.message);
    for (int i = 0; i < m; i++) {
        snprintf(what, sizeof what, "output %d with dims %lld, %lld", i, (long long)size[0],
            (long long)size[1]);
        assert_close(out[i], want[i], what);
    }
    for (int i = 0; i < n; i++)
        sinter_value_free(in[i]);
}

/* All pairs of sizes of the two named dims (of one size where there is one name), with and without
 * fusion. */
static void check_all_sizes(Pb model, const char *first, const char *second)
{
    const char *names[] = {first, second, NULL};
    sinter_options plain = net_options(0, 1, NULL);
    Session oracle;
    session_open(&oracle, &model, &plain);
    for (int level = 1; level <= 2; level++) {
        sinter_options o = net_options(level, 2, NULL);
        Session fast;
        session_open(&fast, &model, &o);
        for (int i = 0; i < NELEM(sizes); i++)
            for (int j = 0; j < (second ? NELEM(sizes) : 1); j++)
                if (sizes[i] * sizes[j] <= 64 * 7)
                    compare_run(&fast, &oracle, names, (int64_t[]){sizes[i], sizes[j]});
        session_close(&fast);
    }
    session_close(&oracle);
    pb_free(&model);
}

static void products_softmax_and_normalization_of_any_batch_and_length(void **state)
{
    (void)state;
    check_all_sizes(net_normalized(), "batch", "seq");
}

static void products_of_two_inputs_that_share_dims(void **state)
{
    (void)state;
    check_all_sizes(net_attention(), "batch", "seq");
}

static void convolution_and_pooling_of_any_height_and_width(void **state)
{
    (void)state;
    check_all_sizes(net_pooled(), "h", "w");
}

static void reshape_to_what_remains(void **state)
{
    (void)state;
    check_all_sizes(net_reshaped(), "batch", "seq");
}

static void concatenation_along_symbolic_axes(void **state)
{
    (void)state;
    check_all_sizes(net_joined(), "n", "m");
}

static void slices_that_end_where_the_axis_does(void **state)
{
    (void)state;
    check_all_sizes(net_sliced(), "n", "m");
}

static void upscaling_of_any_height_and_width(void **state)
{
    (void)state;
    check_all_sizes(net_upscaled(), "h", "w");
}

static void depthwise_convolutions_of_any_height_and_width(void **state)
{
    (void)state;
    check_all_sizes(net_mobile(), "h", "w");
}

static void the_small_network_of_other_tests(void **state)
{
    (void)state;
    check_all_sizes(net_small(), "batch", "seq");
}

/* x[n] + y[m] is only defined where n == m or one of them is 1: what the compiler assumes is
 * checked by name. */
static void a_guard_that_fails_names_the_node(void **state)
{
    (void)state;
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "a", DT_F32, "n");
    net_io(&g, GRAPH_INPUT, "b", DT_F32, "m");
    net_node(&g, "Add", "a,b", "the_sum", "");
    net_io(&g, GRAPH_OUTPUT, "the_sum", DT_F32, "k");
    Pb model = pb_model(&g);
    for (int level = 0; level <= 2; level++) {
        sinter_options o = net_options(level, 1, NULL);
        Session s;
        session_open(&s, &model, &o);
        sinter_value *in[] = {net_random(DIMS(3), 1), net_random(DIMS(4), 2)}, *out = NULL;
        const sinter_value *const *given = (const sinter_value *const *)in;
        assert_int_equal(sinter_run(s.run, given, 2, &out, 1, &s.err), SINTER_ERR_INPUT);
        assert_string_equal(s.err.node, "the_sum");
        assert_string_equal(s.err.op_type, "Add");
        assert_non_null(strstr(s.err.message, "3"));
        assert_non_null(strstr(s.err.message, "4"));
        const sinter_value *equal[] = {in[0], in[0]}; /* and the context still works */
        assert_int_equal(sinter_run(s.run, equal, 2, &out, 1, &s.err), SINTER_OK);
        sinter_value_free(in[0]);
        sinter_value_free(in[1]);
        session_close(&s);
    }
    pb_free(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_softmax_and_normalization_of_any_batch_and_length),
        cmocka_unit_test(products_of_two_inputs_that_share_dims),
        cmocka_unit_test(convolution_and_pooling_of_any_height_and_width),
        cmocka_unit_test(upscaling_of_any_height_and_width),
        cmocka_unit_test(depthwise_convolutions_of_any_height_and_width),
        cmocka_unit_test(reshape_to_what_remains),
        cmocka_unit_test(concatenation_along_symbolic_axes),
        cmocka_unit_test(slices_that_end_where_the_axis_does),
        cmocka_unit_test(the_small_network_of_other_tests),
        cmocka_unit_test(a_guard_that_fails_names_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
