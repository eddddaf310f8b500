/* cmd_sh.c: abatis-sh: a shell whose commands run in the sandbox, for whoever starts commands through a shell. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis-sh STRING\n"
        "       abatis-sh [OPTION...] [-c STRING | FILE] [ARGUMENT...]\n"
        "A shell in the sandbox: bash, or sh where there is none, with these arguments; one word alone is a command string.\n"
        "'abatis sh' is the same. What it runs cannot change settings of agents and editors in the workspace.\n\n"
        "Environment:\n"
        "  ABATIS_WORKSPACE     the directory it may change (default: where you are, unless that is your home)\n"
        "  ABATIS_PROFILE       a preset or a profile, as --profile of 'abatis run'\n"
        "  ABATIS_POLICY        a policy file, as --policy\n"
        "  ABATIS_CONTEXT       what the audit log shall say about it, as --context\n";

/* Agents compose their commands for bash, and it takes what sh does. */
static const char *find_shell(void)
{
        static const char *const shells[] = { "/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash" };

        for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
                if (!access(shells[i], X_OK))
                        return shells[i];
        return "/bin/sh";
}

/* Its first line makes us its interpreter: then the kernel has called us with its path. */
static bool is_our_script(const char *path)
{
        char line[256];
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        ssize_t length = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);

        if (fd >= 0)
                close(fd);
        line[length > 0 ? length : 0] = '\0';
        line[strcspn(line, "\n")] = '\0';
        return !strncmp(line, "#!", 2) && strstr(line, "abatis-sh");
}

/* Options of bash that take the next word. */
static bool takes_word(const char *option)
{
        static const char *const names[] = { "--init-file", "--rcfile", "-o", "+o", "-O", "+O" };

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (!strcmp(option, names[i]))
                        return true;
        return false;
}

/* Neither a string nor a file is named: it reads what is typed. */
static bool is_interactive(char *const *argv)
{
        for (; *argv && (**argv == '-' || **argv == '+') && strcmp(*argv, "--"); argv++) {
                if (**argv == '-' && (*argv)[1] != '-' && strchr(*argv, 'c'))
                        return false;
                if (takes_word(*argv) && argv[1])
                        argv++;
        }
        return !*argv || (!strcmp(*argv, "--") && !argv[1]);
}

static const char *variable(const char *name)
{
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

/* Whoever chooses the directory chooses what may be written. An agent that goes home does not get the home; where that is not known, nor
 * does it get any. */
static bool is_home_or_above(const char *directory)
{
        const char *named = variable("HOME");
        char *home = named ? realpath(named, NULL) : NULL, *here = realpath(directory, NULL);
        size_t length = here ? strlen(here) : 0;
        bool is_above = !home || (here && !strncmp(home, here, length) &&
                                  (length == 1 || !home[length] || home[length] == '/'));

        free(home);
        free(here);
        return is_above;
}

/* The command: the shell, and its arguments. NULL when there is no memory. */
static char **compose(char **argv)
{
        static char string_follows[] = "-c";
        size_t count = 0, used = 0;
        char **command;

        while (argv[count])
                count++;
        command = calloc(count + 3, sizeof(*command));
        if (!command)
                return NULL;
        command[used++] = (char *)find_shell();
        if (count == 1 && **argv != '-' && **argv != '+' && !is_our_script(*argv))
                command[used++] = string_follows;
        memcpy(command + used, argv, count * sizeof(*command));
        return command;
}

/* A relative path would be the choice of whoever chooses the directory, too. */
static int take_path(const char *name, const char **out)
{
        *out = variable(name);
        return *out && **out != '/' ? complain("%s: '%s' is no absolute path", name, *out) : 0;
}

int shell_choose_policy(const char *fallback, struct flags *flags)
{
        abatis_policy_options *policy = &flags->policy;
        bool is_named;
        int r = take_path("ABATIS_WORKSPACE", &policy->workspace);

        is_named = !r && policy->workspace;
        if (!r && !is_named && fallback)
                r = take_path(fallback, &policy->workspace);
        if (!r)
                r = take_path("ABATIS_POLICY", &policy->file);
        policy->preset = variable("ABATIS_PROFILE");
        policy->layers |= ABATIS_PROTECT_STARTERS;
        if (!r && !is_named && is_home_or_above(policy->workspace ? policy->workspace : "."))
                r = complain(
                        "the workspace would be your home directory, or one above it; ABATIS_WORKSPACE names another");
        return r;
}

static int run_shell(struct flags *flags, char **argv)
{
        char shell[64];
        struct setting told = { "--env", "environment.pass", shell };
        char **command = compose(argv);
        int r;

        if (!command)
                return complain("out of memory");
        /* What runs inside and asks for the user's shell must not get us: a sandbox in the sandbox is refused. */
        snprintf(shell, sizeof(shell), "SHELL=%s", command[0]);
        flags->settings = &told;
        flags->setting_count = 1;
        flags->rest = command;
        if (*argv && is_our_script(*argv))
                flags->policy.program = own_interpreter();
        flags->has_terminal = is_interactive(argv) && isatty(0) && isatty(1);
        flags->ends_as_command = true;
        flags->context = variable("ABATIS_CONTEXT");
        flags->policy.layers |= ABATIS_MAKE_PLACES;
        r = shell_choose_policy(NULL, flags);
        if (!r)
                r = run_with_flags(flags);
        flags->settings = NULL;
        free(command);
        return r;
}

/* Agents start their hooks with the same prefix as commands. In a sandbox that cannot be made there would be no answer, and the agent
 * would go on: so it is asked here. It changes nothing. */
static bool is_hook(char *const *argv)
{
        return *argv && !argv[1] && !strcmp(*argv, "abatis hook");
}

int cmd_sh(char **argv)
{
        static char *none[] = { NULL };
        struct flags flags;
        int r;

        if (is_hook(argv))
                return cmd_hook(none);
        r = flags_parse(none, 0, &flags);
        if (!r && *argv && !strcmp(*argv, "--help"))
                return print_text(1, help);
        return r ? r : run_shell(&flags, argv);
}
