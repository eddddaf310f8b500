/* enter.c: starts a program as somebody else, and somewhere else.
 *
 *   enter UID user|none|docker|masked PROGRAM ARGUMENT...
 *
 * "none": in a user namespace in which no other can be made, and without any capability in it: what a machine that
 * forbids user namespaces looks like from inside, without being one.
 * "docker": under what Docker's default seccomp profile refuses, and with no capabilities but those that it leaves to root.
 * "masked": in a container that covers a part of /proc: namespaces can be made, and no new /proc mounted in them. Takes
 * root to set up. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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

/* What the profile allows only to who has CAP_SYS_ADMIN and the like; clone by its flags, and clone3 not at all. */
static void refuse_calls(void)
{
        static const int refused[] = {
                SYS_unshare,
                SYS_setns,
                SYS_mount,
                SYS_umount2,
                SYS_pivot_root,
                SYS_swapon,
                SYS_swapoff,
                SYS_reboot,
                SYS_acct,
                SYS_quotactl,
                SYS_init_module,
                SYS_finit_module,
                SYS_delete_module,
                SYS_bpf,
                SYS_perf_event_open,
                SYS_userfaultfd,
                SYS_lookup_dcookie,
                SYS_fanotify_init,
                SYS_add_key,
                SYS_request_key,
                SYS_keyctl,
                SYS_kexec_load,
                SYS_settimeofday,
                SYS_clock_settime,
                SYS_sethostname,
                SYS_setdomainname,
                SYS_syslog,
                SYS_open_by_handle_at,
                SYS_vhangup,
                SYS_kcmp,
                425 /* io_uring_setup */,
                426,
                427,
                428 /* open_tree */,
                429,
                430,
                431,
                432,
                433,
                438 /* pidfd_getfd */,
                442 /* mount_setattr */,
                443,
        };
        enum { COUNT = sizeof(refused) / sizeof(*refused), NAMESPACES = 0x7e020080 };
        struct sock_filter code[2 * COUNT + 16];
        unsigned short at = 0;

#define ADD(...) (code[at++] = (struct sock_filter)__VA_ARGS__)
        ADD({ BPF_LD | BPF_W | BPF_ABS, 0, 0, 0 });
        for (int i = 0; i < COUNT; i++) {
                ADD({ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)refused[i] });
                ADD({ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM });
        }
        ADD({ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 435 /* clone3 */ });
        ADD({ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS });
        ADD({ BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone });
        ADD({ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args) });
        ADD({ BPF_JMP | BPF_JSET | BPF_K, 0, 1, NAMESPACES });
        ADD({ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM });
        ADD({ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW });
#undef ADD
        struct sock_fprog program = { at, code };

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                fail("seccomp");
}

/* Those that Docker gives to root. */
static void keep_few_capabilities(void)
{
        static const int kept[] = { CAP_CHOWN,       CAP_DAC_OVERRIDE,    CAP_FSETID, CAP_FOWNER,
                                    CAP_MKNOD,       CAP_NET_RAW,         CAP_SETGID, CAP_SETUID,
                                    CAP_SETFCAP,     CAP_SETPCAP,         CAP_KILL,   CAP_SYS_CHROOT,
                                    CAP_AUDIT_WRITE, CAP_NET_BIND_SERVICE };
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

        for (size_t i = 0; i < sizeof(kept) / sizeof(*kept) && !geteuid(); i++)
                sets[kept[i] / 32].effective |= 1u << (kept[i] % 32);
        for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
                sets[i].permitted = sets[i].effective;
        for (int capability = 0; capability < 64 && !geteuid(); capability++)
                if (!(sets[capability / 32].effective >> (capability % 32) & 1))
                        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
        if (syscall(SYS_capset, &header, sets))
                fail("capset");
}

static void mask_proc(void)
{
        if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
            mount("/dev/null", "/proc/timer_list", NULL, MS_BIND, NULL) ||
            mount("/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL) ||
            mount(NULL, "/proc/sys", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL))
                fail("mask /proc");
}

int main(int argc, char **argv)
{
        /* A sandbox that fails must not take the machine with it. */
        const struct rlimit processes = { 1500, 1500 };
        unsigned id = argc > 3 ? (unsigned)atoi(argv[1]) : 0;

        if (argc < 4)
                return 2;
        if (!strcmp(argv[2], "masked"))
                mask_proc();
        if (!geteuid() && id && (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id)))
                fail("setresuid");
        /* The change of ids made this process undumpable, and its maps root's. */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        if (!strcmp(argv[2], "none"))
                forbid_namespaces();
        if (!strcmp(argv[2], "docker")) {
                keep_few_capabilities();
                refuse_calls();
        }
        setrlimit(RLIMIT_NPROC, &processes);
        execv(argv[3], argv + 3);
        fail(argv[3]);
}
