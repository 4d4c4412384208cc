/* Importing and memory: big weights are mapped, not copied; any allocation may fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/onnx_pb.h"

enum { BIG_FLOATS = 125 * 1000 * 1000, ALLOWED_KB = 32 * 1024 };

/* ---- big files ------------------------------------------------------------------------------- */

/* Peak resident memory of this process, in KB. */
static long peak_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kb < 0 && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %ld", &kb);
    if (f)
        fclose(f);
    return kb;
}

/* The head of a length-delimited field whose payload of `n` bytes follows. */
static void pb_head(Pb *p, int field, size_t n)
{
    pb_varint(p, (uint64_t)field << 3 | 2);
    pb_varint(p, n);
}

/* A file of 500 MB that takes no disk: a model whose weight is a hole at its end, in the given data
 * field. */
static void make_big_model(char *path, int data_field)
{
    size_t bytes = (size_t)BIG_FLOATS * 4;
    Pb m = {0}, g = {0}, t = pb_tensor("w", DT_F32, DIMS(BIG_FLOATS)), head = {0};
    pb_int(&m, MODEL_IR, 8);
    pb_opset(&m, MODEL_OPSET, "", 17);
    pb_value(&g, GRAPH_OUTPUT, "w", DT_F32, DIMS(BIG_FLOATS));
    pb_head(&t, data_field, bytes);
    pb_head(&g, GRAPH_INITIALIZER, t.n + bytes);
    pb_raw(&g, t.at, t.n);
    pb_head(&head, MODEL_GRAPH, g.n + bytes);
    pb_raw(&m, head.at, head.n);
    pb_raw(&m, g.at, g.n);
    strcpy(path, "/tmp/sinter-big-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, m.at, m.n), (ssize_t)m.n);
    assert_int_equal(ftruncate(fd, (off_t)(m.n + bytes)), 0);
    close(fd);
    pb_free(&m);
    pb_free(&g);
    pb_free(&t);
    pb_free(&head);
}

/* What loading adds to the peak, in KB; -1 when it fails. Measured in a process of its own. */
static long cost_of_loading(const char *path)
{
    long kb[2] = {-1, -1};
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        Loaded l;
        kb[0] = peak_kb();
        load_path(&l, path);
        bool ok = l.g && value_named(l.g, "w")->data->count == BIG_FLOATS;
        kb[1] = ok ? peak_kb() : -1;
        _exit(write(pipe_fd[1], kb, sizeof kb) != sizeof kb);
    }
    assert_int_equal(read(pipe_fd[0], kb, sizeof kb), (ssize_t)sizeof kb);
    waitpid(pid, NULL, 0);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
    return kb[0] < 0 || kb[1] < 0 ? -1 : kb[1] - kb[0];
}

static void half_a_gigabyte_of_weights_costs_no_memory(void **state)
{
    (void)state;
    static const int field[] = {TENSOR_RAW, TENSOR_FLOATS};
    for (int i = 0; i < NELEM(field); i++) {
        char path[64];
        make_big_model(path, field[i]);
        long kb = cost_of_loading(path);
        remove(path);
        assert_in_range(kb, 0, ALLOWED_KB);
    }
}

/* ---- failing allocations --------------------------------------------------------------------- */

/* Enough of everything that importing takes many blocks. */
static Pb wide_model(void)
{
    Pb g = {0}, f = pb_function("f", "a", "b"), body = pb_node("Neg", "a", "b", "");
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2, -1));
    for (int i = 0; i < 1500; i++) {
        char out[16], in[16];
        snprintf(out, sizeof out, "v%d", i);
        snprintf(in, sizeof in, i ? "v%d" : "x", i - 1);
        Pb node = pb_node(i % 3 ? "Relu" : "f", in, out, out),
           w = pb_floats(out + 1, 2, (const float[]){1, 2});
        if (i % 3 == 0)
            pb_str(&node, NODE_DOMAIN, "local");
        else
            pb_attr_int(&node, "k", i);
        if (i % 3 == 1) {
            Pb inner = {0}, n = pb_node("Abs", in, "t", "");
            pb_msg(&inner, GRAPH_NODE, &n);
            pb_attr_graph(&node, "g", &inner);
        }
        pb_msg(&g, GRAPH_NODE, &node);
        pb_msg(&g, GRAPH_INITIALIZER, &w);
    }
    pb_value(&g, GRAPH_OUTPUT, "v1499", DT_F32, DIMS(2, -1));
    Pb m = pb_model(&g);
    pb_msg(&f, FUNCTION_NODE, &body);
    pb_msg(&m, MODEL_FUNCTION, &f);
    return m;
}

/* Imports, prints, parses with an allocator that fails from call n on. True when that succeeded. */
static bool work_with(Alloc *a, const Pb *m, int64_t n, Code *code)
{
    Ctx cx;
    volatile bool ok = false;
    a->count = 0;
    a->fail_at = n;
    ctx_init(&cx, a);
    TRY(&cx) {
        Graph *g = graph_import(&cx, m->at, m->n, NULL);
        Buf b;
        buf_init(&b, &cx);
        graph_print(&b, g);
        graph_verify(graph_parse(&cx, b.s));
        ok = true;
    }
    *code = cx.problems ? cx.problems->code : ST_OK;
    ctx_free(&cx);
    return ok;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    Pb m = wide_model();
    Alloc a = *alloc_default();
    a.live_bytes = 0;
    Code code;
    int64_t n = 1;
    while (!work_with(&a, &m, n, &code)) {
        assert_int_equal(code, ST_MEMORY);
        assert_int_equal(a.live_bytes, 0);
        n++;
    }
    assert_int_equal(a.live_bytes, 0);
    assert_true(n > 10);
    assert_true(work_with(&a, &m, 0, &code)); /* and a retry works */
    pb_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_a_gigabyte_of_weights_costs_no_memory),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
