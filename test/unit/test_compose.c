/* test_compose.c: how layers are put together, as docs/POLICY.md says, and what is said about what cannot be. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "compositions.h"

#define refuses(message, ...) assert_composition_refused(&(struct texts){ __VA_ARGS__ }, message)
#define composed(...) compose(&(struct texts){ __VA_ARGS__ })

/* ---- lists ---------------------------------------------------------------------------------------------- */

static void a_list_replaces_what_lies_below(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("a");
        make_dir("b");
        policy = composed(.user = format("filesystem: {write: ['%s', '${tmp}']}", at("a")),
                          .given = format("filesystem: {write: ['%s']}", at("b")));
        assert_string_equal(rules_of(policy, RULE_WRITE), "b");
        assert_false(policy->has_private_tmp);
        assert_false(may(policy, ABATIS_WRITE, at("ws")));
        assert_true(policy->reads_all); /* of dev: nobody has replaced it */
        abatis_policy_free(policy);
}

static void inherited_stands_for_what_lies_below(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("a");
        make_dir("b");
        policy = composed(.user = format("filesystem: {write: [inherited, '%s']}", at("a")),
                          .given = format("filesystem: {write: ['%s', inherited]}", at("b")));
        assert_string_equal(rules_of(policy, RULE_WRITE), "ws|a|b");
        assert_true(policy->has_private_tmp);
        abatis_policy_free(policy);
        policy =
                composed(.preset = "strict", .user = "filesystem: {read: [inherited], execute: [inherited]}");
        assert_true(may(policy, ABATIS_EXECUTE, "/usr/bin/true"));
        assert_false(policy->reads_all);
        abatis_policy_free(policy);
}

static void an_empty_list_takes_everything_away(void **state)
{
        abatis_policy *policy = composed(.given = "filesystem: {read: [], write: [], execute: []}\n"
                                                  "environment: {pass: []}\n");

        (void)state;
        assert_false(policy->reads_all || policy->executes_all || policy->has_private_tmp);
        assert_false(may(policy, ABATIS_READ, "/usr"));
        assert_false(may(policy, ABATIS_WRITE, at("ws")));
        assert_true(policy->passes_named_only);
        abatis_policy_free(policy);
}

static void every_list_is_replaced_or_inherited(void **state)
{
        static const char user[] = "network: {mode: list, connect: ['a:1'], bind: [1], unix: [/a]}\n"
                                   "process: {commands: [sh]}\nenvironment: {pass: [A]}\n";
        abatis_policy *policy =
                composed(.user = user, .given = "network: {connect: ['b:2'], bind: [2], unix: [/b]}\n"
                                                "process: {commands: [ls]}\nenvironment: {pass: [B]}\n");

        (void)state;
        assert_string_equal(items_of(&policy->connect), "b:2");
        assert_string_equal(items_of(&policy->bind), "2");
        assert_string_equal(items_of(&policy->unix_sockets), "/b");
        assert_string_equal(items_of(&policy->commands), "ls");
        assert_string_equal(items_of(&policy->environment), "B");
        abatis_policy_free(policy);
        policy = composed(.user = user,
                          .given = "network: {connect: [inherited, 'b:2'], unix: [inherited, /b]}\n"
                                   "process: {commands: [inherited, ls]}\n"
                                   "environment: {pass: [inherited, B]}\n");
        assert_string_equal(items_of(&policy->connect), "a:1|b:2");
        assert_string_equal(items_of(&policy->unix_sockets), "/a|/b");
        assert_string_equal(items_of(&policy->commands), "sh|ls");
        assert_string_equal(items_of(&policy->environment), "A|B");
        assert_true(policy->passes_named_only);
        abatis_policy_free(policy);
}

static void denials_only_grow(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("home/.ssh");
        policy =
                composed(.user = format("filesystem: {deny: ['%s', '**/.env'], protect: ['%s']}\n"
                                        "environment: {deny: ['A*']}\n",
                                        at("x"), at("y")),
                         .given =
                                 format("filesystem: {deny: ['%s'], protect: []}\nenvironment: {deny: [B]}\n",
                                        at("z")));
        assert_string_equal(rules_of(policy, RULE_DENY), "home/.ssh|x|**/.env|z");
        assert_string_equal(rules_of(policy, RULE_PROTECT), "y");
        assert_string_equal(items_of(&policy->environment_denied), "A*|B");
        abatis_policy_free(policy);
}

/* ---- single values -------------------------------------------------------------------------------------- */

