/* commands.c: which files can be started where a policy lists commands: the listed ones and what the kernel needs for them.
 *
 * A name means what the command's PATH leads to, a link what it points to. What an earlier command could have planted
 * there is not followed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/executable.h"
#include "base/own.h"
#include "base/program.h"
#include "base/reach.h"
#include "base/system.h"
#include "policy/policy.h"

enum { COPY_MAX = 64 * 1024 * 1024 };

static const char origin[] = "process.commands";

/* Where shared libraries lie. */
static const char *const library_directories[] = { "/lib",       "/lib32",      "/lib64",
                                                   "/libx32",    "/usr/lib",    "/usr/lib32",
                                                   "/usr/lib64", "/usr/libx32", "/usr/local/lib",
                                                   "/nix/store", "/gnu/store" };

/* Root owns what lies here, and nobody puts another name of it elsewhere, unless it can be written. */
static const char *const system_directories[] = { "/usr",    "/bin", "/sbin", "/lib", "/lib32", "/lib64",
                                                  "/libx32", "/etc", "/opt",  "/nix", "/gnu" };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_writable(const abatis_policy *policy, const char *path)
{
        bool is_allowed;

        policy_decide_by_paths(policy, ABATIS_WRITE, path, &is_allowed);
        return is_allowed;
}

