/* test_native.c: what the native backend makes of a rule: a step that holds it, or a refusal that names it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "plan/plan.h"
#include "policies.h"

/* What the backend says to one more rule on a workspace policy; the message is in check_text. */
static int compile_with(const abatis_host *host, const char *preset, const char *key, const char *value)
{
        abatis_policy *policy = new_policy(preset);
        struct plan *plan = NULL;
        abatis_error err = { .message = "" };
        int r;

        set(policy, key, value);
        r = backend_compile(policy, host, false, &plan, &err);
        snprintf(check_text, sizeof(check_text), "%s", err.message);
        assert_int_equal(!r, !!plan);
        plan_free(plan);
        if (r == ABATIS_E_UNENFORCEABLE) {
                plan = NULL;
                assert_int_equal(backend_compile(policy, host, true, &plan, &err), 0);
                plan_free(plan);
        }
        abatis_policy_free(policy);
        return r;
}

static void what_this_version_cannot_do_is_refused_by_name(void **state)
{
        static const char *const cases[][2] = {
                { "network.connect", "example.org:443" }, /* without a list */
                { "network.bind", "8080" },               /* likewise */
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                const char *key = cases[i][0];

                assert_int_equal(compile_with(&able, "dev", key, cases[i][1]), ABATIS_E_UNENFORCEABLE);
                if (strncmp(check_text, key, strlen(key)) != 0)
                        fail_msg("'%s' does not start with '%s'", check_text, key);
        }
}

static unsigned check_asks;

static int compile_list(const abatis_host *host, const char *first, const char *second)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = NULL;
        abatis_error err = { .message = "" };
        int r;

        set(policy, "network.mode", "list");
        set(policy, "network.connect", first);
        set(policy, "network.connect", second);
        r = backend_compile(policy, host, false, &plan, &err);
        snprintf(check_text, sizeof(check_text), "%s", err.message);
        assert_true(r || plan_has(plan, host->namespaces ? PLAN_NETWORK : PLAN_STREAMS));
        assert_true(r || host->namespaces || plan_broker_asks(plan) & BROKER_STREAMS);
        check_asks = plan ? plan_broker_asks(plan) : 0;
        plan_free(plan);
        abatis_policy_free(policy);
        return r;
}

static int compile_published(const abatis_host *host, const char *place)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = NULL;
        abatis_error err = { .message = "" };
        int r;

        set(policy, "network.mode", "list");
        set(policy, "network.connect", place);
        set(policy, "network.bind", "8080");
        r = backend_compile(policy, host, false, &plan, &err);
        snprintf(check_text, sizeof(check_text), "%s", err.message);
        plan_free(plan);
        abatis_policy_free(policy);
        return r;
}

static void a_list_needs_a_network_of_its_own_and_a_broker_for_many_ports(void **state)
{
        abatis_host host = able;

        (void)state;
        host.has_broker = false;
        snprintf(host.broker_reason, sizeof(host.broker_reason), "there is none");
        assert_int_equal(compile_list(&host, "example.org:443", "*.example.org:8000-8062"), 0);
        assert_int_equal(compile_list(&host, "example.org:443", "example.org:443,8000-8063"),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, "network.connect example.org:443,8000-8063"));
        assert_non_null(strstr(check_text, "there is none"));
        assert_int_equal(compile_list(&host, "example.org:443", "10.0.0.0/8:*"), ABATIS_E_UNENFORCEABLE);
        host.has_broker = true;
        assert_int_equal(compile_list(&host, "example.org:443", "*.example.org:8000-8062"), 0);
        assert_int_equal(check_asks, 0);
        assert_int_equal(compile_list(&host, "example.org:443", "example.org:443,8000-8063"), 0);
        assert_int_equal(check_asks, BROKER_DOORS);
        assert_int_equal(compile_list(&host, "example.org:443", "10.0.0.0/8:*"), 0);
        assert_int_equal(check_asks, BROKER_DOORS);
        assert_int_equal(compile_list(&host, "*.example.org:8000-8062", "example.org:8000-8063/udp"), 0);
        assert_int_equal(compile_list(&host, "example.org:443/udp", "example.org:8000-8063/udp"),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, "network.connect example.org:8000-8063/udp"));
}

