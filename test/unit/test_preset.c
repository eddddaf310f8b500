/* test_preset.c: what each built-in policy says of a home, a workspace and an agent's data. */
#define _GNU_SOURCE
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

static const char *const all_presets[] = { "dev", "tool", "mcp", "strict", "guard", "skill" };

/* ---- what all have in common ---------------------------------------------------------------------------- */

static void the_presets_differ_as_documented(void **state)
{
        static const struct {
                const char *name;
                bool reads_all, writes_workspace, has_private_tmp;
                enum network_mode network;
        } expected[] = {
                { "dev", true, true, true, NETWORK_DENY },     { "tool", true, true, true, NETWORK_DENY },
                { "mcp", true, false, true, NETWORK_ALLOW },   { "strict", false, true, true, NETWORK_DENY },
                { "guard", true, true, false, NETWORK_ALLOW }, { "skill", false, false, false, NETWORK_DENY },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
                abatis_policy *policy = new_policy(expected[i].name);

                assert_string_equal(policy->preset, expected[i].name);
                assert_int_equal(policy->reads_all, expected[i].reads_all);
                assert_int_equal(policy->executes_all, expected[i].reads_all);
                assert_int_equal(may(policy, ABATIS_WRITE, at("ws/x")), expected[i].writes_workspace);
                assert_int_equal(policy->has_private_tmp, expected[i].has_private_tmp);
                assert_int_equal(policy->network, expected[i].network);
                assert_int_equal(policy_finish(policy, NULL), 0);
                abatis_policy_free(policy);
        }
}

static void an_unknown_preset_is_refused_and_the_known_ones_are_named(void **state)
{
        (void)state;
        assert_int_equal(refused_policy("developer", at("ws"), NULL, NULL), ABATIS_E_INVALID);
        assert_non_null(strstr(refused_message, "developer"));
        for (size_t i = 0; i < sizeof(all_presets) / sizeof(*all_presets); i++)
                assert_non_null(strstr(refused_message, all_presets[i]));
        assert_int_equal(refused_policy("", at("ws"), NULL, NULL), ABATIS_E_INVALID);
        assert_int_equal(refused_policy("DEV", at("ws"), NULL, NULL), ABATIS_E_INVALID);
}

static void data_and_configuration_that_do_not_exist_are_refused_by_name(void **state)
{
        (void)state;
        make_file("file", "");
        for (size_t i = 0; i < sizeof(all_presets) / sizeof(*all_presets); i++) {
                assert_int_equal(refused_policy(all_presets[i], at("ws"), at("no"), NULL), ABATIS_E_SYSTEM);
                assert_non_null(strstr(refused_message, at("no")));
                assert_int_equal(refused_policy(all_presets[i], at("ws"), at("file"), NULL),
                                 ABATIS_E_INVALID);
                assert_int_equal(refused_policy(all_presets[i], at("ws"), NULL, at("no.toml")),
                                 ABATIS_E_SYSTEM);
                assert_non_null(strstr(refused_message, at("no.toml")));
        }
}

static void a_configuration_file_is_denied_under_every_preset(void **state)
{
        (void)state;
        make_file("real.toml", "");
        make_link("config.toml", "real.toml");
        for (size_t i = 0; i < sizeof(all_presets) / sizeof(*all_presets); i++) {
                abatis_policy *policy = new_policy_with(all_presets[i], at("ws"), NULL, at("config.toml"));

                assert_false(may(policy, ABATIS_READ, at("real.toml")));
                assert_false(may(policy, ABATIS_WRITE, at("real.toml")));
                abatis_policy_free(policy);
        }
}

/* ---- secrets -------------------------------------------------------------------------------------------- */