static const char *last_component(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

static struct startable *find(const abatis_policy *policy, const char *real)
{
        for (size_t i = 0; i < policy->startable_count; i++)
                if (!strcmp(policy->startables[i].path, real))
                        return &policy->startables[i];
        return NULL;
}

const struct startable *commands_find(const abatis_policy *policy, const char *real)
{
        const struct startable *found = find(policy, real);

        return found && found->kind != STARTABLE_LOADER ? found : NULL;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

/* What an earlier part of PATH has and the policy does not open, in ~/bin say, is passed over. */
static bool is_startable(const void *user, const char *path)
{
        OWN_FREE char *real = path_real(path);

        return !real || policy_executes(user, real);
}

int commands_search(const abatis_policy *policy, const char *name, const char *const *envp,
                    const char *directory, char **out, abatis_error *err)
{
        const struct program_search search = { envp, directory, is_startable, policy };

        return program_find(name, &search, out, err);
}

int commands_locate(const abatis_policy *policy, const char *name, char **out, abatis_error *err)
{
        OWN_FREE char *found = NULL, *cwd = NULL;
        OWN_FREE const char **envp = NULL;
        int r;

        if (*name == '/') {
                *out = strdup(name);
                return *out ? 0 : error_memory(err);
        }
        if (strchr(name, '/'))
                return error_set(err, ABATIS_E_INVALID, "'%s' is relative; give a name or an absolute path",
                                 name);
        /* By the PATH that the command will have. */
        r = environment_sort(policy, (const char *const *)system_environment(), &envp, NULL, err);
        if (!r)
                r = commands_search(policy, name, envp, NULL, &found, err);
        if (r < 0 || !found)
                return r;
        if (*found == '/') {
                *out = take_pointer(found);
                return 0;
        }
        cwd = reach_working_directory();
        if (!cwd)
                return error_os(err, errno, "cannot find out the working directory");
        *out = path_join(cwd, found);
        return *out ? 0 : error_memory(err);
}

static int check_file(const abatis_policy *policy, const char *path, const struct path_facts *facts,
                      abatis_error *err)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(policy, ABATIS_READ, facts->real, &is_allowed);

        if (facts->kind == PATH_ABSENT)
                return error_set(err, ABATIS_E_INVALID, "'%s' does not exist", path);
        if (facts->kind == PATH_DIRECTORY)
                return error_set(err, ABATIS_E_INVALID, "'%s' is a directory; name programs", path);
        if (facts->kind != PATH_FILE)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not a file", path);
        if (reach_access(facts->real, X_OK) < 0)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not executable", path);
        if (rule && rule->kind == RULE_DENY)
                return error_set(err, ABATIS_E_INVALID, "'%s' is denied by %s '%s'", path, rule->origin,
                                 rule->path);
        /* A list narrows what the rules allow, and adds nothing to it. */
        if (!policy_executes(policy, facts->real))
                return error_set(err, ABATIS_E_INVALID, "no rule lets '%s' be executed; allow it with --exec",
                                 path);
        return 0;
}

/* A link that an earlier command could have planted. */
static const char *find_planted_link(const abatis_policy *policy, const struct path_facts *facts)
{
        for (size_t i = 0; i < facts->links.count; i++)
                if (is_writable(policy, facts->links.items[i]))
                        return facts->links.items[i];
        return NULL;
}

/* ---- the list ------------------------------------------------------------------------------------------- */

/* Takes `reason` over, also when it fails. */
static int add(abatis_policy *policy, enum startable_kind kind, const char *real, char *reason,
               abatis_error *err)
{
        OWN_FREE char *owned_reason = reason, *path = strdup(real);
        struct startable *startables;

        if (!path || !reason)
                return error_memory(err);
        startables = realloc(policy->startables, (policy->startable_count + 1) * sizeof(*startables));
        if (!startables)
                return error_memory(err);
        policy->startables = startables;
        startables[policy->startable_count++] = (struct startable){ .kind = kind,
                                                                    .path = take_pointer(path),
                                                                    .reason = take_pointer(owned_reason) };
        return 0;
}

static char *format_reason(const char *before, const char *name)
{
        char *reason = NULL;

        return asprintf(&reason, "%s'%s'", before, name) < 0 ? NULL : reason;
}

/* The file may be there already, under another name. */
static int add_listed(abatis_policy *policy, const char *name, const char *real, abatis_error *err)
{
        struct startable *known = find(policy, real);
        OWN_FREE char *before = NULL;
        char *reason;

        if (!known) {
                int r = add(policy, STARTABLE_LISTED, real, format_reason("listed as ", name), err);

                if (r < 0)
                        return r;
                known = find(policy, real);
        } else {
                before = text_join(known->reason, ", ", "");
                reason = before ? format_reason(before, name) : NULL;
                if (!reason)
                        return error_memory(err);
                free(known->reason);
                known->reason = reason;
        }
        known->has_names |= strcmp(last_component(name), last_component(real)) != 0;
        return 0;
}

/* glibc's and musl's: a program that starts any other. */
static bool is_named_like_a_loader(const char *path)
{
        const char *name = last_component(path);

        return ((!strncmp(name, "ld-", 3) || !strncmp(name, "ld64", 4)) && strstr(name, ".so")) ||
               !strncmp(name, "ld.so", 5) || !strcmp(name, "libc.so");
}

static int refuse_loader(const char *path, abatis_error *err)
{
        return error_set(err, ABATIS_E_INVALID, "'%s' is a loader: it would start every program", path);
}

static int check_listed(const abatis_policy *policy, const char *name, const char *path,
                        const struct path_facts *facts, abatis_error *err)
{
        int r = check_file(policy, path, facts, err);
        const char *link = find_planted_link(policy, facts);

        if (r < 0)
                return r;
        if (link)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "'%s' is a symbolic link in a writable directory; name what it leads to, '%s'", link,
                        facts->real);
        if (*name != '/' && is_writable(policy, facts->real))
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s' leads to '%s', which a command could have put there; give its path",
                                 name, facts->real);
        if (is_named_like_a_loader(path) || is_named_like_a_loader(facts->real))
                return refuse_loader(path, err);
        return 0;
}

static int list(abatis_policy *policy, const char *name, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        OWN_FREE char *path = NULL;
        int r = commands_locate(policy, name, &path, err);

        if (r < 0 || !path)
                return r;
        r = path_resolve(path, NULL, &facts, err);
        if (!r)
                r = check_listed(policy, name, path, &facts, err);
        return r < 0 || !facts.real ? r : add_listed(policy, name, facts.real, err);
}

