/* cmd_trust.c: abatis trust: the user vouches for a project's own policy file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis trust [--revoke] [DIR]\n"
        "A project's .abatis.yaml may only narrow your policy. After this it counts like a file of yours, until it changes.\n"
        "Read it first; 'abatis policy show' prints what it leads to.\n";

/* As the library shows it in its own texts: on one line. */
static void print_path(const char *path)
{
        for (; *path; path++) {
                unsigned char byte = (unsigned char)*path;

                if (byte == '\n')
                        printf("\\n");
                else if (byte < 0x20 || byte == 0x7f)
                        printf("\\x%02x", byte);
                else
                        printf(byte == '\\' ? "\\\\" : "%c", byte);
        }
}

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
        print_path(path);
        printf(": %s\n", is_revoked ? "no longer trusted" : "trusted until it changes");
        free(path);
        return 0;
}
