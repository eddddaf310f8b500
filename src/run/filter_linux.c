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
#include <sys/mman.h>
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

/* Flags and attributes of files, which need no descriptor to write by, and whole trees of btrfs: by the letter that a file
 * system's commands have, except those that only ask or copy. */
static void emit_file_ioctl(struct builder *builder)
{
        static const unsigned letters[] = { 'f' << 8, 'X' << 8, 'v' << 8, 0x94 << 8, 0xf5 << 8 };
        static const unsigned passed[] = {
                0x80086601 /* FS_IOC_GETFLAGS */, 0x80087601 /* FS_IOC_GETVERSION */,
                0xc020660b /* FS_IOC_FIEMAP */,   0x801c581f /* FS_IOC_FSGETXATTR */,
                0x40049409 /* FICLONE */,         0x4020940d /* FICLONERANGE */,
                0xc0189436 /* FIDEDUPERANGE */,
        };
        enum { LETTER_COUNT = sizeof(letters) / sizeof(*letters) };
        size_t tests[LETTER_COUNT];

        emit_mask(builder, 0xff00);
        for (size_t i = 0; i < LETTER_COUNT; i++)
                tests[i] = emit_test(builder, BPF_JEQ, letters[i]);
        jump_to_verdict(builder, tests[LETTER_COUNT - 1], false, ALLOW);
        for (size_t i = 0; i < LETTER_COUNT; i++)
                land(builder, tests[i]);
        emit_load(builder, 1);
        EMIT_LIST(builder, passed, ALLOW, REFUSE);
}

static void emit_ioctl(struct builder *builder, bool checks_files)
{
        static const unsigned refused[] = {
                0x5412 /* TIOCSTI */,  0x541c /* TIOCLINUX */,   0x541d /* TIOCCONS */,
                0x5423 /* TIOCSETD */, 0x5437 /* TIOCVHANGUP */, 0x5452 /* FIOASYNC */,
        };

        emit_load(builder, 1);
        /* The far end of a terminal of the command's own: Landlock cannot tell it from others of the host's. */
        if (builder->options->is_among_others) {
                emit_test_if(builder, BPF_JEQ, 0x5441 /* TIOCGPTPEER */, ASK);
                /* What F_SETOWN does, by what a pointer leads to. */
                emit_test_if(builder, BPF_JEQ, 0x8901 /* FIOSETOWN */, REFUSE);
                emit_test_if(builder, BPF_JEQ, 0x8902 /* SIOCSPGRP */, REFUSE);
        }
        if (!checks_files) {
                EMIT_LIST(builder, refused, REFUSE, ALLOW);
                return;
        }
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
                emit_test_if(builder, BPF_JEQ, refused[i], REFUSE);
        emit_file_ioctl(builder);
}

/* A file that was opened outside may have an owner there, and the terminal has one by itself: whoever it is would be sent a
 * signal when there is input, by default one that ends it. So nobody switches that on. */
static void emit_fcntl(struct builder *builder)
{
        static const unsigned refused[] = { F_SETSIG, 1024 /* F_SETLEASE */, 1040 /* F_SETDELEG */ };
        size_t sets_flags;

        emit_load(builder, 1);
        sets_flags = emit_test(builder, BPF_JEQ, F_SETFL);
        /* Who is to be told of input is named by a number; or by what a pointer leads to. */
        if (builder->options->is_among_others) {
                emit_test_if(builder, BPF_JEQ, F_SETOWN, ASK);
                emit_test_if(builder, BPF_JEQ, F_SETOWN_EX, REFUSE);
        }
        if (builder->options->asks_reads || builder->options->is_among_others) {
                emit_test_if(builder, BPF_JEQ, F_OFD_SETLK, ASK);
                emit_test_if(builder, BPF_JEQ, F_OFD_SETLKW, ASK);
        }
        EMIT_LIST(builder, refused, REFUSE, ALLOW);
        land(builder, sets_flags);
        emit_check_bits(builder, 2, O_ASYNC, ALLOW);
}

/* Who opens a file neither to read nor to write it needs no right of Landlock's: not to empty it, before ABI 3, nor to tell a
 * device what to do, before ABI 5. Nobody needs such a file. And who reads it may empty it, before ABI 3, without being judged. */