/* ---- what the kernel needs for them --------------------------------------------------------------------- */

/* A file that `user` names and that is loaded or started for it. */
static int need(abatis_policy *policy, enum startable_kind kind, const char *name, const char *user,
                abatis_error *err)
{
        const char *verb = kind == STARTABLE_LOADER ? "loads " : "runs ";
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        OWN_FREE char *path = NULL;
        const struct startable *known;
        const char *link;
        int r = commands_locate(policy, name, &path, err);

        if (r < 0 || !path)
                return r;
        r = path_resolve(path, NULL, &facts, err);
        if (!r)
                r = check_file(policy, path, &facts, err);
        if (r < 0 || !facts.real)
                return r;
        known = find(policy, facts.real);
        if (known && (known->kind == STARTABLE_LOADER) != (kind == STARTABLE_LOADER))
                return refuse_loader(facts.real, err);
        if (known)
                return 0;
        link = find_planted_link(policy, &facts);
        if (link || (*name != '/' && is_writable(policy, facts.real)))
                return error_set(
                        err, ABATIS_E_INVALID,
                        "'%s' leads to '%s', and a command could have made it so; list that file too",
                        link ? link : name, facts.real);
        return add(policy, kind, facts.real, format_reason(verb, user), err);
}

/* The program that env would start, owned by the caller, or NULL: `env NAME`, `env -S NAME ARGUMENT...`. */
static int find_env_program(const char *argument, char **out, abatis_error *err)
{
        bool is_split = argument && *argument == '-';

        *out = NULL;
        if (is_split && !strchr(argument, 'S'))
                return 0;
        for (; argument && *argument; argument += strcspn(argument, " \t")) {
                size_t length;

                argument += strspn(argument, " \t");
                length = is_split ? strcspn(argument, " \t") : strlen(argument);
                if (!length || *argument == '-' || memchr(argument, '=', length))
                        continue;
                *out = strndup(argument, length);
                return *out ? 0 : error_memory(err);
        }
        return 0;
}

static int need_interpreter(abatis_policy *policy, const struct executable *executable, const char *user,
                            abatis_error *err)
{
        const char *interpreter = executable->interpreter;
        OWN_FREE char *program = NULL;
        abatis_error below = { 0 };
        int r = 0;

        if (*interpreter != '/')
                return error_set(err, ABATIS_E_INVALID, "'%s' has a relative interpreter, '%s'", user,
                                 interpreter);
        r = need(policy, executable->kind == EXECUTABLE_SCRIPT ? STARTABLE_INTERPRETER : STARTABLE_LOADER,
                 interpreter, user, &below);
        if (!r && executable->kind == EXECUTABLE_SCRIPT && !strcmp(last_component(interpreter), "env")) {
                r = find_env_program(executable->argument, &program, &below);
                if (!r && program)
                        r = need(policy, STARTABLE_INTERPRETER, program, user, &below);
        }
        return r < 0 ? error_within(err, &below, "'%s' needs another file to start", user) : 0;
}

/* The kernel itself makes such memory when it starts a program, and no filter sees that. Whose stack it is the program says, not its
 * loader. */
static int check_memory(const abatis_policy *policy, const struct executable *executable,
                        const struct startable *startable, abatis_error *err)
{
        const bool has_stack = executable->has_executable_stack && startable->kind != STARTABLE_LOADER;

        if (!policy->forbids_new_code || (!executable->has_writable_code && !has_stack))
                return 0;
        return error_set(err, ABATIS_E_INVALID,
                         "'%s' has %s that it can write and execute, and process.executable_memory is false",
                         startable->path, executable->has_writable_code ? "code" : "a stack");
}

