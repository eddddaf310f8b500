/* test_git.c: repositories, worktrees, and pointer files that an earlier command may have forged. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

/* A file with this text, in which `argument` stands for the %s. */
static void make_filef(const char *relative, const char *pattern, const char *argument)
{
        const char *place = strstr(pattern, "%s");
        char text[8192];

        assert_non_null(place);
        snprintf(text, sizeof(text), "%.*s%s%s", (int)(place - pattern), pattern, argument, place + 2);
        make_file(relative, text);
}

static void make_repository(const char *relative)
{
        char path[512];
        static const char *const files[] = { "HEAD", "config", "objects/x", "refs/x" };

        for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
                snprintf(path, sizeof(path), "%s/%s", relative, files[i]);
                make_file(path, "x\n");
        }
        snprintf(path, sizeof(path), "%s/hooks", relative);
        make_dir(path);
}

/* The main repository in `main`, and `ws` as a worktree of it that git itself would accept. */
static void make_worktree(void)
{
        make_repository("main/.git");
        make_filef("main/.git/worktrees/ws/gitdir", "%s\n", at("ws/.git"));
        make_file("main/.git/worktrees/ws/commondir", "../..\n");
        make_filef("ws/.git", "gitdir: %s\n", at("main/.git/worktrees/ws"));
}

/* ---- dev: usable, but not to be turned against the user ------------------------------------------------- */

static void a_repository_is_writable_but_for_hooks_and_configuration(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ws/.git");
        policy = new_policy("dev");
        assert_true(may(policy, ABATIS_WRITE, at("ws/.git/index")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/.git/objects/ab/cd")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/hooks/post-checkout")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/config")));
        assert_true(may(policy, ABATIS_READ, at("ws/.git/config")));
        assert_true(may(policy, ABATIS_EXECUTE, at("ws/.git/hooks/pre-commit")));
        abatis_policy_free(policy);
}

/* Either could be created, and git would obey it: without both nothing of the repository may be written. */
static void a_repository_without_hooks_or_configuration_is_read_only(void **state)
{
        static const char *const names[] = { "hooks", "config" };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                abatis_policy *policy;

                make_repository("ws/.git");
                policy = new_policy("dev");
                assert_true(may(policy, ABATIS_WRITE, at("ws/.git/index")));
                abatis_policy_free(policy);
                assert_int_equal(remove(at("ws/.git/%s", names[i])), 0);
                policy = new_policy("dev");
                assert_false(may(policy, ABATIS_WRITE, at("ws/.git/index")));
                assert_false(may(policy, ABATIS_WRITE, at("ws/.git/%s", names[i])));
                assert_true(may(policy, ABATIS_READ, at("ws/.git/index")));
                assert_true(may(policy, ABATIS_WRITE, at("ws/x")));
                abatis_policy_free(policy);
        }
}

static void other_files_that_make_git_run_programs_are_protected_when_they_exist(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ws/.git");
        make_file("ws/.git/config.worktree", "");
        make_file("ws/.git/modules/sub/config", "");
        policy = new_policy("dev");
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/config.worktree")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/modules/sub/config")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/modules/sub/hooks/post-checkout")));
        abatis_policy_free(policy);
}

/* git reads hooks and configuration from where this file points: whoever writes it has both. */
static void an_existing_commondir_file_is_protected(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ws/.git");
        make_file("ws/.git/commondir", ".\n");
        policy = new_policy("dev");
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git/commondir")));
        abatis_policy_free(policy);
}

/* Hooks may lie in the workspace (husky and the like): git outside runs them all the same. */
static void assert_leftovers(abatis_policy *policy, const char *const *wanted)
{
        size_t count = 0;

        for (; wanted[count]; count++)
                assert_true(strings_has(&policy->leftovers, at("%s", wanted[count])));
        assert_int_equal(policy->leftovers.count, count);
        abatis_policy_free(policy);
}

static void what_would_lead_git_elsewhere_is_looked_for_if_it_is_not_there(void **state)
{
        static const char *const nothing[] = { NULL };
        static const char *const both[] = { "ws/.git/config.worktree", "ws/.git/commondir", NULL };
        static const char *const commondir[] = { "ws/.git/commondir", NULL };

        (void)state;
        assert_leftovers(new_policy("dev"), nothing);
        make_repository("ws/.git");
        assert_leftovers(new_policy("dev"), both);
        assert_leftovers(new_policy("tool"), nothing);
        assert_leftovers(new_policy("guard"), nothing);
        make_file("ws/.git/config.worktree", "");
        make_file("ws/.git/commondir", ".\n");
        assert_leftovers(new_policy("dev"), commondir);
}

