/* runs.c: whole runs of a plan: what comes out, what ends it, what is refused; and containers, where there are some. */
#include "checks.h"

struct play {
        uint64_t limits[LIMIT_COUNT];
        struct job_outcome outcome;
        struct journal_report report;
        abatis_error err;
        HANDLE input, cancel;
};

static void end_play(struct play *play)
{
        for (size_t i = 0; i < 2; i++)
                text_done(&play->outcome.output[i]);
}

static int run(struct play *play, struct plan *plan, const char *const *words)
{
        static const char *const environment[] = { "SystemRoot=C:\\windows", "TEMP=C:\\elsewhere",
                                                   "FOO=bar \xc3\xa4", NULL };
        const char *argv[16] = { own_name(), "inside" };
        char directory[MAX_PATH];
        struct windows_command command = { .program = own_path(),
                                           .argv = argv,
                                           .most = play->limits[LIMIT_OUTPUT],
                                           .directory = directory,
                                           .environment = environment,
                                           .input = play->input,
                                           .cancel = play->cancel };

        snprintf(directory, sizeof(directory), "%s", at(""));
        for (size_t i = 0; words[i]; i++)
                argv[2 + i] = words[i];
        return windows_run(plan, play->limits, &command, &play->outcome, &play->report, &play->err);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static bool says(const struct play *play, int stream, const char *text)
{
        const char *said = play->outcome.output[stream].data;

        return said && strstr(said, text);
}

/* As the backend none has it. */
static struct plan *free_plan_of(void)
{
        struct plan *plan = new_plan();

        plan_step(plan, PLAN_SESSION, NULL, 0);
        plan_step(plan, PLAN_DESCRIPTORS, NULL, 0);
        plan_step(plan, PLAN_ENVIRONMENT, NULL, 0);
        plan_step(plan, PLAN_DEADLINE, NULL, 0);
        plan_step(plan, PLAN_OUTPUT, NULL, 0);
        return plan;
}

static bool is_nested(void)
{
        BOOL is_inside;

        return !IsProcessInJob(GetCurrentProcess(), NULL, &is_inside) || is_inside;
}

/* As the backend appcontainer has it; see test/golden/plans/windows-11.appcontainer.dev.txt. */
static struct plan *contained_plan(void)
{
        struct plan *plan = new_plan();
        char program[MAX_PATH];

        snprintf(program, sizeof(program), "%s", own_path());
        *strrchr(program, '/') = '\0';
        make_directory("workspace");
        make_directory("workspace/secret");
        make_file("workspace/secret/file");
        make_file("outside");
        plan_step(plan, PLAN_CONTAINER, NULL, 0);
        plan_step(plan, PLAN_OWN_TMP, NULL, 0);
        plan_step(plan, PLAN_SHOW, program, 0);
        plan_step(plan, PLAN_WRITABLE, at("workspace"), 0);
        plan_step(plan, PLAN_HIDE, at("workspace/secret"), PATH_DIRECTORY);
        plan_step(plan, PLAN_DESCRIPTORS, NULL, PLAN_CLOSES_AT_EXEC);
        plan_step(plan, PLAN_ENVIRONMENT, NULL, 0);
        plan_step(plan, PLAN_SESSION, NULL, 0);
        plan_step(plan, PLAN_SUSPENDED, NULL, 0);
        plan_step(plan, PLAN_JOB_OBJECT, NULL, is_nested() ? 0 : PLAN_NO_DESKTOP);
        plan_step(plan, PLAN_PRIVILEGES, NULL, 0);
        plan_step(plan, PLAN_RESUME, NULL, 0);
        return plan;
}

static void check_outcomes(void)
{
        struct plan *plan = free_plan_of();
        struct play play = { 0 };

        CHECK("an_exit_code_comes_back",
              !run(&play, plan, WORDS("exit", "42")) && play.outcome.exit_code == 42 && play.outcome.has_run);
        end_play(&play);
        CHECK("arguments_arrive_as_they_are",
              !run(&play, plan,
                   WORDS("arguments", "", "a b", "\"", "\\", "a\\\"b", "\\\\", "c:\\d\\", "\xc3\xa4",
                         "%PATH%")) &&
                      says(&play, 0, "[][a b][\"][\\][a\\\"b][\\\\][c:\\d\\][\xc3\xa4][%PATH%]"));
        end_play(&play);
        play = (struct play){ 0 };
        CHECK("both_streams_are_kept_apart",
              !run(&play, plan, WORDS("much", "3")) && !strcmp(play.outcome.output[0].data, "xxx") &&
                      says(&play, 1, "to stderr") && !play.outcome.is_truncated);
        end_play(&play);
        play = (struct play){ .limits = { [LIMIT_OUTPUT] = 1000 } };
        CHECK("more_than_the_limit_is_counted_and_dropped",
              !run(&play, plan, WORDS("much", "100000")) && play.outcome.output[0].length == 1000 &&
                      play.outcome.totals[0] == 100000 && play.outcome.are_cut[0] &&
                      !play.outcome.are_cut[1]);
        end_play(&play);
        play = (struct play){ 0 };
        _putenv("ABATIS_TEST_SECRET=x");
        CHECK("the_environment_is_what_was_given", !run(&play, plan, WORDS("environment")) &&
                                                           says(&play, 0, "FOO=bar") &&
                                                           !says(&play, 0, "ABATIS_TEST_SECRET"));
        end_play(&play);
        free_plan(plan);
}

static bool is_gone(const char *name)
{
        FILE *file = fopen(native(name), "rb");
        unsigned long number = 0;
        bool is_read = file && fscanf(file, "%lu", &number) == 1;
        HANDLE process = is_read ? OpenProcess(SYNCHRONIZE, FALSE, number) : NULL;
        bool is_dead = is_read && (!process || WaitForSingleObject(process, 0) == WAIT_OBJECT_0);

        if (file)
                fclose(file);
        own_handle_close(&process);
        return is_dead;
}

static void check_ends(void)
{
        struct plan *plan = free_plan_of();
        struct play play = { .limits = { [LIMIT_TIMEOUT] = 3000 } };
        char file[MAX_PATH];

        snprintf(file, sizeof(file), "%s", native("stays"));
        CHECK("a_deadline_ends_the_whole_tree", !run(&play, plan, WORDS("child", file, "stay")) &&
                                                        play.outcome.has_timed_out && is_gone("stays"));
        end_play(&play);
        play = (struct play){ 0 };
        snprintf(file, sizeof(file), "%s", native("orphan"));
        CHECK("nothing_outlives_the_command", !run(&play, plan, WORDS("child", file)) &&
                                                      !play.outcome.exit_code &&
                                                      !play.outcome.has_timed_out && is_gone("orphan"));
        end_play(&play);
        play = (struct play){ .cancel = CreateEventW(NULL, TRUE, TRUE, NULL) };
        CHECK("it_can_be_cancelled",
              !run(&play, plan, WORDS("sleep")) && play.outcome.is_cancelled && !play.outcome.has_timed_out);
        CloseHandle(play.cancel);
        end_play(&play);
        play = (struct play){ .limits = { [LIMIT_CPU] = 300 } };
        plan_step(plan, PLAN_COUNT, NULL, LIMIT_CPU);
        if (is_wine())
                skip("processor_time_ends_it", "wine counts no processor time of a job object");
        else
                CHECK("processor_time_ends_it", !run(&play, plan, WORDS("spin")) && play.outcome.limit &&
                                                        !strcmp(play.outcome.limit, "limits.cpu"));
        end_play(&play);
        free_plan(plan);
}

static void check_refused(void)
{
        struct plan *plan = free_plan_of();
        struct play play = { 0 };
        const char *const script[] = { "run", NULL }, *const absent[] = { "absent", NULL };
        static const char *const none[] = { NULL };
        struct windows_command command = {
                .program = "/c/x/run.cmd", .argv = script, .directory = "/c", .environment = none
        };

        CHECK("a_script_of_cmd_is_refused", windows_run(plan, play.limits, &command, &play.outcome, NULL,
                                                        &play.err) == ABATIS_E_NOT_EXECUTABLE);
        command.program = "/c/x/absent.exe";
        command.argv = absent;
        CHECK("a_program_that_is_not_there_is_not_found",
              windows_run(plan, play.limits, &command, &play.outcome, NULL, &play.err) == ABATIS_E_NOT_FOUND);
        plan_step(plan, PLAN_LANDLOCK, NULL, 0);
        CHECK("a_step_of_another_system_is_refused",
              run(&play, plan, WORDS("exit", "0")) == ABATIS_E_UNENFORCEABLE);
        free_plan(plan);
        plan = free_plan_of();
        plan_step(plan, PLAN_WRITABLE, at(""), 0);
        CHECK("trees_without_a_container_are_refused",
              run(&play, plan, WORDS("exit", "0")) == ABATIS_E_UNENFORCEABLE);
        free_plan(plan);
}

/* Keeps the writing end of each pipe that can be inherited, as a program would that somebody starts at the wrong moment. */
static DWORD WINAPI catch_pipes(void *argument)
{
        HANDLE *caught = argument, self = GetCurrentProcess();

        while (!caught[1] && WaitForSingleObject(caught[2], 0) != WAIT_OBJECT_0)
                for (uintptr_t number = 4; number < 4096 && !caught[1]; number += 4) {
                        HANDLE handle = (HANDLE)number;
                        DWORD flags = 0;

                        if (GetHandleInformation(handle, &flags) && flags & HANDLE_FLAG_INHERIT &&
                            GetFileType(handle) == FILE_TYPE_PIPE &&
                            DuplicateHandle(self, handle, self, &caught[caught[0] ? 1 : 0], 0, FALSE,
                                            DUPLICATE_SAME_ACCESS) &&
                            !caught[1])
                                number = 0;
                }
        return 0;
}

static void check_strangers(void)
{
        struct plan *plan = free_plan_of();
        struct play play = { 0 };
        HANDLE caught[3] = { NULL, NULL, CreateEventW(NULL, TRUE, FALSE, NULL) };
        HANDLE catcher = CreateThread(NULL, 0, catch_pipes, caught, 0, NULL);

        CHECK("a_stranger_with_our_pipe_keeps_nobody_waiting",
              !run(&play, plan, WORDS("much", "50000")) && play.outcome.totals[0] == 50000);
        SetEvent(caught[2]);
        WaitForSingleObject(catcher, INFINITE);
        CHECK("there_was_one", caught[0] && caught[1]);
        for (size_t i = 0; i < 3; i++)
                own_handle_close(&caught[i]);
        own_handle_close(&catcher);
        end_play(&play);
        free_plan(plan);
}

void check_runs(void)
{
        check_strangers();
        check_outcomes();
        check_ends();
        check_refused();
}

/* ---- containers ----------------------------------------------------------------------------------------- */

/* Where there are none: refused, and nothing has run. The control is the same command without one. */
static void check_missing(void)
{
        struct plan *contained = contained_plan(), *plan = free_plan_of();
        struct play play = { 0 };
        char marker[MAX_PATH];

        snprintf(marker, sizeof(marker), "%s", native("workspace/marker"));
        CHECK("without_containers_the_backend_is_not_available",
              run(&play, contained, WORDS("touch", marker)) == ABATIS_E_BACKEND &&
                      strstr(play.err.message, "the backend appcontainer is not available"));
        CHECK("and_nothing_has_run", !exists("workspace/marker"));
        CHECK("the_backend_none_would_have", !run(&play, plan, WORDS("touch", marker)) &&
                                                     !play.outcome.exit_code && exists("workspace/marker"));
        end_play(&play);
        free_plan(contained);
        free_plan(plan);
}

/* Each deed outside, where it works, and inside. */
static void try(const char *name, const char *deed, const char *path, bool is_allowed)
{
        struct plan *contained = contained_plan(), *plan = free_plan_of();
        struct play play = { 0 };
        char file[MAX_PATH], control[128];

        snprintf(file, sizeof(file), "%s", native(path));
        snprintf(control, sizeof(control), "control_%s", name);
        CHECK(control, !run(&play, plan, WORDS(deed, file)) && !play.outcome.exit_code);
        end_play(&play);
        if (run(&play, contained, WORDS(deed, file)) < 0)
                printf("# %s\n", play.err.message);
        CHECK(name, play.outcome.has_run && !play.outcome.exit_code == is_allowed);
        end_play(&play);
        free_plan(contained);
        free_plan(plan);
}

static void check_present(void)
{
        struct plan *contained = contained_plan();
        struct play play = { 0 };

        try("the_workspace_can_be_written", "touch", "workspace/new", true);
        try("what_is_denied_in_it_cannot_be_read", "read", "workspace/secret/file", false);
        try("nor_written", "touch", "workspace/secret/new", false);
        try("what_lies_outside_cannot_be_read", "read", "outside", false);
        try("nor_can_it_be_written", "touch", "beside", false);
        CHECK("no_privilege_is_left_but_one",
              !run(&play, contained, WORDS("privileges")) &&
                      !strncmp(play.outcome.output[0].data, "SeChangeNotifyPrivilege", 23) &&
                      play.outcome.output[0].length < 26);
        end_play(&play);
        CHECK("temporary_files_are_the_containers",
              !run(&play, contained, WORDS("environment")) && says(&play, 0, "TEMP=") &&
                      says(&play, 0, "abatis.") && !says(&play, 0, "elsewhere"));
        end_play(&play);
        contained->steps[9].value |= PLAN_ALONE;
        CHECK("one_that_may_not_starts_no_other",
              !run(&play, contained, WORDS("child", native("workspace/child"))) &&
                      play.outcome.exit_code == 3);
        end_play(&play);
        free_plan(contained);
}

void check_containers(void)
{
        if (container_reason())
                check_missing();
        else
                check_present();
}
