/* cmd_trust.c: abatis trust: the user vouches for a project's own policy file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis trust [--revoke] [DIR]\n"
        "A project's .abatis.yaml may only narrow your policy. After this it counts like a file of yours, until it changes.\n"
        "Read it first; 'abatis policy show' prints what it leads to.\n";

int cmd_trust(char **argv)
{
        bool is_revoked = *argv && !strcmp(*argv, "--revoke");
        abatis_error err;
        char *path;

        if (*argv && !strcmp(*argv, "--help")) {
                printf("%s", help);
                return 0;
        }
        argv += is_revoked;
        if (*argv && (**argv == '-' || argv[1]))
                return complain("usage: abatis trust [--revoke] [DIR]");
        if (abatis_trust(*argv, !is_revoked, &path, &err) < 0)
                return fail(&err);
        make_printable(path);
        printf("%s: %s\n", path, is_revoked ? "no longer trusted" : "trusted until it changes");
        free(path);
        return 0;
}
