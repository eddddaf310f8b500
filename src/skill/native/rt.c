/* rt.c: the memory, the tables, the stack and the traps of a module that has become a program. */
#define _GNU_SOURCE
#include "skill/native/rt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* As much as programs have here. A frame is as large as the guard at most if the compiler does not touch each page of it, as
 * -fstack-clash-protection has it. */
#define STACK_SIZE (UINT64_C(8) << 20)
#define STACK_GUARD (UINT64_C(256) << 20)
enum { FAULT_STACK = 32768 };

static struct {
        uint8_t *memory; /* of the module, or NULL; RT_RESERVED bytes */
        uint8_t *stack;  /* its guard first */
        int errors;      /* standard error, whatever the module does with its own */
} places = { .errors = STDERR_FILENO };

/* Without stdio: it may be called from a fault in the middle of anything. */
static void say(const char *what, const char *detail)
{
        const struct iovec parts[] = {
                { (void *)"skill: ", 7 },
                { (void *)(uintptr_t)what, strlen(what) },
                { (void *)": ", detail ? 2 : 0 },
                { (void *)(uintptr_t)detail, detail ? strlen(detail) : 0 },
                { (void *)"\n", 1 },
        };

        if (writev(places.errors, parts, sizeof parts / sizeof *parts) < 0)
                return; /* there is nobody to tell */
}

void rt_fail(const char *what)
{
        const char *reason = errno ? strerror(errno) : NULL;

        say(what, reason);
        _exit(FAILURE_STATUS);
}

static const char *trap_name(wasm_rt_trap_t trap)
{
        switch (trap) {
        case WASM_RT_TRAP_NONE:
                return "nothing";
        case WASM_RT_TRAP_OOB:
                return "out of bounds of its memory or a table";
        case WASM_RT_TRAP_INT_OVERFLOW:
                return "integer overflow";
        case WASM_RT_TRAP_DIV_BY_ZERO:
                return "division by zero";
        case WASM_RT_TRAP_INVALID_CONVERSION:
                return "not a number, which is no integer";
        case WASM_RT_TRAP_UNREACHABLE:
                return "unreachable";
        case WASM_RT_TRAP_CALL_INDIRECT:
                return "indirect call of no function, or of one of another type";
        case WASM_RT_TRAP_EXHAUSTION:
                return "stack exhausted";
        }
        return "unknown";
}

void wasm_rt_trap(wasm_rt_trap_t trap)
{
        say("trap", trap_name(trap));
        _exit(TRAP_STATUS);
}

/* ---- faults ---- */

static void on_fault(int number, siginfo_t *info, void *context)
{
        const uint8_t *at = info->si_addr;

        (void)number;
        (void)context;
        if (places.memory && at >= places.memory && at < places.memory + RT_RESERVED)
                wasm_rt_trap(WASM_RT_TRAP_OOB);
        if (at >= places.stack && at < places.stack + STACK_GUARD)
                wasm_rt_trap(WASM_RT_TRAP_EXHAUSTION);
        say("trap", "fault outside its memory and stack");
        _exit(TRAP_STATUS);
}

static void handle_faults(void)
{
        static uint8_t stack[FAULT_STACK] __attribute__((aligned(16)));
        const stack_t place = { .ss_sp = stack, .ss_size = sizeof stack };
        struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        const struct sigaction unheard = { .sa_handler = SIG_IGN }; /* whoever writes is told */

        if (sigaltstack(&place, NULL) < 0 || sigaction(SIGSEGV, &action, NULL) < 0 ||
            sigaction(SIGBUS, &action, NULL) < 0 || sigaction(SIGPIPE, &unheard, NULL) < 0)
                rt_fail("cannot handle faults");
}

static void *reserve(uint64_t size, const char *what)
{
        void *place = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (place == MAP_FAILED)
                rt_fail(what);
        return place;
}

