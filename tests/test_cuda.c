/* test_cuda.c: emitted CUDA is the text that was reviewed (golden/cuda_*.cu; SINTER_BLESS=1
 * rewrites them), computes what the C kernels do when the CPU plays a GPU (support/cuda_host.h),
 * and is taken by nvcc without spilling registers where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codegen/emit.h"
#include "runtime/internal.h"
#include "support/net.h"

static char folder[] = "/tmp/sinter_cuda_XXXXXX";

/* ---- helpers --------------------------------------------------------------------------------- */

/* Runs a command made of printf's arguments; what it printed, if `said`, and whether it succeeded.
 */
static bool shell(char **said, const char *form, ...) PRINTF_LIKE(2, 3);
static bool shell(char **said, const char *form, ...)
{
    char command[2048];
    va_list ap;
    va_start(ap, form);
    vsnprintf(command, sizeof command, form, ap);
    va_end(ap);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = 0, room = 1 << 20;
    char *text = malloc(room);
    n = fread(text, 1, room - 1, f);
    text[n] = 0;
    while (fgetc(f) != EOF)
        ;
    bool ok = pclose(f) == 0;
    if (!ok)
        print_error("%s\n%s\n", command, text);
    if (said)
        *said = text;
    else
        free(text);
    return ok;
}

static char *emitted(const Session *s)
{
    char *source, *json;
    sinter_error err;
    assert_int_equal(sinter_emit(s->program, NULL, "cuda:sm_90", 0, &source, &json, &err),
        SINTER_OK);
    sinter_text_free(json);
    return source;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void open_file(Session *s, const char *path)
{
    Pb m = net_file(path);
    sinter_options o = net_options(2, 1, NULL);
    session_open(s, &m, &o);
    pb_free(&m);
}

/* ---- golden texts ---------------------------------------------------------------------------- */

static Pb net_softmax(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "rows,100");
    net_node(&g, "Softmax", "x", "y", "axis=-1");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "rows,100");
    return pb_model(&g);
}

static Pb net_linear(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "rows,64");
    net_weight(&g, "w", "64,48");
    net_weight(&g, "b", "48");
    net_node(&g, "MatMul", "x,w", "y", "");
    net_node(&g, "Add", "y,b", "z", "");
    net_node(&g, "Relu", "z", "r", "");
    net_io(&g, GRAPH_OUTPUT, "r", DT_F32, "rows,48");
    return pb_model(&g);
}

static Pb net_gather(void)
{
    Pb g = {0};
    net_io(&g, GRAPH_INPUT, "x", DT_F32, "20,n");
    net_io(&g, GRAPH_INPUT, "at", DT_I64, "m");
    net_node(&g, "Gather", "x,at", "y", "axis=0");
    net_io(&g, GRAPH_OUTPUT, "y", DT_F32, "m,n");
    return pb_model(&g);
}

/* Without the prelude. The instruction set decides the width of panels: the one all have. */
static void check_golden(const char *name, Pb m)
{
    Session s;
    sinter_options o = net_options(2, 1, "sse2");
    session_open(&s, &m, &o);
    char path[512], want[1 << 16], *source = emitted(&s);
    const char *kernels = strstr(source, index_text);
    assert_non_null(kernels);
    kernels += strlen(index_text);
    snprintf(path, sizeof path, SINTER_SOURCE_DIR "/tests/golden/cuda_%s.cu", name);
    if (getenv("SINTER_BLESS"))
        write_file(path, kernels);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    want[fread(want, 1, sizeof want - 1, f)] = 0;
    fclose(f);
    assert_string_equal(kernels, want);
    sinter_text_free(source);
    session_close(&s);
    pb_free(&m);
}

static void rows_are_groups_and_reductions_are_combined(void **state)
{
    (void)state;
    check_golden("softmax", net_softmax());
}

static void products_are_blocks_of_sums(void **state)
{
    (void)state;
    check_golden("linear", net_linear());
}

