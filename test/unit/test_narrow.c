/* test_narrow.c: a project's file that nobody has vouched for takes away, and opens nothing, neither here nor elsewhere. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compositions.h"

#define composed(...) compose(&(struct texts){ __VA_ARGS__ })
#define ADVICE "; a project's file may only narrow: read it, then run 'abatis trust' to allow it"

/* Refused because it would allow more than `user` does; the same text is taken once somebody has vouched for it. */
static void assert_wider(const char *user, const char *project, const char *place_and_value)
{
        assert_composition_refused_with(&(struct texts){ .user = user, .project = project },
                                        format("project:%s", place_and_value));
        abatis_policy_free(composed(.user = user, .project = project, .trusts_project = true));
}

/* Refused whoever vouches for it is not asked: the positive control is another text. */
static void assert_refused_by_narrowing(const char *user, const char *project, const char *message)
{
        assert_composition_refused(&(struct texts){ .user = user, .project = project },
                                   format("project:%s" ADVICE, message));
}

static void assert_narrower(const char *user, const char *project)
{
        abatis_policy_free(composed(.user = user, .project = project));
}

/* ---- trees ---------------------------------------------------------------------------------------------- */

static void no_tree_is_opened(void **state)
{
        const char *strict = format("extends: []\nfilesystem: {read: ['%s'], write: ['%s'], execute: ['%s']}",
                                    make_dir("r"), make_dir("w"), make_dir("x"));

        (void)state;
        make_dir("r/in");
        make_dir("w/in");
        make_dir("x/in");
        make_dir("o");
        assert_narrower(strict,
                        format("filesystem: {read: ['%s', '%s', '%s']}", at("r/in"), at("w/in"), at("x/in")));
        assert_narrower(strict, format("filesystem: {write: ['%s']}", at("w/in")));
        assert_narrower(strict, format("filesystem: {execute: ['%s', '%s']}", at("x/in"), at("w")));
        assert_narrower(strict, "filesystem: {read: [], write: [], execute: []}");
        assert_narrower(strict, "filesystem: {read: [inherited], write: [inherited], execute: [inherited]}");
        assert_wider(strict, format("filesystem: {read: ['%s']}", at("o")), "1:21: filesystem.read:");
        assert_wider(strict, format("filesystem: {write: ['%s']}", at("r/in")), "1:22: filesystem.write:");
        assert_wider(strict, format("filesystem: {write: ['%s']}", at("x")), "1:22: filesystem.write:");
        assert_wider(strict, format("filesystem: {execute: ['%s']}", at("r/in")),
                     "1:24: filesystem.execute:");
        assert_wider(strict, "filesystem: {read: [inherited, all]}", "1:32: filesystem.read: 'all'");
        assert_wider(strict, "filesystem: {execute: [all]}", "1:24: filesystem.execute: 'all'");
        assert_wider(strict, "filesystem: {read: [system]}", "1:21: filesystem.read: 'system'");
        assert_wider(strict, "filesystem: {write: ['${tmp}']}", "1:22: filesystem.write: '${tmp}'");
        assert_wider(strict, "filesystem: {write: ['${workspace}']}",
                     "1:22: filesystem.write: '${workspace}'");
        assert_refused_by_narrowing(strict, format("filesystem: {read: ['%s']}", at("%s", "")),
                                    format("1:21: filesystem.read: '%s' is not allowed without it",
                                           at("%s", "")));
}

static void what_is_denied_stays_denied(void **state)
{
        (void)state;
        make_dir("home/.ssh");
        make_dir("ws/p");
        assert_composition_refused_with(&(struct texts){ .project = "filesystem: {read: [~/.ssh]}" },
                                        "project:1:21: filesystem.read: '~/.ssh' is not allowed without it");
        assert_composition_refused_with(
                &(struct texts){ .user = "filesystem: {protect: ['${workspace}/p']}",
                                 .project = "filesystem: {write: ['${workspace}/p']}" },
                "project:1:22: filesystem.write: '${workspace}/p' is not allowed without it");
        assert_composition_refused_with(
                &(struct texts){ .user = "filesystem: {deny: ['**/k']}",
                                 .project = "filesystem: {read: ['${workspace}/p/k']}" },
                "project:1:21: filesystem.read: '${workspace}/p/k' is not allowed without it");
}

