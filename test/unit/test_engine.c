/* test_engine.c: which engines there are, how each is told what to run, and where its files lie. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"
#include "skill/engine.h"
#include "skill/places.h"
#include "skill/store.h"

static abatis_error err;

/* ---- words ---------------------------------------------------------------------------------------------- */

static char reads[] = "/in", writes[] = "/out", here[] = ".", odd[] = "/a:b";
static struct engine_place places[] = { { reads, reads, false }, { writes, here, true } };
static const char *const variables[] = { "A=b", NULL }, *const arguments[] = { "-x", "two words", NULL };

/* The words of a command line with a bar between them. */
static const char *words_of(const char *name, const struct engine_order *order, bool compiles)
{
        static char line[4096];
        const struct engine *engine;
        struct strings argv = { 0 };

        assert_int_equal(engine_find(name, &engine, &err), 0);
        assert_int_equal((compiles ? engine->add_compile_arguments : engine->add_arguments)(order, &argv,
                                                                                            &err),
                         0);
        *line = '\0';
        for (size_t i = 0; i < argv.count; i++) {
                strcat(line, i ? "|" : "");
                strcat(line, argv.items[i]);
        }
        strings_done(&argv);
        return line;
}

static void each_engine_is_told_the_same(void **state)
{
        const struct engine_order order = { .program = "/e",
                                            .module = "/m.wasm",
                                            .cache = "/c",
                                            .places = places,
                                            .place_count = 2,
                                            .environment = variables,
                                            .arguments = arguments };
        const struct engine_order cold = { .program = "/e",
                                           .module = "/m.wasm",
                                           .places = places,
                                           .place_count = 2,
                                           .environment = variables,
                                           .arguments = arguments };

        (void)state;
        assert_string_equal(words_of("native", &order, false),
                            "/e|--read|/in|/in|--write|/out|.|--|m.wasm|-x|two words");
        assert_string_equal(
                words_of("wazero", &order, false),
                "/e|run|-cachedir=/c|-env-inherit|-mount=/in:/in:ro|-mount=/out:.|/m.wasm|--|-x|two words");
        assert_string_equal(words_of("wazero", &order, true), "/e|compile|-cachedir=/c|/m.wasm");
        assert_string_equal(
                words_of("wazero-interpreter", &cold, false),
                "/e|run|-interpreter|-env-inherit|-mount=/in:/in:ro|-mount=/out:.|/m.wasm|--|-x|two words");
        assert_string_equal(
                words_of("wasmtime", &order, false),
                "/e|run|--allow-precompiled|-Sinherit-env=y|-Ccache=n|--dir=/in::/in|--dir=/out::.|/c/module.cwasm|-x|two words");
        assert_string_equal(words_of("wasmtime", &order, true), "/e|compile|-o|/c/module.cwasm|/m.wasm");
        assert_string_equal(
                words_of("wasmtime", &cold, false),
                "/e|run|-Sinherit-env=y|-Ccache=n|--dir=/in::/in|--dir=/out::.|/m.wasm|-x|two words");
        assert_string_equal(words_of("iwasm", &cold, false),
                            "/e|--env=A=b|--map-dir=/in::/in|--map-dir=.::/out|/m.wasm|-x|two words");
        assert_string_equal(words_of("wasmedge", &cold, false),
                            "/e|run|--env|A=b|--dir|/in:/in|--dir|.:/out|/m.wasm|-x|two words");
        assert_non_null(strstr(words_of("node", &cold, false),
                               "|--|/m.wasm|{\"/in\":\"/in\",\".\":\"/out\"}|-x|two words"));
}

/* wazero takes a lone "--" for the module's. */
static void no_arguments_are_no_arguments(void **state)
{
        static const char *const none[] = { NULL };
        const struct engine_order order = {
                .program = "/e", .module = "/m.wasm", .environment = none, .arguments = none
        };

        (void)state;
        assert_string_equal(words_of("wazero", &order, false), "/e|run|-env-inherit|/m.wasm");
}

