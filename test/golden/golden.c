/* golden.c: compiles fixed policies for fixed hosts and compares the printed plans with the files beside this one.
 *
 * A plan that is meant to change is written again with UPDATE_GOLDEN=1, and the difference is part of the review. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "cases.h"
#include "policies.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- the world ------------------------------------------------------------------------------------------ */

static char *tmp_root; /* owned: the scratch directory below /tmp */
static char script_line[512];

static const char *place(const char *relative)
{
        static char path[256];

        if (strncmp(relative, "tmp:", 4) != 0)
                return at("%s", relative);
        snprintf(path, sizeof(path), "%s/%s", tmp_root, relative + 4);
        return path;
}

static void make_programs(void)
{
        const char *loader = make_program("usr/lib/ld-test.so.1", NULL);

        make_program("usr/bin/tool", loader);
        make_program("usr/bin/interpreter", loader);
        snprintf(script_line, sizeof(script_line), "#!%s -x\n", at("usr/bin/interpreter"));
        make_script("usr/bin/script", script_line);
        make_script("home/u/plain/bin/tool", script_line);
        make_program("home/u/other/tool", loader);
        make_program("home/u/plain/bin/linked", loader);
        assert_int_equal(link(at("home/u/plain/bin/linked"), at("home/u/plain/bin/another-name")), 0);
}

static int make_world(void **state)
{
        static const char *const files[] = { "home/u/.ssh/id",
                                             "home/u/.aws/credentials",
                                             "home/u/.netrc",
                                             "home/u/.bashrc",
                                             "home/u/.claude/settings.json",
                                             "home/u/.codex/auth.json",
                                             "home/u/.cargo/bin/cargo",
                                             "home/u/.cache/abatis/inside/x",
                                             "home/u/.local/bin/tool",
                                             "home/u/.local/state/abatis/claude-code/x",
                                             "home/u/.local/state/abatis/codex/x",
                                             "home/u/project/.git/HEAD",
                                             "home/u/project/.git/config",
                                             "home/u/project/.git/hooks/pre-commit",
                                             "home/u/project/src/main.c",
                                             "home/u/plain/a/b/secret/x",
                                             "home/u/plain/a/b/key.pem",
                                             "home/u/plain/a/docs/x",
                                             "home/u/other/kept/x",
                                             "home/u/other/secret",
                                             "home/u/elsewhere/inside/x",
                                             "home/u/main/.git/config",
                                             "home/u/main/.git/hooks/x",
                                             "home/u/main/.git/worktrees/wt/commondir",
                                             "agent/data/x",
                                             "agent/config.toml",
                                             "outside.toml",
                                             "usr/lib/libx.so",
                                             "usr/lib/secret",
                                             "etc/passwd" };
        char template[] = "/tmp/abatis-golden.XXXXXX", text[512];
        static const char *const tmp_dirs[] = { "ws", "ws/secret", "shown", "hidden" };

        if (scratch_setup(state))
                return -1;
        for (size_t i = 0; i < COUNT(files); i++)
                make_file(files[i], "");
        make_link("bin", "usr/bin");
        make_programs();
        make_link("home/u/plain/link", "a/docs");
        make_link("home/u/fixed", "other/secret");
        snprintf(text, sizeof(text), "gitdir: %s\n", at("home/u/main/.git/worktrees/wt"));
        make_file("home/u/worktree/.git", text);
        snprintf(text, sizeof(text), "%s\n", at("home/u/worktree/.git"));
        make_file("home/u/main/.git/worktrees/wt/gitdir", text);
        setenv("HOME", at("home/u"), 1);
        if (!mkdtemp(template))
                return -1;
        tmp_root = realpath(template, NULL);
        for (size_t i = 0; tmp_root && i < COUNT(tmp_dirs); i++) {
                snprintf(text, sizeof(text), "%s/%s", tmp_root, tmp_dirs[i]);
                if (mkdir(text, 0755) < 0)
                        return -1;
        }
        return tmp_root ? 0 : -1;
}

static int remove_world(void **state)
{
        static const char *const tmp_dirs[] = { "hidden", "shown", "ws/secret", "ws", "." };
        char path[512];

        for (size_t i = 0; tmp_root && i < COUNT(tmp_dirs); i++) {
                snprintf(path, sizeof(path), "%s/%s", tmp_root, tmp_dirs[i]);
                if (strcmp(tmp_dirs[i], ".") != 0)
                        rmdir(path);
        }
        if (tmp_root)
                rmdir(tmp_root);
        free(tmp_root);
        return scratch_teardown(state);
}

/* ---- plans ---------------------------------------------------------------------------------------------- */

/* What a preset says of the machine this runs on would differ from one to the next: only rules about the scratch tree
 * stay, and a few stand for the system. */
