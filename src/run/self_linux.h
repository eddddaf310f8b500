/* self_linux.h: what this process passes on to those it starts, as far as it can be asked for quickly. */
#ifndef RUN_SELF_LINUX_H
#define RUN_SELF_LINUX_H

#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SELF_GROUPS = 64, SELF_LIMITS = 16, SELF_NAMESPACE = 32 };

/* Filled with zeros first, and compared as a whole. Not among it: the umask, which nobody can ask for without changing it, and a domain
 * of Landlock's, which nobody can ask for. */
struct self {
        uid_t users[3];
        gid_t groups[3], others[SELF_GROUPS];
        int other_count;
        uint64_t limits[SELF_LIMITS][2];
        int priority, has_no_new_privileges, seccomp_mode;
        cpu_set_t processors;
        struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
        struct {
                uint32_t device[2];
                uint64_t inode, mount;
        } root;
        char network[SELF_NAMESPACE], mounts[SELF_NAMESPACE]; /* namespaces, "net:[4026531840]"; or "" */
};

/* Of the calling thread. */
void self_look(struct self *self);
bool self_is_as_before(const struct self *before);

#endif
