/* test_policy.c: what a policy begins with, its keys, and what contradicts itself. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

/* ---- options -------------------------------------------------------------------------------------------- */

static void options_without_their_size_are_refused(void **state)
{
        abatis_policy_options options = { 0 };
        abatis_policy *policy = NULL;

        (void)state;
        assert_int_equal(abatis_policy_new(&options, &policy, NULL), ABATIS_E_INVALID);
        assert_int_equal(abatis_policy_new(NULL, &policy, NULL), ABATIS_E_INVALID);
        options.size = sizeof(options) - 1;
        assert_int_equal(abatis_policy_new(&options, &policy, NULL), ABATIS_E_INVALID);
        assert_null(policy);
        abatis_policy_free(NULL);
}

static void a_workspace_that_is_no_directory_is_refused_by_name(void **state)
{
        (void)state;
        make_file("file", "");
        make_link("loop", "loop");
        assert_int_equal(refused_policy("dev", at("no"), NULL, NULL), ABATIS_E_SYSTEM);
        assert_non_null(strstr(refused_message, at("no")));
        assert_int_equal(refused_policy("dev", at("file"), NULL, NULL), ABATIS_E_INVALID);
        assert_non_null(strstr(refused_message, at("file")));
        assert_int_equal(refused_policy("dev", at("loop"), NULL, NULL), ABATIS_E_SYSTEM);
        assert_true(refused_policy("dev", "", NULL, NULL) < 0);
        assert_int_equal(refused_policy("tool", "/", NULL, NULL), ABATIS_E_INVALID);
        assert_int_equal(refused_policy("strict", "//", NULL, NULL), ABATIS_E_INVALID);
}

static void the_workspace_is_resolved_before_it_becomes_a_rule(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_link("short", "ws");
        policy = new_policy_with("dev", at("short"), NULL, NULL);
        assert_string_equal(policy->workspace, at("ws"));
        assert_non_null(rule_for(policy, RULE_WRITE, at("ws")));
        assert_null(rule_for(policy, RULE_WRITE, at("short")));
        assert_true(check_says(policy, ABATIS_WRITE, at("short/x")));
        abatis_policy_free(policy);
}

static void the_workspace_defaults_to_the_working_directory(void **state)
{
        char *before = getcwd(NULL, 0);
        abatis_policy *policy;

        (void)state;
        assert_int_equal(chdir(at("ws")), 0);
        policy = new_policy_with(NULL, NULL, NULL, NULL);
        assert_string_equal(policy->workspace, at("ws"));
        assert_string_equal(policy->preset, "dev");
        abatis_policy_free(policy);
        if (before)
                assert_int_equal(chdir(before), 0);
        free(before);
}

/* ---- keys ----------------------------------------------------------------------------------------------- */

static void a_path_that_cannot_be_a_rule_is_refused(void **state)
{
        static const char *const names[] = { "filesystem.read", "filesystem.write", "filesystem.execute",
                                             "filesystem.deny", "filesystem.protect" };
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_link("loop", "loop");
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                assert_set_fails(policy, names[i], "", names[i]);
                assert_set_fails(policy, names[i], "relative", "relative");
                assert_set_fails(policy, names[i], "./x", "./x");
                assert_set_fails(policy, names[i], "~/x", "~/x");
                assert_set_fails(policy, names[i], at("ws/../ws"), "..");
                assert_set_fails(policy, names[i], at("ws\n/../ws"), "..");
                assert_set_fails(policy, names[i], at("loop"), at("loop"));
        }
        abatis_policy_free(policy);
}

static void what_should_be_allowed_must_exist_and_nothing_is_left_of_it(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_set_fails(policy, "filesystem.read", at("no"), at("no"));
        assert_set_fails(policy, "filesystem.write", at("no"), at("no"));
        assert_set_fails(policy, "filesystem.execute", at("no/more"), at("no/more"));
        abatis_policy_free(policy);
}

static void what_opens_too_much_is_refused(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_link("ws/planted", at("home"));
        make_link("ws/inner", at("ws"));
        assert_set_fails(policy, "filesystem.write", "/", "'/'");
        assert_set_fails(policy, "filesystem.write", "/proc/self", "/proc");
        assert_set_fails(policy, "filesystem.read", "/dev/null", "/dev");
        assert_set_fails(policy, "filesystem.write", at("ws/planted"), at("home"));
        set(policy, "filesystem.write", at("ws/inner"));
        abatis_policy_free(policy);
        assert_int_equal(refused_policy("dev", "/proc", NULL, NULL), ABATIS_E_INVALID);
        assert_int_equal(refused_policy("dev", "/dev/shm", NULL, NULL), ABATIS_E_INVALID);
}

