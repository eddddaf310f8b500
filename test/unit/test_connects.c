/* test_connects.c: where the broker makes the connections, and where a plan without one is refused. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "plan/plan.h"
#include "policies.h"

static const abatis_host host_of_all = { .kernel = "6.18.0",
                                         .machine = "aarch64",
                                         .uid = 1000,
                                         .gid = 1000,
                                         .landlock_abi = 7,
                                         .has_mount_setattr = true,
                                         .has_broker = true,
                                         .has_descriptors = true,
                                         .namespaces_reason = "they are forbidden" };

static const struct {
        enum host_namespaces namespaces;
        const char *network, *key, *path;
        unsigned asks;
} cases[] = {
        { NAMESPACES_NONE, "deny", "filesystem.deny", "outside", 0 },
        { NAMESPACES_NONE, "unix-only", "filesystem.deny", "outside", BROKER_CONNECTS },
        { NAMESPACES_NONE, "allow", "filesystem.deny", "outside", BROKER_CONNECTS },
        { NAMESPACES_NONE, "allow", "filesystem.deny", "absent", BROKER_CONNECTS },
        { NAMESPACES_NONE, "allow", "filesystem.deny_glob", "**/.env",
          BROKER_CONNECTS | BROKER_READS | BROKER_WRITES },
        /* Others' sockets in /tmp. */
        { NAMESPACES_NONE, "allow", "filesystem.read", "outside", BROKER_CONNECTS },
        /* A mount is on what is there. */
        { NAMESPACES_USER, "allow", "filesystem.deny", "outside", 0 },
        { NAMESPACES_USER, "deny", "filesystem.deny_glob", "**/.env", BROKER_READS | BROKER_WRITES },
        { NAMESPACES_USER, "unix-only", "filesystem.deny_glob", "**/.env",
          BROKER_CONNECTS | BROKER_READS | BROKER_WRITES },
        { NAMESPACES_USER, "allow", "filesystem.deny", "ws/absent",
          BROKER_CONNECTS | BROKER_READS | BROKER_WRITES },
        { NAMESPACES_USER, "allow", "filesystem.protect", "ws/absent", BROKER_WRITES },
};

