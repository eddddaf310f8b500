/* filter_linux.c: the seccomp filter as a balanced tree over ranges of system call numbers.
 *
 * The kernel compiles a new filter and evaluates it once for every system call number, so loading costs its length and
 * what one decision walks: a tree of ranges needs seven comparisons where a list needs a hundred, and what several
 * ranges lead to is written once. Everything here is decided on values; nothing that a pointer leads to is looked at,
 * since the caller could change it afterwards. */
#define _GNU_SOURCE
#include "run/filter_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "run/filter_calls_linux.h"

#if defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#elif defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#endif

#define UNNAMED 0x400000 /* O_TMPFILE without O_DIRECTORY */

/* From `start` up to the next range's start. */
struct range {
        unsigned start;
        enum verdict verdict;
};

enum { HOMELESS_COUNT = 6 }; /* calls that are refused only where memory is counted */

struct jump {
        unsigned short at; /* the comparison */
        bool if_true;
        enum verdict verdict;
};

struct builder {
        struct filter *filter;
        const struct filter_options *options;
        struct jump jumps[FILTER_MAX];
        size_t jump_count;
        bool is_full;
};

static void emit(struct builder *builder, unsigned short code, unsigned k, unsigned char jt, unsigned char jf)
{
        struct filter *filter = builder->filter;

        if (filter->length == FILTER_MAX) {
                builder->is_full = true;
                return;
        }
        filter->code[filter->length++] = (struct sock_filter){ code, jt, jf, k };
}

/* A conditional jump reaches 255 instructions far. */
static void set_jump(struct builder *builder, size_t at, bool if_true, size_t target)
{
        struct sock_filter *instruction = &builder->filter->code[at];
        size_t distance = target - at - 1;

        if (distance > 255)
                builder->is_full = true;
        else if (if_true)
                instruction->jt = (unsigned char)distance;
        else
                instruction->jf = (unsigned char)distance;
}

static void emit_return(struct builder *builder, unsigned value)
{
        emit(builder, BPF_RET | BPF_K, value, 0, 0);
}

static void emit_allow(struct builder *builder)
{
        emit_return(builder, SECCOMP_RET_ALLOW);
}

static void emit_refuse(struct builder *builder)
{
        emit_return(builder, SECCOMP_RET_ERRNO | EPERM);
}

/* The low half of an argument: the kernel itself looks at no more of the values checked here, and a comparison of
 * all 64 bits would let a caller pass by setting the upper ones. */
static void emit_load(struct builder *builder, unsigned argument)
{
        emit(builder, BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * argument,
             0, 0);
}

static void emit_refuse_bits(struct builder *builder, unsigned argument, unsigned bits)
{
        emit_load(builder, argument);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
        emit_refuse(builder);
        emit_allow(builder);
}

/* Flags and attributes of files, which need no descriptor to write by, and whole trees of btrfs: by the letter that a file
 * system's commands have, except those that only ask or copy. */
static void emit_file_ioctl(struct builder *builder)
{
        static const unsigned letters[] = { 'f' << 8, 'X' << 8, 'v' << 8, 0x94 << 8, 0xf5 << 8 };
        static const unsigned passed[] = {
                0x80086601 /* FS_IOC_GETFLAGS */,   0x80046601,
                0x80087601 /* FS_IOC_GETVERSION */, 0x80047601,
                0xc020660b /* FS_IOC_FIEMAP */,     0x801c581f /* FS_IOC_FSGETXATTR */,
                0x40049409 /* FICLONE */,           0x4020940d /* FICLONERANGE */,
                0xc0189436 /* FIDEDUPERANGE */,
        };
        unsigned letter_count = sizeof(letters) / sizeof(*letters);
        unsigned passed_count = sizeof(passed) / sizeof(*passed);

        emit_load(builder, 1);
        emit(builder, BPF_ALU | BPF_AND | BPF_K, 0xff00, 0, 0);
        for (unsigned i = 0; i < letter_count; i++)
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, letters[i], (unsigned char)(letter_count - i), 0);
        emit_allow(builder);
        emit_load(builder, 1);
        for (unsigned i = 0; i < passed_count; i++)
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, passed[i], (unsigned char)(passed_count - i), 0);
        emit_refuse(builder);
        emit_allow(builder);
}