static void failing_indices_keep_threads_going(void **state)
{
    (void)state;
    check_golden("gather", net_gather());
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

/* The program's kernels become those of the emitted CUDA, run as one block of `threads` threads. */
static void *play_gpu(Session *s, int threads)
{
    static int serial;
    char path[256];
    char *source = emitted(s);
    Buf b;
    Ctx *cx = &s->program->cx;
    volatile bool ok = false;
    snprintf(path, sizeof path, "%s/host%d.cu", folder, serial);
    TRY(cx) {
        buf_init(&b, cx);
        buf_puts(&b, source);
        for (int i = 0; i < s->program->m.steps.n; i++)
            buf_printf(&b, "RUN_BLOCK(%s)\n", s->program->m.steps.at[i].kernel->name);
        write_file(path, b.s);
        ok = true;
    }
    assert_true(ok);
    sinter_text_free(source);
    assert_true(shell(NULL,
        "g++ -x c++ -std=c++17 -O1 -w -fPIC -shared -pthread -DCUDA_THREADS=%d -include "
        "'%s/tests/support/cuda_host.h' -o '%s.so' '%s' 2>&1",
        threads, SINTER_SOURCE_DIR, path, path));
    snprintf(path, sizeof path, "%s/host%d.cu.so", folder, serial++);
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(so);
    for (int i = 0; i < s->program->m.steps.n; i++) {
        snprintf(path, sizeof path, "host_%s", s->program->m.steps.at[i].kernel->name);
        s->program->fn[i] = (KernelFn *)(uintptr_t)dlsym(so, path);
        assert_non_null(s->program->fn[i]);
    }
    return so;
}

/* Two sessions of one model, the second playing; the same inputs; equal outputs. */
static void compare(Session *c, Session *cuda, const sinter_value *const *in, int n_in, int n_out,
    int threads)
{
    sinter_value *want[8] = {0}, *got[8] = {0};
    void *so = play_gpu(cuda, threads);
    assert_int_equal(sinter_run(c->run, in, n_in, want, n_out, &c->err), SINTER_OK);
    assert_int_equal(sinter_run(cuda->run, in, n_in, got, n_out, &cuda->err), SINTER_OK);
    for (int i = 0; i < n_out; i++)
        assert_close(got[i], want[i], "CUDA on the CPU");
    session_close(c);
    session_close(cuda);
    dlclose(so);
}

/* Inputs of up to 8 dims in the order of the graph. */
static void compare_net(Pb m, int n_in, const int *rank, const int64_t (*dim)[4])
{
    for (int threads = 1; threads <= 64; threads *= 64) {
        Session c, cuda;
        sinter_options o = net_options(2, 1, NULL);
        session_open(&c, &m, &o);
        session_open(&cuda, &m, &o);
        sinter_value *in[3];
        for (int i = 0; i < n_in; i++)
            in[i] = net_random(rank[i], dim[i], 7 + (uint64_t)i);
        compare(&c, &cuda, (const sinter_value *const *)in, n_in, 1, threads);
        for (int i = 0; i < n_in; i++)
            sinter_value_free(in[i]);
    }
    pb_free(&m);
}

static void small_nets_on_the_cpu(void **state)
{
    (void)state;
    compare_net(net_softmax(), 1, (int[]){2}, (const int64_t[][4]){{5, 100}});
    compare_net(net_softmax(), 1, (int[]){2}, (const int64_t[][4]){{1, 100}});
    compare_net(net_linear(), 1, (int[]){2}, (const int64_t[][4]){{7, 64}});
}

static void a_trained_network_on_the_cpu(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 64; threads *= 64) {
        Session c, cuda;
        open_file(&c, "models/mnist8_cnn/model.onnx");
        open_file(&cuda, "models/mnist8_cnn/model.onnx");
        sinter_value *in = net_value("models/mnist8_cnn/test_data_set_0/input_0.pb");
        compare(&c, &cuda, (const sinter_value *const *)&in, 1, 1, threads);
        sinter_value_free(in);
    }
}

/* The zoo's graph with weights and inputs by recipe, at <folder>/NAME. */
static void fill(const char *name)
{
    const char *zoofill = SINTER_BINARY_DIR "/tests/zoo-tools/zoofill";
    const char *graph = SINTER_SOURCE_DIR "/tests/zoo/small";
    assert_true(shell(NULL, "%s %s/%s.onnx %s/%s.onnx 2>&1", zoofill, graph, name, folder, name));
    assert_true(
        shell(NULL, "%s --inputs %s/%s.onnx %s/%s 2>&1", zoofill, graph, name, folder, name));
}

