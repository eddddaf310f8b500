/* trial_report.c: what doctor --test has found out, for people, and as an exit code. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/trials.h"

static const char *text_of(const json_t *row, const char *key)
{
        const char *text = json_string_value(json_object_get(row, key));

        return text ? text : "";
}

static bool is_verdict(const json_t *row, const char *verdict)
{
        return !strcmp(text_of(row, "verdict"), verdict);
}

/* Of what holds a clause, and by how many ways that was seen. */
static void print_means(const json_t *row)
{
        const json_int_t count = json_integer_value(json_object_get(row, "proofs"));
        const json_t *by;
        size_t i;

        printf("%" JSON_INTEGER_FORMAT " way%s; ", count, count == 1 ? "" : "s");
        json_array_foreach(json_object_get(row, "by"), i, by)
        {
                const json_t *last = json_array_get(json_object_get(row, "by"), i - 1);

                if (!i || !json_equal(last, by)) /* the same for each of several paths */
                        printf("%s%s", i ? " + " : "", json_string_value(by));
        }
        printf("\n");
}

static void print_row(const json_t *row)
{
        static const char *const shown[][2] = {
                { "held", "held    " },     { "not held", "NOT HELD" }, { "refused", "refused " },
                { "untested", "untested" }, { "open", "open    " },
        };
        const char *verdict = text_of(row, "verdict");

        for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
                if (!strcmp(shown[i][0], verdict))
                        verdict = shown[i][1];
        printf("  %s %-34s ", verdict, text_of(row, "clause"));
        if (is_verdict(row, "held"))
                print_means(row);
        else
                printf("%s\n", text_of(row, "reason"));
}

/* The backend none is what it is compared with: nobody is told each way that is open there. */
static void print_none(const json_t *tests)
{
        const json_t *row;
        size_t i, open = 0, count = 0;

        json_array_foreach(tests, i, row) if (!strcmp(text_of(row, "backend"), "none"))
        {
                open += is_verdict(row, "open");
                count++;
        }
        printf("  nothing is enforced: of %zu clauses %zu are seen to be open\n", count, open);
}

int trials_print(const json_t *tests)
{
        const char *backend = "";
        const json_t *first, *row;
        size_t i, j;

        /* A backend's rows come case by case. */
        json_array_foreach(tests, i, first)
        {
                bool is_known = false;

                for (j = 0; j < i && !is_known; j++)
                        is_known = !strcmp(text_of(json_array_get(tests, j), "backend"),
                                           text_of(first, "backend"));
                if (is_known)
                        continue;
                backend = text_of(first, "backend");
                printf("tests of %s\n", backend);
                if (!strcmp(backend, "none")) {
                        print_none(tests);
                        continue;
                }
                json_array_foreach(tests, j, row) if (!strcmp(text_of(row, "backend"), backend))
                        print_row(row);
        }
        printf(trials_are_good(tests) ? "Everything that is claimed was seen to hold.\n"
                                      : "NOT everything that is claimed was seen to hold.\n");
        return fflush(stdout) ? EXIT_REFUSED : 0;
}

bool trials_are_good(const json_t *tests)
{
        const json_t *row;
        size_t i, held = 0;

        json_array_foreach(tests, i, row)
        {
                if (!strcmp(text_of(row, "backend"), "none"))
                        continue;
                if (is_verdict(row, "not held") || is_verdict(row, "untested"))
                        return false;
                held += is_verdict(row, "held");
        }
        return held > 0;
}
