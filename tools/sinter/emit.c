/* emit.c: `sinter emit`: the generated source and the steps that use it, as files. */
#include "file.h"
#include "session.h"
#include <string.h>

/* The source first: program.json names symbols of it. */
static sinter_code write_pair(Session *s, const char *source, const char *steps, sinter_error *err)
{
    const char *folder = s->args->output,
               *suffix = strncmp(s->args->target, "cuda", 4) == 0 ? "cu" : "c";
    const char *code = cli_printf("%s/model.%s", folder, suffix),
               *program = cli_printf("%s/program.json", folder);
    if (folder_make(folder, err) || file_write(code, source, strlen(source), err) ||
        file_write(program, steps, strlen(steps), err))
        return err->code;
    note("wrote %s and %s", code, program);
    return SINTER_OK;
}

/* The inputs fix the symbolic dims, as they do for run. */
static sinter_code emit_model(Session *s, sinter_error *err)
{
    sinter_options o;
    char *source = NULL, *steps = NULL;
    options_from_args(s->args, &o);
    if (session_inputs(s, err) || runner_open(s, &o, &s->main, err))
        return err->code;
    if (!s->args->no_run && runner_run(s, &s->main, err)) /* the run fixes the symbolic dims */
        return err->code;
    if (sinter_emit(s->main.program, s->main.context, s->args->target, s->args->tier, &source,
            &steps, err))
        return err->code;
    sinter_code code = write_pair(s, source, steps, err);
    sinter_text_free(source);
    sinter_text_free(steps);
    return code;
}

int verb_emit(const Args *args, sinter_error *err)
{
    Session s;
    if (!args->output) {
        set_error(err, SINTER_ERR_USAGE, "sinter emit: -o DIR is missing");
        set_hint(err, "sinter emit model.onnx --target=%s -o out", args->target);
        return -1;
    }
    sinter_code code = session_load(&s, args, args->models.at[0], err);
    if (!code)
        code = emit_model(&s, err);
    session_close(&s);
    return code ? -1 : EXIT_OK;
}
