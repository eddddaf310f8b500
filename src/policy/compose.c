/* compose.c: puts presets, profiles and files together, from the lowest layer up. */
#define _GNU_SOURCE
#include "policy/compose.h"
#include "base/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

enum { BASES_DEPTH_MAX = 16 };

/* Where the layer was read from, unless it is part of the program. */
static int remember_source(abatis_policy *policy, const struct layer *layer, abatis_error *err)
{
        OWN_FREE char *directory = NULL, *path = NULL;

        if (layer->is_shipped)
                return 0;
        if (*layer->name == '/')
                return strings_add(&policy->sources, layer->name, err);
        directory = reach_working_directory();
        if (!directory)
                return error_os(err, errno, "cannot find out the working directory");
        path = path_join(directory, layer->name);
        return path ? strings_add(&policy->sources, path, err) : error_memory(err);
}

/* ---- bases ---------------------------------------------------------------------------------------------- */

/* The bases that are being put together, the innermost first: one that is among them is a circle. */
struct chain {
        const char *name;
        const struct chain *above;
};

static int strings_move(struct strings *into, struct strings *from, abatis_error *err)
{
        char **items;

        if (!from->count)
                return 0;
        items = realloc(into->items, (into->count + from->count) * sizeof(*items));
        if (!items)
                return error_memory(err);
        memcpy(items + into->count, from->items, from->count * sizeof(*items));
        into->items = items;
        into->count += from->count;
        from->count = 0;
        return 0;
}

static int move_rules(abatis_policy *into, abatis_policy *from, abatis_error *err)
{
        size_t wanted = into->rule_count + from->rule_count;
        struct rule *rules = realloc(into->rules, (wanted + 1) * sizeof(*rules));

        if (!rules)
                return error_memory(err);
        policy_changed(into);
        into->rules = rules;
        into->rule_capacity = wanted + 1;
        if (from->rule_count)
                memcpy(rules + into->rule_count, from->rules, from->rule_count * sizeof(*rules));
        into->rule_count = wanted;
        from->rule_count = 0;
        return 0;
}

static int move_notes(abatis_policy *into, abatis_policy *from, abatis_error *err)
{
        struct note *notes = realloc(into->notes, (into->note_count + from->note_count + 1) * sizeof(*notes));

        if (!notes)
                return error_memory(err);
        into->notes = notes;
        if (from->note_count)
                memcpy(notes + into->note_count, from->notes, from->note_count * sizeof(*notes));
        into->note_count += from->note_count;
        from->note_count = 0;
        return 0;
}

static void audit_unite(struct audit_choice *into, abatis_policy *from)
{
        if (from->has[KEY_AUDIT_LOG])
                into->is_off = from->audit.is_off;
        if (from->audit.log) {
                free(into->log);
                into->log = take_pointer(from->audit.log);
        }
        if (from->has[KEY_AUDIT_SYNC])
                into->is_synced = from->audit.is_synced;
        if (from->has[KEY_AUDIT_SIZE])
                into->size = from->audit.size;
        if (from->has[KEY_AUDIT_KEEP])
                into->keep = from->audit.keep;
}

/* Lists are united, of single values that of `from` counts if it has one. */
static int unite(abatis_policy *into, abatis_policy *from, abatis_error *err)
{
        int r = move_rules(into, from, err);

        if (!r)
                r = move_notes(into, from, err);
        if (!r)
                r = strings_move(&into->origins, &from->origins, err);
        for (enum key_id key = KEY_VERSION; key < KEY_COUNT && !r; key++) {
                if (policy_list(into, key))
                        r = strings_move(policy_list(into, key), policy_list(from, key), err);
                if (key_limit(key) != LIMIT_COUNT && from->has[key])
                        into->limits[key_limit(key)] = from->limits[key_limit(key)];
                into->has[key] |= from->has[key];
        }
        if (!r)
                r = strings_move(&into->environment, &from->environment, err);
        if (!r)
                r = strings_move(&into->sources, &from->sources, err);
        if (from->preset)
                into->preset = from->preset;
        into->reads_all |= from->reads_all;
        into->executes_all |= from->executes_all;
        into->has_private_tmp |= from->has_private_tmp;
        into->reaches_control_sockets |= from->reaches_control_sockets;
        into->passes_named_only &= from->passes_named_only;
        if (from->has[KEY_SESSION])
                into->shares_session = from->shares_session;
        if (from->has[KEY_BACKEND])
                into->backend = from->backend;
        if (from->has[KEY_VERIFY_SNI])
                into->passes_any_name = from->passes_any_name;
        if (from->has[KEY_LOOPBACK])
                into->has_no_loopback = from->has_no_loopback;
        if (from->has[KEY_FORK])
                into->forbids_forks = from->forbids_forks;
        if (from->has[KEY_SYSTEM_CALLS])
                into->has_few_calls = from->has_few_calls;
        if (from->has[KEY_EXECUTABLE_MEMORY])
                into->forbids_new_code = from->forbids_new_code;
        if (from->has[KEY_CHECK_ARGUMENTS])
                into->argument_check = from->argument_check;
        if (from->has[KEY_NETWORK])
                into->network = from->network;
        audit_unite(&into->audit, from);
        return r;
}

