/* cmd_doctor.c: abatis doctor: what this machine can enforce, tried for real. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

static int examine(const struct flags *flags)
{
        abatis_host *host = NULL;
        abatis_error err;
        char *text;
        int r;

        if (*flags->rest)
                return complain("doctor takes no argument '%s'", *flags->rest);
        if (abatis_host_probe(&host, &err) < 0)
                return fail(&err);
        if (abatis_host_print(host, flags->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0) {
                abatis_host_free(host);
                return fail(&err);
        }
        r = print_text(1, text);
        if (!r && flags->has_json)
                r = print_text(1, "\n");
        if (!r && !abatis_host_is_ready(host))
                r = 1;
        free(text);
        abatis_host_free(host);
        return r;
}

int cmd_doctor(char **argv)
{
        struct flags flags;
        int r = flags_parse(argv, TAKES_JSON, &flags);

        if (!r && flags.wants_help)
                printf("Usage: abatis doctor [--json]\n"
                       "Tries each mechanism and says what works, what does not, why, and how to fix it.\n"
                       "Exit code 0 when the default policy can be held here, else 1.\n");
        else if (!r)
                r = examine(&flags);
        flags_done(&flags);
        return r;
}