static void without_namespaces_a_list_needs_sockets_of_others(void **state)
{
        abatis_host host = able;

        (void)state;
        host.namespaces = NAMESPACES_NONE;
        host.has_broker = host.has_descriptors = true;
        assert_int_equal(compile_list(&host, "example.org:443", "*.example.org:*"), 0);
        assert_int_equal(compile_list(&host, "example.org:443", "example.org:443/udp"),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, "network.connect example.org:443/udp"));
        host.has_descriptors = false;
        assert_int_equal(compile_list(&host, "example.org:443", "example.org:80"), ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, "pidfd_getfd"));
        host.has_broker = false;
        assert_int_equal(compile_list(&host, "example.org:443", "example.org:80"), ABATIS_E_UNENFORCEABLE);
}

static void a_port_is_published_from_a_network_of_its_own(void **state)
{
        abatis_host host = able;
        static const struct {
                const char *place;
                bool leads_back;
        } given[] = { { "10.0.0.1:8080", false },   { "127.0.0.1:8081", false },
                      { "127.0.0.2:8080", false },  { "0.0.0.0/0:8080", false },
                      { "127.0.0.1:8080", true },   { "[::1]:8080-8090", true },
                      { "127.0.0.0/8:8080", true }, { "127.0.0.1:8080/udp", false } };

        (void)state;
        for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
                assert_int_equal(compile_published(&host, given[i].place),
                                 given[i].leads_back ? ABATIS_E_UNENFORCEABLE : 0);
                assert_int_equal(!strncmp(check_text, "network.bind 8080", 17), given[i].leads_back);
        }
        host.namespaces = NAMESPACES_NONE;
        assert_int_equal(compile_published(&host, "10.0.0.1:8080"), ABATIS_E_UNENFORCEABLE);
        host.has_broker = host.has_descriptors = true;
        assert_int_equal(compile_published(&host, "10.0.0.1:8080"), ABATIS_E_UNENFORCEABLE);
        assert_int_equal(strncmp(check_text, "network.bind 8080", 17), 0);
}

static void datagrams_are_refused_that_would_not_go_where_they_are_sent(void **state)
{
        static const char *const refused[] = { "example.org:53/udp", "10.0.0.0/8:1-64/udp",
                                               "224.0.0.251:5353/udp", "[ff02::fb]:5353/udp",
                                               "224.0.0.0/4:5353/udp" };

        (void)state;
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
                assert_int_equal(compile_list(&able, "example.org:443/udp", refused[i]),
                                 ABATIS_E_UNENFORCEABLE);
                assert_non_null(strstr(check_text, refused[i]));
        }
        assert_int_equal(compile_list(&able, "example.org:53", "[2001:db8::/32]:52,54/udp"), 0);
}

static void a_limit_of_a_tree_is_refused_where_nothing_holds_it(void **state)
{
        abatis_host host = able;

        (void)state;
        host.has_io_accounting = true;
        assert_int_equal(compile_with(&host, "dev", "limits.memory", "1G"), 0);
        assert_int_equal(compile_with(&host, "dev", "limits.cpu", "1s"), 0);
        assert_int_equal(compile_with(&host, "dev", "limits.written", "1G"), 0);
        host.has_io_accounting = false;
        assert_int_equal(compile_with(&host, "dev", "limits.written", "1G"), ABATIS_E_UNENFORCEABLE);
        host.namespaces = NAMESPACES_ROOT;
        assert_int_equal(compile_with(&host, "dev", "limits.processes", "9"), ABATIS_E_UNENFORCEABLE);
        host.cgroup = (struct host_cgroup){ .directory = "/cg", .has_memory = true };
        assert_int_equal(compile_with(&host, "dev", "limits.processes", "9"), ABATIS_E_UNENFORCEABLE);
        host.cgroup.has_pids = true;
        assert_int_equal(compile_with(&host, "dev", "limits.processes", "9"), 0);
}

