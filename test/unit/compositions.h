/* compositions.h: what the tests of layering share: a policy out of texts, one for each layer. */
#ifndef UNIT_COMPOSITIONS_H
#define UNIT_COMPOSITIONS_H

#include "policies.h"

/* YAML texts; in errors and origins each layer is called as its member is. */
struct texts {
        const char *system, *user, *project, *given;
        const char *preset;    /* as --preset and --profile */
        const char *data;      /* as --data */
        const char *workspace; /* as --workspace; NULL is `ws` */
        bool trusts_project;   /* somebody has vouched for it */
};

/* The finished policy; the test fails with the message when it is refused. */
abatis_policy *compose(const struct texts *texts);
/* Refused, at once or when the policy is finished, with this message. */
void assert_composition_refused(const struct texts *texts, const char *message);
/* The same when only the beginning of the message matters. */
void assert_composition_refused_with(const struct texts *texts, const char *beginning);

/* A text that lives until the test ends. */
const char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Makes ~/.config/abatis/profiles/NAME.yaml. */
void make_profile(const char *name, const char *text);
/* The items with "|" between them; valid until the next call. */
const char *items_of(const struct strings *strings);
/* The patterns and the paths in the scratch tree, without its name, of the rules of this kind, in the order of their
 * making, with "|" between them; valid until the next call. */
const char *rules_of(const abatis_policy *policy, enum rule_kind kind);

/* policies_setup() and nothing of XDG in the environment. */
int compositions_setup(void **state);
int compositions_teardown(void **state);

#define COMPOSITION_TEST(test) \
        cmocka_unit_test_setup_teardown(test, compositions_setup, compositions_teardown)

#endif
