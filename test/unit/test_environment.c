/* test_environment.c: which variables a command gets, and which program a name means. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/program.h"
#include "policies.h"

static bool is_secret(const char *name)
{
        return environment_is_secret(name, strlen(name));
}

static void names_that_look_secret_are_filtered(void **state)
{
        static const char *const names[] = {
                "ANTHROPIC_API_KEY", "OPENAI_API_KEY",  "openai_api_key",  "Github_Token",
                "GITHUB_TOKEN",      "GH_TOKEN",        "NPM_TOKEN",       "TOKEN",
                "CI_JOB_TOKEN",      "MY_SECRET_THING", "secret",          "DB_PASSWORD",
                "PGPASSWORD",        "MYSQL_PWD",       "GPG_PASSPHRASE",  "AWS_ACCESS_KEY_ID",
                "AWS_SESSION_TOKEN", "AWS_PROFILE",     "AZURE_CLIENT_ID", "GOOGLE_APPLICATION_CREDENTIALS",
                "KUBECONFIG",        "VAULT_ADDR",      "DATABASE_URL",    "APP_DATABASE_URL",
                "SENTRY_DSN",        "SSH_AUTH_SOCK",   "SSH_AGENT_PID",   "DBUS_SESSION_BUS_ADDRESS",
                "XDG_RUNTIME_DIR",   "DOCKER_HOST",     "XAUTHORITY",      "LD_PRELOAD",
                "LD_LIBRARY_PATH",   "LD_AUDIT",        "BASH_ENV",        "ENV",
                "BASH_FUNC_ls%%",    "GLIBC_TUNABLES",  "GCONV_PATH"
        };

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (!is_secret(names[i]))
                        fail_msg("%s passes", names[i]);
}

static void ordinary_names_pass(void **state)
{
        static const char *const names[] = {
                "PATH",        "HOME",    "LANG",    "LC_ALL",   "TERM",     "USER",       "PWD",
                "OLDPWD",      "SHELL",   "EDITOR",  "CI",       "CC",       "CFLAGS",     "GOPATH",
                "PYTHONPATH",  "COLUMNS", "MONKEY",  "KEYBOARD", "OLD_X",    "AUTHOR",     "GIT_AUTHOR_NAME",
                "ENVIRONMENT", "",        "LDFLAGS", "AWS",      "NODE_ENV", "VIRTUAL_ENV"
        };

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (is_secret(names[i]))
                        fail_msg("%s is filtered", names[i]);
}

/* The length counts, not the NUL: what follows the name must not change the answer. */
static void only_the_name_is_looked_at(void **state)
{
        (void)state;
        assert_false(environment_is_secret("PATH=/x/MY_TOKEN", 4));
        assert_true(environment_is_secret("MY_TOKEN=PATH", 8));
        assert_false(environment_is_secret("MY_TOKEN", 7));
}

