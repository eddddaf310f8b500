/* print_commands.c: what a list of commands means, file by file, and what it does not hold. */
#include "base/json.h"
#include "plan/plan.h"

/* Said wherever the list is printed: none of these is another program that starts, and each runs other code. */
static const char *const not_held[] = {
        "what a listed interpreter or shell does by itself when it reads a script",
        "machine code that a listed program makes in its own memory (just-in-time compilers, Python's ctypes)",
        "a shared library in a file that was given as stdin, stdout or stderr",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The broker asks where a file lies, however it was come by. */
static size_t count_not_held(const struct plan *plan)
{
        return COUNT(not_held) - (plan_broker_asks(plan) & BROKER_MAPPINGS ? 1 : 0);
}

/* Where there are no mounts there are no copies. */
static bool is_copy(const struct startable *startable, const struct plan *plan)
{
        return !(plan_broker_asks(plan) & BROKER_MAPPINGS) &&
               (startable->is_copied || startable->kind == STARTABLE_LOADER);
}

static void add_files(struct text *text, const struct plan *plan, const abatis_policy *policy,
                      enum startable_kind kind)
{
        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];

                if (startable->kind != kind)
                        continue;
                text_addf(text, "  %-5s ", kind == STARTABLE_LOADER ? "load" : "start");
                text_add_line(text, startable->path);
                text_add(text, ": ");
                text_add_line(text, startable->reason);
                text_addf(text, "%s%s\n", startable->has_names ? "; so are all other names of this file" : "",
                          startable->is_copied && is_copy(startable, plan)
                                  ? "; a copy, since the file has other names"
                                  : "");
        }
}

void plan_add_commands_text(struct text *text, const struct plan *plan, const abatis_policy *policy)
{
        if (!policy->commands.count)
                return;
        text_add(text, "\ncommands\n");
        add_files(text, plan, policy, STARTABLE_LISTED);
        add_files(text, plan, policy, STARTABLE_INTERPRETER);
        add_files(text, plan, policy, STARTABLE_LOADER);
        for (size_t i = 0; i < policy->libraries.count; i++) {
                text_add(text, "  map   ");
                text_add_line(text, policy->libraries.items[i]);
                text_add(text, ": shared libraries\n");
        }
        for (size_t i = 0; i < count_not_held(plan); i++)
                text_addf(text, "  not held: %s\n", not_held[i]);
}

json_t *plan_commands_to_json(const struct plan *plan, const abatis_policy *policy)
{
        json_t *files, *libraries, *limits;

        if (!policy->commands.count)
                return json_null();
        files = json_array();
        libraries = json_array();
        limits = json_array();
        for (size_t i = 0; i < policy->startable_count; i++) {
                const struct startable *startable = &policy->startables[i];

                json_array_append_new(files,
                                      json_pack("{s:o, s:b, s:b, s:b, s:b, s:o}", "path",
                                                json_from_string(startable->path), "listed",
                                                startable->kind == STARTABLE_LISTED, "starts",
                                                startable->kind != STARTABLE_LOADER, "has_other_names",
                                                startable->has_names, "copied", is_copy(startable, plan),
                                                "reason", json_from_string(startable->reason)));
        }
        for (size_t i = 0; i < policy->libraries.count; i++)
                json_array_append_new(libraries, json_from_string(policy->libraries.items[i]));
        for (size_t i = 0; i < count_not_held(plan); i++)
                json_array_append_new(limits, json_string(not_held[i]));
        return json_pack("{s:o, s:o, s:o}", "files", files, "libraries", libraries, "not_held", limits);
}