static void a_directory_that_an_engine_cannot_name_is_refused(void **state)
{
        struct engine_place place = { odd, odd, false };
        char broken[] = "/\xff";
        const struct engine_order order = { .program = "/e",
                                            .module = "/m.wasm",
                                            .places = &place,
                                            .place_count = 1,
                                            .environment = variables,
                                            .arguments = arguments };

        (void)state;
        for (const struct engine *engine = engines; engine->name; engine++) {
                struct strings argv = { 0 };
                int r = engine->add_arguments(&order, &argv, &err);

                assert_int_equal(r, !strcmp(engine->name, "node") || engine->is_made_first
                                            ? 0
                                            : ABATIS_E_INVALID);
                strings_done(&argv);
        }
        place = (struct engine_place){ broken, broken, false };
        for (const struct engine *engine = engines; engine->name; engine++) {
                struct strings argv = { 0 };
                int r = engine->add_arguments(&order, &argv, &err);

                assert_int_equal(r, strcmp(engine->name, "node") ? 0 : ABATIS_E_INVALID);
                strings_done(&argv);
        }
}

static void what_steers_an_engine_is_refused(void **state)
{
        const char *const plain[] = { "A=b", "NODEX=1", "PATH=/bin", "LANG=C", NULL };
        const char *const steering[] = { "LD_PRELOAD=x",     "NODE_OPTIONS=x", "GODEBUG=x",
                                         "GLIBC_TUNABLES=x", "WASMTIME_LOG=x", NULL };

        (void)state;
        assert_int_equal(engine_check_environment(plain, &err), 0);
        for (size_t i = 0; steering[i]; i++) {
                const char *const one[] = { "A=b", steering[i], NULL };

                assert_int_equal(engine_check_environment(one, &err), ABATIS_E_INVALID);
                assert_null(strchr(err.message, '=')); /* the name, and not the value */
        }
}

static void a_module_has_what_its_engine_leaves(void **state)
{
        const uint64_t mib = 1 << 20;

        (void)state;
        for (const struct engine *engine = engines; engine->name; engine++) {
                assert_int_equal(engine_share(engine, 0), 0);
                assert_int_equal(engine_share(engine, engine->base * mib), 0);
                assert_true(engine_share(engine, 512 * mib) > 100 * mib);
                assert_true(engine_share(engine, UINT64_MAX) < UINT64_MAX);
        }
}

/* ---- which are here ------------------------------------------------------------------------------------- */

static void the_first_that_nobody_else_can_change_is_taken(void **state)
{
        char *before = strdup(getenv("PATH")), *found = NULL;
        const struct engine *engine;

        (void)state;
        assert_int_equal(engine_find("wazero", &engine, &err), 0);
        chmod(make_file("loose/wazero", ""), 0777);
        chmod(make_file("plain/wazero", ""), 0644);
        chmod(make_file("good/wazero", ""), 0755);
        setenv("PATH", "relative:/nowhere", 1);
        assert_int_equal(engine_locate(engine, &found, &err), ABATIS_E_NOT_FOUND);
        setenv("PATH", at("loose"), 1);
        assert_int_equal(engine_locate(engine, &found, &err), ABATIS_E_NOT_FOUND);
        assert_non_null(strstr(err.message, "can be written by others"));
        setenv("PATH", at("plain"), 1);
        assert_int_equal(engine_locate(engine, &found, &err), ABATIS_E_NOT_FOUND);
        setenv("PATH", at("loose:%s:%s", at("plain"), at("good")), 1);
        assert_int_equal(engine_locate(engine, &found, &err), 0);
        assert_string_equal(found, at("good/wazero"));
        free(found);
        assert_int_equal(engine_choose(false, &engine, &found, &err), 0);
        assert_string_equal(engine->name, "wazero");
        free(found);
        assert_int_equal(engine_choose(true, &engine, &found, &err), 0);
        assert_string_equal(engine->name, "wazero-interpreter");
        free(found);
        setenv("PATH", "/nowhere", 1);
        assert_int_equal(engine_choose(false, &engine, &found, &err), ABATIS_E_NOT_FOUND);
        assert_int_equal(engine_choose(true, &engine, &found, &err), ABATIS_E_UNENFORCEABLE);
        assert_int_equal(engine_find("wazerro", &engine, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "native, wazero, wasmtime, wazero-interpreter, "));
        setenv("PATH", before, 1);
        free(before);
}

