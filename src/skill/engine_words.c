/* engine_words.c: how each engine is told what to run. What it is told to keep read-only the sandbox keeps so, too. */
#define _GNU_SOURCE
#include "skill/engine_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"

/* A list of words that is sticky. */
struct words {
        struct strings *argv;
        abatis_error *err;
        int r;
};

static void add(struct words *words, const char *word)
{
        if (!words->r)
                words->r = strings_add(words->argv, word, words->err);
}

/* One word of several parts. */
static void add_joined(struct words *words, const char *const *parts)
{
        OWN_TEXT struct text text = { 0 };
        OWN_FREE char *word = NULL;

        for (; *parts; parts++)
                text_add(&text, *parts);
        if (!words->r)
                words->r = text_take(&text, &word, words->err);
        if (!words->r)
                add(words, word);
}

#define ADD_JOINED(words, ...) add_joined((words), (const char *const[]){ __VA_ARGS__, NULL })

static void add_rest(struct words *words, const char *const *rest)
{
        for (; *rest; rest++)
                add(words, *rest);
}

/* Most engines separate what a directory is from what it is called by a colon, and have no way to write one. */
static void check_colons(struct words *words, const struct engine_order *order)
{
        for (size_t i = 0; i < order->place_count && !words->r; i++)
                if (strchr(order->places[i].host, ':') || strchr(order->places[i].guest, ':'))
                        words->r = error_set(
                                words->err, ABATIS_E_INVALID,
                                "'%s' has a colon in it, and this engine takes no such directory; node does",
                                order->places[i].host);
}

/* ---- native: src/skill/native/main.c has its arguments ---- */

int words_native(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };
        const char *slash = strrchr(order->module, '/');

        add(&words, order->program);
        for (size_t i = 0; i < order->place_count; i++) {
                add(&words, order->places[i].is_writable ? "--write" : "--read");
                add(&words, order->places[i].host);
                add(&words, order->places[i].guest);
        }
        add(&words, "--");
        add(&words, slash ? slash + 1 : order->module);
        add_rest(&words, order->arguments);
        return words.r;
}

/* ---- wazero --------------------------------------------------------------------------------------------- */

static int run_wazero(const struct engine_order *order, const char *flag, struct strings *argv,
                      abatis_error *err)
{
        struct words words = { argv, err, 0 };

        check_colons(&words, order);
        add(&words, order->program);
        add(&words, "run");
        if (flag)
                add(&words, flag);
        if (order->cache)
                ADD_JOINED(&words, "-cachedir=", order->cache);
        add(&words, "-env-inherit");
        for (size_t i = 0; i < order->place_count; i++)
                ADD_JOINED(&words, "-mount=", order->places[i].host, ":", order->places[i].guest,
                           order->places[i].is_writable ? "" : ":ro");
        add(&words, order->module);
        /* It takes the first "--" behind the file for its own, unless that is all there is. */
        if (*order->arguments)
                add(&words, "--");
        add_rest(&words, order->arguments);
        return words.r;
}

int words_wazero(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        return run_wazero(order, NULL, argv, err);
}

int words_wazero_interpreter(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        return run_wazero(order, "-interpreter", argv, err);
}

int words_wazero_compile(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        add(&words, order->program);
        add(&words, "compile");
        ADD_JOINED(&words, "-cachedir=", order->cache);
        add(&words, order->module);
        return words.r;
}

/* ---- wasmtime ------------------------------------------------------------------------------------------- */

/* The name of what it compiles, in the directory of the cache. */
static const char compiled_name[] = "/module.cwasm";

int words_wasmtime(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        check_colons(&words, order);
        add(&words, order->program);
        add(&words, "run");
        if (order->cache)
                add(&words, "--allow-precompiled");
        add(&words, "-Sinherit-env=y");
        add(&words, "-Ccache=n");
        for (size_t i = 0; i < order->place_count; i++)
                ADD_JOINED(&words, "--dir=", order->places[i].host, "::", order->places[i].guest);
        if (order->cache)
                ADD_JOINED(&words, order->cache, compiled_name);
        else
                add(&words, order->module);
        add_rest(&words, order->arguments);
        return words.r;
}

