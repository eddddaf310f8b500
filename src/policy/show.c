/* show.c: prints a policy as a file would say it, each line with where it came from. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/own.h"
#include "policy/compose.h"
#include "policy/glob.h"
#include "policy/lines.h"

/* ---- what there is to say ------------------------------------------------------------------------------- */

/* A path that would be read as something else. */
static bool needs_braces(const char *path)
{
        return glob_has_magic(path) || strstr(path, "${");
}

static void add_rules(struct lines *lines, const abatis_policy *policy, enum key_id key)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == key_rule_kind(key))
                        lines_add(lines, key, rule->path, !rule->glob && needs_braces(rule->path),
                                  rule->origin);
        }
}

static void add_trees(struct lines *lines, const abatis_policy *policy, enum key_id key)
{
        size_t before = lines->count;
        bool is_all = key == KEY_READ ? policy->reads_all : key == KEY_EXECUTE && policy->executes_all;

        if (is_all)
                lines_add(lines, key, "all", false, policy_origin(policy, key, NULL));
        add_rules(lines, policy, key);
        if (key == KEY_WRITE && policy->has_private_tmp)
                lines_add(lines, key, "${tmp}", false, policy_origin(policy, key, "${tmp}"));
        if (lines->count == before)
                lines_add(lines, key, NULL, false, "nothing");
}

static void add_list(struct lines *lines, abatis_policy *policy, enum key_id key)
{
        const struct strings *list = policy_list(policy, key);

        for (size_t i = 0; i < list->count; i++)
                lines_add(lines, key, list->items[i], false, policy_origin(policy, key, list->items[i]));
}

/* Names that are passed, or what is set. */
static void add_variables(struct lines *lines, const abatis_policy *policy, bool wants_set)
{
        enum key_id key = wants_set ? KEY_ENVIRONMENT_SET : KEY_PASS;
        size_t before = lines->count;

        if (!wants_set && !policy->passes_named_only)
                lines_add(lines, key, "all", false, policy_origin(policy, key, NULL));
        for (size_t i = 0; i < policy->environment.count; i++) {
                const char *item = policy->environment.items[i];
                const struct note *note = policy_find_note(policy, KEY_PASS, item);

                if (!note)
                        note = policy_find_note(policy, KEY_ENVIRONMENT_SET, item);
                if (!strchr(item, '=') == !wants_set)
                        lines_add(lines, key, item, false, note ? note->origin : "default");
        }
        for (size_t i = 0; !wants_set && i < policy->environment_plain.count; i++) {
                const char *item = policy->environment_plain.items[i];

                lines_add(lines, key, item, false, policy_origin(policy, key, item));
        }
        if (!wants_set && lines->count == before)
                lines_add(lines, key, NULL, false, policy_origin(policy, key, NULL));
}

static void format_quantity(enum key_id key, uint64_t value, char *out, size_t size)
{
        static const struct {
                const char *name;
                uint64_t factor;
        } sizes[] = { { "GiB", 1ull << 30 }, { "MiB", 1ull << 20 }, { "KiB", 1ull << 10 }, { "B", 1 } },
          durations[] = { { "h", 3600 * 1000 }, { "m", 60 * 1000 }, { "s", 1000 }, { "ms", 1 } };
        size_t i = 0;

        if (keys[key].type == TYPE_SIZE) {
                while (value % sizes[i].factor)
                        i++;
                snprintf(out, size, "%" PRIu64 "%s", value / sizes[i].factor, sizes[i].name);
        } else if (keys[key].type == TYPE_DURATION) {
                while (value % durations[i].factor)
                        i++;
                snprintf(out, size, "%" PRIu64 "%s", value / durations[i].factor, durations[i].name);
        } else
                snprintf(out, size, "%" PRIu64, value);
}

static void add_quantity(struct lines *lines, const abatis_policy *policy, enum key_id key, uint64_t value)
{
        char text[32] = "none";

        /* That there is none is said where somebody said so: read again, it must not become the default. */
        if (!value && !policy_find_note(policy, key, NULL))
                return;
        if (value)
                format_quantity(key, value, text, sizeof(text));
        lines_add(lines, key, text, false, policy_origin(policy, key, NULL));
}

static void add_word(struct lines *lines, abatis_policy *policy, enum key_id key, const char *word)
{
        lines_add(lines, key, word, false, policy_origin(policy, key, NULL));
}

static void add_false(struct lines *lines, abatis_policy *policy, enum key_id key, bool is_false)
{
        if (is_false)
                add_word(lines, policy, key, "false");
}

static void add_of_process(struct lines *lines, abatis_policy *policy, enum key_id key)
{
        if (key == KEY_FORK)
                add_false(lines, policy, key, policy->forbids_forks);
        else if (key == KEY_EXECUTABLE_MEMORY)
                add_false(lines, policy, key, policy->forbids_new_code);
        else if (key == KEY_SYSTEM_CALLS && policy->has_few_calls)
                add_word(lines, policy, key, "few");
        else if (key == KEY_CHECK_ARGUMENTS && policy->argument_check != CHECK_WITH_LIST)
                add_word(lines, policy, key, policy->argument_check == CHECK_ALWAYS ? "true" : "false");
}

