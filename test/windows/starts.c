/* starts.c: processes that exist and have not run, the object they are in, and what is taken from them. */
#include "checks.h"

static const char *const no_environment[] = { NULL };

/* What a start needs and no test is about. */
struct scene {
        const char *argv[8];
        char directory[MAX_PATH];
        struct start start;
        HANDLE process, thread, nothing;
};

static void set_scene(struct scene *scene, const char *deed, const char *word)
{
        SECURITY_ATTRIBUTES inherited = { .nLength = sizeof(inherited), .bInheritHandle = TRUE };

        *scene = (struct scene){ .argv = { own_name(), "inside", deed, word } };
        snprintf(scene->directory, sizeof(scene->directory), "%s", at(""));
        scene->start = (struct start){ .program = own_path(),
                                       .argv = scene->argv,
                                       .directory = scene->directory,
                                       .environment = no_environment };
        for (size_t i = 0; i < 3; i++)
                scene->start.standard[i] =
                        CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                    &inherited, OPEN_EXISTING, 0, NULL);
}

static void end_scene(struct scene *scene)
{
        if (is_handle(scene->process))
                TerminateProcess(scene->process, 1);
        own_handle_close(&scene->process);
        own_handle_close(&scene->thread);
        for (size_t i = 0; i < 3; i++)
                own_handle_close(&scene->start.standard[i]);
}

static DWORD end_of(HANDLE process)
{
        DWORD code = 0;

        WaitForSingleObject(process, 60 * 1000);
        GetExitCodeProcess(process, &code);
        return code;
}

static void check_suspension(void)
{
        struct scene scene;
        abatis_error err = { 0 };
        char marker[MAX_PATH];
        int r;

        snprintf(marker, sizeof(marker), "%s", native("suspended"));
        set_scene(&scene, "touch", marker);
        r = start_suspended(&scene.start, &scene.process, &scene.thread, &err);
        if (r < 0)
                printf("# %s\n", err.message);
        CHECK("a_process_is_started", !r);
        CHECK("it_is_suspended", SuspendThread(scene.thread) == 1 && ResumeThread(scene.thread) == 2);
        CHECK("it_has_done_nothing", !exists("suspended"));
        ResumeThread(scene.thread);
        CHECK("resumed_it_does", end_of(scene.process) == 0 && exists("suspended"));
        end_scene(&scene);
}

/* A number that a command has written, when it has. */
static DWORD await_number(const char *name)
{
        for (int i = 0; i < 600; i++) {
                FILE *file = fopen(native(name), "rb");
                unsigned long number = 0;
                bool is_read = file && fscanf(file, "%lu", &number) == 1;

                if (file)
                        fclose(file);
                if (is_read)
                        return number;
                Sleep(100);
        }
        return 0;
}

static void check_object(void)
{
        struct scene scene;
        HANDLE object = NULL, child;
        BOOL is_inside = FALSE, child_is_inside = FALSE;
        char file[MAX_PATH];

        snprintf(file, sizeof(file), "%s", native("child"));
        set_scene(&scene, "child", file);
        scene.argv[4] = "stay";
        CHECK("a_job_object_is_made", !start_make_object(0, 0, false, &object, NULL));
        CHECK("a_process_gets_into_it", !start_suspended(&scene.start, &scene.process, &scene.thread, NULL) &&
                                                AssignProcessToJobObject(object, scene.process) &&
                                                IsProcessInJob(scene.process, object, &is_inside) &&
                                                is_inside);
        ResumeThread(scene.thread);
        child = OpenProcess(SYNCHRONIZE | PROCESS_QUERY_INFORMATION, FALSE, await_number("child"));
        CHECK("and_what_it_starts_too",
              child && IsProcessInJob(child, object, &child_is_inside) && child_is_inside);
        CHECK("both_run", WaitForSingleObject(scene.process, 0) == WAIT_TIMEOUT &&
                                  WaitForSingleObject(child, 0) == WAIT_TIMEOUT);
        CloseHandle(object);
        CHECK("with_the_object_both_end", WaitForSingleObject(scene.process, 60 * 1000) == WAIT_OBJECT_0 &&
                                                  WaitForSingleObject(child, 60 * 1000) == WAIT_OBJECT_0);
        own_handle_close(&child);
        end_scene(&scene);
}

