/* test_appcontainer.c: what the Windows backend makes of a policy: steps that open no more than `abatis check` says, or a refusal
 * that names what it cannot hold. What Windows makes of the steps is the matter of test/windows. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../seatbelt/world.h"
#include "plans.h"
#include "shortage.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const abatis_host windows = {
        .system = SYSTEM_WINDOWS,
        .kernel = "10.0.26100",
        .uid = 1000,
        .container = { .is_available = true, .trees = { "/c/Windows", "/c/Program Files" } },
};

static struct plan *plan_of(abatis_policy *policy, const abatis_host *host)
{
        return plan_by(&backend_appcontainer, policy, host);
}

static const struct step *step_at(const struct plan *plan, enum plan_op op, const char *path)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == op &&
                    (!path || (plan->steps[i].path && !strcmp(plan->steps[i].path, path))))
                        return &plan->steps[i];
        return NULL;
}

static void assert_missed(const char *key, const char *value, const char *clause, const char *words)
{
        assert_missed_by(&backend_appcontainer, &windows, key, value, clause, words);
}

static void assert_held(const char *key, const char *value)
{
        struct plan *plan = plan_with(&backend_appcontainer, &windows, key, value);
        abatis_error err = { .message = "" };

        if (plan_check(plan, false, &err) < 0)
                fail_msg("%s %s: %s", key, value, err.message);
        plan_free(plan);
}

/* ---- clauses --------------------------------------------------------------------------------------------- */

static void presets_are_held_but_the_strict_one(void **state)
{
        (void)state;
        for (size_t i = 0; preset_names[i]; i++) {
                struct plan *plan = plan_of(new_policy(preset_names[i]), &windows);
                bool is_strict = !strcmp(preset_names[i], "strict") || !strcmp(preset_names[i], "skill");
                abatis_error err = { .message = "" };

                if ((plan_check(plan, false, &err) < 0) != is_strict)
                        fail_msg("%s: %s", preset_names[i], err.message);
                assert_true(!is_strict || strstr(err.message, "filesystem.execute"));
                plan_free(plan);
        }
}

static void every_clause_is_held_or_missed_with_a_reason(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan;

        (void)state;
        set(policy, "session", "shared");
        plan = plan_of(policy, &windows);
        assert_all_is_held_or_has_a_reason(plan);
        assert_non_null(reason_of(plan, "session"));
        assert_non_null(reason_of(plan, "limits.open_files"));
        assert_non_null(reason_of(plan, "process.commands"));
        assert_null(reason_of(plan, "limits.memory"));
        assert_null(reason_of(plan, "limits.processes"));
        assert_null(reason_of(plan, "process.fork"));
        plan_free(plan);
}

static void what_windows_cannot_hold_is_missed_by_name(void **state)
{
        (void)state;
        make_file("ws/.env", "");
        assert_missed("filesystem.deny", at("ws/absent"), "filesystem.deny", "nothing is there yet");
        assert_missed("filesystem.protect", at("ws/absent"), "filesystem.protect", "nothing is there yet");
        assert_missed("filesystem.deny_glob", "*.key", "filesystem.deny", "knows no patterns");
        assert_missed("network.mode", "unix-only", "network.mode", "unix sockets");
        assert_missed("network.mode", "list", "network.mode", "know no hosts");
        assert_missed("limits.open_files", "9", "limits.open_files", "no such limit");
        assert_missed("limits.file_size", "9", "limits.file_size", "no such limit");
        assert_missed("session", "shared", "session", "container of its own");
}

static void what_differs_little_from_that_is_held(void **state)
{
        (void)state;
        make_file("ws/.env", "");
        assert_held("filesystem.deny", at("ws/.env"));
        assert_held("filesystem.protect", at("ws/.env"));
        assert_held("filesystem.deny", at("home/absent"));
        assert_held("filesystem.deny_glob", at("home/*.key"));
        assert_held("network.mode", "allow");
        assert_held("limits.memory", "1GiB");
        assert_held("limits.timeout", "3s");
}

