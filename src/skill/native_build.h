/* native_build.h: how a module becomes a native program: what is written into a directory, and which two commands are run there.
 *
 * wasm2c makes C of the module, and the C compiler one static program of that and the runtime in native/, which is part of the library as
 * text. Nothing is written or run here: who calls does, in a sandbox that reads the system and writes one directory. The program's
 * arguments stand in native/main.c. */
#ifndef SKILL_NATIVE_BUILD_H
#define SKILL_NATIVE_BUILD_H

#include <stdint.h>

#include "base/text.h"
#include "skill/module.h"

/* The runtime's sources, in the order of their names, ended by one without. Made from native/ by script/embed.py. */
struct native_source {
        const char *name; /* "wasi.h" */
        const char *text;
        size_t length;
};
extern const struct native_source native_sources[];

/* Where they are put, below the directory; the first is the second's parent. */
#define NATIVE_TOP "skill"
#define NATIVE_PLACE "skill/native"
/* One of them once more, as the code that wasm2c makes includes it. */
#define NATIVE_RUNTIME "rt.h"
#define NATIVE_RUNTIME_PLACE "wasm-rt.h"

/* wasm2c says nothing when it meets an instruction that it does not know: it aborts. This goes with its status. */
#define NATIVE_TRANSLATION_HINT \
        "wasm2c of wabt 1.0.32 knows no vectors (SIMD), exceptions, tail calls or threads"

/* Whether it can be compiled: a program that imports functions of WASI only, with one memory, whose addresses have 32 bits, which no
 * threads share. What its functions are made of is not looked at: what wasm2c does not know, it refuses. */
int native_check(const struct module *module, abatis_error *err);

/* Of one that native_check() takes, the module that wasm2c is given, owned by the caller: without custom sections, and of its exports only "memory" and "_start". wasm2c writes
 * the names of exports into comments of its C as they are; one that has an end of a comment in it would go on as code. */
int native_strip(const struct module *module, uint8_t **out, size_t *out_length, abatis_error *err);

/* Both commands, with absolute paths. They need no environment but TMPDIR, which must be in the directory, and PATH for what the
 * compiler calls. */
struct native_build {
        char *module;                      /* what native_strip() gave is written here */
        char *program;                     /* and this is what comes out */
        struct strings translate, compile; /* ended by NULL, too */
};

struct native_tools {
        /* Borrowed: absolute paths. gcc or clang of the system: what musl-gcc makes would not be static. */
        const char *wasm2c, *compiler;
};

/* For a directory that is there, by its absolute path, and has room for the sources. */
int native_build_plan(const struct module *module, const struct native_tools *tools, const char *directory,
                      struct native_build *out, abatis_error *err);
void native_build_done(struct native_build *build);
#define OWN_NATIVE_BUILD __attribute__((cleanup(native_build_done)))

#endif
