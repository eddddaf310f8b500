/* view.c: which symbolic links and files of the host a command does not meet, whatever the rules are. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/policy.h"

/* Root may read them by their file mode alone, without any capability. */
const char *const view_root_proc_files[] = {
        "/proc/kcore", "/proc/kmsg",       "/proc/kpagecount", "/proc/kpageflags",  "/proc/kpagecgroup",
        "/proc/keys",  "/proc/timer_list", "/proc/slabinfo",   "/proc/vmallocinfo", NULL
};

bool view_hides_from_root(const char *path)
{
        for (size_t i = 0; view_root_proc_files[i]; i++)
                if (!strcmp(path, view_root_proc_files[i]))
                        return !geteuid();
        return false;
}

static bool is_denied(const abatis_policy *policy, const char *path)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_DENY && rule_holds_for(&policy->rules[i], path))
                        return true;
        return false;
}

static bool is_in_private_tmp(const abatis_policy *policy, const char *path)
{
        return policy->has_private_tmp && path_is_below(path, "/tmp");
}

static bool opens(const struct rule *rule)
{
        return !rule->glob && rule->kind != RULE_DENY && rule->kind != RULE_PROTECT;
}

/* A rule shows or links a directory on the way to the path as it is written: then the way goes on as the host's does. */
static bool has_way_to(const abatis_policy *policy, const char *path)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (opens(&policy->rules[i]) && strcmp(policy->rules[i].path, path) != 0 &&
                    path_is_below(path, policy->rules[i].path))
                        return true;
        return false;
}

bool view_has_link_of(const abatis_policy *policy, const struct rule *rule)
{
        const struct strings *links = &rule->facts.links;

        if (!opens(rule) || !links->count)
                return false;
        if (policy->reads_all && !is_in_private_tmp(policy, rule->path))
                return false; /* there is the host's own */
        if ((links->count > 1 || strcmp(links->items[0], rule->path) != 0) && has_way_to(policy, rule->path))
                return false;
        return !is_denied(policy, rule->path) && !is_denied(policy, rule->facts.real);
}

/* Links that every new root has, as the host has them. */
static bool is_in_every_root(const char *link)
{
        static const char *const links[] = { "/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr",
                                             "/dev/ptmx" };

        for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
                if (!strcmp(link, links[i]))
                        return true;
        return path_is_below(link, "/proc");
}

/* A link is there when its directory is the host's, or when it was made. */
static bool is_met(const abatis_policy *policy, const char *link, const char *parent)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(policy, ABATIS_READ, parent, &is_allowed);

        if (is_allowed && (rule || !is_in_private_tmp(policy, parent)))
                return true;
        if (is_in_every_root(link) && !(rule && rule->kind == RULE_DENY))
                return true;
        for (size_t i = 0; i < policy->rule_count; i++)
                if (view_has_link_of(policy, &policy->rules[i]) && !strcmp(policy->rules[i].path, link))
                        return true;
        return false;
}

/* Every new root has a link there, to terminals of its own. */
bool view_has_link_at(const abatis_policy *policy, const char *path)
{
        return path[1] == 'd' && !policy->reads_all && !strcmp(path, "/dev/ptmx");
}

static bool is_same_way(const struct path_facts *one, const struct path_facts *other)
{
        if (one->links.count != other->links.count || !one->real || strcmp(one->real, other->real) != 0)
                return false;
        for (size_t i = 0; i < one->links.count; i++)
                if (strcmp(one->links.items[i], other->links.items[i]) != 0)
                        return false;
        return true;
}

/* There is one link instead of all those on the way. */
static bool has_short_way(const abatis_policy *policy, const struct path_facts *facts)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (view_has_link_of(policy, &policy->rules[i]) &&
                    is_same_way(&policy->rules[i].facts, facts))
                        return true;
        return false;
}

int view_find_way(const abatis_policy *policy, const struct path_facts *facts, const char **out,
                  abatis_error *err)
{
        bool is_short = facts->links.count && has_short_way(policy, facts);

        for (size_t i = 0; i < facts->links.count && !is_short; i++) {
                const char *link = facts->links.items[i];
                size_t length = (size_t)(strrchr(link, '/') - link);
                OWN_FREE char *parent = strndup(link, length ? length : 1);

                if (!parent)
                        return error_memory(err);
                if (!is_met(policy, link, parent)) {
                        *out = link;
                        return 0;
                }
        }
        *out = view_has_link_at(policy, facts->real) ? "/dev/pts/ptmx" : facts->real;
        return 0;
}

bool view_shows(const abatis_policy *policy, abatis_access access, const char *real)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(policy, access, real, &is_allowed);

        if (policy->has_private_tmp && path_is_below(real, "/tmp"))
                return is_allowed && rule && path_is_below(rule->facts.real, "/tmp");
        return is_allowed;
}
