// run.cpp MODEL: the same as run.c in C++, with handles that free themselves and errors as
// exceptions.
#include <sinter.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

template <class T, void (*Free)(T *)> struct Deleter {
    void operator()(T *p) const { Free(p); }
};
template <class T, void (*Free)(T *)> using Handle = std::unique_ptr<T, Deleter<T, Free>>;

// make<Handle>(call, arguments...): the call's handle, or an exception with its message.
template <class H, class Call, class... Args> H make(Call call, Args... args)
{
    sinter_error err;
    typename H::pointer p = nullptr;
    if (call(args..., &p, &err))
        throw std::runtime_error(err.message);
    return H(p);
}

static void run(const char *path)
{
    using Model = Handle<sinter_model, sinter_model_free>;
    using Program = Handle<sinter_program, sinter_program_free>;
    using Context = Handle<sinter_run_context, sinter_context_free>;
    using Value = Handle<sinter_value, sinter_value_free>;

    Model model = make<Model>(sinter_load_file, path, nullptr);
    sinter_io io;
    if (sinter_input(model.get(), 0, &io))
        throw std::runtime_error("the model has no input");
    for (int k = 0; k < io.rank; k++)
        io.dim[k] = io.dim[k] < 0 ? 1 : io.dim[k];

    Program program = make<Program>(sinter_compile, model.get(), nullptr);
    Context context = make<Context>(sinter_context_new, program.get());
    Value in = make<Value>(sinter_tensor_new, io.dtype, io.rank, io.dim, nullptr, 0);

    // Other inputs keep the defaults that the model holds.
    std::vector<const sinter_value *> inputs(sinter_input_count(model.get()), nullptr);
    inputs[0] = in.get();
    sinter_value *outputs[] = {nullptr}; // the context's own value, valid until the next run
    sinter_error err;
    sinter_tensor t;
    const int n = static_cast<int>(inputs.size());
    if (sinter_run(context.get(), inputs.data(), n, outputs, 1, &err))
        throw std::runtime_error(err.message);
    if (sinter_tensor_get(outputs[0], &t))
        throw std::runtime_error("output 0 is not a tensor");
    std::printf("%s: %lld values of output 0\n", path, static_cast<long long>(t.count));
}

int main(int argc, char **argv)
{
    try {
        if (argc != 2)
            throw std::runtime_error("usage: run MODEL");
        run(argv[1]);
        return 0;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "error: %s\n", e.what());
        return 1;
    }
}
