/* cmd_audit.c: abatis audit: verifies the audit log and answers from it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/cli.h"

static const char help[] =
        "Usage: abatis audit list [FILTERS] [--json]     what was run: one line for each job\n"
        "       abatis audit show ID [--json]            one job with all of its records\n"
        "       abatis audit stats [FILTERS] [--json]    how many, how long, what was refused and why\n"
        "       abatis audit report [FILTERS] -o FILE    the same as a page with charts ('-': standard output)\n"
        "       abatis audit sql [QUERY]                 ask with SQL (tables: jobs, connections, events); needs sqlite3\n"
        "       abatis audit verify [FILE]               exit 0 when the log is as it was written, else 1\n"
        "Filters:\n"
        "  --since TIME, --until TIME   2h or 7d ago, 2026-11-15, or 2026-11-15T10:00:00Z\n"
        "  --command PATTERN            the program or the whole line, with * and ?\n"
        "  --verdict WORD               ok, failed, refused, timeout, limit or running\n"
        "  --limit N                    the last N\n"
        "Every word takes --file FILE for another log than ~/.local/state/abatis/audit.jsonl.\n";

static const char usage[] = "usage: abatis audit list|show|stats|report|sql|verify";

struct arguments {
        abatis_audit_query query;
        const char *word;   /* borrowed: what is no flag */
        const char *output; /* borrowed */
        bool has_json, wants_help;
};

enum { TAKES_FILTERS = 1, TAKES_FORMAT = 2, TAKES_OUTPUT = 4, TAKES_WORD = 8 };

static const struct audit_flag {
        const char *name;
        unsigned takes; /* 0: every word knows it */
        bool has_value;
} audit_flags[] = {
        { "--since", TAKES_FILTERS, true },
        { "--until", TAKES_FILTERS, true },
        { "--command", TAKES_FILTERS, true },
        { "--verdict", TAKES_FILTERS, true },
        { "--limit", TAKES_FILTERS, true },
        { "--json", TAKES_FORMAT, false },
        { "-o", TAKES_OUTPUT, true },
        { "--output", TAKES_OUTPUT, true },
        { "--file", 0, true },
        { "--help", 0, false },
};

#define FLAG_COUNT (sizeof(audit_flags) / sizeof(*audit_flags))

/* ---- flags ---------------------------------------------------------------------------------------------- */

static int set_limit(const char *value, uint64_t *out)
{
        char *end;
        unsigned long long number;

        errno = 0;
        number = strtoull(value, &end, 10);
        if (*value < '1' || *value > '9' || *end || errno)
                return complain("--limit: '%s' is not a number above 0", value);
        *out = number;
        return 0;
}

static int set_flag(const char *name, const char *value, struct arguments *arguments)
{
        abatis_audit_query *query = &arguments->query;

        if (!strcmp(name, "--since"))
                query->since = value;
        else if (!strcmp(name, "--until"))
                query->until = value;
        else if (!strcmp(name, "--command"))
                query->command = value;
        else if (!strcmp(name, "--verdict"))
                query->verdict = value;
        else if (!strcmp(name, "--file"))
                query->file = value;
        else if (!strcmp(name, "--json"))
                arguments->has_json = true;
        else if (!strcmp(name, "--help"))
                arguments->wants_help = true;
        else if (!strcmp(name, "--limit"))
                return set_limit(value, &query->limit);
        else
                arguments->output = value;
        return 0;
}

static const struct audit_flag *find_flag(const char *argument, size_t length, unsigned takes)
{
        for (size_t i = 0; i < FLAG_COUNT; i++)
                if (strlen(audit_flags[i].name) == length &&
                    !strncmp(argument, audit_flags[i].name, length) &&
                    (!audit_flags[i].takes || takes & audit_flags[i].takes))
                        return &audit_flags[i];
        return NULL;
}

static int complain_unknown(const char *argument)
{
        const char *names[FLAG_COUNT + 1] = { NULL }, *nearest;

        for (size_t i = 0; i < FLAG_COUNT; i++)
                names[i] = audit_flags[i].name;
        nearest = abatis_suggest(argument, names);
        return nearest && strcmp(nearest, argument)
                       ? complain("unknown flag '%s'; did you mean %s?", argument, nearest)
                       : complain("unknown flag '%s'; 'abatis audit --help' has those of each word",
                                  argument);
}

static int parse(char **argv, unsigned takes, struct arguments *out)
{
        *out = (struct arguments){ .query.size = sizeof(out->query) };
        for (; *argv; argv++) {
                size_t length = strcspn(*argv, "=");
                bool is_joined = (*argv)[length];
                const struct audit_flag *flag;
                int r;

                if (**argv != '-' || !strcmp(*argv, "-")) {
                        if (out->word || !(takes & TAKES_WORD))
                                return complain(
                                        "'%s' is one word too many; 'abatis audit --help' has the usage",
                                        *argv);
                        out->word = *argv;
                        continue;
                }
                flag = find_flag(*argv, length, takes);
                if (!flag)
                        return complain_unknown(*argv);
                if (is_joined && !flag->has_value)
                        return complain("%s takes no value", flag->name);
                if (flag->has_value && !is_joined && !argv[1])
                        return complain("%s needs a value", flag->name);
                r = set_flag(flag->name, is_joined ? *argv + length + 1 : argv[1], out);
                if (r)
                        return r;
                argv += flag->has_value && !is_joined;
        }
        return 0;
}

