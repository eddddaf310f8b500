/* test_files.c: which policy files are found and read, and which are refused for what they are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compositions.h"
#include "policy/compose.h"

/* ---- reading one ---------------------------------------------------------------------------------------- */

static int read_file(const char *path, enum file_care care, char **out, size_t *length, char *message)
{
        abatis_error err = { .message = "" };
        int r = file_read(path, care, out, length, &err);

        assert_int_equal(err.code, r);
        strcpy(message, err.message);
        return r;
}

static void assert_unread(const char *path, enum file_care care, const char *wanted)
{
        char untouched, *text = &untouched, message[1024];
        size_t length;

        assert_int_equal(read_file(path, care, &text, &length, message), ABATIS_E_INVALID);
        assert_ptr_equal(text, &untouched);
        assert_string_equal(message, wanted);
}

static void assert_read(const char *path, enum file_care care, const char *wanted)
{
        char *text = NULL, message[1024];
        size_t length;

        if (read_file(path, care, &text, &length, message) < 0)
                fail_msg("%s", message);
        assert_string_equal(text, wanted);
        assert_int_equal(length, strlen(wanted));
        free(text);
}

static void a_file_is_read_whole(void **state)
{
        char *text = (char *)"", *large = malloc(DOCUMENT_SIZE_MAX + 2), message[1024];
        size_t length;

        (void)state;
        assert_read(make_file("f", "version: 1\n"), FILE_OURS, "version: 1\n");
        assert_read(make_file("g", ""), FILE_ANY, "");
        assert_int_equal(read_file(at("no"), FILE_ANY, &text, &length, message), 0);
        assert_null(text);
        text = (char *)"";
        assert_int_equal(read_file(at("f/no"), FILE_ANY, &text, &length, message), 0);
        assert_null(text);
        assert_non_null(large);
        memset(large, '#', DOCUMENT_SIZE_MAX + 1);
        large[DOCUMENT_SIZE_MAX] = '\0';
        assert_read(make_file("h", large), FILE_ANY, large);
        large[DOCUMENT_SIZE_MAX] = '#';
        large[DOCUMENT_SIZE_MAX + 1] = '\0';
        assert_unread(make_file("i", large), FILE_ANY, format("policy '%s' is larger than 1 MiB", at("i")));
        free(large);
}

/* Nobody waits for the other end of a pipe. */
static void only_a_regular_file_is_read(void **state)
{
        (void)state;
        assert_int_equal(mkfifo(at("pipe"), 0600), 0);
        assert_unread(at("pipe"), FILE_ANY, format("policy '%s' is not a regular file", at("pipe")));
        assert_unread(make_dir("d"), FILE_ANY, format("policy '%s' is not a regular file", at("d")));
        assert_unread("/dev/zero", FILE_ANY, "policy '/dev/zero' is not a regular file");
}

static void what_others_can_change_is_not_ours(void **state)
{
        const char *file = make_file("f", "version: 1\n");

        (void)state;
        chmod(file, 0666);
        assert_unread(file, FILE_OURS,
                      format("policy '%s' can be written by everybody; run chmod o-w", file));
        assert_read(file, FILE_ANY, "version: 1\n");
        chmod(file, 0644);
        assert_read(file, FILE_OURS, "version: 1\n");
        if (geteuid())
                return;
        assert_int_equal(chown(file, 4343, 4343), 0);
        assert_unread(file, FILE_OURS,
                      format("policy '%s' belongs to another user; it must be yours or root's", file));
}

static void a_link_is_followed_for_the_user_and_not_for_a_project(void **state)
{
        const char *link = make_link("link", make_file("f", "version: 1\n"));

        (void)state;
        assert_read(link, FILE_OURS, "version: 1\n");
        assert_unread(link, FILE_NO_LINK, format("policy '%s' is a symbolic link", link));
        unlink(at("f"));
        assert_unread(link, FILE_OURS,
                      format("policy '%s': the symbolic link '%s' leads nowhere", link, link));
        make_link("gone", "nowhere");
        assert_unread(at("gone/abatis/policy.yaml"), FILE_OURS,
                      format("policy '%s': the symbolic link '%s' leads nowhere",
                             at("gone/abatis/policy.yaml"), at("gone")));
        make_file("f", "version: 1\n");
        /* What it leads to is what must be ours. */
        chmod(at("f"), 0666);
        assert_unread(link, FILE_OURS,
                      format("policy '%s' can be written by everybody; run chmod o-w", link));
}

/* ---- the user's and the caller's ------------------------------------------------------------------------ */

static int make_policy(const char *file, unsigned layers, abatis_policy **out, abatis_error *err)
{
        const abatis_policy_options options = {
                .size = sizeof(options), .workspace = at("ws"), .file = file, .layers = layers
        };

        return abatis_policy_new(&options, out, err);
}

