/* appcontainer.c: compiles a policy for Windows: an AppContainer of the job's own, and entries for it in access lists.
 *
 * A container opens nothing but what is given to it, so a path that is denied needs no step outside the trees that are given. Inside
 * one the entries are put where they belong, file by file, and left out where a rule says so. What Windows cannot hold
 * exactly is refused by name. */
#include <string.h>

#include "backend/backend.h"

/* While one plan is made. */
struct container {
        const abatis_policy *policy;
        const abatis_host *host;
        struct plan *plan;
        size_t step;          /* of the container itself */
        struct strings given; /* trees that have an entry, in the order of their steps */
        struct strings pins;  /* directories above exceptions that have their step already */
};

static const char *find_reason(const abatis_host *host)
{
        return host->container.is_available ? NULL : host->container.reason;
}

/* ---- paths ---------------------------------------------------------------------------------------------- */

static char fold(char character)
{
        return (char)(character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character);
}

/* As path_is_below(), where the case of a letter makes no difference. */
static bool is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);

        while (length && directory[length - 1] == '/')
                length--;
        for (size_t i = 0; i < length; i++)
                if (fold(path[i]) != fold(directory[i]))
                        return false;
        return path[length] == '/' || !path[length];
}

/* A tree that Windows opens to every container and that has something in common with this path; or NULL. */
static const char *find_open_tree(const struct container *container, const char *path)
{
        const struct host_container *facts = &container->host->container;

        for (size_t i = 0; i < HOST_OPEN_TREES; i++)
                if (*facts->trees[i] && (is_below(path, facts->trees[i]) || is_below(facts->trees[i], path)))
                        return facts->trees[i];
        return NULL;
}

static bool allows(const struct container *container, abatis_access access, const char *path)
{
        bool is_allowed;

        policy_decide_by_paths(container->policy, access, path, &is_allowed);
        return is_allowed;
}

/* A given tree that the path lies in, and that can be written if `is_written`; or NULL. */
static const char *find_given(const struct container *container, const char *path, bool is_written)
{
        for (size_t i = 0; i < container->given.count; i++) {
                const char *tree = container->given.items[i];

                if (is_below(path, tree) && (!is_written || allows(container, ABATIS_WRITE, tree)))
                        return tree;
        }
        return NULL;
}

/* ---- what is given -------------------------------------------------------------------------------------- */

/* A whole drive, or what has a part of Windows in it, is not ours to give away. */
static bool is_ours_to_give(const struct container *container, const char *path)
{
        const struct host_container *facts = &container->host->container;

        for (size_t i = 0; i < HOST_OPEN_TREES; i++)
                if (*facts->trees[i] && is_below(facts->trees[i], path))
                        return false;
        return path[1] && path[2]; /* "/c" is a drive */
}

static void leave_closed(struct container *container, const char *path, const char *why)
{
        OWN_TEXT struct text line = { 0 };

        text_add_line(&line, path);
        text_addf(&line, ": %s", why);
        if (line.has_failed)
                container->plan->has_failed = true;
        else
                plan_leave_closed(container->plan, line.data);
}

static void give(struct container *container, const char *path)
{
        struct plan *plan = container->plan;
        bool is_written = allows(container, ABATIS_WRITE, path);
        bool is_executed = allows(container, ABATIS_EXECUTE, path);
        size_t step;

        if (!allows(container, ABATIS_READ, path))
                return;
        /* Windows has given these already, to be read and executed. */
        if (find_open_tree(container, path) && !is_written && is_ours_to_give(container, path))
                return;
        if (!is_ours_to_give(container, path)) {
                leave_closed(container, path,
                             "a whole drive, or what has Windows in it, is given to no container");
                return;
        }
        if (strings_add(&container->given, path, NULL) < 0)
                plan->has_failed = true;
        /* The value is as everywhere: 1 is not executable. */
        step = plan_step(plan, is_written ? PLAN_WRITABLE : PLAN_SHOW, path, !is_executed);
        plan_cover(plan, step, CLAUSE_READ, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_EXECUTE, PLAN_NO_INDEX);
        if (is_written)
                plan_cover(plan, step, CLAUSE_WRITE, PLAN_NO_INDEX);
}