static void make_independent(abatis_policy *policy)
{
        size_t kept = 0;

        for (size_t i = 0; i < policy->rule_count; i++) {
                struct rule *rule = &policy->rules[i];

                if (path_is_below(rule->path, at("%s", "")) || path_is_below(rule->path, tmp_root)) {
                        policy->rules[kept++] = *rule;
                        continue;
                }
                free(rule->path);
                path_facts_done(&rule->facts);
        }
        policy->rule_count = kept;
}

static void add_stand_in(abatis_policy *policy, enum rule_kind kind, const char *relative)
{
        assert_int_equal(policy_add_rule(policy, kind, at("%s", relative), "preset stand-in", NULL), 0);
}

static void apply_settings(abatis_policy *policy, const struct wish *wish)
{
        for (size_t i = 0; i < COUNT(wish->settings) && wish->settings[i][0]; i++) {
                const char *value = wish->settings[i][1];

                set(policy, wish->settings[i][0], *value == '@' ? place(value + 1) : value);
        }
}

/* Where this machine keeps its libraries is no matter of the policy either. */
static void resolve_commands(abatis_policy *policy)
{
        struct strings *libraries = &policy->libraries;
        abatis_error err;
        size_t kept = 0;

        if (commands_resolve(policy, &err) < 0)
                fail_msg("%s", err.message);
        for (size_t i = 0; i < libraries->count; i++)
                if (path_is_below(libraries->items[i], at("%s", "")))
                        libraries->items[kept++] = libraries->items[i];
                else
                        free(libraries->items[i]);
        libraries->count = kept;
}

static abatis_policy *make_policy(const struct wish *wish)
{
        abatis_policy *policy;
        char workspace[512];

        snprintf(workspace, sizeof(workspace), "%s", place(wish->workspace));
        policy = new_policy_with(wish->preset, workspace, wish->data ? place(wish->data) : NULL,
                                 wish->config ? place(wish->config) : NULL);
        make_independent(policy);
        if (!strcmp(wish->preset, "strict")) {
                add_stand_in(policy, RULE_EXECUTE, "usr");
                add_stand_in(policy, RULE_EXECUTE, "bin");
                add_stand_in(policy, RULE_EXECUTE, "etc");
        }
        if (!strcmp(wish->preset, "guard")) {
                add_stand_in(policy, RULE_WRITE, "home");
                add_stand_in(policy, RULE_WRITE, "agent");
                add_stand_in(policy, RULE_PROTECT, "bin");
                add_stand_in(policy, RULE_PROTECT, "etc");
        }
        apply_settings(policy, wish);
        resolve_commands(policy);
        assert_int_equal(sockets_resolve(policy, NULL), 0);
        /* Or what this machine has in /run would be added. */
        policy->is_finished = true;
        return policy;
}

static const struct backend *backend_of(const abatis_host *host)
{
        return host->system == SYSTEM_MACOS ? &backend_seatbelt : &backend_native;
}

/* The merged policy and its plan, or the error and the plan that --best-effort would give. */
static char *describe(const struct wish *wish, const abatis_host *host)
{
        abatis_policy *policy = make_policy(wish);
        const struct backend *backend = backend_of(host);
        struct plan *plan = plan_new(policy, backend->kind);
        struct text text = { 0 };
        char *printed = NULL, *whole = NULL;
        abatis_error err;
        int r;

        assert_int_equal(abatis_policy_print(policy, ABATIS_TEXT, &printed, &err), 0);
        text_addf(&text, "%s\n", printed);
        free(printed);
        backend->compile(policy, host, plan);
        r = plan_check(plan, false, &err);
        if (r < 0)
                text_addf(&text, "abatis: %s\n\nwith --best-effort:\n", err.message);
        assert_int_equal(plan_check(plan, true, &err), 0);
        assert_int_equal(plan_print(plan, policy, host, ABATIS_TEXT, &printed, &err), 0);
        text_add(&text, printed);
        free(printed);
        plan_free(plan);
        abatis_policy_free(policy);
        assert_int_equal(text_take(&text, &whole, &err), 0);
        return whole;
}