/* Adds what the startable at `index` needs; this moves the list. */
static int add_needs(abatis_policy *policy, size_t index, abatis_error *err)
{
        OWN_EXECUTABLE struct executable executable = { 0 };
        OWN_FREE char *path = strdup(policy->startables[index].path);
        OWN_FD int fd = path ? reach_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) : -1;
        int r;

        if (!path)
                return error_memory(err);
        if (fd < 0)
                return error_os(err, errno, "cannot read '%s', to see what it needs to start", path);
        r = executable_read(fd, path, &executable, err);
        if (!r)
                r = check_memory(policy, &executable, &policy->startables[index], err);
        if (!r && executable.interpreter && policy->startables[index].kind != STARTABLE_LOADER)
                r = need_interpreter(policy, &executable, path, err);
        return r;
}

/* ---- what follows --------------------------------------------------------------------------------------- */

/* As root: in a system directory that no rule opens. */
static bool is_safe_in_the_system(const abatis_policy *policy, const char *path)
{
        const char *directory = NULL;

        for (size_t i = 0; i < COUNT(system_directories) && !directory; i++)
                if (path_is_below(path, system_directories[i]))
                        directory = system_directories[i];
        for (size_t i = 0; i < policy->rule_count && directory; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == RULE_WRITE && (path_is_below(rule->facts.real, directory) ||
                                                 path_is_below(directory, rule->facts.real)))
                        return false;
        }
        return directory != NULL;
}

/* Another name of the file may lie where the command can write; then only a copy stays what it is. */
static int protect_from_other_names(const abatis_policy *policy, struct startable *startable,
                                    abatis_error *err)
{
        struct stat status;

        if (reach_stat(startable->path, &status) < 0)
                return error_os(err, errno, "cannot examine '%s'", startable->path);
        if (!geteuid() && is_safe_in_the_system(policy, startable->path))
                return 0;
        if (status.st_nlink < 2 || (status.st_uid != geteuid() && reach_access(startable->path, W_OK) < 0))
                return 0;
        if (status.st_size > COPY_MAX)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "'%s' could be changed through another of its %lu names, and is too large to "
                        "be copied; list a file with one name",
                        startable->path, (unsigned long)status.st_nlink);
        startable->is_copied = true;
        return 0;
}

/* What can be started is not written. */
static int protect(abatis_policy *policy, struct startable *startable, abatis_error *err)
{
        int r = 0;

        if (is_writable(policy, startable->path))
                r = policy_add_rule(policy, RULE_PROTECT, startable->path, origin, err);
        if (!r)
                r = protect_from_other_names(policy, startable, err);
        return r;
}

/* Only what cannot be changed: code could be put there. */
static int add_library(abatis_policy *policy, const char *path, abatis_error *err)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        int r = path_resolve(path, NULL, &facts, err);

        if (r < 0)
                return r;
        if (facts.kind == PATH_ABSENT || facts.kind == PATH_OTHER || !facts.real[1] ||
            !policy_executes(policy, facts.real) || is_writable(policy, facts.real) ||
            find(policy, facts.real))
                return 0;
        for (size_t i = 0; i < policy->libraries.count; i++)
                if (path_is_below(facts.real, policy->libraries.items[i]))
                        return 0;
        return strings_add(&policy->libraries, facts.real, err);
}

/* PREFIX/lib for PREFIX/bin/program, and all of /opt/NAME for what lies in it. */
static int add_own_libraries(abatis_policy *policy, const char *program, abatis_error *err)
{
        OWN_FREE char *prefix = strdup(program), *library = NULL;
        char *slash;
        int r = 0;

        if (!prefix)
                return error_memory(err);
        if (path_is_below(prefix, "/opt")) {
                slash = strchr(prefix + strlen("/opt/"), '/');
                if (slash)
                        *slash = '\0';
                return slash ? add_library(policy, prefix, err) : 0;
        }
        *strrchr(prefix, '/') = '\0';
        slash = strrchr(prefix, '/');
        if (!slash || (strcmp(slash, "/bin") && strcmp(slash, "/sbin")))
                return 0;
        *slash = '\0';
        library = text_join(prefix, "/lib", "64");
        if (!library)
                return error_memory(err);
        r = add_library(policy, library, err);
        library[strlen(library) - 2] = '\0';
        return r < 0 ? r : add_library(policy, library, err);
}