static void check_handles(void)
{
        SECURITY_ATTRIBUTES inherited = { .nLength = sizeof(inherited), .bInheritHandle = TRUE };
        HANDLE event = CreateEventW(&inherited, TRUE, FALSE, NULL);
        STARTUPINFOW startup = { .cb = sizeof(startup) };
        PROCESS_INFORMATION process;
        struct scene scene;
        char number[32];
        wchar_t *line;

        snprintf(number, sizeof(number), "%llu", (unsigned long long)(uintptr_t)event);
        set_scene(&scene, "event", number);
        line = start_command_line(scene.argv);
        CHECK("who_inherits_everything_has_an_event_of_ours",
              CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process) &&
                      end_of(process.hProcess) == 0 && WaitForSingleObject(event, 0) == WAIT_OBJECT_0);
        ResetEvent(event);
        start_suspended(&scene.start, &scene.process, &scene.thread, NULL);
        ResumeThread(scene.thread);
        CHECK("a_command_has_not",
              end_of(scene.process) == 1 && WaitForSingleObject(event, 0) == WAIT_TIMEOUT);
        end_scene(&scene);
        CloseHandle(event);
        free(line);
}

/* Exits with how many it has. */
static DWORD count_privileges(HANDLE token)
{
        static char buffer[8192];
        DWORD size;

        return GetTokenInformation(token, TokenPrivileges, buffer, sizeof(buffer), &size)
                       ? ((TOKEN_PRIVILEGES *)(void *)buffer)->PrivilegeCount
                       : MAXDWORD;
}

static void check_privileges(void)
{
        struct scene scene;
        HANDLE token = NULL;
        abatis_error err = { 0 };
        LUID changed;
        TOKEN_PRIVILEGES wanted = { .PrivilegeCount = 1 };

        set_scene(&scene, "exit", "0");
        CHECK("a_process_has_privileges",
              !start_suspended(&scene.start, &scene.process, &scene.thread, NULL) &&
                      OpenProcessToken(scene.process, TOKEN_QUERY | TOKEN_ADJUST_PRIVILEGES, &token) &&
                      count_privileges(token) > 1);
        CHECK("they_are_taken_away", !token_strip(token, &err) && count_privileges(token) == 1);
        LookupPrivilegeValueW(NULL, L"SeShutdownPrivilege", &changed);
        wanted.Privileges[0] = (LUID_AND_ATTRIBUTES){ changed, SE_PRIVILEGE_ENABLED };
        SetLastError(ERROR_SUCCESS);
        AdjustTokenPrivileges(token, FALSE, &wanted, 0, NULL, NULL);
        CHECK("none_of_them_comes_back",
              GetLastError() == ERROR_NOT_ALL_ASSIGNED && count_privileges(token) == 1);
        own_handle_close(&token);
        end_scene(&scene);
}

/* What stands between a Windows that ignores the wish for a container and a command that runs free. */
static void check_refusals(void)
{
        struct container_sid sid;
        struct scene scene;
        HANDLE token = NULL;
        abatis_error err = { 0 };
        char marker[MAX_PATH];

        snprintf(marker, sizeof(marker), "%s", native("free"));
        container_find_sid("abatis.0123456789abcdef0123456789abcdef", &sid, NULL);
        set_scene(&scene, "touch", marker);
        start_suspended(&scene.start, &scene.process, &scene.thread, NULL);
        OpenProcessToken(scene.process, TOKEN_QUERY, &token);
        CHECK("a_process_outside_a_container_is_found_out",
              token_check_container(token, &sid.u.sid, &err) == ABATIS_E_BACKEND &&
                      strstr(err.message, "outside its container"));
        own_handle_close(&token);
        end_scene(&scene);
        if (!is_wine())
                return;
        set_scene(&scene, "touch", marker);
        scene.start.container = &sid.u.sid;
        CHECK("where_nothing_starts_in_a_container_nothing_starts",
              start_suspended(&scene.start, &scene.process, &scene.thread, &err) == ABATIS_E_BACKEND &&
                      !scene.process && !exists("free"));
        end_scene(&scene);
}

void check_starts(void)
{
        check_suspension();
        check_object();
        check_handles();
        check_privileges();
        check_refusals();
}
