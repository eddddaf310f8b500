/* sockets.c: where the unix sockets lie that network.unix lets through. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/policy.h"

static int check_place(const abatis_policy *policy, const char *path, const struct rule *found,
                       abatis_error *err)
{
        const char *real = found->facts.real, *link = policy_find_planted(policy, found);

        if (path_is_below(real, "/proc") || path_is_below(real, "/dev"))
                return error_set(
                        err, ABATIS_E_INVALID,
                        "network.unix '%s': the command has its own %s, nothing of the host's can be in it",
                        path, path_is_below(real, "/proc") ? "/proc" : "/dev");
        if (found->facts.kind == PATH_FILE || found->facts.kind == PATH_DIRECTORY)
                return error_set(err, ABATIS_E_INVALID, "network.unix '%s' is no socket", path);
        if (link)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "network.unix: '%s' is a symbolic link that may be planted; name what it leads to, '%s'",
                        link, real);
        return 0;
}

/* Whoever may write there could give the name to another socket, or take the name away while a server starts anew: no mount
 * holds that, so it is protected as what is not there yet. */
static int keep(abatis_policy *policy, const char *real, abatis_error *err)
{
        bool is_allowed;
        const struct rule *rule = policy_decide_by_paths(policy, ABATIS_WRITE, real, &is_allowed);

        if (!is_allowed || !rule || rule->kind != RULE_WRITE)
                return 0;
        return policy_add_examined(policy, RULE_PROTECT, real, PATH_ABSENT, "network.unix", err);
}

static int resolve(abatis_policy *policy, const char *path, abatis_error *err)
{
        struct rule found = { .path = NULL };
        char *clean = NULL;
        int r = path_clean(path, &clean, err);

        if (!r)
                r = path_resolve(clean, NULL, &found.facts, err);
        if (!r)
                r = check_place(policy, path, &found, err);
        if (!r)
                r = strings_add(&policy->socket_names, clean, err);
        if (!r)
                r = strings_add(&policy->socket_places, found.facts.real, err);
        if (!r)
                r = keep(policy, found.facts.real, err);
        path_facts_done(&found.facts);
        free(clean);
        return r;
}

int sockets_resolve(abatis_policy *policy, abatis_error *err)
{
        size_t before = policy->rule_count;
        int r = 0;

        strings_done(&policy->socket_names);
        strings_done(&policy->socket_places);
        policy->socket_names = policy->socket_places = (struct strings){ 0 };
        /* Where all are reached the list means nothing, and the plan says so. */
        for (size_t i = 0; i < policy->unix_sockets.count && !r; i++)
                if (!network_has_unix_sockets(policy->network))
                        r = resolve(policy, policy->unix_sockets.items[i], err);
        policy_drop_repeated(policy, before);
        return r;
}
