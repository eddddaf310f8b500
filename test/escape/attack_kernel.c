/* Attempts on the kernel's wider surface: calls that no tool needs, each with arguments that harm nothing
 * where they work. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int call_io_uring_setup(char **argument)
{
        struct io_uring_params parameters = { 0 };
        (void)argument;
        return outcome_of(syscall(SYS_io_uring_setup, 2, &parameters), "io_uring_setup");
}

/* EBADF for a ring that does not exist: each of the three calls must have its own filter. */
static int call_io_uring_enter(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0), "io_uring_enter",
                                   EBADF);
}

static int call_io_uring_register(char **argument)
{
        (void)argument;
        /* Standard input is no ring. */
        return outcome_of_reaching(syscall(SYS_io_uring_enter + 1, 0, 0, NULL, 0), "io_uring_register",
                                   EOPNOTSUPP);
}

struct ring {
        int fd;
        unsigned int *tail, *array, *completed;
        struct io_uring_sqe *entries;
        struct io_uring_cqe *completions;
};

static int open_ring(struct ring *ring)
{
        struct io_uring_params p = { 0 };
        ring->fd = (int)syscall(SYS_io_uring_setup, 2, &p);
        if (ring->fd < 0)
                return refused("io_uring_setup");
        size_t size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe) + p.sq_off.array + 64;
        char *submit = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_SQ_RING);
        char *complete = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, IORING_OFF_CQ_RING);
        ring->entries = mmap(NULL, p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                             MAP_SHARED, ring->fd, IORING_OFF_SQES);
        if (submit == MAP_FAILED || complete == MAP_FAILED || ring->entries == MAP_FAILED)
                return refused("mmap");
        ring->tail = (unsigned int *)(void *)(submit + p.sq_off.tail);
        ring->array = (unsigned int *)(void *)(submit + p.sq_off.array);
        ring->completed = (unsigned int *)(void *)(complete + p.cq_off.tail);
        ring->completions = (struct io_uring_cqe *)(void *)(complete + p.cq_off.cqes);
        return SUCCEEDED;
}

/* PATH: the open happens in the kernel, past every filter on system calls. */
static int read_io_uring(char **argument)
{
        struct ring ring = { .fd = -1 };
        int outcome = open_ring(&ring);
        if (outcome != SUCCEEDED)
                return outcome;
        ring.entries[0] = (struct io_uring_sqe){
                .opcode = IORING_OP_OPENAT,
                .fd = AT_FDCWD,
                .addr = (uintptr_t)argument[0],
                .open_flags = O_RDONLY,
        };
        ring.array[0] = 0;
        __atomic_store_n(ring.tail, 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
                return refused("io_uring_enter");
        if (__atomic_load_n(ring.completed, __ATOMIC_ACQUIRE) == 0)
                return refused_because("io_uring", "no completion");
        errno = -ring.completions[0].res;
        return ring.completions[0].res < 0 ? refused("openat in the ring")
                                           : reveal_fd(ring.completions[0].res);
}

static int call_userfaultfd(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */ | O_CLOEXEC), "userfaultfd");
}

static int call_bpf(char **argument)
{
        union bpf_attr attributes;
        (void)argument;
        memset(&attributes, 0, sizeof(attributes));
        attributes.map_type = BPF_MAP_TYPE_ARRAY;
        attributes.key_size = attributes.value_size = 4;
        attributes.max_entries = 1;
        return outcome_of(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)), "bpf");
}

static int call_perf_event_open(char **argument)
{
        struct perf_event_attr attributes = {
                .type = PERF_TYPE_SOFTWARE,
                .size = sizeof(attributes),
                .config = PERF_COUNT_SW_TASK_CLOCK,
                .exclude_kernel = 1,
                .exclude_hv = 1,
        };
        (void)argument;
        return outcome_of(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0), "perf_event_open");
}

#define SESSION_KEYRING (-3)

static int call_keyctl(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_keyctl, 0 /* get id */, SESSION_KEYRING, 1, 0, 0), "keyctl");
}

/* KEY: a secret that somebody outside put into the keyring of the user. */
static int call_keyctl_read(char **argument)
{
        char bytes[256];
        long key = syscall(SYS_keyctl, 10 /* search */, -4 /* user keyring */, "user", argument[0], 0);
        if (key < 0)
                return refused("keyctl search");
        long length = syscall(SYS_keyctl, 11 /* read */, key, bytes, sizeof(bytes), 0);
        return length < 0 ? refused("keyctl read") : reveal_bytes(bytes, (size_t)length);
}

static int call_add_key(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_add_key, "user", "escape", "x", 1, -2 /* process keyring */),
                          "add_key");
}

static int call_request_key(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_request_key, "user", "escape-none", NULL, 0), "request_key",
                                   ENOKEY);
}

static int call_fanotify_init(char **argument)
{
        (void)argument;
        return outcome_of(fanotify_init(FAN_CLASS_NOTIF | FAN_REPORT_FID | FAN_CLOEXEC, O_RDONLY),
                          "fanotify_init");
}

static int call_init_module(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_init_module, NULL, 0, ""), "init_module", ENOEXEC);
}

static int call_finit_module(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_finit_module, -1, "", 0), "finit_module", EBADF);
}

