/* test_commands.c: what a list of commands means, and which command lines are refused for what they name. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

static char *host_path; /* owned */

/* A PATH of our own, with a program in it and its loader. */
static int commands_setup(void **state)
{
        if (policies_setup(state))
                return -1;
        host_path = strdup(getenv("PATH"));
        make_program("usr/lib/loader.so", NULL);
        make_program("usr/bin/tool", at("usr/lib/loader.so"));
        make_dir("ws/bin");
        setenv("PATH", at("usr/bin"), 1);
        return 0;
}

static int commands_teardown(void **state)
{
        setenv("PATH", host_path, 1);
        free(host_path);
        return policies_teardown(state);
}

#define COMMANDS_TEST(test) cmocka_unit_test_setup_teardown(test, commands_setup, commands_teardown)

static void finish(abatis_policy *policy)
{
        abatis_error err;

        if (policy_finish(policy, &err) < 0)
                fail_msg("%s", err.message);
}

static abatis_policy *policy_listing(const char *name)
{
        abatis_policy *policy = new_policy("dev");

        set(policy, "process.commands", name);
        return policy;
}

/* The list is refused, once and again, and means nothing then. */
static void assert_refused(abatis_policy *policy, const char *named)
{
        for (int i = 0; i < 2; i++) {
                abatis_error err = { 0 };

                assert_int_equal(policy_finish(policy, &err), ABATIS_E_INVALID);
                if (!strstr(err.message, named) || strncmp(err.message, "process.commands: ", 18))
                        fail_msg("'%s' does not say '%s'", err.message, named);
                assert_int_equal(policy->startable_count, 0);
                assert_false(may(policy, ABATIS_EXECUTE, at("usr/bin/tool")));
        }
        abatis_policy_free(policy);
}

static void assert_list_refused(const char *name, const char *named)
{
        assert_refused(policy_listing(name), named);
}

static const struct startable *startable_at(const abatis_policy *policy, const char *path)
{
        for (size_t i = 0; i < policy->startable_count; i++)
                if (!strcmp(policy->startables[i].path, path))
                        return &policy->startables[i];
        return NULL;
}

static void assert_kind(const abatis_policy *policy, const char *path, enum startable_kind kind)
{
        const struct startable *found = startable_at(policy, path);

        if (!found)
                fail_msg("'%s' is not among them", path);
        assert_int_equal(found->kind, kind);
}

/* ---- what a list means ---------------------------------------------------------------------------------- */

static void a_name_is_looked_up_and_brings_its_loader(void **state)
{
        abatis_policy *policy = policy_listing("tool");

        (void)state;
        for (int i = 0; i < 2; i++) {
                const struct startable *before = policy->startables;

                finish(policy);
                assert_true(!before || before == policy->startables); /* harmless to call again */
                assert_int_equal(policy->startable_count, 2);
                assert_kind(policy, at("usr/bin/tool"), STARTABLE_LISTED);
                assert_kind(policy, at("usr/lib/loader.so"), STARTABLE_LOADER);
                assert_string_equal(startable_at(policy, at("usr/bin/tool"))->reason, "listed as 'tool'");
                assert_false(startable_at(policy, at("usr/bin/tool"))->has_names);
        }
        abatis_policy_free(policy);
}

static void only_what_is_listed_may_be_executed(void **state)
{
        abatis_policy *policy = policy_listing("tool");

        (void)state;
        make_program("usr/bin/other", NULL);
        make_program("ws/own", NULL);
        assert_true(check_says(policy, ABATIS_EXECUTE, at("usr/bin/tool")));
        assert_non_null(strstr(check_text, "listed as 'tool'"));
        assert_false(check_says(policy, ABATIS_EXECUTE, at("usr/bin/other")));
        assert_non_null(strstr(check_text, "process.commands does not list"));
        assert_false(check_says(policy, ABATIS_EXECUTE, at("usr/lib/loader.so")));
        assert_false(check_says(policy, ABATIS_EXECUTE, at("ws/own")));
        assert_false(check_says(policy, ABATIS_EXECUTE, "/tmp/x"));
        assert_false(check_says(policy, ABATIS_EXECUTE, "/dev/shm/x"));
        assert_true(check_says(policy, ABATIS_READ, at("usr/bin/other")));
        assert_true(check_says(policy, ABATIS_WRITE, at("ws/own")));
        abatis_policy_free(policy);
}

