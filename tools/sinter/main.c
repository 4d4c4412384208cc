/* main.c: the command `sinter`: arguments, one verb, exit status. */
#include "cli.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Results that could not be written are an error, however late it shows. */
static int flush_results(int status)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout);
    if (!failed || status)
        return status;
    fprintf(stderr, "sinter: can't write the results to stdout\n");
    return EXIT_ERROR;
}

static int dispatch(const Args *args, sinter_error *err)
{
    int status = EXIT_OK;
    if (args->help)
        help_print(args->verb, (Format)args->format);
    else if (args->version)
        printf("sinter %s\n", sinter_version());
    else if (args->list_ops)
        status = list_ops((Format)args->format);
    else if (args->list_passes)
        status = list_passes((Format)args->format);
    else
        status = args->verb->run(args, err);
    return status;
}

int main(int argc, char **argv)
{
    static Args args;
    static sinter_error err;
    if (args_parse(argc, argv, &args, &err))
        return flush_results(report_error(&err, (Format)args.format));
    note_quiet(args.quiet);
    memset(&err, 0, sizeof err);
    int status = dispatch(&args, &err);
    if (status < 0) /* an empty message: the problems have been listed already */
        status = err.message[0] ? report_error(&err, (Format)args.format) : exit_of(err.code);
    return flush_results(status);
}
