/* sinter.h: load, compile and run ONNX models.
 *
 *     sinter_model *model; sinter_program *program; sinter_run_context *run; sinter_error err;
 *     if (sinter_load_file("model.onnx", NULL, &model, &err) ||
 *         sinter_compile(model, NULL, &program, &err) ||
 *         sinter_context_new(program, &run, &err) ||
 *         sinter_run(run, inputs, 1, outputs, 1, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *
 * Every call that can fail returns a sinter_code (0 is success) and fills *err when err is not
 * NULL. Nothing in the library prints, exits or aborts. Handles are opaque. A model and a program
 * are immutable after creation and may be shared by threads; a run context and the values bound to
 * it belong to one thread at a time. Every ..._free accepts NULL.
 */
#ifndef SINTER_H
#define SINTER_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_API __attribute__((visibility("default")))
#define SINTER_MAX_RANK 16

typedef enum {
    SINTER_OK = 0,
    SINTER_ERR_MODEL = 1,       /* the model is invalid */
    SINTER_ERR_INPUT = 2,       /* an input or argument does not fit the model */
    SINTER_ERR_IO = 3,          /* a file can't be read or written */
    SINTER_ERR_MEMORY = 4,      /* out of memory */
    SINTER_ERR_LIMIT = 5,       /* a limit was exceeded */
    /* the model needs something that sinter lacks: see sinter_model_problem */
    SINTER_ERR_UNSUPPORTED = 6,
    SINTER_ERR_USAGE = 7,       /* the call itself is wrong */
    SINTER_ERR_RUNTIME = 8,     /* a kernel failed: index out of range, division by zero... */
    SINTER_ERR_INTERNAL = 9     /* a bug in sinter */
} sinter_code;

/* Filled by a failing call. Strings are NUL-terminated and cut to fit; absent parts are "". */
typedef struct sinter_error {
    sinter_code code;
    char message[2048]; /* all problems found, one per line */
    char node[256], op_type[128], tensor[256], hint[512];
} sinter_error;

/* Element types: the numbers of ONNX TensorProto.DataType. */
typedef enum {
    SINTER_FLOAT32 = 1, SINTER_UINT8 = 2, SINTER_INT8 = 3, SINTER_UINT16 = 4, SINTER_INT16 = 5,
    SINTER_INT32 = 6, SINTER_INT64 = 7, SINTER_STRING = 8, SINTER_BOOL = 9, SINTER_FLOAT16 = 10,
    SINTER_FLOAT64 = 11, SINTER_UINT32 = 12,
    SINTER_UINT64 = 13, SINTER_COMPLEX64 = 14, SINTER_COMPLEX128 = 15, SINTER_BFLOAT16 = 16
} sinter_dtype;

typedef struct sinter_model sinter_model;
typedef struct sinter_program sinter_program;
typedef struct sinter_run_context sinter_run_context;
/* a tensor now; later also sequences, optionals, strings */
typedef struct sinter_value sinter_value;

/* Call sinter_options_init first: it sets `size` and the defaults. NULL options mean the
 * defaults. */
typedef struct sinter_options {
    size_t size;        /* sizeof(sinter_options) of the caller: how fields are added later */
    /* 0 interpreter, 1 scalar C unfused, 2 fused with vector bodies (default), 3 system compiler */
    int opt_level;
    int threads;        /* 0: the CPUs that affinity and cgroup allow */
    /* 1 (default) fuse by time, 0 one kernel per node, 2 as few kernels as possible */
    int fuse;
    int strict;         /* 1: fused results are bit-identical to unfused ones */
    const char *isa;    /* NULL: the best of this CPU; or "sse2", "avx2", "avx512" */
    uint64_t seed;      /* for random operators */
    int64_t max_memory; /* bytes for one run; 0: no bound */
    const char *const *disable_pass; /* NULL-terminated names, or NULL */
    /* nodes whose outputs must be materialised; NULL-terminated, or NULL */
    const char *const *keep;
    /* "batch=8": the sizes that symbolic dims will mostly have. Programs run at any size; choices
     * are made for these. NULL-terminated, or NULL */
    const char *const *dims;
    const char *dump_dir;            /* write the state after each pass there, or NULL */
    const char *print_after;         /* a pass name or "all": its result goes to the log, or NULL */
    /* level 0 notes, 1 verbose, 2 debug; NULL: silent */
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    int log_level;
    /* NULL: malloc; may return NULL at any call */
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*release)(void *user, void *p, size_t size);
    void *alloc_user;
} sinter_options;

/* An input or output of a model. Pointers live as long as the model. dim[k] is -1 when not fixed by
 * the model; its name (a symbol) is then dim_name[k], or NULL when it has none. */