/* ---- words ---------------------------------------------------------------------------------------------- */

static int print_and_free(int r, char *text, const abatis_error *err)
{
        if (r < 0)
                return fail(err);
        r = print_document(text);
        free(text);
        return r;
}

static int list(const struct arguments *arguments)
{
        abatis_error err;
        char *text = NULL;
        int r = abatis_audit_list(&arguments->query, arguments->has_json ? ABATIS_JSON : ABATIS_TEXT, &text,
                                  &err);

        return print_and_free(r, text, &err);
}

static int show(const struct arguments *arguments)
{
        abatis_audit_query query = arguments->query;
        abatis_error err;
        char *text = NULL;
        int r;

        if (!arguments->word)
                return complain("usage: abatis audit show ID; 'abatis audit list' has the ids");
        query.id = arguments->word;
        r = abatis_audit_show(&query, arguments->has_json ? ABATIS_JSON : ABATIS_TEXT, &text, &err);
        return print_and_free(r, text, &err);
}

static int stats(const struct arguments *arguments)
{
        abatis_error err;
        char *text = NULL;
        int r = abatis_audit_stats(&arguments->query, arguments->has_json ? ABATIS_JSON : ABATIS_TEXT, &text,
                                   &err);

        return print_and_free(r, text, &err);
}

static int verify(const struct arguments *arguments)
{
        abatis_error err;
        char *text = NULL;
        int faults = 0, r;

        if (arguments->word && arguments->query.file)
                return complain("the log is named twice");
        r = abatis_audit_verify(arguments->word ? arguments->word : arguments->query.file, &text, &faults,
                                &err);
        r = print_and_free(r, text, &err);
        return r ? r : faults > 0;
}

/* Private, as the log is, unless it is there already: a pipe or a device will do. */
static int write_page(const char *path, const char *page)
{
        int fd, r;

        if (!strcmp(path, "-"))
                return print_text(1, page);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0600);
        if (fd < 0)
                return complain("cannot write '%s': %s", path, strerror(errno));
        r = print_text(fd, page);
        if (r)
                complain("cannot write '%s': %s", path, strerror(errno));
        close(fd);
        return r;
}

static int report(const struct arguments *arguments)
{
        abatis_error err;
        char *page;
        int r;

        if (!arguments->output)
                return complain("usage: abatis audit report [FILTERS] -o FILE");
        if (abatis_audit_report(&arguments->query, &page, &err) < 0)
                return fail(&err);
        r = write_page(arguments->output, page);
        free(page);
        return r;
}

/* The statements lie in memory and the database too, and we become sqlite3: nothing can be left behind, whatever ends
 * it. */
static int ask_sqlite(const char *statements, const char *query)
{
        char path[SCRATCH_PATH_SIZE];
        int fd = scratch_open(path);

        if (fd < 0)
                return complain("cannot make a file in memory: %s", strerror(errno));
        if (print_text(fd, statements) || lseek(fd, 0, SEEK_SET) < 0)
                return complain("cannot write a file in memory: %s", strerror(errno));
        if (query)
                execlp("sqlite3", "sqlite3", "-batch", "-init", path, "-header", ":memory:", query,
                       (char *)NULL);
        else
                execlp("sqlite3", "sqlite3", "-init", path, "-header", "-column", ":memory:", (char *)NULL);
        if (errno == ENOENT) {
                complain(
                        "audit sql needs the program sqlite3, which is not in PATH (Debian: apt install sqlite3)");
                return EXIT_NOT_FOUND;
        }
        return complain("cannot start sqlite3: %s", strerror(errno));
}

static int sql(const struct arguments *arguments)
{
        abatis_error err;
        char *statements;
        int r;

        if (abatis_audit_sql(&arguments->query, &statements, &err) < 0)
                return fail(&err);
        r = ask_sqlite(statements, arguments->word);
        free(statements);
        return r;
}

static const struct word {
        const char *name;
        unsigned takes;
        int (*run)(const struct arguments *arguments);
} audit_words[] = {
        { "list", TAKES_FILTERS | TAKES_FORMAT, list },
        { "show", TAKES_WORD | TAKES_FORMAT, show },
        { "stats", TAKES_FILTERS | TAKES_FORMAT, stats },
        { "report", TAKES_FILTERS | TAKES_OUTPUT, report },
        { "sql", TAKES_WORD, sql },
        { "verify", TAKES_WORD, verify },
};

#define WORD_COUNT (sizeof(audit_words) / sizeof(*audit_words))

int cmd_audit(char **argv)
{
        const char *name = *argv ? *argv++ : "", *names[WORD_COUNT + 1] = { NULL }, *nearest;
        struct arguments arguments;

        if (!strcmp(name, "--help"))
                return print_text(1, help);
        for (size_t i = 0; i < WORD_COUNT; i++) {
                int r;

                names[i] = audit_words[i].name;
                if (strcmp(name, names[i]))
                        continue;
                r = parse(argv, audit_words[i].takes, &arguments);
                if (r)
                        return r;
                return arguments.wants_help ? print_text(1, help) : audit_words[i].run(&arguments);
        }
        nearest = abatis_suggest(name, names);
        return nearest ? complain("unknown word '%s'; did you mean 'abatis audit %s'?", name, nearest)
                       : complain("%s", usage);
}