static void a_link_means_what_it_leads_to_and_says_so(void **state)
{
        abatis_policy *policy;
        const struct startable *found;

        (void)state;
        make_link("usr/bin/ls", "tool");
        make_link("usr/bin/cat", at("usr/bin/ls"));
        policy = policy_listing("ls");
        set(policy, "process.commands", at("usr/bin/cat"));
        finish(policy);
        assert_int_equal(policy->startable_count, 2);
        found = startable_at(policy, at("usr/bin/tool"));
        assert_non_null(found);
        assert_true(found->has_names);
        assert_non_null(strstr(found->reason, "listed as 'ls', '"));
        assert_true(check_says(policy, ABATIS_EXECUTE, at("usr/bin/cat")));
        abatis_policy_free(policy);
}

static void the_path_that_the_command_gets_counts(void **state)
{
        abatis_policy *policy = policy_listing("elsewhere");
        char variable[512];

        (void)state;
        make_program("opt/bin/elsewhere", NULL);
        snprintf(variable, sizeof(variable), "PATH=/no/such:%s", at("opt/bin"));
        set(policy, "environment.pass", variable);
        finish(policy);
        assert_kind(policy, at("opt/bin/elsewhere"), STARTABLE_LISTED);
        abatis_policy_free(policy);
        /* One that is not passed counts for nothing. */
        policy = policy_listing("tool");
        set(policy, "environment.deny", "PATH");
        assert_refused(policy, "tool");
}

static void a_script_brings_its_interpreter(void **state)
{
        abatis_policy *policy = policy_listing("script");
        char line[512];

        (void)state;
        snprintf(line, sizeof(line), "#!%s -x\n", at("usr/bin/tool"));
        make_script("usr/bin/script", line);
        finish(policy);
        assert_int_equal(policy->startable_count, 3);
        assert_kind(policy, at("usr/bin/script"), STARTABLE_LISTED);
        assert_kind(policy, at("usr/bin/tool"), STARTABLE_INTERPRETER);
        assert_kind(policy, at("usr/lib/loader.so"), STARTABLE_LOADER);
        assert_true(may(policy, ABATIS_EXECUTE, at("usr/bin/tool")));
        abatis_policy_free(policy);
}

static void an_env_script_brings_what_env_would_start(void **state)
{
        static const struct {
                const char *argument;
                bool brings_tool;
        } cases[] = {
                { "tool", true },
                { "-S tool -u", true },
                { "-S  A=1 -i tool", true },
                { "-vS tool", true },
                { "--split-string=x", false },
                { "-i", false },
                { "-S", false },
                { "A=1", false },
                { "", false },
        };
        char line[512];

        (void)state;
        make_program("usr/bin/env", NULL);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                abatis_policy *policy = policy_listing("script");

                snprintf(line, sizeof(line), "#!%s %s\n", at("usr/bin/env"), cases[i].argument);
                make_script("usr/bin/script", line);
                finish(policy);
                assert_kind(policy, at("usr/bin/env"), STARTABLE_INTERPRETER);
                if (!startable_at(policy, at("usr/bin/tool")) == cases[i].brings_tool)
                        fail_msg("env %s", cases[i].argument);
                abatis_policy_free(policy);
        }
        snprintf(line, sizeof(line), "#!%s no-such-tool\n", at("usr/bin/env"));
        make_script("usr/bin/script", line);
        assert_list_refused("script", "no-such-tool");
}

