/* policies.h: what the tests of the policy share: a home and a workspace in the scratch tree, and questions about rules. */
#ifndef UNIT_POLICIES_H
#define UNIT_POLICIES_H

#include "plan/host.h"
#include "policy/policy.h"
#include "scratch.h"

/* For cmocka: a scratch tree with `home` as $HOME and an empty `ws`. */
int policies_setup(void **state);
int policies_teardown(void **state);

#define POLICY_TEST(test) cmocka_unit_test_setup_teardown(test, policies_setup, policies_teardown)

/* A policy of this preset over `ws`; the test fails with the message when it cannot be made. */
abatis_policy *new_policy(const char *preset);
abatis_policy *new_policy_with(const char *preset, const char *workspace, const char *data,
                               const char *config);
/* What making it fails with: the code; the message stays in refused_message. */
int refused_policy(const char *preset, const char *workspace, const char *data, const char *config);
extern char refused_message[1024];

void set(abatis_policy *policy, const char *key, const char *value);
/* Refused, with and without a place for the message, which has `named` in it; no rule is left behind. */
void assert_set_fails(abatis_policy *policy, const char *key, const char *value, const char *named);

/* The rule of this kind that was written for exactly this path, or NULL. */
const struct rule *rule_for(const abatis_policy *policy, enum rule_kind kind, const char *path);
/* How many rules of a kind lie in the scratch tree: what the presets say of the machine is not counted. */
size_t count_rules(const abatis_policy *policy, enum rule_kind kind);
/* What policy_decide() says. */
bool may(const abatis_policy *policy, abatis_access access, const char *path);
/* What abatis_policy_check() says; its words stay in check_text. */
bool check_says(abatis_policy *policy, abatis_access access, const char *path);
extern char check_text[32768];

/* Executable files: a small ELF header that names its loader, or none, and a script with this first line. */
const char *make_program(const char *relative, const char *loader);
const char *make_script(const char *relative, const char *first_line);

/* Runs `ask` in a child that may mount what it likes, and gives what it returns; skips the test where a child cannot
 * have mounts of its own. `ask` may fail the test by returning anything else than expected. */
int ask_with_own_mounts(int (*ask)(const void *argument), const void *argument);

/* One that can do all that is needed. */
extern const abatis_host able;

/* With one clause of every kind. */
abatis_policy *policy_with_everything(void);

#endif
