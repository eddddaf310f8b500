/* test_index.c: a finished policy gives the answers of an unfinished one, however many rules it has. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policies.h"
#include "policy/index.h"

static void finish(abatis_policy *policy)
{
        abatis_error err;

        if (policy_make_index(policy, &err) < 0)
                fail_msg("%s", err.message);
        assert_true(index_is_current(policy->index, policy));
}

static void add_rule(abatis_policy *policy, enum rule_kind kind, const char *path)
{
        assert_int_equal(policy_add_examined(policy, kind, path, PATH_DIRECTORY, "test", NULL), 0);
}

/* Both ways to decide, and the same rule each time. */
static void assert_agreement(abatis_policy *policy, const char *path)
{
        struct rule_index *index = policy->index;

        for (int access = ABATIS_READ; access <= ABATIS_EXECUTE; access++) {
                bool by_index = true, by_scan = false;
                const struct rule *rule = policy_decide(policy, (abatis_access)access, path, &by_index);

                policy->index = NULL;
                if (rule != policy_decide(policy, (abatis_access)access, path, &by_scan))
                        fail_msg("'%s': another rule than '%s'", path, rule ? rule->path : "none");
                policy->index = index;
                if (by_index != by_scan)
                        fail_msg("'%s': %d instead of %d", path, by_index, by_scan);
        }
}

static uint32_t next_random(uint32_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        return *state;
}

static void make_path(uint32_t *state, char *out)
{
        static const char *const names[] = { "/a",     "/b",  "/ab", "/a-b", "/a b",
                                             "/a\x01", "/aa", "/.a", "/\xff" };
        unsigned depth = next_random(state) % 6;

        strcpy(out, depth ? "" : "/");
        while (depth--)
                strcat(out, names[next_random(state) % (sizeof(names) / sizeof(*names))]);
}

static void random_policies_answer_the_same_with_and_without_it(void **state)
{
        uint32_t random = 2463534242;
        unsigned denied = 0, asked = 0;

        (void)state;
        for (unsigned i = 0; i < 200; i++) {
                abatis_policy *policy = new_policy(i % 2 ? "dev" : "strict");
                unsigned rules = next_random(&random) % (i % 10 ? 20 : 200);
                char path[64];

                while (rules--) {
                        make_path(&random, path);
                        /* The root can be denied by nobody who has a workspace. */
                        if (path[1])
                                add_rule(policy, (enum rule_kind)(next_random(&random) % RULE_KINDS), path);
                }
                if (i % 3 == 0)
                        set(policy, "filesystem.deny_glob", "**/a-?");
                if (i % 5 == 0)
                        add_rule(policy, RULE_READ, "/");
                finish(policy);
                for (unsigned j = 0; j < 200; j++) {
                        bool is_allowed;

                        make_path(&random, path);
                        assert_agreement(policy, path);
                        policy_decide(policy, ABATIS_READ, path, &is_allowed);
                        denied += !is_allowed;
                        asked++;
                }
                abatis_policy_free(policy);
        }
        assert_true(denied > asked / 10 && denied < asked - asked / 10);
}

static void a_thousand_rules_are_all_found(void **state)
{
        abatis_policy *policy = new_policy("dev");
        char path[64];

        (void)state;
        for (int i = 0; i < 1000; i++) {
                snprintf(path, sizeof(path), "/nowhere/%d/secret", i);
                set(policy, i % 2 ? "filesystem.deny" : "filesystem.protect", path);
        }
        finish(policy);
        for (int i = 0; i < 1000; i++) {
                snprintf(path, sizeof(path), "/nowhere/%d/secret/x", i);
                assert_int_equal(may(policy, ABATIS_READ, path), i % 2 == 0);
                assert_agreement(policy, path);
                snprintf(path, sizeof(path), "/nowhere/%d/secrets", i);
                assert_true(may(policy, ABATIS_READ, path));
        }
        abatis_policy_free(policy);
}

static void rules_of_the_root_hold_for_everything(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        add_rule(policy, RULE_PROTECT, "/");
        finish(policy);
        assert_false(may(policy, ABATIS_WRITE, at("ws")));
        assert_agreement(policy, "/");
        assert_agreement(policy, "/x");
        assert_agreement(policy, at("ws/x/y/z"));
        abatis_policy_free(policy);
}

/* What the cheap hash takes for the same: characters at a distance of 64 have changed places. */
static void two_paths_of_one_hash_are_told_apart(void **state)
{
        char left[128] = "/n/a", right[128] = "/n/b", path[160];

        (void)state;
        memset(left + 4, 'x', 63);
        memset(right + 4, 'x', 63);
        strcat(left, "b");
        strcat(right, "a");
        for (int i = 0; i < 3; i++) {
                abatis_policy *policy = new_policy("dev");

                add_rule(policy, RULE_DENY, i == 1 ? right : left);
                snprintf(path, sizeof(path), "%s/deep", i == 1 ? left : right);
                if (i < 2)
                        add_rule(policy, RULE_PROTECT, path);
                finish(policy);
                assert_false(may(policy, ABATIS_READ, i == 1 ? right : left));
                assert_true(may(policy, ABATIS_READ, i == 1 ? left : right));
                assert_agreement(policy, left);
                assert_agreement(policy, right);
                assert_agreement(policy, path);
                snprintf(path, sizeof(path), "%s/deep/er", left);
                assert_agreement(policy, path);
                snprintf(path, sizeof(path), "%s/deep/er", right);
                assert_agreement(policy, path);
                abatis_policy_free(policy);
        }
}