static void assert_environment(const abatis_policy *policy, const char *const *before,
                               const char *const *expected)
{
        const char **after = NULL;
        size_t i;

        assert_int_equal(environment_sort(policy, before, &after, NULL, NULL), 0);
        for (i = 0; expected[i]; i++) {
                if (!after[i])
                        fail_msg("'%s' is missing", expected[i]);
                assert_string_equal(after[i], expected[i]);
        }
        if (after[i])
                fail_msg("'%s' is left", after[i]);
        free(after);
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void the_filter_keeps_order_and_drops_secrets(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_environment(policy, LIST("B=2", "X_API_KEY=s", "A=1", "C=", "LD_PRELOAD=/x.so", "D=a=b"),
                           LIST("B=2", "A=1", "C=", "D=a=b"));
        assert_environment(policy, LIST(NULL), LIST(NULL));
        abatis_policy_free(policy);
}

static void a_password_in_an_address_is_a_secret_under_any_name(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_environment(policy,
                           LIST("http_proxy=http://user:pw@proxy:8080", "CACHE=redis://:pw@cache/0",
                                "INDEX=https://one.example/ https://user:pw@two.example/"),
                           LIST(NULL));
        assert_environment(policy,
                           LIST("A=http://host:8080/", "B=ssh://git@host/x", "C=http://host/a:b@c",
                                "D=user:pw@host", "E=://", "F=x://@", "G=x://:@h"),
                           LIST("A=http://host:8080/", "B=ssh://git@host/x", "C=http://host/a:b@c",
                                "D=user:pw@host", "E=://", "F=x://@", "G=x://:@h"));
        abatis_policy_free(policy);
}

static void an_entry_that_is_no_variable_is_dropped(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        assert_environment(policy, LIST("novalue", "", "A=1"), LIST("A=1"));
        abatis_policy_free(policy);
}

static void a_variable_passes_by_exact_name(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        set(policy, "environment.pass", "MY_TOKEN");
        set(policy, "environment.pass", "ABSENT_KEY");
        set(policy, "environment.pass", "LANGUAGE=de");
        assert_environment(policy,
                           LIST("MY_TOKEN=t", "MY_TOKEN_2=t", "OTHER_TOKEN=t", "NOT_MY_TOKEN=t", "my_token=t",
                                "LANG=C"),
                           LIST("MY_TOKEN=t", "LANG=C", "LANGUAGE=de"));
        abatis_policy_free(policy);
}

static void a_variable_is_set_replaced_and_the_last_word_counts(void **state)
{
        abatis_policy *policy = new_policy("dev");

        (void)state;
        set(policy, "environment.pass", "CI=1");
        set(policy, "environment.pass", "PATH=/bin");
        set(policy, "environment.pass", "EMPTY=");
        set(policy, "environment.pass", "TWICE=first");
        set(policy, "environment.pass", "TWICE=second");
        set(policy, "environment.pass", "A_KEY=known");
        assert_environment(policy, LIST("PATH=/usr/bin", "A_KEY=host's", "TWICE=host's", "Z=1"),
                           LIST("Z=1", "CI=1", "PATH=/bin", "EMPTY=", "TWICE=second", "A_KEY=known"));
        set(policy, "environment.pass", "TWICE");
        assert_environment(policy, LIST("TWICE=host's"),
                           LIST("TWICE=host's", "CI=1", "PATH=/bin", "EMPTY=", "A_KEY=known"));
        abatis_policy_free(policy);
}

static void a_temporary_directory_that_is_not_there_inside_is_dropped(void **state)
{
        abatis_policy *policy = new_policy("dev");
        char inside[512], outside[512];

        (void)state;
        snprintf(inside, sizeof(inside), "TMPDIR=%s", at("ws/tmp"));
        snprintf(outside, sizeof(outside), "TMPDIR=%s", at("elsewhere"));
        assert_environment(policy, LIST("TMPDIR=/tmp"), LIST("TMPDIR=/tmp"));
        assert_environment(policy, LIST("TMPDIR=/tmp/not-inside"), LIST(NULL));
        assert_environment(policy, LIST(inside), LIST(inside));
        assert_environment(policy, LIST(outside), LIST(NULL));
        set(policy, "environment.pass", outside);
        assert_environment(policy, LIST("A=1"), LIST("A=1", outside));
        abatis_policy_free(policy);
}

/* ---- the program ---------------------------------------------------------------------------------------- */

static void assert_found(const char *name, const char *path_variable, const char *expected)
{
        const char *const envp[] = { "NOTPATH=/x", path_variable, NULL };
        const struct program_search search = { .envp = envp };
        abatis_error err = { .message = "" };
        char *found = NULL;

        if (program_find(name, &search, &found, &err) < 0)
                fail_msg("%s in %s: %s", name, path_variable, err.message);
        assert_string_equal(found, expected);
        free(found);
}

static void assert_not_found(const char *name, const char *path_variable, int code)
{
        const char *const envp[] = { path_variable, NULL };
        const struct program_search search = { .envp = envp };
        char untouched, *found = &untouched;
        abatis_error err = { 0 };

        assert_int_equal(program_find(name, &search, &found, &err), code);
        assert_int_equal(err.code, code);
        assert_true(*err.message);
        assert_ptr_equal(found, &untouched);
        assert_int_equal(program_find(name, &search, &found, NULL), code);
}

static void a_program_is_searched_in_the_path_it_will_see(void **state)
{
        char path[1024];

        (void)state;
        make_file("one/tool", "");
        make_file("two/tool", "");
        assert_int_equal(chmod(at("two/tool"), 0755), 0);
        make_dir("three/tool");
        snprintf(path, sizeof(path), "PATH=%s:%s:%s", at("no"), at("one"), at("two"));
        assert_found("tool", path, at("two/tool")); /* the one that cannot be executed is passed over */
        assert_found(at("two/tool"), "PATH=", at("two/tool"));
        snprintf(path, sizeof(path), "PATH=%s", at("one"));
        assert_not_found("tool", path, ABATIS_E_NOT_EXECUTABLE);
        snprintf(path, sizeof(path), "PATH=%s", at("three"));
        assert_not_found("tool", path, ABATIS_E_NOT_EXECUTABLE);
        snprintf(path, sizeof(path), "PATH=:%s::", at("two"));
        assert_found("tool", path, at("two/tool"));
        assert_not_found("no-such-tool", path, ABATIS_E_NOT_FOUND);
        assert_not_found("tool", "PATH=", ABATIS_E_NOT_FOUND);
        assert_not_found("tool", "PATH=:::", ABATIS_E_NOT_FOUND);
        assert_not_found("", path, ABATIS_E_NOT_FOUND);
        assert_found("sh", "PATHS=/nowhere", access("/usr/bin/sh", X_OK) ? "/bin/sh" : "/usr/bin/sh");
}

static void a_program_given_by_path_must_be_an_executable_file(void **state)
{
        (void)state;
        make_file("plain", "");
        make_dir("directory");
        make_link("dangling", "nowhere");
        assert_not_found(at("plain"), "PATH=/bin", ABATIS_E_NOT_EXECUTABLE);
        assert_not_found(at("directory"), "PATH=/bin", ABATIS_E_NOT_EXECUTABLE);
        assert_not_found(at("no"), "PATH=/bin", ABATIS_E_NOT_FOUND);
        assert_not_found(at("plain/below"), "PATH=/bin", ABATIS_E_NOT_FOUND);
        assert_not_found(at("dangling"), "PATH=/bin", ABATIS_E_NOT_FOUND);
        assert_not_found("./no", "PATH=/bin", ABATIS_E_NOT_FOUND);
}

static void a_relative_program_is_looked_for_where_the_command_works(void **state)
{
        static const char *const names[] = { "./tool", ".//tool", "below/../tool", "tool" };
        const char *const envp[] = { "PATH=.:below", NULL };
        const struct program_search search = { .envp = envp, .directory = at("there") };

        (void)state;
        make_script("there/tool", "#!/bin/sh\n");
        make_dir("there/below");
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                char *found = NULL;

                assert_int_equal(program_find(names[i], &search, &found, NULL), 0);
                assert_true(*found == '/' && !access(found, X_OK));
                free(found);
        }
        assert_int_equal(program_find("./sh", &search, &(char *){ NULL }, NULL), ABATIS_E_NOT_FOUND);
}