static void dev_and_strict_deny_the_secrets_that_exist(void **state)
{
        static const char *const secrets[] = { "home/.ssh/id_ed25519",  "home/.gnupg/private",
                                               "home/.aws/credentials", "home/.config/gcloud/x",
                                               "home/.mozilla/firefox", "home/.claude/settings.json",
                                               "home/.codex/auth.json", "home/.git-credentials",
                                               "home/.netrc",           "home/.npmrc",
                                               "home/.docker/config",   "home/.kube/config",
                                               "home/.bash_history",    "home/.config/gh/hosts.yml" };
        static const char *const ordinary[] = { "home/.bashrc", "home/.gitconfig", "home/.sshrc",
                                                "home/src/x", "home/.config/fish/config" };

        (void)state;
        for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
                make_file(secrets[i], "");
        for (size_t i = 0; i < sizeof(ordinary) / sizeof(*ordinary); i++)
                make_file(ordinary[i], "");
        for (int is_strict = 0; is_strict < 2; is_strict++) {
                abatis_policy *policy = new_policy(is_strict ? "strict" : "dev");

                for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++)
                        if (may(policy, ABATIS_READ, at("%s", secrets[i])))
                                fail_msg("%s may be read", secrets[i]);
                for (size_t i = 0; i < sizeof(ordinary) / sizeof(*ordinary); i++)
                        assert_int_equal(may(policy, ABATIS_READ, at("%s", ordinary[i])), !is_strict);
                assert_int_equal(count_rules(policy, RULE_DENY), sizeof(secrets) / sizeof(*secrets));
                abatis_policy_free(policy);
        }
}

static void secrets_that_do_not_exist_make_no_rule(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_int_equal(count_rules(policy, RULE_DENY), 0);
        abatis_policy_free(policy);
}

static void a_secret_behind_a_link_is_denied_where_it_is(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("vault/keys/id", "");
        make_link("home/.ssh", at("vault/keys"));
        make_link("home/.aws", "nowhere");
        policy = new_policy("dev");
        assert_false(may(policy, ABATIS_READ, at("vault/keys/id")));
        assert_non_null(rule_for(policy, RULE_DENY, at("home/.ssh")));
        assert_non_null(rule_for(policy, RULE_DENY, at("home/.aws")));
        abatis_policy_free(policy);
}

static void a_home_behind_a_link_is_resolved(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("home/.ssh/id", "");
        make_link("h", "home");
        setenv("HOME", at("h"), 1);
        policy = new_policy("dev");
        assert_string_equal(policy->homes[0], at("home"));
        assert_false(may(policy, ABATIS_READ, at("home/.ssh/id")));
        abatis_policy_free(policy);
}

/* $HOME may be set to anything; the account's own keys stay where they are. */
static void the_account_s_home_counts_besides_the_variable(void **state)
{
        const struct passwd *account = getpwuid(getuid());
        char *real = account ? realpath(account->pw_dir, NULL) : NULL;
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_string_equal(policy->homes[0], at("home"));
        if (real && real[1])
                assert_string_equal(policy->homes[1], real);
        else
                assert_null(policy->homes[1]);
        abatis_policy_free(policy);
        free(real);
}

/* With a list of accounts in which this one comes last, behind 64 KiB of others. */
static int ask_for_home_in_long_list(const void *argument)
{
        FILE *list = fopen(at("passwd"), "we");
        abatis_policy *policy;
        bool is_found;

        (void)argument;
        if (!list)
                return 2;
        for (int i = 0; i < 1500; i++)
                fprintf(list, "user%d:x:%d:%d:somebody:/home/user%d:/bin/sh\n", i, 100000 + i, 100000 + i, i);
        fprintf(list, "me:x:%u:%u:me:%s:/bin/sh\n", getuid(), getgid(), at("account"));
        if (fclose(list) || mount(at("passwd"), "/etc/passwd", NULL, MS_BIND, NULL) < 0)
                return 2;
        policy = new_policy("dev");
        is_found = !may(policy, ABATIS_READ, at("account/.ssh/id"));
        abatis_policy_free(policy);
        return is_found;
}

static void the_account_s_home_is_found_in_a_long_list_of_accounts(void **state)
{
        (void)state;
        make_file("account/.ssh/id", "");
        assert_int_equal(ask_with_own_mounts(ask_for_home_in_long_list, NULL), 1);
}

/* A listing of the home is read in pieces; a secret in the last of them counts as much. */
static void a_secret_is_found_among_thousands_of_names(void **state)
{
        abatis_policy *policy;

        (void)state;
        for (int i = 0; i < 2000; i++) {
                char path[512];

                snprintf(path, sizeof(path), "%s/some-file-with-a-long-name-%d", getenv("HOME"), i);
                assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
        }
        make_file("home/.ssh/id", "");
        make_file("home/.config/gh/hosts.yml", "");
        policy = new_policy("dev");
        assert_false(may(policy, ABATIS_READ, at("home/.ssh/id")));
        assert_false(may(policy, ABATIS_READ, at("home/.config/gh/hosts.yml")));
        assert_int_equal(count_rules(policy, RULE_DENY), 2);
        abatis_policy_free(policy);
}

