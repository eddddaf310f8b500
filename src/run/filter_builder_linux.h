/* filter_builder_linux.h: how the instructions of a filter are written, for the files of the filter alone. */
#ifndef RUN_FILTER_BUILDER_LINUX_H
#define RUN_FILTER_BUILDER_LINUX_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#include "run/filter_linux.h"

/* The last system call whose effect was considered (file_setattr, Linux 6.17). Newer ones, and x32's, do not exist
 * inside: programs fall back, and a new way to mount or to reach a process cannot open a hole here. */
enum { LAST_KNOWN = 469, VERDICTS_SIZE = LAST_KNOWN + 2 };

enum verdict {
        ALLOW,
        REFUSE,      /* EPERM */
        ABSENT,      /* ENOSYS: programs have a way around */
        ASK,         /* the broker */
        CHECK_CLONE, /* no new namespaces */
        CHECK_UNSHARE,
        CHECK_IOCTL,          /* no input pushed into a terminal */
        CHECK_IOCTL_OF_FILES, /* likewise, and no change of a file that was opened to be read */
        CHECK_FCNTL, /* no signals for input, and no lease: whoever opens such a file waits for the holder, 45 s by default */
        CHECK_SOCKET,
        CHECK_SOCKETPAIR,
        CHECK_TARGET, /* not init */
        CHECK_MODE_1, /* no setuid or setgid bit in this argument */
        CHECK_MODE_2,
        CHECK_OPEN_1, /* flags in this argument, mode in the next, if it creates */
        CHECK_OPEN_2,
        CHECK_CHMOD_1, /* as CHECK_MODE_1, then the broker */
        CHECK_CHMOD_2,
        CHECK_SELF,           /* this thread, or its group; about another the broker is asked */
        CHECK_LIMITS,         /* likewise; of prlimit64, by which others' may be read */
        CHECK_PRIORITY_OF,    /* this thread or its group, likewise; of setpriority */
        CHECK_IO_PRIORITY_OF, /* of ioprio_set, which counts from 1 */
        CHECK_MAPPING,        /* about a file that is mapped as code the broker is asked */
        CHECK_SEND_2,         /* flags in this argument: what is sent connects nothing */
        CHECK_SEND_3,
        CHECK_OPTION,   /* of a socket: none that leads its packets elsewhere */
        CHECK_LISTENER, /* of seccomp: nobody else answers questions, see choose_verdicts() */
        CHECK_TRACING,  /* of ptrace: no stop before a call, where that deceives filters */
        /* those of the second filter: */
        CHECK_THREAD,      /* of clone: a thread, no process */
        CHECK_CODE,        /* of mmap: code is a file, as it is */
        CHECK_PROTECTION,  /* of mprotect: no code */
        CHECK_PERSONALITY, /* the usual one: none by which all memory is code */
        CHECK_ATTACHED,    /* of shmat: no code */
        CHECK_FEW_IOCTLS,  /* those of a list */
        CHECK_FEW_PRCTLS,
        VERDICT_COUNT,
        FIRST_CHECK = CHECK_CLONE,
};

struct entry {
        int number;
        enum verdict verdict;
};

/* One outcome of a comparison that leads to a verdict, whose code is not written yet. */
struct jump {
        unsigned short at; /* the comparison */
        bool if_true;
        short next; /* that leads to the same verdict, or NO_JUMP */
};

enum { NO_JUMP = -1 };

struct builder {
        struct filter *filter;
        const struct filter_options *options;
        struct jump jumps[2 * FILTER_MAX];
        short jump_count;
        short first_jumps[VERDICT_COUNT];
        bool is_full;
};

static inline void emit(struct builder *builder, unsigned short code, unsigned k)
{
        struct filter *filter = builder->filter;

        if (filter->length == FILTER_MAX) {
                builder->is_full = true;
                return;
        }
        filter->code[filter->length++] = (struct sock_filter){ code, 0, 0, k };
}

