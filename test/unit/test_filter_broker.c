/* test_filter_broker.c: about which calls the filter asks the broker, and which it refuses beside. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "answers.h"
#include "scratch.h"

static void build_among_others(void)
{
        build_with((struct filter_options){ .network = NETWORK_DENY,
                                            .has_memory_files = true,
                                            .is_among_others = true,
                                            .has_broker = true });
}

/* Every call that changes what is known of a file is asked about or absent: the list is the kernel's, not ours. */
static void among_others_changes_of_files_are_asked_about(void **state)
{
        static const char *const asked[] = { "chown",        "lchown",      "fchown",    "fchownat",
                                             "utime",        "utimes",      "futimesat", "utimensat",
                                             "setxattr",     "lsetxattr",   "fsetxattr", "removexattr",
                                             "chmod",        "fchmod",      "fchmodat",  "fchmodat2",
                                             "lremovexattr", "fremovexattr" };
        static const uint32_t absent[] = { 463 /* setxattrat */, 466 /* removexattrat */,
                                           469 /* file_setattr */ };

        (void)state;
        build_among_others();
        for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
                assert_answer(asked[i], 3, 0600, 0600, 0, ASKED);
        for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
                assert_int_equal(ask_number(NATIVE, absent[i], 1, 2, 3, 4), MISSING);
        assert_answer_whatever_is_above("fchmod", 3, 04755, 0, REFUSED);
        assert_answer_whatever_is_above("fchmodat", 3, 0, 02755, REFUSED);
        assert_answer_whatever_is_above("fchmodat2", 3, 0, 06755, REFUSED);
        assert_answer_whatever_is_above("mknodat", 3, 0, S_IFREG | 0644, ALLOWED);
}

static void among_others_file_systems_are_only_asked(void **state)
{
        static const uint32_t refused[] = {
                0x40086602 /* FS_IOC_SETFLAGS */,      0x401c5820 /* FS_IOC_FSSETXATTR */,
                0x40087602 /* FS_IOC_SETVERSION */,    0x5000940f /* a snapshot of btrfs */,
                0x40806685 /* FS_IOC_ENABLE_VERITY */, TIOCSTI
        };
        static const uint32_t allowed[] = { 0x80086601 /* FS_IOC_GETFLAGS */,
                                            0xc020660b /* FS_IOC_FIEMAP */,
                                            0x40049409 /* FICLONE */,
                                            TIOCGWINSZ,
                                            FIONREAD,
                                            TCGETS };

        (void)state;
        build_among_others();
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                assert_answer_whatever_is_above("ioctl", 3, refused[i], 0, REFUSED);
        for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++)
                assert_answer_whatever_is_above("ioctl", 3, allowed[i], 0, ALLOWED);
}

/* The far end of a terminal, by its near one. With namespaces all are the sandbox's own. */
static void among_others_terminals_are_asked_about(void **state)
{
        const uint64_t here = (uint64_t)(int64_t)AT_FDCWD;
        struct filter_options options = {
                .network = NETWORK_DENY, .has_memory_files = true, .is_among_others = true, .has_broker = true
        };

        (void)state;
        for (int asks_writes = 0; asks_writes < 2; asks_writes++) {
                options.asks_writes = asks_writes;
                build_with(options);
                assert_answer_whatever_is_above("ioctl", 3, 0x5441 /* TIOCGPTPEER */, O_RDWR, ASKED);
                assert_answer_whatever_is_above("ioctl", 3, TIOCSCTTY, 0, ALLOWED);
                assert_answer_whatever_is_above("ioctl", 3, TIOCSTI, 0, REFUSED);
                assert_answer_whatever_is_above("ioctl", 3, FIOSETOWN, 0, REFUSED);
                assert_answer_whatever_is_above("ioctl", 3, SIOCSPGRP, 0, REFUSED);
                assert_answer("openat", here, 1, O_RDWR | O_NOCTTY, 0, asks_writes ? ASKED : ALLOWED);
                assert_answer("openat", 3, 1, O_RDWR | O_CLOEXEC, 0, asks_writes ? ASKED : ALLOWED);
                assert_answer("openat", here, 1, O_RDONLY | O_NOCTTY, 0, ALLOWED);
                assert_answer("openat", here, 1, O_PATH | O_RDWR, 0, ALLOWED);
                assert_answer("openat", here, 1, O_RDWR | O_CREAT, 04755, REFUSED);
                assert_answer("openat", here, 1, O_RDWR | O_CREAT, 0644, asks_writes ? ASKED : ALLOWED);
                assert_answer("open", 1, O_RDWR | O_NOCTTY, 0, 0, asks_writes ? ASKED : ALLOWED);
        }
        options.is_among_others = false;
        options.asks_writes = false;
        build_with(options);
        assert_answer_whatever_is_above("ioctl", 3, 0x5441 /* TIOCGPTPEER */, O_RDWR, ALLOWED);
        assert_answer("openat", here, 1, O_RDWR | O_NOCTTY, 0, ALLOWED);
}

