/* test_ceiling.c: what the administrator allows is the most there is, whatever presets give and users ask for. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compositions.h"
#include "policy/compose.h"

#define composed(...) compose(&(struct texts){ __VA_ARGS__ })

/* Taken without the ceiling, refused below it. */
static void assert_beyond(const char *ceiling, const char *given, const char *message)
{
        assert_composition_refused(&(struct texts){ .system = ceiling, .given = given },
                                   format("%s is more than /etc/abatis/policy.yaml allows", message));
        assert_composition_refused(&(struct texts){ .system = ceiling,
                                                    .project = given,
                                                    .trusts_project = true },
                                   format("%s is more than /etc/abatis/policy.yaml allows",
                                          format("%.*sproject%s", (int)(strstr(message, "given") - message),
                                                 message, strstr(message, "given") + 5)));
        abatis_policy_free(composed(.given = given));
}

static void assert_within(const char *ceiling, const char *given)
{
        abatis_policy_free(composed(.system = ceiling, .given = given));
}

/* What a flag asks for beyond the ceiling. */
static void assert_flag_beyond(const char *ceiling, const char *key, const char *value)
{
        abatis_policy *policy = composed(.system = ceiling);
        abatis_error err;

        if (!abatis_policy_set(policy, key, value, &err))
                assert_int_equal(policy_finish(policy, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "is more than /etc/abatis/policy.yaml allows"));
        abatis_policy_free(policy);
        policy = composed(.given = "version: 1");
        assert_int_equal(abatis_policy_set(policy, key, value, &err), 0);
        assert_int_equal(policy_finish(policy, &err), 0);
        abatis_policy_free(policy);
}

/* ---- trees ---------------------------------------------------------------------------------------------- */

