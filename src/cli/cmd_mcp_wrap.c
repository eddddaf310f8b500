/* cmd_mcp_wrap.c: abatis mcp-wrap: an MCP client's configuration, changed so that its servers start in a sandbox. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/config_file.h"
#include "agents/wrap.h"
#include "cli/cli.h"

static const char help[] =
        "Usage: abatis mcp-wrap [FLAGS] CONFIG.json\n"
        "Rewrites the configuration of an MCP client (Claude Desktop and Code, Cursor, Gemini CLI, Windsurf, VS Code, Zed) so that\n"
        "every server that it starts runs in a sandbox. Shows what will differ, asks, and keeps CONFIG.json.abatis-backup.\n"
        "Nothing else in the file changes, no blank and no comment. The flags of a policy are those of the servers\n"
        "(default: --profile mcp-server); docs/WRAPPING.md says more.\n\n"
        "  --server NAME        only this one; may be given several times\n"
        "  --undo               the servers as they were\n"
        "  --yes                do not ask\n"
        "  --dry-run            only show it\n"
        "  --best-effort        servers run although something cannot be enforced\n\n"
        "Exit code: 0 the file is as it shall be, 1 it was only shown, 125 refused.\n\n";

enum { EXIT_ONLY_SHOWN = 1 };

static const char profile_default[] = "mcp-server";

/* ---- the flags of the servers ---------------------------------------------------------------------------- */

struct words {
        char **items; /* owned, ends with NULL */
        size_t count;
};

static int add_word(struct words *words, const char *flag, const char *value)
{
        char **items = realloc(words->items, (words->count + 2) * sizeof(*items));

        if (!items)
                return complain("out of memory");
        words->items = items;
        items[words->count + 1] = NULL;
        /* In one word each: no value can look like a flag, or like the end of them. */
        if (asprintf(&items[words->count], "%s%s%s", flag, value ? "=" : "", value ? value : "") < 0) {
                items[words->count] = NULL;
                return complain("out of memory");
        }
        words->count++;
        return 0;
}

static void words_done(struct words *words)
{
        for (size_t i = 0; i < words->count; i++)
                free(words->items[i]);
        free(words->items);
}

/* Nobody knows where a client will be when it starts a server. */
static int add_place(struct words *words, const char *flag, const char *path)
{
        char *real = path ? realpath(path, NULL) : NULL;
        int r;

        if (path && !real)
                return complain("%s '%s': %s", flag, path, strerror(errno));
        r = path ? add_word(words, flag, real) : 0;
        free(real);
        return r;
}

static int list_words(const struct flags *flags, struct words *out)
{
        int r = 0;

        /* Either of the two takes both kinds of names. */
        if (flags->policy.preset)
                r = add_word(out, "--preset", flags->policy.preset);
        else if (!flags->policy.file)
                r = add_word(out, "--profile", profile_default);
        if (!r)
                r = add_place(out, "--policy", flags->policy.file);
        if (!r)
                r = add_place(out, "--workspace", flags->policy.workspace);
        if (!r)
                r = add_place(out, "--data", flags->policy.data);
        if (!r)
                r = add_place(out, "--config", flags->policy.config);
        for (size_t i = 0; i < flags->setting_count && !r; i++) {
                const struct setting *setting = &flags->settings[i];

                r = add_word(out, setting->flag, strncmp(setting->flag, "--no-", 5) ? setting->value : NULL);
        }
        if (!r && flags->is_best_effort)
                r = add_word(out, "--best-effort", NULL);
        return r;
}

static bool has_policy(const struct flags *flags)
{
        return flags->policy.preset || flags->policy.file || flags->policy.workspace || flags->policy.data ||
               flags->policy.config || flags->setting_count || flags->is_best_effort;
}

/* What every server would refuse is refused here. */
static int check_policy(const struct flags *flags)
{
        struct flags checked = *flags;
        abatis_policy *policy;
        int r;

        if (!checked.policy.preset && !checked.policy.file)
                checked.policy.preset = profile_default;
        r = flags_make_policy(&checked, &policy);
        if (!r)
                abatis_policy_free(policy);
        return r;
}

/* By the name it was started by, if that does not depend on where: a link to it may be there longer than what it leads to. A client
 * that was not started by a shell may not have it in its PATH. */
static char *find_program(void)
{
        const char *named = own_program();

        if (named && *named == '/' && strncmp(named, "/proc/", 6) && strncmp(named, "/dev/", 5))
                return strdup(named);
        return named ? realpath(named, NULL) : NULL;
}

/* Of this very program, as a client would find it: not by where somebody is. */
static bool is_same_program(const char *path)
{
        char *program = find_program();
        struct stat ours, theirs;
        bool is_same = program && strncmp(path, "/proc/", 6) && strncmp(path, "/dev/", 5) &&
                       !stat(program, &ours) && !stat(path, &theirs) && ours.st_dev == theirs.st_dev &&
                       ours.st_ino == theirs.st_ino;

        free(program);
        return is_same;
}

