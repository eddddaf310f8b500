/* host_linux.c: finds out what this machine can enforce by trying it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/program.h"
#include "run/cgroup_linux.h"
#include "run/host_linux.h"
#include "run/landlock_linux.h"
#include "run/probe_linux.h"
#include "run/run.h"
#include "run/syscall_linux.h"

static bool has_capability(unsigned capability)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

        if (syscall(SYS_capget, &header, data) < 0)
                return false;
        return data[capability / 32].effective >> (capability % 32) & 1;
}

void host_probe_quickly(abatis_host *host)
{
        struct utsname name;
        long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);

#ifdef LANDLOCK_ABI_MAX /* for tests: as on an older kernel */
        abi = abi > LANDLOCK_ABI_MAX ? LANDLOCK_ABI_MAX : abi;
#endif
        *host = (abatis_host){ 0 };
        if (!uname(&name)) {
                memcpy(host->kernel, name.release, sizeof(host->kernel));
                memcpy(host->machine, name.machine, sizeof(host->machine));
        }
        host->uid = geteuid();
        host->gid = getegid();
        host->landlock_abi = abi > 0 ? (int)abi : 0;
        /* A bad descriptor tells a kernel that knows the call from one that does not. */
        host->has_mount_setattr = syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) < 0 && errno != ENOSYS;
        /* Whether an ordinary user may make namespaces is found out by making them: the launch fails closed. */
        host->namespaces = has_capability(CAP_SYS_ADMIN) ? NAMESPACES_ROOT : NAMESPACES_USER;
}

/* ---- the full probe ------------------------------------------------------------------------------------- */

static struct host_finding *add_finding(abatis_host *host, const char *name, bool is_available,
                                        bool is_required)
{
        struct host_finding *finding = &host->findings[host->finding_count];

        /* More findings than lines: the last line is overwritten, which the doctor's test would show. */
        if (host->finding_count < HOST_MAX_FINDINGS - 1)
                host->finding_count++;

        *finding = (struct host_finding){ .name = name,
                                          .is_available = is_available,
                                          .is_required = is_required };
        return finding;
}

/* Runs `attempt` in a child and returns 0 or the errno it ended with. */
static int try_in_child(int (*attempt)(const void *), const void *argument)
{
        int status;
        pid_t pid = probe_fork();

        if (pid < 0)
                return errno;
        if (!pid)
                _exit(attempt(argument) ? errno & 0xff : 0);
        if (probe_wait(pid, &status) < 0)
                return errno;
        return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int write_text(const char *path, const char *text)
{
        OWN_FD int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* A user namespace counts only when ids can be mapped and it gives power over mounts: AppArmor on Ubuntu lets the
 * first step through and takes the capabilities away. */
static int enter_user_namespace(void)
{
        char map[48];
        uid_t uid = geteuid();
        gid_t gid = getegid();

        if (unshare(CLONE_NEWUSER) < 0 || write_text("/proc/self/setgroups", "deny") < 0)
                return -1;
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        if (write_text("/proc/self/uid_map", map) < 0)
                return -1;
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        return write_text("/proc/self/gid_map", map);
}

struct namespace_attempt {
        bool needs_user;
        int flags;
};

static int attempt_namespace(const void *argument)
{
        const struct namespace_attempt *attempt = argument;

        if (attempt->needs_user && enter_user_namespace() < 0)
                return -1;
        if (unshare(attempt->flags) < 0)
                return -1;
        if (attempt->flags & CLONE_NEWNS)
                return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        return 0;
}

static int attempt_proc(const void *argument)
{
        struct namespace_attempt attempt = *(const struct namespace_attempt *)argument;
        int status;
        pid_t pid;

        attempt.flags = CLONE_NEWNS | CLONE_NEWPID;
        if (attempt_namespace(&attempt) < 0)
                return -1;
        pid = probe_fork();
        if (pid < 0)
                return -1;
        if (!pid)
                _exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) ? errno & 0xff
                                                                                             : 0);
        if (probe_wait(pid, &status) < 0)
                return -1;
        errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
        return errno ? -1 : 0;
}