static void a_link_is_what_it_leads_to(void **state)
{
        const char *user = "extends: []\nfilesystem: {read: ['${workspace}']}";

        (void)state;
        make_dir("secret");
        make_dir("ws/src");
        make_link("ws/link", "../secret");
        make_link("ws/good", "src");
        assert_narrower(user, "filesystem: {read: ['${workspace}/good']}");
        assert_refused_by_narrowing(user, "filesystem: {read: ['${workspace}/link']}",
                                    "1:21: filesystem.read: '${workspace}/link' is not allowed without it");
        assert_wider(user,
                     "filesystem: {read: [{path: '"
                     "/etc"
                     "'}]}",
                     "1:28: filesystem.read:");
}

static void the_system_is_as_open_as_it_is(void **state)
{
        abatis_policy *policy =
                composed(.user = "extends: strict", .project = "filesystem: {execute: [system]}");
        const char *last = NULL;

        (void)state;
        assert_true(may(policy, ABATIS_EXECUTE, "/usr/bin/true"));
        abatis_policy_free(policy);
        assert_narrower("extends: dev", "filesystem: {read: [system], execute: [system]}");
        assert_wider("extends: []\nfilesystem: {read: [/usr]}", "filesystem: {read: [system]}",
                     "1:21: filesystem.read: 'system'");
        /* All of it must be open, not only the last part. */
        for (const char *const *tree = preset_system_trees; *tree; tree++)
                last = !access(*tree, F_OK) ? *tree : last;
        assert_wider(format("extends: []\nfilesystem: {read: ['%s']}", last), "filesystem: {read: [system]}",
                     "1:21: filesystem.read: 'system'");
}

/* Where everything may be executed that can be seen, an entry of `execute` would show more. */
static void what_cannot_be_read_cannot_be_executed(void **state)
{
        const char *user = format("extends: []\nfilesystem: {read: ['%s'], execute: [all]}", make_dir("r"));

        (void)state;
        make_dir("o");
        assert_narrower(user, format("filesystem: {execute: ['%s']}", at("r")));
        assert_narrower(user, "filesystem: {execute: [all]}");
        assert_wider(user, "filesystem: {read: [all]}", "1:21: filesystem.read: 'all'");
        assert_wider(user, format("filesystem: {execute: ['%s']}", at("o")), "1:24: filesystem.execute:");
}

/* ---- the private /tmp ----------------------------------------------------------------------------------- */

/* It hides the host's, so that whoever took it away would show that. */
static void the_private_tmp_stays(void **state)
{
        abatis_policy *policy = composed(.project = "filesystem: {write: ['${workspace}']}");

        (void)state;
        assert_true(policy->has_private_tmp);
        abatis_policy_free(policy);
        policy = composed(.project = "filesystem: {write: []}");
        assert_true(policy->has_private_tmp);
        assert_false(may(policy, ABATIS_WRITE, at("ws")));
        abatis_policy_free(policy);
        policy = composed(.project = "filesystem: {write: ['${workspace}']}", .trusts_project = true);
        assert_false(policy->has_private_tmp);
        abatis_policy_free(policy);
        /* Where there was none, there is none. */
        policy = composed(.user = "filesystem: {write: ['${workspace}']}",
                          .project = "filesystem: {write: []}");
        assert_false(policy->has_private_tmp);
        abatis_policy_free(policy);
}