static void among_others_only_oneself_is_scheduled(void **state)
{
        static const char *const of_threads[] = { "prlimit64", "sched_setaffinity", "sched_setparam",
                                                  "sched_setscheduler", "sched_setattr" };

        (void)state;
        build_among_others();
        for (size_t i = 0; i < sizeof(of_threads) / sizeof(*of_threads); i++) {
                assert_answer(of_threads[i], 0, 1, 2, 3, ALLOWED);
                assert_answer_whatever_is_above(of_threads[i], 1234, 1, 2, ASKED);
        }
        assert_answer_whatever_is_above("setpriority", 0, 0, 5, ALLOWED);
        assert_answer_whatever_is_above("setpriority", 1, 0, 5, ALLOWED);
        assert_answer_whatever_is_above("setpriority", 2 /* every process of the user */, 0, 5, ASKED);
        assert_answer_whatever_is_above("setpriority", 0, 1234, 5, ASKED);
        assert_answer_whatever_is_above("ioprio_set", 2, 0, 5, ALLOWED);
        assert_answer_whatever_is_above("ioprio_set", 3, 0, 5, ASKED);
        assert_answer_whatever_is_above("fcntl", 3, F_SETOWN, 1234, ASKED);
        assert_answer_whatever_is_above("fcntl", 3, F_SETOWN_EX, 0, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, 1024 /* F_SETLEASE */, 0, REFUSED);
        assert_answer_whatever_is_above("fcntl", 3, F_SETFL, 0, ALLOWED);
}

static void among_others_queues_are_absent(void **state)
{
        static const char *const names[] = { "shmget",     "shmat",   "shmctl",   "semget", "semop",
                                             "semtimedop", "semctl",  "msgget",   "msgsnd", "msgrcv",
                                             "msgctl",     "mq_open", "mq_unlink" };

        (void)state;
        build_among_others();
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                assert_answer(names[i], 1, 2, 3, 4, MISSING);
}

/* Only those that are named from the working directory or the root: the rest of a tree is walked without questions. */
static void among_others_directories_are_asked_about(void **state)
{
        const uint64_t here = (uint64_t)(int64_t)AT_FDCWD;

        (void)state;
        build_among_others();
        assert_answer("openat", here, 1, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, ASKED);
        assert_answer("openat", here & UINT32_MAX, 1, O_RDONLY | O_DIRECTORY, 0, ASKED);
        assert_answer("openat", 3, 1, O_RDONLY | O_DIRECTORY, 0, ALLOWED);
        assert_answer("openat", here, 1, O_PATH | O_DIRECTORY, 0, ALLOWED);
        assert_answer("openat", here, 1, O_RDONLY, 0, ALLOWED);
        assert_answer("openat", here, 1, O_WRONLY | O_CREAT, 0644, ALLOWED);
        assert_answer("openat", here, 1, O_WRONLY | O_CREAT, 04755, REFUSED);
        assert_answer("openat", here, 1, O_RDWR | O_TMPFILE, 0600, ALLOWED);
        assert_answer("openat", here, 1, O_RDWR | O_TMPFILE, 02700, REFUSED);
        assert_answer("open", 1, O_RDONLY | O_DIRECTORY, 0, 0, ASKED);
        assert_answer("open", 1, O_PATH | O_DIRECTORY, 0, 0, ALLOWED);
        assert_answer("open", 1, O_RDONLY, 0, 0, ALLOWED);
        assert_answer("open", 1, O_WRONLY | O_CREAT, 04755, 0, REFUSED);
}

