/* Attempts to run code that the program has written: "return 42", by every way there is to memory that is code. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 65536 /* the largest */, ANSWER = 42, READ_WRITE = PROT_READ | PROT_WRITE };

#if defined(__aarch64__)
static const unsigned code[] = { 0x52800540, 0xd65f03c0 };
#else
static const unsigned char code[] = { 0xb8, ANSWER, 0, 0, 0, 0xc3, 0x90, 0x90 };
#endif

static int run(void *memory)
{
        int (*function)(void);

        __builtin___clear_cache(memory, (char *)memory + sizeof(code));
        memcpy(&function, &memory, sizeof(function));
        return function() == ANSWER ? SUCCEEDED : refused_because("call", "another answer");
}

static int write_and_run(void *memory)
{
        if (memory == MAP_FAILED)
                return refused("map");
        memcpy(memory, code, sizeof(code));
        return run(memory);
}

static void *map_written(int flags, int fd)
{
        void *memory = mmap(NULL, PAGE, READ_WRITE, flags, fd, 0);

        if (memory != MAP_FAILED)
                memcpy(memory, code, sizeof(code));
        return memory;
}

static int protect_and_run(void *memory, int protection)
{
        if (memory == MAP_FAILED)
                return refused("mmap");
        return mprotect(memory, PAGE, protection) < 0 ? refused("mprotect") : run(memory);
}

