/* test_trust.c: what a user has vouched for counts until it changes, and the record of it lies outside of the project. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compositions.h"

/* Beyond what the default allows: refused unless it is trusted. */
static const char wide[] = "network: {mode: allow}\n";

static int try_workspace(const char *workspace, abatis_error *err)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .workspace = workspace,
                                                .layers = ABATIS_LAYER_PROJECT };
        abatis_policy *policy = NULL;
        int r = abatis_policy_new(&options, &policy, err);

        if (!r)
                assert_int_equal(policy->network, NETWORK_ALLOW);
        abatis_policy_free(policy);
        return r;
}

static bool is_trusted(const char *workspace)
{
        abatis_error err;
        int r = try_workspace(workspace, &err);

        if (r < 0 && !strstr(err.message, "'abatis trust'"))
                fail_msg("%s", err.message);
        return !r;
}

static void trust(const char *workspace, bool wanted, const char *path)
{
        abatis_error err;
        char *found = NULL;

        if (abatis_trust(workspace, wanted, &found, &err) < 0)
                fail_msg("%s", err.message);
        assert_string_equal(found, path);
        free(found);
}

static void assert_untrustable(const char *workspace, const char *message)
{
        abatis_error err;
        char untouched, *found = &untouched;

        assert_int_equal(abatis_trust(workspace, 1, &found, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, message);
        assert_ptr_equal(found, &untouched);
}

/* The only file in the record. */
static const char *record(void)
{
        DIR *directory = opendir(at("home/.local/state/abatis/trust"));
        const char *found = NULL;
        struct dirent *entry;

        assert_non_null(directory);
        while ((entry = readdir(directory)))
                if (entry->d_name[0] != '.') {
                        assert_null(found);
                        found = at("home/.local/state/abatis/trust/%s", entry->d_name);
                }
        closedir(directory);
        return found;
}

static void trust_lasts_until_the_file_changes(void **state)
{
        const char *file = make_file("ws/.abatis.yaml", wide);

        (void)state;
        assert_false(is_trusted(at("ws")));
        trust(at("ws"), true, file);
        assert_true(is_trusted(at("ws")));
        make_file("ws/.abatis.yaml", format("%s# one byte more\n", wide));
        assert_false(is_trusted(at("ws")));
        make_file("ws/.abatis.yaml", wide);
        assert_true(is_trusted(at("ws"))); /* the same again */
        make_file("ws/.abatis.yaml", format("%s# new\n", wide));
        trust(at("ws"), true, file);
        assert_true(is_trusted(at("ws")));
        make_file("ws/.abatis.yaml", wide);
        assert_false(is_trusted(at("ws"))); /* only the last one counts */
        trust(at("ws"), false, file);
        make_file("ws/.abatis.yaml", format("%s# new\n", wide));
        assert_false(is_trusted(at("ws")));
        trust(at("ws"), false, file); /* again: no harm */
}

static void trust_is_for_one_place(void **state)
{
        (void)state;
        make_file("ws/.abatis.yaml", wide);
        make_file("other/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        assert_true(is_trusted(at("ws")));
        assert_false(is_trusted(at("other")));
        /* Called by another name it is the same place. */
        make_link("link", at("ws"));
        assert_true(is_trusted(at("link")));
        assert_true(is_trusted(format("%s/./", at("ws"))));
        assert_int_equal(rename(at("ws"), at("moved")), 0);
        assert_false(is_trusted(at("moved")));
}

static void the_record_lies_outside_and_is_private(void **state)
{
        struct stat status;

        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        assert_int_equal(stat(record(), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
        assert_int_equal(stat(at("home/.local/state/abatis/trust"), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0700);
        assert_int_equal(stat(at("home/.local"), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0700);
        setenv("XDG_STATE_HOME", at("state"), 1);
        assert_false(is_trusted(at("ws")));
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        assert_true(is_trusted(at("ws")));
        unsetenv("XDG_STATE_HOME");
        assert_true(is_trusted(at("ws")));
}

/* Nothing that lies in the project makes it trusted. */
static void a_project_cannot_vouch_for_itself(void **state)
{
        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        assert_int_equal(mkdir(at("ws/.local"), 0700), 0);
        assert_int_equal(rename(at("home/.local/state"), at("ws/.local/state")), 0);
        assert_false(is_trusted(at("ws")));
}

static void a_record_that_others_can_write_is_refused(void **state)
{
        abatis_error err;

        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        chmod(record(), 0666);
        assert_int_equal(try_workspace(at("ws"), &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "can be written by everybody"));
        chmod(record(), 0600);
        assert_true(is_trusted(at("ws")));
        if (geteuid())
                return;
        assert_int_equal(chown(record(), 4343, 4343), 0);
        assert_int_equal(try_workspace(at("ws"), &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "belongs to another user"));
}

static void a_broken_record_is_no_trust(void **state)
{
        static const char *const texts[] = { "", "\n", "0", " ", "x y" };
        const char *path, *line;
        FILE *file;
        char text[512];

        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        path = record() + strlen(at("%s", "")) + 1;
        file = fopen(at("%s", path), "r");
        assert_non_null(file);
        line = fgets(text, sizeof(text), file);
        fclose(file);
        assert_ptr_equal(line, text);
        for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
                make_file(path, texts[i]);
                assert_false(is_trusted(at("ws")));
        }
        make_file(path, format("%.64s", text));
        assert_false(is_trusted(at("ws")));
        make_file(path, format("%.64s /another/.abatis.yaml", text));
        assert_false(is_trusted(at("ws")));
        make_file(path, format("%.64sx%s", text, text + 65));
        assert_false(is_trusted(at("ws")));
        make_file(path, format("%.63s%c%s", text, text[63] == '0' ? '1' : '0', text + 64));
        assert_false(is_trusted(at("ws")));
        make_file(path, format("0%s", text));
        assert_false(is_trusted(at("ws")));
        make_file(path, text);
        assert_true(is_trusted(at("ws")));
}

static void what_cannot_be_read_cannot_be_trusted(void **state)
{
        (void)state;
        assert_untrustable(at("ws"), format("'%s' has no .abatis.yaml, nor its repository", at("ws")));
        make_file("ws/.abatis.yaml", "netwrok: {}\n");
        assert_untrustable(at("ws"), format("%s:1:1: unknown key 'netwrok'; did you mean 'network'?",
                                            at("ws/.abatis.yaml")));
        unlink(at("ws/.abatis.yaml"));
        make_link("ws/.abatis.yaml", make_file("elsewhere.yaml", wide));
        assert_untrustable(at("ws"), format("policy '%s' is a symbolic link", at("ws/.abatis.yaml")));
        unlink(at("ws/.abatis.yaml"));
        make_file("ws/.abatis.yaml", wide);
        unsetenv("HOME");
        assert_untrustable(at("ws"), "there is no home directory to remember it in");
        assert_false(is_trusted(at("ws")));
        setenv("HOME", at("home"), 1);
}

/* A link that stands where the new record is written leads nowhere. */
static void the_record_is_not_written_through_a_link(void **state)
{
        struct stat status;
        abatis_error err;
        char *found;

        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        make_file("victim", "keep");
        assert_int_equal(symlink(at("victim"), format("%s.new", record())), 0);
        assert_true(abatis_trust(at("ws"), 1, &found, &err) < 0);
        assert_int_equal(stat(at("victim"), &status), 0);
        assert_int_equal(status.st_size, 4);
        assert_true(is_trusted(at("ws")));
}

/* Where the disk is full, what was trusted before stays as it was. */
static void a_record_is_written_whole_or_not_at_all(void **state)
{
        struct rlimit before, small;
        abatis_error err;
        char *found;
        int r;

        (void)state;
        make_file("ws/.abatis.yaml", wide);
        trust(at("ws"), true, at("ws/.abatis.yaml"));
        make_file("ws/.abatis.yaml", format("%s# new\n", wide));
        assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
        small = (struct rlimit){ 10, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        r = abatis_trust(at("ws"), 1, &found, &err);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(r, ABATIS_E_SYSTEM);
        assert_false(is_trusted(at("ws")));
        make_file("ws/.abatis.yaml", wide);
        assert_true(is_trusted(at("ws")));
        assert_non_null(record()); /* and nothing beside it */
}

/* Somebody has vouched for it, so that it counts like a file of the user's, and no more. */
static void a_trusted_file_lies_between_the_users_and_the_given(void **state)
{
        abatis_policy *policy;

        (void)state;
        policy = compose(&(struct texts){ .user = "limits: {timeout: 1s}\nnetwork: {mode: deny}",
                                          .project = "limits: {timeout: 2s}\nnetwork: {mode: allow}",
                                          .trusts_project = true,
                                          .given = "limits: {timeout: 3s}" });
        assert_int_equal(policy->limits[LIMIT_TIMEOUT], 3000);
        assert_int_equal(policy->network, NETWORK_ALLOW);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(trust_lasts_until_the_file_changes),
                COMPOSITION_TEST(trust_is_for_one_place),
                COMPOSITION_TEST(the_record_lies_outside_and_is_private),
                COMPOSITION_TEST(a_project_cannot_vouch_for_itself),
                COMPOSITION_TEST(a_record_that_others_can_write_is_refused),
                COMPOSITION_TEST(a_broken_record_is_no_trust),
                COMPOSITION_TEST(what_cannot_be_read_cannot_be_trusted),
                COMPOSITION_TEST(the_record_is_not_written_through_a_link),
                COMPOSITION_TEST(a_record_is_written_whole_or_not_at_all),
                COMPOSITION_TEST(a_trusted_file_lies_between_the_users_and_the_given),
        };

        return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
