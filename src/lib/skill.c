/* skill.c: a WebAssembly module becomes a command: it is read, its limits are lowered, and an engine is chosen and let in. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abatis.h"
#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/sha256.h"
#include "base/system.h"
#include "lib/skill_engine.h"
#include "lib/skill_native.h"
#include "policy/policy.h"
#include "skill/file.h"
#include "skill/installed.h"
#include "skill/places.h"
#include "skill/store.h"

enum {
        PAGES_MAX = 65536, /* of a 32-bit memory */
        /* Of a table: its elements are no part of the memory that is counted in pages, and nobody has so many functions. */
        ELEMENTS_MAX = 1000 * 1000,
};

struct abatis_skill {
        char *name;                    /* owned: of the file, without its directories */
        struct package *package;       /* owned; NULL: it is a module by itself */
        char *own_bytes;               /* owned: of that */
        char *policy_text;             /* owned: the package's policy, as a file; or NULL */
        struct strings imports;        /* that are allowed besides WASI's */
        const char **import_list;      /* owned: the same, ended by NULL */
        struct module_options reading; /* with that list */
        struct module *module;
        const abatis_tier *tier;
        const struct engine *engine; /* NULL: the best */
        bool compiles;
        struct strings argv;
};

/* ---- the module ----------------------------------------------------------------------------------------- */

/* Links on the way to it are the caller's affair. */
static int read_file(const char *path, char **out, size_t *length, abatis_error *err)
{
        OWN_FD int fd = reach_open(path, O_RDONLY | O_NONBLOCK);
        struct stat status;

        if (fd < 0 && errno == ENOENT)
                return error_set(err, ABATIS_E_NOT_FOUND, "there is no module '%s'", path);
        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "cannot read the module '%s'", path);
        if (!S_ISREG(status.st_mode))
                return error_set(err, ABATIS_E_INVALID, "the module '%s' is not a regular file", path);
        return file_take_open(fd, MODULE_SIZE_MAX, path, out, length, err);
}

/* What is called so, or is the path of a file, is a module; everything else an installed skill or a package. A mere name is no path: somebody
 * could have left a file of that name here. */
static bool is_module(const char *name)
{
        struct stat status;

        return manifest_is_of_file(name) ||
               (strchr(name, '/') && !reach_stat(name, &status) && !S_ISDIR(status.st_mode));
}

void abatis_skill_free(abatis_skill *skill)
{
        if (!skill)
                return;
        module_free(skill->module);
        package_free(skill->package);
        free(skill->policy_text);
        free(skill->import_list);
        strings_done(&skill->imports);
        strings_done(&skill->argv);
        free(skill->own_bytes);
        free(skill->name);
        free(skill);
}

static int add_imports(abatis_skill *skill, const char *const *imports, abatis_error *err)
{
        int r = 0;

        for (; imports && *imports && !r; imports++)
                r = strings_add(&skill->imports, *imports, err);
        return r;
}

/* All of them, ended by NULL. */
static int list_imports(abatis_skill *skill, abatis_error *err)
{
        skill->import_list = calloc(skill->imports.count + 1, sizeof(*skill->import_list));
        if (!skill->import_list)
                return error_memory(err);
        for (size_t i = 0; i < skill->imports.count; i++)
                skill->import_list[i] = skill->imports.items[i];
        skill->reading.imports = skill->import_list;
        return 0;
}

/* Of what was installed nobody gets more than it was installed as, and of what was not, nothing more at all. */
static int choose_tier(abatis_skill *skill, const char *asked, abatis_error *err)
{
        const abatis_tier *granted = skill->package ? skill->package->tier : NULL;

        skill->tier = asked || !granted ? abatis_tier_find(asked) : granted;
        if (!granted || skill->tier == granted || !strcmp(skill->tier->name, "untrusted"))
                return 0;
        return error_set(err, ABATIS_E_INVALID,
                         "skill '%s' is %s, and %s; 'abatis skill install' grants the tier %s",
                         skill->package->manifest->name, granted->name,
                         skill->package->installed_at ? "was installed so" : "not installed",
                         skill->tier->name);
}

static int use_package(abatis_skill *skill, const abatis_skill_options *options, const char **engine,
                       abatis_error *err)
{
        const struct manifest *manifest;
        int r = installed_find(options->file, &skill->package, err);

        if (r < 0)
                return r;
        r = package_check(skill->package, NULL, err);
        if (r < 0)
                return r;
        manifest = skill->package->manifest;
        if (!*engine)
                *engine = manifest->engine;
        return add_imports(skill, (const char *const *)manifest->imports, err);
}