static void who_is_elevated_is_told_so(void **state)
{
        abatis_host host = windows;
        struct plan *plan;

        (void)state;
        host.uid = 0;
        plan = plan_of(new_policy("dev"), &host);
        assert_non_null(reason_of(plan, "process.privileges"));
        assert_null(reason_of(plan, "process.lifetime"));
        plan_free(plan);
}

static void what_windows_opens_to_all_cannot_be_denied(void **state)
{
        abatis_host host = windows;
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_file("system/tool/file", "");
        snprintf(host.container.trees[0], sizeof(host.container.trees[0]), "%s", at("SYSTEM"));
        set(policy, "filesystem.deny", at("system/tool"));
        set(policy, "filesystem.deny", at("home"));
        plan = plan_of(policy, &host);
        assert_non_null(reason_of(plan, "filesystem.deny"));
        assert_non_null(strstr(reason_of(plan, "filesystem.deny"), "to every container"));
        plan_free(plan);
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

static void exceptions_are_left_out_and_what_is_above_them_stays(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_file("ws/a/b/secret", "");
        make_dir("ws/a/kept");
        set(policy, "filesystem.deny", at("ws/a/b/secret"));
        set(policy, "filesystem.protect", at("ws/a/kept"));
        plan = plan_of(policy, &windows);
        assert_non_null(step_at(plan, PLAN_WRITABLE, at("ws")));
        assert_non_null(step_at(plan, PLAN_HIDE, at("ws/a/b/secret")));
        assert_non_null(step_at(plan, PLAN_PROTECT, at("ws/a/kept")));
        assert_non_null(step_at(plan, PLAN_PIN, at("ws/a")));
        assert_non_null(step_at(plan, PLAN_PIN, at("ws/a/b")));
        assert_null(step_at(plan, PLAN_PIN, at("ws")));
        plan_free(plan);
}

/* Windows or a program may have opened it to all containers. */
static void what_is_denied_elsewhere_is_looked_at(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_file("elsewhere/secret/file", "");
        make_file("keys/a.key", "");
        set(policy, "filesystem.deny", at("elsewhere/secret"));
        set(policy, "filesystem.deny", at("elsewhere/absent"));
        set(policy, "filesystem.deny_glob", at("keys/*.key"));
        plan = plan_of(policy, &windows);
        assert_non_null(step_at(plan, PLAN_CLOSED, at("elsewhere/secret")));
        assert_null(step_at(plan, PLAN_CLOSED, at("elsewhere/absent")));
        assert_non_null(step_at(plan, PLAN_CLOSED, at("keys")));
        assert_null(reason_of(plan, "filesystem.deny"));
        plan_free(plan);
        assert_missed("filesystem.deny_glob", at("*.key"), "filesystem.deny", "nobody looks through");
}

/* An entry for a part of it would open that part: a container goes through directories that it may not list. */
static void what_is_denied_has_no_part_that_is_given(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_file("ws/a/b/config", "");
        set(policy, "filesystem.protect", at("ws/a/b/config"));
        set(policy, "filesystem.deny", at("ws/a"));
        plan = plan_of(policy, &windows);
        assert_non_null(step_at(plan, PLAN_HIDE, at("ws/a")));
        assert_null(step_at(plan, PLAN_PROTECT, at("ws/a/b/config")));
        assert_null(step_at(plan, PLAN_PIN, at("ws/a")));
        assert_null(step_at(plan, PLAN_PIN, at("ws/a/b")));
        assert_null(reason_of(plan, "filesystem.protect"));
        plan_free(plan);
}

static void nothing_runs_before_the_last_look(void **state)
{
        static const enum plan_op order[] = { PLAN_CONTAINER,  PLAN_WRITABLE,   PLAN_SUSPENDED,
                                              PLAN_JOB_OBJECT, PLAN_PRIVILEGES, PLAN_RESUME };
        struct plan *plan = plan_of(new_policy("dev"), &windows);

        (void)state;
        for (size_t i = 0; i + 1 < COUNT(order); i++) {
                assert_non_null(step_at(plan, order[i], NULL));
                assert_true(step_at(plan, order[i], NULL) < step_at(plan, order[i + 1], NULL));
        }
        plan_free(plan);
}

static void who_is_in_a_job_object_is_told_of_the_clipboard(void **state)
{
        abatis_host host = windows;
        struct plan *plan = plan_of(new_policy("dev"), &host);
        size_t visible = plan->visible.count;

        (void)state;
        assert_int_equal(step_at(plan, PLAN_JOB_OBJECT, NULL)->value, PLAN_NO_DESKTOP);
        plan_free(plan);
        host.container.is_nested = true;
        plan = plan_of(new_policy("dev"), &host);
        assert_int_equal(step_at(plan, PLAN_JOB_OBJECT, NULL)->value, 0);
        assert_int_equal(plan->visible.count, visible + 1);
        plan_free(plan);
}

static void only_a_network_that_is_allowed_has_capabilities(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = plan_of(new_policy("dev"), &windows);

        (void)state;
        assert_int_equal(step_at(plan, PLAN_CONTAINER, NULL)->value, 0);
        plan_free(plan);
        set(policy, "network.mode", "allow");
        plan = plan_of(policy, &windows);
        assert_int_equal(step_at(plan, PLAN_CONTAINER, NULL)->value, PLAN_INTERNET | PLAN_PRIVATE_NETWORK);
        plan_free(plan);
}

static void what_has_windows_in_it_is_given_to_nobody(void **state)
{
        abatis_host host = windows;
        struct plan *plan = plan_of(new_policy("dev"), &host);

        (void)state;
        assert_non_null(step_at(plan, PLAN_WRITABLE, at("ws")));
        plan_free(plan);
        snprintf(host.container.trees[0], sizeof(host.container.trees[0]), "%s", at("ws/Windows"));
        plan = plan_of(new_policy("dev"), &host);
        assert_null(step_at(plan, PLAN_WRITABLE, NULL));
        assert_non_null(strstr(plan->closed.items[0], "given to no container"));
        plan_free(plan);
}

/* ---- random policies ------------------------------------------------------------------------------------- */

/* What the steps say of a path: the deepest one that it lies below decides. */
static bool opens(const struct plan *plan, abatis_access access, const char *real)
{
        const struct step *nearest = NULL;

        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *step = &plan->steps[i];
                bool is_place = step->op == PLAN_SHOW || step->op == PLAN_WRITABLE ||
                                step->op == PLAN_PROTECT || step->op == PLAN_HIDE;

                if (is_place && path_is_below(real, step->path) &&
                    (!nearest || step->length > nearest->length || step->op == PLAN_HIDE))
                        nearest = step;
        }
        if (!nearest || nearest->op == PLAN_HIDE)
                return false;
        if (access == ABATIS_WRITE)
                return nearest->op == PLAN_WRITABLE;
        return access == ABATIS_READ || nearest->op == PLAN_PROTECT || !nearest->value;
}

