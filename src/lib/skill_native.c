/* skill_native.c: modules that have become programs: found, or made in a sandbox that reads the system and writes one directory. */
#define _GNU_SOURCE
#include "lib/skill_native.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/sha256.h"
#include "skill/engine.h"
#include "skill/native_build.h"
#include "skill/store.h"

/* What makes programs of modules; owned. */
struct tools {
        char *wasm2c, *compiler;
};

static void tools_done(struct tools *tools)
{
        free(tools->wasm2c);
        free(tools->compiler);
}
#define OWN_TOOLS __attribute__((cleanup(tools_done)))

static int find_tools(struct tools *out, abatis_error *err)
{
        int r = engine_locate_program("wasm2c", &out->wasm2c, err);

        return r ? r : engine_locate_program("cc", &out->compiler, err);
}

/* A hash of all that a program depends on besides the module. */
static int hash_tools(const struct tools *tools, char out[SHA256_TEXT_SIZE], abatis_error *err)
{
        char part[SHA256_TEXT_SIZE];
        struct sha256 hash;
        int r = store_hash_program(tools->wasm2c, part, err);

        sha256_init(&hash);
        if (!r) {
                sha256_add(&hash, part, sizeof(part));
                r = store_hash_program(tools->compiler, part, err);
        }
        if (r < 0)
                return r;
        sha256_add(&hash, part, sizeof(part));
        for (const struct native_source *source = native_sources; source->name; source++)
                sha256_add(&hash, source->text, source->length);
        sha256_finish(&hash, out);
        return 0;
}

/* ---- what is compiled ----------------------------------------------------------------------------------- */

static int put(const char *directory, const char *name, const void *bytes, size_t length, abatis_error *err)
{
        OWN_FREE char *path = text_join(directory, "/", name);
        FILE *file = path ? fopen(path, "we") : NULL;
        bool is_good = file && fwrite(bytes, 1, length, file) == length;

        if (!path)
                return error_memory(err);
        if (file && fclose(file))
                is_good = false;
        return is_good ? 0 : error_os(err, errno, "cannot write '%s'", path);
}

static int make_directory(const char *directory, const char *name, abatis_error *err)
{
        OWN_FREE char *path = text_join(directory, "/", name);

        if (!path)
                return error_memory(err);
        return mkdir(path, 0700) < 0 ? error_os(err, errno, "cannot make '%s'", path) : 0;
}

static int put_sources(const char *directory, abatis_error *err)
{
        OWN_FREE char *place = text_join(directory, "/", NATIVE_PLACE);
        int r = place ? make_directory(directory, NATIVE_TOP, err) : error_memory(err);

        if (!r)
                r = make_directory(directory, NATIVE_PLACE, err);
        if (!r)
                r = make_directory(directory, "tmp", err);
        for (const struct native_source *source = native_sources; source->name && !r; source++) {
                r = put(place, source->name, source->text, source->length, err);
                if (!r && !strcmp(source->name, NATIVE_RUNTIME))
                        r = put(directory, NATIVE_RUNTIME_PLACE, source->text, source->length, err);
        }
        return r;
}

/* The path is in the directory. */
static int put_module(const struct module *module, const char *directory, const char *path, abatis_error *err)
{
        OWN_FREE uint8_t *bytes = NULL;
        size_t length;
        int r = native_strip(module, &bytes, &length, err);

        return r ? r : put(directory, path + strlen(directory) + 1, bytes, length, err);
}

/* ---- compiling ------------------------------------------------------------------------------------------ */

static int open_sandbox(const char *directory, abatis_sandbox **out, abatis_error *err)
{
        static const char *const settings[][2] = { { "limits.timeout", "600s" },
                                                   { "limits.cpu", "600s" },
                                                   { "limits.memory", "4GiB" } };
        const abatis_policy_options options = { .size = sizeof(options),
                                                .preset = "strict",
                                                .workspace = directory,
                                                .layers = ABATIS_LAYER_SYSTEM };
        const abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options), .spares = -1 };
        abatis_policy *policy;
        int r = abatis_policy_new(&options, &policy, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < sizeof(settings) / sizeof(*settings) && !r; i++)
                r = abatis_policy_set(policy, settings[i][0], settings[i][1], err);
        if (!r)
                r = abatis_sandbox_open(policy, &sandbox_options, out, err);
        abatis_policy_free(policy);
        return r;
}

