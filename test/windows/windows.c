/* windows.c: the test program for the Windows run layer; test/windows/run.sh runs it under wine, and anybody on a Windows.
 *
 *   windows.exe DIRECTORY            all tests, in an empty directory
 *   windows.exe inside WORD...       the command of a test
 *   windows.exe hold FILE            runs a command that stays, with a child whose number is in FILE
 *   windows.exe lives NUMBER         says whether that process does
 *   windows.exe journal DIRECTORY TREE       begins a journal, says its name, and stays
 *   windows.exe replay DIRECTORY             undoes what dead ones have left
 *   windows.exe doctor               says what this Windows can enforce
 */
#include "checks.h"

#include "inside.h"
#include "run/host_windows.h"

static char scratch[MAX_PATH], native_scratch[MAX_PATH], program[MAX_PATH], name_of_program[MAX_PATH];

/* ---- what a plan is built with and its clauses would need: there are none here -------------------------- */

const char *limit_key(enum limit limit)
{
        return limit == LIMIT_CPU ? "limits.cpu" : "limits";
}

const char *network_mode_name(enum network_mode mode)
{
        return mode == NETWORK_DENY ? "deny" : "other";
}

bool arguments_are_checked(const abatis_policy *policy)
{
        (void)policy;
        return false;
}

struct plan *new_plan(void)
{
        return calloc(1, sizeof(struct plan));
}

void free_plan(struct plan *plan)
{
        plan_free(plan);
}

/* ---- the world ------------------------------------------------------------------------------------------ */

void result(const char *name, bool is_held, const char *file, int line, const char *what)
{
        if (is_held)
                printf("ok %s\n", name);
        else
                printf("not ok %s - %s:%d: %s\n", name, strrchr(file, '/') ? strrchr(file, '/') + 1 : file,
                       line, what);
        fflush(stdout);
}

void skip(const char *name, const char *reason)
{
        printf("skip %s - %s\n", name, reason);
}

bool is_wine(void)
{
        HMODULE library = GetModuleHandleW(L"ntdll.dll");

        return library && GetProcAddress(library, "wine_get_version");
}

static const char *join(const char *directory, const char *name)
{
        static char paths[16][MAX_PATH];
        static unsigned next;
        char *path = paths[next++ % 16];

        snprintf(path, MAX_PATH, "%s%s%s", directory, *name ? "/" : "", name);
        return path;
}

const char *at(const char *name)
{
        return join(scratch, name);
}

const char *native(const char *name)
{
        return join(native_scratch, name);
}

void make_file(const char *name)
{
        FILE *file = fopen(native(name), "wb");

        if (file)
                fclose(file);
}

void make_directory(const char *name)
{
        CreateDirectoryA(native(name), NULL);
}

bool exists(const char *name)
{
        return GetFileAttributesA(native(name)) != INVALID_FILE_ATTRIBUTES;
}

const char *own_path(void)
{
        return program;
}

const char *own_name(void)
{
        return name_of_program;
}

/* ---- what run.sh asks for ------------------------------------------------------------------------------- */

static int hold(const char *file)
{
        static const char *const none[] = { NULL };
        static const uint64_t limits[LIMIT_COUNT];
        const char *const argv[] = { name_of_program, "inside", "child", file, "stay", NULL };
        struct windows_command command = {
                .program = program, .argv = argv, .directory = "/c", .environment = none
        };
        struct job_outcome outcome;
        abatis_error err;

        if (!windows_run(new_plan(), limits, &command, &outcome, NULL, &err))
                return 0;
        printf("%s\n", err.message);
        return 1;
}

static int say_whether_it_lives(const char *number)
{
        HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, strtoul(number, NULL, 10));

        puts(process && WaitForSingleObject(process, 0) == WAIT_TIMEOUT ? "yes" : "no");
        return 0;
}

static int keep_journal(const char *directory, const char *tree)
{
        char name[CONTAINER_NAME_SIZE];
        struct strings trees = { 0 };
        struct journal journal;
        abatis_error err;

        if (container_name_new(name, &err) < 0 || strings_add(&trees, tree, &err) < 0 ||
            journal_begin(directory, name, &trees, &journal, &err) < 0) {
                printf("%s\n", err.message);
                return 1;
        }
        puts(name);
        fflush(stdout);
        Sleep(600 * 1000);
        return 0;
}

static int replay(const char *directory)
{
        struct journal_report report;
        abatis_error err;

        if (journal_replay(directory, &report, &err) < 0) {
                printf("%s\n", err.message);
                return 1;
        }
        printf("undone %zu, alive %zu, refused %zu\n", report.undone, report.alive, report.refused);
        return 0;
}

static int tell(void)
{
        abatis_host host;

        windows_probe(&host);
        printf("Windows %s on %s%s\n", host.kernel, host.machine, is_wine() ? ", by wine" : "");
        printf("appcontainer: %s\n", host.container.is_available ? "yes" : host.container.reason);
        for (size_t i = 0; i < HOST_OPEN_TREES; i++)
                if (*host.container.trees[i])
                        printf("open to every container: %s\n", host.container.trees[i]);
        return 0;
}

static int run_tests(const char *directory)
{
        snprintf(native_scratch, sizeof(native_scratch), "%s", directory);
        strcpy(scratch, native_scratch);
        wide_path_read(scratch);
        check_parts();
        check_files();
        check_journal();
        check_starts();
        check_runs();
        check_containers();
        puts("complete");
        return 0;
}

static char *read_path(char *word)
{
        wide_path_read(word);
        return word;
}

int main(int count, char **words)
{
        GetModuleFileNameA(NULL, name_of_program, sizeof(name_of_program));
        strcpy(program, name_of_program);
        wide_path_read(program);
        if (count > 2 && !strcmp(words[1], "inside"))
                return inside_main(count - 2, words + 2);
        if (count == 3 && !strcmp(words[1], "hold"))
                return hold(words[2]);
        if (count == 3 && !strcmp(words[1], "lives"))
                return say_whether_it_lives(words[2]);
        if (count == 4 && !strcmp(words[1], "journal"))
                return keep_journal(read_path(words[2]), read_path(words[3]));
        if (count == 3 && !strcmp(words[1], "replay"))
                return replay(read_path(words[2]));
        if (count == 2 && !strcmp(words[1], "doctor"))
                return tell();
        if (count == 2)
                return run_tests(words[1]);
        fputs("usage: windows.exe DIRECTORY\n", stderr);
        return 2;
}
