/* options.c: the options and the verbs of the command. */
#include "options.h"
#include <string.h>

// clang-format off
#define AT(field) offsetof(Args, field)

const Option option_table[] = {
    /* what goes in */
    {"--input", "SPEC", OPT_LIST, V_INPUTS, AT(inputs), 0, 0, NULL,
        "input values: DIR, NAME=@FILE.npy|.pb|.npz[:KEY], NAME=rand:SEED:LO:HI or NAME=1,2,3; "
        "may be repeated, the last wins"},
    {"--dim", "NAME=N", OPT_LIST, V_INPUTS, AT(dims), 0, 0, NULL, "size of a symbolic dimension"},
    {"--shape", "NAME:1x3x8", OPT_LIST, V_INPUTS, AT(shapes), 0, 0, NULL, "shape of an input"},
    {"--seed", "N", OPT_SEED, V_INPUTS, AT(seed), 0, 0, NULL,
        "seed of generated inputs and of random operators"},
    /* what comes out */
    {"-o", "PATH", OPT_TEXT, V_RUN | V_EMIT, AT(output), 0, 0, NULL,
        "run: write the outputs to DIR/ (output_K.pb) or FILE.npz; emit: the folder to fill"},
    {"--expect", "DIR", OPT_TEXT, V_RUN, AT(expect), 0, 0, NULL,
        "compare the outputs with DIR/output_K.pb; exit 3 when they differ"},
    {"--top", "K", OPT_INT, V_RUN, AT(top), 1, 1000, NULL,
        "show the K largest values along the last axis"},
    {"--labels", "FILE", OPT_TEXT, V_RUN, AT(labels), 0, 0, NULL, "names for --top, one a line"},
    {"--format", "text|json|csv|md", OPT_CHOICE, V_ALL, AT(format), 0, 0, "text|json|csv|md",
        "form of the results"},
    {"--rtol", "X", OPT_REAL, V_COMPARES, AT(rtol), 0, 0, NULL,
        "relative tolerance of comparisons"},
    {"--atol", "X", OPT_REAL, V_COMPARES, AT(atol), 0, 0, NULL,
        "absolute tolerance of comparisons"},
    {"--reference", "auto|interp|scalar", OPT_TEXT,
        V_VERIFY | V_REPORT, AT(reference), 0, 0, "auto|interp|scalar",
        "what to compare with: the interpreter, unfused scalar code, or by the model's size"},
    {"--target", "c|cuda[:sm_XX]", OPT_TEXT, V_EMIT, AT(target), 0, 0, NULL,
        "language of the emitted source"},
    {"--tier", "0|1", OPT_INT, V_EMIT, AT(tier), 0, 1, NULL,
        "0: plain C for any compiler; 1: what TinyCC gets"},
    {"--no-run", NULL, OPT_SET, V_REPORT, AT(no_run), 1, 0, NULL,
        "compile only: no times, the verdict is \"not run\""},
    {"--record", "FILE", OPT_TEXT, V_REPORT, AT(record), 0, 0, NULL,
        "keep this model's counts in FILE"},
    {"--check", "FILE", OPT_TEXT, V_REPORT, AT(check), 0, 0, NULL,
        "compare with the counts in FILE; exit 3 when any is higher or lower, or the verdict is "
        "\"differs\""},
    {"--runs", "N", OPT_INT, V_BENCH, AT(runs), 1, 1000000000, NULL,
        "timed runs, instead of about two seconds"},
    /* how it is compiled */
    {"-O0", NULL, OPT_SET, V_INPUTS, AT(opt_level), 0, 0, NULL, "interpreter"},
    {"-O1", NULL, OPT_SET, V_INPUTS, AT(opt_level), 1, 0, NULL, "scalar C, unfused"},
    {"-O2", NULL, OPT_SET, V_INPUTS, AT(opt_level), 2, 0, NULL,
        "fused, vector bodies, TinyCC (the default)"},
    {"-O3", NULL, OPT_SET, V_INPUTS, AT(opt_level), 3, 0, NULL, "adds the system's C compiler"},
    {"--no-fuse", NULL, OPT_SET, V_INPUTS, AT(fuse), 0, 0, NULL, "one kernel per node"},
    {"--fuse", "time|min", OPT_CHOICE, V_INPUTS, AT(fuse), 1, 0, "time|min",
        "fuse for speed, or to fewest kernels"},
    {"--keep", "NODE", OPT_LIST, V_INPUTS, AT(keep), 0, 0, NULL,
        "materialise the outputs of this node"},
    {"--strict", NULL, OPT_SET, V_INPUTS, AT(strict), 1, 0, NULL,
        "fused results bit-identical to unfused ones"},
    {"--isa", "sse2|avx2|avx512|amx", OPT_TEXT, V_INPUTS, AT(isa), 0, 0, "sse2|avx2|avx512|amx",
        "instruction set, instead of the best of this CPU"},
    {"--threads", "N", OPT_INT, V_INPUTS, AT(threads), 0, 1024, NULL,
        "threads; 0 (the default): all CPUs that affinity and cgroup allow"},
    {"--max-memory", "BYTES", OPT_BYTES, V_INPUTS, AT(max_memory), 0, 0, NULL,
        "bound on one run; K, M, G are 1024^n"},
    /* looking inside */
    {"--disable-pass", "PASS", OPT_LIST, V_ALL, AT(disable_pass), 0, 0, NULL, "leave out a pass"},
    {"--print-after", "PASS|all", OPT_TEXT, V_INPUTS, AT(print_after), 0, 0, NULL,
        "print what a pass made, on stderr"},
    {"--dump", "DIR", OPT_TEXT, V_INPUTS, AT(dump), 0, 0, NULL,
        "write what each pass made to files in DIR"},
    {"--list-ops", NULL, OPT_SET, V_ALL, AT(list_ops), 1, 0, NULL, "list the supported operators"},
    {"--list-passes", NULL, OPT_SET, V_ALL, AT(list_passes), 1, 0, NULL,
        "list the passes in their order"},
    {"-v", NULL, OPT_COUNT, V_ALL, AT(verbose), 0, 0, NULL, "say more, on stderr; -vv says all"},
    {"-q", NULL, OPT_SET, V_ALL, AT(quiet), 1, 0, NULL, "only results and errors"},
    {"--help", NULL, OPT_SET, V_ALL, AT(help), 1, 0, NULL, "help; with a verb, its own help"},
    {"--version", NULL, OPT_SET, V_ALL, AT(version), 1, 0, NULL, "print the version"},
    {"--html", "FILE", OPT_LATER, 0, 0, 0, 0, NULL, NULL},
};
const int option_table_n = sizeof option_table / sizeof *option_table;

