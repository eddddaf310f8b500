/* start_windows.c: starts a process suspended, in a container if it is given one, with three handles and no other. */
#include "run/start_windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "plan/plan.h"

/* ---- the command line ----------------------------------------------------------------------------------- */

/* Backslashes mean themselves except before a quote: there each counts half. */
static void add_argument(struct text *line, const char *argument)
{
        size_t slashes = 0;

        if (line->length)
                text_add(line, " ");
        /* cmd.exe has rules of its own, and quotes where there need be none are a part of the word to it. */
        if (*argument && !strpbrk(argument, " \t\n\v\"")) {
                text_add(line, argument);
                return;
        }
        text_add(line, "\"");
        for (; *argument; argument++) {
                if (*argument == '\\') {
                        slashes++;
                        continue;
                }
                for (size_t i = *argument == '"' ? 2 * slashes + 1 : slashes; i; i--)
                        text_add(line, "\\");
                slashes = 0;
                text_add_bytes(line, argument, 1);
        }
        for (size_t i = 2 * slashes; i; i--)
                text_add(line, "\\");
        text_add(line, "\"");
}

wchar_t *start_command_line(const char *const *argv)
{
        OWN_TEXT struct text line = { 0 };

        for (; *argv; argv++)
                add_argument(&line, *argv);
        return line.has_failed || !line.data ? NULL : wide_from_utf8(line.data);
}

/* One string after the other, and an empty one; owned by the caller, or NULL. */
static wchar_t *make_block(const char *const *environment)
{
        size_t used = 0;
        OWN_FREE wchar_t *block = calloc(2, sizeof(*block));

        for (; block && *environment; environment++) {
                OWN_FREE wchar_t *variable = wide_from_utf8(*environment);
                size_t length = variable ? wcslen(variable) + 1 : 0;
                wchar_t *grown = variable ? realloc(block, (used + length + 2) * sizeof(*block)) : NULL;

                if (!grown)
                        return NULL;
                block = grown;
                memcpy(block + used, variable, length * sizeof(*block));
                used += length;
                block[used] = block[used + 1] = L'\0';
        }
        return take_pointer(block);
}

/* A script would be read by cmd.exe, whose quotes are others: its arguments could become commands. */
static int check_program(const char *program, abatis_error *err)
{
        const char *dot = strrchr(program, '.');

        if (dot && (!_stricmp(dot, ".bat") || !_stricmp(dot, ".cmd")))
                return error_set(err, ABATIS_E_NOT_EXECUTABLE,
                                 "'%s' is a script of cmd.exe; start cmd.exe with it instead", program);
        return 0;
}

/* ---- the container -------------------------------------------------------------------------------------- */

struct attributes {
        LPPROC_THREAD_ATTRIBUTE_LIST list; /* owned */
        bool is_initialised;
        SECURITY_CAPABILITIES security;
        struct capabilities capabilities;
        HANDLE handles[3];
};

static void attributes_done(struct attributes *attributes)
{
        if (attributes->is_initialised)
                DeleteProcThreadAttributeList(attributes->list);
        free(attributes->list);
}

/* S-1-15-3-NUMBER. */
static bool add_capability(struct capabilities *capabilities, DWORD number)
{
        static SID_IDENTIFIER_AUTHORITY packages = { { 0, 0, 0, 0, 0, 15 } };
        SID *sid = &capabilities->sids[capabilities->count].sid;

        if (!InitializeSid(sid, &packages, 2))
                return false;
        *GetSidSubAuthority(sid, 0) = SECURITY_CAPABILITY_BASE_RID;
        *GetSidSubAuthority(sid, 1) = number;
        capabilities->items[capabilities->count++] = (SID_AND_ATTRIBUTES){ sid, SE_GROUP_ENABLED };
        return true;
}

bool start_find_capabilities(uint64_t wanted, struct capabilities *out)
{
        out->count = 0;
        return (!(wanted & PLAN_INTERNET) ||
                (add_capability(out, SECURITY_CAPABILITY_INTERNET_CLIENT) &&
                 add_capability(out, SECURITY_CAPABILITY_INTERNET_CLIENT_SERVER))) &&
               (!(wanted & PLAN_PRIVATE_NETWORK) ||
                add_capability(out, SECURITY_CAPABILITY_PRIVATE_NETWORK_CLIENT_SERVER));
}

static int make_attributes(const struct start *start, struct attributes *out, abatis_error *err)
{
        SIZE_T size = 0;

        InitializeProcThreadAttributeList(NULL, 2, 0, &size);
        out->list = malloc(size ? size : 1);
        if (!out->list)
                return error_memory(err);
        out->is_initialised = InitializeProcThreadAttributeList(out->list, 2, 0, &size);
        for (size_t i = 0; i < 3; i++)
                out->handles[i] = start->standard[i];
        if (!out->is_initialised ||
            !UpdateProcThreadAttribute(out->list, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, out->handles,
                                       sizeof(out->handles), NULL, NULL))
                return error_windows(err, GetLastError(), "say which handles the command inherits");
        if (!start->container)
                return 0;
        if (!start_find_capabilities(start->capabilities, &out->capabilities))
                return error_windows(err, GetLastError(), "make the command's capabilities");
        out->security = (SECURITY_CAPABILITIES){
                .AppContainerSid = start->container,
                .Capabilities = out->capabilities.count ? out->capabilities.items : NULL,
                .CapabilityCount = out->capabilities.count,
        };
        if (!UpdateProcThreadAttribute(out->list, 0, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES,
                                       &out->security, sizeof(out->security), NULL, NULL))
                return error_set(
                        err, ABATIS_E_BACKEND,
                        "the backend appcontainer is not available: this Windows starts nothing in a container");
        return 0;
}

