/* test_policy.c: rules, keys and the question "may I?". */
#define _GNU_SOURCE
#include <errno.h>
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
        make_dir("new\nline");
        assert_int_equal(refused_policy("dev", at("no"), NULL, NULL), ABATIS_E_SYSTEM);
        assert_non_null(strstr(refused_message, at("no")));
        assert_int_equal(refused_policy("dev", at("file"), NULL, NULL), ABATIS_E_INVALID);
        assert_non_null(strstr(refused_message, at("file")));
        assert_int_equal(refused_policy("dev", at("loop"), NULL, NULL), ABATIS_E_SYSTEM);
        assert_int_equal(refused_policy("dev", at("new\nline"), NULL, NULL), ABATIS_E_INVALID);
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

static void assert_set_fails(abatis_policy *policy, const char *key, const char *value, const char *named)
{
        size_t rules = policy->rule_count;
        abatis_error err = { 0 };
        int r = abatis_policy_set(policy, key, value, &err);

        if (r >= 0)
                fail_msg("%s=%s was accepted", key, value);
        assert_int_equal(err.code, r);
        if (!strstr(err.message, named))
                fail_msg("%s=%s: '%s' does not say '%s'", key, value, err.message, named);
        assert_int_equal(abatis_policy_set(policy, key, value, NULL), r);
        if (policy->rule_count != rules)
                fail_msg("%s=%s failed and left a rule behind", key, value);
}

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
                assert_set_fails(policy, names[i], at("ws\n"), "newline");
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
        assert_set_fails(policy, "network.bind", "80\n81", "network.bind");
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
                { "limits.cpu", "10s", LIMIT_CPU, 10000 },
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
                set(policy, "filesystem.deny", name);
        }
        for (int i = 0; i < 400; i++) {
                snprintf(name, sizeof(name), "%s/[%d] *?'\"$(x)\\~", "/nowhere", i);
                assert_non_null(rule_for(policy, RULE_DENY, name));
                assert_false(may(policy, ABATIS_READ, name));
        }
        assert_true(may(policy, ABATIS_READ, "/nowhere/[1] x"));
        abatis_policy_free(policy);
}

/* ---- patterns ------------------------------------------------------------------------------------------- */

static void a_pattern_denies_what_matches_and_all_below(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("ws/.env", "");
        make_file("ws/deep/.env/inner", "");
        make_file("ws/.envrc", "");
        assert_true(check_says(policy, ABATIS_READ, at("ws/.env")));
        set(policy, "filesystem.deny_glob", "**/.env");
        for (int access = ABATIS_READ; access <= ABATIS_EXECUTE; access++) {
                assert_false(check_says(policy, (abatis_access)access, at("ws/.env")));
                assert_non_null(strstr(check_text, "deny '**/.env' (filesystem.deny_glob)"));
                assert_false(check_says(policy, (abatis_access)access, at("ws/deep/.env/inner")));
                assert_true(check_says(policy, (abatis_access)access, at("ws/.envrc")));
        }
        assert_false(check_says(policy, ABATIS_READ, at("ws/not/there/yet/.env")));
        abatis_policy_free(policy);
}