static void of_a_single_value_the_highest_counts(void **state)
{
        abatis_policy *policy = composed(
                        .user = "network: {mode: allow}\nlimits: {timeout: 9s, memory: 1GiB}\nprocess: {fork: false}\n",
                        .project = "limits: {timeout: 5s}\n", .trusts_project = true,
                        .given =
                                "network: {mode: unix-only}\nlimits: {output: 1KiB}\nprocess: {fork: true}\n");

        (void)state;
        assert_int_equal(policy->network, NETWORK_UNIX_ONLY);
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 5000);
        assert_int_equal(policy->limits[LIMIT_MEMORY], 1 << 30);
        assert_int_equal(policy->limits[LIMIT_OUTPUT], 1024);
        assert_false(policy->forbids_forks);
        abatis_policy_free(policy);
}

static void of_set_variables_each_name_counts(void **state)
{
        const char *envp[] = { "A=host", "B=host", "C=host", "D=host", NULL }, **filtered;
        abatis_policy *policy = composed(.user = "environment: {set: {A: user, B: user}}",
                                         .given = "environment: {set: {B: '~/x', E: ''}, deny: [D]}");
        char text[256] = "";

        (void)state;
        assert_int_equal(environment_sort(policy, envp, &filtered, NULL, NULL), 0);
        for (size_t i = 0; filtered[i]; i++)
                strcat(strcat(text, filtered[i]), " ");
        assert_string_equal(text, format("C=host A=user B=%s E= ", at("home/x")));
        free(filtered);
        abatis_policy_free(policy);
}

/* ---- bases ---------------------------------------------------------------------------------------------- */

static void the_base_is_dev_unless_somebody_says_else(void **state)
{
        abatis_policy *policy = composed(.user = "version: 1");

        (void)state;
        assert_string_equal(policy->preset, "dev");
        abatis_policy_free(policy);
        policy = composed(.user = "extends: tool", .given = "extends: strict");
        assert_string_equal(policy->preset, "strict");
        abatis_policy_free(policy);
        policy = composed(.user = "extends: tool", .given = "version: 1");
        assert_string_equal(policy->preset, "tool");
        abatis_policy_free(policy);
        policy = composed(.user = "extends: tool", .project = "extends: mcp", .trusts_project = true);
        assert_string_equal(policy->preset, "mcp");
        abatis_policy_free(policy);
        policy = composed(.preset = "guard", .user = "extends: tool", .given = "extends: strict");
        assert_string_equal(policy->preset, "guard");
        abatis_policy_free(policy);
}

static void nothing_can_be_extended(void **state)
{
        abatis_policy *policy = composed(.user = "extends: strict", .given = "extends: []");

        (void)state;
        assert_null(policy->preset);
        assert_int_equal(policy->rule_count, 0);
        assert_false(policy->reads_all || policy->executes_all || policy->has_private_tmp);
        assert_int_equal(policy->network, NETWORK_DENY);
        abatis_policy_free(policy);
}

/* What a file says already is not said again, and the rest still is. */
static void a_repository_without_a_preset_is_protected_once(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("ws/.git/hooks");
        make_file("ws/.git/config", "");
        make_file("ws/.git/commondir", "");
        policy = composed(.given = "extends: []\nfilesystem: {write: ['${workspace}'], "
                                   "protect: ['${workspace}/.git/hooks', '${workspace}/.git/config']}\n");
        assert_string_equal(rules_of(policy, RULE_PROTECT), "ws/.git/hooks|ws/.git/config|ws/.git/commondir");
        abatis_policy_free(policy);
}