static void emit_unjudged(struct builder *builder, unsigned flags_argument)
{
        const unsigned neither = O_WRONLY | O_RDWR;
        /* Else that is asked about as every write. */
        bool asks = builder->options->asks_truncate && !builder->options->asks_writes &&
                    !builder->options->asks_reads;

        if (!builder->options->is_among_others && !asks)
                return;
        emit_load(builder, flags_argument);
        emit_mask(builder, O_PATH | neither | (asks ? O_TRUNC : 0));
        emit_test_if(builder, BPF_JEQ, neither, REFUSE);
        if (asks) {
                emit_test_if(builder, BPF_JEQ, neither | O_TRUNC, REFUSE);
                emit_test_if(builder, BPF_JEQ, O_TRUNC, ASK);
        }
}

/* Everything is asked about, but what opens a file neither to be read nor to be written. */
static void emit_ask_open(struct builder *builder, unsigned flags_argument)
{
        emit_unjudged(builder, flags_argument);
        emit_load(builder, flags_argument);
        emit_test_if(builder, BPF_JSET, O_PATH, ALLOW);
        emit_test_unless(builder, BPF_JSET, O_CREAT | UNNAMED, ASK);
        emit_check_bits(builder, flags_argument + 1, 06000, ASK);
}

/* Among others the broker lists directories for the command: one that holds something denied has no right of Landlock's to
 * be listed. Not those that are opened from another directory, on the way through a tree. */
static void emit_open_with_broker(struct builder *builder, unsigned flags_argument)
{
        bool asks = builder->options->asks_writes, lists = builder->options->is_among_others;
        bool has_directory = flags_argument == 2;
        size_t creates, last;

        emit_unjudged(builder, flags_argument);
        emit_load(builder, flags_argument);
        emit_test_if(builder, BPF_JSET, O_PATH, ALLOW);
        creates = last = emit_test(builder, BPF_JSET, O_CREAT | UNNAMED);
        if (asks)
                last = emit_test_if(builder, BPF_JSET, O_WRONLY | O_RDWR | O_TRUNC, ASK);
        if (lists && !has_directory)
                last = emit_test_if(builder, BPF_JSET, O_DIRECTORY, ASK);
        if (lists && has_directory) {
                emit_test_unless(builder, BPF_JSET, O_DIRECTORY, ALLOW);
                emit_load(builder, 0);
                last = emit_test_if(builder, BPF_JEQ, (unsigned)AT_FDCWD, ASK);
        }
        jump_to_verdict(builder, last, false, ALLOW);
        land(builder, creates);
        emit_check_bits(builder, flags_argument + 1, 06000, asks ? ASK : ALLOW);
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
        emit_test_unless(builder, BPF_JSET, O_CREAT | UNNAMED, ALLOW);
        emit_check_bits(builder, flags_argument + 1, 06000, ALLOW);
}

static bool asks_about_others(const struct builder *builder)
{
        return builder->options->has_broker || builder->options->asks_doors;
}

/* 0 is the caller itself. What comes before it says of what: a thread, a group, or every process of a user. */
static void emit_priority(struct builder *builder, unsigned group)
{
        emit_load(builder, 1);
        emit_test_unless(builder, BPF_JEQ, 0, ASK);
        emit_load(builder, 0);
        emit_test_to(builder, BPF_JGT, group, ASK, ALLOW);
}

/* 0 is the caller itself. Others' are only read, unless somebody is there to tell who it is. */
static void emit_limits(struct builder *builder)
{
        emit_load(builder, 0);
        if (asks_about_others(builder)) {
                emit_test_to(builder, BPF_JEQ, 0, ALLOW, ASK);
                return;
        }
        emit_test_if(builder, BPF_JEQ, 0, ALLOW);
        emit_load(builder, 2);
        emit_test_unless(builder, BPF_JEQ, 0, REFUSE);
        emit(builder, BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * 2 + 4);
        emit_test_to(builder, BPF_JEQ, 0, ALLOW, REFUSE);
}

/* On arm64 a filter is shown the first argument as it was when the call began, and the kernel takes what is in the register by then: who
 * stops another before a call, and sets that register, has it judged by one and made with the other. So nobody stops there; who cannot,
 * cannot forge the request either, which is a first argument itself. */
