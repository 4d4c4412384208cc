/* lists.c: --list-ops and --list-passes. The one place of the command that looks below sinter.h: at
 * the operator table, which is generated, and at the pass table; both are for people and have no
 * place in a library's interface. */
#include "cli.h"
#include "graph/op.h"
#include "json.h"
#include "passes/pass.h"
#include "summary.h"
#include <stdio.h>

int list_ops(Format format)
{
    static const char *const head[] = {"domain", "op_type", "since"};
    if (format == FORMAT_CSV || format == FORMAT_MD)
        print_header(format, 3, head);
    json_t *list = json_array();
    for (int i = 0; i < op_table_n; i++) {
        const OpDef *op = op_table[i];
        const char *domain = *op->domain ? op->domain : "ai.onnx";
        const char *cell[] = {domain, op->type, cli_printf("%d", op->since)};
        json_t *o = json_object();
        json_put(o, "domain", json_text(domain));
        json_put(o, "op_type", json_text(op->type));
        json_put(o, "since", json_whole(op->since));
        json_add(list, o);
        if (format == FORMAT_TEXT)
            printf("%-12s %-28s from opset %d\n", domain, op->type, op->since);
        else if (format != FORMAT_JSON)
            print_row(format, 3, cell);
    }
    if (format == FORMAT_JSON)
        json_print_line(list);
    else
        json_decref(list);
    return EXIT_OK;
}

int list_passes(Format format)
{
    static const char *const head[] = {"pass", "what", "optional"};
    if (format == FORMAT_CSV || format == FORMAT_MD)
        print_header(format, 3, head);
    json_t *list = json_array();
    for (int i = 0; i < pass_table_n; i++) {
        const Pass *pass = &pass_table[i];
        const char *cell[] = {pass->name, pass->what, pass->optional ? "yes" : "no"};
        json_t *o = json_object();
        json_put(o, "pass", json_text(pass->name));
        json_put(o, "what", json_text(pass->what));
        json_put(o, "optional", json_boolean(pass->optional));
        json_add(list, o);
        if (format == FORMAT_TEXT)
            printf("%-12s %s%s\n", pass->name, pass->what,
                pass->optional ? " (can be disabled)" : "");
        else if (format != FORMAT_JSON)
            print_row(format, 3, cell);
    }
    if (format == FORMAT_JSON)
        json_print_line(list);
    else
        json_decref(list);
    return EXIT_OK;
}