static void what_the_policy_does_not_open_shadows_nothing(void **state)
{
        abatis_policy *policy = new_policy("strict");
        char path[1024], *found = NULL;
        const char *const envp[] = { path, NULL };

        (void)state;
        snprintf(path, sizeof(path), "PATH=%s:%s", at("home/bin"), at("ws/bin"));
        make_script("home/bin/tool", "#!/bin/sh\n");
        make_script("home/bin/only", "#!/bin/sh\n");
        make_script("ws/bin/tool", "#!/bin/sh\n");
        assert_int_equal(commands_search(policy, "tool", envp, NULL, &found, NULL), 0);
        assert_string_equal(found, at("ws/bin/tool"));
        free(found);
        /* What is nowhere else is found, to be refused by its name. */
        assert_int_equal(commands_search(policy, "only", envp, NULL, &found, NULL), 0);
        assert_string_equal(found, at("home/bin/only"));
        free(found);
        set(policy, "filesystem.execute", at("home/bin"));
        assert_int_equal(commands_search(policy, "tool", envp, NULL, &found, NULL), 0);
        assert_string_equal(found, at("home/bin/tool"));
        free(found);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(names_that_look_secret_are_filtered),
                cmocka_unit_test(ordinary_names_pass),
                cmocka_unit_test(only_the_name_is_looked_at),
                POLICY_TEST(the_filter_keeps_order_and_drops_secrets),
                POLICY_TEST(a_password_in_an_address_is_a_secret_under_any_name),
                POLICY_TEST(an_entry_that_is_no_variable_is_dropped),
                POLICY_TEST(a_variable_passes_by_exact_name),
                POLICY_TEST(a_variable_is_set_replaced_and_the_last_word_counts),
                POLICY_TEST(a_temporary_directory_that_is_not_there_inside_is_dropped),
                POLICY_TEST(a_program_is_searched_in_the_path_it_will_see),
                POLICY_TEST(a_program_given_by_path_must_be_an_executable_file),
                POLICY_TEST(a_relative_program_is_looked_for_where_the_command_works),
                POLICY_TEST(what_the_policy_does_not_open_shadows_nothing),
        };

        return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
