/* expand.c: what a path in a document stands for: words, variables, patterns. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/system.h"
#include "policy/compose.h"
#include "policy/glob.h"

static const char *const variables[] = { "workspace", "data", "home", "tmp", NULL };

/* The text up to the end of the variable that begins it, and what it stands for. */
static int expand_variable(const abatis_policy *policy, const char *text, const char **value, size_t *length,
                           abatis_error *err)
{
        const char *end = strchr(text, '}');
        char name[32], hint[128];

        *value = NULL;
        *length = end ? (size_t)(end - text) + 1 : 0;
        if (!end || *length - 3 >= sizeof(name))
                return error_set(err, ABATIS_E_INVALID, "'%s': a variable is written ${name}", text);
        memcpy(name, text + 2, *length - 3);
        name[*length - 3] = '\0';
        if (!strcmp(name, "workspace"))
                *value = policy->workspace;
        else if (!strcmp(name, "tmp"))
                *value = "/tmp";
        else if (!strcmp(name, "home") && policy->homes[0])
                *value = policy->homes[0];
        else if (!strcmp(name, "home"))
                return error_set(err, ABATIS_E_INVALID, "'%s': this user has no home directory", text);
        else if (!strcmp(name, "data") && policy->data)
                *value = policy->data;
        else if (!strcmp(name, "data"))
                return error_set(err, ABATIS_E_INVALID, "'%s': there is no data directory; pass --data DIR",
                                 text);
        else {
                explain_unknown(name, variables, hint, sizeof(hint));
                return error_set(err, ABATIS_E_INVALID, "unknown variable '%.*s'; %s", (int)*length, text,
                                 hint);
        }
        return 0;
}

/* In a pattern, what a variable stands for is still a path, whatever characters are in it. */
static int expand_text(const abatis_policy *policy, const char *text, bool is_pattern, char **out,
                       abatis_error *err)
{
        OWN_FREE char *quoted = NULL;
        const char *value = "";
        size_t length = 0;
        int r = 0;

        if (!strncmp(text, "${", 2))
                r = expand_variable(policy, text, &value, &length, err);
        else if (*text == '~' && (!text[1] || text[1] == '/')) {
                length = 1;
                value = policy->homes[0];
                if (!value)
                        r = error_set(err, ABATIS_E_INVALID, "'%s': this user has no home directory", text);
        }
        if (r < 0)
                return r;
        if (length && text[length] && text[length] != '/')
                return error_set(err, ABATIS_E_INVALID, "'%s': only '/' may follow a variable", text);
        if (strstr(text + length, "${"))
                return error_set(err, ABATIS_E_INVALID, "'%s': a variable can only begin a path", text);
        if (is_pattern) {
                quoted = glob_quote(value);
                value = quoted;
        }
        *out = value ? text_join(value, text + length, "") : NULL;
        return *out ? 0 : error_memory(err);
}

static bool find_word(const char *text, enum meaning *out)
{
        static const struct {
                const char *word;
                enum meaning meaning;
        } words[] = { { "all", MEANS_ALL },
                      { "system", MEANS_SYSTEM },
                      { "inherited", MEANS_INHERITED },
                      { "${tmp}", MEANS_TMP } };

        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
                if (!strcmp(text, words[i].word)) {
                        *out = words[i].meaning;
                        return true;
                }
        return false;
}

int expand_path(const abatis_policy *policy, const struct entry *entry, enum meaning *meaning, char **out,
                abatis_error *err)
{
        bool is_hole = keys[entry->key].type == TYPE_HOLES;
        OWN_FREE char *text = NULL;
        bool is_pattern;
        int r;

        *meaning = MEANS_PATH;
        if (entry->is_literal) {
                *out = strdup(entry->value);
                return *out ? 0 : error_memory(err);
        }
        if (!is_hole && find_word(entry->value, meaning))
                return 0;
        is_pattern = glob_has_magic(entry->value);
        r = expand_text(policy, entry->value, is_pattern, &text, err);
        if (r < 0 || !text)
                return r;
        system_read_path(text);
        if (!strncmp(entry->value, "${tmp}", 6))
                return error_set(err, ABATIS_E_INVALID, "'%s': the private /tmp is empty at first",
                                 entry->value);
        if (is_pattern) {
                if (!is_hole)
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "'%s': patterns can only deny or protect; {path: \"...\"} is for a name "
                                "with such a character in it",
                                entry->value);
                *meaning = MEANS_PATTERN;
        } else if (*text != '/')
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' is relative; write an absolute path, ~/... or ${workspace}/...",
                                 entry->value);
        *out = take_pointer(text);
        return 0;
}

int expand_value(const abatis_policy *policy, const char *value, char **out, abatis_error *err)
{
        if (strncmp(value, "${", 2) && strcmp(value, "~") && strncmp(value, "~/", 2)) {
                *out = strdup(value);
                return *out ? 0 : error_memory(err);
        }
        return expand_text(policy, value, false, out, err);
}

int expand_item(const abatis_policy *policy, const struct entry *entry, char **out, abatis_error *err)
{
        if (!entry->is_literal)
                return expand_value(policy, entry->value, out, err);
        *out = strdup(entry->value);
        return *out ? 0 : error_memory(err);
}
