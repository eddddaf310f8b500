/* golden.c: compiles fixed policies for fixed hosts and compares the printed plans with the files in plans/.
 *
 * The hosts are files too, in hosts/. Each policy is compiled by every backend of the host's system; what is refused is kept with its reason. And
 * HOST.auto.txt says which backend each policy would get there. A plan that is meant to change is written again with UPDATE_GOLDEN=1, and the difference is part of the review. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "cases.h"
#include "hosts.h"
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

static void add_plan(struct text *text, const struct plan *plan, const abatis_policy *policy,
                     const abatis_host *host)
{
        char *printed = NULL;
        abatis_error err;

        assert_int_equal(plan_print(plan, policy, host, ABATIS_TEXT, &printed, &err), 0);
        text_add(text, printed);
        free(printed);
}

/* The merged policy and its plan, or the error and the plan that --best-effort would give; or the error alone, where there is no plan. */
static char *describe(const struct wish *wish, enum backend_kind backend, const abatis_host *host)
{
        abatis_policy *policy = make_policy(wish);
        struct plan *plan = NULL;
        struct text text = { 0 };
        char *printed = NULL, *whole = NULL;
        abatis_error err, less;
        int r;

        assert_int_equal(abatis_policy_print(policy, ABATIS_TEXT, &printed, &err), 0);
        policy->backend = backend;
        r = backend_compile(policy, host, false, &plan, &err);
        if (r < 0)
                backend_compile(policy, host, true, &plan, &less);
        if (plan)
                text_addf(&text, "%s\n", printed);
        if (r < 0)
                text_addf(&text, "abatis: %s\n", err.message);
        if (r < 0 && plan)
                text_add(&text, "\nwith --best-effort:\n");
        if (plan)
                add_plan(&text, plan, policy, host);
        free(printed);
        plan_free(plan);
        abatis_policy_free(policy);
        assert_int_equal(text_take(&text, &whole, &err), 0);
        return whole;
}

