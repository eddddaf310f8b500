/* enter.c: starts a program as somebody else.
 *
 *   enter UID user|none PROGRAM ARGUMENT...
 *
 * "none": in a user namespace in which no other can be made, and without any capability in it: what a machine that
 * forbids user namespaces looks like from inside, without being one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what)
{
        perror(what);
        exit(125);
}

static void write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                fail(path);
        close(fd);
}

static void forbid_namespaces(void)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
        char map[48];
        unsigned uid = geteuid(), gid = getegid();

        if (unshare(CLONE_NEWUSER))
                fail("unshare");
        write_text("/proc/self/setgroups", "deny");
        snprintf(map, sizeof(map), "%u %u 1", uid, uid);
        write_text("/proc/self/uid_map", map);
        snprintf(map, sizeof(map), "%u %u 1", gid, gid);
        write_text("/proc/self/gid_map", map);
        write_text("/proc/sys/user/max_user_namespaces", "0");
        for (int capability = 0; capability < 64; capability++)
                prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
        if (syscall(SYS_capset, &header, none))
                fail("capset");
}

int main(int argc, char **argv)
{
        /* A sandbox that fails must not take the machine with it. */
        const struct rlimit processes = { 1500, 1500 };
        unsigned id = argc > 3 ? (unsigned)atoi(argv[1]) : 0;

        if (argc < 4)
                return 2;
        if (!geteuid() && id && (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id)))
                fail("setresuid");
        /* The change of ids made this process undumpable, and its maps root's. */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        if (!strcmp(argv[2], "none"))
                forbid_namespaces();
        setrlimit(RLIMIT_NPROC, &processes);
        execv(argv[3], argv + 3);
        fail(argv[3]);
}
