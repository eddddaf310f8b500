/* broker_linux.c: turns a policy's rules into the lists that the broker in init decides by. */
#define _GNU_SOURCE
#include "run/broker_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"

#define KIND(kind) (1u << (kind))

/* Where only listed sockets are connected to, their places were found with the policy, and a name only chooses. */
enum { ABOUT_NAMES = BROKER_WRITES | BROKER_READS | BROKER_CONNECTS };

static const char *const none[] = { NULL };

/* A list that ends with NULL: `others`, and the rules of these kinds. Absent paths are among them: they may appear. */
static const char **list_paths(const abatis_policy *policy, unsigned kinds, const char *const *others)
{
        const char **list;
        size_t count = 0;

        while (others[count])
                count++;
        list = calloc(policy->rule_count + count + 1, sizeof(*list));
        for (size_t i = 0; list && i < count; i++)
                list[i] = others[i];
        for (size_t i = 0; list && i < policy->rule_count; i++)
                if (!policy->rules[i].glob && kinds & KIND(policy->rules[i].kind))
                        list[count++] = policy->rules[i].facts.real;
        return list;
}

/* Those that are loaders, or those that are not. */
static const char **list_startables(const abatis_policy *policy, bool are_loaders)
{
        const char **list = calloc(policy->startable_count + 1, sizeof(*list));
        size_t count = 0;

        for (size_t i = 0; list && i < policy->startable_count; i++)
                if ((policy->startables[i].kind == STARTABLE_LOADER) == are_loaders)
                        list[count++] = policy->startables[i].path;
        return list;
}

/* One name at any depth: whatever the directories above it are called. */
static bool is_free(const struct glob *glob)
{
        return glob->count == 2 && glob->parts[0].kind == GLOB_ANY_DEPTH &&
               glob->parts[1].kind != GLOB_ANY_DEPTH;
}

static const struct glob **list_globs(const abatis_policy *policy, unsigned kinds, bool only_fixed)
{
        const struct glob **list = calloc(policy->rule_count + 1, sizeof(*list));
        size_t count = 0;

        for (size_t i = 0; list && i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];

                if (rule->glob && kinds & KIND(rule->kind) && !(only_fixed && is_free(rule->glob)))
                        list[count++] = rule->glob;
        }
        return list;
}

/* Where "Config" is another name of "config", the path that the kernel prints may be spelled as the command spelled it, and a
 * comparison of paths proves nothing. Of what others make up, in user space or on a server, nobody knows. */
static bool tells_names_apart(const char *path)
{
        static const unsigned blind[] = { 0x4d44 /* vfat */,
                                          0x2011bab0 /* exfat */,
                                          0x7366746e /* ntfs3 */,
                                          0x5346544e /* ntfs */,
                                          0x517b /* smb */,
                                          0xff534d42 /* cifs */,
                                          0xfe534d42 /* smb2 */,
                                          0x4244 /* hfs */,
                                          0x482b /* hfs+ */,
                                          0x65735546 /* fuse */,
                                          0x01021997 /* 9p */ };
        OWN_FREE char *parent =
                strndup(path, (size_t)(strrchr(path, '/') - path) + (strrchr(path, '/') == path));
        OWN_FD int fd = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        struct statfs status;
        unsigned long flags = 0;

        /* What is not there yet is made by the broker, beside what is. */
        if (fd < 0)
                return parent && errno == ENOENT && *parent && parent[1] ? tells_names_apart(parent) : false;
        if (fstatfs(fd, &status) < 0)
                return false;
        for (size_t i = 0; i < sizeof(blind) / sizeof(*blind); i++)
                if ((unsigned)status.f_type == blind[i])
                        return false;
        return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || !(flags & FS_CASEFOLD_FL);
}

/* The first writable tree whose file system is of that kind, or NULL. */
static const char *find_blind_tree(const abatis_policy *policy)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_WRITE && !tells_names_apart(policy->rules[i].facts.real))
                        return policy->rules[i].path;
        return NULL;
}

static int check_names(const abatis_policy *policy, unsigned asks, abatis_error *err)
{
        const bool has_protect = asks & BROKER_WRITES; /* who connects may write to what is protected */

        for (size_t i = 0; i < policy->rule_count; i++) {
                const struct rule *rule = &policy->rules[i];
                const char *kind = rule->kind == RULE_DENY ? "deny" : "protect", *blind = NULL;

                if (rule->kind != RULE_DENY && !(rule->kind == RULE_PROTECT && has_protect))
                        continue;
                if (!rule->glob && strlen(rule->facts.real) >= PATH_MAX)
                        return error_set(
                                err, ABATIS_E_UNENFORCEABLE,
                                "filesystem.%s %s cannot be enforced: it is too long for the broker, who "
                                "is told of paths by the kernel",
                                kind, rule->path);
                if (rule->glob)
                        blind = find_blind_tree(policy);
                else if (!tells_names_apart(rule->facts.real))
                        blind = rule->path;
                if (blind)
                        return error_set(
                                err, ABATIS_E_UNENFORCEABLE,
                                "filesystem.%s %s cannot be enforced: the file system of '%s' may take other "
                                "names for a file, so that asking about names does not hold it",
                                kind, rule->path, blind);
        }
        return 0;
}

