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

static json_t *parse(char *text)
{
        json_t *value = json_loads(text, 0, NULL);

        free(text);
        return value;
}

/* All that is known without trials; or prints why not and returns NULL. */
static json_t *make_report(const abatis_host *host)
{
        abatis_error err;
        json_t *report;
        char *text;

        if (abatis_host_print(host, ABATIS_JSON, &text, &err) < 0) {
                fail(&err);
                return NULL;
        }
        report = parse(text);
        if (abatis_skill_engines(ABATIS_JSON, &text, &err) < 0) {
                fail(&err);
                json_decref(report);
                return NULL;
        }
        if (json_object_set_new(report, "engines", parse(text)) < 0) {
                complain("out of memory");
                json_decref(report);
                return NULL;
        }
        return report;
}

static int print_for_people(const abatis_host *host)
{
        abatis_error err;
        char *text;
        int r;

        if (abatis_host_print(host, ABATIS_TEXT, &text, &err) < 0)
                return fail(&err);
        r = print_text(1, text);
        free(text);
        if (!r && abatis_skill_engines(ABATIS_TEXT, &text, &err) < 0)
                return fail(&err);
        if (r)
                return r;
        r = print_text(1, "engines for WebAssembly\n") || print_document(text) ? EXIT_REFUSED : 0;
        free(text);
        return r;
}

/* Also what was seen in sandboxes of every backend. */
static int examine_by_trials(json_t *report, bool has_json)
{
        json_t *tests;
        int r = trials_run(report);

        tests = json_object_get(report, "tests");
        if (!r && has_json)
                r = print_json(report);
        else if (!r)
                r = trials_print(tests);
        if (!r && !trials_are_good(tests))
                r = 1;
        return r;
}

static int examine(const struct flags *flags)
{
        abatis_host *host = NULL;
        json_t *report = NULL;
        abatis_error err;
        int r = 0;

        if (*flags->rest)
                return complain("doctor takes no argument '%s'", *flags->rest);
        if (abatis_host_probe(&host, &err) < 0)
                return fail(&err);
        if (!flags->has_json)
                r = print_for_people(host);
        if (!r && (flags->has_json || flags->is_tested)) {
                report = make_report(host);
                r = report ? 0 : EXIT_REFUSED;
        }
        if (!r && flags->is_tested)
                r = examine_by_trials(report, flags->has_json);
        else if (!r && flags->has_json)
                r = print_json(report);
        if (!r && !abatis_host_is_ready(host))
                r = 1;
        json_decref(report);
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