static int code_at_once(char **argument)
{
        (void)argument;
        return write_and_run(mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static int code_shared_at_once(char **argument)
{
        (void)argument;
        return write_and_run(mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static int code_later(char **argument)
{
        (void)argument;
        return protect_and_run(map_written(MAP_PRIVATE | MAP_ANONYMOUS, -1), PROT_READ | PROT_EXEC);
}

static int code_only_to_be_executed(char **argument)
{
        (void)argument;
        return protect_and_run(map_written(MAP_PRIVATE | MAP_ANONYMOUS, -1), PROT_EXEC);
}

static int code_of_shared_memory_later(char **argument)
{
        (void)argument;
        return protect_and_run(map_written(MAP_SHARED | MAP_ANONYMOUS, -1), PROT_READ | PROT_EXEC);
}

static int code_by_pkey_mprotect(char **argument)
{
        void *memory = map_written(MAP_PRIVATE | MAP_ANONYMOUS, -1);

        (void)argument;
        if (syscall(SYS_pkey_mprotect, memory, (size_t)PAGE, PROT_READ | PROT_EXEC, -1) < 0)
                return refused("pkey_mprotect");
        return run(memory);
}

/* FILE, which may be code: what was written is this process's copy of it. */
static int code_over_a_file(char **argument)
{
        int fd = open(argument[0], O_RDONLY);

        return fd < 0 ? refused("open")
                      : write_and_run(mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0));
}

static int code_over_a_file_later(char **argument)
{
        int fd = open(argument[0], O_RDONLY);

        return fd < 0 ? refused("open")
                      : protect_and_run(map_written(MAP_PRIVATE, fd), PROT_READ | PROT_EXEC);
}

/* What was code, is written, and would be code again. */
static int code_and_back(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        void *memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

        if (memory == MAP_FAILED)
                return refused("mmap");
        if (mprotect(memory, PAGE, READ_WRITE) < 0)
                return refused("mprotect");
        memcpy(memory, code, sizeof(code));
        return protect_and_run(memory, PROT_READ | PROT_EXEC);
}

/* Written memory is moved to where code was. */
static int code_moved_over_code(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        void *target = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0),
             *memory = map_written(MAP_PRIVATE | MAP_ANONYMOUS, -1);

        if (target == MAP_FAILED || memory == MAP_FAILED)
                return refused("mmap");
        memory = mremap(memory, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target);
        return protect_and_run(memory, PROT_READ | PROT_EXEC);
}

static int code_mapped_over_code(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        void *target = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

        if (target == MAP_FAILED)
                return refused("mmap");
        return write_and_run(
                mmap(target, PAGE, READ_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

/* Whoever could write the file would write code. */
static int code_of_a_shared_file(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        void *memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);

        return memory == MAP_FAILED ? refused("mmap") : SUCCEEDED;
}

/* FILE: written, then mapped. */
static int code_of_a_written_file(char **argument)
{
        int fd = open(argument[0], O_RDWR | O_CREAT, 0755);
        void *memory;

        if (fd < 0 || ftruncate(fd, PAGE) < 0 || pwrite(fd, code, sizeof(code), 0) < 0)
                return refused("write");
        memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        return memory == MAP_FAILED ? refused("mmap") : run(memory);
}

static int code_of_a_memory_file(char **argument)
{
        int fd = (int)syscall(SYS_memfd_create, "code", 0u);
        void *memory;

        (void)argument;
        if (fd < 0 || ftruncate(fd, PAGE) < 0 || pwrite(fd, code, sizeof(code), 0) < 0)
                return refused("memfd_create");
        memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        return memory == MAP_FAILED ? refused("mmap") : run(memory);
}

/* Standard error is a file: it is written, and opened again to be read. */
static int code_of_standard_error(char **argument)
{
        int fd = open("/proc/self/fd/2", O_RDONLY);
        void *memory;

        (void)argument;
        if (fd < 0 || ftruncate(2, PAGE) < 0 || pwrite(2, code, sizeof(code), 0) < 0)
                return refused("open standard error again");
        memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
        return memory == MAP_FAILED ? refused("mmap") : run(memory);
}

/* Standard input is a file with code in it. */
static int code_of_standard_input(char **argument)
{
        void *memory = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0, 0);

        (void)argument;
        return memory == MAP_FAILED ? refused("mmap") : SUCCEEDED;
}

/* A page of zeros that is a process's own. */
static int code_of_the_zero_device(char **argument)
{
        int fd = open("/dev/zero", O_RDWR);

        (void)argument;
        return fd < 0 ? refused("open")
                      : write_and_run(mmap(NULL, PAGE, READ_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0));
}

static int code_in_attached_memory(char **argument)
{
        int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0700);
        void *memory = id < 0 ? MAP_FAILED : shmat(id, NULL, SHM_EXEC);

        (void)argument;
        if (memory == MAP_FAILED)
                return refused("shmat");
        shmctl(id, IPC_RMID, NULL);
        return write_and_run(memory);
}

/* Whatever can be read is code. */
static int code_by_personality(char **argument)
{
        (void)argument;
        if (syscall(SYS_personality, 0x0400000 /* READ_IMPLIES_EXEC */) < 0)
                return refused("personality");
        return write_and_run(mmap(NULL, PAGE, READ_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

static __attribute__((noinline, aligned(64))) int victim(void)
{
        __asm__ volatile("nop\n\tnop\n\tnop\n\tnop");
        return 1;
}

/* The kernel writes there, whatever the mapping says. */
static int code_by_the_memory_file(char **argument)
{
        int fd = open("/proc/self/mem", O_RDWR);

        (void)argument;
        if (fd < 0)
                return refused("open /proc/self/mem");
        if (pwrite(fd, code, sizeof(code), (off_t)(uintptr_t)victim) != sizeof(code))
                return refused("write /proc/self/mem");
        return run((void *)(uintptr_t)victim);
}

static int code_by_the_memory_file_of_a_thread(char **argument)
{
        int fd = open("/proc/thread-self/mem", O_WRONLY);

        (void)argument;
        if (fd < 0)
                return refused("open /proc/thread-self/mem");
        if (pwrite(fd, code, sizeof(code), (off_t)(uintptr_t)victim) != sizeof(code))
                return refused("write /proc/thread-self/mem");
        return run((void *)(uintptr_t)victim);
}

/* A child that lets itself be traced has code written into it. */
static int code_by_tracing(char **argument)
{
        pid_t child = fork();
        int status = 0;
        long word;

        (void)argument;
        if (!child) {
                if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
                        _exit(REFUSED);
                raise(SIGSTOP);
                _exit(victim() == ANSWER ? SUCCEEDED : REFUSED);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
                return refused_because("ptrace", "the child was not traced");
        memcpy(&word, code, sizeof(word));
        if (ptrace(PTRACE_POKETEXT, child, (void *)(uintptr_t)victim, (void *)word) < 0)
                return refused("PTRACE_POKETEXT");
        ptrace(PTRACE_CONT, child, NULL, NULL);
        if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
                return refused_because("ptrace", "the code did not run");
        return SUCCEEDED;
}

const struct attempt code_attempts[] = {
        { "code_at_once", 0, code_at_once },
        { "code_shared_at_once", 0, code_shared_at_once },
        { "code_later", 0, code_later },
        { "code_only_to_be_executed", 0, code_only_to_be_executed },
        { "code_of_shared_memory_later", 0, code_of_shared_memory_later },
        { "code_by_pkey_mprotect", 0, code_by_pkey_mprotect },
        { "code_over_a_file", 1, code_over_a_file },
        { "code_over_a_file_later", 1, code_over_a_file_later },
        { "code_and_back", 1, code_and_back },
        { "code_moved_over_code", 1, code_moved_over_code },
        { "code_mapped_over_code", 1, code_mapped_over_code },
        { "code_of_a_shared_file", 1, code_of_a_shared_file },
        { "code_of_a_written_file", 1, code_of_a_written_file },
        { "code_of_a_memory_file", 0, code_of_a_memory_file },
        { "code_of_standard_error", 0, code_of_standard_error },
        { "code_of_standard_input", 0, code_of_standard_input },
        { "code_of_the_zero_device", 0, code_of_the_zero_device },
        { "code_in_attached_memory", 0, code_in_attached_memory },
        { "code_by_personality", 0, code_by_personality },
        { "code_by_the_memory_file", 0, code_by_the_memory_file },
        { "code_by_the_memory_file_of_a_thread", 0, code_by_the_memory_file_of_a_thread },
        { "code_by_tracing", 0, code_by_tracing },
        { NULL, 0, NULL },
};