static void a_home_that_is_none_is_not_used(void **state)
{
        static const char *const homes[] = { "", "relative", "/", "/no/such/home", "/dev/null/x" };

        (void)state;
        for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
                abatis_policy *policy;

                setenv("HOME", homes[i], 1);
                policy = new_policy("dev");
                for (size_t j = 0; j < 2; j++)
                        assert_true(!policy->homes[j] || policy->homes[j][1]);
                assert_int_equal(count_rules(policy, RULE_DENY), 0);
                abatis_policy_free(policy);
        }
        unsetenv("HOME");
        abatis_policy_free(new_policy("dev"));
}

static void the_password_hashes_are_denied_to_root_only(void **state)
{
        abatis_policy *policy = new_policy("dev");
        bool has_shadow = !access("/etc/shadow", F_OK);

        (void)state;
        assert_int_equal(!!rule_for(policy, RULE_DENY, "/etc/shadow"), has_shadow && !geteuid());
        abatis_policy_free(policy);
}

/* ---- tool and mcp --------------------------------------------------------------------------------------- */

static void tool_and_mcp_deny_the_data_root(void **state)
{
        (void)state;
        make_file("agent/data/x", "");
        make_link("agent-link", "agent");
        for (int is_mcp = 0; is_mcp < 2; is_mcp++) {
                abatis_policy *policy =
                        new_policy_with(is_mcp ? "mcp" : "tool", at("ws"), at("agent-link"), NULL);

                assert_false(may(policy, ABATIS_READ, at("agent")));
                assert_false(may(policy, ABATIS_READ, at("agent/data/x")));
                assert_true(may(policy, ABATIS_READ, at("agents")));
                assert_true(may(policy, ABATIS_READ, at("home/.ssh")));
                abatis_policy_free(policy);
        }
}

static void a_workspace_inside_the_denied_data_root_is_refused(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("agent/ws");
        policy = new_policy_with("tool", at("agent/ws"), at("agent"), NULL);
        assert_int_equal(policy_finish(policy, NULL), ABATIS_E_INVALID);
        abatis_policy_free(policy);
}

static void mcp_writes_nothing_of_the_host(void **state)
{
        abatis_policy *policy = new_policy("mcp");

        (void)state;
        for (size_t i = 0; i < policy->rule_count; i++)
                assert_int_not_equal(policy->rules[i].kind, RULE_WRITE);
        assert_true(check_says(policy, ABATIS_WRITE, "/tmp/x"));
        abatis_policy_free(policy);
}

static void mcp_gives_npx_a_cache_in_a_private_tmp_only(void **state)
{
        static const char item[] = "npm_config_cache=/tmp/npm";
        abatis_policy *mcp = new_policy("mcp"), *shared = new_policy("mcp"), *said = new_policy("mcp"),
                      *dev = new_policy("dev");

        (void)state;
        set(shared, "filesystem.write", "/tmp");
        set(said, "environment.pass", "npm_config_cache");
        assert_int_equal(policy_finish(mcp, NULL), 0);
        assert_int_equal(policy_finish(shared, NULL), 0);
        assert_int_equal(policy_finish(said, NULL), 0);
        assert_int_equal(policy_finish(dev, NULL), 0);
        assert_true(strings_has(&mcp->environment, item));
        /* In the host's own, anybody could have put it there. */
        assert_false(strings_has(&shared->environment, item));
        assert_false(strings_has(&said->environment, item));
        assert_false(strings_has(&dev->environment, item));
        abatis_policy_free(mcp);
        abatis_policy_free(shared);
        abatis_policy_free(said);
        abatis_policy_free(dev);
}

/* ---- strict --------------------------------------------------------------------------------------------- */

static void strict_shows_the_system_and_the_workspace_only(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        assert_true(may(policy, ABATIS_EXECUTE, "/usr/bin/env"));
        assert_true(may(policy, ABATIS_READ, "/etc/passwd"));
        assert_false(may(policy, ABATIS_WRITE, "/usr/bin/env"));
        assert_true(may(policy, ABATIS_EXECUTE, at("ws/x")));
        assert_false(may(policy, ABATIS_READ, at("home")));
        assert_false(may(policy, ABATIS_READ, at("%s", "")));
        assert_false(may(policy, ABATIS_READ, "/var"));
        assert_false(may(policy, ABATIS_READ, "/root"));
        assert_false(may(policy, ABATIS_READ, "/"));
        set(policy, "filesystem.read", at("home"));
        assert_true(may(policy, ABATIS_READ, at("home/x")));
        assert_false(may(policy, ABATIS_EXECUTE, at("home/x")));
        abatis_policy_free(policy);
}

