/* skill_engine.c: engines for WebAssembly as commands in sandboxes. */
#define _GNU_SOURCE
#include "lib/skill_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/executable.h"
#include "base/json_text.h"
#include "base/own.h"
#include "base/reach.h"

/* ---- the policy ----------------------------------------------------------------------------------------- */

/* What a program of the system needs to start: its loader, by the name that it has in the program, and the libraries beside it. */
static int let_in_loader(abatis_policy *policy, const char *program, abatis_error *err)
{
        OWN_FD int fd = reach_open(program, O_RDONLY | O_NONBLOCK);
        OWN_EXECUTABLE struct executable executable = { 0 };
        OWN_FREE char *real = NULL;
        char *slash;
        int r;

        if (fd < 0)
                return error_os(err, errno, "cannot read the engine '%s'", program);
        r = executable_read(fd, program, &executable, err);
        if (r < 0 || !executable.interpreter)
                return r;
        if (executable.kind != EXECUTABLE_ELF)
                return error_set(err, ABATIS_E_INVALID,
                                 "the engine '%s' is a script; put the program that it starts into PATH",
                                 program);
        real = path_real(executable.interpreter);
        if (!real)
                return error_os(err, errno, "the loader '%s' of the engine '%s'", executable.interpreter,
                                program);
        r = abatis_policy_set(policy, "filesystem.execute", executable.interpreter, err);
        slash = strrchr(real, '/');
        *slash = '\0';
        return r ? r : abatis_policy_set(policy, "filesystem.execute", real, err);
}

int skill_engine_let_in(abatis_policy *policy, const struct engine *engine, const char *program,
                        abatis_error *err)
{
        int r = let_in_loader(policy, program, err);

        for (const char *const *path = engine->reads; path && *path && !r; path++)
                if (!reach_access(*path, F_OK))
                        r = abatis_policy_set(policy, "filesystem.execute", *path, err);
        if (!r)
                r = abatis_policy_set(policy, "filesystem.execute", program, err);
        if (!r)
                r = abatis_policy_set(policy, "process.commands", program, err);
        /* No engine needs them, and a module that an engine lets out would find them. */
        if (!r)
                r = abatis_policy_set(policy, "filesystem.deny", "/proc", err);
        if (!r)
                r = abatis_policy_set(policy, "filesystem.deny", "/dev", err);
        /* What a module is told is no path of the engine's. */
        if (!r)
                r = abatis_policy_set(policy, "process.check_arguments", "false", err);
        if (!r && engine->code == ENGINE_NO_CODE)
                r = abatis_policy_set(policy, "process.executable_memory", "false", err);
        return r;
}

/* ---- running one ---------------------------------------------------------------------------------------- */

/* What it shall do besides running modules. */
struct errand {
        const struct engine *engine;
        const char *program;
        const char *reads, *writes; /* a directory each, or NULL */
        const char *const (*settings)[2];
        size_t setting_count;
        const char *context; /* for the audit log */
};

static int make_policy(const struct errand *errand, abatis_policy **out, abatis_error *err)
{
        const abatis_policy_options options = {
                .size = sizeof(options), .preset = "skill", .workspace = "/", .layers = ABATIS_LAYER_SYSTEM
        };
        abatis_policy *policy;
        int r = abatis_policy_new(&options, &policy, err);

        if (r < 0)
                return r;
        for (size_t i = 0; i < errand->setting_count && !r; i++)
                r = abatis_policy_set(policy, errand->settings[i][0], errand->settings[i][1], err);
        if (!r && errand->reads)
                r = abatis_policy_set(policy, "filesystem.read", errand->reads, err);
        if (!r && errand->writes)
                r = abatis_policy_set(policy, "filesystem.write", errand->writes, err);
        if (!r)
                r = skill_engine_let_in(policy, errand->engine, errand->program, err);
        if (r < 0)
                abatis_policy_free(policy);
        else
                *out = policy;
        return r;
}

static int run(const struct errand *errand, const struct strings *words, abatis_result **out,
               abatis_error *err)
{
        static const char *const nothing[] = { NULL };
        const abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options), .spares = -1 };
        OWN_FREE const char **argv = calloc(words->count + 1, sizeof(*argv));
        abatis_job_options options = ABATIS_JOB_OPTIONS_INIT;
        abatis_sandbox *sandbox = NULL;
        abatis_policy *policy = NULL;
        int r = argv ? make_policy(errand, &policy, err) : error_memory(err);

        if (!r)
                r = abatis_sandbox_open(policy, &sandbox_options, &sandbox, err);
        if (!r && argv) {
                for (size_t i = 0; i < words->count; i++)
                        argv[i] = words->items[i];
                options.argv = argv;
                options.envp = nothing;
                options.cwd = "/";
                options.capture = ABATIS_CAPTURE;
                options.stdin_fd = options.stdout_fd = options.stderr_fd = -1;
                options.context = errand->context;
                r = abatis_run(sandbox, &options, out, err);
        }
        abatis_sandbox_free(sandbox);
        abatis_policy_free(policy);
        return r;
}