static void interpreters_that_lead_in_circles_come_to_an_end(void **state)
{
        abatis_policy *policy = policy_listing("self");
        char line[512];

        (void)state;
        snprintf(line, sizeof(line), "#!%s\n", at("usr/bin/self"));
        make_script("usr/bin/self", line);
        finish(policy);
        assert_int_equal(policy->startable_count, 1);
        abatis_policy_free(policy);
        snprintf(line, sizeof(line), "#!%s\n", at("usr/bin/b"));
        make_script("usr/bin/a", line);
        snprintf(line, sizeof(line), "#!%s\n", at("usr/bin/a"));
        make_script("usr/bin/b", line);
        policy = policy_listing("a");
        finish(policy);
        assert_int_equal(policy->startable_count, 2);
        abatis_policy_free(policy);
}

static void libraries_are_mapped_from_where_nothing_is_written(void **state)
{
        abatis_policy *policy = policy_listing("tool");
        bool has_own = false, has_asked = false;

        (void)state;
        make_dir("asked/deeper");
        make_dir("ws/lib");
        make_program("ws/bin/own", NULL);
        set(policy, "process.commands", at("ws/bin/own"));
        set(policy, "filesystem.execute", at("asked/deeper"));
        finish(policy);
        for (size_t i = 0; i < policy->libraries.count; i++) {
                assert_false(path_is_below(policy->libraries.items[i], at("ws")));
                has_own |= !strcmp(policy->libraries.items[i], at("usr/lib"));
                has_asked |= !strcmp(policy->libraries.items[i], at("asked/deeper"));
        }
        assert_true(has_own && has_asked);
        set(policy, "filesystem.execute", at("ws/lib"));
        assert_refused(policy, at("ws/lib"));
}

/* ---- what a list must not mean -------------------------------------------------------------------------- */

static void an_entry_that_cannot_be_started_is_refused_by_name(void **state)
{
        (void)state;
        make_dir("usr/bin/directory");
        make_file("usr/bin/data", "");
        make_link("usr/bin/broken", "nowhere");
        make_link("usr/bin/loop", "loop");
        assert_int_equal(mkfifo(at("usr/bin/pipe"), 0755), 0);
        assert_list_refused("no-such-program", "no-such-program");
        assert_list_refused("directory", "directory");
        assert_list_refused("data", "data");
        assert_list_refused("broken", "broken");
        assert_list_refused("bin/tool", "relative");
        assert_list_refused("./tool", "relative");
        assert_list_refused(at("usr/bin/no"), at("usr/bin/no"));
        assert_list_refused(at("usr/bin"), "directory");
        assert_list_refused(at("usr/bin/data"), "not executable");
        assert_list_refused(at("usr/bin/pipe"), "not a file");
        assert_list_refused(at("usr/bin/broken"), "does not exist");
        /* One bad entry among good ones. */
        {
                abatis_policy *policy = policy_listing("tool");

                set(policy, "process.commands", "no-such-program");
                assert_refused(policy, "no-such-program");
        }
}

static void a_program_whose_needs_cannot_be_met_is_refused(void **state)
{
        (void)state;
        make_program("usr/bin/a", "/no/such/loader");
        assert_list_refused("a", "/no/such/loader");
        make_program("usr/bin/b", "loader.so");
        assert_list_refused("b", "relative");
        make_script("usr/bin/c", "#!/no/such/interpreter\n");
        assert_list_refused("c", "/no/such/interpreter");
        make_script("usr/bin/d", "#!sh\n");
        assert_list_refused("d", "relative");
        make_script("usr/bin/e", "#!/\n");
        assert_list_refused("e", "directory");
        make_script("usr/bin/f", "\177ELF");
        assert_list_refused("f", "damaged");
}