static void no_leftover_is_possible_in_what_cannot_be_written(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ws/.git");
        policy = new_policy("dev");
        assert_true(git_leftover_is_possible(policy, at("ws/.git/commondir")));
        assert_int_equal(policy_add_rule(policy, RULE_PROTECT, at("ws/.git"), "test", NULL), 0);
        assert_false(git_leftover_is_possible(policy, at("ws/.git/commondir")));
        abatis_policy_free(policy);
}

static void hooks_kept_elsewhere_in_the_workspace_are_protected(void **state)
{
        static const char *const configurations[] = {
                "[core]\n\thooksPath = .husky\n",
                "[core]\nhookspath=.husky\n",
                "[core]\n\tbare = false\n[user]\n\tname = x\n[core]\n\tHooksPath = \".husky\"\n",
                "[core]\r\n\thooksPath = .husky\r\n",
                "[core]\n\thooksPath = .husky   \n",
                "[core]\n\thooksPath = .husky ; ours\n",
                "[core] hooksPath = .husky\n",
                "[CORE]\n\thooksPath = ./.husky/\n",
                "[core]\n\thooksPath = sub/../.husky\n",
        };
        unsigned missed = 0;

        (void)state;
        make_repository("ws/.git");
        make_dir("ws/.husky");
        make_dir("ws/sub");
        for (size_t i = 0; i < sizeof(configurations) / sizeof(*configurations); i++) {
                abatis_policy *policy;

                make_file("ws/.git/config", configurations[i]);
                policy = new_policy("dev");
                if (may(policy, ABATIS_WRITE, at("ws/.husky/pre-commit"))) {
                        print_error("not protected with configuration %zu\n", i);
                        missed++;
                }
                abatis_policy_free(policy);
        }
        assert_int_equal(missed, 0);
}

static void hooks_outside_the_workspace_need_no_rule(void **state)
{
        static const char *const configurations[] = { "[core]\n\thooksPath = /usr/share/hooks\n",
                                                      "[core]\n\thooksPath = ~/hooks\n",
                                                      "[core]\n\thooksPath =\n",
                                                      "[remote]\n\thooksPath = .husky\n", "" };

        (void)state;
        make_repository("ws/.git");
        for (size_t i = 0; i < sizeof(configurations) / sizeof(*configurations); i++) {
                abatis_policy *policy;

                make_file("ws/.git/config", configurations[i]);
                policy = new_policy("dev");
                assert_int_equal(count_rules(policy, RULE_PROTECT), 2);
                abatis_policy_free(policy);
        }
}

static void a_workspace_without_repository_has_no_git_rules(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository(".git"); /* of a directory above, which dev leaves alone: it is read-only anyway */
        policy = new_policy("dev");
        assert_int_equal(count_rules(policy, RULE_PROTECT), 0);
        assert_int_equal(count_rules(policy, RULE_WRITE), 1);
        abatis_policy_free(policy);
}

static void a_worktree_may_commit_to_its_main_repository_and_no_more(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_worktree();
        policy = new_policy("dev");
        assert_true(may(policy, ABATIS_WRITE, at("main/.git/objects/x")));
        assert_true(may(policy, ABATIS_WRITE, at("main/.git/worktrees/ws/index")));
        assert_false(may(policy, ABATIS_WRITE, at("main/.git/config")));
        assert_false(may(policy, ABATIS_WRITE, at("main/.git/hooks/pre-commit")));
        assert_false(may(policy, ABATIS_WRITE, at("main/src.c")));
        assert_false(may(policy, ABATIS_WRITE, at("ws/.git")));
        assert_true(may(policy, ABATIS_READ, at("ws/.git")));
        abatis_policy_free(policy);
}

static void what_leads_a_worktree_to_its_main_repository_is_protected(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_worktree();
        policy = new_policy("dev");
        assert_false(may(policy, ABATIS_WRITE, at("main/.git/worktrees/ws/commondir")));
        abatis_policy_free(policy);
}

