/* test_view.c: what is in a command's view, as the engine tells it and as the plan makes it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "plan/plan.h"
#include "policies.h"

static const abatis_host host = { .kernel = "6.18.0",
                                  .machine = "aarch64",
                                  .uid = 1000,
                                  .gid = 1000,
                                  .landlock_abi = 7,
                                  .has_mount_setattr = true,
                                  .namespaces = NAMESPACES_USER };

/* Of the preset, but only what is listed can be read. */
static abatis_policy *policy_that_reads_little(const char *preset)
{
        abatis_policy *policy = new_policy(preset);

        policy->reads_all = false;
        return policy;
}

static struct plan *compile(const abatis_policy *policy)
{
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);

        backend_native.compile(policy, &host, plan);
        assert_false(plan->has_failed);
        return plan;
}

static const struct step *find_step(const struct plan *plan, enum plan_op op, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op && (!path || !strcmp(plan->steps[i].path, path)))
                        return &plan->steps[i];
        return NULL;
}

static unsigned rights_on(const struct plan *plan, const char *path)
{
        unsigned rights = 0;

        for (size_t i = 0; i < plan->grant_count; i++)
                if (!strcmp(plan->grants[i].path, path))
                        rights |= plan->grants[i].rights;
        return rights;
}

static bool is_refused(const struct plan *plan, const char *clause)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (!strcmp(plan->clauses[i].name, clause))
                        return !plan_is_held(plan, i);
        fail_msg("no clause '%s'", clause);
        return false;
}

/* ---- execution ------------------------------------------------------------------------------------------ */

static void everything_that_may_be_executed_is_everything_in_view(void **state)
{
        abatis_policy *policy = policy_that_reads_little("dev");
        struct plan *plan;

        (void)state;
        make_file("seen/x", "");
        make_file("unseen/x", "");
        set(policy, "filesystem.read", at("seen"));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("seen/x")));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("ws/x")));
        assert_false(check_says(policy, ABATIS_EXECUTE, at("unseen/x")));
        assert_false(check_says(policy, ABATIS_EXECUTE, "/usr/bin/env"));
        plan = compile(policy);
        assert_true(rights_on(plan, at("seen")) & GRANT_EXECUTE);
        assert_int_equal(find_step(plan, PLAN_SHOW, at("seen"))->value, 0); /* not noexec */
        plan_free(plan);
        abatis_policy_free(policy);
}

static void who_reads_all_executes_only_what_is_listed(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_file("listed/x", "");
        make_file("other/x", "");
        policy->executes_all = false;
        set(policy, "filesystem.execute", at("listed"));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("listed/x")));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("ws/x")));
        assert_false(check_says(policy, ABATIS_EXECUTE, at("other/x")));
        assert_false(check_says(policy, ABATIS_EXECUTE, "/dev/shm/x"));
        plan = compile(policy);
        assert_int_equal(rights_on(plan, "/"), GRANT_READ);
        assert_int_equal(rights_on(plan, at("listed")), GRANT_READ | GRANT_EXECUTE);
        /* By two mechanisms: rights belong to files, which may have other names. */
        assert_int_equal(find_step(plan, PLAN_READ_ONLY_WORLD, NULL)->value, 1);
        assert_non_null(find_step(plan, PLAN_SHOW, at("listed")));
        plan_free(plan);
        abatis_policy_free(policy);
}

static void what_is_protected_above_is_still_shown(void **state)
{
        abatis_policy *policy = new_policy("strict");
        struct plan *plan;

        (void)state;
        make_file("kept/inside/x", "");
        set(policy, "filesystem.write", at("kept/inside"));
        set(policy, "filesystem.protect", at("kept"));
        assert_false(check_says(policy, ABATIS_WRITE, at("kept/inside/x")));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("kept/inside/x")));
        plan = compile(policy);
        assert_null(find_step(plan, PLAN_WRITABLE, at("kept/inside")));
        assert_int_equal(find_step(plan, PLAN_SHOW, at("kept/inside"))->value, 0);
        plan_free(plan);
        abatis_policy_free(policy);
}

/* ---- links ---------------------------------------------------------------------------------------------- */

static void the_way_ends_at_a_link_that_is_not_in_view(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        make_file("ws/x", "");
        make_link("way", "ws");
        make_link("ws/back", "../ws");
        assert_false(check_says(policy, ABATIS_READ, at("way/x")));
        assert_non_null(strstr(check_text, at("way")));
        assert_true(check_says(policy, ABATIS_READ, at("ws/back/x")));
        assert_true(check_says(policy, ABATIS_READ, "/proc/self/status"));
        assert_true(check_says(policy, ABATIS_READ, "/dev/fd"));
        abatis_policy_free(policy);
        policy = new_policy("dev");
        assert_true(check_says(policy, ABATIS_READ, at("way/x")));
        abatis_policy_free(policy);
}

static void a_link_that_a_rule_was_given_as_is_in_view(void **state)
{
        static const char *const lists[] = { "filesystem.read", "filesystem.write", "filesystem.execute" };

        (void)state;
        make_file("data/x", "");
        make_link("way", "data");
        for (size_t i = 0; i < 3; i++) {
                abatis_policy *policy = new_policy("strict");
                struct plan *plan;

                set(policy, lists[i], at("way"));
                assert_true(check_says(policy, ABATIS_READ, at("way/x")));
                assert_true(check_says(policy, ABATIS_READ, at("data/x")));
                plan = compile(policy);
                assert_string_equal(find_step(plan, PLAN_LINK, at("way"))->target, at("data"));
                plan_free(plan);
                abatis_policy_free(policy);
        }
}