static uint64_t timeout_of(const char *file, unsigned layers)
{
        abatis_policy *policy = NULL;
        abatis_error err;
        uint64_t limit;

        if (make_policy(file, layers, &policy, &err) < 0)
                fail_msg("%s", err.message);
        limit = abatis_policy_limit(policy, "limits.timeout");
        abatis_policy_free(policy);
        return limit;
}

static void assert_refused(const char *file, unsigned layers, const char *message)
{
        abatis_policy *policy = NULL;
        abatis_error err = { .message = "" };

        assert_int_equal(make_policy(file, layers, &policy, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, message);
        assert_null(policy);
}

static void files_count_where_they_are_asked_for(void **state)
{
        (void)state;
        make_file("home/.config/abatis/policy.yaml", "limits: {timeout: 1s}\n");
        make_file("ws/.abatis.yaml", "limits: {timeout: 900ms}\n");
        make_file("given.json", "{\"limits\": {\"timeout\": \"3s\"}}");
        make_file("given.toml", "limits.timeout = '4s'\n");
        assert_int_equal(timeout_of(NULL, 0), 30000);
        assert_int_equal(timeout_of(NULL, ABATIS_NO_DEFAULT_LIMITS), 0);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYERS_ALL | ABATIS_NO_DEFAULT_LIMITS), 900);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYER_USER), 1000);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYER_PROJECT), 900);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYERS_ALL), 900);
        assert_int_equal(timeout_of(at("given.json"), ABATIS_LAYERS_ALL), 3000);
        assert_int_equal(timeout_of(at("given.toml"), 0), 4000);
        assert_refused(at("no.yaml"), 0, format("policy '%s' does not exist", at("no.yaml")));
        setenv("XDG_CONFIG_HOME", make_dir("xdg"), 1);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYER_USER), 30000);
        make_file("xdg/abatis/policy.yaml", "limits: {timeout: 7s}\n");
        assert_int_equal(timeout_of(NULL, ABATIS_LAYER_USER), 7000);
        setenv("XDG_CONFIG_HOME", "relative", 1);
        assert_int_equal(timeout_of(NULL, ABATIS_LAYER_USER), 1000);
        unsetenv("XDG_CONFIG_HOME");
}

static void what_is_wrong_with_a_file_is_said(void **state)
{
        const char *user = make_file("home/.config/abatis/policy.yaml", "limits: {timeout: 1}\n");

        (void)state;
        assert_refused(NULL, ABATIS_LAYER_USER,
                       format("%s:1:19: limits.timeout: 1 has no unit; write 1s for seconds", user));
        make_file("home/.config/abatis/policy.yaml", "version: 1\n");
        chmod(user, 0666);
        assert_refused(NULL, ABATIS_LAYER_USER,
                       format("policy '%s' can be written by everybody; run chmod o-w", user));
        chmod(user, 0644);
        make_profile("p", "extends: dev\n");
        chmod(at("home/.config/abatis/profiles/p.yaml"), 0666);
        make_file("given.yaml", "extends: p\n");
        assert_refused(at("given.yaml"), 0,
                       format("policy '%s' can be written by everybody; run chmod o-w",
                              at("home/.config/abatis/profiles/p.yaml")));
}

/* Whoever is told that a path cannot be resolved is also told why, in a number. */
static void what_the_system_refuses_keeps_its_errno(void **state)
{
        abatis_policy *policy = NULL;
        abatis_error err;

        (void)state;
        make_link("loop", "loop");
        make_file("given.yaml", format("version: 1\nfilesystem: {deny: ['%s']}\n", at("loop")));
        assert_int_equal(make_policy(at("given.yaml"), 0, &policy, &err), ABATIS_E_SYSTEM);
        assert_int_equal(err.code, ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, ELOOP);
        assert_non_null(strstr(err.message, format("%s:2:21: filesystem.deny: ", at("given.yaml"))));
        /* and while it is asked whether a project's file only narrows */
        make_file("ws/.abatis.yaml", format("filesystem: {read: ['%s']}\n", at("loop")));
        assert_int_equal(make_policy(NULL, ABATIS_LAYER_PROJECT, &policy, &err), ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, ELOOP);
        assert_non_null(strstr(err.message, "/.abatis.yaml:1:21: filesystem.read: "));
        assert_int_equal(make_policy(NULL, ABATIS_LAYER_PROJECT, &policy, NULL), ABATIS_E_SYSTEM);
        assert_null(policy);
}

/* ---- the project's -------------------------------------------------------------------------------------- */

static void assert_project(const char *workspace, const char *wanted)
{
        abatis_error err = { .message = "" };
        char *found = (char *)"";

        assert_int_equal(files_find_project(workspace, &found, &err), 0);
        if (wanted)
                assert_string_equal(found, wanted);
        else
                assert_null(found);
        free(found);
}