static void several_bases_are_united(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("a");
        make_dir("b");
        make_profile(
                "one",
                format("extends: []\nfilesystem: {write: ['%s', '${tmp}'], deny: ['%s']}\n"
                       "network: {mode: list, connect: ['a:1']}\nprocess: {fork: false, commands: [sh]}\n"
                       "environment: {deny: [A], set: {X: one}}\nlimits: {timeout: 9s, memory: 1MiB}\n",
                       at("a"), at("x")));
        make_profile(
                "two",
                format("extends: []\nfilesystem: {write: ['%s'], read: [all], execute: [all], protect: ['%s']}\n"
                       "session: shared\nnetwork: {connect: ['b:2'], bind: [2]}\nprocess: {fork: true, commands: [ls]}\n"
                       "environment: {deny: [B], set: {X: two}}\nlimits: {timeout: 5s}\n",
                       at("b"), at("y")));
        policy = composed(.given = "extends: [one, two]");
        assert_string_equal(rules_of(policy, RULE_WRITE), "a|b");
        assert_string_equal(rules_of(policy, RULE_DENY), "x");
        assert_string_equal(rules_of(policy, RULE_PROTECT), "y");
        assert_true(policy->reads_all && policy->has_private_tmp);
        assert_string_equal(items_of(&policy->connect), "a:1|b:2");
        assert_string_equal(items_of(&policy->bind), "2");
        assert_string_equal(items_of(&policy->commands), "sh|ls");
        assert_string_equal(items_of(&policy->environment), "X=one|X=two");
        assert_string_equal(items_of(&policy->environment_denied), "A|B");
        assert_int_equal(policy->network, NETWORK_LIST); /* the last one that says anything */
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 5000);
        assert_int_equal(policy->limits[LIMIT_MEMORY], 1 << 20);
        assert_false(policy->forbids_forks);
        assert_true(policy->shares_session);
        abatis_policy_free(policy);
        policy = composed(.given = "extends: [two, one]\nsession: private");
        assert_false(policy->shares_session);
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 9000);
        assert_true(policy->forbids_forks);
        abatis_policy_free(policy);
        policy = composed(.given = "extends: [mcp, dev]\n");
        assert_string_equal(policy->preset, "dev");
        assert_int_equal(policy->network, NETWORK_DENY);
        abatis_policy_free(policy);
}

static void profiles_build_on_each_other(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_profile("low", "extends: strict\nlimits: {timeout: 9s, output: 1KiB}\n");
        make_profile("middle", "extends: low\nlimits: {timeout: 5s}\nenvironment: {pass: [A]}\n");
        make_profile("high", "extends: [middle]\nenvironment: {pass: [inherited, B]}\n");
        policy = composed(.preset = "high");
        assert_string_equal(policy->preset, "strict");
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 5000);
        assert_int_equal(policy->limits[LIMIT_OUTPUT], 1024);
        assert_string_equal(items_of(&policy->environment), "A|B");
        abatis_policy_free(policy);
        /* A profile without `extends` has nothing below it. */
        make_profile("bare", "limits: {timeout: 1s}\n");
        policy = composed(.preset = "bare");
        assert_null(policy->preset);
        assert_false(policy->reads_all);
        abatis_policy_free(policy);
}

static void a_profile_cannot_extend_itself(void **state)
{
        (void)state;
        make_profile("self", "extends: self\n");
        make_profile("a", "version: 1\nextends: [dev, b]\n");
        make_profile("b", "extends: c\n");
        make_profile("c", "extends: a\n");
        refuses(format("%s:1:10: extends: a profile cannot extend itself",
                       at("home/.config/abatis/profiles/self.yaml")),
                .preset = "self");
        refuses(format("%s:1:10: extends: a profile cannot extend itself",
                       at("home/.config/abatis/profiles/c.yaml")),
                .given = "extends: a");
        for (int i = 0; i < 20; i++)
                make_profile(format("deep%d", i), format("extends: deep%d\n", i + 1));
        make_profile("deep20", "extends: dev\n");
        assert_composition_refused_with(&(struct texts){ .preset = "deep0" },
                                        at("home/.config/abatis/profiles/deep1"));
        abatis_policy_free(composed(.preset = "deep6"));
}

static void an_unknown_base_is_refused_with_a_guess(void **state)
{
        (void)state;
        refuses("given:1:11: extends: there is no preset or profile 'devv'; did you mean 'dev'?, and 'abatis profile "
                "list'",
                .given = "extends: [devv]");
        refuses("there is no preset or profile 'quux'; there are dev, tool, mcp, strict, guard, skill, and 'abatis profile "
                "list'",
                .preset = "quux");
        assert_composition_refused_with(&(struct texts){ .given = "extends: ../x" },
                                        "given:1:10: extends: there is no preset or profile '../x'");
        assert_composition_refused_with(&(struct texts){ .given = "extends: .hidden" },
                                        "given:1:10: extends: there is no preset or profile '.hidden'");
}

