/* apply.c: puts one layer on a policy: words and variables are expanded, lists replaced, every value set. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "policy/compose.h"

int entry_error(const struct layer *layer, const struct entry *entry, const abatis_error *below,
                abatis_error *err)
{
        return error_within(err, below, "%s:%u:%u: %s", layer->name, entry->line, entry->column,
                            keys[entry->key].name);
}

static bool is_list(enum key_id key)
{
        switch (keys[key].type) {
        case TYPE_TREES:
        case TYPE_HOSTS:
        case TYPE_PORTS:
        case TYPE_PATHS:
        case TYPE_PROGRAMS:
        case TYPE_VARIABLES:
                return true;
        case TYPE_VERSION:
        case TYPE_BASES:
        case TYPE_SESSION:
        case TYPE_CALLS:
        case TYPE_BACKEND:
        case TYPE_HOLES: /* these two only ever grow */
        case TYPE_MASKS:
        case TYPE_MODE:
        case TYPE_BOOLEAN:
        case TYPE_ASSIGNMENTS:
        case TYPE_SIZE:
        case TYPE_DURATION:
        case TYPE_NUMBER:
        case TYPE_LOG:
                break;
        }
        return false;
}

static bool has_inherited(const struct layer *layer, enum key_id key)
{
        for (size_t i = 0; i < layer->count; i++)
                if (layer->entries[i].key == key && !layer->entries[i].is_literal &&
                    !strcmp(layer->entries[i].value, "inherited"))
                        return true;
        return false;
}

static int apply_path(abatis_policy *policy, const struct entry *entry, const struct setting *setting,
                      abatis_error *err)
{
        enum rule_kind kind = key_rule_kind(entry->key);
        struct setting expanded = *setting;
        OWN_FREE char *text = NULL;
        enum meaning meaning;
        int r = expand_path(policy, entry, &meaning, &text, err);

        if (r < 0)
                return r;
        switch (meaning) {
        case MEANS_PATH:
                expanded.value = text;
                return policy_apply(policy, &expanded, err);
        case MEANS_PATTERN:
                return policy_add_glob(policy, kind, text, setting->origin, err);
        case MEANS_ALL:
                if (kind == RULE_WRITE)
                        return error_set(err, ABATIS_E_INVALID,
                                         "not everything can be writable; name directories");
                return policy_open_all(policy, entry->key, setting->origin, setting->is_asked, err);
        case MEANS_SYSTEM:
                if (kind == RULE_WRITE)
                        return error_set(err, ABATIS_E_INVALID,
                                         "the system cannot be writable; name directories");
                return preset_open_system(policy, kind, setting->origin, err);
        case MEANS_INHERITED:
                return 0;
        case MEANS_TMP:
                if (kind != RULE_WRITE)
                        return 0;
                policy->has_private_tmp = true;
                return policy_note(policy, KEY_WRITE, "${tmp}", setting->origin, setting->is_asked, err);
        }
        return 0;
}

/* "all" and "none" among the names of variables that are passed. A name passes a variable whatever it holds, so that a
 * layer which only narrows cannot name one: it leaves it among those that are passed anyway. */
static int apply_variable(abatis_policy *policy, const struct setting *setting, bool narrows,
                          abatis_error *err)
{
        bool is_all = !strcmp(setting->value, "all");

        if (is_all)
                policy->passes_named_only = false;
        if (is_all || !strcmp(setting->value, "none"))
                return policy_note(policy, KEY_PASS, setting->value, setting->origin, setting->is_asked, err);
        if (narrows && !environment_is_secret(setting->value, strlen(setting->value))) {
                int r = strings_add(&policy->environment_plain, setting->value, err);

                return r ? r
                         : policy_note(policy, KEY_PASS, setting->value, setting->origin, setting->is_asked,
                                       err);
        }
        return policy_apply(policy, setting, err);
}

/* A program, a socket or a log, which may be given like a path. */
static int apply_item(abatis_policy *policy, const struct entry *entry, const struct setting *setting,
                      abatis_error *err)
{
        struct setting expanded = *setting;
        OWN_FREE char *value = NULL;
        int r = expand_item(policy, entry, &value, err);

        if (r < 0)
                return r;
        expanded.value = value;
        return policy_apply(policy, &expanded, err);
}

