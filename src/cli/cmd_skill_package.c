/* cmd_skill_package.c: abatis skill list, show, lint, install and remove: the packages of skills. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* What follows the verb. */
struct words {
        const char *subject; /* a skill or a path, or NULL; borrowed, as all here */
        const char *tier;
        bool has_json, is_forced;
};

enum { TAKES_SUBJECT = 1, TAKES_FORMAT = 2, TAKES_GRANT = 4 };

/* JSON ends without a line's end. */
static int print_and_free(char *text, bool is_json)
{
        int r = print_document(text);

        free(text);
        return r || !is_json ? r : print_text(1, "\n");
}

static int list(const struct words *words)
{
        abatis_error err;
        char *text;

        if (abatis_skill_list(words->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0)
                return fail(&err);
        return print_and_free(text, words->has_json);
}

static int show(const struct words *words)
{
        abatis_error err;
        char *text;

        if (abatis_skill_show(words->subject, words->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err) < 0)
                return fail(&err);
        return print_and_free(text, words->has_json);
}

static int lint(const struct words *words)
{
        abatis_error err;
        char *text;
        int count, r;

        if (abatis_skill_lint(words->subject, &text, &count, &err) < 0)
                return fail(&err);
        r = print_and_free(text, false);
        if (!r && !count)
                r = print_text(1, "nothing found\n");
        return r ? r : count > 0;
}

static int install(const struct words *words)
{
        const abatis_skill_package_options options = { .size = sizeof(options),
                                                       .directory = words->subject,
                                                       .tier = words->tier,
                                                       .is_forced = words->is_forced,
                                                       .program = own_program() };
        abatis_error err;
        char *text;

        if (abatis_skill_install(&options, &text, &err) < 0)
                return fail(&err);
        return print_and_free(text, false);
}

static int remove_skill(const struct words *words)
{
        abatis_error err;

        return abatis_skill_remove(words->subject, &err) < 0 ? fail(&err) : 0;
}

static const struct verb {
        const char *name, *usage;
        unsigned takes;
        int (*run)(const struct words *words);
} verbs[] = {
        { "list", "[--json]", TAKES_FORMAT, list },
        { "show", "NAME|DIR [--json]", TAKES_SUBJECT | TAKES_FORMAT, show },
        { "lint", "DIR|FILE.wasm", TAKES_SUBJECT, lint },
        { "install", "DIR [--tier local|untrusted] [--force]", TAKES_SUBJECT | TAKES_GRANT, install },
        { "remove", "NAME", TAKES_SUBJECT, remove_skill },
};

static bool read_words(char **argv, unsigned takes, struct words *out)
{
        bool is_over = false;

        for (; *argv; argv++) {
                if (!is_over && !strcmp(*argv, "--"))
                        is_over = true;
                else if (!is_over && !strcmp(*argv, "--json") && takes & TAKES_FORMAT)
                        out->has_json = true;
                else if (!is_over && !strcmp(*argv, "--force") && takes & TAKES_GRANT)
                        out->is_forced = true;
                else if (!is_over && !strncmp(*argv, "--tier=", 7) && takes & TAKES_GRANT)
                        out->tier = *argv + 7;
                else if (!is_over && !strcmp(*argv, "--tier") && takes & TAKES_GRANT && argv[1])
                        out->tier = *++argv;
                else if ((is_over || **argv != '-') && takes & TAKES_SUBJECT && !out->subject)
                        out->subject = *argv;
                else
                        return false;
        }
        return !!out->subject == !!(takes & TAKES_SUBJECT);
}

int cmd_skill_package(const char *word, char **argv)
{
        struct words words = { 0 };

        for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
                if (!strcmp(word, verbs[i].name)) {
                        if (!read_words(argv, verbs[i].takes, &words))
                                return complain("usage: abatis skill %s %s", verbs[i].name, verbs[i].usage);
                        return verbs[i].run(&words);
                }
        return complain("unknown word '%s'; 'abatis skill --help' has the usage", word);
}