static void emit_ioctl(struct builder *builder, bool checks_files)
{
        static const unsigned refused[] = {
                0x5412 /* TIOCSTI */,  0x541c /* TIOCLINUX */,   0x541d /* TIOCCONS */,
                0x5423 /* TIOCSETD */, 0x5437 /* TIOCVHANGUP */,
        };
        unsigned count = sizeof(refused) / sizeof(*refused);

        emit_load(builder, 1);
        for (unsigned i = 0; i < count; i++)
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, refused[i], (unsigned char)(count - i), 0);
        if (checks_files)
                emit(builder, BPF_JMP | BPF_JA, 1, 0, 0);
        else
                emit_allow(builder);
        emit_refuse(builder);
        if (checks_files)
                emit_file_ioctl(builder);
}

static void emit_fcntl(struct builder *builder)
{
        bool asks = builder->options->is_among_others;

        emit_load(builder, 1);
        /* Who is to be told of input is named by a number; or by what a pointer leads to. */
        if (asks) {
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN, 5, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, F_SETOWN_EX, 3, 0);
        }
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 1024 /* F_SETLEASE */, 2, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 1040 /* F_SETDELEG */, 1, 0);
        emit_allow(builder);
        emit_refuse(builder);
        if (asks)
                emit_return(builder, SECCOMP_RET_USER_NOTIF);
}

/* Everything is asked about, but what opens a file neither to be read nor to be written. */
static void emit_ask_open(struct builder *builder, unsigned flags_argument)
{
        emit_load(builder, flags_argument);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, O_PATH, 5, 0);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | UNNAMED, 0, 3);
        emit_load(builder, flags_argument + 1);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, 06000, 0, 1);
        emit_refuse(builder);
        emit_return(builder, SECCOMP_RET_USER_NOTIF);
        emit_allow(builder);
}

/* Among others the broker lists directories for the command: one that holds something denied has no right of Landlock's to
 * be listed. Not those that are opened from another directory, on the way through a tree. */
static void emit_open_with_broker(struct builder *builder, unsigned flags_argument)
{
        bool asks = builder->options->asks_writes, has_directory = flags_argument == 2;

        emit_load(builder, flags_argument);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, O_PATH, 3, 0);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | UNNAMED, 3, 0);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, asks ? O_WRONLY | O_RDWR | O_TRUNC : 0, 8, 0);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, builder->options->is_among_others ? O_DIRECTORY : 0,
             has_directory ? 4 : 7, 0);
        emit_allow(builder);
        /* It creates: */
        emit_load(builder, flags_argument + 1);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, 06000, 0, asks ? 4 : 3);
        emit_refuse(builder);
        /* It is a directory: */
        emit_load(builder, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)AT_FDCWD, 1, 0);
        emit_allow(builder);
        emit_return(builder, SECCOMP_RET_USER_NOTIF);
}

static void emit_open(struct builder *builder, unsigned flags_argument)
{
        if (builder->options->asks_reads) {
                emit_ask_open(builder, flags_argument);
                return;
        }
        if (builder->options->has_broker) {
                emit_open_with_broker(builder, flags_argument);
                return;
        }
        emit_load(builder, flags_argument);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, O_CREAT | UNNAMED, 1, 0);
        emit_allow(builder);
        emit_refuse_bits(builder, flags_argument + 1, 06000);
}

/* Stream and datagram, over TCP and UDP: no raw, no SCTP, no MPTCP. */
static void emit_internet_socket(struct builder *builder)
{
        emit_load(builder, 1);
        emit(builder, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, SOCK_DGRAM, 1, 0);
        emit_refuse(builder);
        emit_load(builder, 2);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 6, 2, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 17, 1, 0);
        emit_refuse(builder);
        emit_allow(builder);
}

static void emit_socket(struct builder *builder)
{
        switch (builder->options->network) {
        case NETWORK_DENY:
        case NETWORK_LIST:
                emit_refuse(builder);
                return;
        case NETWORK_UNIX_ONLY:
                emit_load(builder, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 1);
                emit_allow(builder);
                emit_refuse(builder);
                return;
        case NETWORK_ALLOW:
                emit_load(builder, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 3, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 7, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 6, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 4);
                emit_allow(builder);
                emit_load(builder, 2);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 0 /* NETLINK_ROUTE */, 0, 1);
                emit_allow(builder);
                emit_refuse(builder);
                emit_internet_socket(builder);
                return;
        }
}

