/* start_windows.h: a process that exists and has not run, and the object that its whole tree is in. */
#ifndef RUN_START_WINDOWS_H
#define RUN_START_WINDOWS_H

#include <stdint.h>

#include "run/system_windows.h"

/* All borrowed. */
struct start {
        const char *program;            /* such as /c/Windows/System32/cmd.exe */
        const char *const *argv;        /* the first is what it is told that it is called; ends with NULL */
        const char *directory;          /* likewise */
        const char *const *environment; /* NAME=VALUE; ends with NULL */
        HANDLE standard[3];             /* inherited, and no other */
        PSID container;                 /* or NULL: in none */
        uint64_t capabilities;          /* enum plan_capabilities */
};

/* What a container may reach of the network, as a token has it. It points into itself. */
struct capabilities {
        SID_AND_ATTRIBUTES items[3];
        union {
                SID sid;
                unsigned char bytes[SECURITY_MAX_SID_SIZE];
        } sids[3];
        DWORD count;
};

/* Of enum plan_capabilities. False when Windows makes no SID. */
bool start_find_capabilities(uint64_t wanted, struct capabilities *out);

/* The command line from which every C program makes exactly these arguments; owned by the caller, or NULL. */
wchar_t *start_command_line(const char *const *argv);

/* ABATIS_E_BACKEND when Windows does not know what a container is. The handles are the caller's. */
int start_suspended(const struct start *start, HANDLE *process, HANDLE *thread, abatis_error *err);

/* Who is in it ends with its last handle, and so with us. 0 is no limit. A process that is in an object already, by whoever started it, does not
 * get into one without a desktop. */
int start_make_object(uint64_t memory, uint64_t processes, bool has_desktop, HANDLE *out, abatis_error *err);

#endif
