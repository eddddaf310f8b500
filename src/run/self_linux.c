/* self_linux.c: what this process passes on to those it starts. */
#define _GNU_SOURCE
#include "run/self_linux.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/statx_linux.h"

/* What the link says is all that is wanted: to follow it costs more. */
static void name_namespace(const char *link, char out[SELF_NAMESPACE])
{
        (void)!readlink(link, out, SELF_NAMESPACE);
}

void self_look(struct self *self)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct statx_facts root;

        memset(self, 0, sizeof(*self));
        getresuid(&self->users[0], &self->users[1], &self->users[2]);
        getresgid(&self->groups[0], &self->groups[1], &self->groups[2]);
        /* Of very many only that there are. */
        self->other_count = getgroups(SELF_GROUPS, self->others);
        for (int i = 0; i < SELF_LIMITS; i++)
                syscall(SYS_prlimit64, 0, i, NULL, self->limits[i]);
        self->priority = getpriority(PRIO_PROCESS, 0);
        self->has_no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
        self->seccomp_mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);
        sched_getaffinity(0, sizeof(self->processors), &self->processors);
        syscall(SYS_capget, &header, self->capabilities);
        if (!statx_examine(AT_FDCWD, "/", &root)) {
                memcpy(self->root.device, root.device, sizeof(root.device));
                self->root.inode = root.inode;
                self->root.mount = root.known & STATX_KNOWS_MOUNT ? root.mount : 0;
        }
        name_namespace("/proc/thread-self/ns/net", self->network);
        /* The root of another namespace is another mount. */
        if (!self->root.mount)
                name_namespace("/proc/thread-self/ns/mnt", self->mounts);
}

bool self_is_as_before(const struct self *before)
{
        struct self now;

        self_look(&now);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): what lies between the members is zero in both */
        return !memcmp(&now, before, sizeof(now));
}
