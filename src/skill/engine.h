/* engine.h: the programs that run WebAssembly: which there are, what they need, and how one is told what to run. */
#ifndef SKILL_ENGINE_H
#define SKILL_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"
#include "base/text.h"

/* What memory an engine needs that is both written and run as code. */
enum engine_code {
        ENGINE_NO_CODE, /* none */
        ENGINE_W_XOR_X, /* written first, then run, never both at once */
        ENGINE_RWX
};

/* A directory that the module is given. */
struct engine_place {
        char *host, *guest; /* owned */
        bool is_writable;
};

/* What is to be run; all of it is borrowed. */
struct engine_order {
        const char *program; /* the engine's file */
        const char *module;  /* the module's */
        const char *cache;   /* what was compiled before, or NULL */
        const struct engine_place *places;
        size_t place_count;
        const char *const *environment; /* the module's; the engine itself has the same; ended by NULL */
        const char *const *arguments;   /* the module's, without its name; ended by NULL */
};

struct engine {
        const char *name, *program;
        const char *const *
                reads; /* what of the system it reads besides itself and its libraries; ended by NULL, or NULL */
        const char *const *version; /* arguments with which it says its version; ended by NULL */
        int (*add_arguments)(const struct engine_order *order, struct strings *argv, abatis_error *err);
        /* Arguments with which it compiles order->module into order->cache, where order->cache stands for a directory of its
         * own; NULL: it cannot. */
        int (*add_compile_arguments)(const struct engine_order *order, struct strings *argv,
                                     abatis_error *err);
        enum engine_code code;
        /* What it takes of memory: for itself, in MiB, and for each ten bytes that a module's memory has grown to, bit by bit. */
        unsigned base, for_ten;
        bool is_made_first; /* there is no program but the one that the module becomes; see lib/skill_native.h */
};

/* The best first, ended by one without a name. */
extern const struct engine engines[];

const char *engine_code_name(enum engine_code code);

/* How much of so many bytes a module can have when it shall be told that there is no more, and not be killed with its engine. */
uint64_t engine_share(const struct engine *engine, uint64_t memory);

/* The one of this name, or an error that lists them. */
int engine_find(const char *name, const struct engine **out, abatis_error *err);

/* A program's file, real and owned by the caller: the first in PATH that nobody can change but root and the user. ABATIS_E_NOT_FOUND with the
 * reason otherwise. */
int engine_locate_program(const char *name, char **out, abatis_error *err);
/* The same of an engine; of one that is made first, what makes it. */
int engine_locate(const struct engine *engine, char **out, abatis_error *err);

/* The best one that is here and has not to be made first, and that needs no executable memory if that is not to be had. */
int engine_choose(bool has_no_code, const struct engine **out, char **program, abatis_error *err);
/* The one that is made first. */
const struct engine *engine_native(void);

/* Refuses a variable of the module's that the engine, its language or its loader would take as an order. */
int engine_check_environment(const char *const *environment, abatis_error *err);

#endif
