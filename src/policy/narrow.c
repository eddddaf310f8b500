/* narrow.c: whether a layer that nobody has vouched for only takes away from a policy. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/compose.h"
#include "policy/place.h"

/* A plan costs the square of what it holds, and nobody asked for this one. */
enum { ENTRIES_MAX = 1000 };

static int refuse(const struct layer *layer, const struct entry *entry, const char *why, abatis_error *err)
{
        abatis_error below;

        error_set(&below, ABATIS_E_INVALID,
                  "'%s' %s; a project's file may only narrow: read it, then run 'abatis trust' to allow it",
                  entry->value, why);
        return entry_error(layer, entry, &below, err);
}

static abatis_access access_of(enum key_id key)
{
        return key == KEY_READ ? ABATIS_READ : key == KEY_WRITE ? ABATIS_WRITE : ABATIS_EXECUTE;
}

/* What may be executed or written may also be read. */
static bool is_open(const abatis_policy *policy, enum key_id key, const char *real)
{
        return view_shows(policy, access_of(key), real) && view_shows(policy, ABATIS_READ, real);
}

static int check_path(const abatis_policy *policy, enum key_id key, const char *text, bool *is_allowed,
                      abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        OWN_FREE char *clean = NULL;
        int r = path_clean(text, &clean, err);

        if (!r)
                r = path_resolve(clean, NULL, &facts, err);
        if (!r)
                *is_allowed = is_open(policy, key, facts.real);
        return r;
}

static int check_system(const abatis_policy *policy, enum key_id key, bool *is_allowed, abatis_error *err)
{
        struct stat status;
        int r = 0;

        *is_allowed = true;
        for (const char *const *tree = preset_system_trees; *tree && *is_allowed && !r; tree++)
                if (!lstat(*tree, &status))
                        r = check_path(policy, key, *tree, is_allowed, err);
        return r;
}

static int check_tree(const abatis_policy *policy, const struct layer *layer, const struct entry *entry,
                      abatis_error *err)
{
        OWN_FREE char *text = NULL;
        enum meaning meaning;
        abatis_error below;
        bool is_allowed = false;
        int r = expand_path(policy, entry, &meaning, &text, &below);

        if (r < 0)
                return entry_error(layer, entry, &below, err);
        switch (meaning) {
        case MEANS_PATH:
                r = check_path(policy, entry->key, text, &is_allowed, &below);
                break;
        case MEANS_ALL:
                is_allowed = entry->key == KEY_READ ? policy->reads_all : policy->executes_all;
                break;
        case MEANS_SYSTEM:
                r = check_system(policy, entry->key, &is_allowed, &below);
                break;
        case MEANS_INHERITED:
                return 0;
        case MEANS_TMP:
                is_allowed = policy->has_private_tmp;
                break;
        case MEANS_PATTERN:
                break;
        }
        if (r < 0)
                return entry_error(layer, entry, &below, err);
        return is_allowed ? 0 : refuse(layer, entry, "is not allowed without it", err);
}

/* A program or a socket. What is on a list of programs may start, wherever it lies; without a list, what lies where it
 * may be executed. */
static int check_item(const abatis_policy *policy, const struct layer *layer, const struct entry *entry,
                      abatis_error *err)
{
        const struct strings *list = entry->key == KEY_UNIX ? &policy->unix_sockets : &policy->commands;
        OWN_FREE char *value = NULL, *path = NULL;
        bool is_allowed = false;
        abatis_error below;
        int r = expand_item(policy, entry, &value, &below);

        if (!r && entry->key == KEY_COMMANDS && !list->count) {
                r = commands_locate(policy, value, &path, &below);
                if (!r)
                        r = check_path(policy, KEY_EXECUTE, path, &is_allowed, &below);
        } else if (!r)
                is_allowed = strings_has(list, value);
        if (r == ABATIS_E_NOT_FOUND || r == ABATIS_E_NOT_EXECUTABLE)
                below.code = ABATIS_E_INVALID; /* of the file, not of the command */
        if (r < 0)
                return entry_error(layer, entry, &below, err);
        return is_allowed ? 0 : refuse(layer, entry, "would allow more", err);
}