/* The directories that shipped profiles keep for what runs inside are made; nobody else's are. */
static int make_place(const abatis_policy *policy, const struct entry *entry, abatis_error *err)
{
        static const char *const ours[] = { "~/.local/state/abatis/", "~/.cache/abatis/" };
        OWN_FREE char *path = NULL;

        for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++) {
                int r;

                if (strncmp(entry->value, ours[i], strlen(ours[i])))
                        continue;
                r = expand_value(policy, entry->value, &path, err);
                return r ? r : make_directories(path, true, err);
        }
        return 0;
}

static int apply_assignment(abatis_policy *policy, const struct setting *setting, abatis_error *err)
{
        const char *equals = strchr(setting->value, '=');
        OWN_FREE char *name = strndup(setting->value, (size_t)(equals - setting->value) + 1), *value = NULL,
                      *whole = NULL;
        struct setting expanded = *setting;
        int r = expand_value(policy, equals + 1, &value, err);

        if (r < 0)
                return r;
        whole = name ? text_join(name, value, "") : NULL;
        if (!whole)
                return error_memory(err);
        expanded.value = whole;
        return policy_apply(policy, &expanded, err);
}

static int apply_entry(abatis_policy *policy, const struct layer *layer, const struct entry *entry,
                       const struct manner *manner, abatis_error *err)
{
        struct setting setting = { .key = entry->key,
                                   .value = entry->value,
                                   .is_asked = manner->is_asked,
                                   .skips_absent = manner->skips_absent,
                                   .is_for_now = layer->is_shipped };
        OWN_FREE char *place = NULL;
        abatis_error below;
        int r = 0;

        if (entry->key == KEY_EXTENDS)
                return 0;
        if (asprintf(&place, "%s:%u", layer->name, entry->line) < 0) {
                place = NULL;
                return error_memory(err);
        }
        setting.origin = policy_intern(policy, place);
        if (!setting.origin)
                return error_memory(err);
        if (!strcmp(entry->value, "inherited") && !entry->is_literal && is_list(entry->key))
                return 0;
        switch (keys[entry->key].type) {
        case TYPE_TREES:
        case TYPE_HOLES:
                if (manner->makes_places && layer->is_shipped && entry->key == KEY_WRITE)
                        r = make_place(policy, entry, &below);
                if (!r)
                        r = apply_path(policy, entry, &setting, &below);
                break;
        case TYPE_VARIABLES:
                r = apply_variable(policy, &setting, manner->narrows, &below);
                break;
        case TYPE_ASSIGNMENTS:
                r = apply_assignment(policy, &setting, &below);
                break;
        case TYPE_PATHS:
        case TYPE_PROGRAMS:
        case TYPE_LOG:
                r = apply_item(policy, entry, &setting, &below);
                break;
        case TYPE_VERSION:
        case TYPE_BASES:
        case TYPE_SESSION:
        case TYPE_CALLS:
        case TYPE_BACKEND:
        case TYPE_MODE:
        case TYPE_HOSTS:
        case TYPE_PORTS:
        case TYPE_BOOLEAN:
        case TYPE_MASKS:
        case TYPE_SIZE:
        case TYPE_DURATION:
        case TYPE_NUMBER:
                r = policy_apply(policy, &setting, &below);
                break;
        }
        return r < 0 ? entry_error(layer, entry, &below, err) : 0;
}

int apply_layer(abatis_policy *policy, const struct layer *layer, const struct manner *manner,
                abatis_error *err)
{
        bool has_private_tmp = policy->has_private_tmp;

        for (enum key_id key = KEY_VERSION; key < KEY_COUNT; key++) {
                policy->has[key] |= layer->has[key];
                if (layer->has[key] && is_list(key) && !has_inherited(layer, key))
                        policy_clear(policy, key);
        }
        /* Without its private /tmp the command would see the host's. */
        policy->has_private_tmp |= manner->narrows && has_private_tmp;
        for (size_t i = 0; i < layer->count; i++) {
                int r = apply_entry(policy, layer, &layer->entries[i], manner, err);

                if (r < 0)
                        return r;
        }
        return 0;
}