static void emit_tracing(struct builder *builder)
{
        static const unsigned stopping[] = { 24 /* PTRACE_SYSCALL */, 31 /* PTRACE_SYSEMU */,
                                             32 /* PTRACE_SYSEMU_SINGLESTEP */ };
        size_t options;

        emit_load(builder, 0);
        for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++)
                emit_test_if(builder, BPF_JEQ, stopping[i], REFUSE);
        options = emit_test(builder, BPF_JEQ, 0x4200 /* PTRACE_SETOPTIONS */);
        emit_test_unless(builder, BPF_JEQ, 0x4206 /* PTRACE_SEIZE */, ALLOW);
        land(builder, options);
        emit_check_bits(builder, 3, 0x80 /* PTRACE_O_TRACESECCOMP */, ALLOW);
}

/* No new namespaces. And who is no thread has descriptors of its own, where the broker goes by what they are. */
static void emit_clone(struct builder *builder, unsigned namespaces)
{
        emit_load(builder, 0);
        if (builder->options->asks_mappings) {
                emit_test_if(builder, BPF_JSET, namespaces | 0x80 /* CLONE_NEWTIME */, REFUSE);
                emit_mask(builder, CLONE_FILES | CLONE_THREAD);
                emit_test_to(builder, BPF_JEQ, CLONE_FILES, REFUSE, ALLOW);
                return;
        }
        emit_test_to(builder, BPF_JSET, namespaces, REFUSE, ALLOW);
}

