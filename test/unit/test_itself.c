/* test_itself.c: a command cannot change what the next run depends on. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compositions.h"

struct world {
        const char *workspace, *file, *program, *preset;
        unsigned layers;
};

static abatis_policy *make(const struct world *world)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .preset = world->preset,
                                                .workspace = world->workspace ? world->workspace : at("ws"),
                                                .file = world->file,
                                                .program = world->program,
                                                .layers = world->layers };
        abatis_policy *policy = NULL;
        abatis_error err;

        if (abatis_policy_new(&options, &policy, &err) < 0 || policy_finish(policy, &err) < 0)
                fail_msg("%s", err.message);
        return policy;
}

#define made(...) make(&(struct world){ __VA_ARGS__ })

/* Writable but for these. */
static void assert_holds_as(const char *origin, abatis_policy *policy, const char *writable,
                            const char *const *held)
{
        assert_true(may(policy, ABATIS_WRITE, writable));
        for (; *held; held++) {
                const struct rule *rule;
                bool is_allowed;

                rule = policy_decide(policy, ABATIS_WRITE, *held, &is_allowed);
                if (is_allowed)
                        fail_msg("'%s' may be written", *held);
                assert_non_null(rule);
                assert_string_equal(rule->origin, origin);
                assert_true(may(policy, ABATIS_READ, *held));
        }
        abatis_policy_free(policy);
}

#define assert_holds(...) assert_holds_as("itself", __VA_ARGS__)

#define HELD(...)                 \
        (const char *const[])     \
        {                         \
                __VA_ARGS__, NULL \
        }

static void the_users_files_are_held(void **state)
{
        (void)state;
        make_file("home/.config/abatis/policy.yaml", "version: 1\n");
        make_profile("p", "extends: dev\n");
        make_dir("home/.local/state/abatis/trust");
        assert_holds(made(.workspace = at("home")), at("home/.config/other"),
                     HELD(at("home/.config/abatis"), at("home/.config/abatis/policy.yaml"),
                          at("home/.config/abatis/profiles/p.yaml"),
                          at("home/.config/abatis/profiles/new.yaml"), at("home/.local/state/abatis/trust"),
                          at("home/.local/state/abatis/trust/new")));
        assert_holds(made(.preset = "guard"), at("home/.config/other"),
                     HELD(at("home/.config/abatis"), at("home/.local/state/abatis/trust")));
        /* The audit log lies beside it, and makes files as it goes. */
        assert_holds(made(.workspace = at("home")), at("home/.local/state/other"),
                     HELD(at("home/.local/state/abatis"), at("home/.local/state/abatis/audit.jsonl.1")));
}

static void they_are_held_wherever_they_are(void **state)
{
        (void)state;
        make_dir("ws/config/abatis");
        make_dir("ws/state/abatis/trust");
        setenv("XDG_CONFIG_HOME", at("ws/config"), 1);
        setenv("XDG_STATE_HOME", at("ws/state"), 1);
        assert_holds(made(.workspace = NULL), at("ws/x"),
                     HELD(at("ws/config/abatis"), at("ws/state/abatis/trust/x")));
        unsetenv("XDG_CONFIG_HOME");
        unsetenv("XDG_STATE_HOME");
}

static void the_installed_skills_are_held(void **state)
{
        const char *skill = make_file("home/.local/share/abatis/skills/hello/skill.yaml", "");

        (void)state;
        assert_holds(made(.workspace = at("home")), at("home/.local/share/other"),
                     HELD(skill, at("home/.local/share/abatis/skills"),
                          at("home/.local/share/abatis/skills/hello/record.json"),
                          at("home/.local/share/abatis/skills/new/skill.yaml")));
        assert_holds(made(.preset = "guard"), at("home/.local/share/other"), HELD(skill));
        make_dir("ws/data/abatis/skills");
        setenv("XDG_DATA_HOME", at("ws/data"), 1);
        assert_holds(made(.workspace = NULL), at("ws/data/other"), HELD(at("ws/data/abatis/skills/new")));
        unsetenv("XDG_DATA_HOME");
        assert_holds(made(.workspace = NULL, .layers = ABATIS_PROTECT_STARTERS, .preset = "guard"),
                     at("home/.local/share/other"), HELD(at("home/.local/share/abatis/skills/new")));
}

/* Where nothing can write them there is no rule, and where they are not there is none either. */
static void what_is_not_in_reach_needs_no_rule(void **state)
{
        abatis_policy *policy = made(.workspace = at("home"));

        (void)state;
        assert_int_equal(count_rules(policy, RULE_PROTECT), 0);
        abatis_policy_free(policy);
        make_dir("home/.config/abatis");
        policy = made(.workspace = NULL);
        assert_int_equal(count_rules(policy, RULE_PROTECT), 0);
        abatis_policy_free(policy);
}

