/* args.c: the command line, by the table of options.c.
 *
 * Both "--option value" and "--option=value" are read, for one-letter options also "-oVALUE"; "--"
 * ends the options.
 */
#include "options.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No sign and no blank, which strtoull would take. */
static bool parse_whole(const char *s, unsigned long long *x, char **end)
{
    errno = 0;
    *x = strtoull(s, end, 10);
    return *s >= '0' && *s <= '9' && !errno;
}

/* "512M" */
static bool parse_bytes(const char *s, int64_t *bytes)
{
    unsigned long long x;
    char *end;
    if (!parse_whole(s, &x, &end) || x == 0 || x > INT64_MAX)
        return false;
    const char *unit = *end ? strchr("KMG", *end) : NULL;
    if (*end && (!unit || end[1]))
        return false;
    *bytes = (int64_t)x;
    return !unit || !__builtin_mul_overflow(*bytes, (int64_t)1 << (10 * (unit - "KMG" + 1)), bytes);
}

/* The position of a word in "a|b|c", or -1. */
static int word_number(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (int i = 0; words; i++) {
        const char *bar = strchr(words, '|');
        size_t k = bar ? (size_t)(bar - words) : strlen(words);
        if (k == n && memcmp(words, word, n) == 0)
            return i;
        words = bar ? bar + 1 : NULL;
    }
    return -1;
}

/* The bounds are the row's. */
static bool store_int(const Option *o, const char *value, int *field)
{
    unsigned long long x;
    char *end;
    bool ok = parse_whole(value, &x, &end) && !*end && x >= (unsigned long long)o->low &&
        x <= (unsigned long long)o->high;
    if (ok)
        *field = (int)x;
    return ok;
}

static bool store_real(const char *value, double *field)
{
    char *end;
    *field = strtod(value, &end);
    return end != value && !*end && *field >= 0 && isfinite(*field);
}

/* Writes an option's value into its field; false when it is not of the option's kind. */
static bool store(const Option *o, const char *value, Args *args)
{
    void *field = (char *)args + o->field;
    char *end;
    unsigned long long whole = 0;
    int word = o->words ? word_number(o->words, value ? value : "") : 0;
    if (word < 0)
        return false;
    switch (o->kind) {
    case OPT_SET: *(int *)field = (int)o->low; return true;
    case OPT_COUNT: ++*(int *)field; return true;
    case OPT_TEXT: *(const char **)field = value; return true;
    case OPT_LIST: list_add(field, value); return true;
    case OPT_INT: return store_int(o, value, field);
    case OPT_BYTES: return parse_bytes(value, field);
    case OPT_REAL: return store_real(value, field);
    case OPT_CHOICE: *(int *)field = word + (int)o->low; return true;
    case OPT_LATER: return true;
    case OPT_SEED: break;
    }
    bool ok = parse_whole(value, &whole, &end) && !*end;
    *(uint64_t *)field = whole;
    return ok;
}

static const Option *find_option(const char *arg, size_t n)
{
    for (int i = 0; i < option_table_n; i++)
        if (strlen(option_table[i].name) == n && memcmp(option_table[i].name, arg, n) == 0)
            return &option_table[i];
    return NULL;
}

/* Every usage error ends with where to read on. */
static sinter_code usage_error(sinter_error *err, const Args *args, const char *message)
{
    set_error(err, SINTER_ERR_USAGE, "%s", message);
    if (args->verb)
        set_hint(err, "sinter %s --help", args->verb->name);
    else
        set_hint(err, "sinter --help");
    return err->code;
}

/* Two letters are near to everything: no guess is made from them. */
static sinter_code unknown_option(sinter_error *err, const Args *args, const char *arg)
{
    StrList names = {0};
    for (int i = 0; i < option_table_n; i++)
        if (option_table[i].kind != OPT_LATER)
            list_add(&names, option_table[i].name);
    const char *word = cli_strndup(arg, strcspn(arg, "=")), *near = nearest(word, &names);
    usage_error(err, args, cli_printf("unknown option %s", word));
    if (near && strlen(word) > 2)
        set_hint(err, "did you mean %s?", near);
    return err->code;
}

/* A parse position in argv. */
typedef struct Cursor {
    int argc, i;
    char **argv;
    Args *args;
    sinter_error *err;
} Cursor;

/* Finds the option of argv[i] and its value; the value may be the next argument. */
static const Option *read_option(Cursor *c, const char **value)
{
    const char *arg = c->argv[c->i], *equals = strchr(arg, '=');
    const Option *o = find_option(arg, equals ? (size_t)(equals - arg) : strlen(arg));
    *value = equals ? equals + 1 : NULL;
    if (!o && arg[1] != '-' && arg[1] && arg[2]) { /* -oDIR */
        o = find_option(arg, 2);
        *value = o && o->value ? arg + 2 : NULL;
        if (o && !o->value)
            o = NULL;
    }
    if (!o) {
        unknown_option(c->err, c->args, arg);
    } else if (o->kind == OPT_LATER || (equals && strcmp(o->name, "--no-fuse") == 0)) {
        usage_error(c->err, c->args, cli_printf("%s is not in this version", arg));
    } else if (o->value && !*value) {
        if (c->i + 1 < c->argc)
            *value = c->argv[++c->i];
        else
            usage_error(c->err, c->args,
                cli_printf("%s wants a value: %s %s", o->name, o->name, o->value));
    } else if (!o->value && *value) {
        usage_error(c->err, c->args, cli_printf("%s takes no value", o->name));
    }
    return c->err->code ? NULL : o;
}