/* They are written for many machines; a file that somebody wrote for this one is not. */
static void profiles_skip_what_is_not_there(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("a");
        make_profile(
                "p",
                format("extends: []\nfilesystem:\n  read: ['%s', '%s']\n  write: [~/no]\n  execute: [~/no]\n"
                       "  deny: [~/no]\n",
                       at("a"), at("no")));
        policy = composed(.preset = "p");
        assert_string_equal(rules_of(policy, RULE_READ), "a");
        assert_string_equal(rules_of(policy, RULE_WRITE), "");
        assert_string_equal(rules_of(policy, RULE_DENY), "home/no");
        abatis_policy_free(policy);
        refuses(format("given:1:21: filesystem.read: '%s' does not exist", at("no")),
                .given = format("filesystem: {read: ['%s']}", at("no")));
}

/* ---- paths ---------------------------------------------------------------------------------------------- */

static void variables_stand_for_places(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("home/a");
        make_dir("ws/b");
        make_dir("agent/c");
        policy = composed(
                        .data = at("agent"),
                        .given =
                                "extends: []\nfilesystem:\n  read: [~/a, '${home}']\n  write: ['${workspace}/b']\n"
                                "  execute: ['${data}/c', '~']\n  deny: ['~/.[a]*', '${workspace}/*.x', '${home}/k']\n");
        assert_string_equal(rules_of(policy, RULE_READ), "home/a|home");
        assert_string_equal(rules_of(policy, RULE_WRITE), "ws/b");
        assert_string_equal(rules_of(policy, RULE_EXECUTE), "agent/c|home");
        assert_false(may(policy, ABATIS_READ, at("home/.ab")));
        assert_false(may(policy, ABATIS_READ, at("ws/q.x")));
        assert_true(may(policy, ABATIS_READ, at("ws/b/q")));
        abatis_policy_free(policy);
}

static void characters_of_a_place_have_no_meaning(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("[x]*");
        setenv("HOME", at("[x]*"), 1);
        policy = composed(.given = format(
                                  "extends: []\nfilesystem: {read: [all, {path: '%s'}], deny: ['~/*.k']}",
                                  at("[x]*")));
        assert_true(may(policy, ABATIS_READ, at("xy/a.k")));
        assert_false(may(policy, ABATIS_READ, at("[x]*/a.k")));
        abatis_policy_free(policy);
}

static void a_path_that_means_nothing_is_refused(void **state)
{
        (void)state;
        refuses("given:1:22: filesystem.write: 'src' is relative; write an absolute path, ~/... or ${workspace}/...",
                .given = "filesystem: {write: [src]}");
        refuses("given:1:21: filesystem.deny: '../x' is relative; write an absolute path, ~/... or ${workspace}/...",
                .given = "filesystem: {deny: [../x]}");
        refuses("given:1:21: filesystem.deny: 'all' is relative; write an absolute path, ~/... or ${workspace}/...",
                .given = "filesystem: {deny: [all]}");
        refuses("given:1:22: filesystem.write: '/a/*.c': patterns can only deny or protect; {path: \"...\"} is for a "
                "name with such a character in it",
                .given = "filesystem: {write: ['/a/*.c']}");
        refuses("given:1:21: filesystem.read: unknown variable '${worksapce}'; did you mean 'workspace'?",
                .given = "filesystem: {read: ['${worksapce}/x']}");
        refuses("given:1:21: filesystem.read: unknown variable '${PWD}'; there are workspace, data, home, tmp",
                .given = "filesystem: {read: ['${PWD}']}");
        refuses("given:1:21: filesystem.read: '${workspace': a variable is written ${name}",
                .given = "filesystem: {read: ['${workspace']}");
        refuses("given:1:21: filesystem.read: '${workspace}x': only '/' may follow a variable",
                .given = "filesystem: {read: ['${workspace}x']}");
        refuses("given:1:21: filesystem.read: '/a/${home}': a variable can only begin a path",
                .given = "filesystem: {read: ['/a/${home}']}");
        refuses("given:1:21: filesystem.read: '${data}': there is no data directory; pass --data DIR",
                .given = "filesystem: {read: ['${data}']}");
        refuses("given:1:21: filesystem.deny: '${tmp}/x': the private /tmp is empty at first",
                .given = "filesystem: {deny: ['${tmp}/x']}");
        refuses("given:1:21: filesystem.read: a path may not climb with '..'",
                .given = "filesystem: {read: ['${workspace}/../x']}");
        refuses("given:1:22: filesystem.write: not everything can be writable; name directories",
                .given = "filesystem: {write: [all]}");
        refuses("given:1:22: filesystem.write: the system cannot be writable; name directories",
                .given = "filesystem: {write: [system]}");
        refuses("given:1:22: filesystem.write: '/' cannot be writable as a whole; name directories",
                .given = "filesystem: {write: [/]}");
        refuses("given:1:28: filesystem.read: 'inherited' is relative; give an absolute path",
                .given = "filesystem: {read: [{path: inherited}]}");
        refuses("given:1:21: filesystem.deny: '/[^a]': write '[!...]' for any character but these, or put the '^' last",
                .given = "filesystem: {deny: ['/[^a]']}");
        refuses("given:1:18: network.unix: 'sock' is relative; give an absolute path",
                .given = "network: {unix: [sock]}");
        refuses("given:1:20: process.signals: processes outside can never be signalled",
                .given = "process: {signals: true}");
}

