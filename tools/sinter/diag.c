/* diag.c: errors and notes of the command. */
#include "cli.h"
#include "json.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -q, for the whole process: notes come from many places and matter to none. */
static bool quiet_notes;

sinter_code set_error(sinter_error *err, sinter_code code, const char *fmt, ...)
{
    va_list ap;
    memset(err, 0, sizeof *err);
    err->code = code;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, ap);
    va_end(ap);
    return code;
}

void set_hint(sinter_error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof err->hint, fmt, ap);
    va_end(ap);
}

void note_quiet(bool quiet) { quiet_notes = quiet; }

void note(const char *fmt, ...)
{
    va_list ap;
    if (quiet_notes)
        return;
    va_start(ap, fmt);
    fputs("sinter: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/* A wrong call is the command line's fault: all that reaches the library came from there. */
int exit_of(sinter_code code)
{
    switch (code) {
    case SINTER_OK: return EXIT_OK;
    case SINTER_ERR_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SINTER_ERR_USAGE: return EXIT_USAGE;
    default: return EXIT_ERROR;
    }
}

/* The word for a code in JSON. */
static const char *code_word(sinter_code code)
{
    static const char *const words[] = {"ok", "model", "input", "io", "memory", "limit",
        "unsupported", "usage", "runtime", "internal"};
    return (unsigned)code < sizeof words / sizeof *words ? words[code] : "internal";
}

/* All keys are always there: a reader need not ask. */
static json_t *error_json(const sinter_error *err)
{
    json_t *o = json_object();
    json_put(o, "code", json_text(code_word(err->code)));
    json_put(o, "message", json_text(err->message));
    json_put(o, "node", json_text(err->node));
    json_put(o, "op_type", json_text(err->op_type));
    json_put(o, "tensor", json_text(err->tensor));
    json_put(o, "hint", json_text(err->hint));
    return o;
}

/* What stdout has so far comes first where both go to one terminal. */
static void print_error(const sinter_error *err)
{
    fflush(stdout);
    fprintf(stderr, "sinter: %s\n", err->message[0] ? err->message : code_word(err->code));
    if (err->hint[0])
        fprintf(stderr, "  hint: %s\n", err->hint);
}

/* People read stderr, programs stdout; with JSON both are served. */
int report_error(const sinter_error *err, Format format)
{
    print_error(err);
    if (format == FORMAT_JSON) {
        json_t *o = json_object();
        json_put(o, "error", error_json(err));
        json_print_line(o);
    }
    return exit_of(err->code);
}

/* `problems` in the JSON object lists all; the other keys are those of the error itself. */
int report_problems(const sinter_model *model, const sinter_error *err, Format format)
{
    sinter_error problem;
    json_t *problems = json_array();
    int n = 0;
    for (; sinter_model_problem(model, n, &problem) == SINTER_OK; n++) {
        print_error(&problem);
        json_add(problems, error_json(&problem));
        if (n == 0 && err->message[0] == 0)
            err = &problem;
    }
    if (n == 0) {
        json_decref(problems);
        return report_error(err, format);
    }
    sinter_model_problem(model, 0, &problem);
    if (format == FORMAT_JSON) {
        json_t *o = json_object(),
               *e = error_json(err->node[0] || err->op_type[0] ? err : &problem);
        json_put(e, "message", json_text(err->message[0] ? err->message : problem.message));
        json_put(e, "problems", problems);
        json_put(o, "error", e);
        json_print_line(o);
    } else {
        json_decref(problems);
    }
    return exit_of(err->code);
}
