/* grants_linux.c: opens a plan's grants as Landlock rules that go round the denied paths.
 *
 * Landlock has no holes: a right on a directory reaches everything below it. To keep a path out, also when it appears
 * or is replaced later, the rights go to the entries of its ancestors instead of to the ancestors: a newcomer has
 * none. */
#define _GNU_SOURCE
#include "run/grants_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static int add_rule(struct resources *resources, struct child_rule rule, abatis_error *err)
{
        size_t count = resources->child.rule_count;

        if (count == resources->rule_capacity) {
                size_t wanted = count ? 2 * count : 16;
                struct child_rule *rules = realloc(resources->rules, wanted * sizeof(*rules));

                if (!rules)
                        return error_memory(err);
                resources->rules = rules;
                resources->rule_capacity = wanted;
        }
        resources->rules[count] = rule;
        resources->child.rule_count++;
        return 0;
}

/* A rule on what `fd` names; takes the descriptor on success. */
static int add_opened(struct resources *resources, int *fd, uint64_t access, const char *const *except,
                      abatis_error *err)
{
        struct stat status;
        int r;

        if (fstat(*fd, &status) < 0)
                return error_os(err, errno, "cannot examine a granted path");
        if (S_ISLNK(status.st_mode))
                return 0; /* what it leads to has rights of its own, or none */
        if (!S_ISDIR(status.st_mode))
                access &= LL_FILE_RIGHTS;
        if (!access)
                return 0;
        r = add_rule(resources, (struct child_rule){ access, *fd, NULL, except }, err);
        if (!r)
                take_fd(fd);
        return r;
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

/* The entries of `directory` that are avoided or lead to what is: a NULL-terminated list, its strings in one block
 * behind the pointers. Empty when there is none. */
static int list_exceptions(const struct plan *plan, const char *directory, const char ***out, size_t *count,
                           abatis_error *err)
{
        size_t pointers = (plan->avoided.count + 1) * sizeof(char *), bytes = 0, length;
        const char **list;
        char *strings;

        for (size_t i = 0; i < plan->avoided.count; i++)
                bytes += strlen(plan->avoided.items[i]) + 1;
        list = malloc(pointers + bytes);
        if (!list)
                return error_memory(err);
        strings = (char *)list + pointers;
        *count = 0;
        for (size_t i = 0; i < plan->avoided.count; i++) {
                const char *name = next_component(plan->avoided.items[i], directory, &length);
                bool is_new = name != NULL;

                for (size_t j = 0; j < *count && is_new; j++)
                        is_new = strncmp(list[j], name, length) || list[j][length];
                if (!is_new)
                        continue;
                list[(*count)++] = memcpy(strings, name, length);
                strings[length] = '\0';
                strings += length + 1;
        }
        list[*count] = NULL;
        *out = list;
        return 0;
}

static bool is_avoided(const struct plan *plan, const char *path)
{
        for (size_t i = 0; i < plan->avoided.count; i++)
                if (!strcmp(plan->avoided.items[i], path))
                        return true;
        return false;
}

/* A host that has closed 0, 1 or 2 still means them by those numbers. */
static int open_above_stdio(const char *path)
{
        int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), raised;

        if (fd < 0 || fd > 2)
                return fd;
        raised = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        close(fd);
        return raised;
}

static int open_grant(const struct plan *plan, const char *path, uint64_t access, struct resources *resources,
                      abatis_error *err);

/* The entries get the rights, except those on the way to what is avoided; for these the same is done one level down.
 * The directory itself may be listed, as people expect of `ls`. */
static int open_entries(const struct plan *plan, const char *path, int *directory, uint64_t access,
                        const char **except, size_t count, struct resources *resources, abatis_error *err)
{
        OWN_FD int itself = fcntl(*directory, F_DUPFD_CLOEXEC, 3);
        int r = itself < 0 ? error_os(err, errno, "cannot open '%s'", path) : 0;

        for (size_t i = 0; i < count && !r; i++) {
                OWN_FREE char *child = path_join(path, except[i]);

                r = child ? open_grant(plan, child, access, resources, err) : error_memory(err);
        }
        if (!r)
                r = add_opened(resources, &itself, access & LL_READ_DIR, NULL, err);
        if (!r)
                r = add_opened(resources, directory, access, except, err);
        if (r < 0)
                free(except);
        return r;
}

static int open_grant(const struct plan *plan, const char *path, uint64_t access, struct resources *resources,
                      abatis_error *err)
{
        OWN_FD int fd = is_avoided(plan, path) ? -1 : open_above_stdio(path);
        const char **except = NULL;
        size_t count = 0;
        int r;

        if (fd < 0) {
                if (is_avoided(plan, path) || errno == ENOENT || errno == EACCES)
                        return 0; /* kept out, gone, or out of the user's own reach */
                return error_os(err, errno, "cannot open '%s'", path);
        }
        if (!plan->avoided.count)
                return add_opened(resources, &fd, access, NULL, err);
        r = list_exceptions(plan, path, &except, &count, err);
        if (r < 0)
                return r;
        if (count)
                return open_entries(plan, path, &fd, access, except, count, resources, err);
        free(except);
        return add_opened(resources, &fd, access, NULL, err);
}

int grants_open(const struct plan *plan, const abatis_policy *policy, int abi, struct resources *resources,
                abatis_error *err)
{
        struct ll_ruleset *ruleset = &resources->child.ruleset;

        ruleset->handled_fs = ll_handled_fs(abi);
        if (abi >= 4 && policy->network != NETWORK_ALLOW)
                ruleset->handled_net = LL_NET_BIND_TCP | LL_NET_CONNECT_TCP;
        if (abi >= 6)
                ruleset->scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
        resources->child.ruleset_size = ll_ruleset_size(abi);
        for (size_t i = 0; i < plan->grant_count; i++) {
                const struct grant *grant = &plan->grants[i];
                uint64_t access = rights_to_access(grant->rights, abi);
                int r = grant->is_inside ? add_rule(resources,
                                                    (struct child_rule){ access, -1, grant->path, NULL }, err)
                                         : open_grant(plan, grant->path, access, resources, err);

                if (r < 0)
                        return r;
        }
        return 0;
}