static void without_namespaces_a_tree_is_counted_unless_somebody_could_hide(void **state)
{
        static const char *const counted[] = { "limits.memory", "limits.cpu", "limits.written" };
        abatis_host host = able;

        (void)state;
        host.namespaces = NAMESPACES_NONE;
        host.has_broker = true;
        host.has_io_accounting = true;
        for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
                const char *value = i == 1 ? "1s" : "1G";

                *host.hidden_reason = '\0';
                assert_int_equal(compile_with(&host, "dev", counted[i], value), 0);
                host.is_tmp_memory = true;
                assert_int_equal(compile_with(&host, "dev", counted[i], value),
                                 i ? 0 : ABATIS_E_UNENFORCEABLE);
                host.is_tmp_memory = false;
                memcpy(host.hidden_reason, "hidden", sizeof("hidden"));
                assert_int_equal(compile_with(&host, "dev", counted[i], value), ABATIS_E_UNENFORCEABLE);
                assert_non_null(strstr(check_text, "hidden"));
                host.namespaces = NAMESPACES_USER;
                assert_int_equal(compile_with(&host, "dev", counted[i], value), 0);
                host.namespaces = NAMESPACES_NONE;
        }
        assert_int_equal(compile_with(&host, "dev", "limits.processes", "9"), ABATIS_E_UNENFORCEABLE);
}

/* A clause of the plan, by name. */
static size_t clause_named(const struct plan *plan, const char *key, const char *subject)
{
        char name[1024];

        snprintf(name, sizeof(name), "%s %s", key, subject);
        for (size_t i = 0; i < plan->clause_count; i++)
                if (!strcmp(plan->clauses[i].name, name))
                        return i;
        fail_msg("no clause '%s'", name);
        return 0;
}

static void a_pattern_is_held_by_asking(void **state)
{
        static const char *const presets[] = { "dev", "tool", "strict" };
        abatis_host hosts[] = { able, able };
        abatis_host brokerless = able;

        (void)state;
        snprintf(brokerless.broker_reason, sizeof(brokerless.broker_reason), "that takes Linux 5.9");
        hosts[0].has_broker = hosts[0].has_descriptors = true;
        hosts[1].namespaces = NAMESPACES_NONE;
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(compile_with(&hosts[0], presets[i], "filesystem.deny_glob", "**/.env"), 0);
                assert_int_equal(compile_with(&brokerless, presets[i], "filesystem.deny_glob", "**/.env"),
                                 ABATIS_E_UNENFORCEABLE);
                assert_string_equal(
                        check_text,
                        "filesystem.deny **/.env cannot be enforced: a pattern holds for files that "
                        "appear later, so a broker is needed, and that takes Linux 5.9");
        }
        for (size_t i = 0; i < 2; i++) {
                abatis_policy *policy = policy_with_everything();
                struct plan *plan = NULL;

                assert_int_equal(backend_compile(policy, &hosts[i], true, &plan, NULL), 0);
                assert_int_equal(plan_is_held(plan, clause_named(plan, "filesystem.deny", "**/.env")), !i);
                assert_int_equal(plan_is_held(plan, clause_named(plan, "filesystem.protect", "*.lock")), !i);
                plan_free(plan);
                abatis_policy_free(policy);
        }
}

/* Who only protects is not asked about what is read. */
static void only_what_a_rule_needs_is_asked_about(void **state)
{
        static const struct {
                const char *key, *path;
                unsigned asks;
        } rules[] = { { "filesystem.deny", "ws/later", BROKER_READS | BROKER_WRITES },
                      { "filesystem.protect", "ws/later", BROKER_WRITES },
                      { "filesystem.deny", "later", 0 },
                      { "filesystem.deny", "ws/there", 0 } };
        abatis_host host = able;

        (void)state;
        make_dir("ws/there");
        host.has_broker = true;
        for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
                abatis_policy *policy = new_policy("dev");
                struct plan *plan = NULL;

                set(policy, rules[i].key, at("%s", rules[i].path));
                assert_int_equal(backend_compile(policy, &host, false, &plan, NULL), 0);
                assert_int_equal(plan_broker_asks(plan), rules[i].asks);
                assert_int_equal(plan_has(plan, PLAN_BROKER), rules[i].asks != 0);
                plan_free(plan);
                abatis_policy_free(policy);
        }
}