static void names_are_asked_about_on_request(void **state)
{
        static const char *const asked[] = { "mkdirat", "mkdir",     "symlinkat", "symlink", "linkat",
                                             "link",    "unlinkat",  "unlink",    "rmdir",   "renameat",
                                             "rename",  "renameat2", "truncate",  "umask",   "mknodat",
                                             "mknod",   "creat" };
        static const int writes[] = { O_WRONLY,           O_RDWR,
                                      O_RDONLY | O_TRUNC, O_WRONLY | O_CREAT | O_EXCL,
                                      O_RDWR | O_TMPFILE, O_WRONLY | O_APPEND | O_CLOEXEC };
        const struct filter_options options = { .network = NETWORK_DENY,
                                                .has_memory_files = true,
                                                .is_among_others = true,
                                                .has_broker = true,
                                                .asks_writes = true };

        (void)state;
        build_with(options);
        for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
                assert_answer(asked[i], 3, 0600, 0600, 0, ASKED);
        for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++) {
                assert_answer("openat", 3, 1, (uint64_t)writes[i], 0600, ASKED);
                assert_answer("open", 1, (uint64_t)writes[i], 0600, 0, ASKED);
        }
        assert_answer("openat", 3, 1, O_WRONLY | O_CREAT, 04755, REFUSED);
        assert_answer("openat", 3, 1, O_RDONLY | O_CLOEXEC, 0, ALLOWED);
        assert_answer("openat", 3, 1, O_PATH | O_WRONLY, 0, ALLOWED);
        assert_answer("openat", 3, 1, O_RDONLY | O_DIRECTORY, 0, ALLOWED);
        assert_answer("flock", 3, LOCK_EX, 0, 0, ASKED);
        assert_answer("fcntl", 3, F_OFD_SETLK, 0, 0, ASKED);
        assert_answer("mknodat", 3, 1, S_IFREG | 04755, 0, REFUSED);
        assert_answer("ftruncate", 3, 1, 0, 0, ALLOWED);
        /* With namespaces no directory is asked about, and nobody else has it open. */
        build_with((struct filter_options){
                .network = NETWORK_DENY, .has_memory_files = true, .has_broker = true, .asks_writes = true });
        assert_answer("flock", 3, LOCK_EX, 0, 0, ALLOWED);
        assert_answer("fcntl", 3, F_OFD_SETLK, 0, 0, ALLOWED);
}