static int attempt_seccomp(const void *argument)
{
        struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
        struct sock_fprog program = { 1, code };

        (void)argument;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* Refused inside a sandbox that has a broker itself: the kernel lets no process have two. */
static int attempt_broker(const void *argument)
{
        struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
        struct sock_fprog program = { 1, code };

        (void)argument;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0
                       ? -1
                       : 0;
}

static int attempt_landlock(const void *argument)
{
        struct ll_ruleset attributes = { .handled_fs = LL_EXECUTE };
        long ruleset = syscall(SYS_landlock_create_ruleset, &attributes, 8, 0);

        (void)argument;
        if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
                return -1;
        return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* A small number in a file of /proc/sys, or -1 when there is no such file. */
static long read_number(const char *path)
{
        char text[32];
        OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (length <= 0)
                return -1;
        text[length] = '\0';
        return strtol(text, NULL, 10);
}

static void explain_user_namespaces(int error, char *out, size_t size)
{
        if (!read_number("/proc/sys/kernel/unprivileged_userns_clone"))
                snprintf(out, size,
                         "user namespaces are off; fix: sysctl kernel.unprivileged_userns_clone=1");
        else if (!read_number("/proc/sys/user/max_user_namespaces"))
                snprintf(out, size,
                         "user namespaces are limited to none; fix: sysctl user.max_user_namespaces=10000");
        else if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
                snprintf(
                        out, size,
                        "AppArmor restricts user namespaces; fix: an AppArmor profile for abatis with 'userns,', or "
                        "sysctl kernel.apparmor_restrict_unprivileged_userns=0");
        else if (error == ENOSPC || error == EUSERS)
                snprintf(out, size, "too many user namespaces (%s); fix: raise user.max_user_namespaces",
                         strerror(error));
        else
                snprintf(
                        out, size,
                        "user namespaces are refused (%s), by a container's seccomp profile or a security module; fix: "
                        "allow unshare and clone with CLONE_NEWUSER there",
                        strerror(error));
}

/* Linux 5.9: what the broker has opened can be given to the caller. */
static bool has_broker_calls(const abatis_host *host)
{
        char *end;
        unsigned long major = strtoul(host->kernel, &end, 10);
        unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

        return major > 5 || (major == 5 && minor >= 9);
}

/* Of oneself the kernel always gives one: who does not is a filter. */
static bool can_take_descriptors(void)
{
        OWN_FD int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
        OWN_FD int taken = self < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, self, self, 0);

        return taken >= 0;
}

static void find_broker(abatis_host *host, int error)
{
        if (!has_broker_calls(host))
                snprintf(host->broker_reason, sizeof(host->broker_reason), "that takes Linux 5.9");
        else if (error == EBUSY || error == EPERM)
                snprintf(
                        host->broker_reason, sizeof(host->broker_reason),
                        "a sandbox around this one has one, or a loopback, and the kernel lets no process have two; "
                        "fix: start that one with --no-loopback");
        else if (error)
                snprintf(host->broker_reason, sizeof(host->broker_reason),
                         "seccomp notifications are refused (%s)", strerror(error));
        else if (read_number("/proc/sys/kernel/yama/ptrace_scope") > 1)
                snprintf(
                        host->broker_reason, sizeof(host->broker_reason),
                        "the memory of one's own processes is closed; fix: sysctl kernel.yama.ptrace_scope=1");
        host->has_broker = !*host->broker_reason;
        host->has_descriptors = host->has_broker && can_take_descriptors();
}

void host_probe_broker(abatis_host *host)
{
        /* Where somebody has set a filter before, it may have a listener. Else it can be had, if at all. */
        find_broker(host, prctl(PR_GET_SECCOMP) == 2 ? try_in_child(attempt_broker, NULL) : 0);
}

/* What the last mount on /proc says of `hidepid`, "" if nothing. */
static void find_hiding(char *out, size_t size)
{
        OWN_FREE char *line = NULL;
        size_t capacity = 0;
        FILE *file = fopen("/proc/self/mountinfo", "re");

        *out = '\0';
        while (file && getline(&line, &capacity, file) > 0) {
                char place[8];
                const char *options = strstr(line, " - "), *found;

                if (sscanf(line, "%*s %*s %*s %*s %7s", place) != 1 || strcmp(place, "/proc") || !options)
                        continue;
                found = strstr(options, "hidepid=");
                found = found ? found + strlen("hidepid=") : "";
                snprintf(out, size, "%.*s", (int)strcspn(found, ", \n"), found);
        }
        if (file)
                fclose(file);
        if (!strcmp(out, "0") || !strcmp(out, "off"))
                *out = '\0';
}

/* Without a PID namespace the processes of a job are looked for in the host's /proc, by whoever their parents are. */
static void probe_kin(abatis_host *host)
{
        char *reason = host->hidden_reason, self[16] = "", hiding[32];
        const size_t size = sizeof(host->hidden_reason);
        struct statfs status;

        if (statfs("/proc", &status) < 0 || status.f_type != PROC_SUPER_MAGIC)
                snprintf(reason, size, "processes are counted in /proc, which is not mounted");
        else if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || strtol(self, NULL, 10) != getpid())
                snprintf(reason, size,
                         "processes are counted in /proc, which is that of another PID namespace; fix: mount "
                         "one of this");
        else if (find_hiding(hiding, sizeof(hiding)), *hiding && !has_capability(CAP_SYS_PTRACE))
                snprintf(reason, size,
                         "processes can hide from who counts them in /proc (hidepid=%s); fix: mount -o "
                         "remount,hidepid=0 /proc",
                         hiding);
        else if (access("/proc/1/stat", R_OK) < 0)
                snprintf(reason, size,
                         "processes are counted in /proc, where those of others cannot be seen (%s)",
                         strerror(errno));
        host->is_tmp_memory =
                !statfs("/tmp", &status) && (status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC);
}

