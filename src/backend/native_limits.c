/* native_limits.c: what holds each limit: a cgroup where one is delegated, else a count of the whole tree, and rlimits.
 *
 * An rlimit is of one process, and a fork has it anew. Alone it holds no limit of a tree; beside a count it bounds what
 * one process can do between two looks. */
#include "backend/native.h"

/* Until its exec the command shares the memory of the host program. A cgroup that is out of memory before that would
 * have the kernel kill both, so it must be large enough for everything that comes before: arguments are up to 6 MiB. */
#define LEAST_CGROUP_MEMORY (32ull << 20)

/* Who starts the commands of a shared session has the limit, too. */
enum { LEAST_OPEN_FILES = 16 };

static void hold(struct native *native, enum plan_op op, enum limit limit)
{
        const char *path = op == PLAN_CGROUP ? native->host->cgroup.directory : NULL;

        plan_cover(native->plan, plan_step(native->plan, op, path, limit), CLAUSE_LIMIT, limit);
}

/* Why the supervisor cannot count, or NULL. It finds the tree in the /proc of the job's own namespace, or among all
 * processes in the host's. */
static const char *why_uncounted(const struct native *native, enum limit limit)
{
        const abatis_host *host = native->host;

        if (native->has_mounts)
                return NULL;
        if (host->namespaces != NAMESPACES_NONE)
                return "the processes of a tree can be counted from Linux 5.12 on";
        if (!host_is_bare(host))
                return host->namespaces_reason;
        if (*host->hidden_reason)
                return host->hidden_reason;
        /* The private /tmp is a directory there. */
        if (limit == LIMIT_MEMORY && native->policy->has_private_tmp && host->is_tmp_memory)
                return "files in the command's own directory in /tmp, a tmpfs here, would be memory of no process; fix: "
                       "a cgroup that is delegated, a /tmp on a disk, or filesystem.write without ${tmp}";
        return NULL;
}

static bool count(struct native *native, enum limit limit)
{
        const char *why = why_uncounted(native, limit);

        if (why)
                plan_miss(native->plan, CLAUSE_LIMIT, limit, "%s", why);
        else
                hold(native, PLAN_COUNT, limit);
        return !why;
}

static void limit_processes(struct native *native)
{
        const struct host_cgroup *cgroup = &native->host->cgroup;

        /* Of a cgroup's limit we learn that it was reached. */
        if (cgroup->has_pids)
                hold(native, PLAN_CGROUP, LIMIT_PROCESSES);
        /* The kernel counts a user's processes per user namespace: ours holds just the tree. */
        else if (native->host->namespaces == NAMESPACES_USER)
                hold(native, PLAN_LIMIT, LIMIT_PROCESSES);
        else
                plan_miss(native->plan, CLAUSE_LIMIT, LIMIT_PROCESSES, "%s; run as an ordinary user, or: %s",
                          native->host->namespaces == NAMESPACES_ROOT
                                  ? "the kernel does not count root's processes"
                                  : "without a user namespace the kernel counts all processes of a user",
                          *cgroup->reason ? cgroup->reason : "no cgroup is delegated");
}

bool native_groups_memory(const struct native *native)
{
        return native->host->cgroup.has_memory && !native->policy->shares_session &&
               native->policy->limits[LIMIT_MEMORY] >= LEAST_CGROUP_MEMORY;
}

static void limit_memory(struct native *native)
{
        if (native_groups_memory(native))
                hold(native, PLAN_CGROUP, LIMIT_MEMORY);
        else if (count(native, LIMIT_MEMORY))
                hold(native, PLAN_LIMIT, LIMIT_MEMORY);
}

static void limit_cpu(struct native *native)
{
        if (*native->host->cgroup.directory)
                hold(native, PLAN_CGROUP, LIMIT_CPU);
        else if (!count(native, LIMIT_CPU))
                return;
        hold(native, PLAN_LIMIT, LIMIT_CPU);
}

static void limit_written(struct native *native)
{
        if (native->host->has_io_accounting)
                count(native, LIMIT_WRITTEN);
        else
                plan_miss(
                        native->plan, CLAUSE_LIMIT, LIMIT_WRITTEN,
                        "this kernel does not count what a process writes; it needs CONFIG_TASK_IO_ACCOUNTING");
}

static bool is_of_tree(enum limit limit)
{
        return limit == LIMIT_PROCESSES || limit == LIMIT_MEMORY || limit == LIMIT_CPU ||
               limit == LIMIT_WRITTEN;
}

void native_add_limits(struct native *native)
{
        for (enum limit limit = 0; limit < LIMIT_COUNT; limit++) {
                if (!native->policy->limits[limit])
                        continue;
                /* Who is left over from one command is not of the next one's tree, and nobody says whose else. */
                if (native->policy->shares_session && limit == LIMIT_OPEN_FILES &&
                    native->policy->limits[limit] < LEAST_OPEN_FILES)
                        plan_miss(native->plan, CLAUSE_LIMIT, limit, "a shared session needs %d of them",
                                  LEAST_OPEN_FILES);
                if (native->policy->shares_session && is_of_tree(limit)) {
                        plan_miss(
                                native->plan, CLAUSE_LIMIT, limit,
                                "the commands of a shared session are one tree; fix: session: private, or no "
                                "such limit");
                        continue;
                }
                switch (limit) {
                case LIMIT_OPEN_FILES:
                case LIMIT_FILE_SIZE:
                        hold(native, PLAN_LIMIT, limit);
                        break;
                case LIMIT_PROCESSES:
                        limit_processes(native);
                        break;
                case LIMIT_MEMORY:
                        limit_memory(native);
                        break;
                case LIMIT_CPU:
                        limit_cpu(native);
                        break;
                case LIMIT_WRITTEN:
                        limit_written(native);
                        break;
                case LIMIT_CONNECTIONS: /* native_network.c */
                case LIMIT_CONNECTION_RATE:
                case LIMIT_TRAFFIC:
                case LIMIT_TIMEOUT:
                case LIMIT_OUTPUT:
                case LIMIT_COUNT:
                        break;
                }
        }
}