static void everything_that_is_opened_is_asked_about_on_request(void **state)
{
        static const int opened[] = { O_RDONLY,           O_RDONLY | O_DIRECTORY, O_RDONLY | O_NOFOLLOW,
                                      O_WRONLY,           O_RDWR | O_CREAT,       O_RDONLY | O_TRUNC,
                                      O_RDWR | O_TMPFILE, O_RDONLY | O_NONBLOCK };
        const struct filter_options options = { .network = NETWORK_ALLOW,
                                                .has_memory_files = true,
                                                .has_broker = true,
                                                .asks_writes = true,
                                                .asks_reads = true };

        (void)state;
        build_with(options);
        for (size_t i = 0; i < sizeof(opened) / sizeof(*opened); i++) {
                assert_answer("openat", 3, 1, (uint64_t)opened[i], 0600, ASKED);
                assert_answer("openat", (uint64_t)(int64_t)AT_FDCWD, 1, (uint64_t)opened[i], 0, ASKED);
                assert_answer("open", 1, (uint64_t)opened[i], 0600, 0, ASKED);
        }
        assert_answer("openat", 3, 1, O_PATH, 0, ALLOWED);
        assert_answer("openat", 3, 1, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, ALLOWED);
        assert_answer("openat", 3, 1, O_RDWR | O_CREAT, 04755, REFUSED);
        assert_answer("openat", 3, 1, O_RDWR | O_TMPFILE, 02755, REFUSED);
        assert_answer("fchmod", 3, 0600, 0, 0, ASKED);
        assert_answer("fchmod", 3, 04755, 0, 0, REFUSED);
        assert_answer("unlinkat", 3, 1, 0, 0, ASKED);
        /* Locks of open files, not those of processes. */
        assert_answer("flock", 3, LOCK_EX | LOCK_NB, 0, 0, ASKED);
        /* The broker would not know of another domain. */
        assert_answer("landlock_create_ruleset", 0, 0, 0, 0, MISSING);
        assert_answer("landlock_restrict_self", 3, 0, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("fcntl", 3, F_OFD_SETLK, 0, ASKED);
        assert_answer_whatever_is_above("fcntl", 3, F_OFD_SETLKW, 0, ASKED);
        assert_answer("fcntl", 3, F_SETLK, 0, 0, ALLOWED);
        assert_answer("fcntl", 3, F_OFD_GETLK, 0, 0, ALLOWED);
        assert_answer("fcntl", 3, 1024 /* F_SETLEASE */, 0, 0, REFUSED);
        assert_answer("ioctl", 3, 0x40086602 /* FS_IOC_SETFLAGS */, 0, 0, REFUSED);
        assert_answer("ioctl", 3, 0x80086601 /* FS_IOC_GETFLAGS */, 0, 0, ALLOWED);
        /* There are namespaces. */
        assert_answer("sched_setaffinity", 3, 0, 0, 0, ALLOWED);
        /* But a thread of init has a number, too. */
        assert_answer("prlimit64", 3, 0, 0, 0, ASKED);
        assert_answer("prlimit64", 0, 0, 0, 0, ALLOWED);
        assert_answer("msgget", 3, 0, 0, 0, ALLOWED);
}

/* Only a datagram takes an address by another call than connect. Everything else is as it is where nobody is asked. */
static void connections_are_asked_about_on_request(void **state)
{
        static const struct {
                int type;
                bool is_connected;
        } types[] = { { SOCK_STREAM, true }, { SOCK_SEQPACKET, true },
                      { SOCK_DGRAM, false }, { SOCK_RAW, false },
                      { SOCK_RDM, false },   { SOCK_PACKET, false },
                      { 0, false },          { 15, false } };
        static const int flags[] = { 0, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_CLOEXEC | SOCK_NONBLOCK, 1 << 30 };
        static const enum network_mode networks[] = { NETWORK_UNIX_ONLY, NETWORK_ALLOW };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct filter_options options = { .network = networks[i],
                                                  .has_memory_files = true,
                                                  .has_broker = true };
                uint32_t internet = networks[i] == NETWORK_ALLOW ? ALLOWED : REFUSED;

                build_with(options);
                assert_answer("connect", 3, 1, 110, 0, ALLOWED);
                assert_answer("socket", AF_UNIX, SOCK_DGRAM, 0, 0, ALLOWED);
                assert_answer("socketpair", AF_UNIX, SOCK_DGRAM, 0, 0, ALLOWED);
                options.asks_connects = true;
                build_with(options);
                assert_answer("connect", 3, 1, 110, 0, ASKED);
                for (size_t j = 0; j < sizeof(types) / sizeof(*types); j++)
                        for (size_t k = 0; k < sizeof(flags) / sizeof(*flags); k++) {
                                uint32_t answer = types[j].is_connected ? ALLOWED : REFUSED;
                                uint64_t type = (uint64_t)(types[j].type | flags[k]);

                                assert_answer_whatever_is_above("socket", AF_UNIX, type, 0, answer);
                                assert_answer_whatever_is_above("socketpair", AF_UNIX, type, 0, answer);
                        }
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 0, internet);
                assert_answer_whatever_is_above("socket", AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 17, internet);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 132, REFUSED);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_SEQPACKET, 0, REFUSED);
                assert_answer_whatever_is_above("socket", AF_INET6, SOCK_RAW, 0, REFUSED);
                assert_answer_whatever_is_above("socket", AF_NETLINK, SOCK_RAW, 0, internet);
                assert_answer_whatever_is_above("socket", AF_NETLINK, SOCK_RAW, 4, REFUSED);
                assert_answer_whatever_is_above("socket", AF_VSOCK, SOCK_STREAM, 0, REFUSED);
                assert_answer_whatever_is_above("socketpair", AF_INET, SOCK_STREAM, 0, REFUSED);
        }
}

