/* cmd_policy.c: abatis policy: shows, judges and converts policies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis policy show [--json] [FLAGS]     the merged policy, and where each line came from\n"
        "       abatis policy lint [FLAGS]              rules that do nothing, contradictions, known holes\n"
        "       abatis policy convert FILE              a file, of another tool too, in our format\n"
        "       abatis policy schema                    the JSON Schema of the policy file\n";

static int show(const struct flags *flags)
{
        abatis_policy *policy;
        abatis_error err;
        char *text;
        int r = flags_make_policy(flags, &policy);

        if (r)
                return r;
        if (abatis_policy_print(policy, flags->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0)
                r = fail(&err);
        else {
                r = print_document(text);
                free(text);
        }
        abatis_policy_free(policy);
        return r;
}

static int lint(const struct flags *flags)
{
        abatis_policy *policy;
        abatis_error err;
        char *text;
        int count, r = flags_make_policy(flags, &policy);

        if (r)
                return r;
        if (abatis_policy_lint(policy, &text, &count, &err) < 0)
                r = fail(&err);
        else {
                make_printable(text);
                r = print_text(1, text);
                if (!r && !count)
                        r = print_text(1, "nothing found\n");
                if (!r)
                        r = count > 0;
                free(text);
        }
        abatis_policy_free(policy);
        return r;
}

static int convert(const char *file)
{
        abatis_error err;
        char *text;
        int r;

        if (!file)
                return complain("usage: abatis policy convert FILE");
        if (abatis_policy_convert(file, &text, &err) < 0)
                return fail(&err);
        r = print_document(text);
        free(text);
        return r;
}

static int schema(void)
{
        abatis_error err;
        char *text;
        int r;

        if (abatis_policy_schema(&text, &err) < 0)
                return fail(&err);
        r = print_document(text);
        free(text);
        return r;
}

int cmd_policy(char **argv)
{
        static const char *const words[] = { "show", "lint", "convert", "schema", NULL };
        const char *word = *argv ? *argv++ : "", *nearest;
        unsigned takes = !strcmp(word, "show")   ? TAKES_POLICY | TAKES_JSON
                         : !strcmp(word, "lint") ? TAKES_POLICY
                                                 : 0;
        struct flags flags;
        int r;

        if (!strcmp(word, "--help")) {
                printf("%s\n%s", help, flags_policy_help);
                return 0;
        }
        r = flags_parse(argv, takes, &flags);
        if (!r && flags.wants_help)
                printf("%s\n%s", help, flags_policy_help);
        else if (!r && *flags.rest && (strcmp(word, "convert") || flags.rest[1]))
                r = complain("'%s' is one word too many; 'abatis policy --help' has the usage",
                             flags.rest[!strcmp(word, "convert")]);
        else if (!r && !strcmp(word, "show"))
                r = show(&flags);
        else if (!r && !strcmp(word, "lint"))
                r = lint(&flags);
        else if (!r && !strcmp(word, "convert"))
                r = convert(*flags.rest);
        else if (!r && !strcmp(word, "schema"))
                r = schema();
        else if (!r) {
                nearest = abatis_suggest(word, words);
                r = nearest ? complain("unknown word '%s'; did you mean 'abatis policy %s'?", word, nearest)
                            : complain("usage: abatis policy show|lint|convert|schema");
        }
        flags_done(&flags);
        return r;
}
