/* main.c: the program that a module has become: takes what it may have, and calls its _start.
 *
 *   PROGRAM [--read HOST GUEST | --write HOST GUEST]... -- ARGUMENT...
 *
 * The module finds the directory HOST under the name GUEST, to read only or also to write. Its environment is the program's, its
 * arguments are those behind --, of which the first is its name. Anything else is refused. Ends with the module's status;
 * with 134 and a line on standard error if it trapped; with 125 and a line if it could not be started. */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "skill/native/wasi.h"

/* Made by wasm2c. It declares what the module imports with the types that the module gives them: others than ours do not compile. */
#include <skill.h>

static struct wasi host;
static Z_skill_instance_t instance;

static void run(void)
{
        Z_skill_init_module();
#if SKILL_HAS_IMPORTS
        Z_skill_instantiate(&instance, &host);
#else
        Z_skill_instantiate(&instance);
#endif
        Z_skillZ__start(&instance);
        _exit(0);
}

static void refuse(const char *what)
{
        errno = 0;
        rt_fail(what);
}

static void give(const char *path, const char *name, bool is_read_only)
{
        errno = 0;
        if (wasi_preopen(&host, path, name, is_read_only))
                rt_fail(path);
}

int main(int argc, char **argv)
{
        int i = 1;

        wasi_init(&host, Z_skillZ_memory(&instance), NULL, (const char *const *)environ);
        for (; i < argc && strcmp(argv[i], "--") != 0; i++)
                if ((!strcmp(argv[i], "--read") || !strcmp(argv[i], "--write")) && i + 2 < argc) {
                        give(argv[i + 1], argv[i + 2], argv[i][2] == 'r');
                        i += 2;
                } else
                        refuse("usage: PROGRAM [--read HOST GUEST | --write HOST GUEST]... -- ARGUMENT...");
        if (i + 1 >= argc)
                refuse("no name behind --");
        host.arguments = (const char *const *)argv + i + 1;
        rt_run(run);
}
