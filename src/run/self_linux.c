/* self_linux.c: what this process passes on to those it starts. */
#define _GNU_SOURCE
#include "run/self_linux.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const places[SELF_PLACES] = { "/", "/proc/thread-self/ns/net",
                                                 "/proc/thread-self/ns/mnt" };

void self_look(struct self *self)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct stat status;

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
        for (int i = 0; i < SELF_PLACES; i++)
                if (!stat(places[i], &status)) {
                        self->places[i].device = status.st_dev;
                        self->places[i].inode = status.st_ino;
                }
}

bool self_is_as_before(const struct self *before)
{
        struct self now;

        self_look(&now);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): what lies between the members is zero in both */
        return !memcmp(&now, before, sizeof(now));
}