/* A writable tree in one of libraries is told apart from it by its name. */
static int check_libraries(const abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                for (size_t j = 0; j < policy->libraries.count; j++) {
                        const struct rule *rule = &policy->rules[i];

                        if (rule->kind == RULE_WRITE &&
                            path_is_below(rule->facts.real, policy->libraries.items[j]) &&
                            !tells_names_apart(rule->facts.real))
                                return error_set(
                                        err, ABATIS_E_UNENFORCEABLE,
                                        "process.commands cannot be enforced: '%s' is writable and lies among "
                                        "libraries, '%s', and its file system may take other names for it",
                                        rule->path, policy->libraries.items[j]);
                }
        return 0;
}

/* Where the command may write beside the policy's trees: places of its own. */
static const char *const *own_places(const struct plan *plan)
{
        static const char *const with_tmp[] = { "/tmp", "/dev/shm", "/dev/pts", NULL };

        if (plan_has(plan, PLAN_SWEEP))
                return none;
        return plan_has(plan, PLAN_PRIVATE_TMP) ? with_tmp : with_tmp + 1;
}

/* What the host has and Landlock would not let be read. */
static const char *const *hidden_places(const struct plan *plan, const abatis_policy *policy)
{
        static const char *const all[] = { "/", NULL }, *const of_host[] = { "/dev", "/tmp", NULL };
        static const char *const devices[] = { "/dev", NULL };

        if (!plan_has(plan, PLAN_SWEEP))
                return none;
        if (!policy->reads_all)
                return all;
        return plan_has(plan, PLAN_OWN_TMP) ? of_host : devices;
}

unsigned broker_threads(const struct plan *plan)
{
        if (!plan_has(plan, PLAN_BROKER))
                return 0;
        return plan_broker_asks(plan) & (ABOUT_NAMES | BROKER_MAPPINGS | BROKER_SOCKETS | BROKER_STREAMS) ? 3
                                                                                                          : 1;
}

static const char **list_strings(const struct strings *strings)
{
        const char **list = calloc(strings->count + 1, sizeof(*list));

        for (size_t i = 0; list && i < strings->count; i++)
                list[i] = strings->items[i];
        return list;
}

/* The sockets are the host's, whatever mounts the command gets: before there are any, its root is held. */
static int hold_host(struct child_broker *broker, const abatis_policy *policy, abatis_error *err)
{
        struct stat status;

        broker->sockets = list_strings(&policy->socket_places);
        broker->socket_names = list_strings(&policy->socket_names);
        if (!broker->sockets || !broker->socket_names)
                return error_memory(err);
        broker->host = fd_above_stdio(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (broker->host < 0 || fstat(broker->host, &status) < 0)
                return error_os(err, errno, "cannot open the root directory");
        broker->host_device = status.st_dev;
        broker->host_inode = status.st_ino;
        return 0;
}

int broker_make(const struct plan *plan, const abatis_policy *policy, struct resources *resources,
                abatis_error *err)
{
        const unsigned granted = KIND(RULE_READ) | KIND(RULE_WRITE) | KIND(RULE_EXECUTE);
        const unsigned closed = KIND(RULE_DENY) | KIND(RULE_PROTECT);
        struct child_broker *broker = &resources->broker;
        int r = 0;

        broker->host = -1;
        broker->open = list_paths(policy, KIND(RULE_WRITE), own_places(plan));
        broker->closed = list_paths(policy, closed, none);
        broker->hidden = list_paths(policy, 0, hidden_places(plan, policy));
        broker->shown = list_paths(policy, granted, none);
        broker->denied = list_paths(policy, KIND(RULE_DENY), none);
        broker->programs = list_startables(policy, false);
        broker->loaders = list_startables(policy, true);
        broker->libraries = list_strings(&policy->libraries);
        broker->closed_globs = list_globs(policy, closed, false);
        broker->denied_globs = list_globs(policy, KIND(RULE_DENY), false);
        broker->fixed_globs = list_globs(policy, closed, true);
        if (!broker->open || !broker->closed || !broker->hidden || !broker->shown || !broker->denied ||
            !broker->programs || !broker->loaders || !broker->libraries || !broker->closed_globs ||
            !broker->denied_globs || !broker->fixed_globs)
                return error_memory(err);
        broker->asks = plan_broker_asks(plan);
        broker->threads = broker_threads(plan);
        broker->is_among_others = plan_has(plan, PLAN_SWEEP);
        resources->child.broker = broker;
        broker->has_streams = broker->asks & BROKER_STREAMS;
        broker->has_unix_only = policy->network != NETWORK_ALLOW && !plan_has(plan, PLAN_NETWORK) &&
                                !plan_has_loopback(plan) && !broker->has_streams;
        /* The scope that the command's own domain has is not the broker's, who connects in its place. */
        broker->needs_scope =
                broker->asks & BROKER_CONNECTS && resources->host->landlock_abi >= LANDLOCK_WITH_SCOPES;
        if (broker->asks & BROKER_SOCKETS)
                r = hold_host(broker, policy, err);
        if (!r && broker->asks & ABOUT_NAMES)
                r = check_names(policy, broker->asks, err);
        return !r && broker->asks & BROKER_MAPPINGS ? check_libraries(policy, err) : r;
}

void broker_done(struct resources *resources)
{
        struct child_broker *broker = &resources->broker;

        free((void *)broker->open);
        free((void *)broker->closed);
        free((void *)broker->hidden);
        free((void *)broker->shown);
        free((void *)broker->denied);
        free((void *)broker->programs);
        free((void *)broker->loaders);
        free((void *)broker->libraries);
        free((void *)broker->closed_globs);
        free((void *)broker->denied_globs);
        free((void *)broker->fixed_globs);
        free((void *)broker->sockets);
        free((void *)broker->socket_names);
        if (resources->child.broker && broker->host >= 0)
                close(broker->host);
}
