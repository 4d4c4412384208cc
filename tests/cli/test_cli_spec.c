/* test_cli_spec.c: the grammar of --input, --dim and --shape. */
#include "cli_test.h"
#include "sinter/spec.h"
#include <math.h>

static sinter_error err;

static Spec parsed(const char *text)
{
    Spec spec;
    assert_int_equal(spec_parse(text, &spec, &err), SINTER_OK);
    return spec;
}

static void refuses(const char *text, sinter_code code)
{
    Spec spec;
    assert_int_equal(spec_parse(text, &spec, &err), code);
    assert_true(err.message[0] != 0);
}

static void a_file_is_known_by_its_ending(void **state)
{
    (void)state;
    assert_int_equal(parsed("x=@a.npy").kind, SPEC_NPY);
    assert_int_equal(parsed("x=@a.pb").kind, SPEC_PB);
    assert_int_equal(parsed("x=@a.npz").kind, SPEC_NPZ);
    assert_null(parsed("x=@a.npz").key);
    assert_string_equal(parsed("x=@a.npz:key:1").key, "key:1");
    assert_string_equal(parsed("x=@d/a.npz:k").path, "d/a.npz");
    refuses("x=@a.txt", SINTER_ERR_USAGE);
}

static void the_first_value_sign_ends_the_name(void **state)
{
    (void)state;
    assert_string_equal(parsed("a=b:0=@f.npy").name, "a=b:0");
    assert_string_equal(parsed("a=b=1,2").name, "a=b");
    assert_string_equal(parsed("a=rand=rand:1:0:1").name, "a=rand");
    assert_string_equal(parsed("a=@b.npy=1.npy").name, "a");
    assert_string_equal(parsed("layer/x:0=-.5").name, "layer/x:0");
    assert_string_equal(parsed("x=inf").name, "x");
}

static void random_has_a_seed_and_a_range(void **state)
{
    (void)state;
    Spec s = parsed("x=rand:18446744073709551615:-1.5:2e3");
    assert_int_equal(s.kind, SPEC_RAND);
    assert_true(s.seed == UINT64_MAX && s.lo == -1.5 && s.hi == 2000);
    refuses("x=rand:1:0", SINTER_ERR_USAGE);
    refuses("x=rand:1:2:1", SINTER_ERR_USAGE);
    refuses("x=rand:1:0:1:", SINTER_ERR_USAGE);
    refuses("x=rand:-1:0:1", SINTER_ERR_USAGE);
    refuses("x=rand:1:0:nan", SINTER_ERR_USAGE);
}

static void numbers_stay_as_they_were_written(void **state)
{
    (void)state;
    Spec s = parsed("x=9223372036854775807,-1,2.5e-3");
    assert_int_equal(s.kind, SPEC_LIST);
    assert_int_equal(s.numbers.n, 3);
    assert_string_equal(s.numbers.at[0], "9223372036854775807");
    refuses("x=1,,2", SINTER_ERR_USAGE);
    refuses("x=1,b", SINTER_ERR_USAGE);
    refuses("x=1,", SINTER_ERR_USAGE);
}

static void what_is_no_assignment_is_a_folder(void **state)
{
    (void)state;
    assert_int_equal(parsed("/tmp").kind, SPEC_FOLDER);
    refuses("/no/such/folder", SINTER_ERR_IO);
    refuses("x=abc", SINTER_ERR_USAGE);
}

static void a_dim_is_divided_at_its_last_equals_sign(void **state)
{
    (void)state;
    const char *name;
    int64_t size;
    assert_int_equal(dim_parse("a=b=12", &name, &size, &err), SINTER_OK);
    assert_string_equal(name, "a=b");
    assert_int_equal(size, 12);
    static const char *const wrong[] = {"a", "=1", "a=", "a=-1", "a=1x", "a=99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(dim_parse(wrong[i], &name, &size, &err), SINTER_ERR_USAGE);
}

static void a_shape_is_divided_at_its_last_colon(void **state)
{
    (void)state;
    ShapeSpec s;
    assert_int_equal(shape_parse("in:0:1x3x0", &s, &err), SINTER_OK);
    assert_string_equal(s.name, "in:0");
    assert_true(s.rank == 3 && s.dim[0] == 1 && s.dim[1] == 3 && s.dim[2] == 0);
    assert_int_equal(shape_parse("x:", &s, &err), SINTER_OK);
    assert_int_equal(s.rank, 0);
    static const char *const wrong[] = {"x", ":1", "x:1x", "x:x1", "x:1,2", "x:-1",
        "x:1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(shape_parse(wrong[i], &s, &err), SINTER_ERR_USAGE);
}

static void a_near_name_is_proposed_and_a_far_one_not(void **state)
{
    (void)state;
    StrList names = {0};
    list_add(&names, "--input");
    list_add(&names, "--threads");
    list_add(&names, "run");
    assert_string_equal(nearest("--inptu", &names), "--input");
    assert_string_equal(nearest("--thread", &names), "--threads");
    assert_string_equal(nearest("rnu", &names), "run");
    assert_null(nearest("--verbose", &names));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_known_by_its_ending),
        cmocka_unit_test(the_first_value_sign_ends_the_name),
        cmocka_unit_test(random_has_a_seed_and_a_range),
        cmocka_unit_test(numbers_stay_as_they_were_written),
        cmocka_unit_test(what_is_no_assignment_is_a_folder),
        cmocka_unit_test(a_dim_is_divided_at_its_last_equals_sign),
        cmocka_unit_test(a_shape_is_divided_at_its_last_colon),
        cmocka_unit_test(a_near_name_is_proposed_and_a_far_one_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