/* ---- places --------------------------------------------------------------------------------------------- */

static const struct engine_place *place_called(const struct places *list, const char *guest)
{
        for (size_t i = 0; i < list->count; i++)
                if (!strcmp(list->items[i].guest, guest))
                        return &list->items[i];
        return NULL;
}

static void a_module_has_what_the_policy_lists(void **state)
{
        abatis_policy *policy = new_policy("skill");
        struct places list = { 0 };

        (void)state;
        assert_int_equal(places_find(policy, &list, &err), 0);
        assert_int_equal(list.count, 0);
        places_done(&list);
        make_dir("in");
        make_link("door", "in");
        set(policy, "filesystem.read", at("door"));
        set(policy, "filesystem.write", at("ws"));
        set(policy, "filesystem.execute", "/usr");
        assert_int_equal(places_find(policy, &list, &err), 0);
        assert_int_equal(list.count, 3);
        assert_string_equal(place_called(&list, at("door"))->host, at("in"));
        assert_false(place_called(&list, at("door"))->is_writable);
        assert_true(place_called(&list, at("ws"))->is_writable);
        assert_string_equal(place_called(&list, ".")->host, at("ws"));
        assert_true(place_called(&list, ".")->is_writable);
        places_done(&list);
        make_file("one", "");
        set(policy, "filesystem.read", at("one"));
        assert_int_equal(places_find(policy, &list, &err), ABATIS_E_INVALID);
        abatis_policy_free(policy);
}

/* ---- the store ------------------------------------------------------------------------------------------ */