static void a_pattern_protects_what_matches(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(may(policy, ABATIS_WRITE, at("ws/a.lock")));
        assert_int_equal(policy_add_glob(policy, RULE_PROTECT, "*.lock", "test", NULL), 0);
        assert_false(may(policy, ABATIS_WRITE, at("ws/a.lock")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/a.lock/b")));
        assert_true(may(policy, ABATIS_READ, at("ws/a.lock")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/a.locks")));
        abatis_policy_free(policy);
}

static void a_link_does_not_lead_round_a_pattern(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("vault/key.pem", "");
        make_link("ws/harmless", at("vault/key.pem"));
        make_link("door", "vault");
        set(policy, "filesystem.deny_glob", "*.pem");
        assert_false(check_says(policy, ABATIS_READ, at("ws/harmless")));
        assert_false(check_says(policy, ABATIS_READ, at("door/key.pem")));
        assert_true(check_says(policy, ABATIS_READ, at("door/key")));
        abatis_policy_free(policy);
}

/* Otherwise "~/..." would hold for nothing where the home directory is reached through a link. */
static void links_in_the_fixed_beginning_of_a_pattern_are_followed(void **state)
{
        char pattern[1024];
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("really/[odd] *?/a.pem", "");
        make_link("door", "really/[odd] *?");
        snprintf(pattern, sizeof(pattern), "%s//*.pem", at("door"));
        set(policy, "filesystem.deny_glob", pattern);
        assert_false(check_says(policy, ABATIS_READ, at("door/a.pem")));
        assert_non_null(strstr(check_text, pattern));
        assert_false(check_says(policy, ABATIS_READ, at("really/[odd] *?/b.pem")));
        assert_true(check_says(policy, ABATIS_READ, at("really/o/a.pem")));
        assert_true(check_says(policy, ABATIS_READ, at("really/a.pem")));
        /* Without a magic character it is a path like any other. */
        set(policy, "filesystem.deny_glob", at("door"));
        assert_false(check_says(policy, ABATIS_READ, at("really/[odd] *?/else")));
        assert_true(check_says(policy, ABATIS_READ, at("really/else")));
        abatis_policy_free(policy);
}

static void a_pattern_that_means_nothing_is_refused_by_its_key(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_link("loop", "loop");
        assert_set_fails(policy, "filesystem.deny_glob", "", "filesystem.deny_glob: ");
        assert_set_fails(policy, "filesystem.deny_glob", "a/*", "relative");
        assert_set_fails(policy, "filesystem.deny_glob", "/[", "[[]");
        assert_set_fails(policy, "filesystem.deny_glob", "**x", "**");
        assert_set_fails(policy, "filesystem.deny_glob", at("loop/*"), at("loop"));
        assert_set_fails(policy, "filesystem.deny_glob", NULL, "empty");
        assert_int_equal(policy_add_glob(policy, RULE_WRITE, "*.o", "test", NULL), ABATIS_E_INVALID);
        abatis_policy_free(policy);
}

static void a_pattern_that_denies_the_workspace_is_refused(void **state)
{
        static const char *const patterns[] = { "**", "/*", "ws", "**/w?/**", "/" };
        abatis_error err;

        (void)state;
        for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
                abatis_policy *policy = new_policy("dev");

                set(policy, "filesystem.deny_glob", patterns[i]);
                /* What lies below the workspace may be denied. */
                assert_int_equal(policy_finish(policy, &err), i == 3 ? 0 : ABATIS_E_INVALID);
                if (i != 3)
                        assert_non_null(strstr(err.message, patterns[i]));
                abatis_policy_free(policy);
        }
}

static void an_answer_about_a_pattern_is_one_line(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        set(policy, "filesystem.deny_glob", "/nowhere/?[\n]?");
        assert_false(may(policy, ABATIS_READ, "/nowhere/a\nb"));
        set(policy, "filesystem.deny_glob", "/nowhere/[x\n]");
        assert_false(check_says(policy, ABATIS_READ, "/nowhere/x"));
        assert_non_null(strstr(check_text, "deny '/nowhere/[x?]'"));
        abatis_policy_free(policy);
}

/* Whoever enforces without patterns must not count on them. */
static void patterns_can_be_left_out_of_a_decision(void **state)
{
        abatis_policy *policy = new_policy("dev");
        bool is_allowed = false;

        (void)state;
        set(policy, "filesystem.deny_glob", "*.pem");
        set(policy, "filesystem.deny", at("ws/denied"));
        assert_int_equal(policy_add_glob(policy, RULE_PROTECT, "*.lock", "test", NULL), 0);
        policy_decide_by_paths(policy, ABATIS_WRITE, at("ws/a.pem"), &is_allowed);
        assert_true(is_allowed);
        policy_decide_by_paths(policy, ABATIS_WRITE, at("ws/a.lock"), &is_allowed);
        assert_true(is_allowed);
        policy_decide_by_paths(policy, ABATIS_WRITE, at("ws/denied"), &is_allowed);
        assert_false(is_allowed);
        abatis_policy_free(policy);
}

/* ---- precedence ----------------------------------------------------------------------------------------- */

/* One path under every combination of rules on it: deny > protect > write > read. */
static void deny_beats_protect_beats_write_beats_read(void **state)
{
        static const char *const names[] = { "filesystem.read", "filesystem.write", "filesystem.execute",
                                             "filesystem.deny", "filesystem.protect" };

        (void)state;
        make_file("p/f", "");
        for (unsigned rules = 0; rules < 32; rules++) {
                bool denied = rules & 8, protected = rules & 16, writes = rules & 2, executes = rules & 4,
                     reads = rules & 1;
                abatis_policy *policy = new_policy("strict");

                /* The order in which rules are given must not matter. */
                for (unsigned i = 0; i < 5; i++)
                        if (rules & 1u << (rules & 1 ? i : 4 - i))
                                set(policy, names[rules & 1 ? i : 4 - i], at("p"));
                for (int below = 0; below < 2; below++) {
                        const char *path = below ? at("p/f") : at("p");

                        assert_int_equal(may(policy, ABATIS_READ, path),
                                         !denied && (reads || writes || executes));
                        assert_int_equal(may(policy, ABATIS_WRITE, path), !denied && !protected && writes);
                        assert_int_equal(may(policy, ABATIS_EXECUTE, path), !denied && (executes || writes));
                        assert_int_equal(check_says(policy, ABATIS_WRITE, path),
                                         !denied && !protected && writes);
                }
                abatis_policy_free(policy);
        }
}

static void a_deny_above_wins_over_a_grant_below_and_the_other_way_round(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("out/in");
        make_dir("ws/a/b/c");
        set(policy, "filesystem.deny", at("out"));
        set(policy, "filesystem.write", at("out/in"));
        set(policy, "filesystem.deny", at("ws/a/b"));
        set(policy, "filesystem.protect", at("ws/a"));
        set(policy, "filesystem.write", at("ws/a/b/c"));
        assert_false(may(policy, ABATIS_READ, at("out/in")));
        assert_false(may(policy, ABATIS_WRITE, at("out/in/x")));
        assert_true(may(policy, ABATIS_WRITE, at("ws")));
        assert_true(may(policy, ABATIS_READ, at("ws/a")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/a")));
        assert_false(may(policy, ABATIS_READ, at("ws/a/b")));
        assert_false(may(policy, ABATIS_READ, at("ws/a/b/c")));
        assert_false(may(policy, ABATIS_EXECUTE, at("ws/a/b/c/d")));
        abatis_policy_free(policy);
}

static void rules_end_at_component_borders(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("ws/secret");
        make_dir("ws/lock");
        set(policy, "filesystem.deny", at("ws/secret"));
        set(policy, "filesystem.protect", at("ws/lock"));
        assert_false(may(policy, ABATIS_READ, at("ws/secret")));
        assert_false(may(policy, ABATIS_READ, at("ws/secret/x")));
        assert_true(may(policy, ABATIS_READ, at("ws/secrets")));
        assert_true(may(policy, ABATIS_READ, at("ws/secret.txt")));
        assert_true(may(policy, ABATIS_READ, at("ws/secre")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/lock/x")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/lock2")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/x")));
        assert_false(may(policy, ABATIS_WRITE, at("ws2")));
        assert_false(may(policy, ABATIS_WRITE, at("ws2/x")));
        assert_false(may(policy, ABATIS_WRITE, at("w")));
        abatis_policy_free(policy);
}

static void the_deciding_rule_is_named(void **state)
{
        abatis_policy *policy = new_policy("dev");
        const struct rule *rule;
        bool is_allowed;

        (void)state;
        make_dir("ws/a");
        set(policy, "filesystem.deny", at("ws/a"));
        rule = policy_decide(policy, ABATIS_READ, at("ws/a/b"), &is_allowed);
        assert_ptr_equal(rule, rule_for(policy, RULE_DENY, at("ws/a")));
        assert_false(check_says(policy, ABATIS_READ, at("ws/a/b")));
        assert_non_null(strstr(check_text, "deny"));
        assert_non_null(strstr(check_text, at("ws/a")));
        assert_non_null(strstr(check_text, "filesystem.deny"));
        assert_true(check_says(policy, ABATIS_WRITE, at("ws/x")));
        assert_non_null(strstr(check_text, "preset dev"));
        assert_false(check_says(policy, ABATIS_WRITE, at("x")));
        assert_non_null(strstr(check_text, at("x")));
        assert_true(check_says(policy, ABATIS_READ, at("x")));
        assert_non_null(strstr(check_text, "read all"));
        abatis_policy_free(policy);
}

/* ---- the question --------------------------------------------------------------------------------------- */

static void a_link_is_judged_by_where_it_leads(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("home/.ssh/id", "");
        make_link("ws/innocent", at("home/.ssh"));
        make_link("ws/out", at("elsewhere"));
        make_dir("elsewhere");
        make_link("into", at("ws"));
        policy = new_policy("dev");
        assert_false(check_says(policy, ABATIS_READ, at("ws/innocent/id")));
        assert_false(check_says(policy, ABATIS_WRITE, at("ws/out/x")));
        assert_true(check_says(policy, ABATIS_WRITE, at("into/x")));
        abatis_policy_free(policy);
}

static void a_rule_on_a_link_holds_for_its_target(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("vault/key", "");
        make_link("door", "vault");
        set(policy, "filesystem.deny", at("door"));
        assert_false(check_says(policy, ABATIS_READ, at("vault/key")));
        assert_false(check_says(policy, ABATIS_READ, at("door/key")));
        assert_true(check_says(policy, ABATIS_READ, at("vaults")));
        abatis_policy_free(policy);
}

static void a_question_that_is_not_about_a_path_is_answered_no(void **state)
{
        static const char *const cases[] = { "", "x", "./x", "../x", "~/x", "/ws/../etc", "/a\nb" };
        abatis_policy *policy = new_policy("guard");

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                for (int access = ABATIS_READ; access <= ABATIS_EXECUTE; access++)
                        assert_false(check_says(policy, (abatis_access)access, cases[i]));
        assert_true(check_says(policy, ABATIS_READ, "/"));
        abatis_policy_free(policy);
}

static void places_that_are_private_inside_are_answered_for_the_inside(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(check_says(policy, ABATIS_WRITE, "/dev/null"));
        assert_true(check_says(policy, ABATIS_READ, "/dev/urandom"));
        assert_false(check_says(policy, ABATIS_READ, "/dev/sda"));
        assert_false(check_says(policy, ABATIS_READ, "/dev/mem"));
        assert_true(check_says(policy, ABATIS_WRITE, "/dev/shm/x"));
        assert_true(check_says(policy, ABATIS_READ, "/proc/cpuinfo"));
        assert_false(check_says(policy, ABATIS_WRITE, "/proc/sys/kernel/core_pattern"));
        assert_true(check_says(policy, ABATIS_WRITE, "/tmp/x"));
        set(policy, "filesystem.deny", "/tmp/x");
        assert_false(check_says(policy, ABATIS_WRITE, "/tmp/x"));
        abatis_policy_free(policy);
}

static void the_check_fails_without_touching_its_answers(void **state)
{
        abatis_policy *policy = new_policy("dev");
        char untouched, *rule = &untouched;
        abatis_error err = { 0 };
        int allowed = 7;

        (void)state;
        make_link("loop", "loop");
        assert_int_equal(abatis_policy_check(policy, ABATIS_READ, at("loop"), &allowed, &rule, &err),
                         ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, ELOOP);
        assert_int_equal(allowed, 7);
        assert_ptr_equal(rule, &untouched);
        assert_int_equal(abatis_policy_check(policy, ABATIS_READ, at("loop"), &allowed, &rule, NULL),
                         ABATIS_E_SYSTEM);
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
                POLICY_TEST(each_key_lands_where_it_belongs),
                POLICY_TEST(naming_tmp_as_writable_means_the_real_one),
                POLICY_TEST(four_hundred_rules_with_odd_names_are_kept_literally),
                POLICY_TEST(a_pattern_denies_what_matches_and_all_below),
                POLICY_TEST(a_pattern_protects_what_matches),
                POLICY_TEST(a_link_does_not_lead_round_a_pattern),
                POLICY_TEST(links_in_the_fixed_beginning_of_a_pattern_are_followed),
                POLICY_TEST(a_pattern_that_means_nothing_is_refused_by_its_key),
                POLICY_TEST(a_pattern_that_denies_the_workspace_is_refused),
                POLICY_TEST(an_answer_about_a_pattern_is_one_line),
                POLICY_TEST(patterns_can_be_left_out_of_a_decision),
                POLICY_TEST(deny_beats_protect_beats_write_beats_read),
                POLICY_TEST(a_deny_above_wins_over_a_grant_below_and_the_other_way_round),
                POLICY_TEST(rules_end_at_component_borders),
                POLICY_TEST(the_deciding_rule_is_named),
                POLICY_TEST(a_link_is_judged_by_where_it_leads),
                POLICY_TEST(a_rule_on_a_link_holds_for_its_target),
                POLICY_TEST(a_question_that_is_not_about_a_path_is_answered_no),
                POLICY_TEST(places_that_are_private_inside_are_answered_for_the_inside),
                POLICY_TEST(the_check_fails_without_touching_its_answers),
                POLICY_TEST(a_policy_that_denies_its_own_workspace_is_refused),
                POLICY_TEST(a_shared_policy_lives_until_its_last_holder_lets_go),
                POLICY_TEST(control_sockets_are_denied_when_unix_sockets_are_allowed),
                POLICY_TEST(control_sockets_are_denied_also_when_the_network_is_opened_after_a_check),
        };

        return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