/* Sockets and programs may be given like paths. */
static void other_paths_have_variables_too(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("ws/run", "#!/bin/sh\n");
        policy = composed(.given = "network: {unix: ['${workspace}/s', ~/t, {path: '/[u]'}]}\n");
        assert_string_equal(items_of(&policy->unix_sockets), format("%s|%s|/[u]", at("ws/s"), at("home/t")));
        abatis_policy_free(policy);
}

/* A link that an earlier command may have planted, whichever of the two lists comes first. */
static void a_link_in_a_writable_tree_opens_nothing(void **state)
{
        const char *link, *secret = make_dir("secret");

        (void)state;
        make_dir("w");
        link = make_link("w/link", "../secret");
        refuses(format("given:1: '%s' is a symbolic link that may be planted; name what it leads to, '%s'",
                       link, secret),
                .given = format("filesystem: {read: ['%s'], write: ['%s']}\nextends: []\n", link, at("w")));
        assert_composition_refused_with(
                &(struct texts){ .given =
                                         format("extends: []\nfilesystem:\n  write: ['%s']\n  read: ['%s']\n",
                                                at("w"), link) },
                format("given:4:10: filesystem.read: '%s' is a symbolic link that may be planted", link));
        /* Where the command cannot write, the link is somebody's who may decide. */
        abatis_policy_free(composed(.given = format("filesystem: {read: ['%s']}\nextends: []\n", link)));
}

/* One in the workspace came with the code, also where the command cannot write it. */
static void a_link_in_the_workspace_leads_nowhere_else(void **state)
{
        (void)state;
        make_dir("secret");
        make_dir("ws/src");
        make_link("ws/outer", "../secret");
        make_link("ws/inner", "src");
        refuses(format("given:1:21: filesystem.read: '%s' is a symbolic link that may be planted; name what it leads to, "
                       "'%s'",
                       at("ws/outer"), at("secret")),
                .given = "filesystem: {read: ['${workspace}/outer'], write: []}\nextends: []\n");
        abatis_policy_free(
                composed(.given = "filesystem: {read: ['${workspace}/inner'], write: []}\nextends: []\n"));
        abatis_policy_free(
                composed(.given = "filesystem: {read: ['${workspace}/inner'], write: ['${workspace}']}\n"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(a_list_replaces_what_lies_below),
                COMPOSITION_TEST(inherited_stands_for_what_lies_below),
                COMPOSITION_TEST(an_empty_list_takes_everything_away),
                COMPOSITION_TEST(every_list_is_replaced_or_inherited),
                COMPOSITION_TEST(denials_only_grow),
                COMPOSITION_TEST(of_a_single_value_the_highest_counts),
                COMPOSITION_TEST(of_set_variables_each_name_counts),
                COMPOSITION_TEST(the_base_is_dev_unless_somebody_says_else),
                COMPOSITION_TEST(nothing_can_be_extended),
                COMPOSITION_TEST(a_repository_without_a_preset_is_protected_once),
                COMPOSITION_TEST(several_bases_are_united),
                COMPOSITION_TEST(profiles_build_on_each_other),
                COMPOSITION_TEST(a_profile_cannot_extend_itself),
                COMPOSITION_TEST(an_unknown_base_is_refused_with_a_guess),
                COMPOSITION_TEST(profiles_skip_what_is_not_there),
                COMPOSITION_TEST(variables_stand_for_places),
                COMPOSITION_TEST(characters_of_a_place_have_no_meaning),
                COMPOSITION_TEST(a_path_that_means_nothing_is_refused),
                COMPOSITION_TEST(other_paths_have_variables_too),
                COMPOSITION_TEST(a_link_in_a_writable_tree_opens_nothing),
                COMPOSITION_TEST(a_link_in_the_workspace_leads_nowhere_else),
        };

        return cmocka_run_group_tests_name("compose", tests, NULL, NULL);
}
