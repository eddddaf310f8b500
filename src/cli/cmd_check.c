/* cmd_check.c: abatis check: may the command read, write or execute this path? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int parse_access(const char *word, abatis_access *out)
{
        static const char *const names[] = { "read", "write", "execute" };

        for (int i = 0; word && i < 3; i++)
                if (!strcmp(word, names[i])) {
                        *out = (abatis_access)i;
                        return 0;
                }
        return complain("usage: abatis check read|write|execute PATH [FLAGS]");
}

static int answer(const struct flags *flags, abatis_access access, const char *path)
{
        abatis_policy *policy;
        abatis_error err;
        int allowed, r = flags_make_policy(flags, &policy);
        char *rule;

        if (r)
                return r;
        if (abatis_policy_check(policy, access, path, &allowed, &rule, &err) < 0) {
                r = fail(&err);
        } else {
                make_printable(rule);
                printf("%s: %s\n", allowed ? "allowed" : "refused", rule);
                r = !allowed;
                free(rule);
        }
        abatis_policy_free(policy);
        return r;
}

int cmd_check(char **argv)
{
        char *words[2] = { NULL, NULL };
        struct flags flags;
        abatis_access access = ABATIS_READ;
        int r;

        /* The two words may stand before or after the flags. */
        for (int i = 0; i < 2 && *argv && **argv != '-'; i++)
                words[i] = *argv++;
        r = flags_parse(argv, TAKES_POLICY, &flags);
        for (int i = 0; i < 2 && !r; i++)
                if (!words[i] && *flags.rest)
                        words[i] = *flags.rest++;
        if (!r && flags.wants_help) {
                printf("Usage: abatis check read|write|execute PATH [FLAGS]\n"
                       "Answers from the policy alone: exit code 0 allowed, 1 refused; prints the rule that decides.\n\n%s",
                       flags_policy_help);
        } else if (!r) {
                r = parse_access(words[0], &access);
                if (!r && (!words[1] || *flags.rest))
                        r = complain("usage: abatis check read|write|execute PATH [FLAGS]");
                if (!r)
                        read_path(words[1]);
                if (!r)
                        r = answer(&flags, access, words[1]);
        }
        flags_done(&flags);
        return r;
}