static void a_denied_program_is_refused(void **state)
{
        abatis_policy *policy = policy_listing("tool");

        (void)state;
        set(policy, "filesystem.deny", at("usr/bin"));
        assert_refused(policy, "filesystem.deny");
        policy = policy_listing("tool");
        set(policy, "filesystem.deny", at("usr/lib"));
        assert_refused(policy, at("usr/lib"));
}

static void a_loader_is_refused_since_it_starts_anything(void **state)
{
        abatis_policy *policy = policy_listing("tool");

        (void)state;
        make_program("usr/lib/ld-test.so.2", NULL);
        make_program("usr/lib/libc.so", NULL);
        make_link("usr/bin/ld.so", "../lib/loader.so");
        assert_list_refused(at("usr/lib/ld-test.so.2"), "loader");
        assert_list_refused(at("usr/lib/libc.so"), "loader");
        assert_list_refused("ld.so", "loader");
        /* One that does not look like one, but is the loader of another. */
        set(policy, "process.commands", at("usr/lib/loader.so"));
        assert_refused(policy, "loader");
}

static void a_name_that_a_command_could_have_planted_is_not_followed(void **state)
{
        (void)state;
        make_program("ws/bin/planted", NULL);
        make_link("ws/bin/tool", at("usr/bin/tool"));
        setenv("PATH", at("ws/bin"), 1);
        assert_list_refused("planted", "give its path");
        assert_list_refused("tool", "symbolic link in a writable directory");
        assert_list_refused(at("ws/bin/tool"), at("usr/bin/tool"));
}

static void an_interpreter_behind_a_planted_link_must_be_listed(void **state)
{
        abatis_policy *policy;
        char line[512];

        (void)state;
        make_link("ws/bin/python", at("usr/bin/tool"));
        snprintf(line, sizeof(line), "#!%s\n", at("ws/bin/python"));
        make_script("ws/bin/script", line);
        assert_list_refused(at("ws/bin/script"), "list that file too");
        policy = policy_listing(at("ws/bin/script"));
        set(policy, "process.commands", "tool");
        finish(policy);
        assert_kind(policy, at("usr/bin/tool"), STARTABLE_LISTED);
        abatis_policy_free(policy);
}

static void a_listed_file_of_the_workspace_is_protected(void **state)
{
        abatis_policy *policy = policy_listing(at("ws/bin/own"));

        (void)state;
        make_program("ws/bin/own", NULL);
        make_program("ws/bin/other", NULL);
        for (int i = 0; i < 2; i++) {
                finish(policy);
                assert_int_equal(count_rules(policy, RULE_PROTECT), 1);
                assert_false(may(policy, ABATIS_WRITE, at("ws/bin/own")));
                assert_true(may(policy, ABATIS_WRITE, at("ws/bin/other")));
        }
        assert_false(startable_at(policy, at("ws/bin/own"))->is_copied);
        abatis_policy_free(policy);
}

static void a_file_with_another_name_is_copied(void **state)
{
        abatis_policy *policy = policy_listing("tool");

        (void)state;
        assert_int_equal(link(at("usr/bin/tool"), at("ws/other-name")), 0);
        finish(policy);
        assert_true(startable_at(policy, at("usr/bin/tool"))->is_copied);
        assert_false(check_says(policy, ABATIS_EXECUTE, at("ws/other-name")));
        /* Too large for a copy: refused, not left to chance. */
        assert_int_equal(truncate(at("usr/bin/tool"), 65l << 20), 0);
        set(policy, "environment.pass", "A=1"); /* something was said: look again */
        assert_refused(policy, "names");
}

static void a_list_adds_nothing_to_the_rules(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        set(policy, "process.commands", at("usr/bin/tool"));
        assert_refused(policy, "--exec");
        /* Its loader must be allowed too. */
        policy = new_policy("strict");
        set(policy, "process.commands", at("usr/bin/tool"));
        set(policy, "filesystem.execute", at("usr/bin"));
        assert_refused(policy, at("usr/lib/loader.so"));
        policy = new_policy("strict");
        set(policy, "process.commands", at("usr/bin/tool"));
        set(policy, "filesystem.execute", at("usr"));
        finish(policy);
        assert_kind(policy, at("usr/bin/tool"), STARTABLE_LISTED);
        assert_false(may(policy, ABATIS_EXECUTE, at("usr/bin")));
        abatis_policy_free(policy);
}

