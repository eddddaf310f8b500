/* main.c: the verbs of the command line. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/trials.h"

static const struct verb {
        const char *name;
        int (*run)(char **argv);
        const char *summary;
} verbs[] = {
        { "run", cmd_run, "run a command in a sandbox" },
        { "sh", cmd_sh, "a shell whose commands run in a sandbox; abatis-sh is the same" },
        { "explain", cmd_explain, "print what would be enforced, and by what; run nothing" },
        { "check", cmd_check, "ask whether the policy allows to read, write or execute a path" },
        { "serve", cmd_serve, "answer requests of programs, as lines of JSON" },
        { "exec-request", cmd_exec_request,
          "run a program as one JSON object says, and answer with another" },
        { "mcp", cmd_mcp, "serve an agent with tools that run in a sandbox, over MCP" },
        { "mcp-wrap", cmd_mcp_wrap, "have an MCP client start its servers in a sandbox" },
        { "hook", cmd_hook, "refuse what an agent's own tools must not touch" },
        { "policy", cmd_policy, "show, lint or convert policies, or print their schema" },
        { "profile", cmd_profile, "list, show or lint profiles for agents and languages" },
        { "trust", cmd_trust, "let a project's own policy file allow more" },
        { "skill", cmd_skill, "run WebAssembly modules in a sandbox, and install packages of them" },
        { "audit", cmd_audit, "ask the audit log what was run, and whether it was changed" },
        { "doctor", cmd_doctor, "find out what this machine can enforce" },
        { "doctor-inside", cmd_doctor_inside, NULL }, /* what doctor --test runs */
        { "file-inside", cmd_file_inside, NULL },     /* what mcp's tools for files run */
};

#define VERB_COUNT (sizeof(verbs) / sizeof(*verbs))

static int print_help(void)
{
        printf("abatis %s: an OS sandbox for the commands that AI agents run\n\n", abatis_version());
        printf("Usage: abatis VERB [FLAGS] [--] ...\n\n");
        for (size_t i = 0; i < VERB_COUNT; i++)
                if (verbs[i].summary)
                        printf("  %-12s %s\n", verbs[i].name, verbs[i].summary);
        printf("\n'abatis VERB --help' says more. Exit codes: 123 no result, 124 timed out, 125 refused and nothing ran,\n"
               "126 not executable, 127 not found, 128+n killed by signal n, else the command's own.\n");
        return 0;
}

/* A caller may have closed one of 0, 1 and 2; a descriptor of ours must not take its number. They are opened the
 * wrong way round, so that using them fails as it would have. */
static void occupy_standard_descriptors(void)
{
        for (int fd = 0; fd < 3; fd++)
                if (fcntl(fd, F_GETFD) < 0)
                        open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/* The name by which we were called: login shells have a dash before theirs. */
static bool is_shell(const char *name)
{
        const char *slash = strrchr(name, '/');

        return !strcmp(slash ? slash + 1 : name + (*name == '-'), "abatis-sh");
}

static int start_shell(char **argv)
{
        static char login[] = "-l";

        if (**argv != '-')
                return cmd_sh(argv + 1);
        *argv = login;
        return cmd_sh(argv);
}

int main(int argc, char **argv)
{
        occupy_standard_descriptors();
        if (argc && is_shell(*argv))
                return start_shell(argv);
        if (argc < 2)
                return complain("no verb given; 'abatis --help' lists them");
        if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
                return print_help();
        if (!strcmp(argv[1], "--version")) {
                printf("abatis %s\n", abatis_version());
                return 0;
        }
        for (size_t i = 0; i < VERB_COUNT; i++)
                if (!strcmp(argv[1], verbs[i].name))
                        return verbs[i].run(argv + 2);
        return complain("unknown verb '%s'; 'abatis --help' lists them", argv[1]);
}
