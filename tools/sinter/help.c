/* help.c: help as text and as the reference sections of docs/cli.md, both out of the tables of
 * options.c. */
#include "options.h"
#include <stdio.h>
#include <string.h>

enum { COLUMN = 28, WIDTH = 96 };

/* Prints words from column COLUMN on, breaking lines at WIDTH. */
static void print_wrapped(const char *s)
{
    int column = COLUMN;
    while (*s) {
        int n = (int)strcspn(s, " ");
        if (column + n > WIDTH) {
            printf("\n%*s", COLUMN, "");
            column = COLUMN;
        }
        printf("%.*s%s", n, s, s[n] ? " " : "");
        column += n + 1;
        s += n + (s[n] == ' ');
    }
    putchar('\n');
}

static const char *spelling(const Option *o)
{
    return o->value ? cli_printf("%s %s", o->name, o->value) : o->name;
}

/* A spelling too long for its column gets a line of its own. */
static void print_option(const Option *o, Format format)
{
    const char *s = spelling(o);
    if (format == FORMAT_MD) {
        printf("- `%s`: %s\n", s, o->help);
        return;
    }
    printf("  %-*s", COLUMN - 2, s);
    if (strlen(s) + 3 > COLUMN)
        printf("\n%*s", COLUMN, "");
    print_wrapped(o->help);
}

static void print_options(unsigned verbs, Format format)
{
    for (int i = 0; i < option_table_n; i++)
        if (option_table[i].verbs & verbs)
            print_option(&option_table[i], format);
}

static void print_indented(const char *text)
{
    for (const char *p = text; *p;) {
        int n = (int)strcspn(p, "\n");
        printf("  %.*s\n", n, p);
        p += n + (p[n] == '\n');
    }
}

static void verb_text(const Verb *v)
{
    printf("sinter %s\n\n%s.\n%s\noptions:\n", v->synopsis, v->summary, v->details);
    print_options(verb_bit(v), FORMAT_TEXT);
    printf("\nexamples:\n");
    print_indented(v->examples);
}

/* The sections of docs/cli.md; tests/cli compares them line by line. */
static void verb_markdown(const Verb *v)
{
    printf("### sinter %s\n\n`sinter %s`: %s.\n\n%s\n```\n%s```\n\n", v->name, v->synopsis,
        v->summary, v->details, v->examples);
}

// clang-format off
static const char start_here[] =
    "\nstart here:\n"
    "  sinter inspect model.onnx       what goes in and what comes out\n"
    "  sinter run model.onnx           run it on made-up inputs and look at the outputs\n"
    "  sinter run model.onnx --input image=@cat.npy --top 5 --labels labels.txt\n"
    "  sinter report model.onnx        what was fused, how fast it is, whether it is right\n"
    "\n"
    "sinter VERB --help tells the options of a verb; --list-ops the supported operators.\n"
    "Exit status: 0 ok; 1 model, input, file or resource error; 2 usage; 3 results differ;\n"
    "4 unsupported.\n";
// clang-format on

static void general_text(void)
{
    printf("sinter compiles ONNX models into a few fused kernels, and runs them.\n\n"
           "usage: sinter VERB MODEL [options]\n\nverbs:\n");
    for (int i = 0; i < verb_table_n; i++)
        if (verb_table[i].run)
            printf("  %-12s%s\n", verb_table[i].name, verb_table[i].summary);
    fputs(start_here, stdout);
}

static void general_markdown(void)
{
    for (int i = 0; i < verb_table_n; i++)
        if (verb_table[i].run)
            verb_markdown(&verb_table[i]);
    printf("### Options\n\n");
    print_options(V_ALL, FORMAT_MD);
}

void help_print(const Verb *verb, Format format)
{
    if (format == FORMAT_MD)
        verb ? verb_markdown(verb) : general_markdown();
    else
        verb ? verb_text(verb) : general_text();
}
