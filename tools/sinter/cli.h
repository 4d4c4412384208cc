/* cli.h: what the files of the command `sinter` share.
 *
 * The command is a client of sinter.h like any other program. Its functions report failure as the
 * library does: they return a sinter_code and fill a sinter_error; main() alone prints errors and
 * chooses the exit status. Results go to stdout, everything else to stderr. The process is
 * short-lived: small memory comes from cli_alloc and is released as a whole at exit; out of memory
 * ends the process with status 1.
 */
#ifndef SINTER_CLI_H
#define SINTER_CLI_H
#include "sinter.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit statuses of the contract. */
enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_DIFFERS = 3, EXIT_UNSUPPORTED = 4 };

/* ---- memory and text (memory.c) ----------------------------------------------------------- */

void *cli_alloc(size_t size); /* zeroed */
char *cli_strndup(const char *s, size_t n);
char *cli_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A growing list of strings, NULL-terminated. */
typedef struct StrList {
    const char **at;
    int n;
} StrList;
void list_add(StrList *list, const char *s);

bool ends_with(const char *s, const char *suffix);
/* A name as people read it: itself when plain, else quoted with escapes. */
const char *show_name(const char *name);
/* "[1, 3, 8]" */
const char *show_shape(int rank, const int64_t *dim);
/* The candidate nearest to a mistyped word, or NULL when none is near. */
const char *nearest(const char *word, const StrList *candidates);

/* ---- arguments (args.c, help.c) ----------------------------------------------------------- */

typedef enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_CSV, FORMAT_MD } Format;

typedef struct Verb Verb;
typedef struct Args {
    const Verb *verb;
    StrList models, inputs, dims, shapes, keep, disable_pass;
    const char *output, *expect, *labels, *isa, *print_after, *dump, *target, *reference, *record,
        *check;
    int opt_level, threads, fuse, strict, top, tier, verbose, quiet, no_run, runs;
    int list_ops, list_passes, help, version;
    int format, format_given;
    uint64_t seed;
    int64_t max_memory;
    double rtol, atol; /* negative: the default of the type */
} Args;

struct Verb {
    const char *name, *synopsis, *summary;
    /* Returns the exit status; -1: see *err. NULL: not in this version. */
    int (*run)(const Args *args, sinter_error *err);
    const char *details, *examples;
};
extern const Verb verb_table[];
extern const int verb_table_n;

/* Parses the command line; on failure (SINTER_ERR_USAGE) args->format still holds. */
sinter_code args_parse(int argc, char **argv, Args *args, sinter_error *err);
/* Prints the general help, or that of one verb, to stdout: as text, or as the sections of
 * docs/cli.md. */
void help_print(const Verb *verb, Format format);
void options_from_args(const Args *args, sinter_options *options);

/* ---- messages (diag.c) -------------------------------------------------------------------- */

/* Fills *err and returns code. */
sinter_code set_error(sinter_error *err, sinter_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void set_hint(sinter_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line on stderr unless -q. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note_quiet(bool quiet);
int exit_of(sinter_code code);
/* Prints an error on stderr and, for --format json, as a JSON object on stdout; returns the exit
 * status. */
int report_error(const sinter_error *err, Format format);
/* Prints all problems of a model that can't be compiled, as report_error does. */
int report_problems(const sinter_model *model, const sinter_error *err, Format format);

/* ---- verbs -------------------------------------------------------------------------------- */

int verb_run(const Args *args, sinter_error *err);
int verb_inspect(const Args *args, sinter_error *err);
int verb_verify(const Args *args, sinter_error *err);
int verb_report(const Args *args, sinter_error *err);
int verb_bench(const Args *args, sinter_error *err);
int verb_emit(const Args *args, sinter_error *err);
int list_ops(Format format);
int list_passes(Format format);

#endif