/* As git writes and reads them. */
static void repositories_with_newlines_in_their_names_are_found(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ma\nin/.git");
        make_filef("ma\nin/.git/worktrees/ws/gitdir", "%s\n", at("ws/.git"));
        make_filef("ws/.git", "gitdir: %s\n", at("ma\nin/.git/worktrees/ws"));
        policy = new_policy("dev");
        assert_true(may(policy, ABATIS_WRITE, at("ma\nin/.git/objects/x")));
        assert_false(may(policy, ABATIS_WRITE, at("ma\nin/.git/config")));
        abatis_policy_free(policy);
        policy = new_policy("tool");
        assert_false(may(policy, ABATIS_READ, at("ma\nin/.git/config")));
        assert_true(may(policy, ABATIS_READ, at("ma\nin/x")));
        abatis_policy_free(policy);

        make_repository("other/.git");
        make_dir("other/ho\n\"o\\ks");
        make_file("other/.git/config", "[core]\n\thooksPath = \"ho\\n\\\"o\\\\ks\"\n");
        policy = new_policy_with("dev", at("other"), NULL, NULL);
        assert_false(may(policy, ABATIS_WRITE, at("other/ho\n\"o\\ks/pre-commit")));
        assert_true(may(policy, ABATIS_WRITE, at("other/ho")));
        abatis_policy_free(policy);
}

static void a_worktree_that_points_relatively_is_recognised(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_worktree();
        make_file("ws/.git", "gitdir: ../main/.git/worktrees/ws\n");
        policy = new_policy("dev");
        assert_true(may(policy, ABATIS_WRITE, at("main/.git/objects/x")));
        assert_false(may(policy, ABATIS_WRITE, at("main/.git/config")));
        abatis_policy_free(policy);
}

/* ---- forged pointers ------------------------------------------------------------------------------------ */

/* The pointer file must give nothing: the only tree that may be written is the workspace. */
static void assert_opens_nothing(const char *what)
{
        abatis_policy *policy = new_policy("dev");

        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_WRITE &&
                    !path_is_below(policy->rules[i].facts.real, at("ws")))
                        fail_msg("%s: '%s' became writable", what, policy->rules[i].facts.real);
        if (count_rules(policy, RULE_WRITE) != 1)
                fail_msg("%s: there is a second write rule", what);
        assert_false(may(policy, ABATIS_WRITE, at("victim/.git/objects/x")));
        assert_false(may(policy, ABATIS_WRITE, at("victim/x")));
        abatis_policy_free(policy);
}

static void make_victim(void)
{
        make_repository("victim/.git");
        make_filef("victim/.git/worktrees/other/gitdir", "%s\n", at("elsewhere/.git"));
        make_file("victim/.git/worktrees/other/commondir", "../..\n");
        make_file("victim/secret", "x");
}

static void a_pointer_to_somebody_else_s_repository_opens_nothing(void **state)
{
        static const struct {
                const char *what, *format, *target;
        } forgeries[] = {
                { "a worktree of somebody else", "gitdir: %s\n", "victim/.git/worktrees/other" },
                { "one that does not exist", "gitdir: %s\n", "victim/.git/worktrees/ws" },
                { "the repository itself", "gitdir: %s\n", "victim/.git" },
                { "a plain directory", "gitdir: %s\n", "victim" },
                { "a file", "gitdir: %s\n", "victim/secret" },
                { "the list of worktrees", "gitdir: %s\n", "victim/.git/worktrees" },
                { "through dots", "gitdir: %s/../worktrees/other\n", "victim/.git/worktrees" },
                { "itself", "gitdir: %s\n", "ws/.git" },
                { "no newline", "gitdir: %s", "victim/.git/worktrees/other" },
                { "two lines", "gitdir: nowhere\ngitdir: %s\n", "victim/.git/worktrees/other" },
                { "no key", "%s\n", "victim/.git/worktrees/other" },
                { "no space", "gitdir:%s\n", "victim/.git/worktrees/other" },
                { "space before", " gitdir: %s\n", "victim/.git/worktrees/other" },
        };

        (void)state;
        make_victim();
        for (size_t i = 0; i < sizeof(forgeries) / sizeof(*forgeries); i++) {
                make_filef("ws/.git", forgeries[i].format, at("%s", forgeries[i].target));
                assert_opens_nothing(forgeries[i].what);
        }
        make_file("ws/.git", "gitdir: ../victim/.git/worktrees/other");
        assert_opens_nothing("relative");
        make_file("ws/.git", "gitdir: /");
        assert_opens_nothing("the root");
        make_file("ws/.git", "gitdir: ");
        assert_opens_nothing("nothing");
        make_file("ws/.git", "");
        assert_opens_nothing("an empty file");
}

