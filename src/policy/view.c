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

bool view_has_link_of(const abatis_policy *policy, const struct rule *rule)
{
        if (rule->glob || rule->kind == RULE_DENY || rule->kind == RULE_PROTECT)
                return false;
        if (policy->reads_all && !is_in_private_tmp(policy, rule->path))
                return false; /* there is the host's own */
        return rule->facts.links.count == 1 && !strcmp(rule->facts.links.items[0], rule->path) &&
               !is_denied(policy, rule->path) && !is_denied(policy, rule->facts.real);
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

int view_find_way(const abatis_policy *policy, const struct path_facts *facts, const char **out,
                  abatis_error *err)
{
        for (size_t i = 0; i < facts->links.count; i++) {
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