static void emit_mapping(struct builder *builder)
{
        emit_load(builder, 2);
        emit_test_unless(builder, BPF_JSET, PROT_EXEC, ALLOW);
        emit(builder, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        emit_test_unless(builder, BPF_JEQ, SYS_mmap, ASK);
        emit_load(builder, 3);
        emit_test_to(builder, BPF_JSET, MAP_ANONYMOUS, ALLOW, ASK);
}

static void emit_check(struct builder *builder, enum verdict verdict)
{
        const unsigned namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

        switch (verdict) {
        case CHECK_CLONE:
                emit_clone(builder, namespaces);
                return;
        case CHECK_UNSHARE:
                emit_check_bits(builder, 0, namespaces | 0x80 /* CLONE_NEWTIME */, ALLOW);
                return;
        case CHECK_IOCTL:
                emit_ioctl(builder, false);
                return;
        case CHECK_FCNTL:
                emit_fcntl(builder);
                return;
        case CHECK_SOCKET:
        case CHECK_SOCKETPAIR:
        case CHECK_SEND_2:
        case CHECK_SEND_3:
        case CHECK_OPTION:
                filter_emit_of_sockets(builder, verdict);
                return;
        case CHECK_TARGET:
                emit_load(builder, 0);
                emit_test_to(builder, BPF_JEQ, 1, REFUSE, ALLOW);
                return;
        case CHECK_MODE_1:
        case CHECK_MODE_2:
                emit_check_bits(builder, verdict == CHECK_MODE_1 ? 1 : 2, 06000, ALLOW);
                return;
        case CHECK_OPEN_1:
        case CHECK_OPEN_2:
                emit_open(builder, verdict == CHECK_OPEN_1 ? 1 : 2);
                return;
        case CHECK_CHMOD_1:
        case CHECK_CHMOD_2:
                emit_check_bits(builder, verdict == CHECK_CHMOD_1 ? 1 : 2, 06000, ASK);
                return;
        case CHECK_SELF:
                emit_load(builder, 0);
                emit_test_to(builder, BPF_JEQ, 0, ALLOW, asks_about_others(builder) ? ASK : REFUSE);
                return;
        case CHECK_LIMITS:
                emit_limits(builder);
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
        case CHECK_MAPPING:
                emit_mapping(builder);
                return;
        case CHECK_TRACING:
                emit_tracing(builder);
                return;
        case CHECK_LISTENER:
                emit_check_bits(builder, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, ALLOW);
                return;
        case CHECK_THREAD:
        case CHECK_CODE:
        case CHECK_PROTECTION:
        case CHECK_PERSONALITY:
        case CHECK_ATTACHED:
        case CHECK_FEW_IOCTLS:
        case CHECK_FEW_PRCTLS:
                filter_emit_second(builder, verdict);
                return;
        case ALLOW:
        case REFUSE:
        case ABSENT:
        case ASK:
        case VERDICT_COUNT:
                return;
        }
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

        emit_test(builder, BPF_JGE, ranges[middle].start);
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

/* True if something leads to the verdict, whose code comes next. */
static bool land_all(struct builder *builder, enum verdict verdict)
{
        for (short i = builder->first_jumps[verdict]; i != NO_JUMP; i = builder->jumps[i].next)
                set_jump(builder, builder->jumps[i].at, builder->jumps[i].if_true, builder->filter->length);
        return builder->first_jumps[verdict] != NO_JUMP;
}

/* Nothing but a refusal looks for it: the kernel keeps its answer for every call that is allowed whatever its arguments. */
static void emit_pass(struct builder *builder)
{
        const uint64_t pass = builder->options->pass;
        size_t differs;

        if (!pass)
                return;
        /* Both halves at once: nobody shall tell by the time it takes which of them was right. */
        emit_load(builder, 5);
        emit(builder, BPF_ALU | BPF_XOR | BPF_K, (unsigned)pass);
        emit(builder, BPF_MISC | BPF_TAX, 0);
        emit(builder, BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * 5 + 4);
        emit(builder, BPF_ALU | BPF_XOR | BPF_K, (unsigned)(pass >> 32));
        emit(builder, BPF_ALU | BPF_OR | BPF_X, 0);
        differs = emit_test(builder, BPF_JEQ, 0);
        emit_return(builder, SECCOMP_RET_ALLOW);
        if (!builder->is_full)
                set_jump(builder, differs, false, builder->filter->length);
}

static void emit_returns(struct builder *builder)
{
        static const struct {
                enum verdict verdict;
                unsigned value;
        } returns[] = {
                { ALLOW, SECCOMP_RET_ALLOW },
                { REFUSE, SECCOMP_RET_ERRNO | EPERM },
                { ABSENT, SECCOMP_RET_ERRNO | ENOSYS },
                { ASK, SECCOMP_RET_USER_NOTIF },
        };

        for (size_t i = 0; i < sizeof(returns) / sizeof(*returns); i++)
                if (land_all(builder, returns[i].verdict)) {
                        if (returns[i].verdict != ALLOW)
                                emit_pass(builder);
                        emit_return(builder, returns[i].value);
                }
}

/* Each verdict is written once: behind the tree those that look further, and behind these what all of them lead to. Where that is
 * too far from the tree, it is written behind the tree, too. */
static void emit_verdicts(struct builder *builder, bool is_far)
{
        if (is_far) {
                emit_returns(builder);
                for (size_t i = 0; i < FIRST_CHECK; i++)
                        builder->first_jumps[i] = NO_JUMP;
        }
        for (enum verdict verdict = FIRST_CHECK; verdict < VERDICT_COUNT; verdict++)
                if (land_all(builder, verdict))
                        emit_check(builder, verdict);
        emit_returns(builder);
}

static void choose_verdicts(unsigned char *verdicts, const struct filter_options *options)
{
        /* Memory that stays when no process has it mapped: files in memory, System V's, pages in a pipe. */
        static const unsigned short homeless[HOMELESS_COUNT] = { SYS_memfd_create, 447 /* memfd_secret */,
                                                                 SYS_shmget,       SYS_msgget,
                                                                 SYS_semget,       SYS_vmsplice };
        const bool has_network = options->network == NETWORK_LIST || options->has_loopback;

        for (size_t i = 0; i < ENTRY_COUNT; i++)
                verdicts[entries[i].number] = (unsigned char)entries[i].verdict;
        for (size_t i = 0; options->has_broker && i < OF_ATTRIBUTES_COUNT; i++)
                verdicts[entries_of_attributes[i].number] = (unsigned char)entries_of_attributes[i].verdict;
        for (size_t i = 0; options->is_among_others && i < AMONG_OTHERS_COUNT; i++)
                verdicts[entries_among_others[i].number] = (unsigned char)entries_among_others[i].verdict;
        for (size_t i = 0; options->asks_writes && i < OF_NAMES_COUNT; i++)
                verdicts[entries_of_names[i].number] = (unsigned char)entries_of_names[i].verdict;
        for (size_t i = 0; (options->asks_reads || options->is_among_others) && i < OF_LOCKS_COUNT; i++)
                verdicts[entries_of_locks[i].number] = (unsigned char)entries_of_locks[i].verdict;
        for (size_t i = 0; options->asks_connects && i < OF_CONNECTS_COUNT; i++)
                verdicts[entries_of_connects[i].number] = (unsigned char)entries_of_connects[i].verdict;
        for (size_t i = 0; options->asks_streams && i < OF_STREAMS_COUNT; i++)
                verdicts[entries_of_streams[i].number] = (unsigned char)entries_of_streams[i].verdict;
        for (size_t i = 0; options->asks_signals && i < OF_SIGNALS_COUNT; i++)
                verdicts[entries_of_signals[i].number] = (unsigned char)entries_of_signals[i].verdict;
        for (size_t i = 0; options->asks_mappings && i < OF_MAPPINGS_COUNT; i++)
                verdicts[entries_of_mappings[i].number] = (unsigned char)entries_of_mappings[i].verdict;
        if (options->asks_doors)
                verdicts[SYS_connect] = ASK;
        if (options->asks_truncate)
                verdicts[SYS_truncate] = ASK;
        if (!options->has_memory_files)
                verdicts[SYS_memfd_create] = ABSENT;
        /* The limits of init, which then has threads, and numbers beside its own. */
        if (has_network)
                verdicts[SYS_prlimit64] = CHECK_LIMITS;
        /* Of two filters that ask, the kernel asks for the later, and whoever answers for it may say that the call goes on: in the host's
         * network. It refuses a second listener (EBUSY) only as long as the first is open. */
        if (options->has_loopback || options->has_broker || options->asks_doors)
                verdicts[SYS_seccomp] = CHECK_LISTENER;
        /* One that came as stdin is good for its peer. Landlock would judge TCP alone, and listen() without bind() not at all. */
        if (options->network == NETWORK_DENY && !options->has_loopback)
                verdicts[SYS_bind] = verdicts[SYS_listen] = REFUSE;
        if (options->network == NETWORK_DENY && !options->has_loopback && !options->asks_connects)
                verdicts[SYS_socket] = verdicts[SYS_connect] = REFUSE;
        /* A pair's address would be one of the host's network. */
        if (options->has_loopback)
                verdicts[SYS_bind] = ASK;
        /* Of listed sockets the command makes none: whose address it is the broker sees. */
        if (has_network && options->asks_connects && !options->asks_streams)
                verdicts[SYS_bind] = verdicts[SYS_listen] = ASK;
        for (size_t i = 0; options->counts_memory && i < HOMELESS_COUNT; i++)
                verdicts[homeless[i]] = ABSENT;
}

/* Neighbours with the same verdict share a range. */
static size_t make_ranges(const unsigned char *verdicts, struct range *ranges)
{
        size_t count = 0;

        for (unsigned number = 0; number < VERDICTS_SIZE; number++)
                if (!number || verdicts[number] != verdicts[number - 1])
                        ranges[count++] = (struct range){ number, (enum verdict)verdicts[number] };
        return count;
}

/* False if it is too long. */
static bool build(const struct filter_options *options, const struct range *ranges, size_t count,
                  const struct entry *first, bool is_far, struct filter *filter)
{
        struct builder builder;

        /* Not all of it: the list of jumps is long. */
        builder.filter = filter;
        builder.options = options;
        builder.jump_count = 0;
        for (size_t i = 0; i < VERDICT_COUNT; i++)
                builder.first_jumps[i] = NO_JUMP;
        builder.is_full = false;
        filter->length = 0;
        emit(&builder, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
        emit_test_unless(&builder, BPF_JEQ, NATIVE_ARCH, ABSENT);
        emit(&builder, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        if (first)
                emit_test_if(&builder, BPF_JEQ, (unsigned)first->number, first->verdict);
        emit_tree(&builder, ranges, count);
        emit_verdicts(&builder, is_far);
        return !builder.is_full;
}

int filter_assemble(const unsigned char *verdicts, const struct entry *first,
                    const struct filter_options *options, struct filter *filter, abatis_error *err)
{
        struct range ranges[VERDICTS_SIZE];
        size_t count = make_ranges(verdicts, ranges);

        if (build(options, ranges, count, first, false, filter) ||
            build(options, ranges, count, first, true, filter))
                return 0;
        return error_set(err, ABATIS_E_SYSTEM, "the system call filter is too long");
}

int filter_build(const struct filter_options *options, struct filter *filter, abatis_error *err)
{
        /* The kernel keeps no answer for a call whose arguments count, and this one is made all the time. */
        static const struct entry first = { SYS_openat, CHECK_OPEN_2 };
        unsigned char verdicts[VERDICTS_SIZE] = { ALLOW };

        choose_verdicts(verdicts, options);
        return filter_assemble(verdicts, &first, options, filter, err);
}