/* Where the network is closed but for listed sockets: nothing is made but unix streams, and nobody waits for others. */
static void listed_sockets_are_asked_about_where_the_network_is_closed(void **state)
{
        static const enum network_mode networks[] = { NETWORK_DENY, NETWORK_LIST };

        (void)state;
        for (size_t i = 0; i < 2; i++) {
                struct filter_options options = { .network = networks[i],
                                                  .has_memory_files = true,
                                                  .has_broker = true };
                uint32_t internet = networks[i] == NETWORK_LIST ? ALLOWED : REFUSED;

                build_with(options);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_STREAM, 0, REFUSED);
                assert_answer("connect", 3, 1, 110, 0, internet);
                assert_answer("bind", 3, 1, 110, 0, internet);
                options.asks_connects = true;
                build_with(options);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ALLOWED);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_SEQPACKET, 0, ALLOWED);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_DGRAM, 0, REFUSED);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_RAW, 0, REFUSED);
                assert_answer_whatever_is_above("socketpair", AF_UNIX, SOCK_STREAM, 0, ALLOWED);
                assert_answer_whatever_is_above("socketpair", AF_UNIX, SOCK_DGRAM, 0, REFUSED);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 0, internet);
                assert_answer_whatever_is_above("socket", AF_NETLINK, SOCK_RAW, 0, internet);
                assert_answer_whatever_is_above("socket", AF_VSOCK, SOCK_STREAM, 0, REFUSED);
                assert_answer("connect", 3, 1, 110, 0, ASKED);
                assert_answer("bind", 3, 1, 110, 0, networks[i] == NETWORK_LIST ? ASKED : REFUSED);
                assert_answer("listen", 3, 1, 0, 0, networks[i] == NETWORK_LIST ? ASKED : REFUSED);
        }
}

/* Sockets of TCP, UDP and routes are another's to make, and nobody else answers for him. */
static void sockets_on_a_loopback_are_asked_about(void **state)
{
        struct filter_options options = { .network = NETWORK_DENY, .has_memory_files = true };

        (void)state;
        for (int i = 0; i < 2; i++) {
                uint32_t internet = i ? ASKED : REFUSED;

                options.has_loopback = i;
                build_with(options);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 0, internet);
                assert_answer_whatever_is_above("socket", AF_INET6, SOCK_DGRAM, 17, internet);
                assert_answer_whatever_is_above("socket", AF_NETLINK, SOCK_RAW, 0, internet);
                assert_answer_whatever_is_above("socket", AF_NETLINK, SOCK_RAW, 4, REFUSED);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_RAW, 1, REFUSED);
                assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 262, REFUSED);
                assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_STREAM, 0, REFUSED);
                assert_answer_whatever_is_above("socket", AF_UNSPEC, 0, 0, REFUSED);
                assert_answer("bind", 3, 1, 16, 0, internet);
                assert_answer("listen", 3, 1, 0, 0, i ? ALLOWED : REFUSED);
                assert_answer("connect", 3, 1, 16, 0, i ? ALLOWED : REFUSED);
                assert_answer("seccomp", 1, 8 /* NEW_LISTENER */, 1, 0, i ? REFUSED : ALLOWED);
                assert_answer("seccomp", 1, 8 | 32, 1, 0, i ? REFUSED : ALLOWED);
                assert_answer("seccomp", 1, 1, 1, 0, ALLOWED);
                assert_answer("prlimit64", 7, 7, 0, 1, ALLOWED);
                assert_answer("prlimit64", 0, 7, 4096, 0, ALLOWED);
                assert_answer("prlimit64", 7, 7, 4096, 0, i ? REFUSED : ALLOWED);
                assert_answer("prlimit64", 7, 7, 1ull << 32, 0, i ? REFUSED : ALLOWED);
        }
}

/* On arm64 what is judged then is not what is done. */
static void nobody_stops_another_before_a_call(void **state)
{
        const struct filter_options options = { .network = NETWORK_DENY, .has_memory_files = true };
#ifdef __aarch64__
        const uint32_t stops = REFUSED;
#else
        const uint32_t stops = ALLOWED;
#endif

        (void)state;
        build_with(options);
        assert_answer_whatever_is_above("ptrace", 24 /* PTRACE_SYSCALL */, 7, 0, stops);
        assert_answer_whatever_is_above("ptrace", 31 /* PTRACE_SYSEMU */, 7, 0, stops);
        assert_answer_whatever_is_above("ptrace", 32 /* PTRACE_SYSEMU_SINGLESTEP */, 7, 0, stops);
        assert_answer("ptrace", 0x4200 /* PTRACE_SETOPTIONS */, 7, 0, 0x80, stops);
        assert_answer("ptrace", 0x4206 /* PTRACE_SEIZE */, 7, 0, 0x81, stops);
        assert_answer("ptrace", 0x4200, 7, 0, 0x100001, ALLOWED);
        assert_answer("ptrace", 0x4206, 7, 0, 0, ALLOWED);
        assert_answer("ptrace", 0x4205 /* PTRACE_SETREGSET */, 7, 1, 0x80, ALLOWED);
        assert_answer("ptrace", 0 /* PTRACE_TRACEME */, 0, 0, 0, ALLOWED);
        assert_answer("ptrace", 7 /* PTRACE_CONT */, 7, 0, 0, ALLOWED);
}

