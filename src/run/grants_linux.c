/* grants_linux.c: turns a plan's grants into Landlock rules that go round the denied paths.
 *
 * Landlock has no holes: a right on a directory reaches everything below it. To keep a path out, also when it appears
 * or is replaced later, the rights go to the entries of its ancestors instead of to the ancestors: a newcomer has
 * none. */
#define _GNU_SOURCE
#include "run/grants_linux.h"
#include "base/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

static uint64_t rights_to_access(unsigned rights, int abi)
{
        uint64_t access = 0;

        if (rights & GRANT_READ)
                access |= LL_READ_FILE | LL_READ_DIR;
        if (rights & GRANT_EXECUTE)
                access |= LL_EXECUTE;
        if (rights & GRANT_WRITE)
                access |= LL_WRITE_FILE | LL_REMOVE_DIR | LL_REMOVE_FILE | LL_MAKE_CHAR | LL_MAKE_DIR |
                          LL_MAKE_REG | LL_MAKE_SOCK | LL_MAKE_FIFO | LL_MAKE_BLOCK | LL_MAKE_SYM | LL_REFER |
                          LL_TRUNCATE;
        if (rights & GRANT_DEVICE)
                access |= LL_IOCTL_DEV;
        return access & ll_handled_fs(abi);
}

struct granter {
        const struct plan *plan;
        const abatis_policy *policy;
        const abatis_host *host;
        struct resources *resources;
        bool lists_directories; /* the broker does, and Landlock grants no right to */
        const char **avoided;   /* owned: those of the plan, as path_compare() has them */
        size_t avoided_count;
};

static int compare_avoided(const void *left, const void *right)
{
        return path_compare(*(const char *const *)left, *(const char *const *)right);
}

/* The first of the avoided that is the path, or comes after it: all below it follow there. */
static size_t find_avoided(const struct granter *granter, const char *path)
{
        size_t first = 0, end = granter->avoided_count;

        while (first < end) {
                size_t middle = first + (end - first) / 2;

                if (path_compare(granter->avoided[middle], path) < 0)
                        first = middle + 1;
                else
                        end = middle;
        }
        return first;
}

/* Where the command finds what init put there, not the host's own. */
static bool is_in_private_place(const struct granter *granter, const char *path)
{
        return host_has_mounts(granter->host) &&
               ((granter->policy->has_private_tmp && path_is_below(path, "/tmp")) ||
                path_is_below(path, "/dev/shm"));
}

static int add_rule(struct granter *granter, struct child_rule rule, abatis_error *err)
{
        struct resources *resources = granter->resources;
        size_t count = resources->child.rule_count;

        if (count == resources->rule_capacity) {
                size_t wanted = count ? 2 * count : 16;
                struct child_rule *rules = realloc(resources->rules, wanted * sizeof(*rules));

                if (!rules)
                        return error_memory(err);
                resources->rules = rules;
                resources->rule_capacity = wanted;
        }
        rule.is_inside |= is_in_private_place(granter, rule.path);
        resources->rules[count] = rule;
        resources->child.rule_count++;
        return 0;
}

/* The first component of `path` below `directory`, or NULL when it is not below it; *length is the component's. */
static const char *next_component(const char *path, const char *directory, size_t *length)
{
        const char *name = path + (directory[1] ? strlen(directory) : 0);

        if (!path_is_below(path, directory) || *name != '/' || !name[1])
                return NULL;
        *length = strcspn(++name, "/");
        return name;
}

/* The entries of `directory` that are avoided or lead to what is, in the order of strcmp(): a NULL-terminated list, its strings
 * in one block behind the pointers. NULL when there is none. */
static int list_exceptions(const struct granter *granter, const char *directory, const char ***out,
                           abatis_error *err)
{
        size_t first = find_avoided(granter, directory), end = first, pointers, bytes = 0, length, count = 0;
        const char **list;
        char *strings;

        for (; end < granter->avoided_count && path_is_below(granter->avoided[end], directory); end++)
                bytes += strlen(granter->avoided[end]) + 1;
        if (end == first)
                return 0;
        pointers = (end - first + 1) * sizeof(char *);
        list = malloc(pointers + bytes);
        if (!list)
                return error_memory(err);
        strings = (char *)list + pointers;
        for (size_t i = first; i < end; i++) {
                const char *name = next_component(granter->avoided[i], directory, &length);

                if (!name || (count && !strncmp(list[count - 1], name, length) && !list[count - 1][length]))
                        continue;
                list[count++] = memcpy(strings, name, length);
                strings[length] = '\0';
                strings += length + 1;
        }
        list[count] = NULL;
        *out = list;
        return 0;
}

