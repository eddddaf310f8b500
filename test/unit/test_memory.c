/* test_memory.c: lets every single allocation of the policy and plan code fail, one after the other.
 *
 * Each time the call must fail, or give the very result it gives with enough memory: never a weaker one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/program.h"
#include "plan/host.h"
#include "policies.h"
#include "policy/document.h"
#include "shortage.h"

/* ---- one run of everything ------------------------------------------------------------------------------ */

static const abatis_host host = { .kernel = "6.18.0",
                                  .machine = "aarch64",
                                  .uid = 1000,
                                  .gid = 1000,
                                  .landlock_abi = 7,
                                  .has_mount_setattr = true,
                                  .namespaces = NAMESPACES_USER };

/* Made before anything may fail. */
static struct {
        const char *workspace, *data, *config, *denied, *protected, *link, *asked, *listed;
} paths;

/* From nothing to a printed plan; *out is owned by the caller on success. */
static int make_and_explain(const char *preset, abatis_format format, char **out, abatis_error *err)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .preset = preset,
                                                .workspace = paths.workspace,
                                                .data = paths.data,
                                                .config = paths.config };
        const abatis_sandbox_options sandbox = { .size = sizeof(sandbox) };
        abatis_policy *policy;
        int r = abatis_policy_new(&options, &policy, err);

        if (r < 0)
                return r;
        r = abatis_policy_set(policy, "filesystem.deny", paths.denied, err);
        if (!r)
                r = abatis_policy_set(policy, "filesystem.protect", paths.protected, err);
        if (!r)
                r = abatis_policy_set(policy, "filesystem.read", paths.link, err);
        if (!r)
                r = abatis_policy_set(policy, "environment.pass", "CI=1", err);
        if (!r)
                r = abatis_policy_set(policy, "limits.timeout", "1s", err);
        if (!r)
                r = abatis_policy_set(policy, "process.commands", paths.listed, err);
        if (!r)
                r = abatis_explain(policy, &host, &sandbox, format, out, err);
        abatis_policy_free(policy);
        return r;
}

static void make_world(void)
{
        char text[1024];

        make_file("home/.ssh/id", "");
        make_file("home/.config/gh/hosts.yml", "");
        make_dir("agent/data");
        make_file("agent/config.toml", "");
        make_file("outside.toml", "");
        make_file("ws/a/secret", "");
        make_link("link", "home");
        make_file("main/.git/config", "");
        make_dir("main/.git/hooks");
        snprintf(text, sizeof(text), "%s\n", at("ws/.git"));
        make_file("main/.git/worktrees/ws/gitdir", text);
        make_file("main/.git/worktrees/ws/commondir", "../..\n");
        snprintf(text, sizeof(text), "gitdir: %s\n", at("main/.git/worktrees/ws"));
        make_file("ws/.git", text);
        paths.workspace = at("ws");
        paths.data = at("agent");
        paths.config = at("outside.toml");
        paths.denied = at("ws/a/secret");
        paths.protected = at("ws/a");
        paths.link = at("link");
        paths.asked = at("link/.ssh/id");
        paths.listed = make_script("ws/script", "#!/usr/bin/env sh\n");
}

static void assert_survives_every_failure(const char *preset, abatis_format format)
{
        char *complete = NULL;
        long failures = 0, weaker = 0;

        make_world();
        if (!strcmp(preset, "guard"))
                paths.link = at("home"); /* where everything is writable, a link could be anybody's */
        assert_int_equal(make_and_explain(preset, format, &complete, NULL), 0);
        for (long n = 1;; n++) {
                char untouched, *text = &untouched;
                abatis_error err = { .message = "" };
                int r;

                has_failed = false;
                countdown = n;
                r = make_and_explain(preset, format, &text, &err);
                countdown = 0;
                if (!has_failed) {
                        assert_int_equal(r, 0);
                        free(text);
                        break; /* everything was tried */
                }
                failures++;
                if (r < 0) {
                        assert_ptr_equal(text, &untouched);
                        assert_int_equal(err.code, r);
                        assert_true(*err.message);
                } else {
                        if (strcmp(text, complete) != 0 && ++weaker <= 10 && format == ABATIS_TEXT)
                                print_error("preset %s changes without allocation %ld\n", preset, n);
                        free(text);
                }
        }
        free(complete);
        assert_true(failures > 50);
        /* jansson's containers drop what they cannot hold: a shorter report, but the same sandbox. */
        if (format == ABATIS_TEXT)
                assert_int_equal(weaker, 0);
}

static void dev_is_never_weaker_for_lack_of_memory(void **state)
{
        (void)state;
        assert_survives_every_failure("dev", ABATIS_TEXT);
}

static void tool_is_never_weaker_for_lack_of_memory(void **state)
{
        (void)state;
        assert_survives_every_failure("tool", ABATIS_TEXT);
}

static void strict_is_never_weaker_for_lack_of_memory(void **state)
{
        (void)state;
        assert_survives_every_failure("strict", ABATIS_TEXT);
}

static void guard_is_never_weaker_for_lack_of_memory(void **state)
{
        (void)state;
        assert_survives_every_failure("guard", ABATIS_TEXT);
}

static void printing_json_survives_every_failed_allocation(void **state)
{
        (void)state;
        json_set_alloc_funcs(__wrap_malloc, free);
        assert_survives_every_failure("dev", ABATIS_JSON);
        json_set_alloc_funcs(malloc, free);
}

/* ---- smaller questions ---------------------------------------------------------------------------------- */