/* Of a command that did not do it, the first mistake that it names. */
static int blame(const abatis_result *result, const char *program, const char *hint, abatis_error *err)
{
        size_t length;
        const char *said = abatis_result_stderr(result, &length), *slash = strrchr(program, '/'),
                   *mistake = strstr(said, "error: ");

        if (abatis_result_limit(result))
                return error_set(err, ABATIS_E_INVALID, "%s was ended by %s", slash + 1,
                                 abatis_result_limit(result));
        if (!length)
                return error_set(err, ABATIS_E_INVALID, "%s does not take the module%s%s", slash + 1,
                                 hint ? ": " : "", hint ? hint : "");
        return error_set(err, ABATIS_E_INVALID, "%s does not take the module: %.*s", slash + 1,
                         (int)strcspn(mistake ? mistake : said, "\n"), mistake ? mistake : said);
}

static int run(abatis_sandbox *sandbox, const struct strings *command, const char *directory,
               const char *hint, abatis_error *err)
{
        OWN_FREE char *tmp = text_join("TMPDIR=", directory, "/tmp");
        const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", tmp, NULL };
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_result *result = NULL;
        int r;

        if (!tmp)
                return error_memory(err);
        options.argv = (const char *const *)command->items;
        options.envp = environment;
        options.cwd = directory;
        options.capture = ABATIS_CAPTURE;
        options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
        options.context = "skill: compile";
        r = abatis_run(sandbox, &options, &result, err);
        if (!r && abatis_result_exit_code(result))
                r = blame(result, command->items[0], hint, err);
        abatis_result_free(result);
        return r;
}

static int compile_in(const struct module *module, const struct tools *tools, const char *directory,
                      const char *program, abatis_error *err)
{
        OWN_NATIVE_BUILD struct native_build build = { 0 };
        const struct native_tools both = { tools->wasm2c, tools->compiler };
        abatis_sandbox *sandbox = NULL;
        int r = native_build_plan(module, &both, directory, &build, err);

        if (!r)
                r = put_sources(directory, err);
        if (!r)
                r = put_module(module, directory, build.module, err);
        if (!r)
                r = open_sandbox(directory, &sandbox, err);
        if (!r)
                r = run(sandbox, &build.translate, directory, NATIVE_TRANSLATION_HINT, err);
        if (!r)
                r = run(sandbox, &build.compile, directory, NULL, err);
        abatis_sandbox_free(sandbox);
        if (!r && rename(build.program, program) < 0)
                r = error_os(err, errno, "cannot keep the program '%s'", build.program);
        return r;
}

/* What it was compiled from does not stay. */
static int compile_to(const char *place, const struct module *module, const struct tools *tools,
                      abatis_error *err)
{
        OWN_FREE char *work = NULL, *stage = NULL, *program = NULL;
        int r = store_stage(&work, err);

        if (!r)
                r = store_stage(&stage, err);
        if (!r) {
                program = text_join(stage, "/", "program");
                r = program ? compile_in(module, tools, work, program, err) : error_memory(err);
        }
        if (!r)
                r = store_keep(stage, place, err);
        if (r < 0 && stage)
                store_drop(stage);
        if (work)
                store_drop(work);
        return r;
}

/* ---- finding -------------------------------------------------------------------------------------------- */

int skill_native_find(const struct module *module, const char *hash, bool is_made, char **out, char **program,
                      abatis_error *err)
{
        OWN_TOOLS struct tools tools = { 0 };
        OWN_FREE char *place = NULL;
        char by[SHA256_TEXT_SIZE];
        bool is_there = false;
        int r = find_tools(&tools, err);

        if (!r)
                r = hash_tools(&tools, by, err);
        if (!r)
                r = store_find_compiled(by, hash, &place, &is_there, err);
        if (!r && !is_there && is_made) {
                r = native_check(module, err);
                if (!r)
                        r = compile_to(place, module, &tools, err);
                is_there = !r;
        }
        if (r < 0 || !is_there)
                return r;
        *program = text_join(place, "/", "program");
        if (!*program)
                return error_memory(err);
        *out = take_pointer(place);
        return 0;
}
