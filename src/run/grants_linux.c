/* grants_linux.c: opens a plan's grants as Landlock rules, going round denied paths that do not exist yet.
 *
 * Landlock has no holes: a right on a directory reaches everything below it. To keep a path out that may appear later,
 * the rights go to every entry of its ancestors instead of to the ancestors, and a newcomer has none. */
#define _GNU_SOURCE
#include "run/grants_linux.h"

#include <dirent.h>
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
static int add_opened(struct resources *resources, int *fd, uint64_t access, abatis_error *err)
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
        r = add_rule(resources, (struct child_rule){ access, *fd, NULL }, err);
        if (!r)
                take_fd(fd);
        return r;
}

static bool leads_to_absent(const struct plan *plan, const char *path)
{
        for (size_t i = 0; i < plan->absent.count; i++)
                if (path_is_below(plan->absent.items[i], path))
                        return true;
        return false;
}

static int open_grant(const struct plan *plan, const char *path, uint64_t access, struct resources *resources,
                      abatis_error *err);

static int open_entries(const struct plan *plan, const char *path, uint64_t access,
                        struct resources *resources, abatis_error *err)
{
        DIR *directory = opendir(path);
        struct dirent *entry;
        int r = 0;

        /* What cannot be listed cannot be granted entry by entry: refuse rather than grant the whole. */
        if (!directory)
                return error_os(err, errno, "cannot list '%s', in which a denied path may appear", path);
        while (!r && (entry = readdir(directory))) {
                OWN_FREE char *child = NULL;

                if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
                        continue;
                child = path_join(path, entry->d_name);
                r = child ? open_grant(plan, child, access, resources, err) : error_memory(err);
        }
        closedir(directory);
        return r;
}

static int open_grant(const struct plan *plan, const char *path, uint64_t access, struct resources *resources,
                      abatis_error *err)
{
        OWN_FD int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        int r;

        if (fd < 0) {
                /* Gone since the directory was listed, or out of the user's own reach. */
                if (errno == ENOENT || errno == EACCES)
                        return 0;
                return error_os(err, errno, "cannot open '%s'", path);
        }
        if (!leads_to_absent(plan, path))
                return add_opened(resources, &fd, access, err);
        /* The directory itself may be listed, as the user expects of `ls`; names below it are no secret. */
        r = add_opened(resources, &fd, access & LL_READ_DIR, err);
        return r ? r : open_entries(plan, path, access, resources, err);
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
                int r = grant->is_staged
                                ? add_rule(resources, (struct child_rule){ access, -1, grant->path }, err)
                                : open_grant(plan, grant->path, access, resources, err);

                if (r < 0)
                        return r;
        }
        return 0;
}
