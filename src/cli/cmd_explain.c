/* cmd_explain.c: abatis explain: what would be enforced, and by what. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static int print_tiers(const struct flags *flags)
{
        abatis_error err;
        char *text;
        int r;

        if (abatis_tier_print(flags->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0)
                return fail(&err);
        r = print_text(1, text);
        if (!r && flags->has_json)
                r = print_text(1, "\n");
        free(text);
        return r;
}

/* What a request can say of it: no flag shows a plan that the tier never gets. */
static bool goes_with(const abatis_tier *tier, const struct setting *setting)
{
        if (!tier->policy || !strncmp(setting->key, "limits.", 7))
                return true;
        if (!strcmp(setting->key, "network.mode"))
                return tier->may_connect && !strcmp(setting->value, "allow");
        return !strcmp(setting->key, "filesystem.read") || !strcmp(setting->key, "filesystem.write");
}

static int use_tier(struct flags *flags)
{
        const abatis_tier *tier = abatis_tier_find(flags->tier);
        abatis_error err;

        for (size_t i = 0; i < flags->setting_count; i++)
                if (!goes_with(tier, &flags->settings[i]))
                        return complain("%s does not go with --tier %s, which has a policy of its own",
                                        flags->settings[i].flag, tier->name);
        return abatis_tier_apply(tier, &flags->policy, &err) < 0 ? fail(&err) : 0;
}

static int print_tier(const struct flags *flags)
{
        const abatis_tier *tier = abatis_tier_find(flags->tier);

        if (!flags->tier || flags->has_json)
                return 0;
        if (print_text(1, "trust tier ") || print_text(1, tier->name) || print_text(1, ": ") ||
            print_text(1, tier->native))
                return EXIT_REFUSED;
        return print_text(1, "\n");
}

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
                r = print_tier(flags);
                if (!r)
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
        int r = flags_parse(argv, TAKES_POLICY | TAKES_BEST_EFFORT | TAKES_JSON | TAKES_TIER, &flags);

        if (!r && flags.wants_help)
                printf("Usage: abatis explain [FLAGS] [--json] [-- COMMAND...]\n"
                       "Prints each clause of the policy, the mechanism that enforces it, and the steps in order.\n"
                       "Runs nothing. A clause without a mechanism is refused with exit code 125.\n\n"
                       "  --best-effort        list such a clause as not enforced instead\n"
                       "  --tier NAME          what a program of this trust tier gets: local, verified or untrusted\n"
                       "  --tiers              only print the table of trust tiers\n%s",
                       flags_policy_help);
        else if (!r && flags.wants_tiers)
                r = print_tiers(&flags);
        else if (!r) {
                r = flags.tier ? use_tier(&flags) : 0;
                if (!r)
                        r = explain(&flags);
        }
        flags_done(&flags);
        return r;
}