/* A conditional jump reaches 255 instructions far. */
static inline void set_jump(struct builder *builder, size_t at, bool if_true, size_t target)
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

static inline void emit_return(struct builder *builder, unsigned value)
{
        emit(builder, BPF_RET | BPF_K, value);
}

/* The low half of an argument: the kernel itself looks at no more of the values checked here, and a comparison of
 * all 64 bits would let a caller pass by setting the upper ones. */
static inline void emit_load(struct builder *builder, unsigned argument)
{
        emit(builder, BPF_LD | BPF_W | BPF_ABS, (unsigned)offsetof(struct seccomp_data, args) + 8 * argument);
}

static inline void emit_mask(struct builder *builder, unsigned bits)
{
        emit(builder, BPF_ALU | BPF_AND | BPF_K, bits);
}

static inline void jump_to_verdict(struct builder *builder, size_t at, bool if_true, enum verdict verdict)
{
        if (builder->is_full)
                return;
        builder->jumps[builder->jump_count] =
                (struct jump){ (unsigned short)at, if_true, builder->first_jumps[verdict] };
        builder->first_jumps[verdict] = builder->jump_count++;
}

/* Both outcomes go on with the next instruction until something else is said of them. Returns where it is. */
static inline size_t emit_test(struct builder *builder, unsigned short comparison, unsigned k)
{
        size_t at = builder->filter->length;

        emit(builder, BPF_JMP | comparison | BPF_K, k);
        return at;
}

static inline void emit_test_to(struct builder *builder, unsigned short comparison, unsigned k,
                                enum verdict if_true, enum verdict if_false)
{
        size_t at = emit_test(builder, comparison, k);

        jump_to_verdict(builder, at, true, if_true);
        jump_to_verdict(builder, at, false, if_false);
}

static inline size_t emit_test_if(struct builder *builder, unsigned short comparison, unsigned k,
                                  enum verdict if_true)
{
        size_t at = emit_test(builder, comparison, k);

        jump_to_verdict(builder, at, true, if_true);
        return at;
}

static inline size_t emit_test_unless(struct builder *builder, unsigned short comparison, unsigned k,
                                      enum verdict if_false)
{
        size_t at = emit_test(builder, comparison, k);

        jump_to_verdict(builder, at, false, if_false);
        return at;
}

/* What is emitted next is what the comparison leads to when it is true. */
static inline void land(struct builder *builder, size_t at)
{
        if (!builder->is_full)
                set_jump(builder, at, true, builder->filter->length);
}

/* One of the values leads to the first verdict, every other to the second. */
static inline void emit_list(struct builder *builder, const unsigned *values, size_t count,
                             enum verdict if_found, enum verdict if_not)
{
        size_t last = 0;

        for (size_t i = 0; i < count; i++)
                last = emit_test_if(builder, BPF_JEQ, values[i], if_found);
        jump_to_verdict(builder, last, false, if_not);
}

#define EMIT_LIST(builder, values, if_found, if_not) \
        emit_list((builder), (values), sizeof(values) / sizeof(*(values)), (if_found), (if_not))

static inline void emit_check_bits(struct builder *builder, unsigned argument, unsigned bits,
                                   enum verdict if_none)
{
        emit_load(builder, argument);
        emit_test_to(builder, BPF_JSET, bits, REFUSE, if_none);
}

/* filter_linux.c: verdicts, of VERDICTS_SIZE numbers, as a program; `first`, unless NULL, is asked about before all others. */
int filter_assemble(const unsigned char *verdicts, const struct entry *first,
                    const struct filter_options *options, struct filter *filter, abatis_error *err);
/* filter_second_linux.c: one of its own checks. */
void filter_emit_second(struct builder *builder, enum verdict verdict);

/* filter_sockets_linux.c: likewise. */
void filter_emit_of_sockets(struct builder *builder, enum verdict verdict);

#endif