static void reading_the_root_is_reading_all(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        assert_false(may(policy, ABATIS_READ, "/var"));
        set(policy, "filesystem.read", "/");
        assert_true(may(policy, ABATIS_READ, "/var"));
        assert_false(may(policy, ABATIS_EXECUTE, "/var"));
        set(policy, "filesystem.execute", "/");
        assert_true(may(policy, ABATIS_EXECUTE, "/var"));
        abatis_policy_free(policy);
}

static void a_failed_write_rule_does_not_change_the_private_tmp(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(abatis_policy_set(policy, "filesystem.write", "/tmp/../tmp", NULL) < 0);
        assert_true(policy->has_private_tmp);
        abatis_policy_free(policy);
}

static void what_is_absent_may_be_denied_or_protected(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        set(policy, "filesystem.deny", at("no"));
        set(policy, "filesystem.protect", at("ws/no/more"));
        assert_int_equal(rule_for(policy, RULE_DENY, at("no"))->facts.kind, PATH_ABSENT);
        assert_int_equal(rule_for(policy, RULE_PROTECT, at("ws/no/more"))->facts.kind, PATH_ABSENT);
        abatis_policy_free(policy);
}

static void unknown_keys_and_values_are_refused_by_name(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_set_fails(policy, "filesystem.reed", at("ws"), "filesystem.reed");
        assert_set_fails(policy, "", "x", "key");
        assert_set_fails(policy, "filesystem", "x", "filesystem");
        assert_set_fails(policy, "network.mode", "open", "open");
        assert_set_fails(policy, "network.mode", "", "deny");
        assert_set_fails(policy, "network.mode", "Deny", "Deny");
        assert_set_fails(policy, "network.connect", "", "network.connect");
        assert_set_fails(policy, "network.connect", "example.org", "HOST:PORT");
        assert_set_fails(policy, "network.connect", "::1:443", "HOST:PORT");
        assert_set_fails(policy, "network.bind", "80\n81", "network.bind");
        assert_set_fails(policy, "network.bind", "x", "not a port");
        assert_set_fails(policy, "network.bind", "65536", "not a port");
        assert_set_fails(policy, "process.commands", "", "process.commands");
        assert_set_fails(policy, "environment.pass", "", "NAME");
        assert_set_fails(policy, "environment.pass", "=x", "NAME");
        assert_set_fails(policy, "limits.timeout", "30", "30");
        assert_set_fails(policy, "limits.timeout", "0s", "zero");
        assert_set_fails(policy, "limits.output", "-1", "-1");
        assert_set_fails(policy, "limits.memory", "99999999TiB", "too large");
        assert_set_fails(policy, "limits.processes", "10K", "10K");
        assert_int_equal(policy->network, NETWORK_DENY);
        for (size_t i = 0; i < LIMIT_COUNT; i++)
                assert_int_equal(policy->limits[i], 0);
        assert_int_equal(policy->connect.count + policy->bind.count + policy->commands.count, 0);
        abatis_policy_free(policy);
}

static abatis_policy *new_policy_of_the_library(const char *file)
{
        const abatis_policy_options options = {
                .size = sizeof(options), .preset = "dev", .workspace = at("ws"), .file = file
        };
        abatis_policy *policy = NULL;
        abatis_error err;

        if (abatis_policy_new(&options, &policy, &err) < 0)
                fail_msg("%s", err.message);
        return policy;
}

static void assert_shown(abatis_policy *policy, const char *line)
{
        abatis_error err;
        char *text;

        assert_int_equal(abatis_policy_print(policy, ABATIS_TEXT, &text, &err), 0);
        assert_non_null(strstr(text, line));
        free(text);
}