static bool holds_files(const struct plan *plan)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (plan->clauses[i].kind <= CLAUSE_PROTECT && !plan_is_held(plan, i))
                        return false;
        return true;
}

static bool is_given(const struct plan *plan, const char *real)
{
        for (size_t i = 0; i < plan->step_count; i++)
                if ((plan->steps[i].op == PLAN_SHOW || plan->steps[i].op == PLAN_WRITABLE) &&
                    path_is_below(real, plan->steps[i].path))
                        return true;
        return false;
}

static void compare(const abatis_policy *policy, const struct plan *plan, const char *real)
{
        static const abatis_access accesses[] = { ABATIS_READ, ABATIS_WRITE, ABATIS_EXECUTE };

        for (size_t i = 0; i < COUNT(accesses); i++) {
                bool is_allowed, is_open = opens(plan, accesses[i], real);

                policy_decide(policy, accesses[i], real, &is_allowed);
                if (is_open && !is_allowed)
                        fail_msg("access %d to '%s' is open and should not be", accesses[i], real);
                if (is_given(plan, real) && !is_open && is_allowed)
                        fail_msg("access %d to '%s' is closed inside a given tree", accesses[i], real);
        }
}

/* Where rules meet, besides any path: each one's own, and one below it. */
static void compare_rules(const abatis_policy *policy, const struct plan *plan)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                char *below;

                if (policy->rules[i].glob || policy->rules[i].facts.kind == PATH_ABSENT)
                        continue;
                below = world_join(policy->rules[i].facts.real, "below");
                compare(policy, plan, policy->rules[i].facts.real);
                compare(policy, plan, below);
                free(below);
        }
}

