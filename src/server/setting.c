/* setting.c: the policy that a request asks for. */
#define _GNU_SOURCE
#include "server/setting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "server/reply.h"

const abatis_tier *setting_tier(const struct request *request)
{
        return abatis_tier_find(request_string(request, "tier"));
}

/* ---- single keys ---------------------------------------------------------------------------------------- */

static int set_value(abatis_policy *policy, const char *key, const json_t *value, abatis_error *err)
{
        int takes = abatis_policy_takes(key);
        char number[24];

        if (json_is_string(value) || takes < 0) /* of what is no key the library says so */
                return abatis_policy_set(policy, key, json_is_string(value) ? json_string_value(value) : "",
                                         err);
        if (json_is_boolean(value) && takes & ABATIS_TAKES_FLAG)
                return abatis_policy_set(policy, key, json_is_true(value) ? "true" : "false", err);
        if (!json_is_integer(value) || !(takes & ABATIS_TAKES_NUMBER))
                return error_set(err, ABATIS_E_INVALID, "%s: %s is not what it takes", key,
                                 json_is_boolean(value) ? "true or false" : "a number");
        snprintf(number, sizeof(number), "%" PRId64, (int64_t)json_integer_value(value));
        return abatis_policy_set(policy, key, number, err);
}

/* Every value of an array by itself. */
static int set_values(abatis_policy *policy, const char *key, const json_t *value, abatis_error *err)
{
        int takes = abatis_policy_takes(key), r = 0;

        if (!json_is_array(value) || takes < 0)
                return value ? set_value(policy, key, value, err) : 0;
        if (!(takes & ABATIS_TAKES_SEVERAL))
                return error_set(err, ABATIS_E_INVALID, "%s: an array is not what it takes", key);
        for (size_t i = 0; i < json_array_size(value) && !r; i++)
                r = set_value(policy, key, json_array_get(value, i), err);
        return r;
}

static int set_limits(abatis_policy *policy, json_t *limits, abatis_error *err)
{
        const char *name;
        json_t *value;
        int r = 0;

        json_object_foreach(limits, name, value)
        {
                char key[64];

                snprintf(key, sizeof(key), "limits.%s", name);
                r = set_value(policy, key, value, err);
                if (r < 0)
                        break;
        }
        return r;
}

static int set_settings(abatis_policy *policy, json_t *settings, abatis_error *err)
{
        const char *key;
        json_t *value;
        int r = 0;

        json_object_foreach(settings, key, value)
        {
                r = set_values(policy, key, value, err);
                if (r < 0)
                        break;
        }
        return r;
}

/* ---- what exec-request names ----------------------------------------------------------------------------- */

/* A program by its path must be in view, wherever it lies. */
static int set_program(abatis_policy *policy, const struct request *request, abatis_error *err)
{
        const char *program = request_string(request, "program"), *cwd = request_string(request, "cwd");
        OWN_FREE char *path = NULL;

        if (*program == '/')
                return abatis_policy_set(policy, "filesystem.execute", program, err);
        if (!strchr(program, '/') || !(cwd || setting_tier(request)->policy))
                return 0;
        if (!cwd)
                return error_set(err, PROTOCOL_REQUEST, "'program': a relative path needs 'cwd'");
        path = path_join(cwd, program);
        return path ? abatis_policy_set(policy, "filesystem.execute", path, err) : error_memory(err);
}

static int set_places(abatis_policy *policy, const struct request *request, abatis_error *err)
{
        int r = set_values(policy, "filesystem.read", json_object_get(request->root, "read"), err);

        if (!r)
                r = set_values(policy, "filesystem.write", json_object_get(request->root, "write"), err);
        if (!r && request_string(request, "program"))
                r = set_program(policy, request, err);
        if (r || !request_flag(request, "network"))
                return r;
        if (!setting_tier(request)->may_connect)
                return error_set(err, PROTOCOL_REQUEST, "'network': the tier %s has none",
                                 setting_tier(request)->name);
        return abatis_policy_set(policy, "network.mode", "allow", err);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static int set_all(abatis_policy *policy, const struct request *request, abatis_error *err)
{
        int r = 0;

        if (request->method == METHOD_EXEC || request->method == METHOD_SKILL)
                r = set_places(policy, request, err);
        if (!r)
                r = set_limits(policy, json_object_get(request->root, "limits"), err);
        if (!r)
                r = set_settings(policy, json_object_get(request->root, "set"), err);
        /* Whose session it is only the request says: by the policy alone two clients would be in one. */
        if (!r && request->method == METHOD_RUN)
                r = abatis_policy_set(policy, "session",
                                      request_string(request, "session") ? "shared" : "private", err);
        return r;
}

static int use_tier(const struct request *request, abatis_skill *skill, abatis_policy_options *options,
                    abatis_error *err)
{
        int r;

        if (!skill && request->method != METHOD_EXEC && !request_string(request, "tier"))
                return 0;
        r = skill ? abatis_skill_apply(skill, options, err)
                  : abatis_tier_apply(setting_tier(request), options, err);
        if (r < 0)
                err->code = PROTOCOL_REQUEST;
        return r < 0 ? PROTOCOL_REQUEST : 0;
}

int setting_make_policy(const struct request *request, const char *program, abatis_skill *skill,
                        abatis_policy **out, abatis_error *err)
{
        abatis_policy_options options = { .size = sizeof(options),
                                          .preset = request_string(request, "preset"),
                                          .workspace = request_string(request, "workspace"),
                                          .data = request_string(request, "data"),
                                          .config = request_string(request, "config"),
                                          .program = program,
                                          .file = request_string(request, "policy_file"),
                                          .layers = ABATIS_LAYERS_ALL };
        const json_t *inlined = json_object_get(request->root, "policy");
        OWN_FREE char *text = inlined ? json_dumps(inlined, JSON_COMPACT) : NULL;
        abatis_policy *policy;
        int r;

        if (inlined && !text)
                return error_memory(err);
        /* Where a command works is what it works on, unless somebody says otherwise. */
        if (!options.workspace)
                options.workspace = request_string(request, "cwd");
        if (request->method == METHOD_RUN || request->method == METHOD_EXEC)
                options.layers |= ABATIS_MAKE_PLACES;
        if (text) {
                options.file = "policy.json";
                options.text = text;
        }
        r = use_tier(request, skill, &options, err);
        if (!r)
                r = abatis_policy_new(&options, &policy, err);
        if (r < 0)
                return r;
        r = set_all(policy, request, err);
        if (r < 0) {
                abatis_policy_free(policy);
                return r;
        }
        *out = policy;
        return 0;
}
