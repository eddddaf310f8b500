/* cgroup_linux.h: a cgroup v2 directory of a job's own, where the user has a delegated subtree. */
#ifndef RUN_CGROUP_LINUX_H
#define RUN_CGROUP_LINUX_H

#include "plan/host.h"

enum { CGROUP_PATH_MAX = 512 };

/* Finds the nearest directory, from this process's own cgroup upwards, in which a job can have one. */
void cgroup_find(struct host_cgroup *out);

/* The path in the hierarchy, from the text of /proc/self/cgroup; false when there is none that can be used. */
bool cgroup_parse_own(const char *text, char out[CGROUP_PATH_MAX]);
/* Where that path is, from the text of /proc/self/mountinfo; *root_length is the length of the hierarchy's mount point,
 * above which nothing is looked for. */
bool cgroup_parse_mounts(const char *text, const char *own, char out[CGROUP_PATH_MAX], size_t *root_length);
/* Whether a list as in cgroup.controllers has a name. */
bool cgroup_has_word(const char *list, const char *word);
/* The number behind a name, one to a line, as in memory.events and cpu.stat; 0 when it is not there. */
uint64_t cgroup_parse_value(const char *text, const char *name);

struct cgroup {
        int parent, directory; /* owned, or -1 */
        char name[48];         /* "" when there is nothing to remove */
};

#define CGROUP_INIT                           \
        {                                     \
                .parent = -1, .directory = -1 \
        }

/* A new directory with these limits; 0 is none. Empty ones whose owner died are removed on the way. */
int cgroup_open(struct cgroup *cgroup, const struct host_cgroup *place, uint64_t memory, uint64_t processes,
                abatis_error *err);
/* Processor time of the tree in microseconds; false when it cannot be read. */
bool cgroup_read_cpu(const struct cgroup *cgroup, uint64_t *out);
/* How often processes were killed for want of memory, or could not be started for want of a number. */
uint64_t cgroup_read_kills(const struct cgroup *cgroup);
uint64_t cgroup_read_refusals(const struct cgroup *cgroup);
/* Kills whatever is left in it. */
void cgroup_kill(const struct cgroup *cgroup);
void cgroup_done(struct cgroup *cgroup);

#endif