/* Unix sockets only. Where sockets are refused, a datagram pair is too: it can be aimed at anybody by an address. */
static void emit_socketpair(struct builder *builder)
{
        emit_load(builder, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
        emit_refuse(builder);
        if (builder->options->network != NETWORK_DENY) {
                emit_allow(builder);
                return;
        }
        emit_load(builder, 1);
        emit(builder, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, SOCK_STREAM, 2, 0);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0);
        emit_refuse(builder);
        emit_allow(builder);
}

static void emit_ask(struct builder *builder)
{
        emit_return(builder, SECCOMP_RET_USER_NOTIF);
}

static void emit_chmod(struct builder *builder, unsigned mode_argument)
{
        emit_load(builder, mode_argument);
        emit(builder, BPF_JMP | BPF_JSET | BPF_K, 06000, 0, 1);
        emit_refuse(builder);
        emit_ask(builder);
}

/* 0 is the caller itself. What comes before it says of what: a thread, a group, or every process of a user. */
static void emit_priority(struct builder *builder, unsigned group)
{
        emit_load(builder, 1);
        emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3);
        emit_load(builder, 0);
        emit(builder, BPF_JMP | BPF_JGT | BPF_K, group, 1, 0);
        emit_allow(builder);
        emit_ask(builder);
}

