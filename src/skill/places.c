/* places.c: the directories that a policy gives to a module. */
#define _GNU_SOURCE
#include "skill/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"

void places_done(struct places *places)
{
        for (size_t i = 0; i < places->count; i++) {
                free(places->items[i].host);
                free(places->items[i].guest);
        }
        free(places->items);
        *places = (struct places){ 0 };
}

/* What was said twice is writable if it was once. */
static int add(struct places *places, const char *host, const char *guest, bool is_writable,
               abatis_error *err)
{
        struct engine_place *items;

        for (size_t i = 0; i < places->count; i++)
                if (!strcmp(places->items[i].guest, guest)) {
                        places->items[i].is_writable |= is_writable;
                        return 0;
                }
        items = realloc(places->items, (places->count + 1) * sizeof(*items));
        if (!items)
                return error_memory(err);
        places->items = items;
        items[places->count] = (struct engine_place){ strdup(host), strdup(guest), is_writable };
        places->count++;
        return items[places->count - 1].host && items[places->count - 1].guest ? 0 : error_memory(err);
}

static int add_rule(struct places *places, const struct rule *rule, abatis_error *err)
{
        if (rule->kind != RULE_READ && rule->kind != RULE_WRITE)
                return 0;
        if (rule->facts.kind != PATH_DIRECTORY)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "%s: a module is given directories, and '%s' is none; name the one it lies in",
                        rule_kind_name(rule->kind), rule->path);
        return add(places, rule->facts.real, rule->path, rule->kind == RULE_WRITE, err);
}

static bool has_all_of(const struct places *places, const char *path)
{
        for (size_t i = 0; i < places->count; i++)
                if (path_is_below(path, places->items[i].host))
                        return true;
        return false;
}

int places_find(const abatis_policy *policy, struct places *out, abatis_error *err)
{
        OWN_PLACES struct places places = { 0 };
        int r = policy->reads_all ? add(&places, "/", "/", false, err) : 0;

        if (!r && policy->has_private_tmp)
                r = add(&places, "/tmp", "/tmp", true, err);
        for (size_t i = 0; i < policy->rule_count && !r; i++)
                r = add_rule(&places, &policy->rules[i], err);
        if (!r && has_all_of(&places, policy->workspace))
                r = add(&places, policy->workspace, ".", policy_may_write(policy, policy->workspace), err);
        if (r < 0)
                return r;
        *out = places;
        places = (struct places){ 0 };
        return 0;
}