/* What bases are put together with. */
struct basing {
        const abatis_policy_options *options;
        bool is_for_ceiling; /* whose bases nobody but the administrator may change: the user's profiles do not count */
};

static int compose_bases(abatis_policy *policy, const struct layer *layer, const struct basing *basing,
                         const struct chain *chain, abatis_error *err);

/* Who names a base: an entry of a layer, or the caller, who has no place. */
struct naming {
        const struct layer *layer;
        const struct entry *entry;
};

static int fail_base(const struct naming *naming, const abatis_error *below, abatis_error *err)
{
        if (naming->entry)
                return entry_error(naming->layer, naming->entry, below, err);
        if (err)
                *err = *below;
        return below->code;
}

static int fail_unknown_base(const struct naming *naming, const char *name, abatis_error *err)
{
        abatis_error below;
        char hint[512];

        explain_unknown(name, preset_names, hint, sizeof(hint));
        error_set(&below, ABATIS_E_INVALID,
                  "there is no preset or profile '%s'; %s, and 'abatis profile list'", name, hint);
        return fail_base(naming, &below, err);
}

static int compose_base(abatis_policy *policy, const char *name, const struct naming *naming,
                        const struct basing *basing, const struct chain *chain, abatis_error *err)
{
        const struct manner manner = { .skips_absent = true,
                                       .makes_places = basing->options->layers & ABATIS_MAKE_PLACES &&
                                                       !basing->is_for_ceiling };
        const struct chain here = { name, chain };
        OWN_LAYER struct layer *layer = NULL;
        abatis_error below;
        int r, depth = 0;

        if (preset_exists(name)) {
                r = preset_apply(policy, name, basing->options, &below);
                return r < 0 ? fail_base(naming, &below, err) : 0;
        }
        for (const struct chain *at = chain; at; at = at->above)
                if (++depth > BASES_DEPTH_MAX || !strcmp(at->name, name)) {
                        error_set(&below, ABATIS_E_INVALID, "a profile cannot extend itself");
                        return fail_base(naming, &below, err);
                }
        r = profile_load(name, basing->is_for_ceiling, &layer, err);
        if (r < 0)
                return r;
        if (!layer)
                return fail_unknown_base(naming, name, err);
        r = remember_source(policy, layer, err);
        if (!r)
                r = compose_bases(policy, layer, basing, &here, err);
        return r ? r : apply_layer(policy, layer, &manner, err);
}

/* What a layer extends, which may be nothing. */
static int compose_bases(abatis_policy *policy, const struct layer *layer, const struct basing *basing,
                         const struct chain *chain, abatis_error *err)
{
        bool is_first = true;
        int r = 0;

        for (size_t i = 0; i < layer->count && !r; i++) {
                const struct entry *entry = &layer->entries[i];
                const struct naming naming = { layer, entry };
                abatis_policy *other = NULL;

                if (entry->key != KEY_EXTENDS)
                        continue;
                if (is_first)
                        r = compose_base(policy, entry->value, &naming, basing, chain, err);
                else {
                        r = policy_new_empty(basing->options, &other, err);
                        if (!r)
                                r = compose_base(other, entry->value, &naming, basing, chain, err);
                        if (!r && other)
                                r = unite(policy, other, err);
                        abatis_policy_free(other);
                }
                is_first = false;
        }
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static int check_enabled(const struct layer *layer, abatis_error *err)
{
        if (layer && layer->is_disabled)
                return error_set(err, ABATIS_E_INVALID, "%s: sandbox is disabled", layer->name);
        return 0;
}

/* The highest file that says what it extends; the caller's word counts more. */
static int compose_lowest(abatis_policy *policy, const struct files *files,
                          const abatis_policy_options *options, abatis_error *err)
{
        const struct layer *candidates[] = { files->given, files->is_project_trusted ? files->project : NULL,
                                             files->user };

        const struct basing basing = { options, false };
        const struct naming caller = { NULL, NULL };

        if (options->preset)
                return compose_base(policy, options->preset, &caller, &basing, NULL, err);
        for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++)
                if (candidates[i] && candidates[i]->has[KEY_EXTENDS])
                        return compose_bases(policy, candidates[i], &basing, NULL, err);
        return compose_base(policy, "dev", &caller, &basing, NULL, err);
}