typedef struct sinter_io {
    const char *name;
    sinter_dtype dtype;
    int rank; /* -1: not known */
    int64_t dim[SINTER_MAX_RANK];
    const char *dim_name[SINTER_MAX_RANK];
    int optional; /* an input with a default (it is also an initializer) */
} sinter_io;

/* What a value holds. `data` is row-major and stays valid as long as the value, unless it is
 * re-bound. */
typedef struct sinter_tensor {
    sinter_dtype dtype;
    int rank;
    int64_t dim[SINTER_MAX_RANK];
    int64_t count; /* elements */
    size_t bytes;
    void *data;
} sinter_tensor;

/* ---- general */
SINTER_API const char *sinter_version(void);
SINTER_API void sinter_options_init(sinter_options *options);

/* ---- models */
/* `path` is mapped; external data is read beneath its folder. The file must not change while the
 * model lives. */
SINTER_API sinter_code sinter_load_file(const char *path, const sinter_options *options,
    sinter_model **model, sinter_error *err);
/* The bytes are copied: they may be freed after the call. */
SINTER_API sinter_code sinter_load_memory(const void *bytes, size_t n,
    const sinter_options *options, sinter_model **model, sinter_error *err);
SINTER_API void sinter_model_free(sinter_model *model);
/* Graph inputs (initializers that are listed as inputs come with optional = 1) and outputs, in the
 * model's order. Returns SINTER_ERR_USAGE past the end. */
SINTER_API int sinter_input_count(const sinter_model *model);
SINTER_API int sinter_output_count(const sinter_model *model);
SINTER_API sinter_code sinter_input(const sinter_model *model, int i, sinter_io *io);
SINTER_API sinter_code sinter_output(const sinter_model *model, int i, sinter_io *io);
/* Problem i of a loaded model that can't be compiled (unsupported nodes...); SINTER_ERR_USAGE past
 * the end. */
SINTER_API sinter_code sinter_model_problem(const sinter_model *model, int i,
    sinter_error *problem);
/* A JSON object that describes the model (the `inspect` object of the contract), NUL-terminated,
 * owned by the model. */
SINTER_API const char *sinter_model_json(sinter_model *model);

/* ---- programs */
/* Compiles for any size of the symbolic dims. The model must outlive the program. */
SINTER_API sinter_code sinter_compile(const sinter_model *model, const sinter_options *options,
    sinter_program **program, sinter_error *err);
SINTER_API void sinter_program_free(sinter_program *program);
/* Static facts as JSON: the `report` object of the contract without measured times and verdict.
 * `context` may be NULL; if given, bytes are those of the dims it ran last. Freed by
 * sinter_text_free. */
SINTER_API sinter_code sinter_report(const sinter_program *program,
    const sinter_run_context *context, char **json, sinter_error *err);
/* The generated source: target "c" or "cuda", tier 0 or 1; and the steps as JSON (program.json of
 * the contract). */
SINTER_API sinter_code sinter_emit(const sinter_program *program, const sinter_run_context *context,
    const char *target, int tier, char **source,
    char **steps_json, sinter_error *err);
SINTER_API void sinter_text_free(char *text);

/* ---- running */
/* The program must outlive its contexts. */
SINTER_API sinter_code sinter_context_new(const sinter_program *program,
    sinter_run_context **context, sinter_error *err);
SINTER_API void sinter_context_free(sinter_run_context *context);
/* Runs with inputs[i] for graph input i (NULL, or i >= n_inputs: the default of an optional input).
 * outputs[i] receives output i: where the caller put a value there, it is written in place and must
 * have the right type and enough bytes; where outputs[i] is NULL, the context's own value is
 * returned, valid until the next run or the end of the context. The memory of an output must not
 * overlap that of an input or of another output. */
SINTER_API sinter_code sinter_run(sinter_run_context *context, const sinter_value *const *inputs,
    int n_inputs, sinter_value **outputs, int n_outputs, sinter_error *err);

/* ---- values */
/* A tensor over the caller's memory (data != NULL: not copied, must outlive the value), or with
 * memory of its own, zeroed (data NULL). */
SINTER_API sinter_code sinter_tensor_new(sinter_dtype dtype, int rank, const int64_t *dim,
    void *data, size_t bytes, sinter_value **value, sinter_error *err);
SINTER_API sinter_code sinter_tensor_get(const sinter_value *value, sinter_tensor *tensor);
SINTER_API void sinter_value_free(sinter_value *value);
/* Reads and writes a serialized ONNX TensorProto; *name (may be NULL) gets the tensor's name, owned
 * by the value. */
SINTER_API sinter_code sinter_value_parse(const void *bytes, size_t n, sinter_value **value,
    const char **name, sinter_error *err);
SINTER_API sinter_code sinter_value_serialize(const sinter_value *value, const char *name,
    void **bytes, size_t *n, sinter_error *err); /* free with sinter_text_free */

#ifdef __cplusplus
}
#endif
#endif
