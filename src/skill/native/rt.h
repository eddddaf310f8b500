/* rt.h: what the C code that wasm2c makes of a module expects of its runtime.
 *
 * It stands in for the wasm-rt.h of wabt 1.0.32, under whose name it is put beside the code; the names are wabt's. A wasm2c of another
 * version makes code that does not compile with it, which is what we want: nothing is guessed. */
#ifndef SKILL_NATIVE_RT_H
#define SKILL_NATIVE_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if UINTPTR_MAX != UINT64_MAX || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "only for 64-bit little-endian processors: every address of a module lies in one reservation"
#endif

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define wasm_rt_memcpy __builtin_memcpy

/* Addresses are not compared with the size of the memory: what lies behind it faults. */
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 1
/* Nor are calls counted: below the stack lies a guard. */
#define WASM_RT_USE_STACK_DEPTH_COUNT 0

typedef enum {
        WASM_RT_TRAP_NONE,
        WASM_RT_TRAP_OOB,
        WASM_RT_TRAP_INT_OVERFLOW,
        WASM_RT_TRAP_DIV_BY_ZERO,
        WASM_RT_TRAP_INVALID_CONVERSION,
        WASM_RT_TRAP_UNREACHABLE,
        WASM_RT_TRAP_CALL_INDIRECT,
        WASM_RT_TRAP_EXHAUSTION,
} wasm_rt_trap_t;

typedef enum {
        WASM_RT_I32,
        WASM_RT_I64,
        WASM_RT_F32,
        WASM_RT_F64,
        WASM_RT_FUNCREF,
        WASM_RT_EXTERNREF,
} wasm_rt_type_t;

typedef void (*wasm_rt_function_ptr_t)(void);

typedef struct {
        uint32_t func_type; /* as wasm_rt_register_func_type() gave it, or 0 */
        wasm_rt_function_ptr_t func;
        void *module_instance;
} wasm_rt_funcref_t;

typedef void *wasm_rt_externref_t;

static const wasm_rt_funcref_t wasm_rt_funcref_null_value __attribute__((unused));
static const wasm_rt_externref_t wasm_rt_externref_null_value __attribute__((unused));

/* A module can form no address beyond 2^33 + 7 bytes from the beginning of its memory: a 32-bit address, a 32-bit offset, 8 bytes. All of
 * that is reserved, and only what the module has asked for can be touched. So no access is checked, and none leaves the reservation. */
#define RT_PAGE (UINT64_C(1) << 16)
#define RT_RESERVED ((UINT64_C(1) << 33) + RT_PAGE)

typedef struct {
        uint8_t *data;
        uint32_t pages, max_pages;
        uint64_t size; /* wabt's has 32 bits, in which 4 GiB are none */
} wasm_rt_memory_t;

typedef struct {
        wasm_rt_funcref_t *data;
        uint32_t max_size, size;
} wasm_rt_funcref_table_t;

typedef struct {
        wasm_rt_externref_t *data;
        uint32_t max_size, size;
} wasm_rt_externref_table_t;

/* Says on standard error what happened, and ends the program with TRAP_STATUS. */
enum { TRAP_STATUS = 134 };
void wasm_rt_trap(wasm_rt_trap_t trap) __attribute__((noreturn, cold));

static inline bool wasm_rt_is_initialized(void)
{
        return true;
}

/* The same number for the same types: parameters, then results. */
uint32_t wasm_rt_register_func_type(uint32_t parameters, uint32_t results, ...);

void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t pages, uint32_t max_pages);
uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t delta);
void wasm_rt_free_memory(wasm_rt_memory_t *memory);

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t size, uint32_t max_size);
void wasm_rt_allocate_externref_table(wasm_rt_externref_table_t *table, uint32_t size, uint32_t max_size);
uint32_t wasm_rt_grow_funcref_table(wasm_rt_funcref_table_t *table, uint32_t delta, wasm_rt_funcref_t value);
uint32_t wasm_rt_grow_externref_table(wasm_rt_externref_table_t *table, uint32_t delta,
                                      wasm_rt_externref_t value);
void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *table);
void wasm_rt_free_externref_table(wasm_rt_externref_table_t *table);

/* ---- for main.c ---- */

/* Ends the program with a line on standard error that is not the module's fault. */
enum { FAILURE_STATUS = 125 };
void rt_fail(const char *what) __attribute__((noreturn, cold));

/* Handles faults from here on, and calls `body` on a stack of its own, from which it must not return. */
void rt_run(void (*body)(void)) __attribute__((noreturn));

#endif