/* Whether one that was given before opens as much. */
static bool is_given(const struct container *container, const char *path)
{
        for (size_t i = 0; i < container->given.count; i++) {
                const char *tree = container->given.items[i];

                if (is_below(path, tree) &&
                    allows(container, ABATIS_WRITE, tree) >= allows(container, ABATIS_WRITE, path) &&
                    allows(container, ABATIS_EXECUTE, tree) >= allows(container, ABATIS_EXECUTE, path))
                        return true;
        }
        return false;
}

static void give_trees(struct container *container)
{
        const abatis_policy *policy = container->policy;

        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->kind == RULE_DENY || rule->kind == RULE_PROTECT || rule->glob ||
                    is_given(container, rule->facts.real))
                        continue;
                if (rule->facts.kind == PATH_ABSENT)
                        leave_closed(container, rule->facts.real, "nothing is there that could be given");
                else
                        give(container, rule->facts.real);
        }
        if (!policy->reads_all)
                return;
        if (!is_given(container, policy->workspace))
                give(container, policy->workspace);
        plan_leave_closed(
                container->plan,
                "of the user's own files all but the workspace and what is listed: nobody can open the "
                "whole disk to a container");
}

/* ---- what is excepted ----------------------------------------------------------------------------------- */

/* A directory above an exception must stay what it is: elsewhere it would leave its name to one that has no exceptions. */
static void pin_above(struct container *container, const char *tree, const char *path, enum clause_kind kind,
                      size_t index)
{
        size_t length = strlen(tree);

        for (const char *at = strchr(path + length + 1, '/'); at; at = strchr(at + 1, '/')) {
                OWN_TEXT struct text above = { 0 };

                text_add_bytes(&above, path, (size_t)(at - path));
                if (above.has_failed || !above.data) {
                        container->plan->has_failed = true;
                        return;
                }
                /* What is denied as a whole needs nobody to watch over its parts. */
                if (!allows(container, ABATIS_READ, above.data))
                        return;
                if (strings_has(&container->pins, above.data))
                        continue;
                if (strings_add(&container->pins, above.data, NULL) < 0)
                        container->plan->has_failed = true;
                plan_cover(container->plan, plan_step(container->plan, PLAN_PIN, above.data, 0), kind, index);
        }
}

static void except(struct container *container, const char *tree, size_t index)
{
        const struct rule *rule = &container->policy->rules[index];
        enum clause_kind kind = rule->kind == RULE_DENY ? CLAUSE_DENY : CLAUSE_PROTECT;
        struct plan *plan = container->plan;

        if (allows(container, ABATIS_WRITE, tree))
                pin_above(container, tree, rule->facts.real, kind, index);
        plan_cover(plan,
                   plan_step(plan, rule->kind == RULE_DENY ? PLAN_HIDE : PLAN_PROTECT, rule->facts.real,
                             rule->facts.kind),
                   kind, index);
}

/* Outside the trees nothing is given; but something may have been, to all containers, before. */
static void keep_closed(struct container *container, const char *path, size_t index)
{
        struct plan *plan = container->plan;

        plan_cover(plan, container->step, CLAUSE_DENY, index);
        plan_cover(plan, plan_step(plan, PLAN_CLOSED, path, 0), CLAUSE_DENY, index);
}

/* Whether this is given, or has something given in it: then it is too much to look through for what may match. */
static bool has_given(const struct container *container, const char *path)
{
        for (size_t i = 0; i < container->given.count; i++)
                if (is_below(container->given.items[i], path))
                        return true;
        return false;
}