/* And nothing else is, if nothing else needs it. */
static void connections_are_asked_about_where_the_relay_listens_for_them(void **state)
{
        struct filter_options options = { .network = NETWORK_LIST, .has_memory_files = true };

        (void)state;
        build_with(options);
        assert_answer("connect", 3, 1, 16, 0, ALLOWED);
        options.asks_doors = true;
        build_with(options);
        assert_answer("connect", 3, 1, 16, 0, ASKED);
        assert_answer("fchmod", 3, 0600, 0, 0, ALLOWED);
        assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM, 0, ALLOWED);
        assert_answer_whatever_is_above("socket", AF_UNIX, SOCK_STREAM, 0, REFUSED);
        options.network = NETWORK_DENY;
        build_with(options);
        assert_answer("connect", 3, 1, 16, 0, REFUSED);
}

/* Landlock asks for no right then. */
static void among_others_nothing_is_opened_neither_to_read_nor_to_write(void **state)
{
        static const int flags[] = { 3, 3 | O_TRUNC, 3 | O_CREAT, 3 | O_TRUNC | O_CREAT | O_CLOEXEC,
                                     3 | O_NONBLOCK };
        struct filter_options options = {
                .network = NETWORK_DENY, .has_memory_files = true, .is_among_others = true, .has_broker = true
        };

        (void)state;
        for (unsigned bits = 0; bits < 8; bits++) {
                options.asks_writes = bits & 1;
                options.asks_reads = bits & 2;
                options.asks_truncate = bits & 4;
                build_with(options);
                for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
                        assert_answer("openat", 3, 1, (uint64_t)flags[i], 0644, REFUSED);
                        assert_answer("open", 1, (uint64_t)flags[i], 0644, 0, REFUSED);
                }
                assert_answer("openat", 3, 1, O_PATH | 3, 0, ALLOWED);
        }
}

static void signals_are_asked_about_on_request(void **state)
{
        static const char *const calls[] = { "kill", "tkill", "tgkill", "rt_sigqueueinfo",
                                             "rt_tgsigqueueinfo" };
        struct filter_options options = {
                .network = NETWORK_DENY, .has_memory_files = true, .is_among_others = true, .has_broker = true
        };

        (void)state;
        for (int asks = 0; asks < 2; asks++) {
                options.asks_signals = asks;
                build_with(options);
                for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
                        assert_answer_whatever_is_above(calls[i], 1234, 9, 9, asks ? ASKED : ALLOWED);
                assert_answer("kill", (uint64_t)-1, 9, 0, 0, asks ? ASKED : ALLOWED);
                assert_answer_whatever_is_above("kill", 0, 9, 0, ALLOWED);
                assert_int_equal(ask_number(NATIVE, 424 /* pidfd_send_signal */, 3, 9, 0, 0),
                                 asks ? MISSING : ALLOWED);
        }
}

/* Who opens a file to write it is judged by Landlock. */
static void truncation_is_asked_about_on_request(void **state)
{
        const uint64_t here = (uint64_t)(int64_t)AT_FDCWD;
        struct filter_options options = {
                .network = NETWORK_DENY, .has_memory_files = true, .is_among_others = true, .has_broker = true
        };

        (void)state;
        for (int asks = 0; asks < 2; asks++) {
                const uint32_t answer = asks ? ASKED : ALLOWED;

                options.asks_truncate = asks;
                build_with(options);
                assert_answer("truncate", 1, 0, 0, 0, answer);
                assert_answer("openat", here, 1, O_RDONLY | O_TRUNC, 0, answer);
                assert_answer("openat", 3, 1, O_RDONLY | O_TRUNC | O_CLOEXEC, 0, answer);
                assert_answer("openat", 3, 1, O_RDONLY | O_TRUNC | O_CREAT, 0644, answer);
                assert_answer("open", 1, O_RDONLY | O_TRUNC | O_CREAT, 0644, 0, answer);
                assert_answer("openat", 3, 1, O_WRONLY | O_TRUNC | O_CREAT, 0644, ALLOWED);
                assert_answer("openat", 3, 1, O_RDWR | O_TRUNC, 0, ALLOWED);
                assert_answer("openat", 3, 1, O_PATH | O_TRUNC, 0, ALLOWED);
                assert_answer("ftruncate", 3, 0, 0, 0, ALLOWED);
        }
}