/* ---- guard ---------------------------------------------------------------------------------------------- */

static void guard_keeps_the_system_from_being_written(void **state)
{
        static const char *const kept[] = { "/bin/sh",  "/usr/bin/x", "/usr/sbin/x", "/usr/lib/x",
                                            "/sbin/x",  "/etc/x",     "/boot/x",     "/sys/x",
                                            "/lib/x",   "/usr/lib",   "/proc/sys",   "/proc/1/mem",
                                            "/dev/sda", "/",          "/new-entry" };
        abatis_policy *policy = new_policy("guard");

        (void)state;
        for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
                if (check_says(policy, ABATIS_WRITE, kept[i]))
                        fail_msg("%s may be written: %s", kept[i], check_text);
        assert_true(check_says(policy, ABATIS_WRITE, at("anywhere")));
        assert_true(check_says(policy, ABATIS_WRITE, "/tmp/x"));
        assert_true(check_says(policy, ABATIS_WRITE, "/usr/local/x"));
        assert_true(check_says(policy, ABATIS_READ, "/etc/passwd"));
        abatis_policy_free(policy);
}

static void guard_denies_the_agent_s_data_and_settings_and_nothing_beside_them(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("agent/data/x", "");
        make_file("agent/config.toml", "");
        make_file("agent/log", "");
        make_file("outside.toml", "");
        policy = new_policy_with("guard", at("ws"), at("agent"), at("outside.toml"));
        assert_false(may(policy, ABATIS_READ, at("agent/data/x")));
        assert_false(may(policy, ABATIS_WRITE, at("agent/data/new")));
        assert_false(may(policy, ABATIS_READ, at("agent/config.toml")));
        assert_false(may(policy, ABATIS_WRITE, at("agent/config.toml")));
        assert_false(may(policy, ABATIS_READ, at("outside.toml")));
        assert_true(may(policy, ABATIS_READ, at("agent")));
        assert_true(may(policy, ABATIS_WRITE, at("agent/log")));
        assert_true(may(policy, ABATIS_WRITE, at("agent/data2")));
        assert_true(may(policy, ABATIS_WRITE, at("agent/config.toml.bak")));
        abatis_policy_free(policy);
        /* Denied although they are not there yet. */
        make_dir("fresh");
        policy = new_policy_with("guard", at("ws"), at("fresh"), NULL);
        assert_int_equal(rule_for(policy, RULE_DENY, at("fresh/data"))->facts.kind, PATH_ABSENT);
        assert_int_equal(rule_for(policy, RULE_DENY, at("fresh/config.toml"))->facts.kind, PATH_ABSENT);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(the_presets_differ_as_documented),
                POLICY_TEST(an_unknown_preset_is_refused_and_the_known_ones_are_named),
                POLICY_TEST(data_and_configuration_that_do_not_exist_are_refused_by_name),
                POLICY_TEST(a_configuration_file_is_denied_under_every_preset),
                POLICY_TEST(dev_and_strict_deny_the_secrets_that_exist),
                POLICY_TEST(secrets_that_do_not_exist_make_no_rule),
                POLICY_TEST(a_secret_behind_a_link_is_denied_where_it_is),
                POLICY_TEST(a_home_behind_a_link_is_resolved),
                POLICY_TEST(the_account_s_home_counts_besides_the_variable),
                POLICY_TEST(the_account_s_home_is_found_in_a_long_list_of_accounts),
                POLICY_TEST(a_secret_is_found_among_thousands_of_names),
                POLICY_TEST(a_home_that_is_none_is_not_used),
                POLICY_TEST(the_password_hashes_are_denied_to_root_only),
                POLICY_TEST(tool_and_mcp_deny_the_data_root),
                POLICY_TEST(a_workspace_inside_the_denied_data_root_is_refused),
                POLICY_TEST(mcp_writes_nothing_of_the_host),
                POLICY_TEST(mcp_gives_npx_a_cache_in_a_private_tmp_only),
                POLICY_TEST(strict_shows_the_system_and_the_workspace_only),
                POLICY_TEST(guard_keeps_the_system_from_being_written),
                POLICY_TEST(guard_denies_the_agent_s_data_and_settings_and_nothing_beside_them),
        };

        return cmocka_run_group_tests_name("preset", tests, NULL, NULL);
}