static void the_library_has_default_limits(void **state)
{
        abatis_policy *policy = new_policy_of_the_library(NULL);

        (void)state;
        assert_int_equal(abatis_policy_limit(policy, "limits.timeout"), 30000);
        assert_int_equal(abatis_policy_limit(policy, "limits.output"), 1 << 20);
        for (enum limit limit = LIMIT_OUTPUT + 1; limit < LIMIT_COUNT; limit++)
                assert_int_equal(policy->limits[limit], 0);
        assert_false(policy_says_limit(policy, LIMIT_OUTPUT));
        assert_shown(policy, "  timeout: 30s                              # library default\n");
        assert_shown(policy, "  output: 1MiB                              # library default\n");
        set(policy, "limits.output", "1MiB");
        assert_true(policy_says_limit(policy, LIMIT_OUTPUT));
        abatis_policy_free(policy);
        policy = new_policy("dev");
        assert_int_equal(abatis_policy_limit(policy, "limits.timeout"), 0);
        assert_int_equal(abatis_policy_limit(policy, "limits.output"), 0);
        assert_false(policy_says_limit(policy, LIMIT_OUTPUT));
        abatis_policy_free(policy);
}

static void none_is_no_limit(void **state)
{
        abatis_policy *policy = new_policy_of_the_library(
                make_file("p.yaml", "limits: {timeout: none, output: 2MiB, processes: none}"));

        (void)state;
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 0);
        assert_int_equal(policy->limits[LIMIT_OUTPUT], 2 << 20);
        assert_true(policy_says_limit(policy, LIMIT_TIMEOUT));
        set(policy, "limits.output", "none");
        assert_int_equal(policy->limits[LIMIT_OUTPUT], 0);
        assert_shown(policy, "  processes: none ");
        assert_shown(policy, "  timeout: none ");
        assert_shown(policy, "  output: none                              # limits.output\n");
        set(policy, "limits.output", "5KiB");
        assert_int_equal(policy->limits[LIMIT_OUTPUT], 5 << 10);
        abatis_policy_free(policy);
}

static void each_key_lands_where_it_belongs(void **state)
{
        static const struct {
                const char *key, *value;
                enum limit limit;
                uint64_t expected;
        } limits[] = {
                { "limits.timeout", "2s", LIMIT_TIMEOUT, 2000 },
                { "limits.output", "1MiB", LIMIT_OUTPUT, 1 << 20 },
                { "limits.open_files", "64", LIMIT_OPEN_FILES, 64 },
                { "limits.file_size", "1K", LIMIT_FILE_SIZE, 1024 },
                { "limits.processes", "9", LIMIT_PROCESSES, 9 },
                { "limits.memory", "512MiB", LIMIT_MEMORY, 512ull << 20 },
                { "limits.written", "2GiB", LIMIT_WRITTEN, 2ull << 30 },
                { "limits.cpu", "10s", LIMIT_CPU, 10000 },
                { "limits.connections", "3", LIMIT_CONNECTIONS, 3 },
                { "limits.connections_per_second", "4", LIMIT_CONNECTION_RATE, 4 },
                { "limits.traffic", "1GiB", LIMIT_TRAFFIC, 1ull << 30 },
        };
        abatis_policy *policy = new_policy("dev");

        (void)state;
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
                set(policy, limits[i].key, limits[i].value);
                assert_int_equal(policy->limits[limits[i].limit], limits[i].expected);
                assert_string_equal(limit_key(limits[i].limit), limits[i].key);
        }
        for (int mode = NETWORK_DENY; mode <= NETWORK_LIST; mode++) {
                set(policy, "network.mode", network_mode_name((enum network_mode)mode));
                assert_int_equal(policy->network, mode);
        }
        assert_false(policy->passes_any_name);
        set(policy, "network.verify_sni", "false");
        assert_true(policy->passes_any_name);
        set(policy, "network.verify_sni", "true");
        assert_false(policy->passes_any_name);
        assert_false(policy->has_no_loopback);
        set(policy, "network.loopback", "false");
        assert_true(policy->has_no_loopback);
        set(policy, "network.connect", "example.org:443");
        set(policy, "network.bind", "8080");
        set(policy, "network.unix", "/run/x");
        set(policy, "process.commands", "git");
        set(policy, "environment.pass", "CI=1");
        assert_string_equal(policy->connect.items[0], "example.org:443");
        assert_string_equal(policy->bind.items[0], "8080");
        assert_string_equal(policy->unix_sockets.items[0], "/run/x");
        assert_string_equal(policy->commands.items[0], "git");
        assert_string_equal(policy->environment.items[0], "CI=1");
        abatis_policy_free(policy);
}