static int read_module(abatis_skill *skill, const abatis_skill_options *options, const char **engine,
                       abatis_error *err)
{
        static const struct {
                unsigned asked, given;
        } features[] = { { ABATIS_SKILL_64_BIT, MODULE_ALLOWS_64_BIT },
                         { ABATIS_SKILL_SHARED, MODULE_ALLOWS_SHARED },
                         { ABATIS_SKILL_MEMORIES, MODULE_ALLOWS_MEMORIES } };
        const char *file = options->file, *slash;
        size_t length = 0;
        abatis_error below;
        int r = add_imports(skill, options->imports, err);

        if (!r && is_module(file))
                r = read_file(file, &skill->own_bytes, &length, err);
        else if (!r)
                r = use_package(skill, options, engine, err);
        if (!r)
                r = list_imports(skill, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
                if (options->allows & features[i].asked)
                        skill->reading.allows |= features[i].given;
        if (skill->package)
                file = skill->package->manifest->module;
        slash = strrchr(file, '/');
        skill->name = strdup(slash ? slash + 1 : file);
        if (!skill->name)
                return error_memory(err);
        r = skill->package ? module_read(skill->package->module, skill->package->module_length,
                                         &skill->reading, &skill->module, &below)
                           : module_read(skill->own_bytes, length, &skill->reading, &skill->module, &below);
        if (!r)
                r = module_check_command(skill->module, &below);
        return r ? error_within(err, &below, "%s", file) : 0;
}

int abatis_skill_open(const abatis_skill_options *options, abatis_skill **out, abatis_error *err)
{
        const char *engine = options ? options->engine : NULL;
        abatis_skill *skill;
        int r;

        if (!options || options->size < sizeof(*options))
                return error_set(err, ABATIS_E_INVALID, "abatis_skill_options.size is not set");
        if (!options->file)
                return error_set(err, ABATIS_E_INVALID, "no module is named");
        skill = calloc(1, sizeof(*skill));
        if (!skill)
                return error_memory(err);
        skill->compiles = options->compiles;
        r = read_module(skill, options, &engine, err);
        if (!r)
                r = choose_tier(skill, options->tier, err);
        if (!r && engine && *engine && strcmp(engine, "auto") != 0)
                r = engine_find(engine, &skill->engine, err);
        if (r < 0)
                abatis_skill_free(skill);
        else
                *out = skill;
        return r;
}

/* ---- the policy ----------------------------------------------------------------------------------------- */

/* As a file that extends the preset. */
static int write_policy(abatis_skill *skill, abatis_error *err)
{
        const char *asked =
                skill->package->manifest->policy_json + strspn(skill->package->manifest->policy_json, " ");
        OWN_TEXT struct text text = { 0 };

        text_add(&text, "{\"extends\":\"skill\"");
        text_add(&text, strcmp(asked, "{}") ? "," : "");
        text_add(&text, asked + 1); /* without its brace */
        free(skill->policy_text);
        skill->policy_text = NULL;
        return text_take(&text, &skill->policy_text, err);
}

static int apply_package(abatis_skill *skill, abatis_policy_options *options, abatis_error *err)
{
        const struct package *package = skill->package;
        int r;

        if (!package->installed_at)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "skill '%s' asks for a policy of its own: 'abatis skill show' tells which; install it to grant that",
                        package->manifest->name);
        if (options->file || options->text)
                return error_set(err, ABATIS_E_INVALID, "skill '%s' has a policy of its own; leave out '%s'",
                                 package->manifest->name, options->file);
        r = write_policy(skill, err);
        if (r < 0)
                return r;
        options->file = "skill.json";
        options->text = skill->policy_text;
        return 0;
}

int abatis_skill_apply(abatis_skill *skill, abatis_policy_options *options, abatis_error *err)
{
        const abatis_tier *tier = skill->tier;
        bool has_policy = skill->package && skill->package->manifest->policy_json;

        if (tier->policy && (options->preset || options->file))
                return error_set(err, ABATIS_E_INVALID, "the tier %s has a policy of its own; leave out '%s'",
                                 tier->name, options->preset ? options->preset : options->file);
        options->layers = (options->layers & ~(unsigned)ABATIS_LAYERS_ALL) | tier->layers;
        if (!options->preset && !options->file) {
                if (!has_policy)
                        options->preset = "skill";
                options->layers &= ~(unsigned)ABATIS_DENY_SECRETS; /* as that preset does */
        }
        return has_policy ? apply_package(skill, options, err) : 0;
}

/* ---- the engine ----------------------------------------------------------------------------------------- */

