/* digest.c: a hash of what a policy says: two runs with the same one were held by the same rules. */
#include <stdint.h>
#include <string.h>

#include "policy/policy.h"

/* With what follows it, the NUL of a string or the size of a number, no two policies add the same bytes. */
static void add_string(struct sha256 *hash, const char *string)
{
        sha256_add(hash, string ? string : "", string ? strlen(string) + 1 : 1);
}

static void add_number(struct sha256 *hash, uint64_t number)
{
        unsigned char bytes[8];

        for (int i = 0; i < 8; i++)
                bytes[i] = (unsigned char)(number >> 8 * i);
        sha256_add(hash, bytes, sizeof(bytes));
}

static void add_strings(struct sha256 *hash, const struct strings *strings)
{
        add_number(hash, strings->count);
        for (size_t i = 0; i < strings->count; i++)
                add_string(hash, strings->items[i]);
}

/* A value that is set may be a secret, and whoever knows the rest could try what it is. */
static void add_names(struct sha256 *hash, const struct strings *variables)
{
        add_number(hash, variables->count);
        for (size_t i = 0; i < variables->count; i++) {
                sha256_add(hash, variables->items[i], strcspn(variables->items[i], "="));
                add_string(hash, strchr(variables->items[i], '=') ? "=" : "");
        }
}

static void add_rules(struct sha256 *hash, const abatis_policy *policy)
{
        add_number(hash, policy->rule_count);
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];
                const unsigned char kind[] = { (unsigned char)rule->kind, rule->glob != NULL,
                                               rule->covers_later };

                sha256_add(hash, kind, sizeof(kind));
                add_string(hash, rule->glob ? rule->path : rule->facts.real);
        }
}

/* What a job is allowed and asked for. */
static void add_policy(struct sha256 *hash, const abatis_policy *policy)
{
        const struct strings *const lists[] = { &policy->connect,           &policy->bind,
                                                &policy->unix_sockets,      &policy->commands,
                                                &policy->environment_plain, &policy->environment_denied };
        const unsigned char switches[] = { (unsigned char)policy->network,
                                           (unsigned char)policy->argument_check,
                                           policy->reads_all,
                                           policy->executes_all,
                                           policy->has_private_tmp,
                                           policy->reaches_control_sockets,
                                           policy->passes_named_only,
                                           policy->forbids_forks,
                                           policy->passes_any_name,
                                           policy->has_no_loopback,
                                           (unsigned char)policy->backend };

        add_string(hash, policy->workspace);
        sha256_add(hash, switches, sizeof(switches));
        add_rules(hash, policy);
        for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
                add_strings(hash, lists[i]);
        add_names(hash, &policy->environment);
        for (size_t i = 0; i < LIMIT_COUNT; i++)
                add_number(hash, policy->limits[i]);
}

void policy_digest(const abatis_policy *policy, char out[SHA256_TEXT_SIZE])
{
        struct sha256 hash;

        sha256_init(&hash);
        add_string(&hash, "abatis policy 1");
        add_policy(&hash, policy);
        sha256_finish(&hash, out);
}

/* ---- of a sandbox ---------------------------------------------------------------------------------------- */

/* What the rules' paths were when they were looked at: a plan goes by that. */
static void add_facts(struct sha256 *hash, const abatis_policy *policy)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                add_string(hash, rule->path);
                add_number(hash, rule->glob ? 0 : (uint64_t)rule->facts.kind + 1);
                add_strings(hash, &rule->facts.links);
        }
        add_number(hash, policy->startable_count);
        for (size_t i = 0; i < policy->startable_count; i++) {
                add_number(hash, policy->startables[i].kind);
                add_string(hash, policy->startables[i].path);
        }
}

static void add_audit(struct sha256 *hash, const struct audit_choice *audit)
{
        add_number(hash, audit->is_off);
        add_number(hash, audit->is_synced);
        add_string(hash, audit->log);
        add_string(hash, audit->usual);
        add_number(hash, audit->size);
        add_number(hash, audit->keep);
}

int abatis_policy_digest(abatis_policy *policy, char out[ABATIS_DIGEST_SIZE], abatis_error *err)
{
        struct sha256 hash;
        int r = policy_finish(policy, err);

        if (r < 0)
                return r;
        sha256_init(&hash);
        add_string(&hash, "abatis sandbox 1");
        add_policy(&hash, policy);
        add_facts(&hash, policy);
        add_strings(&hash, &policy->environment);
        add_strings(&hash, &policy->sources);
        add_string(&hash, policy->preset);
        add_string(&hash, policy->program);
        add_string(&hash, policy->homes[0]);
        add_string(&hash, policy->homes[1]);
        add_string(&hash, policy->data);
        add_audit(&hash, &policy->audit);
        add_number(&hash, policy->shares_session);
        add_number(&hash, policy_says_limit(policy, LIMIT_OUTPUT));
        sha256_finish(&hash, out);
        return 0;
}