static int explain_failure(DWORD code, const char *program, abatis_error *err)
{
        switch (code) {
        case ERROR_FILE_NOT_FOUND:
        case ERROR_PATH_NOT_FOUND:
                return error_set(err, ABATIS_E_NOT_FOUND, "'%s' does not exist", program);
        case ERROR_BAD_EXE_FORMAT:
        case ERROR_ACCESS_DENIED:
                error_windows(err, code, "start '%s'", program);
                if (err)
                        err->code = ABATIS_E_NOT_EXECUTABLE;
                return ABATIS_E_NOT_EXECUTABLE;
        default:
                return error_windows(err, code, "start '%s'", program);
        }
}

/* As everybody spells it, where that is short enough to be taken. What it says was judged with the prefix. */
static const wchar_t *without_prefix(const wchar_t *path)
{
        const wchar_t *plain = path + wcslen(L"\\\\?\\");

        return wcslen(plain) < MAX_PATH ? plain : path;
}

int start_suspended(const struct start *start, HANDLE *process, HANDLE *thread, abatis_error *err)
{
        __attribute__((cleanup(attributes_done))) struct attributes attributes = { 0 };
        OWN_FREE wchar_t *line = start_command_line(start->argv);
        OWN_FREE wchar_t *block = make_block(start->environment);
        OWN_FREE wchar_t *program = NULL, *directory = NULL;
        STARTUPINFOEXW startup = { .StartupInfo = { .cb = sizeof(startup),
                                                    .dwFlags = STARTF_USESTDHANDLES } };
        PROCESS_INFORMATION started;
        int r = check_program(start->program, err);

        if (!r)
                r = windows_path(start->program, &program, err);
        if (!r)
                r = windows_path(start->directory, &directory, err);
        if (!r && (!line || !block))
                r = error_set(err, ABATIS_E_INVALID, "an argument or a variable is not valid UTF-8");
        if (!r)
                r = make_attributes(start, &attributes, err);
        if (r < 0)
                return r;
        startup.lpAttributeList = attributes.list;
        startup.StartupInfo.hStdInput = start->standard[0];
        startup.StartupInfo.hStdOutput = start->standard[1];
        startup.StartupInfo.hStdError = start->standard[2];
        /* Programs that are told their own path do not all know the prefix, and working directories are not taken with it. */
        if (!CreateProcessW(without_prefix(program), line, NULL, NULL, TRUE,
                            CREATE_SUSPENDED | CREATE_NO_WINDOW | CREATE_UNICODE_ENVIRONMENT |
                                    EXTENDED_STARTUPINFO_PRESENT,
                            block, without_prefix(directory), &startup.StartupInfo, &started))
                return explain_failure(GetLastError(), start->program, err);
        *process = started.hProcess;
        *thread = started.hThread;
        return 0;
}

/* ---- the object ----------------------------------------------------------------------------------------- */

int start_make_object(uint64_t memory, uint64_t processes, bool has_desktop, HANDLE *out, abatis_error *err)
{
        OWN_HANDLE HANDLE object = CreateJobObjectW(NULL, NULL);
        JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {
                .BasicLimitInformation = { .LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE |
                                                         JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION |
                                                         (processes ? JOB_OBJECT_LIMIT_ACTIVE_PROCESS : 0) |
                                                         (memory ? JOB_OBJECT_LIMIT_JOB_MEMORY : 0),
                                           .ActiveProcessLimit =
                                                   processes > MAXDWORD ? MAXDWORD : (DWORD)processes },
                .JobMemoryLimit = (SIZE_T)memory
        };
        JOBOBJECT_BASIC_UI_RESTRICTIONS ui = {
                JOB_OBJECT_UILIMIT_DESKTOP | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS |
                JOB_OBJECT_UILIMIT_EXITWINDOWS | JOB_OBJECT_UILIMIT_GLOBALATOMS | JOB_OBJECT_UILIMIT_HANDLES |
                JOB_OBJECT_UILIMIT_READCLIPBOARD | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS |
                JOB_OBJECT_UILIMIT_WRITECLIPBOARD
        };

        if (!object ||
            !SetInformationJobObject(object, JobObjectExtendedLimitInformation, &limits, sizeof(limits)) ||
            (!has_desktop && !SetInformationJobObject(object, JobObjectBasicUIRestrictions, &ui, sizeof(ui))))
                return error_windows(err, GetLastError(), "make a job object");
        *out = take_handle(&object);
        return 0;
}