/* The directory's own pointer must name this workspace's file: exactly, absolutely, really. */
static void a_pointer_back_to_another_place_opens_nothing(void **state)
{
        const struct {
                const char *what, *format, *target;
        } backs[] = {
                { "another worktree", "%s\n", at("elsewhere/.git") },
                { "the workspace, not its file", "%s\n", at("ws") },
                { "a file below it", "%s\n", at("ws/.git2") },
                { "a prefix", "%s\n", at("ws/.gi") },
                { "a relative path", "%s\n", "../../../../ws/.git" },
                { "two names", "%s other\n", at("ws/.git") },
                { "an empty line before", "\n%s\n", at("ws/.git") },
        };

        (void)state;
        make_victim();
        make_file("elsewhere/.git", "");
        make_file("ws/.git2", "");
        make_filef("ws/.git", "gitdir: %s\n", at("victim/.git/worktrees/other"));
        for (size_t i = 0; i < sizeof(backs) / sizeof(*backs); i++) {
                make_filef("victim/.git/worktrees/other/gitdir", backs[i].format, backs[i].target);
                assert_opens_nothing(backs[i].what);
        }
        assert_int_equal(unlink(at("victim/.git/worktrees/other/gitdir")), 0);
        assert_opens_nothing("none");
        assert_int_equal(mkdir(at("victim/.git/worktrees/other/gitdir"), 0755), 0);
        assert_opens_nothing("a directory");
}

/* Everything the forger writes lies in the workspace; links from there lead to the victim. */
static void links_in_the_workspace_do_not_lend_a_pointer_back(void **state)
{
        (void)state;
        make_victim();
        make_filef("ws/fake/worktrees/w/gitdir", "%s\n", at("ws/.git"));
        make_filef("ws/.git", "gitdir: %s\n", at("ws/fake/worktrees/w"));
        assert_opens_nothing("a repository inside the workspace");
        make_link("ws/lent/worktrees", at("victim/.git/worktrees"));
        make_filef("ws/.git", "gitdir: %s\n", at("ws/lent/worktrees/other"));
        assert_opens_nothing("worktrees is a link");
        make_link("ws/linked", at("victim/.git/worktrees/other"));
        make_filef("ws/.git", "gitdir: %s\n", at("ws/linked"));
        assert_opens_nothing("a link to the directory");
        make_link("ws/whole", at("victim/.git"));
        make_filef("ws/.git", "gitdir: %s\n", at("ws/whole/worktrees/other"));
        assert_opens_nothing("a link to the repository");
}

static void a_git_that_is_no_plain_file_opens_nothing_and_does_not_hang(void **state)
{
        (void)state;
        make_victim();
        assert_int_equal(mkfifo(at("ws/.git"), 0600), 0);
        assert_opens_nothing("a fifo");
        assert_int_equal(unlink(at("ws/.git")), 0);
        make_link("ws/.git", at("victim/.git"));
        assert_opens_nothing("a link to a repository");
        assert_int_equal(unlink(at("ws/.git")), 0);
        make_link("ws/.git", "nowhere");
        assert_opens_nothing("a link to nothing");
        assert_int_equal(unlink(at("ws/.git")), 0);
        make_link("ws/.git", "/dev/zero");
        assert_opens_nothing("a link to a device");
}

static void an_endless_or_binary_pointer_opens_nothing(void **state)
{
        char *text = malloc(100001);

        (void)state;
        make_victim();
        assert_non_null(text);
        memset(text, '/', 100000);
        text[100000] = '\0';
        memcpy(text, "gitdir: ", 8);
        make_file("ws/.git", text);
        assert_opens_nothing("100000 bytes");
        text[4096] = '\0';
        make_file("ws/.git", text);
        assert_opens_nothing("4096 bytes");
        free(text);
        make_file("ws/.git", "gitdir: \x01\xff\xfe\n");
        assert_opens_nothing("binary");
}

/* ---- tool and mcp: out of sight ------------------------------------------------------------------------- */

static void the_nearest_repository_is_denied_walking_up(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("outer/.git");
        make_repository("outer/inner/.git");
        make_dir("outer/inner/a/b/c");
        policy = new_policy_with("tool", at("outer/inner/a/b/c"), NULL, NULL);
        assert_false(may(policy, ABATIS_READ, at("outer/inner/.git/config")));
        assert_true(may(policy, ABATIS_READ, at("outer/inner/x")));
        assert_true(may(policy, ABATIS_READ, at("outer/.git/config"))); /* the nearest only */
        assert_int_equal(count_rules(policy, RULE_DENY), 1);
        abatis_policy_free(policy);
        policy = new_policy_with("mcp", at("outer/inner"), NULL, NULL);
        assert_false(may(policy, ABATIS_READ, at("outer/inner/.git/config")));
        abatis_policy_free(policy);
}

