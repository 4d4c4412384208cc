/* jit_cc.c: C text to code through the system's compiler, as a shared object loaded by dlopen.
 *
 * Outside functions are reached through stubs: `name: jmp *slot`, with the slots filled after
 * loading. So the object has no undefined names that a library of the process could capture, and
 * calls stay calls in the text.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/jit_code.h"

extern char **environ;

static const char slots_name[] = "sinter_jit_slots";

/* ---- a folder for the three files, gone when the compile is over ----------------------------- */

typedef struct Folder {
    char *path, *source, *object, *messages;
    bool made;
} Folder;

static void folder_init(Ctx *cx, Folder *f)
{
    const char *tmp = getenv("TMPDIR");
    f->path = ctx_printf(cx, "%s/sinter-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    f->made = mkdtemp(f->path) != NULL;
    if (!f->made)
        ctx_fail(cx, ST_IO, NULL, "can't make a folder in %s for the compiler's files: %s",
            tmp && *tmp ? tmp : "/tmp", strerror(errno));
}

static void folder_names(Ctx *cx, Folder *f)
{
    f->source = ctx_printf(cx, "%s/unit.c", f->path);
    f->object = ctx_printf(cx, "%s/unit.so", f->path);
    f->messages = ctx_printf(cx, "%s/messages", f->path);
}

static void folder_remove(Folder *f)
{
    const char *file[] = {f->source, f->object, f->messages};
    for (int i = 0; i < NELEM(file); i++)
        if (file[i])
            unlink(file[i]);
    if (f->made)
        rmdir(f->path);
}

/* ---- the text -------------------------------------------------------------------------------- */

static void print_stubs(Buf *b, const JitSym *syms, int n)
{
    buf_printf(b, "\nvoid *%s[%d];\n", slots_name, MAX(n, 1));
    for (int i = 0; i < n; i++)
        buf_printf(b,
            "__asm__(\".pushsection .text\\n.globl %s\\n.hidden %s\\n.type %s,@function\\n"
            "%s: jmp *%s_local+%d(%%rip)\\n.popsection\");\n",
            syms[i].name, syms[i].name, syms[i].name, syms[i].name, slots_name, i * 8);
    /* A hidden second name: the stubs must not go through the dynamic symbol table. */
    buf_printf(b, "__asm__(\".globl %s_local\\n.hidden %s_local\\n.set %s_local, %s\");\n",
        slots_name, slots_name, slots_name, slots_name);
}

static void write_source(Ctx *cx, const char *path, const char *text, const JitSym *syms,
    int n_syms)
{
    Buf b;
    buf_init(&b, cx);
    buf_puts(&b, text);
    print_stubs(&b, syms, n_syms);
    FILE *f = fopen(path, "w");
    if (!f)
        ctx_fail(cx, ST_IO, NULL, "can't write %s: %s", path, strerror(errno));
    bool ok = fwrite(b.s, 1, b.n, f) == b.n;
    ok = fclose(f) == 0 && ok;
    if (!ok)
        ctx_fail(cx, ST_IO, NULL, "can't write %s: %s", path, strerror(errno));
}

/* ---- the compiler ---------------------------------------------------------------------------- */

/* The head of what the compiler said; "" when it said nothing. */
static char *read_messages(Ctx *cx, const char *path)
{
    char *text = ctx_alloc(cx, 1024);
    FILE *f = fopen(path, "r");
    if (!f)
        return text;
    text[fread(text, 1, 1023, f)] = 0;
    fclose(f);
    return text;
}

/* The exit status; 0 also where the caller's program ignores SIGCHLD and the status can't be had:
 * then loading the object tells. */
static int wait_for(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status;
}

static int spawn(const Folder *f, pid_t *pid)
{
    char *argv[] = {"cc", "-std=gnu11", "-w", "-O3", "-march=native", "-ffp-contract=off",
        "-fno-semantic-interposition", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", f->object,
        f->source, NULL};
    posix_spawn_file_actions_t files;
    int err = posix_spawn_file_actions_init(&files);
    if (err)
        return err;
    err = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (!err)
        err = posix_spawn_file_actions_addopen(&files, 1, f->messages, O_WRONLY | O_CREAT | O_TRUNC,
            0600);
    if (!err)
        err = posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (!err)
        err = posix_spawnp(pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return err;
}

static void compile(Ctx *cx, const Folder *f)
{
    pid_t pid;
    int err = spawn(f, &pid);
    Where hint = {.hint = "install a C compiler as `cc`, or use -O2, which needs none"};
    if (err)
        ctx_fail(cx, ST_RUNTIME, &hint, "can't start the system compiler `cc`: %s", strerror(err));
    int status = wait_for(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        ctx_fail(cx, ST_RUNTIME, &hint, "can't start the system compiler `cc`");
    if (status != 0)
        ctx_fail(cx, ST_INTERNAL, NULL, "generated code does not compile with `cc`: %s",
            read_messages(cx, f->messages));
}

static void load(Ctx *cx, JitCode *code, const Folder *f, const JitSym *syms, int n_syms)
{
    code->dl = dlopen(f->object, RTLD_NOW | RTLD_LOCAL);
    if (!code->dl) {
        const char *why = dlerror();
        ctx_fail(cx, ST_RUNTIME, NULL, "can't load the code made by `cc`: %s",
            why ? why : "no reason given");
    }
    const void **slots = dlsym(code->dl, slots_name);
    for (int i = 0; slots && i < n_syms; i++)
        slots[i] = syms[i].addr;
}

JitCode *jit_cc(Ctx *cx, const char *text, const JitSym *syms, int n_syms)
{
    JitCode *code = jit_code_new(cx);
    Folder *f = NEW(cx, Folder);
    TRY(cx) {
        folder_init(cx, f);
        folder_names(cx, f);
        write_source(cx, f->source, text, syms, n_syms);
        compile(cx, f);
        load(cx, code, f, syms, n_syms);
    }
    CATCH {
        folder_remove(f);
        ctx_unwind(cx);
    }
    folder_remove(f);
    return code;
}