/* One option of the line, with its value: found, stored, and judged to fit the verb. */
static sinter_code take_option(Cursor *c)
{
    const char *arg = c->argv[c->i], *value;
    if (arg[1] == 'v' && strspn(arg + 1, "v") == strlen(arg + 1)) { /* -vv */
        c->args->verbose += (int)strlen(arg + 1);
        return SINTER_OK;
    }
    const Option *o = read_option(c, &value);
    if (!o)
        return c->err->code;
    if (!store(o, value, c->args))
        return usage_error(c->err, c->args,
            cli_printf("%s %s: want %s", o->name, value,
                o->kind == OPT_INT ? cli_printf("a whole number from %lld to %lld", o->low, o->high)
                                   : o->value));
    if (o->field == offsetof(Args, format))
        c->args->format_given = 1;
    if (c->args->verb && !(o->verbs & verb_bit(c->args->verb)))
        return usage_error(c->err, c->args,
            cli_printf("%s is no option of sinter %s", o->name, c->args->verb->name));
    return SINTER_OK;
}

/* A verb of a later version is named as such: it is no typing mistake. */
static sinter_code take_verb(Cursor *c, const char *word)
{
    StrList names = {0};
    for (int i = 0; i < verb_table_n; i++) {
        if (strcmp(verb_table[i].name, word) == 0) {
            c->args->verb = &verb_table[i];
            return verb_table[i].run ? SINTER_OK
                                     : usage_error(c->err, &(Args){0},
                                           cli_printf("sinter %s is not in this version", word));
        }
        list_add(&names, verb_table[i].name);
    }
    const char *near = nearest(word, &names);
    usage_error(c->err, c->args, cli_printf("unknown verb %s", show_name(word)));
    if (ends_with(word, ".onnx"))
        set_hint(c->err, "did you mean sinter run %s?", word);
    else if (near)
        set_hint(c->err, "did you mean sinter %s?", near);
    return c->err->code;
}

/* Errors must already be told in the form that is asked for further right. */
static int format_ahead(int argc, char **argv)
{
    int format = FORMAT_TEXT;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--format=json") == 0 ||
            (strcmp(argv[i], "--format") == 0 && i + 1 < argc && strcmp(argv[i + 1], "json") == 0))
            format = FORMAT_JSON;
    return format;
}

/* "help VERB" is "VERB --help". */
static sinter_code take_positional(Cursor *c, const char *word)
{
    if (!c->args->verb && !c->args->help && strcmp(word, "help") == 0) {
        c->args->help = 1;
        return SINTER_OK;
    }
    if (!c->args->verb)
        return take_verb(c, word);
    list_add(&c->args->models, word);
    return SINTER_OK;
}

/* What can be judged only when all is read. */
static sinter_code check(const Args *args, sinter_error *err)
{
    if (args->help || args->version || args->list_ops || args->list_passes)
        return SINTER_OK;
    if (!args->verb)
        return usage_error(err, args, "what is to be done? sinter VERB MODEL [options]");
    bool one = verb_bit(args->verb) & (V_RUN | V_EMIT);
    if (args->models.n == 0)
        return usage_error(err, args, cli_printf("sinter %s: which model?", args->verb->name));
    if (one && args->models.n > 1)
        return usage_error(err, args,
            cli_printf("sinter %s takes one model; %s is one too many", args->verb->name,
                show_name(args->models.at[1])));
    return SINTER_OK;
}

/* Order does not matter but between a verb and its model: "sinter -q run m.onnx" is fine. */
sinter_code args_parse(int argc, char **argv, Args *args, sinter_error *err)
{
    Cursor c = {.argc = argc, .argv = argv, .args = args, .err = err};
    bool options = true;
    *args = (Args){.opt_level = 2,
        .fuse = 1,
        .rtol = -1,
        .atol = -1,
        .target = "c",
        .reference = "auto"};
    args->format = format_ahead(argc, argv);
    err->code = SINTER_OK;
    for (c.i = 1; c.i < argc && !err->code; c.i++) {
        const char *arg = argv[c.i];
        if (options && strcmp(arg, "--") == 0)
            options = false;
        else if (options && strcmp(arg, "-h") == 0)
            args->help = 1;
        else if (options && arg[0] == '-' && arg[1])
            take_option(&c);
        else
            take_positional(&c, arg);
    }
    return err->code ? err->code : check(args, err);
}