/* A file that asks for a part of it gets the rest protected, and not that part. */
static void a_part_of_them_cannot_be_asked_for(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_dir("home/.config/abatis/profiles");
        make_file("p.yaml", "filesystem: {write: [inherited, ~/.config/abatis/profiles]}\n");
        policy = made(.file = at("p.yaml"));
        assert_false(may(policy, ABATIS_WRITE, at("home/.config/abatis/profiles/x.yaml")));
        assert_true(may(policy, ABATIS_WRITE, at("ws/x")));
        abatis_policy_free(policy);
}

static void every_file_that_was_read_is_held(void **state)
{
        (void)state;
        make_file("ws/policy.yaml", "limits: {timeout: 5s}\n");
        make_file("ws/.abatis.yaml", "limits: {timeout: 5s}\n");
        assert_holds(made(.file = at("ws/policy.yaml"), .layers = ABATIS_LAYER_PROJECT), at("ws/other"),
                     HELD(at("ws/policy.yaml"), at("ws/.abatis.yaml")));
        /* Called by another name. */
        assert_int_equal(chdir(at("ws")), 0);
        assert_holds(made(.file = "policy.yaml"), at("ws/other"), HELD(at("ws/policy.yaml")));
        make_dir("ws/sub");
        assert_holds(made(.file = "sub/../policy.yaml"), at("ws/other"), HELD(at("ws/policy.yaml")));
        assert_int_equal(chdir("/"), 0);
        /* A user's profile, and one that it extends, where the user keeps them in the workspace. */
        make_file("ws/low.yaml", "extends: dev\n");
        make_file("ws/high.yaml", "extends: low\n");
        make_link("home/.config/abatis/profiles/low.yaml", at("ws/low.yaml"));
        make_link("home/.config/abatis/profiles/high.yaml", at("ws/high.yaml"));
        assert_holds(made(.preset = "high"), at("ws/other"), HELD(at("ws/low.yaml"), at("ws/high.yaml")));
        make_file("q.yaml", "extends: [dev, high]\n");
        assert_holds(made(.file = at("q.yaml")), at("ws/other"), HELD(at("ws/low.yaml"), at("ws/high.yaml")));
        make_link("home/.config/abatis/policy.yaml", at("ws/policy.yaml"));
        assert_holds(made(.layers = ABATIS_LAYER_USER), at("ws/other"), HELD(at("ws/policy.yaml")));
}

static void the_program_is_held(void **state)
{
        (void)state;
        make_file("ws/bin/abatis", "");
        assert_holds(made(.program = at("ws/bin/abatis")), at("ws/bin/other"), HELD(at("ws/bin/abatis")));
}

/* Who can replace the link has the path: there is a rule, and the plan will refuse it by the link's name. */
static void a_link_that_can_be_replaced_is_not_forgotten(void **state)
{
        abatis_policy *policy;
        const struct rule *rule;

        (void)state;
        make_file("elsewhere/policy.yaml", "limits: {timeout: 5s}\n");
        make_link("ws/policy.yaml", at("elsewhere/policy.yaml"));
        policy = made(.file = at("ws/policy.yaml"));
        rule = rule_for(policy, RULE_PROTECT, at("elsewhere/policy.yaml"));
        assert_non_null(rule);
        assert_int_equal(rule->facts.links.count, 1);
        assert_string_equal(rule->facts.links.items[0], at("ws/policy.yaml"));
        abatis_policy_free(policy);
        make_dir("dotfiles/abatis");
        make_link("home/.config", at("dotfiles"));
        policy = made(.workspace = at("home"));
        rule = rule_for(policy, RULE_PROTECT, at("dotfiles/abatis"));
        assert_non_null(rule);
        assert_string_equal(rule->facts.links.items[0], at("home/.config"));
        abatis_policy_free(policy);
}

/* What does not exist cannot be protected from being made, but it can be told. */
static void what_could_be_made_is_told(void **state)
{
        abatis_policy *policy = made(.workspace = at("home"));
        char *text = NULL;
        int count;

        (void)state;
        assert_int_equal(abatis_policy_lint(policy, &text, &count, NULL), 0);
        assert_non_null(strstr(text, format("hole: '%s' could be made", at("home/.config/abatis"))));
        assert_non_null(
                strstr(text, format("hole: '%s' could be made", at("home/.local/state/abatis/trust"))));
        assert_non_null(
                strstr(text, format("hole: '%s' could be made", at("home/.local/share/abatis/skills"))));
        free(text);
        abatis_policy_free(policy);
        make_dir("home/.config/abatis");
        make_dir("home/.local/state/abatis/trust");
        make_dir("home/.local/share/abatis/skills");
        policy = made(.workspace = at("home"));
        assert_int_equal(abatis_policy_lint(policy, &text, &count, NULL), 0);
        assert_null(strstr(text, "could be made"));
        free(text);
        abatis_policy_free(policy);
}

