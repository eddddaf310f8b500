/* test_check.c: which rule decides, and the question "may I?". */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "policies.h"

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

/* As a program's loader is: /lib/ld.so, where /lib is a link and ld.so another. */
static void what_is_listed_is_met_by_its_name_whatever_links_lead_to_it(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        make_file("usr/lib/real", "");
        make_file("usr/lib/other", "");
        make_link("usr/lib/name", "real");
        make_link("lib", "usr/lib");
        assert_false(check_says(policy, ABATIS_READ, at("lib/name")));
        set(policy, "filesystem.read", at("lib/name"));
        assert_true(check_says(policy, ABATIS_READ, at("lib/name")));
        assert_true(check_says(policy, ABATIS_READ, at("usr/lib/real")));
        assert_false(check_says(policy, ABATIS_READ, at("usr/lib/name")));
        assert_false(check_says(policy, ABATIS_READ, at("lib/real")));
        assert_false(check_says(policy, ABATIS_READ, at("lib/other")));
        /* Then it is there as it is on the host. */
        set(policy, "filesystem.read", at("lib"));
        assert_true(check_says(policy, ABATIS_READ, at("lib/name")));
        assert_true(check_says(policy, ABATIS_READ, at("lib/other")));
        set(policy, "filesystem.deny", at("usr/lib/real"));
        assert_false(check_says(policy, ABATIS_READ, at("lib/name")));
        abatis_policy_free(policy);
}

static void a_link_of_a_denied_name_is_not_followed(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("ws/config", "");
        make_file("ws/d/f", "");
        make_link("ws/.env", "config");
        make_link("ws/d.env", "d");
        make_link("ws/way", ".env");
        assert_true(check_says(policy, ABATIS_READ, at("ws/.env")));
        set(policy, "filesystem.deny_glob", "*.env");
        assert_false(check_says(policy, ABATIS_READ, at("ws/.env")));
        assert_non_null(strstr(check_text, "deny '*.env'"));
        assert_false(check_says(policy, ABATIS_WRITE, at("ws/.env")));
        assert_true(check_says(policy, ABATIS_READ, at("ws/config")));
        assert_false(check_says(policy, ABATIS_READ, at("ws/d.env")));
        /* Who goes through one ends elsewhere. */
        assert_true(check_says(policy, ABATIS_READ, at("ws/d.env/f")));
        assert_true(check_says(policy, ABATIS_READ, at("ws/way")));
        abatis_policy_free(policy);
}

static void a_newline_is_a_character_like_any_other(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("w\ns/a\n", "");
        make_file("w\ns/a", "");
        make_file("w\ns/\n/x", "");
        make_file("home/.ssh/id", "");
        make_dir("da\nta");
        make_file("con\nfig", "");
        policy = new_policy_with("dev", at("w\ns"), at("da\nta"), at("con\nfig"));
        assert_true(check_says(policy, ABATIS_WRITE, at("w\ns/a\n")));
        set(policy, "filesystem.deny", at("w\ns/a\n"));
        set(policy, "filesystem.protect", at("w\ns/\n"));
        set(policy, "filesystem.read", at("da\nta"));
        set(policy, "filesystem.deny_glob", at("da\nta/?x"));
        assert_false(check_says(policy, ABATIS_READ, at("w\ns/a\n")));
        assert_non_null(strstr(check_text, "w\\ns/a\\n'"));
        assert_true(check_says(policy, ABATIS_READ, at("w\ns/a")));
        assert_false(check_says(policy, ABATIS_WRITE, at("w\ns/\n/x")));
        assert_true(check_says(policy, ABATIS_READ, at("w\ns/\n/x")));
        assert_true(check_says(policy, ABATIS_WRITE, at("w\ns/\n\n")));
        assert_false(check_says(policy, ABATIS_READ, at("con\nfig")));
        assert_false(check_says(policy, ABATIS_READ, at("da\nta/\nx")));
        assert_true(check_says(policy, ABATIS_READ, at("da\nta/x")));
        abatis_policy_free(policy);
}

static void rules_and_questions_may_be_deeper_than_the_kernel_takes_at_once(void **state)
{
        const char *deep = make_deep("ws/deep", 3 * PATH_MAX);
        char *one = path_join(deep, "one"), *two = path_join(deep, "two"), *link = path_join(deep, "link");
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(check_says(policy, ABATIS_WRITE, one));
        set(policy, "filesystem.deny", link);
        assert_false(check_says(policy, ABATIS_READ, one));
        assert_false(check_says(policy, ABATIS_READ, link));
        assert_true(check_says(policy, ABATIS_WRITE, two));
        set(policy, "filesystem.protect", deep);
        assert_false(check_says(policy, ABATIS_WRITE, two));
        assert_true(check_says(policy, ABATIS_READ, two));
        abatis_policy_free(policy);
        /* The workspace itself, and its repository. */
        policy = new_policy_with("dev", deep, NULL, NULL);
        assert_true(check_says(policy, ABATIS_WRITE, one));
        assert_false(check_says(policy, ABATIS_WRITE, at("ws/x")));
        abatis_policy_free(policy);
        free(one);
        free(two);
        free(link);
}

static void a_question_that_is_not_about_a_path_is_answered_no(void **state)
{
        static const char *const cases[] = { "", "x", "./x", "../x", "~/x", "/ws/../etc", "/a\n/../b" };
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

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(deny_beats_protect_beats_write_beats_read),
                POLICY_TEST(a_deny_above_wins_over_a_grant_below_and_the_other_way_round),
                POLICY_TEST(rules_end_at_component_borders),
                POLICY_TEST(the_deciding_rule_is_named),
                POLICY_TEST(a_link_is_judged_by_where_it_leads),
                POLICY_TEST(a_rule_on_a_link_holds_for_its_target),
                POLICY_TEST(what_is_listed_is_met_by_its_name_whatever_links_lead_to_it),
                POLICY_TEST(a_link_of_a_denied_name_is_not_followed),
                POLICY_TEST(a_newline_is_a_character_like_any_other),
                POLICY_TEST(rules_and_questions_may_be_deeper_than_the_kernel_takes_at_once),
                POLICY_TEST(a_question_that_is_not_about_a_path_is_answered_no),
                POLICY_TEST(places_that_are_private_inside_are_answered_for_the_inside),
                POLICY_TEST(the_check_fails_without_touching_its_answers),
        };

        return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