/* With --best-effort a pattern is not there: what it would deny can be written, moved and created. */
static void nothing_else_counts_on_a_pattern_that_is_not_enforced(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = NULL;
        bool is_pinned = false;

        (void)state;
        make_file("ws/a/secret", "");
        set(policy, "filesystem.deny_glob", "**/ws/a");
        set(policy, "filesystem.deny", at("ws/a/secret"));
        set(policy, "filesystem.deny", at("ws/a/later"));
        assert_int_equal(backend_compile(policy, &able, true, &plan, NULL), 0);
        assert_true(plan_is_held(plan, clause_named(plan, "filesystem.deny", at("ws/a/secret"))));
        assert_false(plan_is_held(plan, clause_named(plan, "filesystem.deny", at("ws/a/later"))));
        assert_false(plan_is_held(plan, clause_named(plan, "filesystem.deny", "**/ws/a")));
        for (size_t i = 0; i < plan->step_count; i++)
                is_pinned |= plan->steps[i].op == PLAN_PIN && !strcmp(plan->steps[i].path, at("ws/a"));
        assert_true(is_pinned);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void a_pattern_is_printed_on_one_line(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = NULL;
        char *text = NULL;

        (void)state;
        set(policy, "filesystem.deny_glob", "**/[x]\n  filesystem.deny y");
        assert_int_equal(backend_compile(policy, &able, true, &plan, NULL), 0);
        assert_int_equal(plan_print(plan, policy, &able, ABATIS_TEXT, &text, NULL), 0);
        assert_non_null(strstr(text, "**/[x]\\n  filesystem.deny y"));
        free(text);
        plan_free(plan);
        abatis_policy_free(policy);
}

static void counting_processes_needs_a_user_namespace(void **state)
{
        abatis_host root = able;

        (void)state;
        root.namespaces = NAMESPACES_ROOT;
        root.uid = root.gid = 0;
        assert_int_equal(compile_with(&able, "dev", "limits.processes", "9"), 0);
        assert_int_equal(compile_with(&root, "dev", "limits.processes", "9"), ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, "limits.processes"));
        assert_int_equal(compile_with(&root, "dev", "limits.open_files", "9"), 0);
}

/* Where a relay counts, or where there is nothing to be counted. */
static void limits_of_connections_need_a_relay_or_no_network(void **state)
{
        static const char *const limits[] = { "limits.connections", "limits.connections_per_second",
                                              "limits.traffic" };
        static const struct {
                const char *mode, *session;
                int expected;
        } cases[] = { { "deny", "private", 0 },
                      { "deny", "shared", 0 },
                      { "list", "private", 0 },
                      { "list", "shared", ABATIS_E_UNENFORCEABLE },
                      { "unix-only", "private", ABATIS_E_UNENFORCEABLE },
                      { "allow", "private", ABATIS_E_UNENFORCEABLE } };

        (void)state;
        for (size_t i = 0; i < 3 * sizeof(cases) / sizeof(*cases); i++) {
                abatis_policy *policy = new_policy("dev");
                struct plan *plan = NULL;
                abatis_error err = { .message = "" };

                set(policy, "network.mode", cases[i / 3].mode);
                set(policy, "session", cases[i / 3].session);
                assert_int_equal(backend_compile(policy, &able, false, &plan, NULL), 0);
                plan_free(plan);
                plan = NULL;
                set(policy, limits[i % 3], "7");
                assert_int_equal(backend_compile(policy, &able, false, &plan, &err), cases[i / 3].expected);
                assert_true(!cases[i / 3].expected || strstr(err.message, limits[i % 3]));
                plan_free(plan);
                abatis_policy_free(policy);
        }
}

