/* test_pattern.c: patterns as rules of a policy; what a pattern matches is test_glob.c's business. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "policies.h"

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
        assert_non_null(strstr(check_text, "deny '/nowhere/[x\\n]'"));
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(a_pattern_denies_what_matches_and_all_below),
                POLICY_TEST(a_pattern_protects_what_matches),
                POLICY_TEST(a_link_does_not_lead_round_a_pattern),
                POLICY_TEST(links_in_the_fixed_beginning_of_a_pattern_are_followed),
                POLICY_TEST(a_pattern_that_means_nothing_is_refused_by_its_key),
                POLICY_TEST(a_pattern_that_denies_the_workspace_is_refused),
                POLICY_TEST(an_answer_about_a_pattern_is_one_line),
                POLICY_TEST(patterns_can_be_left_out_of_a_decision),
        };

        return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
