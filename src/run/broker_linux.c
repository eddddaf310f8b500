/* broker_linux.c: turns a policy's rules into the lists that the broker in init decides by. */
#define _GNU_SOURCE
#include "run/broker_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>

#include "base/error.h"
#include "base/own.h"

#define KIND(kind) (1u << (kind))

/* A list that ends with NULL; `first`, unless it is NULL, comes before the rules of these kinds. Absent paths are among them:
 * they may appear. */
static const char **list_paths(const abatis_policy *policy, unsigned kinds, const char *first)
{
        const char **list = calloc(policy->rule_count + 2, sizeof(*list));
        size_t count = 0;

        if (list && first)
                list[count++] = first;
        for (size_t i = 0; list && i < policy->rule_count; i++)
                if (!policy->rules[i].glob && kinds & KIND(policy->rules[i].kind))
                        list[count++] = policy->rules[i].facts.real;
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

static int check_names(const abatis_policy *policy, abatis_error *err)
{
        for (size_t i = 0; i < policy->rule_count; i++)
                if (policy->rules[i].kind == RULE_PROTECT && !policy->rules[i].glob &&
                    !tells_names_apart(policy->rules[i].facts.real))
                        return error_set(
                                err, ABATIS_E_UNENFORCEABLE,
                                "filesystem.protect %s cannot be enforced: its file system may take other "
                                "names for it, and without namespaces there is no mount to hold it",
                                policy->rules[i].path);
        return 0;
}

int broker_make(const struct plan *plan, const abatis_policy *policy, struct resources *resources,
                abatis_error *err)
{
        const unsigned granted = KIND(RULE_READ) | KIND(RULE_WRITE) | KIND(RULE_EXECUTE);
        const char *hidden = !policy->reads_all ? "/" : plan_has(plan, PLAN_OWN_TMP) ? "/tmp" : NULL;
        struct child_broker *broker = &resources->broker;

        broker->open = list_paths(policy, KIND(RULE_WRITE), NULL);
        broker->closed = list_paths(policy, KIND(RULE_DENY) | KIND(RULE_PROTECT), NULL);
        broker->hidden = list_paths(policy, 0, hidden);
        broker->shown = list_paths(policy, granted, NULL);
        broker->denied = list_paths(policy, KIND(RULE_DENY), NULL);
        if (!broker->open || !broker->closed || !broker->hidden || !broker->shown || !broker->denied)
                return error_memory(err);
        resources->child.broker = broker;
        return plan_asks_writes(plan) ? check_names(policy, err) : 0;
}

void broker_done(struct resources *resources)
{
        struct child_broker *broker = &resources->broker;

        free((void *)broker->open);
        free((void *)broker->closed);
        free((void *)broker->hidden);
        free((void *)broker->shown);
        free((void *)broker->denied);
}