static bool is_system_directory(const char *path)
{
        for (size_t i = 0; i < COUNT(system_directories); i++)
                if (!strcmp(path, system_directories[i]))
                        return true;
        return false;
}

/* What a rule lets be executed can be mapped, as long as it cannot be written. Of the system, whose programs lie there
 * too, the directories of its libraries are enough. */
static int add_executed_libraries(abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];
                int r;

                if (rule->kind != RULE_EXECUTE || is_system_directory(rule->path))
                        continue;
                if (rule->is_asked && is_writable(policy, rule->facts.real))
                        return error_set(err, ABATIS_E_INVALID,
                                         "'%s' can be executed (%s) and written, so that a command could put "
                                         "any program there; leave it out, or protect it",
                                         rule->path, rule->origin);
                r = add_library(policy, rule->facts.real, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_libraries(abatis_policy *policy, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < COUNT(library_directories) && !r; i++)
                r = add_library(policy, library_directories[i], err);
        for (size_t i = 0; i < policy->startable_count && !r; i++)
                r = add_own_libraries(policy, policy->startables[i].path, err);
        return r < 0 ? r : add_executed_libraries(policy, err);
}

static int resolve(abatis_policy *policy, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < policy->commands.count && !r; i++)
                r = list(policy, policy->commands.items[i], err);
        for (size_t i = 0; i < policy->startable_count && !r; i++)
                if (policy->startables[i].kind != STARTABLE_LOADER || policy->forbids_new_code)
                        r = add_needs(policy, i, err);
        for (size_t i = 0; i < policy->startable_count && !r; i++)
                r = protect(policy, &policy->startables[i], err);
        return r < 0 ? r : add_libraries(policy, err);
}

/* Not twice for the same policy: a job of another thread may be looking at what was found. */
int commands_resolve(abatis_policy *policy, abatis_error *err)
{
        abatis_error below = { 0 };
        int r;

        if (policy->forbids_new_code && !policy->commands.count)
                return error_set(err, ABATIS_E_INVALID,
                                 "process.executable_memory: false needs process.commands: without a list of "
                                 "programs every file can be mapped as code");
        if (!policy->commands.count || policy->is_resolved)
                return 0;
        commands_done(policy);
        r = resolve(policy, &below);
        policy->is_resolved = !r;
        if (!r)
                return 0;
        commands_done(policy);
        if (r == ABATIS_E_MEMORY)
                return error_memory(err);
        /* A list that cannot be understood is a wrong policy, also if what it names is missing. */
        if (r != ABATIS_E_SYSTEM)
                below.code = ABATIS_E_INVALID;
        return error_within(err, &below, "%s", origin);
}

void commands_done(abatis_policy *policy)
{
        for (size_t i = 0; i < policy->startable_count; i++) {
                free(policy->startables[i].path);
                free(policy->startables[i].reason);
        }
        free(policy->startables);
        policy->startables = NULL;
        policy->startable_count = 0;
        policy->is_resolved = false;
        strings_done(&policy->libraries);
}

int commands_check(const abatis_policy *policy, const char *program, abatis_error *err)
{
        OWN_FREE char *real = NULL;
        const struct startable *found;

        if (!policy->commands.count)
                return 0;
        real = path_real(program);
        if (!real)
                return errno == ENOMEM ? error_memory(err)
                                       : error_os(err, errno, "cannot resolve '%s'", program);
        found = find(policy, real);
        if (found && found->kind == STARTABLE_LISTED)
                return 0;
        return error_set(err, ABATIS_E_NOT_EXECUTABLE,
                         "'%s' is not on the list of commands; allow it with --command %s", program, real);
}