/* A home that its user cannot even look into is none of the command's either. */
static void a_closed_home_is_no_obstacle(void **state)
{
        (void)state;
        make_dir("home/.config/abatis");
        chmod(at("home"), 0);
        abatis_policy_free(made(.workspace = NULL));
        chmod(at("home"), 0700);
        unsetenv("HOME");
        abatis_policy_free(made(.workspace = NULL));
        setenv("HOME", at("home"), 1);
}

static void both_names_of_the_program_are_held(void **state)
{
        (void)state;
        make_file("home/bin/abatis", "");
        make_file("home/bin/abatis-sh", "");
        make_file("home/bin/abatis-verify", "");
        assert_holds(made(.workspace = at("home"), .program = at("home/bin/abatis-sh")), at("home/bin/other"),
                     HELD(at("home/bin/abatis"), at("home/bin/abatis-sh"), at("home/bin/abatis-verify")));
}

/* The plan refuses what could be replaced by the link's name. */
static void the_name_that_it_was_called_by_is_held(void **state)
{
        abatis_policy *policy;

        (void)state;
        make_file("opt/abatis", "");
        make_dir("home/bin");
        assert_int_equal(symlink(at("opt/abatis"), at("home/bin/abatis")), 0);
        policy = made(.workspace = at("home"), .program = at("home/bin/abatis"));
        assert_non_null(rule_for(policy, RULE_PROTECT, at("opt/abatis")));
        assert_int_equal(rule_for(policy, RULE_PROTECT, at("opt/abatis"))->facts.links.count, 1);
        abatis_policy_free(policy);
}

/* ---- what programs outside run -------------------------------------------------------------------------- */

static void what_programs_outside_run_is_held_before_it_is_there(void **state)
{
        (void)state;
        make_dir("ws/.vscode");
        assert_holds_as("starters", made(.layers = ABATIS_PROTECT_STARTERS), at("ws/x"),
                        HELD(at("ws/.mcp.json"), at("ws/.claude"), at("ws/.claude/settings.json"),
                             at("ws/.vscode/tasks.json"), at("ws/.envrc"), at("ws/.abatis.yaml")));
        assert_holds_as("starters", made(.layers = ABATIS_PROTECT_STARTERS, .preset = "guard"), at("home/x"),
                        HELD(at("home/.bashrc"), at("home/.bash_profile"), at("home/.claude/settings.json"),
                             at("home/.local/bin/sh"), at("home/.config/systemd/user/x"),
                             at("ws/.mcp.json")));
}

static void the_repository_is_held_too_whatever_the_preset(void **state)
{
        (void)state;
        make_dir("ws/.git/hooks");
        make_file("ws/.git/config", "");
        assert_holds_as("git", made(.layers = ABATIS_PROTECT_STARTERS, .preset = "guard"),
                        at("ws/.git/index"), HELD(at("ws/.git/hooks/pre-commit"), at("ws/.git/config")));
}

static void without_the_word_it_is_the_commands(void **state)
{
        abatis_policy *policy = made(.preset = "guard");

        (void)state;
        assert_true(may(policy, ABATIS_WRITE, at("ws/.mcp.json")));
        assert_true(may(policy, ABATIS_WRITE, at("home/.bashrc")));
        abatis_policy_free(policy);
        policy = made(.layers = ABATIS_PROTECT_STARTERS, .preset = "mcp");
        assert_int_equal(count_rules(policy, RULE_PROTECT), 0);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(the_users_files_are_held),
                COMPOSITION_TEST(they_are_held_wherever_they_are),
                COMPOSITION_TEST(the_installed_skills_are_held),
                COMPOSITION_TEST(what_is_not_in_reach_needs_no_rule),
                COMPOSITION_TEST(a_part_of_them_cannot_be_asked_for),
                COMPOSITION_TEST(every_file_that_was_read_is_held),
                COMPOSITION_TEST(the_program_is_held),
                COMPOSITION_TEST(a_link_that_can_be_replaced_is_not_forgotten),
                COMPOSITION_TEST(what_could_be_made_is_told),
                COMPOSITION_TEST(a_closed_home_is_no_obstacle),
                COMPOSITION_TEST(both_names_of_the_program_are_held),
                COMPOSITION_TEST(the_name_that_it_was_called_by_is_held),
                COMPOSITION_TEST(what_programs_outside_run_is_held_before_it_is_there),
                COMPOSITION_TEST(the_repository_is_held_too_whatever_the_preset),
                COMPOSITION_TEST(without_the_word_it_is_the_commands),
        };

        return cmocka_run_group_tests_name("itself", tests, NULL, NULL);
}