void host_lose_namespaces(abatis_host *host, int error)
{
        if (host->namespaces == NAMESPACES_ROOT)
                snprintf(host->namespaces_reason, sizeof(host->namespaces_reason),
                         "namespaces are refused (%s), as in a container that masks a part of /proc",
                         strerror(error));
        else
                explain_user_namespaces(error, host->namespaces_reason, sizeof(host->namespaces_reason));
        host->namespaces = NAMESPACES_NONE;
        host_probe_broker(host);
        probe_kin(host);
}

static void probe_namespaces(abatis_host *host)
{
        static const struct {
                const char *name;
                int flags;
                bool is_required;
        } kinds[] = {
                { "mount namespace", CLONE_NEWNS, true },     { "PID namespace", CLONE_NEWPID, true },
                { "IPC namespace", CLONE_NEWIPC, true },      { "UTS namespace", CLONE_NEWUTS, false },
                { "network namespace", CLONE_NEWNET, false }, { "cgroup namespace", CLONE_NEWCGROUP, false },
        };
        struct namespace_attempt attempt = { true, CLONE_NEWNS };
        int error = try_in_child(attempt_namespace, &attempt);
        bool is_root = host->namespaces == NAMESPACES_ROOT;
        unsigned first = host->finding_count;
        struct host_finding *finding = add_finding(host, "user namespace", !error, !is_root);

        if (error)
                explain_user_namespaces(error, finding->detail, sizeof(finding->detail));
        else
                snprintf(finding->detail, sizeof(finding->detail), "works for uid %u", host->uid);
        if (is_root)
                attempt.needs_user = false;
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
                attempt.flags = kinds[i].flags;
                error = try_in_child(attempt_namespace, &attempt);
                finding = add_finding(host, kinds[i].name, !error, kinds[i].is_required);
                snprintf(finding->detail, sizeof(finding->detail), "%s",
                         error     ? strerror(error)
                         : is_root ? "works directly"
                                   : "works in a user namespace");
        }
        error = try_in_child(attempt_proc, &attempt);
        finding = add_finding(host, "private /proc", !error, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 !error ? "can be mounted"
                 : error == EPERM
                         ? "refused: the host's /proc is partly masked, as in a container; fix: unmask it"
                         : strerror(error));
        finding = add_finding(host, "recursive read-only", host->has_mount_setattr, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 host->has_mount_setattr ? "mount_setattr" : "mount_setattr needs Linux 5.12");

        /* The quick probe assumed that an ordinary user has user namespaces. */
        for (unsigned i = first; i < host->finding_count; i++)
                if (host->findings[i].is_required && !host->findings[i].is_available &&
                    host->namespaces != NAMESPACES_NONE) {
                        host->namespaces = NAMESPACES_NONE;
                        snprintf(host->namespaces_reason, sizeof(host->namespaces_reason), "%s",
                                 host->findings[i].detail);
                }
}