static bool is_below_limit(const abatis_policy *policy, const struct entry *entry)
{
        uint64_t now = policy->limits[key_limit(entry->key)], wanted = 0;

        return !key_parse_limit(entry->key, entry->value, &wanted, NULL) &&
               (!now || (wanted && wanted <= now));
}

static bool is_passed_already(const abatis_policy *policy, const char *name)
{
        if (!strcmp(name, "all"))
                return !policy->passes_named_only;
        if (strings_has(&policy->environment, name) || !strcmp(name, "none"))
                return true;
        return !policy->passes_named_only && !environment_is_secret(name, strlen(name));
}

/* Of a process: what is forbidden so far, and would not be any more. */
static bool is_freed(const abatis_policy *policy, const struct entry *entry)
{
        if (entry->key == KEY_FORK)
                return policy->forbids_forks && !strcmp(entry->value, "true");
        if (entry->key == KEY_SYSTEM_CALLS)
                return policy->has_few_calls && strcmp(entry->value, "few");
        if (entry->key == KEY_EXECUTABLE_MEMORY)
                return policy->forbids_new_code && !strcmp(entry->value, "true");
        return arguments_are_checked(policy) && strcmp(entry->value, "true");
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
                is_narrower = network_is_within(mode, policy->network);
                break;
        case KEY_CONNECT:
                is_narrower =
                        policy->network == NETWORK_ALLOW || places_cover(&policy->connect, entry->value);
                break;
        case KEY_BIND:
                is_narrower = policy->network == NETWORK_ALLOW || strings_has(&policy->bind, entry->value);
                break;
        case KEY_UNIX:
        case KEY_COMMANDS:
                return check_item(policy, layer, entry, err);
        case KEY_SESSION:
                is_narrower = policy->shares_session || strcmp(entry->value, "shared");
                break;
        case KEY_BACKEND:
                is_narrower = !strcmp(entry->value, backend_names[policy->backend]);
                break;
        case KEY_VERIFY_SNI:
                is_narrower = policy->passes_any_name || strcmp(entry->value, "false");
                break;
        case KEY_LOOPBACK:
                is_narrower = !policy->has_no_loopback || strcmp(entry->value, "true");
                break;
        case KEY_FORK:
        case KEY_SYSTEM_CALLS:
        case KEY_EXECUTABLE_MEMORY:
        case KEY_CHECK_ARGUMENTS:
                is_narrower = !is_freed(policy, entry);
                break;
        case KEY_PASS:
                is_narrower = is_passed_already(policy, entry->value);
                break;
        case KEY_MEMORY:
        case KEY_PROCESSES:
        case KEY_OPEN_FILES:
        case KEY_CPU:
        case KEY_FILE_SIZE:
        case KEY_WRITTEN:
        case KEY_CONNECTIONS:
        case KEY_CONNECTION_RATE:
        case KEY_TRAFFIC:
        case KEY_TIMEOUT:
        case KEY_OUTPUT:
                is_narrower = is_below_limit(policy, entry);
                break;
        case KEY_AUDIT_LOG:
                is_narrower =
                        !strcmp(entry->value, "on") || (!strcmp(entry->value, "off") && policy->audit.is_off);
                break;
        case KEY_AUDIT_SYNC:
                is_narrower = !policy->audit.is_synced || !strcmp(entry->value, "true");
                break;
        case KEY_AUDIT_SIZE: /* small ones, of which few are kept, are soon gone */
        case KEY_AUDIT_KEEP:
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
        if (!is_narrower && key_section_length(&keys[entry->key]) == strlen("audit"))
                return refuse(layer, entry, "would keep less of what was run", err);
        return is_narrower ? 0 : refuse(layer, entry, "would allow more", err);
}

int narrow_check(const abatis_policy *policy, const struct layer *layer, abatis_error *err)
{
        abatis_error below;

        if (layer->count > ENTRIES_MAX) {
                error_set(&below, ABATIS_E_INVALID, "more than %d entries in a project's file", ENTRIES_MAX);
                return entry_error(layer, &layer->entries[ENTRIES_MAX], &below, err);
        }
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