static void the_program_to_run_must_be_listed(void **state)
{
        abatis_policy *policy = policy_listing("script");
        abatis_error err = { 0 };
        char line[512];

        (void)state;
        snprintf(line, sizeof(line), "#!%s\n", at("usr/bin/tool"));
        make_script("usr/bin/script", line);
        make_link("usr/bin/link", "script");
        finish(policy);
        assert_int_equal(commands_check(policy, at("usr/bin/script"), &err), 0);
        assert_int_equal(commands_check(policy, at("usr/bin/link"), &err), 0);
        assert_int_equal(commands_check(policy, at("usr/bin/tool"), &err), ABATIS_E_NOT_EXECUTABLE);
        assert_non_null(strstr(err.message, "--command"));
        assert_int_equal(commands_check(policy, at("usr/lib/loader.so"), NULL), ABATIS_E_NOT_EXECUTABLE);
        assert_int_equal(commands_check(policy, at("usr/bin/no"), NULL), ABATIS_E_SYSTEM);
        abatis_policy_free(policy);
        policy = new_policy("dev");
        finish(policy);
        assert_int_equal(commands_check(policy, "/anything", &err), 0);
        abatis_policy_free(policy);
}

/* ---- arguments ------------------------------------------------------------------------------------------ */

static int check_argument(const abatis_policy *policy, const char *argument)
{
        const char *const argv[] = { at("ws/deny/program"), "harmless", argument, NULL };
        abatis_error err = { 0 };
        int r = arguments_check(policy, argv, at("ws"), &err);

        if (r < 0) {
                assert_int_equal(r, ABATIS_E_INVALID);
                assert_non_null(strstr(err.message, "argument 2"));
                assert_non_null(strstr(err.message, "filesystem.deny"));
        }
        return r;
}

static void an_argument_that_names_a_denied_path_is_refused(void **state)
{
        const char *const refused[] = {
                at("ws/deny/x"),
                at("ws/deny"),
                at("ws/./deny//x"),
                at("ws/sub/../deny/absent"),
                at("link"),
                at("link-to-link/x"),
                "deny",
                "deny/x",
                "./deny",
                "sub/../deny/x",
                "../ws/deny",
                "~/.secret",
                "~/../ws/deny/x",
                "--file=deny/x",
                "--file=~/.secret",
                "if=deny/x",
                "=deny",
        };
        const char *const passed[] = {
                "",          "denied",     "den", "/",       "..",  ".",   at("ws"),      at("ws/denyx"),
                "sub/deny",  "--deny",     "-",   "--",      "~",   "~/x", "~deny/x",     "x=y=deny/x",
                "a\ndeny/x", "/no/such/x", "=",   "--file=", "/..", "//",  "echo deny/x",
        };
        abatis_policy *policy = new_policy("dev");
        char text[600];

        (void)state;
        make_file("ws/deny/x", "");
        make_file("ws/sub/y", "");
        make_file("home/.secret", "");
        make_link("link", "ws/deny");
        make_link("link-to-link", at("link"));
        set(policy, "filesystem.deny", at("ws/deny"));
        set(policy, "filesystem.deny", at("home/.secret"));
        finish(policy);
        assert_false(arguments_are_checked(policy));
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_int_equal(check_argument(policy, refused[i]), 0);
        set(policy, "process.check_arguments", "true");
        assert_true(arguments_are_checked(policy));
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                if (!check_argument(policy, refused[i]))
                        fail_msg("'%s' was let through", refused[i]);
        for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
                if (check_argument(policy, passed[i]))
                        fail_msg("'%s' was refused", passed[i]);
        snprintf(text, sizeof(text), "-I%s", at("ws/deny/x"));
        assert_int_not_equal(check_argument(policy, text), 0);
        abatis_policy_free(policy);
}