/* The user can make $HOME anything, but not what /etc/passwd says. */
static void prefer_account_home(abatis_policy *ceiling)
{
        char *first = ceiling->homes[0];

        if (ceiling->homes[1]) {
                ceiling->homes[0] = ceiling->homes[1];
                ceiling->homes[1] = first;
        }
}

/* A name is what the user's PATH leads to. */
static int check_ceiling_commands(const struct layer *layer, abatis_error *err)
{
        abatis_error below;

        for (size_t i = 0; i < layer->count; i++)
                if (layer->entries[i].key == KEY_COMMANDS && *layer->entries[i].value != '/') {
                        error_set(&below, ABATIS_E_INVALID,
                                  "a ceiling lists programs by their absolute paths");
                        return entry_error(layer, &layer->entries[i], &below, err);
                }
        return 0;
}

static int compose_ceiling(abatis_policy *policy, const struct layer *layer,
                           const abatis_policy_options *options, abatis_error *err)
{
        const struct manner manner = { .is_asked = true, .skips_absent = true };
        const struct basing basing = { options, true };
        int r = policy_new_empty(options, &policy->ceiling, err);

        if (!r)
                prefer_account_home(policy->ceiling);
        if (!r)
                r = check_ceiling_commands(layer, err);
        if (!r)
                r = compose_bases(policy->ceiling, layer, &basing, NULL, err);
        return r ? r : apply_layer(policy->ceiling, layer, &manner, err);
}

/* A preset knows what to do about the workspace's repository; without one, or for a shell of an agent's, it is protected, or what is
 * written there would run outside with the next git command. */
static int protect_repository(abatis_policy *policy, abatis_error *err)
{
        size_t before = policy->rule_count;
        bool is_writable;
        int r;

        policy_decide_by_paths(policy, ABATIS_WRITE, policy->workspace, &is_writable);
        if ((policy->preset && !policy->protects_starters) || !is_writable)
                return 0;
        r = git_add_rules(policy, GIT_PROTECTED, "git", err);
        policy_drop_repeated(policy, before);
        return r;
}

static int remember_sources(abatis_policy *policy, const struct files *files,
                            const abatis_policy_options *options, abatis_error *err)
{
        const struct layer *const layers[] = { files->system, files->user, files->project,
                                               options->text ? NULL : files->given };
        int r = 0;

        for (size_t i = 0; i < sizeof(layers) / sizeof(*layers) && !r; i++)
                r = layers[i] ? remember_source(policy, layers[i], err) : 0;
        return r;
}

int compose_files(abatis_policy *policy, const struct files *files, const abatis_policy_options *options,
                  abatis_error *err)
{
        const struct manner manner = { .is_asked = true },
                            of_project = { .is_asked = true, .narrows = !files->is_project_trusted };
        int r = check_enabled(files->system, err);

        if (!r)
                r = check_enabled(files->user, err);
        if (!r)
                r = check_enabled(files->project, err);
        if (!r)
                r = check_enabled(files->given, err);
        if (!r)
                r = compose_lowest(policy, files, options, err);
        if (!r && files->user)
                r = apply_layer(policy, files->user, &manner, err);
        if (!r && files->project && !files->is_project_trusted)
                r = narrow_check(policy, files->project, err);
        if (!r && files->project)
                r = apply_layer(policy, files->project, &of_project, err);
        if (!r && files->given)
                r = apply_layer(policy, files->given, &manner, err);
        if (!r && files->system)
                r = compose_ceiling(policy, files->system, options, err);
        if (!r && options->layers & ABATIS_DENY_SECRETS)
                r = preset_deny_secrets(policy, "secrets", err);
        policy->protects_starters = options->layers & ABATIS_PROTECT_STARTERS;
        if (!r)
                r = remember_sources(policy, files, options, err);
        return r ? r : protect_repository(policy, err);
}

int abatis_policy_new(const abatis_policy_options *options, abatis_policy **out, abatis_error *err)
{
        abatis_policy *policy = NULL;
        struct files files = { 0 };
        int r;

        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_policy_options.size is not set");
        r = policy_new_empty(options, &policy, err);
        if (r < 0)
                return r;
        if (!(options->layers & ABATIS_NO_DEFAULT_LIMITS))
                r = policy_set_default_limits(policy, err);
        if (!r)
                r = files_find(options, policy->workspace, &files, err);
        if (!r)
                r = compose_files(policy, &files, options, err);
        files_done(&files);
        if (r < 0) {
                abatis_policy_free(policy);
                return r;
        }
        *out = policy;
        return 0;
}
