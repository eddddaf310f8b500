/* compositions.c: a policy out of texts, one for each layer. */
#define _GNU_SOURCE
#include "compositions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/compose.h"

static char *formatted[256]; /* owned */
static size_t formatted_count;

int compositions_setup(void **state)
{
        unsetenv("XDG_CONFIG_HOME");
        unsetenv("XDG_STATE_HOME");
        return policies_setup(state);
}

int compositions_teardown(void **state)
{
        while (formatted_count)
                free(formatted[--formatted_count]);
        return policies_teardown(state);
}

const char *format(const char *text, ...)
{
        va_list arguments;

        assert_true(formatted_count < sizeof(formatted) / sizeof(*formatted));
        va_start(arguments, text);
        assert_true(vasprintf(&formatted[formatted_count], text, arguments) >= 0);
        va_end(arguments);
        return formatted[formatted_count++];
}

void make_profile(const char *name, const char *text)
{
        make_file(format("home/.config/abatis/profiles/%s.yaml", name), text);
}

static int read_text(const char *name, const char *text, struct layer **out, abatis_error *err)
{
        return text ? layer_read(DOCUMENT_YAML, name, text, strlen(text), out, err) : 0;
}

static int try_to_compose(const struct texts *texts, abatis_policy **out, abatis_error *err)
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .preset = texts->preset,
                                                .workspace = texts->workspace ? texts->workspace : at("ws"),
                                                .data = texts->data };
        struct files files = { .is_project_trusted = texts->trusts_project };
        abatis_policy *policy = NULL;
        int r = policy_new_empty(&options, &policy, err);

        if (!r)
                r = read_text("system", texts->system, &files.system, err);
        if (!r)
                r = read_text("user", texts->user, &files.user, err);
        if (!r)
                r = read_text("project", texts->project, &files.project, err);
        if (!r)
                r = read_text("given", texts->given, &files.given, err);
        if (!r)
                r = compose_files(policy, &files, &options, err);
        if (!r)
                r = policy_finish(policy, err);
        files_done(&files);
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

abatis_policy *compose(const struct texts *texts)
{
        abatis_policy *policy = NULL;
        abatis_error err;

        if (try_to_compose(texts, &policy, &err) < 0)
                fail_msg("%s", err.message);
        return policy;
}

static void assert_refused(const struct texts *texts, const char *message, size_t length)
{
        abatis_error err = { .message = "" };
        abatis_policy *policy = NULL;

        if (!try_to_compose(texts, &policy, &err))
                fail_msg("taken without '%s'", message);
        assert_int_equal(err.code, ABATIS_E_INVALID);
        if (strncmp(err.message, message, length) != 0)
                fail_msg("'%s' instead of '%s'", err.message, message);
        assert_int_equal(try_to_compose(texts, &policy, NULL), ABATIS_E_INVALID);
}

void assert_composition_refused(const struct texts *texts, const char *message)
{
        assert_refused(texts, message, strlen(message) + 1);
}

void assert_composition_refused_with(const struct texts *texts, const char *beginning)
{
        assert_refused(texts, beginning, strlen(beginning));
}

const char *items_of(const struct strings *strings)
{
        static char out[4096];
        size_t used = 0;

        *out = '\0';
        for (size_t i = 0; i < strings->count && used < sizeof(out); i++)
                used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s", used ? "|" : "",
                                         strings->items[i]);
        return out;
}

const char *rules_of(const abatis_policy *policy, enum rule_kind kind)
{
        static char out[4096];
        const char *root = at("%s", "");
        size_t used = 0;

        *out = '\0';
        for (size_t i = 0; i < policy->rule_count && used < sizeof(out); i++) {
                const char *path = policy->rules[i].path;

                if (policy->rules[i].kind != kind || (!policy->rules[i].glob && !path_is_below(path, root)))
                        continue;
                if (!policy->rules[i].glob)
                        path += strlen(root) + 1;
                used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%s", used ? "|" : "", path);
        }
        return out;
}
