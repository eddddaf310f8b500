/* test_plan.c: the promise: a clause that no step enforces is an error that names it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "backend/backend.h"
#include "plan/plan.h"
#include "policies.h"

/* Every clause covered by one step, but for `left_out`. */
static struct plan *cover_all_but(const abatis_policy *policy, size_t left_out)
{
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        size_t step = plan_step(plan, PLAN_SECCOMP, NULL, 0);

        for (size_t i = 0; i < plan->clause_count; i++)
                if (i != left_out) {
                        size_t count = plan->cover_count;

                        plan_cover(plan, step, plan->clauses[i].kind, plan->clauses[i].index);
                        assert_int_equal(plan->cover_count, count + 1);
                        assert_true(plan->clauses[plan->covers[count].clause].is_covered);
                }
        /* Clauses of one kind and index are found by the first; each is meant. */
        for (size_t i = 0; i < plan->clause_count; i++)
                plan->clauses[i].is_covered = i != left_out;
        return plan;
}

/* ---- clauses -------------------------------------------------------------------------------------------- */

static bool has_clause(const struct plan *plan, const char *name)
{
        for (size_t i = 0; i < plan->clause_count; i++)
                if (!strcmp(plan->clauses[i].name, name))
                        return true;
        return false;
}

static void everything_that_was_promised_is_a_clause(void **state)
{
        static const char *const names[] = { "filesystem.read",
                                             "filesystem.write",
                                             "filesystem.execute",
                                             "filesystem.deny **/.env",
                                             "filesystem.protect *.lock",
                                             "filesystem.tmp private",
                                             "network.mode unix-only",
                                             "network.abstract none",
                                             "network.connect example.org:443",
                                             "network.bind 8080",
                                             "network.unix /run/socket",
                                             "process.commands git, sh",
                                             "process.check_arguments",
                                             "process.privacy",
                                             "process.lifetime",
                                             "process.ipc",
                                             "process.devices",
                                             "process.terminal",
                                             "process.privileges",
                                             "process.kernel",
                                             "process.descriptors",
                                             "environment",
                                             "limits.timeout",
                                             "limits.output",
                                             "limits.open_files",
                                             "limits.file_size",
                                             "limits.processes",
                                             "limits.memory",
                                             "limits.cpu",
                                             "limits.written",
                                             "limits.connections",
                                             "limits.connections_per_second",
                                             "limits.traffic" };
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        char name[512];

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (!has_clause(plan, names[i]))
                        fail_msg("no clause '%s'", names[i]);
        snprintf(name, sizeof(name), "filesystem.deny %s", at("ws/denied"));
        assert_true(has_clause(plan, name));
        snprintf(name, sizeof(name), "filesystem.protect %s", at("ws/kept"));
        assert_true(has_clause(plan, name));
        plan_free(plan);
        abatis_policy_free(policy);
}

static void a_list_promises_that_names_are_checked_unless_told_otherwise(void **state)
{
        (void)state;
        for (int i = 0; i < 3; i++) {
                abatis_policy *policy = new_policy("dev");
                struct plan *plan;

                if (i)
                        set(policy, "network.mode", "list");
                if (i == 2)
                        set(policy, "network.verify_sni", "false");
                plan = plan_new(policy, BACKEND_NATIVE);
                assert_int_equal(has_clause(plan, "network.verify_sni true"), i == 1);
                plan_free(plan);
                abatis_policy_free(policy);
        }
}

static void a_policy_that_reads_all_promises_nothing_of_reading(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);

        (void)state;
        assert_false(has_clause(plan, "filesystem.read"));
        assert_false(has_clause(plan, "filesystem.execute"));
        assert_false(has_clause(plan, "network.abstract none")); /* no unix socket at all */
        assert_true(has_clause(plan, "filesystem.write"));
        assert_true(has_clause(plan, "network.mode deny"));
        plan_free(plan);
        abatis_policy_free(policy);
}

/* ---- coverage ------------------------------------------------------------------------------------------- */