/* A rule below it would bring the host's file into the private one. */
static void nothing_of_the_hosts_tmp_is_shown(void **state)
{
        char shared[] = "/tmp/abatis-unit.XXXXXX";
        const char *inside;

        (void)state;
        assert_non_null(mkdtemp(shared));
        inside = format("%s/in", shared);
        assert_int_equal(mkdir(inside, 0700), 0);
        assert_wider("extends: dev", format("filesystem: {read: [all, '%s']}", shared),
                     "1:26: filesystem.read:");
        assert_wider("extends: dev", format("filesystem: {execute: [inherited, '%s']}", shared),
                     "1:35: filesystem.execute:");
        assert_wider("extends: dev", "filesystem: {read: [all, /tmp]}", "1:26: filesystem.read:");
        assert_wider("extends: dev", format("filesystem: {write: [inherited, '%s']}", shared),
                     "1:33: filesystem.write:");
        assert_wider("extends: dev\nfilesystem: {read: [all, /]}",
                     format("filesystem: {read: [all, '%s']}", shared), "1:26: filesystem.read:");
        /* What somebody has shown may be shown. */
        assert_narrower(format("filesystem: {read: [all, '%s']}", shared),
                        format("filesystem: {read: [all, '%s']}", inside));
        assert_composition_refused_with(
                &(struct texts){
                        .user = format("filesystem: {read: [all, '%s'], deny: ['%s']}", shared, inside),
                        .project = format("filesystem: {read: [all, '%s']}", inside) },
                "project:1:26: filesystem.read:");
        rmdir(inside);
        rmdir(shared);
}

/* ---- everything else ------------------------------------------------------------------------------------ */

static void the_network_is_not_opened(void **state)
{
        static const char *const modes[] = { "deny", "unix-only", "list", "allow" };
        /* By user, then by project. */
        static const bool may_follow[4][4] = { { true, false, false, false },
                                               { true, true, false, false },
                                               { true, false, true, false },
                                               { true, true, true, true } };

        (void)state;
        for (size_t i = 0; i < 4; i++)
                for (size_t j = 0; j < 4; j++) {
                        const char *user = format("network: {mode: %s}", modes[i]);
                        const char *project = format("network: {mode: %s}", modes[j]);

                        if (may_follow[i][j])
                                assert_narrower(user, project);
                        else
                                assert_wider(user, project,
                                             format("1:17: network.mode: '%s' would allow more" ADVICE,
                                                    modes[j]));
                }
}

static void no_exception_to_the_network_mode_is_added(void **state)
{
        const char *user = "network: {mode: list, connect: ['a:1', '*.b:2'], bind: [1], unix: [/a, ~/s]}";

        (void)state;
        assert_narrower(user, "network: {connect: ['a:1'], bind: [1], unix: [/a]}");
        assert_narrower(user, "network: {connect: [], bind: [], unix: []}");
        assert_narrower(user, "network: {connect: [inherited], bind: [inherited], unix: [inherited]}");
        assert_narrower(user, "network: {unix: [~/s]}");
        assert_wider(user, "network: {connect: ['a:2']}", "1:21: network.connect: 'a:2'");
        assert_wider(user, "network: {connect: ['a:*']}", "1:21: network.connect: 'a:*'");
        assert_narrower(user, "network: {connect: ['c.b:2', 'A.:1', '*.c.b:2']}");
        assert_wider(user, "network: {connect: ['b:2']}", "1:21: network.connect: 'b:2'");
        assert_wider(user, "network: {connect: ['c.b:2-3']}", "1:21: network.connect: 'c.b:2-3'");
        assert_wider(user, "network: {connect: ['a:1/udp']}", "1:21: network.connect: 'a:1/udp'");
        assert_wider(user, "network: {connect: ['*:1']}", "1:21: network.connect: '*:1'");
        assert_wider("network: {mode: list, connect: ['0.0.0.0/0:*', '*:*']}",
                     "network: {connect: ['127.0.0.1:1']}", "1:21: network.connect: '127.0.0.1:1'");
        assert_wider("network: {mode: list, connect: ['*:*']}", "network: {connect: ['host.abatis:1']}",
                     "1:21: network.connect: 'host.abatis:1'");
        assert_wider(user, "network: {bind: [2]}", "1:18: network.bind: '2'");
        assert_wider(user, "network: {unix: [/b]}", "1:18: network.unix: '/b'");
        assert_wider(user, "network: {unix: [inherited, /b]}", "1:29: network.unix: '/b'");
        assert_wider("network: {mode: deny}", "network: {connect: ['a:1']}", "1:21: network.connect: 'a:1'");
        assert_wider("network: {mode: allow}", "network: {unix: [/run/docker.sock]}", "1:18: network.unix:");
        assert_narrower("network: {mode: allow}", "network: {mode: list, connect: ['a:1'], bind: [80]}");
        assert_wider(user, "network: {verify_sni: false}", "1:23: network.verify_sni: 'false'");
        assert_narrower(user, "network: {verify_sni: true}");
        assert_narrower("network: {verify_sni: false}", "network: {verify_sni: false}");
        assert_narrower("network: {verify_sni: false}", "network: {verify_sni: true}");
        assert_narrower(user, "network: {loopback: false}");
        assert_narrower(user, "network: {loopback: true}");
        assert_wider("network: {loopback: false}", "network: {loopback: true}",
                     "1:21: network.loopback: 'true'");
        assert_narrower("network: {loopback: false}", "network: {loopback: false}");
}

