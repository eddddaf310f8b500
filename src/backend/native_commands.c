/* native_commands.c: a list of commands: no file is code but those on it, their loaders, and shared libraries.
 *
 * Three mechanisms that each see what the others do not. Landlock decides which files can be started, by inode, and does
 * not see files in memory. Mounts decide which files can be mapped as code, so that nothing that a command can write is.
 * Loaders, which would start whatever they are told to, are copies that cannot be started themselves. The seccomp filter
 * knows no files in memory. */
#include "backend/native.h"

bool native_lists_commands(const struct native *native)
{
        return native->policy->commands.count > 0;
}

static bool is_in_writable_tree(const struct native *native, const char *path)
{
        for (size_t i = 0; i < native->policy->rule_count; i++) {
                const struct rule *rule = &native->policy->rules[i];

                if (rule->kind == RULE_WRITE && path_is_below(path, rule->facts.real))
                        return true;
        }
        return false;
}

/* Of two trees, one in the other, the outer is mounted first. */
static void add_libraries(struct native *native, bool are_in_writable_trees)
{
        const struct strings *libraries = &native->policy->libraries;

        for (size_t i = 0; i < libraries->count; i++)
                if (is_in_writable_tree(native, libraries->items[i]) == are_in_writable_trees)
                        plan_step(native->plan, PLAN_LIBRARIES, libraries->items[i], 0);
}

void native_add_noexec(struct native *native)
{
        size_t step;

        if (!native_lists_commands(native))
                return;
        step = plan_step(native->plan, PLAN_NOEXEC, NULL, 0);
        plan_cover(native->plan, step, CLAUSE_COMMANDS, PLAN_NO_INDEX);
        plan_cover(native->plan, step, CLAUSE_NEW_CODE, PLAN_NO_INDEX);
}

void native_add_libraries(struct native *native)
{
        add_libraries(native, false);
}

static enum plan_op op_of(const struct startable *startable)
{
        switch (startable->kind) {
        case STARTABLE_LISTED:
        case STARTABLE_INTERPRETER:
                return PLAN_START;
        case STARTABLE_LOADER:
                break;
        }
        return PLAN_LOADER;
}

static void add_files(struct native *native, enum plan_op op)
{
        const abatis_policy *policy = native->policy;

        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];

                if (op_of(startable) == op)
                        plan_cover(native->plan,
                                   plan_step(native->plan, op, startable->path, startable->is_copied),
                                   CLAUSE_COMMANDS, PLAN_NO_INDEX);
        }
}

void native_add_startables(struct native *native)
{
        add_libraries(native, true);
        add_files(native, PLAN_START);
        add_files(native, PLAN_LOADER);
}

/* A copy is another file than the one it is made of. */
void native_grant_startables(struct native *native)
{
        const abatis_policy *policy = native->policy;

        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];
                bool is_copy = startable->is_copied || startable->kind == STARTABLE_LOADER;

                plan_grant(native->plan, startable->path, GRANT_READ | GRANT_EXECUTE,
                           is_copy && native->has_mounts);
        }
}