static void a_plan_that_covers_every_clause_passes(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = cover_all_but(policy, (size_t)-1);
        abatis_error err;

        (void)state;
        assert_int_equal(plan_check(plan, false, &err), 0);
        assert_int_equal(plan_check(plan, true, &err), 0);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void any_clause_without_a_step_is_an_error_that_names_it(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        size_t count = plan->clause_count;

        (void)state;
        plan_free(plan);
        assert_true(count >= 30);
        for (size_t i = 0; i < count; i++) {
                abatis_error err = { 0 };

                plan = cover_all_but(policy, i);
                assert_false(plan_is_held(plan, i));
                assert_int_equal(plan_check(plan, false, &err), ABATIS_E_UNENFORCEABLE);
                assert_int_equal(err.code, ABATIS_E_UNENFORCEABLE);
                assert_ptr_equal(strstr(err.message, plan->clauses[i].name), err.message);
                assert_int_equal(plan_check(plan, false, NULL), ABATIS_E_UNENFORCEABLE);
                assert_int_equal(plan_check(plan, true, &err), 0);
                plan_free(plan);
        }
        abatis_policy_free(policy);
}

static void a_reason_outweighs_a_step(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = cover_all_but(policy, (size_t)-1);
        abatis_error err;

        (void)state;
        plan_miss(plan, CLAUSE_WRITE, PLAN_NO_INDEX, "the moon is in the %s house", "seventh");
        assert_int_equal(plan_check(plan, false, &err), ABATIS_E_UNENFORCEABLE);
        assert_string_equal(err.message,
                            "filesystem.write cannot be enforced: the moon is in the seventh house");
        /* The first reason stands. */
        plan_miss(plan, CLAUSE_WRITE, PLAN_NO_INDEX, "another");
        assert_int_equal(plan_check(plan, false, &err), ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(err.message, "seventh"));
        assert_int_equal(plan_check(plan, true, &err), 0);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void an_exception_of_each_kind_can_be_missed(void **state)
{
        static const enum clause_kind kinds[] = { CLAUSE_CONNECT, CLAUSE_BIND, CLAUSE_UNIX };
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        size_t missed = 0;

        (void)state;
        for (int i = 0; i < 3; i++)
                plan_miss(plan, kinds[i], 0, "not in this version");
        for (size_t i = 0; i < plan->clause_count; i++)
                for (int j = 0; j < 3; j++)
                        missed += plan->clauses[i].kind == kinds[j] && plan->clauses[i].reason;
        assert_int_equal(missed, 3);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void covering_what_was_not_promised_changes_nothing(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        size_t step = plan_step(plan, PLAN_SECCOMP, NULL, 0);

        (void)state;
        plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_LIMIT, LIMIT_MEMORY);
        plan_cover(plan, step, CLAUSE_DENY, 4711);
        plan_miss(plan, CLAUSE_COMMANDS, PLAN_NO_INDEX, "x");
        assert_int_equal(plan->cover_count, 0);
        plan_free(plan);
        abatis_policy_free(policy);
}

/* ---- builders ------------------------------------------------------------------------------------------- */

static void steps_keep_their_order_and_own_their_strings(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        char path[16] = "/changing";

        (void)state;
        for (size_t i = 0; i < 1000; i++)
                assert_int_equal(plan_step(plan, PLAN_HIDE, path, i), i);
        plan_target(plan, 3, path);
        plan_grant(plan, path, GRANT_READ, false);
        path[1] = 'X';
        for (size_t i = 0; i < 1000; i++) {
                assert_string_equal(plan->steps[i].path, "/changing");
                assert_int_equal(plan->steps[i].value, i);
        }
        assert_string_equal(plan->steps[3].target, "/changing");
        assert_string_equal(plan->grants[0].path, "/changing");
        plan_free(plan);
        abatis_policy_free(policy);
        plan_free(NULL);
}

static void a_failed_plan_takes_nothing_more_and_never_passes(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = plan_new(policy, BACKEND_NATIVE);
        size_t step = plan_step(plan, PLAN_SECCOMP, NULL, 0);
        abatis_error err;

        (void)state;
        plan->has_failed = true;
        plan_step(plan, PLAN_HIDE, "/x", 0);
        plan_target(plan, step, "/x");
        plan_grant(plan, "/x", GRANT_READ, false);
        plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
        plan_cover_all(plan, step, CLAUSE_NETWORK);
        assert_int_equal(plan->step_count, 1);
        assert_int_equal(plan->grant_count, 0);
        assert_int_equal(plan->cover_count, 0);
        assert_null(plan->steps[step].target);
        assert_int_equal(plan_check(plan, false, &err), ABATIS_E_MEMORY);
        assert_int_equal(plan_check(plan, true, &err), ABATIS_E_MEMORY);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void every_step_has_a_name(void **state)
{
        (void)state;
        for (int op = PLAN_NAMESPACES; op <= PLAN_OUTPUT; op++)
                assert_true(plan_op_name((enum plan_op)op) && *plan_op_name((enum plan_op)op));
}

/* ---- printed -------------------------------------------------------------------------------------------- */

static void what_was_compiled_can_be_printed_both_ways(void **state)
{
        static const abatis_format formats[] = { ABATIS_TEXT, ABATIS_JSON };
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = NULL;

        (void)state;
        assert_int_equal(backend_compile(policy, &able, true, &plan, NULL), 0);
        for (size_t i = 0; i < 2; i++) {
                char *text = NULL;

                assert_int_equal(plan_print(plan, policy, &able, formats[i], &text, NULL), 0);
                for (size_t j = 0; j < plan->clause_count; j++)
                        if (!strstr(text, plan->clauses[j].name))
                                fail_msg("'%s' is not printed", plan->clauses[j].name);
                free(text);
        }
        plan_free(plan);
        abatis_policy_free(policy);
}

static bool is_true(const json_t *object, const char *key)
{
        return json_is_true(json_object_get(object, key));
}

static void a_plan_in_json_says_what_the_plan_says(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan = NULL;
        json_t *root, *item;
        char *text = NULL;
        size_t i;

        (void)state;
        assert_int_equal(backend_compile(policy, &able, true, &plan, NULL), 0);
        assert_int_equal(plan_print(plan, policy, &able, ABATIS_JSON, &text, NULL), 0);
        root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "preset")), "strict");
        assert_string_equal(json_string_value(json_object_get(root, "workspace")), at("ws"));
        assert_int_equal(json_array_size(json_object_get(root, "clauses")), plan->clause_count);
        assert_int_equal(json_array_size(json_object_get(root, "steps")), plan->step_count);
        assert_int_equal(json_array_size(json_object_get(root, "landlock")), plan->grant_count);
        json_array_foreach(json_object_get(root, "clauses"), i, item)
        {
                assert_string_equal(json_string_value(json_object_get(item, "clause")),
                                    plan->clauses[i].name);
                assert_int_equal(is_true(item, "enforced"), plan_is_held(plan, i));
                assert_int_equal(json_is_null(json_object_get(item, "reason")), !plan->clauses[i].reason);
        }
        json_array_foreach(json_object_get(root, "steps"), i, item)
        {
                assert_string_equal(json_string_value(json_object_get(item, "step")),
                                    plan_op_name(plan->steps[i].op));
        }
        json_array_foreach(json_object_get(root, "landlock"), i, item)
        {
                assert_string_equal(json_string_value(json_object_get(item, "path")), plan->grants[i].path);
                assert_int_equal(is_true(item, "read"), !!(plan->grants[i].rights & GRANT_READ));
                assert_int_equal(is_true(item, "write"), !!(plan->grants[i].rights & GRANT_WRITE));
                assert_int_equal(is_true(item, "execute"), !!(plan->grants[i].rights & GRANT_EXECUTE));
        }
        json_decref(root);
        free(text);
        plan_free(plan);
        abatis_policy_free(policy);
}

