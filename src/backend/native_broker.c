/* native_broker.c: rules that are held by asking the broker: those of paths that do not exist yet and of patterns, and, where
 * there are no mounts, all that lie in writable trees. */
#define _GNU_SOURCE
#include <string.h>

#include "backend/native.h"

static const char no_descriptors[] =
        "with unix sockets allowed, one that lies there could be connected to; the broker would make connections, but "
        "pidfd_getfd is refused, by a container's seccomp profile or a sandbox around this one";

static enum clause_kind clause_of(const struct rule *rule)
{
        return rule->kind == RULE_DENY ? CLAUSE_DENY : CLAUSE_PROTECT;
}

void native_ask(struct native *native, const struct rule *rule, const char *what)
{
        size_t index = (size_t)(rule - native->policy->rules);

        if (!native->has_mounts && !host_is_bare(native->host)) {
                native_miss_mounts(native, clause_of(rule), index);
                return;
        }
        if (!native->host->has_broker) {
                plan_miss(native->plan, clause_of(rule), index, "%s, so a broker is needed, and %s", what,
                          native->host->broker_reason);
                return;
        }
        native->is_asked[index] = true;
        native->asks |= rule->kind == RULE_DENY ? BROKER_WRITES | BROKER_READS : BROKER_WRITES;
}

void native_ask_patterns(struct native *native)
{
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (native->policy->rules[i].glob)
                        native_ask(native, &native->policy->rules[i],
                                   "a pattern holds for files that appear later");
}

bool native_asks_in(const struct native *native, const char *tree)
{
        if (!(native->asks & BROKER_WRITES))
                return false;
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = &native->policy->rules[i];

                if (native->is_asked[i] && (rule->glob ? glob_may_match_below(rule->glob, tree)
                                                       : path_is_below(rule->facts.real, tree)))
                        return true;
        }
        return false;
}

/* What is held by the name of a file is not held where the kernel is given the file by another way. */
static void leave_visible(struct native *native)
{
        if (native->asks & BROKER_READS)
                plan_leave_visible(
                        native->plan,
                        "what the broker denies: its size, times, owner, mode and attributes, what links in it point to; a program among it can be "
                        "run");
}

static bool is_about_connections(const struct native *native, size_t index)
{
        const struct rule *rule = &native->policy->rules[index];

        return rule->kind == RULE_DENY && (host_is_bare(native->host) || native->is_asked[index]);
}

/* Landlock judges who opens a file, not who connects to it. Only a mount keeps a unix socket from that: where none is on what
 * is denied, or on /tmp, the broker makes the connections. */
static void ask_connections(struct native *native)
{
        bool has_tmp = host_is_bare(native->host) && native->policy->has_private_tmp, is_needed = has_tmp;

        if (!network_has_unix_sockets(native->policy->network))
                return;
        for (size_t i = 0; i < native->policy->rule_count; i++)
                is_needed |= is_about_connections(native, i);
        if (!is_needed)
                return;
        if (native->host->has_descriptors) {
                native->asks |= BROKER_CONNECTS;
                return;
        }
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (is_about_connections(native, i))
                        plan_miss(native->plan, CLAUSE_DENY, i, "%s", no_descriptors);
        if (has_tmp)
                plan_miss(native->plan, CLAUSE_TMP, PLAN_NO_INDEX, "%s", no_descriptors);
}

/* Whose abstract sockets they are Landlock knows; before it did, the broker connects to none. */
static bool ask_abstract(struct native *native)
{
        const abatis_host *host = native->host;

        if (!network_has_unix_sockets(native->policy->network) || host->landlock_abi >= LANDLOCK_WITH_SCOPES)
                return false;
        if (!host->has_descriptors || (!native->has_mounts && !host_is_bare(host))) {
                plan_miss(
                        native->plan, CLAUSE_ABSTRACT, PLAN_NO_INDEX,
                        "abstract unix sockets need Landlock ABI %d (Linux 6.12), or a broker that makes the "
                        "connections, and %s",
                        LANDLOCK_WITH_SCOPES,
                        host->has_broker ? "pidfd_getfd is refused" : host->broker_reason);
                return false;
        }
        native->asks |= BROKER_CONNECTS;
        return true;
}

/* What denies it, or NULL. */
static const struct rule *find_denial(const struct native *native, const char *real)
{
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (native->policy->rules[i].kind == RULE_DENY &&
                    rule_holds_for(&native->policy->rules[i], real))
                        return &native->policy->rules[i];
        return NULL;
}

/* Why the broker cannot connect to it, or NULL. */
static const char *find_obstacle(const struct native *native)
{
        if (!native->host->has_broker)
                return native->host->broker_reason;
        return native->host->has_descriptors
                       ? NULL
                       : "pidfd_getfd is refused, by a container's seccomp profile or a "
                         "sandbox around this one";
}

/* A socket is let through by the broker, who connects to it; nothing else does. */
static void ask_sockets(struct native *native)
{
        const abatis_policy *policy = native->policy;
        const char *obstacle = find_obstacle(native);

        for (size_t i = 0; i < policy->unix_sockets.count; i++) {
                const struct rule *denial = NULL;

                if (network_has_unix_sockets(policy->network)) {
                        plan_miss(native->plan, CLAUSE_UNIX, i,
                                  "it is for network.mode deny or list: %s lets every unix socket through",
                                  network_mode_name(policy->network));
                        continue;
                }
                denial = find_denial(native, policy->socket_places.items[i]);
                if (denial)
                        plan_miss(native->plan, CLAUSE_UNIX, i, "%s '%s' denies it", denial->origin,
                                  denial->path);
                else if (!native->has_mounts && !host_is_bare(native->host))
                        native_miss_mounts(native, CLAUSE_UNIX, i);
                else if (obstacle)
                        plan_miss(native->plan, CLAUSE_UNIX, i, "a broker would make the connections, and %s",
                                  obstacle);
                else
                        native->asks |= BROKER_SOCKETS;
        }
}

static void cover_sockets(struct native *native, size_t step)
{
        if (native->asks & BROKER_SOCKETS)
                plan_cover(native->plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX);
        for (size_t i = 0; native->asks & BROKER_SOCKETS && i < native->policy->socket_places.count; i++)
                if (!find_denial(native, native->policy->socket_places.items[i]))
                        plan_cover(native->plan, step, CLAUSE_UNIX, i);
}

size_t native_add_broker(struct native *native)
{
        struct plan *plan = native->plan;
        bool has_abstract = ask_abstract(native);
        size_t step;

        ask_sockets(native);
        if (!native->asks && !host_is_bare(native->host))
                return NO_STEP;
        ask_connections(native);
        step = plan_step(plan, PLAN_BROKER, NULL, native->asks);
        for (size_t i = 0; i < native->policy->rule_count; i++)
                if (native->is_asked[i] ||
                    (native->asks & BROKER_CONNECTS && is_about_connections(native, i)))
                        plan_cover(plan, step, clause_of(&native->policy->rules[i]), i);
        if (native->asks & BROKER_CONNECTS && host_is_bare(native->host))
                plan_cover(plan, step, CLAUSE_TMP, PLAN_NO_INDEX);
        if (native->asks & BROKER_DOORS)
                plan_cover_all(plan, step, CLAUSE_CONNECT);
        if (has_abstract)
                plan_cover(plan, step, CLAUSE_ABSTRACT, PLAN_NO_INDEX);
        cover_sockets(native, step);
        if (native->asks & BROKER_STREAMS)
                plan_cover(plan, step, CLAUSE_NETWORK, PLAN_NO_INDEX);
        leave_visible(native);
        return step;
}
