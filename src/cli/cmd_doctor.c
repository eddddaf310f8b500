/* cmd_doctor.c: abatis doctor: what this machine can enforce, tried for real. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/trials.h"

static int print_json(const json_t *report)
{
        char *text = json_dumps(report, JSON_INDENT(2));
        int r = text ? print_text(1, text) : complain("out of memory");

        free(text);
        return r ? r : print_text(1, "\n");
}

/* The doctor's report, and what was seen in sandboxes of every backend. */
static int examine_by_trials(const abatis_host *host, bool has_json)
{
        json_t *report, *tests;
        abatis_error err;
        char *text;
        int r;

        if (abatis_host_print(host, ABATIS_JSON, &text, &err) < 0)
                return fail(&err);
        report = json_loads(text, 0, NULL);
        free(text);
        if (!report)
                return complain("out of memory");
        r = trials_run(report);
        tests = json_object_get(report, "tests");
        if (!r && has_json)
                r = print_json(report);
        else if (!r)
                r = trials_print(tests);
        if (!r && !trials_are_good(tests))
                r = 1;
        json_decref(report);
        return r;
}

static int examine(const struct flags *flags)
{
        abatis_host *host = NULL;
        abatis_error err;
        char *text;
        int r = 0;

        if (*flags->rest)
                return complain("doctor takes no argument '%s'", *flags->rest);
        if (abatis_host_probe(&host, &err) < 0)
                return fail(&err);
        if (!flags->is_tested || !flags->has_json) {
                if (abatis_host_print(host, flags->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0) {
                        abatis_host_free(host);
                        return fail(&err);
                }
                r = print_text(1, text);
                if (!r && flags->has_json)
                        r = print_text(1, "\n");
                free(text);
        }
        if (!r && flags->is_tested)
                r = examine_by_trials(host, flags->has_json);
        if (!r && !abatis_host_is_ready(host))
                r = 1;
        abatis_host_free(host);
        return r;
}

int cmd_doctor(char **argv)
{
        struct flags flags;
        int r = flags_parse(argv, TAKES_JSON | TAKES_TEST, &flags);

        if (!r && flags.wants_help)
                printf("Usage: abatis doctor [--test] [--json]\n"
                       "Tries each mechanism and says what works, what does not, why, and how to fix it.\n"
                       "  --test   also try what policies forbid, outside and in a sandbox of each backend\n"
                       "Exit code 0 when the default policy can be held here, and with --test only if every clause\n"
                       "that a plan claims was seen to hold; else 1.\n");
        else if (!r)
                r = examine(&flags);
        flags_done(&flags);
        return r;
}
