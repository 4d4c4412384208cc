/* session.h: from a file to something that runs, as all verbs do it. */
#ifndef SINTER_CLI_SESSION_H
#define SINTER_CLI_SESSION_H
#include "cli.h"
#include "inputs.h"

/* A program ready to run, with the outputs of its last run. */
typedef struct Runner {
    sinter_program *program;
    sinter_run_context *context;
    int n_outputs;
    sinter_value **output; /* owned by the context */
    double compile_ms;
} Runner;

typedef struct Session {
    const Args *args;
    const char *path;
    sinter_model *model;
    Inputs inputs;
    Runner main; /* as the command line asks for it */
    double load_ms;
} Session;

double now_ms(void);
/* Loads; then session_inputs makes the inputs. On failure everything is released by session_close.
 * An unsupported model has all its problems printed, and err->code is set with an empty message
 * (nothing is left to say). */
sinter_code session_load(Session *s, const Args *args, const char *path, sinter_error *err);
sinter_code session_inputs(Session *s, sinter_error *err);
void session_close(Session *s);

/* Compiles the session's model with these options. */
sinter_code runner_open(Session *s, const sinter_options *options, Runner *r, sinter_error *err);
sinter_code runner_run(Session *s, Runner *r, sinter_error *err);
void runner_close(Runner *r);

/* What the library reports of a program, parsed; NULL with *err on failure. */
json_t *runner_report(const Runner *r, sinter_error *err);
/* The keys that all lines about a run begin with: schema, model, version. */
json_t *session_line(const Session *s);
/* The option value that is in force, as the library tells it in the report, else as asked for. */
const char *session_isa(const Session *s, const json_t *report);
int session_threads(const Session *s, const json_t *report);
/* The name of output i as the model declares it. */
const char *output_name(const Session *s, int i);

/* Does `work` for each model of the command line, telling errors as they come; returns the gravest
 * exit status. */
int for_each_model(const Args *args, sinter_error *err,
    int (*work)(const Args *, const char *path, sinter_error *));

#endif