static void the_nearest_file_of_the_repository_counts(void **state)
{
        (void)state;
        make_dir("r/.git");
        make_dir("r/a/b");
        make_file(".abatis.yaml", "");
        assert_project(at("r/a/b"), NULL);
        make_file("r/.abatis.yaml", "");
        assert_project(at("r/a/b"), at("r/.abatis.yaml"));
        assert_project(at("r"), at("r/.abatis.yaml"));
        make_file("r/a/.abatis.yaml", "");
        assert_project(at("r/a/b"), at("r/a/.abatis.yaml"));
        make_file("r/a/b/.abatis.yaml", "");
        assert_project(at("r/a/b"), at("r/a/b/.abatis.yaml"));
}

/* A worktree's and a submodule's repository begins where its .git is, a file or a link to anywhere. */
static void a_repository_ends_the_search(void **state)
{
        (void)state;
        make_dir("r/.git");
        make_file("r/.abatis.yaml", "");
        make_dir("r/sub/in");
        assert_project(at("r/sub/in"), at("r/.abatis.yaml"));
        make_file("r/sub/.git", "gitdir: /nowhere\n");
        assert_project(at("r/sub/in"), NULL);
        unlink(at("r/sub/.git"));
        make_link("r/sub/.git", "nowhere");
        assert_project(at("r/sub/in"), NULL);
}

/* Outside of a repository nobody else's file counts: /tmp/.abatis.yaml, say. */
static void without_a_repository_only_the_workspace_counts(void **state)
{
        (void)state;
        make_file("d/.abatis.yaml", "");
        make_dir("d/in");
        assert_project(at("d"), at("d/.abatis.yaml"));
        assert_project(at("d/in"), NULL);
        assert_project("/", NULL);
        assert_project("/usr", NULL);
}

static void a_project_file_is_a_file(void **state)
{
        (void)state;
        make_link("ws/.abatis.yaml", make_file("elsewhere.yaml", "version: 1\n"));
        assert_refused(NULL, ABATIS_LAYER_PROJECT,
                       format("policy '%s' is a symbolic link", at("ws/.abatis.yaml")));
        unlink(at("ws/.abatis.yaml"));
        make_link("ws/.abatis.yaml", "nowhere");
        assert_refused(NULL, ABATIS_LAYER_PROJECT,
                       format("policy '%s' is a symbolic link", at("ws/.abatis.yaml")));
        unlink(at("ws/.abatis.yaml"));
        assert_int_equal(mkfifo(at("ws/.abatis.yaml"), 0600), 0);
        assert_refused(NULL, ABATIS_LAYER_PROJECT,
                       format("policy '%s' is not a regular file", at("ws/.abatis.yaml")));
        unlink(at("ws/.abatis.yaml"));
        make_dir("ws/.abatis.yaml");
        assert_refused(NULL, ABATIS_LAYER_PROJECT,
                       format("policy '%s' is not a regular file", at("ws/.abatis.yaml")));
}

static void a_text_takes_the_place_of_a_file(void **state)
{
        abatis_policy_options options = { .size = sizeof(options),
                                          .workspace = at("ws"),
                                          .file = "given.json",
                                          .text = "{\"limits\": {\"timeout\": \"3s\"}}" };
        abatis_policy *policy = NULL;
        abatis_error err;

        (void)state;
        make_file("given.json", "no JSON at all");
        assert_int_equal(abatis_policy_new(&options, &policy, &err), 0);
        assert_int_equal(abatis_policy_limit(policy, "limits.timeout"), 3000);
        /* Nobody has to protect a file that was not read. */
        assert_int_equal(policy->sources.count, 0);
        abatis_policy_free(policy);
        policy = NULL;
        options.text = "{\"limit\": 1}";
        assert_int_equal(abatis_policy_new(&options, &policy, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "given.json:1:2: unknown key 'limit'"));
        options.file = NULL;
        assert_int_equal(abatis_policy_new(&options, &policy, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, "abatis_policy_options.text needs a name in file");
        assert_null(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(a_file_is_read_whole),
                COMPOSITION_TEST(only_a_regular_file_is_read),
                COMPOSITION_TEST(what_others_can_change_is_not_ours),
                COMPOSITION_TEST(a_link_is_followed_for_the_user_and_not_for_a_project),
                COMPOSITION_TEST(files_count_where_they_are_asked_for),
                COMPOSITION_TEST(what_is_wrong_with_a_file_is_said),
                COMPOSITION_TEST(what_the_system_refuses_keeps_its_errno),
                COMPOSITION_TEST(the_nearest_file_of_the_repository_counts),
                COMPOSITION_TEST(a_repository_ends_the_search),
                COMPOSITION_TEST(without_a_repository_only_the_workspace_counts),
                COMPOSITION_TEST(a_project_file_is_a_file),
                COMPOSITION_TEST(a_text_takes_the_place_of_a_file),
        };

        return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