/* ---- compiling ------------------------------------------------------------------------------------------ */

/* A compiler takes longer, and more, than what it compiles may. */
static const char *const compile_settings[][2] = { { "limits.timeout", "300s" },
                                                   { "limits.cpu", "300s" },
                                                   { "limits.memory", "2GiB" } };

/* What it says first, or how it ended. */
static int blame(const struct engine *engine, const abatis_result *result, abatis_error *err)
{
        size_t length;
        const char *said = abatis_result_stderr(result, &length);

        if (abatis_result_limit(result))
                return error_set(err, ABATIS_E_INVALID, "%s was ended by %s while it compiled the module",
                                 engine->name, abatis_result_limit(result));
        return error_set(err, ABATIS_E_INVALID, "%s does not compile the module: %.*s", engine->name,
                         (int)strcspn(said, "\n"), said);
}

int skill_engine_compile(const struct engine *engine, const struct engine_order *order, const char *directory,
                         abatis_error *err)
{
        const struct errand errand = { .engine = engine,
                                       .program = order->program,
                                       .reads = directory,
                                       .writes = order->cache,
                                       .settings = compile_settings,
                                       .setting_count = sizeof(compile_settings) / sizeof(*compile_settings),
                                       .context = "skill: compile" };
        struct strings argv = { 0 };
        abatis_result *result = NULL;
        int r = engine->add_compile_arguments(order, &argv, err);

        if (!r)
                r = run(&errand, &argv, &result, err);
        if (!r && abatis_result_exit_code(result))
                r = blame(engine, result, err);
        abatis_result_free(result);
        strings_done(&argv);
        return r;
}

/* ---- who is here ---------------------------------------------------------------------------------------- */

/* The first line of what it says of itself, owned by the caller. */
static int ask_version(const struct engine *engine, const char *program, char **out, abatis_error *err)
{
        static const char *const settings[][2] = { { "audit.log", "off" } };
        const struct errand errand = {
                .engine = engine, .program = program, .settings = settings, .setting_count = 1
        };
        struct strings argv = { 0 };
        abatis_result *result = NULL;
        int r = strings_add(&argv, program, err);

        for (const char *const *word = engine->version; *word && !r; word++)
                r = strings_add(&argv, *word, err);
        if (!r)
                r = run(&errand, &argv, &result, err);
        if (!r) {
                size_t length;
                const char *said = abatis_result_stdout(result, &length);

                *out = strndup(said, strcspn(said, "\n"));
                r = *out ? 0 : error_memory(err);
        }
        abatis_result_free(result);
        strings_done(&argv);
        return r;
}

static void add_pair(struct text *text, const char *name, const char *value)
{
        text_add(text, name);
        if (value)
                json_text_string(text, value, strlen(value));
        else
                text_add(text, "null");
}

static void describe(struct text *text, abatis_format format, const struct engine *engine)
{
        OWN_FREE char *program = NULL, *version = NULL;
        abatis_error why = { 0 };
        bool is_here = !engine_locate(engine, &program, &why);

        if (is_here && ask_version(engine, program, &version, &why) < 0)
                is_here = false;
        if (format == ABATIS_TEXT && is_here)
                text_addf(text, "  yes %-20s %s, %s; executable memory: %s\n", engine->name, program, version,
                          engine_code_name(engine->code));
        else if (format == ABATIS_TEXT)
                text_addf(text, "  no  %-20s %s\n", engine->name, why.message);
        if (format == ABATIS_TEXT)
                return;
        add_pair(text, "{\"engine\":", engine->name);
        text_addf(text, ",\"available\":%s", is_here ? "true" : "false");
        add_pair(text, ",\"program\":", program);
        add_pair(text, ",\"version\":", version);
        add_pair(text, ",\"executable_memory\":", engine_code_name(engine->code));
        add_pair(text, ",\"reason\":", is_here ? NULL : why.message);
        text_add(text, "}");
}

int abatis_skill_engines(abatis_format format, char **out, abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };

        if (format == ABATIS_JSON)
                text_add(&text, "[");
        for (const struct engine *engine = engines; engine->name; engine++) {
                if (format == ABATIS_JSON && engine != engines)
                        text_add(&text, ",");
                describe(&text, format, engine);
        }
        if (format == ABATIS_JSON)
                text_add(&text, "]\n");
        return text_take(&text, out, err);
}
