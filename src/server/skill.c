/* skill.c: requests to run a WebAssembly module. */
#define _GNU_SOURCE
#include "server/skill.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "server/reply.h"
#include "server/setting.h"

static int open_skill(const struct request *request, bool waits, abatis_skill **out, abatis_error *err)
{
        const char *file = request_string(request, request->method == METHOD_EXEC ? "wasm" : "skill");
        OWN_FREE const char **imports = NULL;
        abatis_skill_options options = { .size = sizeof(options),
                                         .file = file,
                                         .tier = request_string(request, "tier"),
                                         .engine = request_string(request, "engine"),
                                         .compiles = waits };
        int r = request_list(request, "imports", &imports, err);

        if (r < 0)
                return r;
        /* Nobody should have to know in which directory we are. */
        if (*file != '/' && (strchr(file, '/') || strstr(file, ".wasm")))
                return error_set(err, PROTOCOL_REQUEST,
                                 "'skill' must be an installed one's name, or an absolute path");
        options.imports = imports;
        return abatis_skill_open(&options, out, err);
}

int skill_make_order(const struct request *request, const char *program, bool waits, struct order *out,
                     abatis_error *err)
{
        OWN_FREE const char **arguments = NULL;
        int r = open_skill(request, waits, &out->skill, err);

        if (!r)
                r = request_list(request, "args", &arguments, err);
        if (!r)
                r = request_input(request, "input", &out->decoded, &out->input, &out->input_length, err);
        if (!r)
                r = setting_make_policy(request, program, out->skill, &out->policy, err);
        return r ? r : order_take_skill(out, arguments, err);
}
