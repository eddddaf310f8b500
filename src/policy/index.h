/* index.h: finds the rules that hold for a path without comparing it with each of them. */
#ifndef POLICY_INDEX_H
#define POLICY_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

/* Of a policy's rules as they were when it was made; borrows their paths. */
struct rule_index;

int index_new(const abatis_policy *policy, struct rule_index **out, abatis_error *err);
void index_free(struct rule_index *index);
/* False when rules have come or gone since. */
bool index_is_current(const struct rule_index *index, const abatis_policy *policy);

/* For each kind, the number + 1 of the first rule that is not a pattern and holds for the path, or 0. *walked is how
 * much of the path is that of a rule, or of a directory above one. */
const uint32_t *index_find(const struct rule_index *index, const char *real, size_t *walked);
bool index_has_patterns(const struct rule_index *index);
/* The numbers of the rules that are patterns. */
const uint32_t *index_patterns(const struct rule_index *index, size_t *count);

#endif