/* The module as the engine gets it. */
struct lowered {
        uint8_t *bytes; /* owned */
        size_t length;
        char hash[SHA256_TEXT_SIZE];
        char *directory, *file; /* owned: in the store */
};

static void lowered_done(struct lowered *lowered)
{
        free(lowered->bytes);
        free(lowered->directory);
        free(lowered->file);
}

static int lower(const abatis_skill *skill, const abatis_policy *policy, const struct engine *engine,
                 struct lowered *out, abatis_error *err)
{
        uint64_t limit = policy->limits[LIMIT_MEMORY],
                 pages = engine_share(engine, limit) >> MODULE_PAGE_BITS;
        const struct module_bounds bounds = { !limit || pages > PAGES_MAX ? PAGES_MAX : pages, ELEMENTS_MAX };
        abatis_error below;

        if (module_clamp(skill->module, &skill->reading, &bounds, &out->bytes, &out->length, &below) < 0)
                return error_within(err, &below, "%s", skill->name);
        sha256_text(out->bytes, out->length, out->hash);
        return store_put(skill->name, out->bytes, out->length, out->hash, &out->directory, &out->file, err);
}

/* ---- the command ------------------------------------------------------------------------------------------- */

/* Who runs it, and with what; all of it is owned. */
struct choice {
        const struct engine *engine;
        char *program;
        char *cache; /* what was compiled before, or NULL */
        struct lowered lowered;
};

static void choice_done(struct choice *choice)
{
        free(choice->program);
        free(choice->cache);
        lowered_done(&choice->lowered);
}
#define OWN_CHOICE __attribute__((cleanup(choice_done)))

/* As a program of its own, if it has become one; or does so now, if that is asked for. No program: it has not. */
static int choose_native(const abatis_skill *skill, const abatis_policy *policy, struct choice *out,
                         abatis_error *err)
{
        OWN_MODULE struct module *module = NULL;
        int r;

        out->engine = engine_native();
        r = lower(skill, policy, out->engine, &out->lowered, err);
        if (!r)
                r = module_read(out->lowered.bytes, out->lowered.length, &skill->reading, &module, err);
        return r ? r
                 : skill_native_find(module, out->lowered.hash, skill->engine && skill->compiles, &out->cache,
                                     &out->program, err);
}

static int find_engine(const abatis_skill *skill, const abatis_policy *policy, const struct engine **engine,
                       char **program, abatis_error *err)
{
        abatis_error below;

        if (!skill->engine)
                return engine_choose(policy->forbids_new_code, engine, program, err);
        if (policy->forbids_new_code && skill->engine->code != ENGINE_NO_CODE)
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "the engine %s makes code in memory, and process.executable_memory is false; take wazero-interpreter",
                        skill->engine->name);
        *engine = skill->engine;
        if (!engine_locate(skill->engine, program, &below))
                return 0;
        return error_within(err, &below, "the engine %s", skill->engine->name);
}

static int compile_to(const char *place, const struct engine *engine, const char *program,
                      const struct lowered *lowered, abatis_error *err)
{
        OWN_FREE char *stage = NULL;
        struct engine_order order = { .program = program, .module = lowered->file };
        int r = store_stage(&stage, err);

        if (r < 0)
                return r;
        order.cache = stage;
        r = skill_engine_compile(engine, &order, lowered->directory, err);
        if (!r)
                r = store_keep(stage, place, err);
        if (r < 0)
                store_drop(stage);
        return r;
}

/* *out, owned by the caller, is where what the engine has compiled of the module is; NULL if there is nothing. */
static int find_compiled(const abatis_skill *skill, const struct engine *engine, const char *program,
                         const struct lowered *lowered, char **out, abatis_error *err)
{
        OWN_FREE char *place = NULL;
        char hash[SHA256_TEXT_SIZE];
        bool is_there = false;
        int r;

        if (!engine->add_compile_arguments)
                return 0;
        r = store_hash_program(program, hash, err);
        if (!r)
                r = store_find_compiled(hash, lowered->hash, &place, &is_there, err);
        if (!r && !is_there && skill->compiles)
                r = compile_to(place, engine, program, lowered, err);
        if (!r && (is_there || skill->compiles))
                *out = take_pointer(place);
        return r;
}