/* Of files, and as code. And nobody but a thread has a part in another's descriptors. */
static void mappings_are_asked_about_on_request(void **state)
{
        const uint64_t above = 0xffffffffull << 32;
        struct filter_options options = { .network = NETWORK_DENY,
                                          .is_among_others = true,
                                          .has_broker = true };

        (void)state;
        for (int asks = 0; asks < 2; asks++) {
                const uint32_t asked = asks ? ASKED : ALLOWED, refused = asks ? REFUSED : ALLOWED;

                options.asks_mappings = asks;
                build_with(options);
                for (int i = 0; i < 2; i++) {
                        const uint64_t bits = i ? above : 0;

                        assert_answer("mmap", 0, 1, bits | PROT_EXEC, bits | MAP_PRIVATE, asked);
                        assert_answer("mmap", 0, 1, bits | PROT_EXEC | PROT_READ,
                                      bits | MAP_SHARED | MAP_FIXED, asked);
                        assert_answer("mmap", 0, 1, bits | PROT_EXEC, bits | MAP_PRIVATE | MAP_ANONYMOUS,
                                      ALLOWED);
                        assert_answer("mmap", 0, 1, bits | PROT_READ | PROT_WRITE, bits | MAP_PRIVATE,
                                      ALLOWED);
                        assert_answer("mprotect", 0, 1, bits | PROT_EXEC, MAP_ANONYMOUS, asked);
                        assert_answer("pkey_mprotect", 0, 1, bits | PROT_EXEC | PROT_WRITE, 0, asked);
                        assert_answer("mprotect", 0, 1, bits | PROT_READ | PROT_WRITE, 0, ALLOWED);
                }
                assert_answer_whatever_is_above("clone", CLONE_FILES, 0, 0, refused);
                assert_answer_whatever_is_above("clone", CLONE_FILES | CLONE_VM | CLONE_SIGHAND, 0, 0,
                                                refused);
                assert_answer_whatever_is_above("clone",
                                                CLONE_FILES | CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0, 0,
                                                ALLOWED);
                assert_answer_whatever_is_above("clone", CLONE_VM | CLONE_VFORK, 0, 0, ALLOWED);
                assert_answer_whatever_is_above("clone", CLONE_NEWUSER, 0, 0, REFUSED);
                assert_answer_whatever_is_above("clone", CLONE_NEWNS | CLONE_FILES | CLONE_THREAD, 0, 0,
                                                REFUSED);
                assert_answer_whatever_is_above("personality", READ_IMPLIES_EXEC, 0, 0, asked);
                assert_answer_whatever_is_above("personality", 0xffffffff, 0, 0, asked);
                assert_answer_whatever_is_above("personality", 0, 0, 0, ALLOWED);
        }
}