static void probe_kernel(abatis_host *host)
{
        struct host_finding *finding;
        int error = try_in_child(attempt_seccomp, NULL);
        long errata;

        finding = add_finding(host, "seccomp", !error, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 error ? strerror(error) : "a filter was loaded");

        error = host->landlock_abi ? try_in_child(attempt_landlock, NULL) : EOPNOTSUPP;
        finding = add_finding(host, "Landlock", !error, true);
        if (error) {
                host->landlock_abi = 0;
                snprintf(finding->detail, sizeof(finding->detail),
                         "%s; fix: a kernel with CONFIG_SECURITY_LANDLOCK and 'landlock' in lsm=",
                         strerror(error));
                return;
        }
        errata = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_ERRATA);
        host->landlock_errata = errata > 0 ? (uint32_t)errata : 0;
        snprintf(finding->detail, sizeof(finding->detail), "ABI %d, fixed errata 0x%x%s", host->landlock_abi,
                 host->landlock_errata,
                 host->landlock_abi < LANDLOCK_WITH_SCOPES
                         ? "; before ABI 6 no abstract unix socket can be connected to inside"
                         : "");
}

static void probe_broker(abatis_host *host)
{
        struct host_finding *finding;

        find_broker(host, try_in_child(attempt_broker, NULL));
        finding = add_finding(host, "broker", host->has_broker, false);
        snprintf(
                finding->detail, sizeof(finding->detail), "%s%s",
                host->has_broker
                        ? "seccomp notifications, for patterns, absent paths, and where there are no namespaces"
                        : host->broker_reason,
                host->has_broker && !host->has_descriptors
                        ? "; pidfd_getfd is refused, so that with unix sockets allowed these are refused"
                        : "");
}

void host_probe_limits(abatis_host *host)
{
        cgroup_find(&host->cgroup);
        host->has_io_accounting = !access("/proc/self/io", R_OK);
}

/* Where limits for a whole tree are set by the kernel; elsewhere the tree is counted. */
static void find_limits(abatis_host *host)
{
        const struct host_cgroup *cgroup = &host->cgroup;
        struct host_finding *finding;

        host_probe_limits(host);
        finding = add_finding(host, "cgroup", cgroup->has_memory && cgroup->has_pids, false);
        if (*cgroup->directory)
                snprintf(finding->detail, sizeof(finding->detail), "%.120s: processor time%s%s%s%s",
                         cgroup->directory, cgroup->has_memory ? ", memory" : "",
                         cgroup->has_pids ? ", processes" : "", *cgroup->reason ? "; " : "", cgroup->reason);
        else
                snprintf(finding->detail, sizeof(finding->detail), "%s", cgroup->reason);
        probe_kin(host);
        finding = add_finding(host, "processes in /proc", !*host->hidden_reason, false);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 *host->hidden_reason ? host->hidden_reason
                                      : "none can hide; counted where there are no namespaces");
        finding = add_finding(host, "io accounting", host->has_io_accounting, false);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 host->has_io_accounting ? "/proc/PID/io says what is written"
                                         : "no /proc/PID/io; fix: a kernel with CONFIG_TASK_IO_ACCOUNTING");
}

int host_probe_fully(abatis_host *host, abatis_error *err)
{
        host_probe_quickly(host);
        host->findings = calloc(HOST_MAX_FINDINGS, sizeof(*host->findings));
        if (!host->findings)
                return error_memory(err);
        probe_kernel(host);
        probe_namespaces(host);
        probe_broker(host);
        find_limits(host);
        host_probe_bwrap(host);
        return 0;
}

void host_done(abatis_host *host)
{
        free(host->findings);
        host->findings = NULL;
        host->finding_count = 0;
}
