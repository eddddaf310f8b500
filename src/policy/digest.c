/* digest.c: a hash of what a policy says: two runs with the same one were held by the same rules. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

enum { NS_PER_S = 1000000000 };

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
                                                &policy->environment_plain, &policy->environment_denied,
                                                &policy->leftovers };
        const unsigned char switches[] = { (unsigned char)policy->network,
                                           (unsigned char)policy->argument_check,
                                           policy->reads_all,
                                           policy->executes_all,
                                           policy->has_private_tmp,
                                           policy->reaches_control_sockets,
                                           policy->passes_named_only,
                                           policy->forbids_forks,
                                           policy->has_few_calls,
                                           policy->forbids_new_code,
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

/* Whatever a plan, or what is opened for it, goes by is one of these, or it is looked at anew for each job:
 *
 *   in the digest    what the policy says, and what it came to here: ceiling, trust and patterns of a file are rules by then; what
 *                    paths are and where their links stand; programs, which of them are copied, and the copies' files; directories of
 *                    libraries; places of sockets; the file systems that have holes and writable trees
 *   for each job     what lies at a path, and every mount of the host's (keeper_linux.c, stamps_linux.c); what a pattern matches; the
 *                    program, the variables and the arguments of the command; bubblewrap (bwrap_linux.c); names of hosts (net/)
 *   not at all       origins, reasons and who asked: words for people
 *
 * The kernel and the user are those of the process that has the sandbox. */

/* A file system that takes .ENV for .env holds no name: which one it is was asked when the sandbox was opened. */
static int add_device(struct sha256 *hash, const char *real, abatis_error *err)
{
        OWN_FREE char *path = strdup(real);
        struct stat status;
        char *slash;

        if (!path)
                return error_memory(err);
        while (reach_stat(*path ? path : "/", &status) < 0) {
                slash = strrchr(path, '/');
                if (!slash)
                        return 0;
                *slash = '\0';
        }
        add_number(hash, status.st_dev);
        return 0;
}

static int add_rule_facts(struct sha256 *hash, const struct rule *rule, abatis_error *err)
{
        add_string(hash, rule->path);
        add_number(hash, rule->glob ? 0 : (uint64_t)rule->facts.kind + 1);
        add_strings(hash, &rule->facts.links);
        if (rule->glob || rule->kind == RULE_READ || rule->kind == RULE_EXECUTE)
                return 0;
        return add_device(hash, rule->facts.real, err);
}

/* A copy is of the file as it was. Two changes may have one time; so what was changed just now is like nothing else, and its
 * sandbox is nobody's but who asked for it. */
static int add_copied_file(struct sha256 *hash, const char *path, abatis_error *err)
{
        const int64_t now = system_now();
        struct system_times times;
        struct stat status;

        if (reach_stat(path, &status) < 0)
                return error_os(err, errno, "cannot examine '%s'", path);
        times = system_times_of(&status);
        add_number(hash, status.st_dev);
        add_number(hash, status.st_ino);
        add_number(hash, (uint64_t)status.st_size);
        add_number(hash, (uint64_t)times.written_ns);
        add_number(hash, (uint64_t)times.changed_ns);
        /* Some file systems know only even seconds. */
        if (now - times.changed_ns / 1000 <= (times.changed_ns % NS_PER_S ? 20 * 1000 : 3 * 1000 * 1000))
                add_number(hash, (uint64_t)now);
        return 0;
}

static int add_startable(struct sha256 *hash, const struct startable *startable, abatis_error *err)
{
        add_number(hash, startable->kind);
        add_string(hash, startable->path);
        add_number(hash, startable->is_copied);
        if (!startable->is_copied && startable->kind != STARTABLE_LOADER)
                return 0;
        return add_copied_file(hash, startable->path, err);
}

static int add_facts(struct sha256 *hash, const abatis_policy *policy, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < policy->rule_count && !r; i++)
                r = add_rule_facts(hash, &policy->rules[i], err);
        add_number(hash, policy->startable_count);
        for (size_t i = 0; i < policy->startable_count && !r; i++)
                r = add_startable(hash, &policy->startables[i], err);
        add_strings(hash, &policy->libraries);
        add_strings(hash, &policy->socket_names);
        add_strings(hash, &policy->socket_places);
        return r;
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
        r = add_facts(&hash, policy, err);
        if (r < 0)
                return r;
        add_strings(&hash, &policy->environment);
        add_strings(&hash, &policy->sources);
        add_string(&hash, policy->preset);
        add_string(&hash, policy->program);
        add_string(&hash, policy->called);
        add_string(&hash, policy->homes[0]);
        add_string(&hash, policy->homes[1]);
        add_string(&hash, policy->data);
        add_audit(&hash, &policy->audit);
        add_number(&hash, policy->shares_session);
        add_number(&hash, policy_says_limit(policy, LIMIT_OUTPUT));
        sha256_finish(&hash, out);
        return 0;
}