/* Whatever lies in a writable tree above an exception. */
static void assert_pinned(const struct plan *plan)
{
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *hole = &plan->steps[i];

                if (hole->op != PLAN_HIDE && hole->op != PLAN_PROTECT)
                        continue;
                for (size_t length = hole->length; length > 1; length--) {
                        char *above = strndup(hole->path, length - 1);

                        if (hole->path[length - 1] == '/' && opens(plan, ABATIS_WRITE, above) &&
                            !step_at(plan, PLAN_PIN, above) && !step_at(plan, PLAN_WRITABLE, above))
                                fail_msg("'%s' can be moved away with '%s' in it", above, hole->path);
                        free(above);
                }
        }
}

static void plans_open_what_check_allows_and_no_more(void **state)
{
        unsigned judged = 0;

        (void)state;
        make_dir("world");
        world_make(at("world"));
        for (unsigned seed = 1; seed <= 1500; seed++) {
                abatis_policy *policy;
                struct plan *plan;

                world_seed(seed);
                policy = world_policy();
                plan = plan_new(policy, BACKEND_APPCONTAINER);
                backend_appcontainer.compile(policy, &windows, plan);
                assert_false(plan->has_failed);
                for (int i = 0; holds_files(plan) && i < 60; i++) {
                        char *real = world_path();

                        compare(policy, plan, real);
                        free(real);
                }
                if (holds_files(plan)) {
                        compare_rules(policy, plan);
                        assert_pinned(plan);
                }
                judged += holds_files(plan);
                plan_free(plan);
                abatis_policy_free(policy);
        }
        world_forget();
        /* Or nothing was compared. */
        assert_true(judged > 150);
}

static void without_memory_there_is_no_weaker_plan(void **state)
{
        abatis_policy *policy = new_policy("dev");
        size_t steps = 0;

        (void)state;
        make_file("ws/a/secret", "");
        set(policy, "filesystem.deny", at("ws/a/secret"));
        assert_int_equal(policy_finish(policy, NULL), 0);
        has_failed = true;
        for (long failing = 0; has_failed; failing++) {
                struct plan *plan;

                has_failed = false;
                countdown = failing;
                plan = plan_new(policy, BACKEND_APPCONTAINER);
                if (plan)
                        backend_appcontainer.compile(policy, &windows, plan);
                countdown = 0;
                if (!steps) {
                        steps = plan->step_count;
                        has_failed = true; /* go on */
                } else if (plan && !plan->has_failed)
                        assert_int_equal(plan->step_count, steps);
                else if (plan)
                        assert_true(plan_check(plan, true, NULL) < 0);
                plan_free(plan);
        }
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(presets_are_held_but_the_strict_one),
                POLICY_TEST(every_clause_is_held_or_missed_with_a_reason),
                POLICY_TEST(what_windows_cannot_hold_is_missed_by_name),
                POLICY_TEST(what_differs_little_from_that_is_held),
                POLICY_TEST(who_is_elevated_is_told_so),
                POLICY_TEST(what_windows_opens_to_all_cannot_be_denied),
                POLICY_TEST(exceptions_are_left_out_and_what_is_above_them_stays),
                POLICY_TEST(what_is_denied_elsewhere_is_looked_at),
                POLICY_TEST(what_is_denied_has_no_part_that_is_given),
                POLICY_TEST(nothing_runs_before_the_last_look),
                POLICY_TEST(who_is_in_a_job_object_is_told_of_the_clipboard),
                POLICY_TEST(only_a_network_that_is_allowed_has_capabilities),
                POLICY_TEST(what_has_windows_in_it_is_given_to_nobody),
                POLICY_TEST(plans_open_what_check_allows_and_no_more),
                POLICY_TEST(without_memory_there_is_no_weaker_plan),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
