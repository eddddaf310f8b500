/* cmd_skill.c: abatis skill: WebAssembly modules as commands. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis skill run [FLAGS] FILE.wasm|NAME|DIR [--] [ARGUMENT...]    run one; 'abatis skill run --help' has the flags\n"
        "       abatis skill compile [FLAGS] FILE.wasm|NAME|DIR        make a program of it, which the same flags then run\n"
        "       abatis skill engines [--json]                 which engines for WebAssembly are here\n"
        "       abatis skill list [--json]                    the installed skills, and whether they were changed\n"
        "       abatis skill show NAME|DIR [--json]           what one says of itself, imports and asks for\n"
        "       abatis skill lint DIR|FILE.wasm               what is wrong with a package or a module\n"
        "       abatis skill install DIR [--tier TIER] [--force]\n"
        "       abatis skill remove NAME\n"
        "A package is a directory with skill.yaml and a module. What is no name, ./hello say, is a directory.\n"
        "  --tier TIER          what it gets: local, which only you can grant, or untrusted; without it, as it asks where that\n"
        "                       is untrusted, or verified and signed by a key in ~/.config/abatis/keys\n"
        "  --force              replace another skill of that name\n";

static const char run_help[] =
        "Usage: abatis skill run [FLAGS] FILE.wasm|NAME|DIR [--] [ARGUMENT...]\n"
        "Runs a WebAssembly module (WASI preview 1) in an engine, and that in a sandbox where nothing exists but the engine\n"
        "and the directories that --read and --write name. The workspace, where it is among them, is '.' to the module.\n\n"
        "Module:\n"
        "  --tier NAME          untrusted (default), verified or local; 'abatis explain --tiers' says what each gets\n"
        "  --engine NAME        native, wazero, wasmtime, wazero-interpreter, iwasm, wasmedge, node; auto is the best of them\n"
        "  --import NAME        'MODULE.NAME' or 'MODULE.*': what it may import besides WASI's functions\n"
        "  --allow FEATURE      64-bit, shared, memories: what it may have of that\n"
        "Result:\n"
        "  --json               collect the output and print one JSON object instead\n"
        "  --result-fd N        write that object, without output, to descriptor N\n"
        "  --context TEXT       what the audit log shall say about it: an agent's session, say\n";

/* Of the preset `skill` are limits that everybody has, so nothing of ours is missing. */
static int make_command(struct flags *flags, abatis_skill *skill, abatis_policy **policy,
                        const char *const **argv)
{
        char **rest = flags->rest + 1;
        abatis_error err;
        int r = abatis_skill_apply(skill, &flags->policy, &err);

        if (r < 0)
                return fail(&err);
        r = flags_make_policy(flags, policy);
        if (r)
                return r;
        if (*rest && !strcmp(*rest, "--"))
                rest++;
        if (!abatis_skill_command(skill, *policy, (const char *const *)rest, NULL, argv, &err))
                return 0;
        abatis_policy_free(*policy);
        return fail(&err);
}

/* `is_made_only`: it becomes a program, and is not run. */
static int run(struct flags *flags, bool is_made_only)
{
        const abatis_skill_options options = { .size = sizeof(options),
                                               .file = *flags->rest,
                                               .tier = flags->tier,
                                               .engine = is_made_only ? "native" : flags->engine,
                                               .imports = flags->imports,
                                               .allows = flags->allows,
                                               .compiles = 1 };
        const char *const *argv = NULL;
        abatis_policy *policy = NULL;
        abatis_skill *skill = NULL;
        abatis_error err;
        int r;

        if (is_made_only && flags->engine)
                return complain("compile makes a program for the engine native; leave out --engine");
        if (!*flags->rest)
                return complain(
                        "no module given; usage: abatis skill run [FLAGS] FILE.wasm|NAME|DIR [--] [ARGUMENT...]");
        if (flags->tier && strcmp(abatis_tier_find(flags->tier)->name, flags->tier) != 0)
                return complain("--tier: '%s' is none of local, verified and untrusted", flags->tier);
        if (abatis_skill_open(&options, &skill, &err) < 0)
                return fail(&err);
        r = make_command(flags, skill, &policy, &argv);
        if (!r && is_made_only && argv) {
                abatis_policy_free(policy);
                r = print_text(1, *argv) || print_text(1, "\n") ? EXIT_REFUSED : 0;
        } else if (!r)
                r = run_with_policy(flags, policy, argv, "/");
        abatis_skill_free(skill);
        return r;
}

static int parse_and_run(char **argv, bool is_made_only)
{
        struct flags flags;
        int r = flags_parse(argv,
                            TAKES_POLICY | TAKES_BEST_EFFORT | TAKES_JSON | TAKES_STDIO | TAKES_RESULT_FD |
                                    TAKES_SKILL,
                            &flags);

        if (!r && flags.wants_help)
                printf("%s%s", run_help, flags_policy_help);
        else if (!r)
                r = run(&flags, is_made_only);
        flags_done(&flags);
        return r;
}

static int list_engines(char **argv)
{
        abatis_format format = *argv && !strcmp(*argv, "--json") ? ABATIS_JSON : ABATIS_TEXT;
        abatis_error err;
        char *text;
        int r;

        if (argv[format == ABATIS_JSON])
                return complain("usage: abatis skill engines [--json]");
        if (abatis_skill_engines(format, &text, &err) < 0)
                return fail(&err);
        r = print_document(text);
        free(text);
        return r;
}

int cmd_skill(char **argv)
{
        const char *word = *argv ? *argv++ : "";

        if (!strcmp(word, "--help")) {
                printf("%s", help);
                return 0;
        }
        if (!strcmp(word, "run") || !strcmp(word, "compile"))
                return parse_and_run(argv, !strcmp(word, "compile"));
        if (!strcmp(word, "engines"))
                return list_engines(argv);
        return cmd_skill_package(word, argv);
}