/* The directory that the pattern names before anything that may be several names. */
static void keep_pattern_closed(struct container *container, size_t index)
{
        const struct glob *glob = container->policy->rules[index].glob;
        OWN_TEXT struct text directory = { 0 };

        for (size_t i = 0; i < glob->count && glob->parts[i].kind == GLOB_NAME; i++) {
                text_add(&directory, "/");
                text_add_bytes(&directory, glob->parts[i].text, glob->parts[i].length);
        }
        if (directory.has_failed)
                container->plan->has_failed = true;
        else if (directory.data && !has_given(container, directory.data))
                keep_closed(container, directory.data, index);
        else
                plan_miss(container->plan, CLAUSE_DENY, index,
                          "an access list knows no patterns, and nobody looks through '%s'; name the paths",
                          directory.data ? directory.data : "/");
}

static void hold_pattern(struct container *container, size_t index, enum clause_kind kind)
{
        const struct rule *rule = &container->policy->rules[index];
        const struct host_container *facts = &container->host->container;
        struct plan *plan = container->plan;

        for (size_t i = 0; i < container->given.count; i++) {
                const char *tree = container->given.items[i];

                if (kind == CLAUSE_PROTECT && !allows(container, ABATIS_WRITE, tree))
                        continue;
                if (!glob_matches(rule->glob, tree) && !glob_may_match_below(rule->glob, tree))
                        continue;
                plan_miss(plan, kind, index,
                          "an access list knows no patterns, and it may match below '%s'; name the paths",
                          tree);
                return;
        }
        for (size_t i = 0; i < HOST_OPEN_TREES && kind == CLAUSE_DENY; i++)
                if (*facts->trees[i] && glob_may_match_below(rule->glob, facts->trees[i])) {
                        plan_miss(plan, kind, index,
                                  "it may match below '%s', which Windows opens to every container",
                                  facts->trees[i]);
                        return;
                }
        if (kind == CLAUSE_DENY)
                keep_pattern_closed(container, index);
        else
                plan_cover(plan, container->step, kind, index);
}

static void hold_rule(struct container *container, size_t index)
{
        const struct rule *rule = &container->policy->rules[index];
        bool is_denied = rule->kind == RULE_DENY;
        enum clause_kind kind = is_denied ? CLAUSE_DENY : CLAUSE_PROTECT;
        struct plan *plan = container->plan;
        const char *tree, *open;

        if (rule->glob) {
                hold_pattern(container, index, kind);
                return;
        }
        /* An entry for reading would open it. */
        if (!is_denied && !allows(container, ABATIS_READ, rule->facts.real)) {
                plan_cover(plan, container->step, kind, index);
                return;
        }
        tree = find_given(container, rule->facts.real, !is_denied);
        open = is_denied ? find_open_tree(container, rule->facts.real) : NULL;
        if (open)
                plan_miss(plan, kind, index, "Windows opens '%s' to every container", open);
        else if (!tree && is_denied && rule->facts.kind != PATH_ABSENT)
                keep_closed(container, rule->facts.real, index);
        else if (!tree || (is_denied && rule->facts.kind == PATH_ABSENT && !rule->covers_later &&
                           !find_given(container, rule->facts.real, true)))
                plan_cover(plan, container->step, kind, index);
        else if (rule->facts.kind == PATH_ABSENT)
                plan_miss(plan, kind, index,
                          "nothing is there yet, and what is made there would have the entries of '%s'",
                          tree);
        else if (rule->facts.kind == PATH_OTHER)
                plan_miss(plan, kind, index, "it is neither a file nor a directory");
        else
                except(container, tree, index);
}

static void hold_rules(struct container *container)
{
        const abatis_policy *policy = container->policy;

        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_DENY || policy->rules[i].kind == RULE_PROTECT)
                        hold_rule(container, i);
}

/* ---- the rest ------------------------------------------------------------------------------------------- */