static void long_arguments_are_no_paths(void **state)
{
        abatis_policy *policy = new_policy("dev");
        size_t length = 1 << 20;
        char *text = malloc(length + 1);

        (void)state;
        assert_non_null(text);
        set(policy, "process.check_arguments", "true");
        make_dir("ws/deny");
        set(policy, "filesystem.deny", at("ws/deny"));
        for (size_t i = 0; i < length; i++)
                text[i] = i % 2 ? 'x' : '/';
        text[length] = '\0';
        assert_int_equal(check_argument(policy, text), 0);
        memset(text, 'x', length);
        text[300] = '/';
        text[400] = '\0';
        assert_int_equal(check_argument(policy, text), 0);
        free(text);
        abatis_policy_free(policy);
}

static void arguments_are_checked_with_a_list_unless_told_otherwise(void **state)
{
        abatis_policy *policy = policy_listing("tool");
        abatis_error err;

        (void)state;
        assert_true(arguments_are_checked(policy));
        set(policy, "process.check_arguments", "false");
        assert_false(arguments_are_checked(policy));
        set(policy, "process.check_arguments", "true");
        assert_true(arguments_are_checked(policy));
        assert_int_equal(abatis_policy_set(policy, "process.check_arguments", "yes", &err), ABATIS_E_INVALID);
        assert_int_equal(abatis_policy_set(policy, "process.check_arguments", "", NULL), ABATIS_E_INVALID);
        abatis_policy_free(policy);
}

static void what_is_only_not_writable_may_be_named(void **state)
{
        abatis_policy *policy = new_policy("strict");

        (void)state;
        set(policy, "process.check_arguments", "true");
        make_file("elsewhere/x", "");
        make_dir("ws/kept");
        set(policy, "filesystem.protect", at("ws/kept"));
        assert_int_equal(check_argument(policy, at("elsewhere/x")), 0);
        assert_int_equal(check_argument(policy, "kept"), 0);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMMANDS_TEST(a_name_is_looked_up_and_brings_its_loader),
                COMMANDS_TEST(only_what_is_listed_may_be_executed),
                COMMANDS_TEST(a_link_means_what_it_leads_to_and_says_so),
                COMMANDS_TEST(the_path_that_the_command_gets_counts),
                COMMANDS_TEST(a_script_brings_its_interpreter),
                COMMANDS_TEST(an_env_script_brings_what_env_would_start),
                COMMANDS_TEST(interpreters_that_lead_in_circles_come_to_an_end),
                COMMANDS_TEST(libraries_are_mapped_from_where_nothing_is_written),
                COMMANDS_TEST(an_entry_that_cannot_be_started_is_refused_by_name),
                COMMANDS_TEST(a_program_whose_needs_cannot_be_met_is_refused),
                COMMANDS_TEST(a_denied_program_is_refused),
                COMMANDS_TEST(a_loader_is_refused_since_it_starts_anything),
                COMMANDS_TEST(a_name_that_a_command_could_have_planted_is_not_followed),
                COMMANDS_TEST(an_interpreter_behind_a_planted_link_must_be_listed),
                COMMANDS_TEST(a_listed_file_of_the_workspace_is_protected),
                COMMANDS_TEST(a_file_with_another_name_is_copied),
                COMMANDS_TEST(a_list_adds_nothing_to_the_rules),
                COMMANDS_TEST(the_program_to_run_must_be_listed),
                COMMANDS_TEST(an_argument_that_names_a_denied_path_is_refused),
                COMMANDS_TEST(long_arguments_are_no_paths),
                COMMANDS_TEST(arguments_are_checked_with_a_list_unless_told_otherwise),
                COMMANDS_TEST(what_is_only_not_writable_may_be_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
