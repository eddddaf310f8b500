/* cmd_skill.c: abatis skill: WebAssembly modules that are skills of an agent. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis skill list [--json]                    the installed skills, and whether they were changed\n"
        "       abatis skill show NAME|DIR [--json]           what one says of itself, imports and asks for\n"
        "       abatis skill lint DIR|FILE.wasm               what is wrong with a package or a module\n"
        "       abatis skill install DIR [--tier TIER] [--force]\n"
        "       abatis skill remove NAME\n"
        "A package is a directory with skill.yaml and a module. What is no name, ./hello say, is a directory.\n"
        "  --tier TIER          what it gets: local, which only you can grant, or untrusted; without it, as it asks where that\n"
        "                       is untrusted, or verified and signed by a key in ~/.config/abatis/keys\n"
        "  --force              replace another skill of that name\n";

int cmd_skill(char **argv)
{
        int count = 0;

        while (argv[count])
                count++;
        if (!count)
                return complain("usage: abatis skill list|show|lint|install|remove");
        if (!strcmp(*argv, "--help")) {
                printf("%s", help);
                return 0;
        }
        return cmd_skill_package(count, argv);
}
