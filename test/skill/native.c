/* native.c: prepares a directory in which a module becomes a native program, as the library plans it.
 *
 *   skill-native MODULE DIRECTORY WASM2C COMPILER
 *
 * Writes the runtime's sources there, the module as wasm2c gets it, and both commands, to translate.argv and compile.argv, each argument
 * ended by NUL. With 1 and the reason on standard error if the module is refused. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "skill/native_build.h"

static void die(const char *what)
{
        fprintf(stderr, "%s\n", what);
        exit(1);
}

static void put(const char *directory, const char *name, const void *bytes, size_t length)
{
        OWN_FREE char *path = text_join(directory, "/", name);
        FILE *file = fopen(path, "w");

        if (!file || fwrite(bytes, 1, length, file) != length || fclose(file))
                die(strerror(errno));
}

static void put_sources(const char *directory)
{
        OWN_FREE char *top = text_join(directory, "/", NATIVE_TOP),
                      *place = text_join(directory, "/", NATIVE_PLACE);

        if (mkdir(top, 0755) < 0 || mkdir(place, 0755) < 0)
                die(strerror(errno));
        for (const struct native_source *source = native_sources; source->name; source++) {
                put(place, source->name, source->text, source->length);
                if (!strcmp(source->name, NATIVE_RUNTIME))
                        put(directory, NATIVE_RUNTIME_PLACE, source->text, source->length);
        }
}

static void put_command(const char *directory, const char *name, const struct strings *command)
{
        OWN_TEXT struct text text = { 0 };

        if (command->items[command->count])
                die("a command has no end");
        for (size_t i = 0; i < command->count; i++)
                text_add_bytes(&text, command->items[i], strlen(command->items[i]) + 1);
        put(directory, name, text.data, text.length);
}

int main(int argc, char **argv)
{
        const struct module_options options = { .allows = ~0u };
        OWN_MODULE struct module *module = NULL;
        OWN_NATIVE_BUILD struct native_build build = { 0 };
        static char bytes[1 << 24];
        uint8_t *stripped = NULL;
        size_t length;
        abatis_error err;
        FILE *file = argc == 5 ? fopen(argv[1], "r") : NULL;

        if (!file)
                die("usage: skill-native MODULE DIRECTORY WASM2C COMPILER");
        length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        if (module_read(bytes, length, &options, &module, &err) ||
            native_build_plan(module, &(struct native_tools){ argv[3], argv[4] }, argv[2], &build, &err) ||
            native_strip(module, &stripped, &length, &err))
                die(err.message);
        put_sources(argv[2]);
        put(argv[2], "skill.wasm", stripped, length);
        put_command(argv[2], "translate.argv", &build.translate);
        put_command(argv[2], "compile.argv", &build.compile);
        free(stripped);
        return 0;
}