static void naming_tmp_as_writable_means_the_real_one(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(policy->has_private_tmp);
        set(policy, "filesystem.read", "/tmp");
        set(policy, "filesystem.write", at("ws"));
        assert_true(policy->has_private_tmp);
        set(policy, "filesystem.write", "/tmp/");
        assert_false(policy->has_private_tmp);
        abatis_policy_free(policy);
}

static void four_hundred_rules_with_odd_names_are_kept_literally(void **state)
{
        abatis_policy *policy = new_policy("dev");
        char name[64];

        (void)state;
        for (int i = 0; i < 400; i++) {
                snprintf(name, sizeof(name), "%s/[%d] *?'\"$(x)\\~", "/nowhere", i);
                assert_int_equal(policy_add_rule(policy, RULE_DENY, name, "test", NULL), 0);
        }
        for (int i = 0; i < 400; i++) {
                snprintf(name, sizeof(name), "%s/[%d] *?'\"$(x)\\~", "/nowhere", i);
                assert_non_null(rule_for(policy, RULE_DENY, name));
                assert_false(may(policy, ABATIS_READ, name));
        }
        assert_true(may(policy, ABATIS_READ, "/nowhere/[1] x"));
        abatis_policy_free(policy);
}

/* Whether a rule is left of the second key and path, after the first. */
static bool adds(const char *key, const char *path, const char *later_key, const char *later_path)
{
        abatis_policy *policy = new_policy("dev");
        size_t before;
        bool is_left;

        set(policy, key, path);
        before = policy->rule_count;
        set(policy, later_key, later_path);
        policy_drop_repeated(policy, before);
        is_left = policy->rule_count > before;
        abatis_policy_free(policy);
        return is_left;
}

static void a_rule_is_dropped_when_another_says_as_much(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("a/b");
        make_link("door", "a");
        assert_false(adds("filesystem.deny", at("a"), "filesystem.deny", at("a")));
        assert_false(adds("filesystem.deny", at("a"), "filesystem.deny", at("door/b")));
        assert_false(adds("filesystem.deny", at("a"), "filesystem.protect", at("a/b")));
        assert_false(adds("filesystem.protect", at("a"), "filesystem.protect", at("door")));
        assert_true(adds("filesystem.deny", at("a/b"), "filesystem.deny", at("a")));
        assert_true(adds("filesystem.protect", at("a"), "filesystem.deny", at("a")));
        assert_true(adds("filesystem.read", at("a"), "filesystem.deny", at("a")));
        /* What may turn out to be unenforceable says nothing. */
        assert_true(adds("filesystem.deny_glob", "**/b", "filesystem.protect", at("a/b")));
        assert_true(adds("filesystem.deny", at("a"), "filesystem.deny_glob", "**/b"));
        /* Nor does what holds only for what is there now. */
        policy = new_policy("dev");
        set(policy, "filesystem.deny", at("a"));
        policy->rules[policy->rule_count - 1].covers_later = false;
        set(policy, "filesystem.deny", at("a"));
        policy_drop_repeated(policy, policy->rule_count - 1);
        assert_int_equal(count_rules(policy, RULE_DENY), 2);
        abatis_policy_free(policy);
}

/* ---- contradictions ------------------------------------------------------------------------------------- */

static void a_policy_that_denies_its_own_workspace_is_refused(void **state)
{
        static const char *const denied[] = { "ws", "", "link-to-ws" };
        abatis_error err = { 0 };

        (void)state;
        make_link("link-to-ws", "ws");
        make_dir("ws/inside");
        for (size_t i = 0; i < sizeof(denied) / sizeof(*denied); i++) {
                abatis_policy *policy = new_policy("dev");

                set(policy, "filesystem.deny", at("%s", denied[i]));
                assert_int_equal(policy_finish(policy, &err), ABATIS_E_INVALID);
                assert_non_null(strstr(err.message, at("ws")));
                assert_non_null(strstr(err.message, "filesystem.deny"));
                /* and once more */
                assert_int_equal(policy_finish(policy, NULL), ABATIS_E_INVALID);
                abatis_policy_free(policy);
        }
        for (int i = 0; i < 2; i++) {
                abatis_policy *policy = new_policy("dev");

                set(policy, "filesystem.deny", i ? at("ws/inside") : at("w"));
                assert_int_equal(policy_finish(policy, &err), 0);
                abatis_policy_free(policy);
        }
        assert_int_equal(refused_policy("nope", at("ws"), NULL, NULL), ABATIS_E_INVALID);
        assert_non_null(strstr(refused_message, "nope"));
}

