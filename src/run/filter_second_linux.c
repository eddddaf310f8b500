/* filter_second_linux.c: a second filter, which the command loads last, before it becomes the program: no other process, few system calls,
 * no new code.
 *
 * What this one allows is still judged by the first: of two filters the kernel takes the stricter answer. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#include "plan/plan.h"
#include "run/filter_builder_linux.h"
#include "run/filter_few_linux.h"

enum {
        FIRST_NEW =
                424, /* system calls from here on have one number everywhere, and callers that know what ENOSYS means */
        SAME_PERSONALITY = -1, /* asks, and changes nothing */
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void allow(unsigned char *verdicts, const unsigned short *calls, size_t count)
{
        for (size_t i = 0; i < count; i++)
                verdicts[calls[i]] = ALLOW;
}

static void set_all(unsigned char *verdicts, const struct entry *list, size_t count)
{
        for (size_t i = 0; i < count; i++)
                verdicts[list[i].number] = (unsigned char)list[i].verdict;
}

static void choose_few(unsigned char *verdicts, unsigned calls)
{
        for (unsigned number = 0; number <= LAST_KNOWN; number++)
                verdicts[number] = number < FIRST_NEW ? REFUSE : ABSENT;
        for (size_t i = 0; i < COUNT(few_absent); i++)
                verdicts[few_absent[i]] = ABSENT;
        allow(verdicts, few, COUNT(few));
        set_all(verdicts, few_judged, COUNT(few_judged));
        if (!(calls & PLAN_NO_FORK))
                allow(verdicts, few_of_processes, COUNT(few_of_processes));
        if (calls & PLAN_SOCKETS)
                allow(verdicts, few_of_sockets, COUNT(few_of_sockets));
}

/* What is code must be a file, as it is: the first filter and the mounts say which. */
static const struct entry of_code[] = {
        { SYS_mmap, CHECK_CODE },
        { SYS_mprotect, CHECK_PROTECTION },
        { SYS_pkey_mprotect, CHECK_PROTECTION },
        { SYS_personality, CHECK_PERSONALITY },
        { SYS_shmat, CHECK_ATTACHED },
        /* files that no mount has */
        { SYS_memfd_create, ABSENT },
        { 447 /* memfd_secret */, ABSENT },
        /* they write what only can be read, or may one day */
        { SYS_ptrace, REFUSE },
        { SYS_process_vm_writev, REFUSE },
        { SYS_remap_file_pages, REFUSE },
};

static const struct entry of_forks[] = {
        { SYS_clone, CHECK_THREAD },
        { 435 /* clone3: its flags lie in memory */, ABSENT },
#ifdef SYS_fork
        { SYS_fork, REFUSE },
        { SYS_vfork, REFUSE },
#endif
};

/* Also where few calls are allowed: none of them may be more than that list has. */
static void choose_code(unsigned char *verdicts)
{
        for (size_t i = 0; i < COUNT(of_code); i++)
                if (verdicts[of_code[i].number] == ALLOW)
                        verdicts[of_code[i].number] = (unsigned char)of_code[i].verdict;
}

int filter_build_second(unsigned calls, struct filter *filter, abatis_error *err)
{
        static const struct filter_options options = { .network = NETWORK_ALLOW };
        unsigned char verdicts[VERDICTS_SIZE] = { ALLOW };

        if (calls & PLAN_FEW_CALLS)
                choose_few(verdicts, calls);
        if (calls & PLAN_NO_FORK)
                set_all(verdicts, of_forks, COUNT(of_forks));
        if (calls & PLAN_NO_NEW_CODE)
                choose_code(verdicts);
        verdicts[LAST_KNOWN + 1] = ABSENT;
        return filter_assemble(verdicts, NULL, &options, filter, err);
}

/* ---- checks --------------------------------------------------------------------------------------------- */

/* A file that is mapped for this process alone, and not to be written: then it is what the file is. */
static void emit_code(struct builder *builder)
{
        emit_load(builder, 2);
        emit_test_unless(builder, BPF_JSET, PROT_EXEC, ALLOW);
        emit_test_if(builder, BPF_JSET, PROT_WRITE, REFUSE);
        emit_load(builder, 3);
        emit_mask(builder, MAP_TYPE | MAP_ANONYMOUS);
        emit_test_to(builder, BPF_JEQ, MAP_PRIVATE, ALLOW, REFUSE);
}

void filter_emit_second(struct builder *builder, enum verdict verdict)
{
        switch ((int)verdict) {
        case CHECK_THREAD:
                emit_load(builder, 0);
                emit_test_to(builder, BPF_JSET, CLONE_THREAD, ALLOW, REFUSE);
                return;
        case CHECK_CODE:
                emit_code(builder);
                return;
        case CHECK_PROTECTION:
                emit_check_bits(builder, 2, PROT_EXEC, ALLOW);
                return;
        case CHECK_ATTACHED:
                emit_check_bits(builder, 2, SHM_EXEC, ALLOW);
                return;
        case CHECK_PERSONALITY:
                emit_load(builder, 0);
                emit_test_if(builder, BPF_JEQ, 0, ALLOW);
                emit_test_to(builder, BPF_JEQ, (unsigned)SAME_PERSONALITY, ALLOW, REFUSE);
                return;
        case CHECK_FEW_IOCTLS:
                emit_load(builder, 1);
                EMIT_LIST(builder, few_ioctls, ALLOW, REFUSE);
                return;
        case CHECK_FEW_PRCTLS:
                emit_load(builder, 0);
                EMIT_LIST(builder, few_prctls, ALLOW, REFUSE);
                return;
        }
}
