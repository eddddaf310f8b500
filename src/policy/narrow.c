/* narrow.c: whether a layer that nobody has vouched for only takes away from a policy. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/units.h"
#include "policy/compose.h"

static int refuse(const struct layer *layer, const struct entry *entry, const char *why, abatis_error *err)
{
        char message[512];

        snprintf(message, sizeof(message),
                 "'%s' %s; a project's file may only narrow: read it, then run 'abatis trust' to allow it",
                 entry->value, why);
        return entry_error(layer, entry, ABATIS_E_INVALID, message, err);
}

static abatis_access access_of(enum key_id key)
{
        return key == KEY_READ ? ABATIS_READ : key == KEY_WRITE ? ABATIS_WRITE : ABATIS_EXECUTE;
}

static int check_tree(const abatis_policy *policy, const struct layer *layer, const struct entry *entry,
                      abatis_error *err)
{
        OWN_FREE char *text = NULL, *clean = NULL;
        struct path_facts facts = { 0 };
        enum meaning meaning;
        abatis_error below;
        bool is_allowed = false;
        int r = expand_path(policy, entry, &meaning, &text, &below);

        if (r < 0)
                return entry_error(layer, entry, r, below.message, err);
        switch (meaning) {
        case MEANS_PATH:
                r = path_clean(text, &clean, &below);
                if (!r)
                        r = path_resolve(clean, NULL, &facts, &below);
                if (r < 0)
                        return entry_error(layer, entry, r, below.message, err);
                policy_decide(policy, access_of(entry->key), facts.real, &is_allowed);
                path_facts_done(&facts);
                break;
        case MEANS_ALL:
        case MEANS_SYSTEM:
                is_allowed = entry->key == KEY_READ ? policy->reads_all : policy->executes_all;
                break;
        case MEANS_INHERITED:
                return 0;
        case MEANS_TMP:
                is_allowed = policy->has_private_tmp;
                break;
        case MEANS_PATTERN:
                break;
        }
        return is_allowed ? 0 : refuse(layer, entry, "is not allowed without it", err);
}

/* How much a mode opens. */
static int openness(enum network_mode mode)
{
        switch (mode) {
        case NETWORK_DENY:
                return 0;
        case NETWORK_UNIX_ONLY:
                return 1;
        case NETWORK_LIST:
                return 2;
        case NETWORK_ALLOW:
                return 3;
        }
        return 4;
}

static bool is_listed(const struct strings *list, const char *value)
{
        for (size_t i = 0; i < list->count; i++)
                if (!strcmp(list->items[i], value))
                        return true;
        return false;
}

static bool is_below_limit(const abatis_policy *policy, const struct entry *entry)
{
        uint64_t now = policy->limits[key_limit(entry->key)], wanted = 0;
        int r = keys[entry->key].type == TYPE_SIZE       ? units_parse_size(entry->value, &wanted, NULL)
                : keys[entry->key].type == TYPE_DURATION ? units_parse_duration(entry->value, &wanted, NULL)
                                                         : units_parse_count(entry->value, &wanted, NULL);

        return !r && (!now || wanted <= now);
}

static bool is_passed_already(const abatis_policy *policy, const char *name)
{
        if (is_listed(&policy->environment, name) || !strcmp(name, "none"))
                return true;
        return !policy->passes_named_only && !environment_is_secret(name, strlen(name));
}

static int check_entry(const abatis_policy *policy, const struct layer *layer, const struct entry *entry,
                       abatis_error *err)
{
        enum network_mode mode = NETWORK_ALLOW;
        bool is_narrower = true;

        switch (entry->key) {
        case KEY_READ:
        case KEY_WRITE:
        case KEY_EXECUTE:
                return check_tree(policy, layer, entry, err);
        case KEY_NETWORK:
                network_mode_find(entry->value, &mode);
                is_narrower = openness(mode) <= openness(policy->network);
                break;
        case KEY_CONNECT:
                is_narrower = policy->network == NETWORK_ALLOW || is_listed(&policy->connect, entry->value);
                break;
        case KEY_BIND:
                is_narrower = policy->network == NETWORK_ALLOW || is_listed(&policy->bind, entry->value);
                break;
        case KEY_UNIX:
                is_narrower = is_listed(&policy->unix_sockets, entry->value);
                break;
        case KEY_COMMANDS:
                is_narrower = !policy->commands.count || is_listed(&policy->commands, entry->value);
                break;
        case KEY_FORK:
                is_narrower = !policy->forbids_forks || strcmp(entry->value, "true");
                break;
        case KEY_CHECK_ARGUMENTS:
                is_narrower = !arguments_are_checked(policy) || !strcmp(entry->value, "true");
                break;
        case KEY_PASS:
                if (!strcmp(entry->value, "all"))
                        is_narrower = !policy->passes_named_only;
                else
                        is_narrower = is_passed_already(policy, entry->value);
                break;
        case KEY_MEMORY:
        case KEY_PROCESSES:
        case KEY_OPEN_FILES:
        case KEY_CPU:
        case KEY_FILE_SIZE:
        case KEY_TIMEOUT:
        case KEY_OUTPUT:
                is_narrower = is_below_limit(policy, entry);
                break;
        case KEY_ENVIRONMENT_SET: /* PATH and many others decide what runs */
        case KEY_EXTENDS:
                is_narrower = false;
                break;
        case KEY_VERSION:
        case KEY_DENY:
        case KEY_PROTECT:
        case KEY_SIGNALS:
        case KEY_ENVIRONMENT_DENY:
        case KEY_COUNT:
                break;
        }
        return is_narrower ? 0 : refuse(layer, entry, "would allow more", err);
}

int narrow_check(const abatis_policy *policy, const struct layer *layer, abatis_error *err)
{
        /* An empty list of programs means all of them. */
        if (layer->has[KEY_COMMANDS] && policy->commands.count) {
                bool has_any = false;

                for (size_t i = 0; i < layer->count; i++)
                        has_any |= layer->entries[i].key == KEY_COMMANDS;
                if (!has_any)
                        return error_set(err, ABATIS_E_INVALID,
                                         "%s: process.commands: an empty list would allow every program",
                                         layer->name);
        }
        for (size_t i = 0; i < layer->count; i++) {
                const struct entry *entry = &layer->entries[i];
                int r;

                if (!strcmp(entry->value, "inherited") && !entry->is_literal &&
                    keys[entry->key].type != TYPE_HOLES)
                        continue;
                r = check_entry(policy, layer, entry, err);
                if (r < 0)
                        return r;
        }
        return 0;
}