static void hold_network(struct container *container)
{
        static const enum limit connections[] = { LIMIT_CONNECTIONS, LIMIT_CONNECTION_RATE, LIMIT_TRAFFIC };
        const abatis_policy *policy = container->policy;
        struct plan *plan = container->plan;

        plan_cover(plan, container->step, CLAUSE_NETWORK, PLAN_NO_INDEX);
        plan_cover(plan, container->step, CLAUSE_ABSTRACT, PLAN_NO_INDEX); /* Windows has none */
        switch (policy->network) {
        case NETWORK_DENY:
                break;
        case NETWORK_ALLOW:
                plan_leave_closed(plan,
                                  "servers on this machine: a container reaches no loopback but its own");
                break;
        case NETWORK_UNIX_ONLY:
                plan_miss(plan, CLAUSE_NETWORK, PLAN_NO_INDEX,
                          "Windows has no capability for unix sockets alone");
                break;
        case NETWORK_LIST:
                plan_miss(plan, CLAUSE_NETWORK, PLAN_NO_INDEX,
                          "Windows' capabilities know no hosts; fix: network.mode deny or allow");
                break;
        }
        for (size_t i = 0; i < policy->connect.count; i++)
                plan_miss(plan, CLAUSE_CONNECT, i, "Windows' capabilities know no hosts");
        for (size_t i = 0; i < policy->bind.count; i++)
                plan_miss(plan, CLAUSE_BIND, i, "Windows' capabilities know no ports");
        for (size_t i = 0; i < policy->unix_sockets.count; i++)
                plan_miss(plan, CLAUSE_UNIX, i, "Windows has no capability for a unix socket");
        plan_miss(plan, CLAUSE_NAMES, PLAN_NO_INDEX, "nobody looks into connections on Windows");
        for (size_t i = 0; i < sizeof(connections) / sizeof(*connections); i++)
                if (policy->network == NETWORK_DENY)
                        plan_cover(plan, container->step, CLAUSE_LIMIT, connections[i]);
                else
                        plan_miss(plan, CLAUSE_LIMIT, connections[i], "nobody counts connections on Windows");
}

static void add_container(struct container *container)
{
        static const enum clause_kind kinds[] = { CLAUSE_READ, CLAUSE_WRITE,   CLAUSE_EXECUTE, CLAUSE_PRIVACY,
                                                  CLAUSE_IPC,  CLAUSE_DEVICES, CLAUSE_KERNEL };
        const abatis_policy *policy = container->policy;
        struct plan *plan = container->plan;

        container->step =
                plan_step(plan, PLAN_CONTAINER, NULL,
                          policy->network == NETWORK_ALLOW ? PLAN_INTERNET | PLAN_PRIVATE_NETWORK : 0);
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                plan_cover(plan, container->step, kinds[i], PLAN_NO_INDEX);
        if (policy->has_private_tmp)
                plan_cover(plan, plan_step(plan, PLAN_OWN_TMP, NULL, 0), CLAUSE_TMP, PLAN_NO_INDEX);
        /* As natively where there are no namespaces. */
        if (!policy->reads_all)
                plan_miss(plan, CLAUSE_PRIVACY, PLAN_NO_INDEX,
                          "Windows tells everybody the names of all processes; fix: filesystem.read: all");
        plan_leave_visible(
                plan, "what Windows opens to every container: its own directory, Program Files, parts of the "
                      "registry, and whatever ALL APPLICATION PACKAGES were given, with those rights");
        plan_miss(
                plan, CLAUSE_EXECUTE, PLAN_NO_INDEX,
                "a container can start what is in Windows and Program Files, and what it writes into its own "
                "directory");
        plan_leave_visible(plan, "all system calls: Windows filters none");
        plan_leave_visible(plan, "other processes: their names and numbers");
        plan_leave_visible(plan, "whether a file exists whose path is known");
}

static void hold_limits(struct container *container, size_t object)
{
        static const struct {
                enum limit limit;
                enum plan_op op;
        } of_tree[] = { { LIMIT_PROCESSES, PLAN_LIMIT },
                        { LIMIT_MEMORY, PLAN_LIMIT },
                        { LIMIT_CPU, PLAN_COUNT } };
        static const enum limit missing[] = { LIMIT_OPEN_FILES, LIMIT_FILE_SIZE, LIMIT_WRITTEN };
        struct plan *plan = container->plan;

        for (size_t i = 0; i < sizeof(of_tree) / sizeof(*of_tree); i++)
                if (container->policy->limits[of_tree[i].limit])
                        plan_cover(plan, plan_step(plan, of_tree[i].op, NULL, of_tree[i].limit), CLAUSE_LIMIT,
                                   of_tree[i].limit);
        for (size_t i = 0; i < sizeof(missing) / sizeof(*missing); i++)
                plan_miss(plan, CLAUSE_LIMIT, missing[i], "Windows has no such limit; leave it out");
        plan_cover(plan, object, CLAUSE_LIFETIME, PLAN_NO_INDEX);
        plan_cover(plan, object, CLAUSE_FORK, PLAN_NO_INDEX);
}