static void add_key(struct lines *lines, abatis_policy *policy, enum key_id key)
{
        switch (key) {
        case KEY_READ:
        case KEY_WRITE:
        case KEY_EXECUTE:
                add_trees(lines, policy, key);
                return;
        case KEY_DENY:
        case KEY_PROTECT:
                add_rules(lines, policy, key);
                return;
        case KEY_NETWORK:
                add_word(lines, policy, key, network_mode_name(policy->network));
                return;
        case KEY_CONNECT:
        case KEY_BIND:
        case KEY_UNIX:
        case KEY_COMMANDS:
        case KEY_ENVIRONMENT_DENY:
                add_list(lines, policy, key);
                return;
        case KEY_SESSION:
                if (policy->shares_session)
                        add_word(lines, policy, key, "shared");
                return;
        case KEY_BACKEND:
                if (policy->backend != BACKEND_AUTO)
                        add_word(lines, policy, key, backend_names[policy->backend]);
                return;
        case KEY_VERIFY_SNI:
                add_false(lines, policy, key, policy->passes_any_name);
                return;
        case KEY_LOOPBACK:
                add_false(lines, policy, key, policy->has_no_loopback);
                return;
        case KEY_FORK:
        case KEY_SYSTEM_CALLS:
        case KEY_EXECUTABLE_MEMORY:
        case KEY_CHECK_ARGUMENTS:
                add_of_process(lines, policy, key);
                return;
        case KEY_SIGNALS:
                return; /* never */
        case KEY_PASS:
        case KEY_ENVIRONMENT_SET:
                add_variables(lines, policy, key == KEY_ENVIRONMENT_SET);
                return;
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
                add_quantity(lines, policy, key, policy->limits[key_limit(key)]);
                return;
        case KEY_AUDIT_LOG:
                if (policy->audit.is_off || policy->audit.log)
                        add_word(lines, policy, key, policy->audit.is_off ? "off" : policy->audit.log);
                return;
        case KEY_AUDIT_SYNC:
                if (policy->audit.is_synced)
                        add_word(lines, policy, key, "true");
                return;
        case KEY_AUDIT_SIZE:
                add_quantity(lines, policy, key, policy->audit.size);
                return;
        case KEY_AUDIT_KEEP:
                add_quantity(lines, policy, key, policy->audit.keep);
                return;
        case KEY_VERSION:
        case KEY_EXTENDS:
        case KEY_COUNT:
                return;
        }
}

/* ---- as JSON -------------------------------------------------------------------------------------------- */

/* A list of {key, value, origin}: the same for every key, so that a program needs to know none of them. */
static int print_json(const struct lines *lines, char **out, abatis_error *err)
{
        json_t *list = json_array();

        for (size_t i = 0; list && i < lines->count; i++) {
                const struct line *line = &lines->items[i];

                json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "key", keys[line->key].name, "value",
                                                      json_from_string(line->value), "origin",
                                                      json_from_string(line->origin)));
        }
        return json_to_text(list ? json_pack("{s:o}", "policy", list) : NULL, JSON_INDENT(2), out, err);
}

/* ---- the calls ------------------------------------------------------------------------------------------ */

int abatis_policy_print(abatis_policy *policy, abatis_format format, char **out, abatis_error *err)
{
        OWN_LINES struct lines lines = { 0 };
        OWN_TEXT struct text text = { 0 };
        int r = policy_finish(policy, err);

        if (r < 0)
                return r;
        for (enum key_id key = KEY_READ; key < KEY_COUNT; key++)
                add_key(&lines, policy, key);
        if (lines.has_failed)
                return error_memory(err);
        if (format == ABATIS_JSON)
                return print_json(&lines, out, err);
        /* Read again, it means the same: nothing lies below it. */
        text_add(&text, "# workspace: ");
        text_add_line(&text, policy->workspace);
        text_add(&text, "\nversion: 1\nextends: []\n");
        lines_print(&lines, &text);
        return text_take(&text, out, err);
}

int abatis_policy_convert(const char *file, char **out, abatis_error *err)
{
        OWN_FREE char *bytes = NULL;
        OWN_LAYER struct layer *layer = NULL;
        size_t length = 0;
        int r = file_read(file, FILE_ANY, &bytes, &length, err);

        if (!r && !bytes)
                r = error_set(err, ABATIS_E_INVALID, "policy '%s' does not exist", file);
        if (!r)
                r = layer_read(document_format_of(file), file, bytes, length, &layer, err);
        return r ? r : layer_print(layer, out, err);
}

uint64_t abatis_policy_limit(const abatis_policy *policy, const char *key)
{
        enum limit limit = key_limit(key_find(key, strlen(key)));

        return limit == LIMIT_COUNT ? 0 : policy->limits[limit];
}