int words_wasmtime_compile(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        add(&words, order->program);
        add(&words, "compile");
        add(&words, "-o");
        ADD_JOINED(&words, order->cache, compiled_name);
        add(&words, order->module);
        return words.r;
}

/* ---- iwasm, wasmedge ------------------------------------------------------------------------------------ */

/* Both take variables one by one. */
static void add_variables(struct words *words, const struct engine_order *order, const char *flag)
{
        for (const char *const *variable = order->environment; *variable; variable++)
                ADD_JOINED(words, flag, *variable);
}

int words_iwasm(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        check_colons(&words, order);
        add(&words, order->program);
        add_variables(&words, order, "--env=");
        for (size_t i = 0; i < order->place_count; i++)
                ADD_JOINED(&words, "--map-dir=", order->places[i].guest, "::", order->places[i].host);
        add(&words, order->module);
        add_rest(&words, order->arguments);
        return words.r;
}

int words_wasmedge(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        check_colons(&words, order);
        add(&words, order->program);
        add(&words, "run");
        for (const char *const *variable = order->environment; *variable; variable++) {
                add(&words, "--env");
                add(&words, *variable);
        }
        for (size_t i = 0; i < order->place_count; i++) {
                add(&words, "--dir");
                ADD_JOINED(&words, order->places[i].guest, ":", order->places[i].host);
        }
        add(&words, order->module);
        add_rest(&words, order->arguments);
        return words.r;
}

/* ---- node ----------------------------------------------------------------------------------------------- */

/* The module's exit code is ours; what traps is said in one line. */
static const char node_program[] =
        "const{WASI}=require('wasi'),{readFileSync}=require('fs'),{basename}=require('path');"
        "const[file,preopens,...args]=process.argv.slice(1);"
        "const wasi=new WASI({version:'preview1',args:[basename(file),...args],env:process.env,"
        "preopens:JSON.parse(preopens),returnOnExit:true});"
        "try{const module=new WebAssembly.Module(readFileSync(file));"
        "process.exitCode=wasi.start(new WebAssembly.Instance(module,wasi.getImportObject()))}"
        "catch(e){process.stderr.write(`${e.name}: ${e.message}\\n`);process.exitCode=134}";

static void add_places(struct words *words, const struct engine_order *order)
{
        OWN_TEXT struct text text = { 0 };
        OWN_FREE char *word = NULL;

        text_add(&text, "{");
        for (size_t i = 0; i < order->place_count && !words->r; i++) {
                const struct engine_place *place = &order->places[i];

                if (!text_is_plain(place->host, strlen(place->host)) ||
                    !text_is_plain(place->guest, strlen(place->guest)))
                        words->r =
                                error_set(words->err, ABATIS_E_INVALID,
                                          "'%s' is not UTF-8, and node takes no such directory", place->host);
                text_add(&text, i ? "," : "");
                json_text_string(&text, place->guest, strlen(place->guest));
                text_add(&text, ":");
                json_text_string(&text, place->host, strlen(place->host));
        }
        text_add(&text, "}");
        if (!words->r)
                words->r = text_take(&text, &word, words->err);
        if (!words->r)
                add(words, word);
}

int words_node(const struct engine_order *order, struct strings *argv, abatis_error *err)
{
        struct words words = { argv, err, 0 };

        add(&words, order->program);
        add(&words, "--no-warnings");
        /* Version 20 on arm64 crashes in every second run whose memory has grown to some hundred megabytes, unless it is alone. */
        add(&words, "--single-threaded");
        add(&words, "--no-addons");
        add(&words, "--disable-proto=delete");
        add(&words, "-e");
        add(&words, node_program);
        add(&words, "--");
        add(&words, order->module);
        add_places(&words, order);
        add_rest(&words, order->arguments);
        return words.r;
}