static void a_check_answers_right_or_not_at_all(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_world();
        policy = new_policy("dev");
        for (long n = 1;; n++) {
                abatis_error err = { 0 };
                char *rule = NULL;
                int allowed = 1, r;

                has_failed = false;
                countdown = n;
                r = abatis_policy_check(policy, ABATIS_READ, paths.asked, &allowed, &rule, &err);
                countdown = 0;
                if (!r)
                        assert_false(allowed);
                else
                        assert_true(has_failed);
                free(rule);
                if (!has_failed)
                        break;
        }
        abatis_policy_free(policy);
}

/* With a link in its beginning, so that it is compiled twice. */
static void a_pattern_is_there_or_memory_is_short(void **state)
{
        char pattern[1024];

        (void)state;
        make_world();
        snprintf(pattern, sizeof(pattern), "%s/.s*", paths.link);
        for (long n = 1;; n++) {
                abatis_policy *policy = new_policy("guard");
                size_t before = policy->rule_count;
                int r;

                has_failed = false;
                countdown = n;
                r = abatis_policy_set(policy, "filesystem.deny_glob", pattern, NULL);
                countdown = 0;
                assert_int_equal(r < 0, has_failed);
                assert_int_equal(policy->rule_count, before + !r);
                if (!r)
                        assert_false(may(policy, ABATIS_READ, at("home/.ssh/id")));
                abatis_policy_free(policy);
                if (!has_failed)
                        break;
        }
}

/* Both questions, about an open path and a blocked one, each behind a link. */
static void a_blocked_path_is_never_open_for_lack_of_memory(void **state)
{
        (void)state;
        make_world();
        make_link("to-data", "agent/data");
        for (int i = 0; i < 4; i++) {
                bool is_blocked = i & 1, writes = i & 2;
                const char *path = is_blocked ? at("to-data/x") : paths.asked;
                long failures = 0;

                for (long n = 1; failures == n - 1; n++) {
                        int answer;

                        has_failed = false;
                        countdown = n;
                        answer = writes ? abatis_is_write_blocked(path, paths.data)
                                        : abatis_is_read_blocked(path, paths.data, paths.config);
                        countdown = 0;
                        failures += has_failed;
                        assert_int_equal(answer, is_blocked || has_failed);
                }
                assert_true(failures > 5);
        }
}

static void a_program_is_found_or_memory_is_short(void **state)
{
        static const char *const envp[] = { "PATH=/nowhere:/usr/bin:/bin", NULL };
        const struct program_search search = { .envp = envp, .directory = "/" };

        (void)state;
        for (long n = 1;; n++) {
                char *found = NULL;
                int r;

                has_failed = false;
                countdown = n;
                r = program_find("sh", &search, &found, NULL);
                countdown = 0;
                assert_int_equal(r, has_failed ? ABATIS_E_MEMORY : 0);
                free(found);
                if (!has_failed)
                        break;
        }
}

static void arguments_are_refused_or_memory_is_short(void **state)
{
        const char *const argv[] = { "cat", "--file=~/.ssh/id", NULL };
        abatis_policy *policy;

        (void)state;
        make_world();
        policy = new_policy("dev");
        set(policy, "process.check_arguments", "true");
        for (long n = 1;; n++) {
                int r;

                has_failed = false;
                countdown = n;
                r = arguments_check(policy, argv, paths.workspace, NULL);
                countdown = 0;
                assert_int_equal(r, has_failed ? ABATIS_E_MEMORY : ABATIS_E_INVALID);
                if (!has_failed)
                        break;
        }
        abatis_policy_free(policy);
}

static void a_toml_document_is_read_whole_or_memory_is_short(void **state)
{
        static const char text[] = "a.\"b\" = [1, -2.5, \"x\", 'y', 2024-01-02 03:04:05, { c = true }]\n"
                                   "[t.u]\n[[l.m]]\n[[l.m]]\nk0=0\nk1=0\nk2=0\nk3=0\nk4=0\nk5=0\nk6=0\nk7=0\n"
                                   "k8=0\nk9=0\nk10=0\nk11=0\nk12=0\nk13=0\nk14=0\nk15=0\nk16=0\nk17=0\n";
        long failures = 0;

        (void)state;
        for (long n = 1;; n++) {
                struct node untouched, *root = &untouched;
                abatis_error err = { 0 };
                int r;

                has_failed = false;
                countdown = n;
                r = document_parse(DOCUMENT_TOML, "f", text, sizeof(text) - 1, &root, &err);
                countdown = 0;
                assert_int_equal(r, has_failed ? ABATIS_E_MEMORY : 0);
                assert_int_equal(err.code, r);
                if (!has_failed) {
                        node_free(root);
                        break;
                }
                assert_ptr_equal(root, &untouched);
                failures++;
        }
        assert_true(failures > 100);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(dev_is_never_weaker_for_lack_of_memory),
                POLICY_TEST(tool_is_never_weaker_for_lack_of_memory),
                POLICY_TEST(strict_is_never_weaker_for_lack_of_memory),
                POLICY_TEST(guard_is_never_weaker_for_lack_of_memory),
                POLICY_TEST(printing_json_survives_every_failed_allocation),
                POLICY_TEST(a_check_answers_right_or_not_at_all),
                POLICY_TEST(a_pattern_is_there_or_memory_is_short),
                POLICY_TEST(arguments_are_refused_or_memory_is_short),
                POLICY_TEST(a_blocked_path_is_never_open_for_lack_of_memory),
                cmocka_unit_test(a_program_is_found_or_memory_is_short),
                cmocka_unit_test(a_toml_document_is_read_whole_or_memory_is_short),
        };

        return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