static void a_shared_policy_lives_until_its_last_holder_lets_go(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_ptr_equal(policy_share(policy), policy);
        abatis_policy_free(policy);
        assert_string_equal(policy->workspace, at("ws"));
        abatis_policy_free(policy);
}

/* ---- control sockets ------------------------------------------------------------------------------------ */

struct question {
        const char *preset;
        bool is_checked_first;
};

/* In a /run with a docker socket in it. */
static int ask_for_docker(const void *argument)
{
        const struct question *question = argument;
        abatis_policy *policy;
        bool may_read;

        if (mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 || mknod("/run/docker.sock", S_IFREG | 0600, 0) < 0)
                return 2;
        policy = new_policy(question->preset);
        if (question->is_checked_first)
                check_says(policy, ABATIS_READ, "/run/docker.sock");
        set(policy, "network.mode", "allow");
        may_read = check_says(policy, ABATIS_READ, "/run/docker.sock");
        abatis_policy_free(policy);
        return may_read;
}

static void what_looks_like_a_pattern_is_no_path(void **state)
{
        static const char *const names[] = { "filesystem.deny", "filesystem.protect" };
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("ws/[x]*");
        for (size_t i = 0; i < 2; i++) {
                assert_set_fails(policy, names[i], at("ws/**/.secret"), "pattern");
                assert_set_fails(policy, names[i], at("ws/file?"), "pattern");
                assert_set_fails(policy, names[i], at("absent/[ab]/x"), "pattern");
                assert_set_fails(policy, names[i], "/**", "pattern");
                /* What is there may be called what it likes. */
                set(policy, names[i], at("ws/[x]*"));
                set(policy, names[i], at("ws/[x]*/absent"));
        }
        abatis_policy_free(policy);
}

static void control_sockets_are_denied_when_unix_sockets_are_allowed(void **state)
{
        (void)state;
        assert_int_equal(ask_with_own_mounts(ask_for_docker, &(struct question){ "dev", false }), 0);
        assert_int_equal(ask_with_own_mounts(ask_for_docker, &(struct question){ "mcp", false }), 0);
        assert_int_equal(ask_with_own_mounts(ask_for_docker, &(struct question){ "guard", false }), 1);
}

/* A question in between must not make the answer that counts weaker. */
static void control_sockets_are_denied_also_when_the_network_is_opened_after_a_check(void **state)
{
        (void)state;
        assert_int_equal(ask_with_own_mounts(ask_for_docker, &(struct question){ "dev", true }), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_without_their_size_are_refused),
                POLICY_TEST(a_workspace_that_is_no_directory_is_refused_by_name),
                POLICY_TEST(the_workspace_is_resolved_before_it_becomes_a_rule),
                POLICY_TEST(the_workspace_defaults_to_the_working_directory),
                POLICY_TEST(a_path_that_cannot_be_a_rule_is_refused),
                POLICY_TEST(what_should_be_allowed_must_exist_and_nothing_is_left_of_it),
                POLICY_TEST(what_opens_too_much_is_refused),
                POLICY_TEST(reading_the_root_is_reading_all),
                POLICY_TEST(a_failed_write_rule_does_not_change_the_private_tmp),
                POLICY_TEST(what_is_absent_may_be_denied_or_protected),
                POLICY_TEST(unknown_keys_and_values_are_refused_by_name),
                POLICY_TEST(the_library_has_default_limits),
                POLICY_TEST(none_is_no_limit),
                POLICY_TEST(each_key_lands_where_it_belongs),
                POLICY_TEST(naming_tmp_as_writable_means_the_real_one),
                POLICY_TEST(four_hundred_rules_with_odd_names_are_kept_literally),
                POLICY_TEST(a_rule_is_dropped_when_another_says_as_much),
                POLICY_TEST(a_policy_that_denies_its_own_workspace_is_refused),
                POLICY_TEST(a_shared_policy_lives_until_its_last_holder_lets_go),
                POLICY_TEST(what_looks_like_a_pattern_is_no_path),
                POLICY_TEST(control_sockets_are_denied_when_unix_sockets_are_allowed),
                POLICY_TEST(control_sockets_are_denied_also_when_the_network_is_opened_after_a_check),
        };

        return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