static void no_limit_is_raised(void **state)
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
                const char *user = format("limits: {%s: %s}", limits[i][0], limits[i][1]);
                const char *more = format("limits: {%s: %s}", limits[i][0], limits[i][2]);

                assert_narrower(user, user);
                assert_narrower("version: 1", more); /* where there was none */
                assert_narrower(more, user);
                assert_wider(user, more,
                             format("1:%zu: limits.%s:", strlen(limits[i][0]) + 12, limits[i][0]));
                assert_wider(user, format("limits: {%s: none}", limits[i][0]),
                             format("1:%zu: limits.%s: 'none'", strlen(limits[i][0]) + 12, limits[i][0]));
                assert_narrower("version: 1", format("limits: {%s: none}", limits[i][0]));
        }
}

static void no_program_is_added(void **state)
{
        const char *user = "process: {commands: [sh, ls]}";

        (void)state;
        assert_narrower(user, "process: {commands: [sh]}");
        assert_narrower(user, "process: {commands: [inherited]}");
        assert_narrower("extends: dev", "process: {commands: [sh]}");
        assert_narrower("extends: dev", "process: {commands: []}");
        assert_wider(user, "process: {commands: [sh, cat]}", "1:26: process.commands: 'cat'");
        assert_wider(user, "process: {commands: [/bin/sh]}", "1:22: process.commands: '/bin/sh'");
        /* As a path, a word is no word. */
        assert_composition_refused_with(&(struct texts){ .user = user,
                                                         .project =
                                                                 "process: {commands: [{path: inherited}]}" },
                                        "project:1:29: process.commands: 'inherited' would allow more");
        assert_composition_refused(&(struct texts){ .user = user, .project = "process: {commands: []}" },
                                   "project: process.commands: an empty list would allow every program");
}

/* What is on a list may start wherever it lies; so a list must not name what could not start without it. */
static void a_list_of_programs_opens_no_tree(void **state)
{
        const char *user = format("extends: strict\nfilesystem: {read: ['%s'], write: []}", make_dir("r"));

        (void)state;
        make_file("r/tool", "#!/bin/sh\n");
        make_file("o/tool", "#!/bin/sh\n");
        chmod(at("r/tool"), 0755);
        chmod(at("o/tool"), 0755);
        assert_narrower(user, "process: {commands: [sh]}");
        assert_composition_refused_with(&(struct texts){ .user = user,
                                                         .project = format("process: {commands: ['%s']}",
                                                                           at("r/tool")) },
                                        "project:1:22: process.commands:");
        assert_composition_refused_with(&(struct texts){ .user = user,
                                                         .project = format("process: {commands: ['%s']}",
                                                                           at("o/tool")) },
                                        "project:1:22: process.commands:");
        assert_composition_refused_with(&(struct texts){ .user = user,
                                                         .project = "process: {commands: [no-such]}" },
                                        "project:1:22: process.commands: ");
}

static void processes_are_not_freed(void **state)
{
        (void)state;
        assert_narrower("process: {fork: false, check_arguments: true}",
                        "process: {fork: false, check_arguments: true, signals: false}");
        assert_narrower("extends: dev", "process: {fork: true, check_arguments: false}");
        assert_wider("process: {fork: false}", "process: {fork: true}", "1:17: process.fork: 'true'");
        assert_narrower("extends: dev", "process: {system_calls: few}");
        assert_wider("process: {system_calls: few}", "process: {system_calls: usual}",
                     "1:25: process.system_calls: 'usual'");
        assert_narrower("process: {commands: [/bin/sh]}", "process: {executable_memory: false}");
        assert_wider("process: {executable_memory: false, commands: [/bin/sh]}",
                     "process: {executable_memory: true}", "1:30: process.executable_memory: 'true'");
        assert_narrower("session: shared", "session: private");
        assert_wider("extends: dev", "session: shared", "1:10: session: 'shared'");
        assert_wider("process: {check_arguments: true}", "process: {check_arguments: false}",
                     "1:28: process.check_arguments: 'false'");
        assert_wider("process: {commands: [sh]}", "process: {check_arguments: false}",
                     "1:28: process.check_arguments: 'false'");
        assert_composition_refused(&(struct texts){ .project = "process: {signals: true}" },
                                   "project:1:20: process.signals: processes outside can never be signalled");
}