/* As the regular expressions of a profile have a path: both cases of every letter. */
static char *in_any_case(const char *path)
{
        struct text text = { 0 };
        char *whole = NULL;

        for (; *path; path++)
                if ((*path | 0x20) >= 'a' && (*path | 0x20) <= 'z')
                        text_addf(&text, "[%c%c]", *path | 0x20, *path & ~0x20);
                else
                        text_addf(&text, *path == '.' ? "\\\\%c" : "%c", *path);
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

/* The same text with the scratch directories' names replaced by fixed ones; frees the old. */
static char *normalise(char *text)
{
        char *cases = in_any_case(at("%s", ""));
        const char *roots[][2] = { { at("%s", ""), "@ROOT@" },
                                   { tmp_root, "/tmp/@TMP@" },
                                   { cases, "@ROOT IN ANY CASE@" } };

        for (size_t i = 0; i < COUNT(roots); i++) {
                struct text replaced = { 0 };
                char *from = text, *found;

                while ((found = strstr(from, roots[i][0]))) {
                        text_add_bytes(&replaced, from, (size_t)(found - from));
                        text_add(&replaced, roots[i][1]);
                        from = found + strlen(roots[i][0]);
                }
                text_add(&replaced, from);
                free(text);
                assert_int_equal(text_take(&replaced, &text, NULL), 0);
        }
        free(cases);
        return text;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static const char *golden_directory(void)
{
        const char *directory = getenv("GOLDEN_DIR");

        return directory ? directory : GOLDEN_DIR;
}

static void file_name(char *out, size_t size, const struct machine *machine, const struct wish *wish)
{
        snprintf(out, size, "%s.%s.txt", machine->name, wish->name);
}

static char *read_whole(const char *path)
{
        struct text text = { 0 };
        char buffer[4096], *whole = NULL;
        FILE *file = fopen(path, "re");
        size_t got;

        if (!file)
                return NULL;
        while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
                text_add_bytes(&text, buffer, got);
        fclose(file);
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        return whole;
}

static void write_whole(const char *path, const char *text)
{
        FILE *file = fopen(path, "we");

        if (!file)
                fail_msg("cannot write '%s'", path);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
}

/* Says in which line two texts part. */
static void report_difference(const char *expected, const char *actual)
{
        unsigned line = 1;

        while (*expected && *expected == *actual) {
                const char *end = strchr(expected, '\n');
                size_t length = end ? (size_t)(end - expected) + 1 : strlen(expected);

                if (strncmp(expected, actual, length) != 0)
                        break;
                expected += length;
                actual += length;
                line++;
        }
        print_error("line %u\n  expected: %.*s\n  is:       %.*s\n", line, (int)strcspn(expected, "\n"),
                    expected, (int)strcspn(actual, "\n"), actual);
}

struct pairing {
        const struct machine *machine;
        const struct wish *wish;
};

static void plan_is_as_committed(void **state)
{
        const struct pairing *pairing = *state;
        char name[128], path[1024], *text, *golden;

        file_name(name, sizeof(name), pairing->machine, pairing->wish);
        snprintf(path, sizeof(path), "%s/%s", golden_directory(), name);
        text = normalise(describe(pairing->wish, &pairing->machine->host));
        if (getenv("UPDATE_GOLDEN"))
                write_whole(path, text);
        golden = read_whole(path);
        if (!golden)
                fail_msg("no file '%s'; UPDATE_GOLDEN=1 writes it", path);
        if (strcmp(golden, text) != 0) {
                report_difference(golden, text);
                fail_msg("'%s' differs", name);
        }
        free(golden);
        free(text);
}

static bool is_applicable(const struct machine *machine, const struct wish *wish)
{
        /* A cgroup makes a difference to limits only. */
        if (machine->host.cgroup.has_memory && strncmp(wish->name, "limits", 6) != 0)
                return false;
        return !wish->machine || !strcmp(wish->machine, machine->name);
}

/* A file that no case writes any more would be believed and never checked. */
static void every_golden_file_belongs_to_a_case(void **state)
{
        DIR *directory = opendir(golden_directory());
        struct dirent *entry;

        (void)state;
        assert_non_null(directory);
        while ((entry = readdir(directory))) {
                const char *end = strrchr(entry->d_name, '.');
                bool is_known = !end || strcmp(end, ".txt") != 0;

                for (size_t i = 0; i < COUNT(machines) && !is_known; i++)
                        for (size_t j = 0; j < COUNT(wishes) && !is_known; j++) {
                                char name[128];

                                file_name(name, sizeof(name), &machines[i], &wishes[j]);
                                is_known = is_applicable(&machines[i], &wishes[j]) &&
                                           !strcmp(name, entry->d_name);
                        }
                if (!is_known)
                        fail_msg("'%s' belongs to no case", entry->d_name);
        }
        closedir(directory);
}

int main(void)
{
        static struct CMUnitTest tests[COUNT(machines) * COUNT(wishes) + 1];
        static struct pairing pairings[COUNT(tests)];
        static char names[COUNT(tests)][128];
        size_t count = 0;

        for (size_t i = 0; i < COUNT(machines); i++)
                for (size_t j = 0; j < COUNT(wishes); j++) {
                        if (!is_applicable(&machines[i], &wishes[j]))
                                continue;
                        pairings[count] = (struct pairing){ &machines[i], &wishes[j] };
                        snprintf(names[count], sizeof(names[count]), "plan_of_%s_on_%s", wishes[j].name,
                                 machines[i].name);
                        tests[count] = (struct CMUnitTest){ .name = names[count],
                                                            .test_func = plan_is_as_committed,
                                                            .initial_state = &pairings[count] };
                        count++;
                }
        tests[count++] = (struct CMUnitTest)cmocka_unit_test(every_golden_file_belongs_to_a_case);
        return _cmocka_run_group_tests("golden", tests, count, make_world, remove_world);
}