/* In the order in which they are done: nothing of the command's runs before the last of them. */
static void add_start(struct container *container)
{
        const abatis_policy *policy = container->policy;
        struct plan *plan = container->plan;
        size_t step;

        if (arguments_are_checked(policy))
                plan_cover(plan, plan_step(plan, PLAN_ARGUMENTS, NULL, 0), CLAUSE_ARGUMENTS, PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_DESCRIPTORS, NULL, PLAN_CLOSES_AT_EXEC), CLAUSE_DESCRIPTORS,
                   PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_ENVIRONMENT, NULL, 0), CLAUSE_ENVIRONMENT, PLAN_NO_INDEX);
        plan_cover(plan, plan_step(plan, PLAN_SESSION, NULL, 0), CLAUSE_TERMINAL, PLAN_NO_INDEX);
        plan_step(plan, PLAN_SUSPENDED, NULL, 0);
        step = plan_step(plan, PLAN_JOB_OBJECT, NULL,
                         (policy->forbids_forks ? PLAN_ALONE : 0) |
                                 (container->host->container.is_nested ? 0 : PLAN_NO_DESKTOP));
        if (container->host->container.is_nested)
                plan_leave_visible(
                        plan, "the clipboard: Windows closes it to none who is started from a job object");
        plan_cover(plan, step, CLAUSE_TERMINAL, PLAN_NO_INDEX);
        hold_limits(container, step);
        step = plan_step(plan, PLAN_PRIVILEGES, NULL, 0);
        plan_cover(plan, step, CLAUSE_PRIVILEGES, PLAN_NO_INDEX);
        plan_cover(plan, step, CLAUSE_KERNEL, PLAN_NO_INDEX);
        plan_step(plan, PLAN_RESUME, NULL, 0);
        if (!container->host->uid)
                plan_miss(plan, CLAUSE_PRIVILEGES, PLAN_NO_INDEX,
                          "the token is elevated, and stays an administrator's; run without elevation");
        plan_miss(plan, CLAUSE_COMMANDS, PLAN_NO_INDEX,
                  "Windows lets every container start what is in its own directory and in Program Files");
        plan_miss(plan, CLAUSE_CALLS, PLAN_NO_INDEX, "Windows has no list of system calls");
        plan_miss(plan, CLAUSE_NEW_CODE, PLAN_NO_INDEX,
                  "this version does not say on Windows what memory becomes code");
        plan_miss(plan, CLAUSE_SHARING, PLAN_NO_INDEX,
                  "each command has a container of its own on Windows; fix: session: private");
        if (policy->limits[LIMIT_TIMEOUT])
                plan_cover(plan, plan_step(plan, PLAN_DEADLINE, NULL, 0), CLAUSE_LIMIT, LIMIT_TIMEOUT);
        if (policy->limits[LIMIT_OUTPUT])
                plan_cover(plan, plan_step(plan, PLAN_OUTPUT, NULL, 0), CLAUSE_LIMIT, LIMIT_OUTPUT);
}

static void compile_appcontainer(const abatis_policy *policy, const abatis_host *host, struct plan *plan)
{
        struct container container = { .policy = policy, .host = host, .plan = plan };

        add_container(&container);
        give_trees(&container);
        hold_rules(&container);
        hold_network(&container);
        add_start(&container);
        strings_done(&container.given);
        strings_done(&container.pins);
}

const struct backend backend_appcontainer = { .kind = BACKEND_APPCONTAINER,
                                              .system = SYSTEM_WINDOWS,
                                              .find_reason = find_reason,
                                              .compile = compile_appcontainer };
