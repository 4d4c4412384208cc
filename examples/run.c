/* run.c MODEL: load, compile, run. Input 0 is zeros, dims that the model leaves open are 1; other
 * inputs keep the defaults that the model holds. */
#include <sinter.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    sinter_error err = {0};
    sinter_model *model = NULL;
    sinter_program *program = NULL;
    sinter_run_context *run = NULL;
    sinter_value *in = NULL, *out = NULL;
    const sinter_value *inputs[64] = {NULL};
    sinter_io io;
    sinter_tensor t;

    if (argc == 2 && !sinter_load_file(argv[1], NULL, &model, &err) &&
        !sinter_input(model, 0, &io)) {
        for (int k = 0; k < io.rank; k++)
            io.dim[k] = io.dim[k] < 0 ? 1 : io.dim[k];
        if (sinter_input_count(model) <= 64 && !sinter_compile(model, NULL, &program, &err) &&
            !sinter_context_new(program, &run, &err) &&
            !sinter_tensor_new(io.dtype, io.rank, io.dim, NULL, 0, &in, &err)) {
            inputs[0] = in;
            if (!sinter_run(run, inputs, sinter_input_count(model), &out, 1, &err) &&
                !sinter_tensor_get(out, &t))
                printf("%s: %lld values of output 0\n", argv[1], (long long)t.count);
        }
    }
    if (!out)
        fprintf(stderr, "error: %s\n", err.code ? err.message : "usage: run MODEL");
    sinter_value_free(in);
    sinter_context_free(run);
    sinter_program_free(program);
    sinter_model_free(model);
    return out ? 0 : 1;
}