static void trees_of_presets_are_cut(void **state)
{
        const char *ceiling =
                format("filesystem: {read: ['%s', /usr], write: ['${workspace}/out']}", make_dir("r"));
        abatis_policy *policy;

        (void)state;
        make_dir("ws/out");
        policy = composed(.system = ceiling);
        assert_false(policy->reads_all);
        assert_true(may(policy, ABATIS_READ, at("r/x")));
        assert_true(may(policy, ABATIS_READ, "/usr/bin"));
        assert_false(may(policy, ABATIS_READ, "/etc"));
        assert_true(may(policy, ABATIS_WRITE, at("ws/out/x")));
        assert_false(may(policy, ABATIS_WRITE, at("ws")));
        abatis_policy_free(policy);
        /* What may only be read there stays so, and a pattern is no tree. */
        make_dir("ws/doc");
        policy = composed(
                        .system =
                                "filesystem: {read: ['${workspace}', '${workspace}/doc', /usr], "
                                "write: ['${workspace}/out'], deny: ['**/*.pem'], protect: ['${workspace}/doc/*']}");
        assert_true(may(policy, ABATIS_WRITE, at("ws/out/x")));
        assert_true(may(policy, ABATIS_READ, at("ws/doc/x")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/doc")));
        assert_false(may(policy, ABATIS_READ, at("ws/out/x.pem")));
        abatis_policy_free(policy);
        assert_composition_refused(
                &(struct texts){ .system = "filesystem: {write: []}" },
                format("the workspace '%s' (write) is more than /etc/abatis/policy.yaml allows", at("ws")));
}

static void trees_that_were_asked_for_are_refused(void **state)
{
        const char *ceiling =
                format("filesystem: {read: [/usr, '%s'], write: ['${workspace}'], execute: [/usr]}",
                       make_dir("r"));

        (void)state;
        make_dir("o");
        make_dir("r/in");
        make_link("r/link", "../o");
        assert_within(ceiling, format("filesystem: {read: ['%s']}", at("r/in")));
        assert_within(ceiling, "filesystem: {execute: [/usr/bin]}");
        assert_beyond(ceiling, format("filesystem: {read: ['%s']}", at("o")),
                      format("read '%s' (given:1)", at("o")));
        assert_beyond(ceiling, format("filesystem: {write: [inherited, '%s']}", at("r")),
                      format("write '%s' (given:1)", at("r")));
        assert_beyond(ceiling, format("filesystem: {execute: ['%s']}", at("r")),
                      format("execute '%s' (given:1)", at("r")));
        assert_beyond(ceiling, format("filesystem: {read: ['%s']}", at("r/link")),
                      format("read '%s' (given:1)", at("r/link")));
        /* What may be read is not what may be written, nor is what is protected what may be read. */
        assert_beyond(format("filesystem: {read: ['${workspace}', /usr, '%s'], write: ['${workspace}']}",
                             at("r")),
                      format("filesystem: {write: [inherited, '%s']}", at("r")),
                      format("write '%s' (given:1)", at("r")));
        assert_beyond(format("filesystem: {read: ['${workspace}', /usr], protect: ['%s']}", at("o")),
                      format("filesystem: {read: ['%s']}", at("o")), format("read '%s' (given:1)", at("o")));
        assert_beyond(ceiling, "filesystem: {read: [all]}", "read 'all' (given:1)");
        assert_beyond(ceiling, "filesystem: {read: [/]}", "read 'all' (given:1)");
        assert_beyond(ceiling, "filesystem: {execute: [all]}", "execute 'all' (given:1)");
        assert_flag_beyond(ceiling, "filesystem.read", at("o"));
        assert_flag_beyond(ceiling, "filesystem.read", "/");
        assert_flag_beyond(ceiling, "filesystem.write", at("o"));
        assert_flag_beyond(ceiling, "filesystem.execute", at("o"));
        assert_flag_beyond("filesystem: {write: ['${workspace}', '${tmp}']}", "filesystem.write", "/tmp");
}

/* What is written is read and executed too. */
static void a_writable_tree_lies_in_every_list(void **state)
{
        const char *message =
                format("the workspace '%s' (write) is more than /etc/abatis/policy.yaml allows", at("ws"));

        (void)state;
        assert_composition_refused(&(struct texts){ .system = "filesystem: {read: [/usr]}" }, message);
        assert_composition_refused(&(struct texts){ .system = "filesystem: {execute: [/usr]}" }, message);
        assert_within("filesystem: {read: [/usr, '${workspace}']}", "version: 1");
}

static void holes_of_the_ceiling_hold(void **state)
{
        abatis_policy *policy;
        abatis_error err;
        size_t count;

        (void)state;
        make_dir("secret");
        make_dir("ws/p");
        policy = composed(.system = format(
                                  "filesystem: {deny: ['%s', '**/*.pem'], protect: ['${workspace}/p']}\n"
                                  "environment: {deny: ['X*']}\n",
                                  at("secret")),
                          .given = format("filesystem: {read: [all], deny: []}\nextends: guard"));
        assert_false(may(policy, ABATIS_READ, at("secret/x")));
        assert_false(may(policy, ABATIS_READ, at("ws/a.pem")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/p/x")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/q")));
        assert_string_equal(items_of(&policy->environment_denied), "X*");
        /* They are there once, however often a policy changes. */
        count = policy->rule_count;
        assert_int_equal(abatis_policy_set(policy, "limits.timeout", "3s", &err), 0);
        assert_int_equal(policy_finish(policy, &err), 0);
        assert_int_equal(policy->rule_count, count);
        assert_string_equal(items_of(&policy->environment_denied), "X*");
        abatis_policy_free(policy);
}

/* A hole is there already only if it is the same hole. */
static void holes_of_the_same_path_are_told_apart(void **state)
{
        abatis_policy *policy, *ceiling;

        (void)state;
        make_dir("p");
        policy = composed(.system = format("filesystem: {protect: ['%s'], deny: ['%s']}", at("p"), at("p")));
        assert_false(may(policy, ABATIS_READ, at("p/x")));
        abatis_policy_free(policy);
        /* As a literal path this has a star in it; as a pattern it is every name. */
        policy = composed(.system = format("filesystem: {deny: ['%s']}", at("p/*")),
                          .given = format("filesystem: {deny: [{path: '%s'}]}", at("p/*")));
        assert_false(may(policy, ABATIS_READ, at("p/x")));
        abatis_policy_free(policy);
        policy = composed(.system = format("filesystem: {deny: [{path: '%s'}, '%s']}", at("p/*"), at("p/*")));
        assert_false(may(policy, ABATIS_READ, at("p/x")));
        abatis_policy_free(policy);
        /* A shipped profile's holds for what is there now; the ceiling's also for what comes later. */
        policy = composed(.given = format("filesystem: {deny: ['%s']}", at("p")));
        ceiling = composed(.given = format("filesystem: {deny: ['%s']}", at("p")));
        for (size_t i = 0; i < policy->rule_count; i++)
                policy->rules[i].covers_later = false;
        assert_int_equal(ceiling_apply(policy, ceiling, NULL), 0);
        assert_int_equal(count_rules(policy, RULE_DENY), 2);
        assert_true(policy->rules[policy->rule_count - 1].covers_later);
        abatis_policy_free(policy);
        abatis_policy_free(ceiling);
}

/* The user can make $HOME anything, but not what /etc/passwd says. */
static void home_is_what_the_account_has(void **state)
{
        abatis_policy *policy = composed(.system = "filesystem: {deny: ['~/x']}");

        (void)state;
        if (policy->homes[1]) {
                assert_string_equal(policy->homes[0], at("home"));
                assert_false(may(policy, ABATIS_READ, format("%s/x", policy->homes[1])));
                assert_true(may(policy, ABATIS_READ, at("home/x")));
        }
        abatis_policy_free(policy);
}

static void the_hosts_tmp_stays_hidden(void **state)
{
        char shared[] = "/tmp/abatis-unit.XXXXXX";
        abatis_policy *policy;

        (void)state;
        assert_non_null(mkdtemp(shared));
        policy = composed(.system = "extends: dev", .given = "filesystem: {write: ['${workspace}']}");
        assert_true(policy->has_private_tmp);
        abatis_policy_free(policy);
        assert_beyond("extends: dev", format("filesystem: {read: [all, '%s']}", shared),
                      format("read '%s' (given:1)", shared));
        assert_flag_beyond("extends: dev", "filesystem.read", shared);
        assert_within(format("extends: dev\nfilesystem: {read: [all, '%s']}", shared),
                      format("filesystem: {read: ['%s']}", shared));
        rmdir(shared);
}

/* A ceiling that has no private /tmp does not bring one, and one that has it does not hide the workspace. */
static void the_private_tmp_is_the_ceilings_where_it_can_be(void **state)
{
        static const char with[] = "filesystem: {write: ['${workspace}', '${tmp}']}",
                          without[] = "filesystem: {write: ['${workspace}']}";
        abatis_policy *policy;

        (void)state;
        policy = composed(.system = with, .given = without);
        assert_true(policy->has_private_tmp);
        abatis_policy_free(policy);
        policy = composed(.system = without, .given = with);
        assert_true(policy->has_private_tmp); /* it is private: nobody else's is opened by it */
        abatis_policy_free(policy);
        policy = composed(.system = without, .given = without);
        assert_false(policy->has_private_tmp);
        abatis_policy_free(policy);
        policy = composed(.system = "filesystem: {write: [/tmp, '${tmp}']}", .given = without,
                          .workspace = "/tmp");
        assert_false(policy->has_private_tmp);
        assert_true(may(policy, ABATIS_WRITE, "/tmp/x"));
        abatis_policy_free(policy);
}

/* A rule for everything says nothing of what a private /tmp hides. No file can make one, so that it is made here. */
static void a_rule_for_everything_does_not_show_the_hosts_tmp(void **state)
{
        abatis_policy *policy = composed(.given = "extends: dev"),
                      *ceiling = composed(.given = "extends: dev");
        char shared[] = "/tmp/abatis-unit.XXXXXX";
        abatis_error err;

        (void)state;
        assert_non_null(mkdtemp(shared));
        assert_int_equal(policy_add_rule(ceiling, RULE_READ, "/", "test", NULL), 0);
        assert_true(ceiling->has_private_tmp);
        set(policy, "filesystem.read", "/usr");
        assert_int_equal(ceiling_apply(policy, ceiling, &err), 0);
        set(policy, "filesystem.read", shared);
        assert_int_equal(ceiling_apply(policy, ceiling, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, format("read '%s' (filesystem.read) is more than "
                                                "/etc/abatis/policy.yaml allows",
                                                shared));
        abatis_policy_free(policy);
        abatis_policy_free(ceiling);
        rmdir(shared);
}

/* ---- network -------------------------------------------------------------------------------------------- */

static void the_network_mode_is_cut_or_refused(void **state)
{
        static const char *const modes[] = { "deny", "unix-only", "list", "allow" };
        static const enum network_mode values[] = { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_LIST,
                                                    NETWORK_ALLOW };
        /* By ceiling, then by what is asked for: what a profile of that mode becomes. */
        static const int cut[4][4] = { { 0, 0, 0, 0 }, { 0, 1, 0, 1 }, { 0, 0, 2, 2 }, { 0, 1, 2, 3 } };

        (void)state;
        for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < 4; j++) {
                        const char *ceiling = format("network: {mode: %s}", modes[i]);
                        const char *asked = format("network: {mode: %s}", modes[j]);
                        abatis_policy *policy;

                        if (cut[i][j] == (int)j)
                                assert_within(ceiling, asked);
                        else
                                assert_beyond(ceiling, asked,
                                              format("network.mode '%s' (given:1)", modes[j]));
                        make_profile("p", format("extends: dev\n%s", asked));
                        policy = composed(.system = ceiling, .preset = "p");
                        assert_int_equal(policy->network, values[cut[i][j]]);
                        abatis_policy_free(policy);
                }
        assert_flag_beyond("network: {mode: deny}", "network.mode", "allow");
}

static void exceptions_are_those_of_the_ceiling(void **state)
{
        const char *ceiling = "network: {mode: list, connect: ['a:1'], bind: [1], unix: [/a]}";
        abatis_policy *policy;

        (void)state;
        assert_within(ceiling, "network: {mode: list, connect: ['a:1'], bind: [1], unix: [/a]}");
        assert_beyond(ceiling, "network: {mode: list, connect: ['a:1', 'a:2']}",
                      "network.connect 'a:2' (given:1)");
        assert_within("network: {mode: list, connect: ['*.a:1-9']}",
                      "network: {mode: list, connect: ['B.a:2,4']}");
        assert_beyond(ceiling, "network: {bind: [2]}", "network.bind '2' (given:1)");
        assert_beyond(ceiling, "network: {unix: [/b]}", "network.unix '/b' (given:1)");
        /* A mode without a list has no exceptions. */
        assert_beyond("network: {mode: deny}", "network: {unix: [/run/docker.sock]}",
                      "network.unix '/run/docker.sock' (given:1)");
        assert_beyond("network: {mode: deny}", "network: {bind: [80]}", "network.bind '80' (given:1)");
        assert_beyond("network: {mode: list}", "network: {mode: list, connect: ['a:1']}",
                      "network.connect 'a:1' (given:1)");
        /* Nor does a list without a mode, or beside an open one, let anything else pass. */
        assert_beyond("network: {connect: ['a:1']}", "network: {connect: ['a:2']}",
                      "network.connect 'a:2' (given:1)");
        assert_beyond("network: {mode: allow, unix: [/a]}", "network: {unix: [/b]}",
                      "network.unix '/b' (given:1)");
        assert_within("network: {mode: allow}", "network: {mode: list, connect: ['a:1'], bind: [80]}");
        assert_flag_beyond("network: {mode: unix-only}", "network.unix", "/run/docker.sock");
        /* What a profile gives is cut. */
        make_profile("p",
                     "extends: dev\nnetwork: {mode: list, connect: ['a:1', 'b:2', 'c:3'], bind: [1, 2]}\n");
        policy = composed(.system = ceiling, .preset = "p");
        assert_string_equal(items_of(&policy->connect), "a:1");
        assert_string_equal(items_of(&policy->bind), "1");
        abatis_policy_free(policy);
        /* Refused in the middle: what was kept before is freed once. */
        assert_composition_refused_with(&(struct texts){ .system = ceiling,
                                                         .preset = "p",
                                                         .given = "network: {connect: [inherited, 'd:4']}" },
                                        "network.connect 'd:4' (given:1)");
}

static void control_sockets_are_behind_the_ceiling(void **state)
{
        abatis_policy *policy = composed(.system = "network: {mode: allow}", .preset = "guard");

        (void)state;
        assert_false(policy->reaches_control_sockets);
        abatis_policy_free(policy);
        policy = composed(.system = "extends: guard", .preset = "guard");
        assert_true(policy->reaches_control_sockets);
        abatis_policy_free(policy);
        policy = composed(.system = "limits: {timeout: 1s}", .preset = "guard");
        assert_true(policy->reaches_control_sockets);
        abatis_policy_free(policy);
}

/* ---- everything else ------------------------------------------------------------------------------------ */

static void limits_are_cut_or_refused(void **state)
{
        static const char *const limits[][3] = {
                { "memory", "1GiB", "1025MiB" },  { "processes", "9", "10" },
                { "open_files", "64", "65" },     { "cpu", "60s", "61s" },
                { "file_size", "1000", "1001" },  { "written", "1K", "1025" },
                { "timeout", "1m", "60001ms" },   { "output", "1KiB", "1025" },
                { "connections", "2", "3" },      { "connections_per_second", "5", "6" },
                { "traffic", "1MiB", "1025KiB" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
                const char *ceiling = format("limits: {%s: %s}", limits[i][0], limits[i][1]);
                const char *more = format("limits: {%s: %s}", limits[i][0], limits[i][2]);
                const char *key = format("limits.%s", limits[i][0]);
                abatis_policy *policy = composed(.system = ceiling);
                uint64_t most = abatis_policy_limit(policy, key);

                assert_true(most > 0); /* where nobody asked for one */
                abatis_policy_free(policy);
                make_profile("p", format("extends: dev\n%s", more));
                policy = composed(.system = ceiling, .preset = "p");
                assert_true(abatis_policy_limit(policy, key) == most);
                abatis_policy_free(policy);
                assert_within(ceiling, ceiling);
                assert_beyond(ceiling, more, format("%s '%s' (given:1)", key, limits[i][2]));
                assert_flag_beyond(ceiling, key, limits[i][2]);
                /* No limit is the most there is; what nobody asked for is cut, and shown as what it was cut to. */
                assert_beyond(ceiling, format("limits: {%s: none}", limits[i][0]),
                              format("%s 'none' (given:1)", key));
                assert_flag_beyond(ceiling, key, "none");
                make_profile("p", format("extends: dev\nlimits: {%s: none}", limits[i][0]));
                policy = composed(.system = ceiling, .preset = "p");
                assert_true(abatis_policy_limit(policy, key) == most);
                assert_string_equal(policy_origin(policy, key_find(key, strlen(key)), NULL),
                                    "/etc/abatis/policy.yaml");
                abatis_policy_free(policy);
                policy = composed(.system = format("limits: {%s: none}", limits[i][0]), .given = more);
                assert_true(abatis_policy_limit(policy, key) > most);
                abatis_policy_free(policy);
        }
}

static void programs_are_those_of_the_ceiling(void **state)
{
        const char *ceiling = "process: {commands: [/bin/sh, /bin/ls]}";
        abatis_policy *policy = composed(.system = ceiling);

        (void)state;
        assert_string_equal(items_of(&policy->commands), "/bin/sh|/bin/ls");
        abatis_policy_free(policy);
        assert_within(ceiling, "process: {commands: [/bin/ls]}");
        assert_beyond(ceiling, "process: {commands: [/bin/ls, /bin/cat]}",
                      "process.commands '/bin/cat' (given:1)");
        make_profile("p", "extends: dev\nprocess: {commands: [/bin/cat, /bin/ls]}\n");
        policy = composed(.system = ceiling, .preset = "p");
        assert_string_equal(items_of(&policy->commands), "/bin/ls");
        abatis_policy_free(policy);
        /* An empty list would be every program. */
        make_profile("p", "extends: dev\nprocess: {commands: [/bin/cat]}\n");
        assert_composition_refused(&(struct texts){ .system = ceiling, .preset = "p" },
                                   "of process.commands, /etc/abatis/policy.yaml allows nothing");
        /* A name is what the user's PATH leads to. */
        assert_composition_refused(
                &(struct texts){ .system = "process: {commands: [git]}" },
                "system:1:22: process.commands: a ceiling lists programs by their absolute paths");
}

static void names_are_checked_where_they_must_be(void **state)
{
        const char *ceiling = "network: {verify_sni: true}", *without = "network: {verify_sni: false}";
        abatis_policy *policy;

        (void)state;
        assert_within(ceiling, ceiling);
        assert_within(without, without);
        assert_within("version: 1", without);
        assert_beyond(ceiling, without, "network.verify_sni 'false' (given:1)");
        assert_flag_beyond(ceiling, "network.verify_sni", "false");
        /* What nobody asked for is cut. */
        make_profile("p", format("extends: dev\n%s", without));
        for (int i = 0; i < 2; i++) {
                policy = composed(.system = i ? ceiling : "version: 1", .preset = "p");
                assert_int_equal(policy->passes_any_name, !i);
                abatis_policy_free(policy);
        }
}

static void a_loopback_is_left_out_where_it_must_be(void **state)
{
        const char *with = "network: {loopback: true}", *ceiling = "network: {loopback: false}";
        abatis_policy *policy;

        (void)state;
        assert_within(ceiling, ceiling);
        assert_within(with, ceiling);
        assert_within("version: 1", with);
        assert_beyond(ceiling, with, "network.loopback 'true' (given:1)");
        assert_flag_beyond(ceiling, "network.loopback", "true");
        /* What nobody asked for is cut. */
        for (int i = 0; i < 2; i++) {
                policy = composed(.system = i ? ceiling : "version: 1", .preset = "dev");
                assert_int_equal(policy->has_no_loopback, i);
                abatis_policy_free(policy);
        }
}

static void processes_are_held(void **state)
{
        abatis_policy *policy =
                composed(.system = "process: {fork: false, system_calls: few, check_arguments: true}");

        (void)state;
        assert_true(policy->forbids_forks);
        assert_true(policy->has_few_calls);
        assert_true(arguments_are_checked(policy));
        abatis_policy_free(policy);
        assert_within("process: {fork: false}", "process: {fork: false}");
        assert_beyond("process: {fork: false}", "process: {fork: true}", "process.fork 'true' (given:1)");
        assert_within("process: {system_calls: few}", "process: {system_calls: few}");
        assert_beyond("process: {system_calls: few}", "process: {system_calls: usual}",
                      "process.system_calls 'usual' (given:1)");
        assert_beyond("process: {executable_memory: false}",
                      "process: {executable_memory: true, commands: [/bin/sh]}",
                      "process.executable_memory 'true' (given:1)");
        assert_beyond("process: {check_arguments: true}", "process: {check_arguments: false}",
                      "process.check_arguments 'false' (given:1)");
        assert_within("session: shared", "session: shared");
        assert_within("process: {fork: true}", "session: shared");
        assert_beyond("session: private", "session: shared", "session 'shared' (given:1)");
}

static const char *passed(const char *ceiling, const char *given)
{
        const char *envp[] = { "PATH=/bin", "HOME=/h", "MY_TOKEN=t", "URL=http://u:p@h", NULL };
        abatis_policy *policy = composed(.system = ceiling, .given = given);
        static char out[512];
        const char **filtered;

        assert_int_equal(environment_sort(policy, envp, &filtered, NULL, NULL), 0);
        *out = '\0';
        for (size_t i = 0; filtered[i]; i++)
                strcat(strcat(out, *out ? " " : ""), filtered[i]);
        free(filtered);
        abatis_policy_free(policy);
        return out;
}

static void variables_are_those_of_the_ceiling(void **state)
{
        (void)state;
        assert_string_equal(passed(NULL, NULL), "PATH=/bin HOME=/h");
        assert_string_equal(passed("environment: {pass: [PATH, MY_TOKEN]}", NULL), "PATH=/bin");
        assert_string_equal(passed("environment: {pass: [PATH, MY_TOKEN]}",
                                   "environment: {pass: [MY_TOKEN]}"),
                            "MY_TOKEN=t");
        assert_string_equal(passed("environment: {pass: none}", NULL), "");
        assert_string_equal(passed("environment: {pass: none, set: {A: b}}", "environment: {set: {C: d}}"),
                            "C=d");
        assert_string_equal(passed("environment: {pass: all}", "environment: {pass: [HOME]}"), "HOME=/h");
        assert_string_equal(passed("environment: {deny: [HOME]}", "environment: {pass: [HOME, PATH]}"),
                            "PATH=/bin");
        assert_beyond("environment: {pass: [PATH]}", "environment: {pass: [HOME]}",
                      "environment.pass 'HOME' (given:1)");
        /* Also what a project that nobody trusts names among what is passed anyway. */
        abatis_policy_free(
                composed(.system = "environment: {pass: [PATH]}", .project = "environment: {pass: [PATH]}"));
        assert_composition_refused(
                &(struct texts){ .system = "environment: {pass: [PATH]}",
                                 .project = "environment: {pass: [HOME]}" },
                "environment.pass 'HOME' (project:1) is more than /etc/abatis/policy.yaml allows");
        assert_beyond("environment: {pass: [PATH]}", "environment: {pass: all}",
                      "environment.pass 'all' (given:1)");
        assert_beyond("environment: {pass: all}", "environment: {pass: [all, MY_TOKEN]}",
                      "environment.pass 'MY_TOKEN' (given:1)");
        assert_flag_beyond("environment: {pass: [PATH]}", "environment.pass", "HOME");
        assert_flag_beyond("environment: {pass: all}", "environment.pass", "MY_TOKEN");
}

/* ---- ways round it -------------------------------------------------------------------------------------- */

/* A user's own profile of that name would change what the administrator wrote. */
static void a_ceiling_is_not_built_on_profiles_of_the_user(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_profile("mine", "extends: guard\n");
        abatis_policy_free(composed(.preset = "mine"));
        assert_composition_refused_with(&(struct texts){ .system = "extends: mine" },
                                        "system:1:10: extends: there is no preset or profile 'mine'");
        make_profile("python", "extends: guard\n");
        policy = composed(.preset = "python");
        assert_true(may(policy, ABATIS_WRITE, at("ws")));
        abatis_policy_free(policy);
        /* The shipped one, which writes a cache and nothing else. */
        assert_composition_refused_with(&(struct texts){ .system = "extends: python" }, "the workspace '");
}

/* Whatever asks: files of other tools, a file that extends nothing, several at once. */
static void no_layer_lies_over_the_ceiling(void **state)
{
        const char *ceiling = "extends: strict\nlimits: {timeout: 5s}\n";

        (void)state;
        assert_composition_refused_with(&(struct texts){ .system = ceiling,
                                                         .given = "filesystem: {denyRead: []}" },
                                        "read 'all' (given:1)");
        assert_composition_refused_with(&(struct texts){ .system = ceiling,
                                                         .given = "sandbox: {enabled: true}" },
                                        "limits.timeout '30s' (given:1)");
        assert_composition_refused_with(&(struct texts){ .system = ceiling,
                                                         .user = "extends: []\nlimits: {timeout: 9s}",
                                                         .given = "version: 1" },
                                        "limits.timeout '9s' (user:2)");
        assert_composition_refused_with(&(struct texts){ .system = ceiling,
                                                         .user = "network: {mode: allow}",
                                                         .given = "limits: {timeout: 1s}" },
                                        "network.mode 'allow' (user:1)");
        assert_within(ceiling, "extends: [guard, mcp, tool]\n");
        assert_composition_refused(&(struct texts){ .system = "sandbox: {enabled: false}" },
                                   "system: sandbox is disabled");
}

static void what_must_be_written_down_is(void **state)
{
        const char *ceiling = "audit: {log: /x/y, sync: true, keep: 5}";
        abatis_policy *policy;

        (void)state;
        assert_within("audit: on", "audit: /z/y");
        assert_within("audit: off", "audit: on");
        assert_within(ceiling, "audit: on");
        assert_within(ceiling, "audit: /x/y");
        assert_beyond("audit: on", "audit: off", "audit.log 'off' (given:1)");
        assert_beyond(ceiling, "audit: off", "audit.log 'off' (given:1)");
        assert_beyond(ceiling, "audit: /z/y", "audit.log '/z/y' (given:1)");
        assert_beyond(ceiling, "audit: {sync: false}", "audit.sync 'false' (given:1)");
        assert_flag_beyond("audit: on", "audit.log", "off");
        assert_flag_beyond(ceiling, "audit.log", "/z/y");
        policy = composed(.system = ceiling, .given = "audit: {keep: 1}");
        assert_int_equal(policy_finish(policy, NULL), 0);
        assert_string_equal(policy->audit.log, "/x/y");
        assert_true(policy->audit.is_synced);
        assert_false(policy->audit.is_off);
        assert_int_equal(policy->audit.keep, 5);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(trees_of_presets_are_cut),
                COMPOSITION_TEST(trees_that_were_asked_for_are_refused),
                COMPOSITION_TEST(a_writable_tree_lies_in_every_list),
                COMPOSITION_TEST(holes_of_the_ceiling_hold),
                COMPOSITION_TEST(holes_of_the_same_path_are_told_apart),
                COMPOSITION_TEST(home_is_what_the_account_has),
                COMPOSITION_TEST(the_hosts_tmp_stays_hidden),
                COMPOSITION_TEST(the_private_tmp_is_the_ceilings_where_it_can_be),
                COMPOSITION_TEST(a_rule_for_everything_does_not_show_the_hosts_tmp),
                COMPOSITION_TEST(the_network_mode_is_cut_or_refused),
                COMPOSITION_TEST(exceptions_are_those_of_the_ceiling),
                COMPOSITION_TEST(control_sockets_are_behind_the_ceiling),
                COMPOSITION_TEST(limits_are_cut_or_refused),
                COMPOSITION_TEST(programs_are_those_of_the_ceiling),
                COMPOSITION_TEST(names_are_checked_where_they_must_be),
                COMPOSITION_TEST(a_loopback_is_left_out_where_it_must_be),
                COMPOSITION_TEST(processes_are_held),
                COMPOSITION_TEST(variables_are_those_of_the_ceiling),
                COMPOSITION_TEST(a_ceiling_is_not_built_on_profiles_of_the_user),
                COMPOSITION_TEST(no_layer_lies_over_the_ceiling),
                COMPOSITION_TEST(what_must_be_written_down_is),
        };

        return cmocka_run_group_tests_name("ceiling", tests, NULL, NULL);
}