static void a_link_in_a_denied_directory_leads_nowhere(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        make_file("data/x", "");
        make_dir("denied");
        make_link("denied/way", "../data");
        set(policy, "filesystem.deny", at("denied"));
        assert_false(check_says(policy, ABATIS_READ, at("denied/way/x")));
        assert_true(check_says(policy, ABATIS_READ, at("data/x")));
        abatis_policy_free(policy);
}

/* ---- places --------------------------------------------------------------------------------------------- */

static void directories_of_dev_can_be_listed(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_true(check_says(policy, ABATIS_READ, "/dev"));
        assert_false(check_says(policy, ABATIS_WRITE, "/dev"));
        abatis_policy_free(policy);
        policy = new_policy("strict");
        assert_false(check_says(policy, ABATIS_READ, "/dev"));
        abatis_policy_free(policy);
}

static void what_is_shown_in_a_private_tmp_is_not_private(void **state)
{
        abatis_policy *policy = new_policy("dev");
        char directory[] = "/tmp/abatis-view.XXXXXX", below[64];

        (void)state;
        assert_non_null(mkdtemp(directory));
        snprintf(below, sizeof(below), "%s/x", directory);
        assert_true(check_says(policy, ABATIS_WRITE, below));
        set(policy, "filesystem.protect", "/");
        assert_true(check_says(policy, ABATIS_WRITE, below));
        set(policy, "filesystem.read", directory);
        assert_false(check_says(policy, ABATIS_WRITE, below));
        assert_true(check_says(policy, ABATIS_READ, below));
        assert_int_equal(remove(directory), 0);
        abatis_policy_free(policy);
}

static void a_denied_device_is_hidden_in_a_new_root_too(void **state)
{
        abatis_policy *policy = new_policy("strict");
        struct plan *plan;

        (void)state;
        set(policy, "filesystem.deny", "/dev/zero");
        set(policy, "filesystem.deny", "/dev/ptmx");
        set(policy, "filesystem.deny", "/dev/shm/x");
        set(policy, "filesystem.deny", "/proc/1/status");
        plan = compile(policy);
        assert_non_null(find_step(plan, PLAN_HIDE, "/dev/zero"));
        assert_false(is_refused(plan, "filesystem.deny /dev/zero"));
        /* The command has others there. */
        assert_true(is_refused(plan, "filesystem.deny /dev/ptmx"));
        assert_true(is_refused(plan, "filesystem.deny /dev/shm/x"));
        assert_true(is_refused(plan, "filesystem.deny /proc/1/status"));
        plan_free(plan);
        abatis_policy_free(policy);
}

static void what_lies_in_a_denied_tree_needs_no_mask_of_its_own(void **state)
{
        abatis_policy *policy = new_policy("strict");
        struct plan *plan;
        abatis_error err;

        (void)state;
        make_file("denied/inside/x", "");
        set(policy, "filesystem.read", at("denied/inside"));
        set(policy, "filesystem.write", at("denied/inside/x"));
        set(policy, "filesystem.deny", at("denied"));
        set(policy, "filesystem.deny", at("denied/inside"));
        set(policy, "filesystem.protect", at("denied/inside/x"));
        plan = compile(policy);
        assert_int_equal(plan_check(plan, false, &err), 0);
        assert_null(find_step(plan, PLAN_SHOW, at("denied/inside")));
        assert_null(find_step(plan, PLAN_HIDE, at("denied/inside")));
        assert_null(find_step(plan, PLAN_PROTECT, at("denied/inside/x")));
        plan_free(plan);
        abatis_policy_free(policy);
}

static void what_is_absent_in_a_writable_tree_cannot_be_denied(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;
        char clause[512];

        (void)state;
        make_dir("ws/kept");
        set(policy, "filesystem.protect", at("ws/kept"));
        set(policy, "filesystem.deny", at("ws/kept/absent"));
        plan = compile(policy);
        snprintf(clause, sizeof(clause), "filesystem.deny %s", at("ws/kept/absent"));
        assert_true(is_refused(plan, clause));
        /* To avoid it would take the right to make files in the workspace away. */
        assert_int_equal(plan->avoided.count, 0);
        plan_free(plan);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(everything_that_may_be_executed_is_everything_in_view),
                POLICY_TEST(who_reads_all_executes_only_what_is_listed),
                POLICY_TEST(what_is_protected_above_is_still_shown),
                POLICY_TEST(the_way_ends_at_a_link_that_is_not_in_view),
                POLICY_TEST(a_link_that_a_rule_was_given_as_is_in_view),
                POLICY_TEST(a_link_in_a_denied_directory_leads_nowhere),
                POLICY_TEST(directories_of_dev_can_be_listed),
                POLICY_TEST(what_is_shown_in_a_private_tmp_is_not_private),
                POLICY_TEST(a_denied_device_is_hidden_in_a_new_root_too),
                POLICY_TEST(what_lies_in_a_denied_tree_needs_no_mask_of_its_own),
                POLICY_TEST(what_is_absent_in_a_writable_tree_cannot_be_denied),
        };

        return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