static void open_zoo(Session *s, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    open_file(s, path);
}

static void compare_zoo(const char *name, int n_in, int threads)
{
    Session c, cuda;
    sinter_value *in[4];
    fill(name);
    open_zoo(&c, name);
    open_zoo(&cuda, name);
    for (int i = 0; i < n_in; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s/input_%d.pb", folder, name, i);
        in[i] = net_value(path);
    }
    compare(&c, &cuda, (const sinter_value *const *)in, n_in, 1, threads);
    for (int i = 0; i < n_in; i++)
        sinter_value_free(in[i]);
}

/* Depthwise and strided convolutions; attention with its gathers and layer normalizations. */
static void zoo_models_on_the_cpu(void **state)
{
    (void)state;
    compare_zoo("mobilenet_v2", 1, 1);
    compare_zoo("minilm_l6", 3, 32);
}

/* ---- nvcc ------------------------------------------------------------------------------------ */

/* How many functions spill, by ptxas. */
static int spills(const char *log)
{
    int n = 0;
    for (const char *c = log; (c = strstr(c, "bytes spill stores")); c++)
        n += !(c - log >= 2 && c[-2] == '0' && (c - log < 3 || c[-3] == ' '));
    return n;
}

static int compile_for(const char *path, const char *arch)
{
    char *log;
    assert_true(
        shell(&log, "nvcc -arch=%s -cubin -Xptxas -v -o '%s.cubin' '%s' 2>&1", arch, path, path));
    int n = spills(log);
    free(log);
    return n;
}

static void check_nvcc(Session *s, const char *what)
{
    char path[256], *source = emitted(s);
    snprintf(path, sizeof path, "%s/nvcc.cu", folder);
    write_file(path, source);
    sinter_text_free(source);
    int n = compile_for(path, "sm_80") + compile_for(path, "sm_90");
    print_message("nvcc: %s: %d kernels, %d spills\n", what, s->program->m.steps.n, n);
    assert_int_equal(n, 0);
}

static void nvcc_takes_the_committed_models(void **state)
{
    (void)state;
    static const char *const name[] = {"mnist8_cnn", "magika", "espcn_nn_x2"};
    for (int i = 0; i < NELEM(name); i++) {
        char path[128];
        Session s;
        snprintf(path, sizeof path, "models/%s/model.onnx", name[i]);
        open_file(&s, path);
        check_nvcc(&s, name[i]);
        session_close(&s);
    }
}

static void nvcc_takes_zoo_models(void **state)
{
    (void)state;
    static const char *const name[] = {"mobilenet_v2", "minilm_l6"};
    for (int i = 0; i < NELEM(name); i++) {
        Session s;
        fill(name[i]);
        open_zoo(&s, name[i]);
        check_nvcc(&s, name[i]);
        session_close(&s);
    }
}

static void nvcc_takes_small_nets(void **state)
{
    (void)state;
    Pb (*const net[])(void) = {net_small, net_normalized, net_attention, net_pooled, net_joined,
        net_sliced, net_gather};
    for (int i = 0; i < NELEM(net); i++) {
        Pb m = net[i]();
        Session s;
        sinter_options o = net_options(2, 1, NULL);
        session_open(&s, &m, &o);
        check_nvcc(&s, "small net");
        session_close(&s);
        pb_free(&m);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return shell(NULL, "rm -r '%s'", folder) ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_groups_and_reductions_are_combined),
        cmocka_unit_test(products_are_blocks_of_sums),
        cmocka_unit_test(failing_indices_keep_threads_going),
        cmocka_unit_test(small_nets_on_the_cpu),
        cmocka_unit_test(a_trained_network_on_the_cpu),
        cmocka_unit_test(zoo_models_on_the_cpu),
    };
    const struct CMUnitTest nvcc[] = {
        cmocka_unit_test(nvcc_takes_the_committed_models),
        cmocka_unit_test(nvcc_takes_small_nets),
        cmocka_unit_test(nvcc_takes_zoo_models),
    };
    int failed = cmocka_run_group_tests(tests, make_folder, remove_folder);
    if (system("command -v nvcc >/dev/null 2>&1")) {
        print_message("nvcc is not here: that it takes the text was not checked\n");
        return failed;
    }
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return failed + cmocka_run_group_tests(nvcc, make_folder, remove_folder);
}