static void a_worktree_s_pointer_and_where_it_leads_are_both_denied(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_worktree();
        policy = new_policy("tool");
        assert_false(may(policy, ABATIS_READ, at("ws/.git")));
        assert_false(may(policy, ABATIS_READ, at("main/.git/worktrees/ws/HEAD")));
        assert_false(may(policy, ABATIS_READ, at("main/.git/objects/x")));
        assert_true(may(policy, ABATIS_READ, at("main/src.c")));
        abatis_policy_free(policy);
}

static void a_submodule_s_pointer_and_its_directory_are_both_denied(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("super/.git/modules/sub");
        make_file("super/sub/.git", "gitdir: ../.git/modules/sub\n");
        policy = new_policy_with("tool", at("super/sub"), NULL, NULL);
        assert_false(may(policy, ABATIS_READ, at("super/sub/.git")));
        assert_false(may(policy, ABATIS_READ, at("super/.git/modules/sub/config")));
        abatis_policy_free(policy);
}

static void a_forged_pointer_cannot_make_tool_open_or_miss_anything(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_victim();
        make_filef("ws/.git", "gitdir: %s\n", at("victim/.git/worktrees/other"));
        policy = new_policy("tool");
        assert_int_equal(count_rules(policy, RULE_WRITE), 1);
        assert_false(may(policy, ABATIS_READ, at("ws/.git")));
        abatis_policy_free(policy);
}

static void a_link_to_a_repository_is_denied_where_it_leads(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("stored.git");
        make_link("ws/.git", at("stored.git"));
        policy = new_policy("tool");
        assert_false(may(policy, ABATIS_READ, at("stored.git/config")));
        abatis_policy_free(policy);
}

static void guard_leaves_repositories_alone(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_repository("ws/.git");
        policy = new_policy("guard");
        assert_true(may(policy, ABATIS_WRITE, at("ws/.git/config")));
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(a_repository_is_writable_but_for_hooks_and_configuration),
                POLICY_TEST(a_repository_without_hooks_or_configuration_is_read_only),
                POLICY_TEST(other_files_that_make_git_run_programs_are_protected_when_they_exist),
                POLICY_TEST(an_existing_commondir_file_is_protected),
                POLICY_TEST(what_would_lead_git_elsewhere_is_looked_for_if_it_is_not_there),
                POLICY_TEST(no_leftover_is_possible_in_what_cannot_be_written),
                POLICY_TEST(hooks_kept_elsewhere_in_the_workspace_are_protected),
                POLICY_TEST(hooks_outside_the_workspace_need_no_rule),
                POLICY_TEST(a_workspace_without_repository_has_no_git_rules),
                POLICY_TEST(a_worktree_may_commit_to_its_main_repository_and_no_more),
                POLICY_TEST(what_leads_a_worktree_to_its_main_repository_is_protected),
                POLICY_TEST(repositories_with_newlines_in_their_names_are_found),
                POLICY_TEST(a_worktree_that_points_relatively_is_recognised),
                POLICY_TEST(a_pointer_to_somebody_else_s_repository_opens_nothing),
                POLICY_TEST(a_pointer_back_to_another_place_opens_nothing),
                POLICY_TEST(links_in_the_workspace_do_not_lend_a_pointer_back),
                POLICY_TEST(a_git_that_is_no_plain_file_opens_nothing_and_does_not_hang),
                POLICY_TEST(an_endless_or_binary_pointer_opens_nothing),
                POLICY_TEST(the_nearest_repository_is_denied_walking_up),
                POLICY_TEST(a_worktree_s_pointer_and_where_it_leads_are_both_denied),
                POLICY_TEST(a_submodule_s_pointer_and_its_directory_are_both_denied),
                POLICY_TEST(a_forged_pointer_cannot_make_tool_open_or_miss_anything),
                POLICY_TEST(a_link_to_a_repository_is_denied_where_it_leads),
                POLICY_TEST(guard_leaves_repositories_alone),
        };

        return cmocka_run_group_tests_name("git", tests, NULL, NULL);
}