/* A list without a network of its own. */
static void streams_are_all_there_is_on_request(void **state)
{
        static const struct {
                uint64_t level, option;
                bool is_refused;
        } options[] = {
                { SOL_SOCKET, SO_KEEPALIVE, false },
                { SOL_SOCKET, SO_BINDTODEVICE, true },
                { SOL_SOCKET, 62, true },
                { IPPROTO_TCP, TCP_NODELAY, false },
                { IPPROTO_TCP, TCP_FASTOPEN_CONNECT, true },
                { IPPROTO_TCP, TCP_ULP, true },
                { IPPROTO_IP, IP_TOS, false },
                { IPPROTO_IP, IP_OPTIONS, true },
                { IPPROTO_IP, IP_UNICAST_IF, true },
                { IPPROTO_IP, IP_TRANSPARENT, true },
                { IPPROTO_IPV6, IPV6_V6ONLY, false },
                { IPPROTO_IPV6, IPV6_RTHDR, true },
                { IPPROTO_IPV6, IPV6_PKTINFO, true },
                { IPPROTO_IPV6, IPV6_TCLASS, false },
                { 263 /* SOL_PACKET */, 1, true },
                { 282 /* SOL_TLS */, 1, true },
        };

        (void)state;
        build_with((struct filter_options){ .network = NETWORK_LIST,
                                            .has_memory_files = true,
                                            .is_among_others = true,
                                            .has_broker = true,
                                            .asks_streams = true });
        assert_answer("connect", 3, 1, 16, 0, ASKED);
        assert_answer("bind", 3, 1, 16, 0, REFUSED);
        assert_answer("listen", 3, 1, 0, 0, REFUSED);
        for (uint64_t family = 0; family < 50; family++)
                for (uint64_t type = 0; type <= SOCK_PACKET; type++)
                        for (uint64_t protocol = 0; protocol <= 300; protocol++) {
                                bool is_tcp = (family == AF_INET || family == AF_INET6) &&
                                              type == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP);

                                assert_answer("socket", family, type, protocol, 0,
                                              is_tcp ? ALLOWED : REFUSED);
                        }
        assert_answer_whatever_is_above("socket", AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0, ALLOWED);
        assert_answer_whatever_is_above("socket", AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0, REFUSED);
        assert_answer_whatever_is_above("socketpair", AF_UNIX, SOCK_STREAM, 0, ALLOWED);
        assert_answer_whatever_is_above("socketpair", AF_UNIX, SOCK_DGRAM, 0, REFUSED);
        assert_answer("sendto", 3, 1, 1, MSG_NOSIGNAL, ALLOWED);
        assert_answer("sendto", 3, 1, 1, MSG_FASTOPEN | MSG_NOSIGNAL, REFUSED);
        assert_answer("sendmsg", 3, 1, MSG_NOSIGNAL, MSG_FASTOPEN, ALLOWED);
        assert_answer_whatever_is_above("sendmsg", 3, 1, MSG_FASTOPEN, REFUSED);
        assert_answer("sendmmsg", 3, 1, MSG_FASTOPEN, 0, ALLOWED);
        assert_answer("sendmmsg", 3, 1, 1, MSG_FASTOPEN, REFUSED);
        for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
                assert_answer_whatever_is_above("setsockopt", 3, options[i].level, options[i].option,
                                                options[i].is_refused ? REFUSED : ALLOWED);
}

static void every_combination_fits(void **state)
{
        static const enum network_mode networks[] = { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_ALLOW,
                                                      NETWORK_LIST, NETWORK_LIST };

        (void)state;
        for (unsigned bits = 0; bits < 5u << 9; bits++) {
                const struct filter_options options = {
                        .network = networks[bits >> 9],
                        .has_memory_files = bits & 1,
                        .counts_memory = bits & 2,
                        .is_among_others = bits & 4,
                        .has_broker = true,
                        .asks_writes = bits & 8,
                        .asks_reads = bits & 16,
                        .asks_connects = bits >> 9 != 3 && bits & 32,
                        .asks_streams = bits >> 9 == 3, /* without a network of its own, and with one: */
                        .asks_doors = bits >> 9 == 4,
                        .asks_signals = bits & 64,
                        .asks_truncate = bits & 128,
                        .asks_mappings = bits & 256
                };

                build_with(options);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(connections_are_asked_about_where_the_relay_listens_for_them),
                cmocka_unit_test(among_others_changes_of_files_are_asked_about),
                cmocka_unit_test(among_others_file_systems_are_only_asked),
                cmocka_unit_test(among_others_terminals_are_asked_about),
                cmocka_unit_test(among_others_only_oneself_is_scheduled),
                cmocka_unit_test(among_others_queues_are_absent),
                cmocka_unit_test(among_others_directories_are_asked_about),
                cmocka_unit_test(names_are_asked_about_on_request),
                cmocka_unit_test(everything_that_is_opened_is_asked_about_on_request),
                cmocka_unit_test(connections_are_asked_about_on_request),
                cmocka_unit_test(listed_sockets_are_asked_about_where_the_network_is_closed),
                cmocka_unit_test(sockets_on_a_loopback_are_asked_about),
                cmocka_unit_test(nobody_stops_another_before_a_call),
                cmocka_unit_test(among_others_nothing_is_opened_neither_to_read_nor_to_write),
                cmocka_unit_test(signals_are_asked_about_on_request),
                cmocka_unit_test(truncation_is_asked_about_on_request),
                cmocka_unit_test(mappings_are_asked_about_on_request),
                cmocka_unit_test(streams_are_all_there_is_on_request),
                cmocka_unit_test(every_combination_fits),
        };

        return cmocka_run_group_tests_name("filter_broker", tests, NULL, NULL);
}