/* ---- the doctor's report -------------------------------------------------------------------------------- */

static void a_host_without_what_is_required_is_not_ready_and_says_so(void **state)
{
        struct host_finding findings[] = { { "seccomp", true, true, "a filter was loaded" },
                                           { "bubblewrap", false, false, "not \"needed\"\n" } };
        const struct host_backend backends[] = { { "native", NULL, NULL },
                                                 { "bwrap", "0.3.1", "too \"old\"" } };
        abatis_host host = able;
        char *text = NULL, *json = NULL;

        (void)state;
        host.finding_count = 2;
        host.findings = findings;
        assert_true(host_is_ready(&host));
        findings[0].is_available = false;
        assert_false(host_is_ready(&host));
        assert_int_equal(host_print(&host, backends, 2, ABATIS_TEXT, &text, NULL), 0);
        assert_non_null(strstr(text, "6.18.0"));
        assert_non_null(strstr(text, "NO  seccomp"));
        assert_non_null(strstr(text, "no  bubblewrap"));
        assert_non_null(strstr(text, "cannot hold"));
        assert_int_equal(host_print(&host, backends, 2, ABATIS_JSON, &json, NULL), 0);
        assert_non_null(strstr(text, "no  bwrap                too \"old\"\n"));
        assert_non_null(strstr(json, "\"ready\": false"));
        assert_non_null(strstr(json, "\"version\": \"0.3.1\""));
        assert_non_null(strstr(json, "\\\"needed\\\"\\n"));
        free(text);
        free(json);
        findings[0].is_available = true;
        host.namespaces = NAMESPACES_NONE;
        assert_false(host_is_ready(&host));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(everything_that_was_promised_is_a_clause),
                POLICY_TEST(a_list_promises_that_names_are_checked_unless_told_otherwise),
                POLICY_TEST(a_policy_that_reads_all_promises_nothing_of_reading),
                POLICY_TEST(a_plan_that_covers_every_clause_passes),
                POLICY_TEST(any_clause_without_a_step_is_an_error_that_names_it),
                POLICY_TEST(a_reason_outweighs_a_step),
                POLICY_TEST(an_exception_of_each_kind_can_be_missed),
                POLICY_TEST(covering_what_was_not_promised_changes_nothing),
                POLICY_TEST(steps_keep_their_order_and_own_their_strings),
                POLICY_TEST(a_failed_plan_takes_nothing_more_and_never_passes),
                cmocka_unit_test(every_step_has_a_name),
                POLICY_TEST(what_was_compiled_can_be_printed_both_ways),
                POLICY_TEST(a_plan_in_json_says_what_the_plan_says),
                cmocka_unit_test(a_host_without_what_is_required_is_not_ready_and_says_so),
        };

        return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
