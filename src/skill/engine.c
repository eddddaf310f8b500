/* engine.c: the engines, as one table, and which of them are here. */
#define _GNU_SOURCE
#include "skill/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "base/reach.h"
#include "skill/engine_words.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* A program of its own is as fast as any. Engines that keep what they have compiled start fastest; then those that translate as they go; node starts slowest of all. wazero's memory
 * of a module is copied when it grows, and the old ones are collected later: 553 MiB were seen for 128. */
const struct engine engines[] = {
        { .name = "native",
          .program = "wasm2c",
          .code = ENGINE_NO_CODE,
          .base = 4,
          .for_ten = 11,
          .is_made_first = true,
          .version = LIST("--version"),
          .add_arguments = words_native },
        { .name = "wazero",
          .program = "wazero",
          .code = ENGINE_W_XOR_X,
          .base = 16,
          .for_ten = 45,
          .version = LIST("version"),
          .add_arguments = words_wazero,
          .add_compile_arguments = words_wazero_compile },
        { .name = "wasmtime",
          .program = "wasmtime",
          .code = ENGINE_W_XOR_X,
          .base = 32,
          .for_ten = 11,
          .version = LIST("--version"),
          .add_arguments = words_wasmtime,
          .add_compile_arguments = words_wasmtime_compile },
        { .name = "wazero-interpreter",
          .program = "wazero",
          .code = ENGINE_NO_CODE,
          .base = 16,
          .for_ten = 45,
          .version = LIST("version"),
          .add_arguments = words_wazero_interpreter },
        { .name = "iwasm",
          .program = "iwasm",
          .code = ENGINE_NO_CODE,
          .base = 8,
          .for_ten = 11,
          .version = LIST("--version"),
          .add_arguments = words_iwasm },
        { .name = "wasmedge",
          .program = "wasmedge",
          .code = ENGINE_NO_CODE,
          .base = 64,
          .for_ten = 11,
          .reads = LIST("/usr/lib/llvm-17/lib", "/usr/lib/llvm-18/lib", "/usr/lib/llvm-19/lib",
                        "/usr/lib/llvm-20/lib", "/usr/lib/llvm-21/lib"),
          .version = LIST("--version"),
          .add_arguments = words_wasmedge },
        { .name = "node",
          .program = "node",
          .code = ENGINE_RWX,
          .base = 64,
          .for_ten = 11,
          .reads = LIST("/usr/share/nodejs"),
          .version = LIST("--version"),
          .add_arguments = words_node },
        { .name = NULL },
};

const char *engine_code_name(enum engine_code code)
{
        switch (code) {
        case ENGINE_NO_CODE:
                return "none";
        case ENGINE_W_XOR_X:
                return "W^X";
        case ENGINE_RWX:
                return "RWX";
        }
        return NULL;
}

uint64_t engine_share(const struct engine *engine, uint64_t memory)
{
        uint64_t base = (uint64_t)engine->base << 20;

        return memory > base ? (memory - base) / engine->for_ten * 10 : 0;
}

int engine_find(const char *name, const struct engine **out, abatis_error *err)
{
        OWN_TEXT struct text names = { 0 };

        for (const struct engine *engine = engines; engine->name; engine++) {
                if (!strcmp(engine->name, name)) {
                        *out = engine;
                        return 0;
                }
                text_addf(&names, "%s, ", engine->name);
        }
        return error_set(err, ABATIS_E_INVALID, "'%s' is no engine; there are %sand auto", name,
                         names.has_failed ? "" : names.data);
}

/* Why a file is not run as an engine, or NULL. It runs in a sandbox, and is still half of what holds a module. Whoever has the root
 * directory has the machine: in a user namespace without root that is not 0. */
static const char *judge(const char *path)
{
        struct stat status, root;

        if (reach_stat(path, &status) < 0 || !S_ISREG(status.st_mode))
                return "is no file";
        if (reach_access(path, X_OK) < 0)
                return "cannot be executed";
        if (status.st_uid && status.st_uid != geteuid() &&
            (stat("/", &root) < 0 || status.st_uid != root.st_uid))
                return "belongs to another user";
        if (status.st_mode & (S_IWGRP | S_IWOTH))
                return "can be written by others; fix: chmod go-w";
        return NULL;
}

int engine_locate_program(const char *name, char **out, abatis_error *err)
{
        const char *at = getenv("PATH");
        abatis_error why;

        error_set(&why, ABATIS_E_NOT_FOUND, "%s is not in PATH", name);
        while (at && *at) {
                size_t length = strcspn(at, ":");
                OWN_FREE char *directory = strndup(at, length), *path = NULL, *real = NULL;

                path = directory ? text_join(directory, "/", name) : NULL;
                if (!path)
                        return error_memory(err);
                real = *at == '/' ? path_real(path) : NULL;
                if (real && !judge(real)) {
                        *out = take_pointer(real);
                        return 0;
                }
                if (real)
                        error_set(&why, ABATIS_E_NOT_FOUND, "%s %s", real, judge(real));
                at += length + (at[length] == ':');
        }
        if (err)
                *err = why;
        return why.code;
}

int engine_locate(const struct engine *engine, char **out, abatis_error *err)
{
        return engine_locate_program(engine->program, out, err);
}

const struct engine *engine_native(void)
{
        const struct engine *engine = engines;

        while (!engine->is_made_first)
                engine++;
        return engine;
}

int engine_choose(bool has_no_code, const struct engine **out, char **program, abatis_error *err)
{
        for (const struct engine *engine = engines; engine->name; engine++) {
                int r = ABATIS_E_NOT_FOUND;

                if (!engine->is_made_first && (!has_no_code || engine->code == ENGINE_NO_CODE))
                        r = engine_locate(engine, program, NULL);
                if (r && r != ABATIS_E_NOT_FOUND)
                        return error_memory(err);
                if (!r) {
                        *out = engine;
                        return 0;
                }
        }
        if (has_no_code)
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "no engine that needs no executable memory is in PATH; fix: install wazero");
        return error_set(err, ABATIS_E_NOT_FOUND,
                         "no engine for WebAssembly is in PATH; fix: install wazero or nodejs");
}

/* Beginnings of names. */
static const char *const steering[] = { "LD_",         "GLIBC_TUNABLES", "MALLOC_",    "GCONV_PATH",
                                        "GODEBUG",     "GOGC",           "GOMEMLIMIT", "GOMAXPRO",
                                        "GOTRACEBACK", "NODE_",          "NODE=",      "UV_",
                                        "V8_",         "OPENSSL_",       "SSL_",       "WASMTIME_",
                                        "WASMEDGE_",   "RUST_",          "JAVA_TOOL",  "TMPDIR=" };

int engine_check_environment(const char *const *environment, abatis_error *err)
{
        for (; *environment; environment++)
                for (size_t i = 0; i < sizeof(steering) / sizeof(*steering); i++)
                        if (!strncmp(*environment, steering[i], strlen(steering[i])))
                                return error_set(
                                        err, ABATIS_E_INVALID,
                                        "environment: '%.*s' would steer the engine that runs the module; leave it out",
                                        (int)strcspn(*environment, "="), *environment);
        return 0;
}
