/* inside.c: what the test program does when it is the command: small deeds whose success can be seen from outside. */
#include "inside.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/system_windows.h"

#include <shellapi.h> /* after windows.h, on which it stands */

static int touch(char **words)
{
        FILE *file = fopen(words[0], "wb");

        return !file || fclose(file) ? 1 : 0;
}

static int show_file(char **words)
{
        FILE *file = fopen(words[0], "rb");

        return !file || fclose(file) ? 1 : 0;
}

static int show_arguments(char **words)
{
        int count;
        wchar_t **all = CommandLineToArgvW(GetCommandLineW(), &count);

        /* Whatever they are in the code page of the day. */
        (void)words;
        for (int i = 3; all && i < count; i++) {
                char *utf8 = utf8_from_wide(all[i]);

                printf("[%s]", utf8 ? utf8 : "?");
                free(utf8);
        }
        return !all;
}

static int show_environment(char **words)
{
        (void)words;
        for (char **at = _environ; *at; at++)
                printf("%s\n", *at);
        return 0;
}

static int show_privileges(char **words)
{
        static char buffer[8192];
        TOKEN_PRIVILEGES *privileges = (void *)buffer;
        HANDLE token;
        DWORD size;

        (void)words;
        if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) ||
            !GetTokenInformation(token, TokenPrivileges, buffer, sizeof(buffer), &size))
                return 1;
        for (DWORD i = 0; i < privileges->PrivilegeCount; i++) {
                char name[64];

                size = sizeof(name);
                if (!LookupPrivilegeNameA(NULL, &privileges->Privileges[i].Luid, name, &size))
                        return 1;
                printf("%s\n", name);
        }
        return 0;
}

/* Whether it has this handle of who started it. */
static int set_event(char **words)
{
        return SetEvent((HANDLE)(uintptr_t)strtoull(words[0], NULL, 10)) ? 0 : 1;
}

static int copy_input(char **words)
{
        char buffer[4096];
        size_t got;

        (void)words;
        while ((got = fread(buffer, 1, sizeof(buffer), stdin)) > 0)
                fwrite(buffer, 1, got, stdout);
        return 0;
}

static int write_much(char **words)
{
        for (long left = atol(words[0]); left > 0; left--)
                putchar('x');
        fputs("to stderr", stderr);
        return 0;
}

static int sleep_for_long(char **words)
{
        (void)words;
        Sleep(600 * 1000);
        return 0;
}

/* Starts another, tells its number, and stays or goes. */
static int make_child(char **words)
{
        STARTUPINFOW startup = { .cb = sizeof(startup) };
        PROCESS_INFORMATION child;
        wchar_t program[MAX_PATH], line[MAX_PATH + 32];
        FILE *file;

        GetModuleFileNameW(NULL, program, MAX_PATH);
        swprintf(line, sizeof(line) / sizeof(*line), L"\"%ls\" inside sleep", program);
        if (!CreateProcessW(program, line, NULL, NULL, FALSE, 0, NULL, NULL, &startup, &child))
                return 3;
        file = fopen(words[0], "wb");
        if (!file || fprintf(file, "%lu", child.dwProcessId) < 0 || fclose(file))
                return 1;
        return words[1] ? sleep_for_long(words) : 0;
}

static int spin(char **words)
{
        volatile unsigned long turns = 0;

        (void)words;
        for (;;)
                turns++;
        return 0;
}

static int allocate(char **words)
{
        size_t size = (size_t)atol(words[0]) * 1024 * 1024;
        void *memory = VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);

        return memory ? 0 : 1;
}

static int leave(char **words)
{
        return atoi(words[0]);
}

static const struct {
        const char *name;
        int (*act)(char **words);
} deeds[] = { { "touch", touch },
              { "read", show_file },
              { "arguments", show_arguments },
              { "environment", show_environment },
              { "privileges", show_privileges },
              { "event", set_event },
              { "copy", copy_input },
              { "much", write_much },
              { "sleep", sleep_for_long },
              { "child", make_child },
              { "spin", spin },
              { "allocate", allocate },
              { "exit", leave } };

int inside_main(int count, char **words)
{
        /* Bytes, not lines. */
        for (int stream = 0; stream < 3; stream++)
                _setmode(stream, _O_BINARY);
        for (size_t i = 0; count && i < sizeof(deeds) / sizeof(*deeds); i++)
                if (!strcmp(words[0], deeds[i].name))
                        return deeds[i].act(words + 1);
        return 99;
}