/* Which backend it gets when nobody names one; if none holds it, why, and what would be left out. */
static void add_choice(struct text *text, const struct wish *wish, const abatis_host *host)
{
        abatis_policy *policy = make_policy(wish);
        struct plan *plan = NULL;
        abatis_error err;

        if (!backend_compile(policy, host, false, &plan, &err)) {
                text_addf(text, "%s: %s\n", wish->name, backend_names[plan->backend]);
        } else {
                text_addf(text, "%s: refused: %s\n", wish->name, err.message);
                if (!backend_compile(policy, host, true, &plan, &err))
                        text_addf(text, "  with --best-effort: %s, without\n", backend_names[plan->backend]);
        }
        for (size_t i = 0; plan && i < plan->clause_count; i++)
                if (!plan_is_held(plan, i))
                        text_addf(text, "    %s\n", plan->clauses[i].name);
        plan_free(plan);
        abatis_policy_free(policy);
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

/* Takes the text. */
static void is_as_committed(const char *name, char *text)
{
        char path[1024], *golden;

        snprintf(path, sizeof(path), "%s/plans/%s", golden_directory(), name);
        text = normalise(text);
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

/* ---- cases ---------------------------------------------------------------------------------------------- */

/* One file: what a backend makes of a wish on a machine; or, without a wish, what is chosen there. */
struct pairing {
        const struct machine *machine;
        const struct wish *wish;
        enum backend_kind backend;
        char file[128], name[128];
};

static struct machine *machines;
static size_t machine_count;
static struct pairing *pairings;
static size_t pairing_count;

static bool has_cgroup(const struct machine *machine)
{
        return machine->host.cgroup.has_memory;
}

static bool is_limits(const struct wish *wish)
{
        return !strncmp(wish->name, "limits", strlen("limits"));
}

static bool is_preset(const struct wish *wish)
{
        return !wish->machine && !wish->settings[0][0];
}

/* A cgroup makes a difference to limits only; the backend none makes one plan of everything; what is of one machine is about the backend that it is
 * known by. */
static bool is_applicable(const struct machine *machine, const struct wish *wish, enum backend_kind backend)
{
        if (has_cgroup(machine) && !is_limits(wish))
                return false;
        if (backend == BACKEND_NONE)
                return is_preset(wish);
        if (wish->machine)
                return !strcmp(wish->machine, machine->name) && backend == BACKEND_NATIVE;
        return true;
}

static bool belongs_to(enum backend_kind backend, enum host_system system)
{
        switch (backend) {
        case BACKEND_NATIVE:
        case BACKEND_BWRAP:
                return system == SYSTEM_LINUX;
        case BACKEND_SEATBELT:
                return system == SYSTEM_MACOS;
        case BACKEND_APPCONTAINER:
                return system == SYSTEM_WINDOWS;
        case BACKEND_NONE:
                return true;
        case BACKEND_AUTO:
        case BACKEND_COUNT:
                break;
        }
        return false;
}

static void add_pairing(const struct machine *machine, const struct wish *wish, enum backend_kind backend)
{
        struct pairing *pairing = &pairings[pairing_count++];

        *pairing = (struct pairing){ machine, wish, backend, "", "" };
        if (wish)
                snprintf(pairing->file, sizeof(pairing->file), "%s.%s.%s.txt", machine->name,
                         backend_names[backend], wish->name);
        else
                snprintf(pairing->file, sizeof(pairing->file), "%s.auto.txt", machine->name);
        snprintf(pairing->name, sizeof(pairing->name), "%s_%s_of_%s", machine->name, backend_names[backend],
                 wish ? wish->name : "all");
}

static void list_pairings(void)
{
        pairings = calloc(machine_count * (COUNT(wishes) * BACKEND_COUNT + 1), sizeof(*pairings));
        if (!pairings)
                abort();
        for (size_t i = 0; i < machine_count; i++) {
                const struct machine *machine = &machines[i];

                if (!has_cgroup(machine))
                        add_pairing(machine, NULL, BACKEND_AUTO);
                for (size_t j = 0; j < COUNT(wishes); j++)
                        for (int backend = 0; backend < BACKEND_COUNT; backend++)
                                if (belongs_to((enum backend_kind)backend, machine->host.system) &&
                                    is_applicable(machine, &wishes[j], (enum backend_kind)backend))
                                        add_pairing(machine, &wishes[j], (enum backend_kind)backend);
        }
}

/* ---- for the table in the README ----------------------------------------------------------------------- */

static FILE *verified; /* NULL: nobody wants it */

/* What doctor --test calls it, if that has such a row. */
static const char *label_of(const struct wish *wish, const struct clause *clause, char *out, size_t size)
{
        size_t key = strcspn(clause->name, " ");

        if (clause->kind == CLAUSE_DENY && strchr(clause->name, '*'))
                return "filesystem.deny of a pattern";
        if (clause->kind == CLAUSE_DENY && strstr(clause->name, "/later/"))
                return "filesystem.deny of what is absent";
        if (clause->kind == CLAUSE_PRIVACY &&
            (!strcmp(wish->preset, "strict") || !strcmp(wish->preset, "skill")))
                return "process.privacy, names too";
        if (clause->kind == CLAUSE_NETWORK || clause->kind == CLAUSE_TMP || clause->kind == CLAUSE_ABSTRACT)
                return clause->name;
        snprintf(out, size, "%.*s", (int)key, clause->name);
        return out;
}

/* What cannot run here is at least compiled. */
static void verify(const struct wish *wish, enum backend_kind backend, const abatis_host *host)
{
        abatis_policy *policy;
        struct plan *plan = NULL;
        char label[64];

        if (!verified || host->system == SYSTEM_LINUX || backend == BACKEND_NONE)
                return;
        policy = make_policy(wish);
        policy->backend = backend;
        backend_compile(policy, host, true, &plan, NULL);
        for (size_t i = 0; plan && i < plan->clause_count; i++)
                fprintf(verified, "%s\t%s\t%s\tcompiled\n",
                        label_of(wish, &plan->clauses[i], label, sizeof(label)), backend_names[backend],
                        plan_is_held(plan, i) ? "held" : "refused");
        plan_free(plan);
        abatis_policy_free(policy);
}

static void plan_is_as_committed(void **state)
{
        const struct pairing *pairing = *state;

        is_as_committed(pairing->file, describe(pairing->wish, pairing->backend, &pairing->machine->host));
        verify(pairing->wish, pairing->backend, &pairing->machine->host);
}

static void choices_are_as_committed(void **state)
{
        const struct pairing *pairing = *state;
        struct text text = { 0 };
        char *whole = NULL;

        for (size_t i = 0; i < COUNT(wishes); i++)
                if (!wishes[i].machine)
                        add_choice(&text, &wishes[i], &pairing->machine->host);
        assert_int_equal(text_take(&text, &whole, NULL), 0);
        is_as_committed(pairing->file, whole);
}

/* A file that no case writes any more would be believed and never checked. */
static void every_golden_file_belongs_to_a_case(void **state)
{
        char path[1024];
        struct dirent *entry;
        DIR *directory;

        (void)state;
        snprintf(path, sizeof(path), "%s/plans", golden_directory());
        directory = opendir(path);
        assert_non_null(directory);
        while ((entry = readdir(directory))) {
                bool is_known = *entry->d_name == '.';

                for (size_t i = 0; i < pairing_count && !is_known; i++)
                        is_known = !strcmp(pairings[i].file, entry->d_name);
                if (!is_known)
                        fail_msg("'%s' belongs to no case", entry->d_name);
        }
        closedir(directory);
}

static void a_description_that_is_wrong_is_an_error(void **state)
{
        static const struct {
                const char *text, *problem;
        } wrong[] = {
                { "kernel: 6.1\nlandlock: 2\n", "line 2 has a key that no host has: 'landlock: 2'" },
                { "uid: 1\nuid: 2", "line 2 has a key that was there before: 'uid: 2'" },
                { "uid: many\n", "line 1 has a wrong value: 'uid: many'" },
                { "uid: 99999999999\n", "line 1 has a wrong value: 'uid: 99999999999'" },
                { "has_broker: true\n", "line 1 has a wrong value: 'has_broker: true'" },
                { "system: plan9\n", "line 1 has a wrong value: 'system: plan9'" },
                { "# a machine\n\nuid 4\n", "line 3 is not 'key: value': 'uid 4'" },
        };
        abatis_host host = { .uid = 7 };
        char problem[256];

        (void)state;
        for (size_t i = 0; i < COUNT(wrong); i++) {
                assert_false(host_read(wrong[i].text, &host, problem, sizeof(problem)));
                assert_string_equal(problem, wrong[i].problem);
                assert_int_equal(host.uid, 7);
        }
        assert_true(host_read("# a machine\n\nsystem: windows\nuid: 4\nbwrap.minor: 8\ncgroup.has_pids: yes",
                              &host, problem, sizeof(problem)));
        assert_true(host.system == SYSTEM_WINDOWS && host.uid == 4 && host.bwrap.minor == 8 &&
                    host.cgroup.has_pids);
}

int main(void)
{
        static const struct CMUnitTest others[] = {
                cmocka_unit_test(every_golden_file_belongs_to_a_case),
                cmocka_unit_test(a_description_that_is_wrong_is_an_error),
        };
        struct CMUnitTest *tests;
        char directory[1024];
        int failed;

        snprintf(directory, sizeof(directory), "%s/hosts", golden_directory());
        machines = hosts_read_all(directory, &machine_count);
        verified = getenv("VERIFIED") ? fopen(getenv("VERIFIED"), "we") : NULL;
        if (verified)
                fprintf(verified, "# plans of test/golden\n");
        list_pairings();
        tests = calloc(pairing_count + COUNT(others), sizeof(*tests));
        if (!tests)
                return 1;
        for (size_t i = 0; i < pairing_count; i++)
                tests[i] = (struct CMUnitTest){ .name = pairings[i].name,
                                                .test_func = pairings[i].wish ? plan_is_as_committed
                                                                              : choices_are_as_committed,
                                                .initial_state = &pairings[i] };
        memcpy(&tests[pairing_count], others, sizeof(others));
        failed = _cmocka_run_group_tests("golden", tests, pairing_count + COUNT(others), make_world,
                                         remove_world);
        if (verified)
                fclose(verified);
        free(tests);
        free(pairings);
        free(machines);
        return failed;
}
