/* internal.h: what stands behind the opaque handles of sinter.h. */
#ifndef SINTER_INTERNAL_H
#define SINTER_INTERNAL_H
#include <pthread.h>

#include "codegen/kctx.h"
#include "graph/interp.h"
#include "passes/pass.h"
#include "runtime/jit.h"
#include "runtime/kernels/kernels.h"
#include "runtime/threads.h"
#include "sinter.h"

struct sinter_model {
    Ctx cx;
    Alloc alloc;     /* a copy of the caller's allocator, or of the default */
    const char *path; /* NULL: from memory */
    const void *bytes;
    size_t n_bytes;
    Graph *graph;    /* as imported: for introspection; each compilation imports its own */
    char *json;
};

struct sinter_program {
    Ctx cx;
    Alloc alloc;
    const sinter_model *model;
    Module m;
    JitCode *code;
    KernelFn **fn; /* by step */
    const Kernels *kernels;
    double compile_ms;
    pthread_mutex_t emitting; /* the emitter makes index forms in the program's pool */
    sinter_options options;   /* copies: for compiling the variant */
    /* the same with overridable inputs; made when first needed, under `emitting` */
    sinter_program *variant;
};

/* A value: a tensor over memory of its own or of somebody else. */
struct sinter_value {
    sinter_tensor t;
    Alloc *alloc;
    size_t room;     /* bytes behind t.data: results of any size up to that fit */
    void *own;       /* memory to free, or NULL */
    size_t own_bytes;
    char *name;      /* of a parsed TensorProto */
    size_t name_bytes;
};

struct sinter_run_context {
    Ctx cx;
    const sinter_program *program;
    ArenaMark start;     /* what is above is one run's */
    Team *team;          /* NULL for one thread */
    int64_t *sym;        /* values of the symbols, by id */
    int64_t *bound;      /* the symbols that the present plan is for */
    bool planned, holds_memory;
    sinter_run_context *variant; /* of the program's variant, or NULL */
    void **ptr;          /* by buffer id */
    int64_t *offset;     /* by buffer id, of arena buffers */
    int64_t *bytes;      /* by buffer id */
    void ***step_args;   /* by step: pointers in the order of the kernel's arguments */
    int64_t *tiles;      /* by step */
    char *arena;
    size_t arena_bytes;  /* allocated */
    int64_t arena_used, arena_bound;
    char *scratch;
    size_t scratch_bytes, scratch_stride;
    int64_t *out_bytes;  /* by graph output */
    sinter_value **out;  /* the context's own outputs */
    const Tensor **input; /* this run's inputs as tensors, by graph input; views */
    Tensor *input_view;
    int64_t error[8];
};

/* Runs `work(arg)` under cx; what it reported goes to *err. */
sinter_code api_call(Ctx *cx, void (*work)(void *), void *arg, sinter_error *err);
void api_problem(const Problem *p, sinter_error *err); /* one problem, its own message */
sinter_code api_ok(sinter_error *err); /* clears *err */
sinter_code api_error(sinter_error *err, sinter_code code, const char *message);
void api_alloc(Alloc *a, const sinter_options *o);
/* The caller's options, completed by defaults for what an older caller's struct lacks. */
sinter_options api_options(const sinter_options *o);

/* bind.c: dims from inputs, guards, buffer sizes, the arena's plan. Raises on mismatch. */
void context_bind(sinter_run_context *rc, const sinter_value *const *inputs, int n_inputs);
/* Takes the planned memory; refuses if that and the outputs that the context makes are more than
 * max_memory. */
void context_memory(sinter_run_context *rc, sinter_value *const *outputs);
/* plan.c: offsets for intervals; returns the total. */
int64_t arena_plan(Ctx *cx, int n, const int64_t *bytes, const int *first, const int *last,
    int64_t *offset, int64_t *bound);

/* A copy that sinter_text_free frees; NUL-terminated; NULL when out of memory. */
/* The program in which inputs with defaults are variables. Programs take their defaults for
 * constants (older models list all weights among the inputs), until a caller gives one. */
sinter_code program_variant(const sinter_program *program, sinter_program **variant,
    sinter_error *err);
void *text_copy(const void *p, size_t n);
/* A value over `data`, or (NULL) with zeroed memory of its own; NULL when out of memory. */
sinter_value *value_new(Alloc *a, const sinter_tensor *t, void *data);
bool tensor_view(const sinter_value *v, Tensor *t);
#endif