static void emit_verdict(struct builder *builder, enum verdict verdict)
{
        const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

        switch (verdict) {
        case ALLOW:
                emit_allow(builder);
                return;
        case REFUSE:
                emit_refuse(builder);
                return;
        case ABSENT:
                emit_return(builder, SECCOMP_RET_ERRNO | ENOSYS);
                return;
        case CHECK_CLONE:
                emit_refuse_bits(builder, 0, namespaces);
                return;
        case CHECK_UNSHARE:
                emit_refuse_bits(builder, 0, namespaces | 0x80 /* CLONE_NEWTIME */);
                return;
        case CHECK_IOCTL:
                emit_ioctl(builder, false);
                return;
        case CHECK_FCNTL:
                emit_fcntl(builder);
                return;
        case CHECK_SOCKET:
                emit_socket(builder);
                return;
        case CHECK_SOCKETPAIR:
                emit_socketpair(builder);
                return;
        case CHECK_TARGET:
                emit_load(builder, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 1);
                emit_refuse(builder);
                emit_allow(builder);
                return;
        case CHECK_MODE_1:
                emit_refuse_bits(builder, 1, 06000);
                return;
        case CHECK_MODE_2:
                emit_refuse_bits(builder, 2, 06000);
                return;
        case CHECK_OPEN_1:
                emit_open(builder, 1);
                return;
        case CHECK_OPEN_2:
                emit_open(builder, 2);
                return;
        case ASK:
                emit_ask(builder);
                return;
        case CHECK_CHMOD_1:
                emit_chmod(builder, 1);
                return;
        case CHECK_CHMOD_2:
                emit_chmod(builder, 2);
                return;
        case CHECK_SELF:
                emit_load(builder, 0);
                emit(builder, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
                emit_ask(builder);
                emit_allow(builder);
                return;
        case CHECK_PRIORITY_OF:
                emit_priority(builder, 1 /* PRIO_PGRP */);
                return;
        case CHECK_IO_PRIORITY_OF:
                emit_priority(builder, 2 /* IOPRIO_WHO_PGRP */);
                return;
        case CHECK_IOCTL_OF_FILES:
                emit_ioctl(builder, true);
                return;
        case VERDICT_COUNT:
                return;
        }
}

/* A comparison that one outcome of leads to a verdict, whose code is not written yet. */
static void jump_to_verdict(struct builder *builder, size_t at, bool if_true, enum verdict verdict)
{
        builder->jumps[builder->jump_count++] = (struct jump){ (unsigned short)at, if_true, verdict };
}

/* The first range of the upper half: about as many numbers lie below it as above, since the kernel tries them all. */
static size_t find_middle(const struct range *ranges, size_t count)
{
        unsigned half = (ranges[0].start + ranges[count - 1].start + 1) / 2;
        size_t middle = 1;

        while (middle < count - 1 && ranges[middle].start < half)
                middle++;
        /* The boundary on the other side may be nearer. */
        if (middle > 1 && half - ranges[middle - 1].start < ranges[middle].start - half)
                middle--;
        return middle;
}

/* Every comparison is one instruction: below the middle range's start it goes on with the next one, from there on it
 * jumps over the lower half. A half of one range jumps to its verdict. */
static void emit_tree(struct builder *builder, const struct range *ranges, size_t count)
{
        size_t middle = find_middle(ranges, count), at = builder->filter->length;

        emit(builder, BPF_JMP | BPF_JGE | BPF_K, ranges[middle].start, 0, 0);
        if (builder->is_full)
                return;
        if (middle == 1)
                jump_to_verdict(builder, at, false, ranges[0].verdict);
        else
                emit_tree(builder, ranges, middle);
        if (count - middle == 1) {
                jump_to_verdict(builder, at, true, ranges[middle].verdict);
                return;
        }
        set_jump(builder, at, true, builder->filter->length);
        emit_tree(builder, ranges + middle, count - middle);
}

/* Each verdict that something leads to is written once, behind the tree. */
static void emit_verdicts(struct builder *builder)
{
        for (enum verdict verdict = 0; verdict < VERDICT_COUNT; verdict++) {
                size_t start = builder->filter->length;
                bool is_used = false;

                for (size_t i = 0; i < builder->jump_count; i++) {
                        if (builder->jumps[i].verdict != verdict)
                                continue;
                        set_jump(builder, builder->jumps[i].at, builder->jumps[i].if_true, start);
                        is_used = true;
                }
                if (is_used)
                        emit_verdict(builder, verdict);
        }
}

/* Neighbours with the same verdict share a range. */
static size_t make_ranges(struct range *ranges, const struct filter_options *options)
{
        /* Memory that stays when no process has it mapped: files in memory, System V's, pages in a pipe. */
        static const unsigned short homeless[HOMELESS_COUNT] = { SYS_memfd_create, 447 /* memfd_secret */,
                                                                 SYS_shmget,       SYS_msgget,
                                                                 SYS_semget,       SYS_vmsplice };
        unsigned char verdicts[LAST_KNOWN + 2] = { ALLOW };
        size_t count = 0;

        for (size_t i = 0; i < ENTRY_COUNT; i++)
                verdicts[entries[i].number] = (unsigned char)entries[i].verdict;
        for (size_t i = 0; options->has_broker && i < OF_ATTRIBUTES_COUNT; i++)
                verdicts[entries_of_attributes[i].number] = (unsigned char)entries_of_attributes[i].verdict;
        for (size_t i = 0; options->is_among_others && i < AMONG_OTHERS_COUNT; i++)
                verdicts[entries_among_others[i].number] = (unsigned char)entries_among_others[i].verdict;
        for (size_t i = 0; options->asks_writes && i < OF_NAMES_COUNT; i++)
                verdicts[entries_of_names[i].number] = (unsigned char)entries_of_names[i].verdict;
        if (!options->has_memory_files)
                verdicts[SYS_memfd_create] = ABSENT;
        for (size_t i = 0; options->counts_memory && i < HOMELESS_COUNT; i++)
                verdicts[homeless[i]] = ABSENT;
        for (unsigned number = 0; number < sizeof(verdicts); number++)
                if (!number || verdicts[number] != verdicts[number - 1])
                        ranges[count++] = (struct range){ number, (enum verdict)verdicts[number] };
        return count;
}

int filter_build(const struct filter_options *options, struct filter *filter, abatis_error *err)
{
        struct builder builder;
        struct range ranges[2 * (ENTRY_COUNT + OF_ATTRIBUTES_COUNT + AMONG_OTHERS_COUNT + OF_NAMES_COUNT +
                                 HOMELESS_COUNT) +
                            3];
        size_t count = make_ranges(ranges, options);

        /* Not all of it: the list of jumps is long. */
        builder.filter = filter;
        builder.options = options;
        builder.jump_count = 0;
        builder.is_full = false;
        filter->length = 0;
        emit(&builder, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
        emit(&builder, BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0);
        emit_return(&builder, SECCOMP_RET_ERRNO | ENOSYS);
        emit(&builder, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        /* Asked first: the kernel keeps no answer for a call whose arguments count, and this one is made all the time. */
        emit(&builder, BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 0);
        jump_to_verdict(&builder, filter->length - 1, true, CHECK_OPEN_2);
        emit_tree(&builder, ranges, count);
        emit_verdicts(&builder);
        if (builder.is_full)
                return error_set(err, ABATIS_E_SYSTEM, "the system call filter is too long");
        return 0;
}