void rt_run(void (*body)(void))
{
        uint8_t *top;
        const int errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

        if (errors >= 0)
                places.errors = errors;
        places.stack = reserve(STACK_GUARD + STACK_SIZE, "no address space for its stack");
        if (mprotect(places.stack + STACK_GUARD, STACK_SIZE, PROT_READ | PROT_WRITE) < 0)
                rt_fail("no memory for its stack");
        top = places.stack + STACK_GUARD + STACK_SIZE;
        handle_faults();
        /* The frame below is never come back to. */
#if defined(__aarch64__)
        __asm__ volatile("mov sp, %0\n\tblr %1\n\tbrk #1" : : "r"(top), "r"(body) : "memory");
#elif defined(__x86_64__)
        __asm__ volatile("mov %0, %%rsp\n\tcall *%1\n\tud2" : : "r"(top), "r"(body) : "memory");
#else
#error "how this processor changes its stack is not known here"
#endif
        __builtin_unreachable();
}

/* ---- the memory ---- */

void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t pages, uint32_t max_pages)
{
        memory->data = places.memory = reserve(RT_RESERVED, "no address space for its memory");
        memory->max_pages = max_pages;
        memory->pages = 0;
        memory->size = 0;
        if (wasm_rt_grow_memory(memory, pages) == UINT32_MAX)
                rt_fail("no memory for as much as it begins with");
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t delta)
{
        const uint32_t old = memory->pages;

        if (delta > memory->max_pages - old)
                return UINT32_MAX;
        if (delta && mprotect(memory->data + memory->size, delta * RT_PAGE, PROT_READ | PROT_WRITE) < 0)
                return UINT32_MAX;
        memory->pages += delta;
        memory->size += delta * RT_PAGE;
        return old;
}

void wasm_rt_free_memory(wasm_rt_memory_t *memory)
{
        munmap(memory->data, RT_RESERVED);
        places.memory = NULL;
}

/* ---- tables ---- */

#define TABLE(kind)                                                                           \
        void wasm_rt_allocate_##kind##_table(wasm_rt_##kind##_table_t *table, uint32_t size,  \
                                             uint32_t max_size)                               \
        {                                                                                     \
                table->data = calloc(size ? size : 1, sizeof *table->data);                   \
                table->size = size;                                                           \
                table->max_size = max_size;                                                   \
                if (!table->data)                                                             \
                        rt_fail("no memory for a table");                                     \
        }                                                                                     \
                                                                                              \
        uint32_t wasm_rt_grow_##kind##_table(wasm_rt_##kind##_table_t *table, uint32_t delta, \
                                             wasm_rt_##kind##_t value)                        \
        {                                                                                     \
                const uint32_t old = table->size;                                             \
                void *data;                                                                   \
                                                                                              \
                if (delta > table->max_size - old)                                            \
                        return UINT32_MAX;                                                    \
                if (!delta)                                                                   \
                        return old;                                                           \
                data = reallocarray(table->data, (size_t)old + delta, sizeof *table->data);   \
                if (!data)                                                                    \
                        return UINT32_MAX;                                                    \
                table->data = data;                                                           \
                table->size += delta;                                                         \
                for (uint32_t i = old; i < table->size; i++)                                  \
                        table->data[i] = value;                                               \
                return old;                                                                   \
        }                                                                                     \
                                                                                              \
        void wasm_rt_free_##kind##_table(wasm_rt_##kind##_table_t *table)                     \
        {                                                                                     \
                free(table->data);                                                            \
        }

TABLE(funcref)
TABLE(externref)

/* ---- types of functions ---- */

struct function_type {
        uint32_t parameters, results;
        uint8_t *types; /* owned: the first, then the others */
};

uint32_t wasm_rt_register_func_type(uint32_t parameters, uint32_t results, ...)
{
        static struct function_type *known;
        static uint32_t count;
        const uint32_t total = parameters + results;
        uint8_t *types = malloc(total ? total : 1);
        struct function_type *more;
        va_list list;

        if (!types)
                rt_fail("no memory for its types");
        va_start(list, results);
        for (uint32_t i = 0; i < total; i++)
                types[i] = (uint8_t)va_arg(list, wasm_rt_type_t);
        va_end(list);
        for (uint32_t i = 0; i < count; i++)
                if (known[i].parameters == parameters && known[i].results == results &&
                    !memcmp(known[i].types, types, total)) {
                        free(types);
                        return i + 1;
                }
        more = reallocarray(known, (size_t)count + 1, sizeof *known);
        if (!more)
                rt_fail("no memory for its types");
        known = more;
        known[count] = (struct function_type){ parameters, results, types };
        return ++count;
}