/* The shortcut takes nothing for clean that is not. */
static void needless_and_climbing_parts_are_seen_wherever_rules_are(void **state)
{
        static const struct {
                const char *path;
                bool may_read, may_write;
        } cases[] = {
                { "ws/a", true, false },         { "ws/a/", true, false },
                { "ws//a", true, false },        { "ws/./a", true, false },
                { "ws/a/.", true, false },       { "ws/a//x", true, false },
                { "ws/a/./x", true, false },     { "ws/a/x/", true, false },
                { "ws//", true, true },          { "ws/ab", true, true },
                { "ws/a/..", false, false },     { "ws/a/../b", false, false },
                { "ws/a/x/../y", false, false }, { "ws/..", false, false },
                { "ws/a/x\ny", true, false },    { "ws/a\n", true, true },
                { "ws/x\n/../y", false, false }, { "ws/..a", true, true },
                { "ws/a/...", true, false },
        };
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("ws/a");
        set(policy, "filesystem.protect", at("ws/a"));
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                if (check_says(policy, ABATIS_READ, at("%s", cases[i].path)) != cases[i].may_read)
                        fail_msg("reading '%s': %s", cases[i].path, check_text);
                if (check_says(policy, ABATIS_WRITE, at("%s", cases[i].path)) != cases[i].may_write)
                        fail_msg("writing '%s': %s", cases[i].path, check_text);
        }
        abatis_policy_free(policy);
}

/* ---- changes -------------------------------------------------------------------------------------------- */

static void every_change_counts_at_once(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("ws/a");
        make_dir("out");
        finish(policy);
        assert_true(check_says(policy, ABATIS_WRITE, at("ws/a")));
        set(policy, "filesystem.protect", at("ws/a"));
        assert_false(check_says(policy, ABATIS_WRITE, at("ws/a")));
        assert_true(check_says(policy, ABATIS_READ, at("ws/a")));
        set(policy, "filesystem.deny", at("ws/a"));
        assert_false(check_says(policy, ABATIS_READ, at("ws/a")));
        assert_false(check_says(policy, ABATIS_WRITE, at("out")));
        set(policy, "filesystem.write", at("out"));
        assert_true(check_says(policy, ABATIS_WRITE, at("out")));
        set(policy, "filesystem.deny_glob", "**/out");
        assert_false(check_says(policy, ABATIS_WRITE, at("out")));
        abatis_policy_free(policy);
}

/* The count of rules is the same before and after, but the rules are not. */
static void a_rule_that_is_taken_back_leaves_no_trace(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_dir("later");
        finish(policy);
        assert_true(abatis_policy_set(policy, "filesystem.write", at("absent"), NULL) < 0);
        assert_false(check_says(policy, ABATIS_WRITE, at("absent")));
        set(policy, "filesystem.write", at("later"));
        assert_true(check_says(policy, ABATIS_WRITE, at("later")));
        assert_false(check_says(policy, ABATIS_WRITE, at("absent")));
        abatis_policy_free(policy);
}

static void a_contradiction_is_found_again_until_it_is_gone(void **state)
{
        abatis_policy *policy = new_policy("dev");
        int allowed = 7;

        (void)state;
        finish(policy);
        set(policy, "filesystem.deny", at("ws"));
        for (int i = 0; i < 3; i++)
                assert_int_equal(abatis_policy_check(policy, ABATIS_READ, "/", &allowed, NULL, NULL),
                                 ABATIS_E_INVALID);
        assert_int_equal(allowed, 7);
        abatis_policy_free(policy);
}

/* ---- the question without its words --------------------------------------------------------------------- */

static void the_answer_is_the_same_without_words(void **state)
{
        static const char *const paths[] = { "ws",    "ws/a/b",   "ws/link/x", "home/.ssh/id",
                                             "home",  "absent/x", "ws/../x",   "x\ny",
                                             "ws//a", "ws/",      "ws/./a" };
        static const char *const others[] = {
                "",     "relative", "/dev/null",  "/dev/mem", "/proc/self/status", "/tmp/x",  "/etc", "/",
                "/dev", "/proc",    "/dev/shm/x", "/tmpx",    "/devices",          "/process"
        };
        abatis_policy *policy;

        (void)state;
        make_file("home/.ssh/id", "");
        make_dir("ws/a");
        make_link("ws/link", at("home/.ssh"));
        policy = new_policy("dev");
        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths) + sizeof(others) / sizeof(*others); i++)
                for (int access = ABATIS_READ; access <= ABATIS_EXECUTE; access++) {
                        const char *path = i < sizeof(paths) / sizeof(*paths)
                                                   ? at("%s", paths[i])
                                                   : others[i - sizeof(paths) / sizeof(*paths)];
                        int allowed = 7;

                        assert_int_equal(abatis_policy_check(policy, (abatis_access)access, path, &allowed,
                                                             NULL, NULL),
                                         0);
                        assert_int_equal(allowed, check_says(policy, (abatis_access)access, path));
                }
        assert_int_equal(abatis_policy_check(policy, ABATIS_READ, NULL, &(int){ 0 }, NULL, NULL), 0);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(random_policies_answer_the_same_with_and_without_it),
                POLICY_TEST(a_thousand_rules_are_all_found),
                POLICY_TEST(rules_of_the_root_hold_for_everything),
                POLICY_TEST(two_paths_of_one_hash_are_told_apart),
                POLICY_TEST(needless_and_climbing_parts_are_seen_wherever_rules_are),
                POLICY_TEST(every_change_counts_at_once),
                POLICY_TEST(a_rule_that_is_taken_back_leaves_no_trace),
                POLICY_TEST(a_contradiction_is_found_again_until_it_is_gone),
                POLICY_TEST(the_answer_is_the_same_without_words),
        };

        return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