static void nothing_is_extended_or_set(void **state)
{
        (void)state;
        assert_wider("extends: strict", "extends: guard", "1:10: extends: 'guard'");
        assert_wider("extends: dev", "extends: [dev]", "1:11: extends: 'dev'");
        assert_narrower("extends: dev", "extends: []"); /* counts only from whom somebody trusts */
        assert_wider("extends: dev", "environment: {set: {PATH: '/evil'}}",
                     "1:27: environment.set: 'PATH=/evil'");
}

/* ---- the environment ------------------------------------------------------------------------------------ */

/* What of this host's environment passes. */
static const char *passed(const char *user, const char *project)
{
        const char *envp[] = { "PATH=/bin",     "HOME=/h", "PROXY=http://u:p@h/", "MY_TOKEN=t", "CACHE=/var",
                               "TMPDIR=/other", NULL };
        abatis_policy *policy = composed(.user = user, .project = project);
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

static void a_name_passes_only_what_was_passed(void **state)
{
        static const char secret_user[] = "environment: {pass: [all, MY_TOKEN, PROXY]}";

        (void)state;
        assert_string_equal(passed("extends: dev", NULL), "PATH=/bin HOME=/h CACHE=/var");
        assert_string_equal(passed("extends: dev", "environment: {pass: [PATH, PROXY, TMPDIR, NEW]}"),
                            "PATH=/bin");
        assert_string_equal(passed("extends: dev", "environment: {pass: [all, PROXY, TMPDIR]}"),
                            "PATH=/bin HOME=/h CACHE=/var");
        assert_string_equal(passed("extends: dev", "environment: {pass: none}"), "");
        assert_string_equal(passed("extends: dev", "environment: {pass: []}"), "");
        assert_string_equal(passed("extends: dev", "environment: {pass: [inherited, PROXY]}"),
                            "PATH=/bin HOME=/h CACHE=/var");
        assert_string_equal(passed("extends: dev", "environment: {deny: ['C*', HOME]}"), "PATH=/bin");
        /* What the user named stays named if the project names it again. */
        assert_string_equal(passed(secret_user, NULL),
                            "PATH=/bin HOME=/h PROXY=http://u:p@h/ MY_TOKEN=t CACHE=/var");
        assert_string_equal(passed(secret_user, "environment: {pass: [MY_TOKEN, PATH]}"),
                            "PATH=/bin MY_TOKEN=t");
        assert_string_equal(passed(secret_user, "environment: {pass: all}"), "PATH=/bin HOME=/h CACHE=/var");
        assert_wider("extends: dev", "environment: {pass: [MY_TOKEN]}", "1:22: environment.pass: 'MY_TOKEN'");
        assert_wider("environment: {pass: [PATH]}", "environment: {pass: all}",
                     "1:21: environment.pass: 'all'");
        assert_wider("environment: {pass: [PATH]}", "environment: {pass: [HOME]}",
                     "1:22: environment.pass: 'HOME'");
        assert_wider("environment: {pass: none}", "environment: {pass: [inherited, HOME]}",
                     "1:33: environment.pass: 'HOME'");
}

/* A name that is passed would win over the value that the user has set. */
static void what_is_set_stays_set(void **state)
{
        (void)state;
        assert_string_equal(passed("environment: {set: {PATH: /mine}}", "environment: {pass: [PATH, HOME]}"),
                            "HOME=/h PATH=/mine");
        assert_string_equal(passed("environment: {set: {PATH: /mine}}", "environment: {pass: none}"),
                            "PATH=/mine");
}

/* A repository cannot keep whoever clones it waiting. */
static void a_project_has_a_thousand_entries_at_most(void **state)
{
        char text[32 * 1024] = "limits: {timeout: 1s}\nfilesystem: {deny: [";
        size_t used = strlen(text);

        (void)state;
        for (int i = 0; i < 999; i++)
                used += (size_t)snprintf(text + used, sizeof(text) - used, "/no/%x,", (unsigned)i);
        snprintf(text + used, sizeof(text) - used, "]}");
        assert_narrower("extends: dev", text);
        snprintf(text + used, sizeof(text) - used, "/no/more]}");
        assert_composition_refused(
                &(struct texts){ .project = text },
                "project:2:7741: filesystem.deny: more than 1000 entries in a project's file");
        abatis_policy_free(composed(.project = text, .trusts_project = true));
}

/* ---- other formats -------------------------------------------------------------------------------------- */

static void a_file_of_another_tool_may_only_narrow_too(void **state)
{
        (void)state;
        assert_narrower("extends: dev", "sandbox: {allow_paths: {read: [/usr], write: [.]}}");
        assert_narrower("extends: dev", "filesystem: {denyRead: [/opt], allowWrite: [.]}");
        assert_wider("extends: dev", "filesystem: {allowWrite: [/opt]}", "1:27: filesystem.write: '/opt'");
        assert_wider("extends: dev", "network: {allowedDomains: [a.org]}",
                     "1:28: network.connect: 'a.org:*'");
        assert_wider("limits: {timeout: 5s}", "sandbox: {enabled: true}", "1:10: limits.timeout: '30s'");
        assert_composition_refused(&(struct texts){ .project = "sandbox: {enabled: false}" },
                                   "project: sandbox is disabled");
}

static void the_log_is_neither_turned_off_nor_moved(void **state)
{
        (void)state;
        assert_narrower("", "audit: on");
        assert_narrower("audit: off", "audit: on");
        assert_narrower("audit: off", "audit: off");
        assert_narrower("audit: {sync: false}", "audit: {sync: true}");
        assert_wider("", "audit: off", "1:8: audit.log: 'off' would keep less of what was run");
        assert_wider("", "audit: false", "1:8: audit.log: 'off' would keep less of what was run");
        assert_wider("", "audit: /x/y", "1:8: audit.log: '/x/y'");
        assert_wider("audit: off", "audit: /x/y", "1:8: audit.log: '/x/y'");
        assert_wider("audit: {sync: true}", "audit: {sync: false}", "1:15: audit.sync: 'false'");
        assert_wider("", "audit: {size: 4KiB}", "1:15: audit.size: '4KiB'");
        assert_wider("", "audit: {keep: 1}", "1:15: audit.keep: '1'");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(no_tree_is_opened),
                COMPOSITION_TEST(what_is_denied_stays_denied),
                COMPOSITION_TEST(a_link_is_what_it_leads_to),
                COMPOSITION_TEST(the_system_is_as_open_as_it_is),
                COMPOSITION_TEST(what_cannot_be_read_cannot_be_executed),
                COMPOSITION_TEST(the_private_tmp_stays),
                COMPOSITION_TEST(nothing_of_the_hosts_tmp_is_shown),
                COMPOSITION_TEST(the_network_is_not_opened),
                COMPOSITION_TEST(no_exception_to_the_network_mode_is_added),
                COMPOSITION_TEST(no_limit_is_raised),
                COMPOSITION_TEST(no_program_is_added),
                COMPOSITION_TEST(a_list_of_programs_opens_no_tree),
                COMPOSITION_TEST(processes_are_not_freed),
                COMPOSITION_TEST(nothing_is_extended_or_set),
                COMPOSITION_TEST(a_name_passes_only_what_was_passed),
                COMPOSITION_TEST(what_is_set_stays_set),
                COMPOSITION_TEST(a_project_has_a_thousand_entries_at_most),
                COMPOSITION_TEST(a_file_of_another_tool_may_only_narrow_too),
                COMPOSITION_TEST(the_log_is_neither_turned_off_nor_moved),
        };

        return cmocka_run_group_tests_name("narrow", tests, NULL, NULL);
}