static int call_delete_module(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_delete_module, "escape_none", O_NONBLOCK), "delete_module",
                                   ENOENT);
}

/* Flags that do not exist: no image is loaded or thrown away. */
static int call_kexec_load(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_kexec_load, 0, 0, NULL, 0xffUL), "kexec_load", EINVAL);
}

static int call_kexec_file_load(char **argument)
{
        (void)argument;
#ifdef SYS_kexec_file_load
        return outcome_of_reaching(syscall(SYS_kexec_file_load, -1, -1, 0, NULL, 0xff000000UL),
                                   "kexec_file_load", EINVAL);
#else
        return untriable("no such call on this architecture");
#endif
}

/* Magic numbers that are wrong: the kernel says EINVAL and does nothing. */
static int call_reboot(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_reboot, 0x1234, 0x5678, 0, NULL), "reboot", EINVAL);
}

static int call_swapon(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_swapon, "/nonexistent/swap", 0), "swapon", ENOENT);
}

static int call_swapoff(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_swapoff, "/nonexistent/swap"), "swapoff", ENOENT);
}

static int call_acct(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_acct, "/nonexistent/acct"), "acct", ENOENT);
}

static int call_syslog(char **argument)
{
        char bytes[64];
        (void)argument;
        return outcome_of(syscall(SYS_syslog, 3 /* read all, keeps them */, bytes, sizeof(bytes)), "syslog");
}

static int call_quotactl(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_quotactl, QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL), "quotactl");
}

/* Sets the clock to what it says, right after reading it. */
static int call_settimeofday(char **argument)
{
        struct timeval now;
        (void)argument;
        gettimeofday(&now, NULL);
        return outcome_of(syscall(SYS_settimeofday, &now, NULL), "settimeofday");
}

static int call_clock_settime(char **argument)
{
        struct timespec now;
        (void)argument;
        clock_gettime(CLOCK_REALTIME, &now);
        return outcome_of(syscall(SYS_clock_settime, CLOCK_REALTIME, &now), "clock_settime");
}

/* PATH FLAGS: opens a device or a switch of the kernel, and touches nothing. */
static int open_for(char **argument)
{
        return outcome_of(open_flags(argument[0], number_of(argument[1]) | O_NONBLOCK), argument[0]);
}

/* DEVICE: one record of it. */
static int read_device(char **argument)
{
        char bytes[8192];
        int fd = open_flags(argument[0], O_RDONLY | O_NONBLOCK);
        return fd < 0 ? refused(argument[0]) : outcome_of(read(fd, bytes, sizeof(bytes)), "read");
}

/* FILE: writes back what the file says. */
static int write_back(char **argument)
{
        char bytes[512];
        int in = open_flags(argument[0], O_RDONLY), out = -1;
        ssize_t length = in < 0 ? -1 : read(in, bytes, sizeof(bytes));
        if (length < 0)
                return refused("read");
        out = open_flags(argument[0], O_WRONLY);
        return out < 0 ? refused("open O_WRONLY") : outcome_of(write(out, bytes, (size_t)length), "write");
}

static int call_mkdir_cgroup(char **argument)
{
        char path[512];
        snprintf(path, sizeof(path), "%s/escape-attempt", argument[0]);
        long made = syscall(SYS_mkdirat, AT_FDCWD, path, 0755);
        if (made == 0)
                unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
        return outcome_of(made, "mkdir in the cgroup tree");
}

/* Whoever opens the file for writing waits until the holder lets go. */
static int call_lease(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(fcntl(fd, F_SETLEASE, F_RDLCK), "F_SETLEASE");
}

const struct attempt kernel_attempts[] = {
        { "lease", 1, call_lease },
        { "io_uring_setup", 0, call_io_uring_setup },
        { "io_uring_enter", 0, call_io_uring_enter },
        { "io_uring_register", 0, call_io_uring_register },
        { "read_io_uring", 1, read_io_uring },
        { "userfaultfd", 0, call_userfaultfd },
        { "bpf", 0, call_bpf },
        { "perf_event_open", 0, call_perf_event_open },
        { "keyctl", 0, call_keyctl },
        { "keyctl_read", 1, call_keyctl_read },
        { "add_key", 0, call_add_key },
        { "request_key", 0, call_request_key },
        { "fanotify_init", 0, call_fanotify_init },
        { "init_module", 0, call_init_module },
        { "finit_module", 0, call_finit_module },
        { "delete_module", 0, call_delete_module },
        { "kexec_load", 0, call_kexec_load },
        { "kexec_file_load", 0, call_kexec_file_load },
        { "reboot", 0, call_reboot },
        { "swapon", 0, call_swapon },
        { "swapoff", 0, call_swapoff },
        { "acct", 0, call_acct },
        { "syslog", 0, call_syslog },
        { "quotactl", 0, call_quotactl },
        { "settimeofday", 0, call_settimeofday },
        { "clock_settime", 0, call_clock_settime },
        { "open_for", 2, open_for },
        { "read_device", 1, read_device },
        { "write_back", 1, write_back },
        { "mkdir_cgroup", 1, call_mkdir_cgroup },
        { NULL, 0, NULL },
};