static void try_case(size_t index, bool has_descriptors)
{
        bool is_glob = *cases[index].path == '*',
             is_missed = cases[index].asks & BROKER_CONNECTS && !has_descriptors;
        abatis_policy *policy = new_policy("dev");
        abatis_host host = host_of_all;
        abatis_error err = { .message = "" };
        struct plan *plan = NULL;
        int r;

        host.has_descriptors = has_descriptors;
        host.namespaces = cases[index].namespaces;
        set(policy, "network.mode", cases[index].network);
        set(policy, cases[index].key, is_glob ? cases[index].path : at("%s", cases[index].path));
        r = backend_compile(policy, &host, false, &plan, &err);
        if (r != (is_missed ? ABATIS_E_UNENFORCEABLE : 0))
                fail_msg("case %zu: %d %s", index, r, err.message);
        if (is_missed)
                assert_non_null(strstr(err.message, "pidfd_getfd is refused"));
        else
                assert_int_equal(plan_broker_asks(plan), cases[index].asks);
        plan_free(plan);
        /* On request it goes on without, and connects itself. */
        assert_int_equal(backend_compile(policy, &host, true, &plan, NULL), 0);
        assert_int_equal(plan_broker_asks(plan), has_descriptors
                                                         ? cases[index].asks
                                                         : cases[index].asks & ~(unsigned)BROKER_CONNECTS);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void connections_are_asked_about_where_no_mount_keeps_them_off(void **state)
{
        (void)state;
        make_dir("outside");
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                try_case(i, true);
}

static void without_the_callers_sockets_they_are_refused_by_name(void **state)
{
        (void)state;
        make_dir("outside");
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                try_case(i, false);
}

/* Every clause that is held by it says so. */
static void denied_paths_are_covered_by_the_broker(void **state)
{
        abatis_policy *policy = new_policy("mcp");
        abatis_host host = host_of_all;
        struct plan *plan = NULL;
        size_t denied = 0;

        (void)state;
        make_dir("outside");
        set(policy, "filesystem.deny", at("outside"));
        assert_int_equal(backend_compile(policy, &host, false, &plan, NULL), 0);
        for (size_t i = 0; i < plan->clause_count; i++) {
                bool is_covered = false;

                if (plan->clauses[i].kind != CLAUSE_DENY && plan->clauses[i].kind != CLAUSE_TMP)
                        continue;
                denied++;
                for (size_t j = 0; j < plan->cover_count; j++)
                        is_covered |= plan->covers[j].clause == i &&
                                      plan->steps[plan->covers[j].step].op == PLAN_BROKER;
                assert_true(is_covered);
        }
        assert_in_range(denied, 2, 100);
        plan_free(plan);
        abatis_policy_free(policy);
}

static const struct {
        enum host_namespaces namespaces;
        const char *network, *socket;
        unsigned asks;
        const char *obstacle; /* NULL: there is none */
} lists[] = {
        { NAMESPACES_USER, "deny", "outside/socket", BROKER_SOCKETS, NULL },
        { NAMESPACES_USER, "list", "outside/socket", BROKER_SOCKETS, NULL },
        { NAMESPACES_ROOT, "deny", "outside/socket", BROKER_SOCKETS, NULL },
        { NAMESPACES_NONE, "deny", "outside/socket", BROKER_SOCKETS, NULL },
        /* The command could put another there. */
        { NAMESPACES_USER, "deny", "ws/socket", BROKER_SOCKETS | BROKER_WRITES, NULL },
        { NAMESPACES_NONE, "deny", "ws/socket", BROKER_SOCKETS | BROKER_WRITES, NULL },
        { NAMESPACES_USER, "unix-only", "outside/socket", 0, "unix-only lets every unix socket through" },
        { NAMESPACES_USER, "allow", "outside/socket", 0, "allow lets every unix socket through" },
        { NAMESPACES_USER, "deny", "denied/socket", 0, "filesystem.deny" },
};

static void try_list(size_t index, bool has_descriptors)
{
        const char *obstacle = lists[index].obstacle;
        abatis_policy *policy = new_policy("dev");
        abatis_host host = host_of_all;
        abatis_error err = { .message = "" };
        struct plan *plan = NULL;
        int r;

        if (!obstacle && !has_descriptors)
                obstacle = "pidfd_getfd is refused";
        host.has_descriptors = has_descriptors;
        host.namespaces = lists[index].namespaces;
        set(policy, "network.mode", lists[index].network);
        set(policy, "network.unix", at("%s", lists[index].socket));
        set(policy, "filesystem.deny", at("denied"));
        r = backend_compile(policy, &host, false, &plan, &err);
        if (r != (obstacle ? ABATIS_E_UNENFORCEABLE : 0))
                fail_msg("case %zu: %d %s", index, r, err.message);
        if (obstacle && (strncmp(err.message, "network.unix ", 13) || !strstr(err.message, obstacle)))
                fail_msg("case %zu: %s", index, err.message);
        if (!obstacle)
                assert_int_equal(plan_broker_asks(plan), lists[index].asks);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void listed_sockets_are_connected_by_the_broker(void **state)
{
        (void)state;
        make_dir("outside");
        make_dir("denied");
        for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
                try_list(i, true);
                try_list(i, false);
        }
}

static void refuse_socket(const char *path, const char *words)
{
        abatis_policy *policy = new_policy("dev");
        abatis_error err = { .message = "" };

        set(policy, "network.unix", path);
        assert_int_equal(policy_finish(policy, &err), ABATIS_E_INVALID);
        if (strncmp(err.message, "network.unix", 12) || !strstr(err.message, words))
                fail_msg("%s", err.message);
        abatis_policy_free(policy);
}

static void listed_sockets_are_found_with_the_policy(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("outside");
        assert_int_equal(symlink("outside", at("way")), 0);
        assert_int_equal(symlink("../outside/other", at("ws/planted")), 0);
        policy = new_policy("dev");
        set(policy, "network.unix", at("way//socket"));
        /* Once more changes nothing, as after every change. */
        for (int i = 0; i < 2; i++) {
                policy->is_finished = false;
                assert_int_equal(policy_finish(policy, NULL), 0);
                assert_int_equal(policy->socket_places.count, 1);
                assert_string_equal(policy->socket_places.items[0], at("outside/socket"));
                assert_string_equal(policy->socket_names.items[0], at("way/socket"));
        }
        abatis_policy_free(policy);
        refuse_socket(at("ws/planted"), "may be planted");
        refuse_socket(at("outside"), "is no socket");
        refuse_socket("/proc/socket", "its own /proc");
        refuse_socket("/dev/socket", "its own /dev");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(connections_are_asked_about_where_no_mount_keeps_them_off),
                POLICY_TEST(without_the_callers_sockets_they_are_refused_by_name),
                POLICY_TEST(denied_paths_are_covered_by_the_broker),
                POLICY_TEST(listed_sockets_are_connected_by_the_broker),
                POLICY_TEST(listed_sockets_are_found_with_the_policy),
        };

        return cmocka_run_group_tests_name("connects", tests, NULL, NULL);
}