static bool is_avoided(const struct granter *granter, const char *path)
{
        size_t at = find_avoided(granter, path);

        return at < granter->avoided_count && !strcmp(granter->avoided[at], path);
}

static int add_grant(struct granter *granter, const char *path, uint64_t access, abatis_error *err);

/* The entries get the rights, except those on the way to what is avoided; for these the same is done one level down.
 * The directory itself may be listed, as people expect of `ls`: a mask keeps what is avoided from being listed with it, or the
 * broker does both. */
static int add_entries(struct granter *granter, const char *path, uint64_t access, const char **except,
                       abatis_error *err)
{
        struct strings *strings = &granter->resources->strings;
        int r = 0;

        for (size_t i = 0; except[i] && !r; i++) {
                OWN_FREE char *child = path_join(path, except[i]);

                r = child ? strings_add(strings, child, err) : error_memory(err);
                if (!r)
                        r = add_grant(granter, strings->items[strings->count - 1], access, err);
        }
        if (!r && access & LL_READ_DIR && !granter->lists_directories)
                r = add_rule(granter, (struct child_rule){ access & LL_READ_DIR, path, false, NULL }, err);
        return r;
}

/* Whether the command, which has no capabilities, can list the directory, as it must to go round something in it. */
static bool is_listable(const char *path)
{
        struct stat status;

        if (reach_effective_access(path, R_OK) < 0)
                return errno != EACCES;
        if (geteuid() || reach_stat(path, &status) < 0)
                return true;
        return status.st_mode & (status.st_uid ? S_IROTH : S_IRUSR);
}

/* `path` lives as long as the resources. */
static int add_grant(struct granter *granter, const char *path, uint64_t access, abatis_error *err)
{
        OWN_FREE const char **except = NULL;
        int r;

        if (is_avoided(granter, path))
                return 0;
        r = list_exceptions(granter, path, &except, err);
        if (r < 0)
                return r;
        if (!except)
                return add_rule(granter, (struct child_rule){ access, path, false, NULL }, err);
        if (!is_listable(path))
                return error_set(
                        err, ABATIS_E_UNENFORCEABLE,
                        "filesystem.deny in '%s' cannot be enforced: the directory cannot be listed, "
                        "and rights can only be given to what is known",
                        path);
        r = add_entries(granter, path, access, except, err);
        if (!r)
                r = add_rule(granter, (struct child_rule){ access, path, false, except }, err);
        if (!r)
                take_pointer(except);
        return r;
}

static int sort_avoided(struct granter *granter, abatis_error *err)
{
        const struct strings *avoided = &granter->plan->avoided;

        if (!avoided->count)
                return 0;
        granter->avoided = malloc(avoided->count * sizeof(*granter->avoided));
        if (!granter->avoided)
                return error_memory(err);
        granter->avoided_count = avoided->count;
        for (size_t i = 0; i < avoided->count; i++)
                granter->avoided[i] = avoided->items[i];
        qsort(granter->avoided, avoided->count, sizeof(*granter->avoided), compare_avoided);
        return 0;
}

static int add_grants(struct granter *granter, abatis_error *err)
{
        int r = sort_avoided(granter, err);

        for (size_t i = 0; i < granter->plan->grant_count && !r; i++) {
                const struct grant *grant = &granter->plan->grants[i];
                uint64_t access = rights_to_access(grant->rights, granter->host->landlock_abi);

                r = grant->is_inside
                            ? add_rule(granter, (struct child_rule){ access, grant->path, true, NULL }, err)
                            : add_grant(granter, grant->path, access, err);
        }
        free(granter->avoided);
        return r;
}

int grants_make(const struct plan *plan, const abatis_policy *policy, const abatis_host *host,
                struct resources *resources, abatis_error *err)
{
        struct granter granter = { .plan = plan,
                                   .policy = policy,
                                   .host = host,
                                   .resources = resources,
                                   .lists_directories = plan_has(plan, PLAN_SWEEP) };
        struct ll_ruleset *ruleset = &resources->child.ruleset;
        int abi = host->landlock_abi;

        ruleset->handled_fs = ll_handled_fs(abi);
        /* In a network of its own the sandbox may do what it likes. */
        if (abi >= 4 && policy->network != NETWORK_ALLOW && !plan_has(plan, PLAN_NETWORK) &&
            !plan_has_loopback(plan))
                ruleset->handled_net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
        if (abi >= 6)
                ruleset->scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
        resources->child.ruleset_size = ll_ruleset_size(abi);
        if (plan_has(plan, PLAN_OWN_TMP))
                resources->child.tmp_rights =
                        rights_to_access(GRANT_READ | GRANT_WRITE |
                                                 (policy->commands.count ? 0 : GRANT_EXECUTE),
                                         abi);
        return add_grants(&granter, err);
}