static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void assert_stored(const char *name, const char *bytes, const char *called)
{
        char *directory = NULL, *file = NULL, text[64] = "";
        struct stat status;
        FILE *stream;

        assert_int_equal(store_put(name, bytes, strlen(bytes), hash, &directory, &file, &err), 0);
        assert_string_equal(directory, at("home/.cache/abatis/skills/modules/%s", hash));
        assert_string_equal(strrchr(file, '/') + 1, called);
        assert_int_equal(lstat(file, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0400);
        stream = fopen(file, "r");
        assert_non_null(stream);
        assert_non_null(fgets(text, sizeof(text), stream));
        fclose(stream);
        assert_string_equal(text, bytes);
        free(directory);
        free(file);
}

static void what_is_stored_is_what_was_given(void **state)
{
        const char *file = at("home/.cache/abatis/skills/modules/%s/a.wasm", hash);

        (void)state;
        assert_stored("a.wasm", "one", "a.wasm");
        assert_stored("a.wasm", "one", "a.wasm");
        /* The name is the file's, unless that is no simple one. */
        assert_stored("-rf", "one", "module.wasm");
        assert_stored("..", "one", "module.wasm");
        assert_stored("a b", "one", "module.wasm");
        /* What somebody has changed is written again, and a link not followed. */
        unlink(file);
        make_file("victim", "gone");
        assert_int_equal(symlink(at("victim"), file), 0);
        assert_stored("a.wasm", "one", "a.wasm");
        unlink(file);
        assert_int_equal(link(at("victim"), file), 0);
        assert_stored("a.wasm", "gone", "a.wasm");
        assert_int_equal(access(at("victim"), F_OK), 0);
        chmod(file, 0666);
        assert_stored("a.wasm", "gone", "a.wasm");
}

static void a_store_of_somebody_elses_is_refused(void **state)
{
        char *store = NULL;

        (void)state;
        make_dir("home/.cache/abatis/skills");
        assert_int_equal(store_open(&store, &err), 0);
        free(store);
        chmod(at("home/.cache/abatis/skills"), 0777);
        assert_int_equal(store_open(&store, &err), ABATIS_E_INVALID);
        rmdir(at("home/.cache/abatis/skills"));
        make_dir("elsewhere");
        make_link("home/.cache/abatis/skills", at("elsewhere"));
        assert_int_equal(store_open(&store, &err), ABATIS_E_INVALID);
}

static void a_program_that_was_changed_has_another_hash(void **state)
{
        char one[SHA256_TEXT_SIZE], same[SHA256_TEXT_SIZE], other[SHA256_TEXT_SIZE];

        (void)state;
        make_file("engine", "first");
        assert_int_equal(store_hash_program(at("engine"), one, &err), 0);
        assert_int_equal(store_hash_program(at("engine"), same, &err), 0);
        assert_string_equal(one, same);
        sha256_text("first", 5, same);
        assert_string_equal(one, same);
        make_file("engine", "other");
        assert_int_equal(store_hash_program(at("engine"), other, &err), 0);
        assert_string_not_equal(one, other);
}

static void what_was_compiled_is_kept_whole_and_read_only(void **state)
{
        char *place = NULL, *stage = NULL, *path;
        struct stat status;
        bool is_there = true;

        (void)state;
        assert_int_equal(store_find_compiled("e", "m", &place, &is_there, &err), 0);
        assert_false(is_there);
        assert_int_equal(store_stage(&stage, &err), 0);
        assert_int_equal(asprintf(&path, "%s/deep", stage), (int)strlen(stage) + 5);
        assert_int_equal(mkdir(path, 0755), 0);
        free(path);
        assert_int_equal(asprintf(&path, "%s/deep/code", stage), (int)strlen(stage) + 10);
        fclose(fopen(path, "w"));
        assert_int_equal(store_keep(stage, place, &err), 0);
        assert_int_equal(access(stage, F_OK), -1);
        free(path);
        assert_int_equal(asprintf(&path, "%s/deep/code", place), (int)strlen(place) + 10);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0400);
        free(path);
        free(stage);
        /* A compiler that leaves a link has done something else than compile. */
        assert_int_equal(store_stage(&stage, &err), 0);
        assert_int_equal(asprintf(&path, "%s/link", stage), (int)strlen(stage) + 5);
        assert_int_equal(symlink("/etc/passwd", path), 0);
        assert_true(store_keep(stage, place, &err) < 0);
        store_drop(stage);
        assert_int_equal(access(stage, F_OK), -1);
        free(path);
        free(stage);
        /* Who comes second leaves what is there. */
        assert_int_equal(store_stage(&stage, &err), 0);
        assert_int_equal(store_keep(stage, place, &err), 0);
        assert_int_equal(access(stage, F_OK), -1);
        free(stage);
        free(place);
        assert_int_equal(store_find_compiled("e", "m", &place, &is_there, &err), 0);
        assert_true(is_there);
        free(place);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_engine_is_told_the_same),
                cmocka_unit_test(no_arguments_are_no_arguments),
                cmocka_unit_test(a_directory_that_an_engine_cannot_name_is_refused),
                cmocka_unit_test(what_steers_an_engine_is_refused),
                cmocka_unit_test(a_module_has_what_its_engine_leaves),
                POLICY_TEST(the_first_that_nobody_else_can_change_is_taken),
                POLICY_TEST(a_module_has_what_the_policy_lists),
                POLICY_TEST(what_is_stored_is_what_was_given),
                POLICY_TEST(a_store_of_somebody_elses_is_refused),
                POLICY_TEST(a_program_that_was_changed_has_another_hash),
                POLICY_TEST(what_was_compiled_is_kept_whole_and_read_only),
        };

        unsetenv("XDG_CACHE_HOME");
        return cmocka_run_group_tests(tests, NULL, NULL);
}