/* ---- the file -------------------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end)
{
        size_t length = strlen(path);

        return length >= strlen(end) && !strcmp(path + length - strlen(end), end);
}

static int refuse_other_formats(const char *path, const char *program)
{
        if (ends_with(path, ".toml"))
                return complain(
                        "'%s' is TOML, which is not rewritten; put by hand: command = \"%s\", args = [\"run\", \"--profile=%s\", "
                        "\"--\", and then the command and args that are there",
                        path, program, profile_default);
        if (ends_with(path, ".yaml") || ends_with(path, ".yml"))
                return complain(
                        "'%s' is YAML, which is not rewritten; put by hand: command: %s, args: [run, --profile=%s, --, and "
                        "then the command and args that are there",
                        path, program, profile_default);
        return 0;
}

/* Only a line that begins with y is a yes. */
static bool is_agreed(void)
{
        char answer[16];

        fprintf(stderr, "Write this? [y/N] ");
        fflush(stderr);
        return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

static int write_file(const struct config_file *file, const struct wrap *wrap, const struct flags *flags)
{
        /* What comes back was kept, and what goes can be made again. */
        bool is_kept = flags->is_undone && config_file_has_backup(file, wrap->text, wrap->length);
        abatis_error err;
        char *backup = NULL;

        if (flags->is_dry)
                return EXIT_ONLY_SHOWN;
        if (!flags->is_agreed && (!isatty(0) || !isatty(2))) {
                print_text(2,
                           "abatis: nothing was written: there is no terminal to ask at; --yes writes it\n");
                return EXIT_ONLY_SHOWN;
        }
        if (!flags->is_agreed && !is_agreed()) {
                print_text(2, "abatis: nothing was written\n");
                return EXIT_ONLY_SHOWN;
        }
        if (config_file_replace(file, wrap->text, wrap->length, is_kept ? NULL : &backup, &err) < 0)
                return fail(&err);
        printf("%zu server%s %s", wrap->changed, wrap->changed == 1 ? "" : "s",
               flags->is_undone ? "unwrapped" : "wrapped");
        if (backup)
                make_printable(backup);
        printf("%s%s\n", backup ? "; the file as it was: " : "", backup ? backup : "");
        free(backup);
        return 0;
}

static int show_and_write(const struct config_file *file, const struct wrap *wrap, const struct flags *flags)
{
        int r = print_text(1, wrap->report);

        if (!r && !wrap->text)
                return print_text(1, "nothing to do\n");
        if (!r)
                r = print_text(1, wrap->difference);
        return r ? r : write_file(file, wrap, flags);
}

/* It has the tokens of all servers, and so have the copies that are kept, with the one that will be. */
static int deny_file(struct words *words, const struct config_file *file)
{
        bool is_kept = config_file_has_backup(file, file->text, file->length), is_there = true;
        int r = add_word(words, "--deny", file->path);

        for (unsigned number = 0; number < CONFIG_FILE_BACKUPS && !r && is_there; number++) {
                char *copy = config_file_backup(file, number);

                is_there = copy && !access(copy, F_OK);
                if (!copy)
                        r = complain("out of memory");
                else if (is_there || !is_kept)
                        r = add_word(words, "--deny", copy);
                free(copy);
        }
        return r;
}

static int rewrite(const char *path, const struct flags *flags, const char *program, struct words *words)
{
        struct wrap_options options = { .is_undone = flags->is_undone,
                                        .program = { program, is_same_program },
                                        .names = flags->servers };
        struct config_file file;
        struct wrap wrap;
        abatis_error err;
        int r = refuse_other_formats(path, program);

        if (r)
                return r;
        if (config_file_read(path, &file, &err) < 0)
                return fail(&err);
        r = deny_file(words, &file);
        options.flags = (const char *const *)words->items;
        if (!r && wrap_make(file.text, file.length, &options, &wrap, &err) < 0)
                r = complain("%s:%s", path, err.message);
        else if (!r) {
                r = show_and_write(&file, &wrap, flags);
                wrap_done(&wrap);
        }
        config_file_done(&file);
        return r;
}

static int wrap_with_flags(const struct flags *flags)
{
        struct words words = { 0 };
        char *program;
        int r = 0;

        if (!*flags->rest || flags->rest[1])
                return complain("usage: abatis mcp-wrap [FLAGS] CONFIG.json");
        if (flags->is_undone && has_policy(flags))
                return complain("--undo takes no flags of a policy: the servers become as they were");
        program = find_program();
        if (!program)
                return complain("cannot find out where abatis is: %s", strerror(errno));
        if (!flags->is_undone)
                r = check_policy(flags);
        if (!r)
                r = list_words(flags, &words);
        if (!r)
                r = rewrite(*flags->rest, flags, program, &words);
        words_done(&words);
        free(program);
        return r;
}

/* A file before a flag goes behind all of them. */
static bool moves_behind(char **words)
{
        char *file = *words;

        if (!file || *file == '-' || !words[1] || *words[1] != '-')
                return false;
        for (; words[1]; words++)
                words[0] = words[1];
        *words = file;
        return true;
}

int cmd_mcp_wrap(char **argv)
{
        unsigned takes = TAKES_POLICY | TAKES_BEST_EFFORT | TAKES_WRAP;
        struct flags flags;
        int r = flags_parse(argv, takes, &flags);

        while (!r && moves_behind(flags.rest)) {
                flags_done(&flags);
                r = flags_parse(argv, takes, &flags);
        }
        if (!r && flags.wants_help)
                printf("%s%s", help, flags_policy_help);
        else if (!r)
                r = wrap_with_flags(&flags);
        flags_done(&flags);
        return r;
}