static void a_denied_path_that_could_be_created_needs_a_broker(void **state)
{
        (void)state;
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", at("ws/later")),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, at("ws/later")));
        assert_int_equal(compile_with(&able, "dev", "filesystem.protect", at("ws/a/b")),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, at("ws/a/b")));
        /* Where the command cannot create it, Landlock keeps whatever appears out of its reach. */
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", at("later")), 0);
        assert_int_equal(compile_with(&able, "dev", "filesystem.protect", at("later")), 0);
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", "/tmp/abatis-unit-nobody-has-this"),
                         0);
}

static void a_denied_path_behind_a_replaceable_link_is_refused_by_name(void **state)
{
        (void)state;
        make_dir("ws/real");
        make_link("ws/link", "real");
        make_dir("outside");
        make_link("outside-link", "outside");
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", at("ws/link")),
                         ABATIS_E_UNENFORCEABLE);
        assert_non_null(strstr(check_text, at("ws/link")));
        assert_int_equal(compile_with(&able, "dev", "filesystem.protect", at("ws/link")),
                         ABATIS_E_UNENFORCEABLE);
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", at("ws/real")), 0);
        assert_int_equal(compile_with(&able, "dev", "filesystem.deny", at("outside-link")), 0);
}

/* A mask can be walked round by moving what lies above it: each directory between is a mount point of its own. */
static void every_ancestor_of_a_hidden_path_below_a_writable_tree_is_pinned(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct plan *plan = NULL;
        unsigned pinned = 0, hidden = 0;

        (void)state;
        make_file("ws/a/b/c/secret", "");
        set(policy, "filesystem.deny", at("ws/a/b/c/secret"));
        assert_int_equal(backend_compile(policy, &able, false, &plan, NULL), 0);
        for (size_t i = 0; i < plan->step_count; i++) {
                const struct step *step = &plan->steps[i];

                if (step->op == PLAN_PIN) {
                        assert_int_equal(hidden, 0); /* before the mask, or it would lie under the pin */
                        assert_string_equal(step->path, pinned == 0   ? at("ws/a")
                                                        : pinned == 1 ? at("ws/a/b")
                                                                      : at("ws/a/b/c"));
                        pinned++;
                }
                hidden += step->op == PLAN_HIDE && !strcmp(step->path, at("ws/a/b/c/secret"));
        }
        assert_int_equal(pinned, 3);
        assert_int_equal(hidden, 1);
        plan_free(plan);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(what_this_version_cannot_do_is_refused_by_name),
                POLICY_TEST(a_list_needs_a_network_of_its_own_and_a_broker_for_many_ports),
                POLICY_TEST(a_port_is_published_from_a_network_of_its_own),
                POLICY_TEST(without_namespaces_a_list_needs_sockets_of_others),
                POLICY_TEST(datagrams_are_refused_that_would_not_go_where_they_are_sent),
                POLICY_TEST(a_limit_of_a_tree_is_refused_where_nothing_holds_it),
                POLICY_TEST(without_namespaces_a_tree_is_counted_unless_somebody_could_hide),
                POLICY_TEST(a_pattern_is_held_by_asking),
                POLICY_TEST(only_what_a_rule_needs_is_asked_about),
                POLICY_TEST(nothing_else_counts_on_a_pattern_that_is_not_enforced),
                POLICY_TEST(a_pattern_is_printed_on_one_line),
                POLICY_TEST(counting_processes_needs_a_user_namespace),
                POLICY_TEST(limits_of_connections_need_a_relay_or_no_network),
                POLICY_TEST(a_denied_path_that_could_be_created_needs_a_broker),
                POLICY_TEST(a_denied_path_behind_a_replaceable_link_is_refused_by_name),
                POLICY_TEST(every_ancestor_of_a_hidden_path_below_a_writable_tree_is_pinned),
        };

        return cmocka_run_group_tests_name("native", tests, NULL, NULL);
}