const Verb verb_table[] = {
    {"run", "run MODEL [options]",
        "run a model once and show, write or check its outputs", verb_run,
        "Inputs that are not given are generated from a seed, and symbolic dims that are not "
        "given are 1; both are said\n"
        "on stderr. Without -o a readable summary of every output is printed.\n",
        "sinter run model.onnx\n"
        "sinter run model.onnx --input image=@cat.npy --top 5 --labels labels.txt\n"
        "sinter run model.onnx --input ids=101,2023,102 --input mask=1 --dim batch=1\n"
        "sinter run model.onnx --input test_data_set_0 --expect test_data_set_0\n"
        "sinter run model.onnx --shape x:8x3x224x224 -o out.npz\n"},
    {"inspect", "inspect MODEL... [options]",
        "describe a model: inputs, outputs, operators, what is unsupported",
        verb_inspect,
        "Nothing is compiled. The exit status is 0 also for a model with unsupported operators: "
        "they are listed.\n",
        "sinter inspect model.onnx\n"
        "sinter inspect --format=json a.onnx b.onnx\n"},
    {"verify", "verify MODEL... [options]",
        "compare the compiled model with the reference, output by output",
        verb_verify,
        "The model is run as the options say (fused, by default) and by the reference: the "
        "interpreter, or unfused\n"
        "scalar code where the model is big. Exit 3 when any output is outside the tolerance.\n",
        "sinter verify model.onnx\n"
        "sinter verify model.onnx --input test_data_set_0 --isa avx2 --threads 2 --format json\n"},
    {"report", "report MODEL... [options]",
        "the account of fusion: launches, memory, times, the verdict", verb_report,
        "Fused and unfused counts and times beside each other, with the verdict of the comparison "
        "with the reference.\n"
        "--record and --check keep a baseline: a change of a count in either direction is exit "
        "3.\n",
        "sinter report model.onnx\n"
        "sinter report model.onnx --format json --no-run\n"
        "sinter report model.onnx --threads 2 --check baseline.json\n"},
    {"emit", "emit MODEL --target=c|cuda[:sm_XX] [--tier=0|1] -o DIR",
        "write the generated source and the list of steps",
        verb_emit,
        "DIR/model.c (or model.cu) holds one function per kernel; DIR/program.json the steps and "
        "buffers.\n",
        "sinter emit model.onnx --target=c -o out && cc -c out/model.c\n"
        "sinter emit model.onnx --target=cuda -o out\n"},
    {"bench", "bench MODEL... [options]",
        "measure load, first run, and the times of runs, fused and unfused",
        verb_bench,
        "Each mode is measured in a process of its own. Times are in milliseconds; load_ms is "
        "from file to callable.\n",
        "sinter bench model.onnx --threads 1\n"
        "sinter bench model.onnx --dim batch=8 --format json\n"},
    {"explain", NULL, "why each value is materialised", NULL, NULL, NULL},
    {"compile", NULL, "compile ahead of time", NULL, NULL, NULL},
    {"reduce", NULL, "shrink a failing model", NULL, NULL, NULL},
    {"tune", NULL, "measure and choose schedules", NULL, NULL, NULL},
    {"train", NULL, "train a model", NULL, NULL, NULL},
    {"cache", NULL, "the cache of compiled programs", NULL, NULL, NULL},
};
const int verb_table_n = sizeof verb_table / sizeof *verb_table;

// clang-format on

unsigned verb_bit(const Verb *verb)
{
    static const struct {
        const char *name;
        unsigned bit;
    } bits[] = {{"run", V_RUN}, {"inspect", V_INSPECT}, {"verify", V_VERIFY}, {"report", V_REPORT},
        {"emit", V_EMIT}, {"bench", V_BENCH}};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (strcmp(bits[i].name, verb->name) == 0)
            return bits[i].bit;
    return 0;
}
