/* cmd_explain.c: abatis explain: what would be enforced, and by what. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

static int explain(const struct flags *flags)
{
        abatis_sandbox_options options = { .size = sizeof(options), .best_effort = flags->is_best_effort };
        abatis_host *host = NULL;
        abatis_policy *policy;
        abatis_error err;
        char *text;
        int r = flags_make_policy(flags, &policy);

        if (r)
                return r;
        /* Nothing will be started that would find out: so really try what this machine can do. */
        if (abatis_host_probe(&host, &err) < 0 ||
            abatis_explain(policy, host, &options, flags->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) <
                    0) {
                r = fail(&err);
        } else {
                if (!flags->has_json)
                        make_printable(text);
                r = print_text(1, text);
                if (!r && flags->has_json)
                        r = print_text(1, "\n");
                free(text);
        }
        abatis_host_free(host);
        abatis_policy_free(policy);
        return r;
}

int cmd_explain(char **argv)
{
        struct flags flags;
        int r = flags_parse(argv, TAKES_POLICY | TAKES_BEST_EFFORT | TAKES_JSON, &flags);

        if (!r && flags.wants_help)
                printf("Usage: abatis explain [FLAGS] [--json] [-- COMMAND...]\n"
                       "Prints each clause of the policy, the mechanism that enforces it, and the steps in order.\n"
                       "Runs nothing. A clause without a mechanism is refused with exit code 125.\n\n"
                       "  --best-effort        list such a clause as not enforced instead\n%s",
                       flags_policy_help);
        else if (!r)
                r = explain(&flags);
        flags_done(&flags);
        return r;
}