static int choose(const abatis_skill *skill, const abatis_policy *policy, struct choice *out,
                  abatis_error *err)
{
        OWN_CHOICE struct choice native = { 0 };
        int r;

        if (!skill->engine || skill->engine->is_made_first) {
                r = choose_native(skill, policy, &native, skill->engine ? err : NULL);
                if (!r && native.program) {
                        *out = native;
                        native = (struct choice){ 0 };
                        return 0;
                }
                if (skill->engine)
                        return r ? r
                                 : error_set(err, ABATIS_E_NOT_FOUND,
                                             "'%s' is no program yet; 'abatis skill compile' makes one of it",
                                             skill->name);
        }
        r = find_engine(skill, policy, &out->engine, &out->program, err);
        if (!r)
                r = lower(skill, policy, out->engine, &out->lowered, err);
        return r ? r : find_compiled(skill, out->engine, out->program, &out->lowered, &out->cache, err);
}

static int check_policy(const abatis_skill *skill, const abatis_policy *policy, abatis_error *err)
{
        const char *name = skill->tier->name;

        if (!skill->tier->may_connect && policy->network != NETWORK_DENY)
                return error_set(err, ABATIS_E_INVALID, "network.mode %s: the tier %s has no network",
                                 network_mode_name(policy->network), name);
        if (!skill->tier->policy) /* what the caller says counts */
                return 0;
        if (!policy->has_few_calls)
                return error_set(err, ABATIS_E_INVALID, "process.system_calls usual: the tier %s has few",
                                 name);
        if (!policy->forbids_forks)
                return error_set(err, ABATIS_E_INVALID, "process.fork true: the tier %s has one process",
                                 name);
        if (policy->reads_all || policy->executes_all || policy->commands.count)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "%s: the tier %s has directories that are listed, and no program but the engine",
                        policy->commands.count ? "process.commands"
                        : policy->reads_all    ? "filesystem.read all"
                                               : "filesystem.execute all",
                        name);
        return 0;
}

/* Ends the list, for whoever takes it as a command. */
static int end_words(struct strings *words, abatis_error *err)
{
        char **items = realloc(words->items, (words->count + 1) * sizeof(*items));

        if (!items)
                return error_memory(err);
        words->items = items;
        items[words->count] = NULL;
        return 0;
}

static int write_command(abatis_skill *skill, abatis_policy *policy, const struct choice *choice,
                         const struct engine_order *order, abatis_error *err)
{
        int r = choice->engine->add_arguments(order, &skill->argv, err);

        if (!r)
                r = end_words(&skill->argv, err);
        if (!r && !choice->engine->is_made_first)
                r = abatis_policy_set(policy, "filesystem.read", choice->lowered.directory, err);
        if (!r && order->cache)
                r = abatis_policy_set(policy, "filesystem.read", order->cache, err);
        return r ? r : skill_engine_let_in(policy, choice->engine, order->program, err);
}

int abatis_skill_command(abatis_skill *skill, abatis_policy *policy, const char *const *arguments,
                         const char *const *envp, const char *const **argv, abatis_error *err)
{
        static const char *const nothing[] = { NULL };
        OWN_FREE const char **environment = NULL;
        OWN_CHOICE struct choice choice = { 0 };
        OWN_PLACES struct places places = { 0 };
        int r = check_policy(skill, policy, err);

        if (skill->argv.count)
                return error_set(err, ABATIS_E_INVALID, "the skill has a command already");
        if (!r)
                r = places_find(policy, &places, err);
        if (!r)
                r = environment_sort(policy, envp ? envp : (const char *const *)system_environment(),
                                     &environment, NULL, err);
        if (!r)
                r = engine_check_environment(environment, err);
        if (!r)
                r = choose(skill, policy, &choice, err);
        if (!r && choice.engine) {
                const struct engine_order order = { .program = choice.program,
                                                    .module = choice.lowered.file,
                                                    .cache = choice.cache,
                                                    .places = places.items,
                                                    .place_count = places.count,
                                                    .environment = environment,
                                                    .arguments = arguments ? arguments : nothing };

                r = write_command(skill, policy, &choice, &order, err);
        }
        if (!r)
                *argv = (const char *const *)skill->argv.items;
        return r;
}

int abatis_skill_run(abatis_skill *skill, abatis_policy *policy, const abatis_job_options *options,
                     abatis_result **out, abatis_error *err)
{
        const abatis_sandbox_options sandbox_options = { .size = sizeof(sandbox_options), .spares = -1 };
        abatis_job_options job = *options;
        abatis_sandbox *sandbox;
        int r = abatis_skill_command(skill, policy, options->argv, options->envp, &job.argv, err);

        if (r < 0)
                return r;
        job.cwd = "/";
        r = abatis_sandbox_open(policy, &sandbox_options, &sandbox, err);
        if (r < 0) {
                abatis_audit_refused(policy, &job, err, NULL);
                return r;
        }
        r = abatis_run(sandbox, &job, out, err);
        abatis_sandbox_free(sandbox);
        return r;
}
