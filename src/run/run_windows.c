/* run_windows.c: carries a plan out on Windows: one command, from its container to the death of its whole tree. */
#include "run/run_windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "run/container_windows.h"
#include "run/firewall_windows.h"
#include "run/places_windows.h"
#include "run/start_windows.h"
#include "run/token_windows.h"

enum { LOOK_EVERY = 50, ENDED_BY_US = 137 };

/* What one of the two pipes has said. */
struct reader {
        HANDLE pipe, thread, end; /* owned; the last is an event: all writers of the job are gone */
        struct text kept;
        HANDLE to;                    /* borrowed: where it goes at once; NULL: it is kept */
        uint64_t most, total, passed; /* 0: all is kept */
        bool is_given_up;             /* who does not take it now does not get it */
};

struct job {
        const struct plan *plan;
        const uint64_t *limits;
        const struct windows_command *command;
        const struct step *container; /* NULL: there is none */
        bool is_stripped;
        uint64_t object_kind; /* enum plan_object */
        char name[CONTAINER_NAME_SIZE];
        struct container_sid sid;
        struct places places;
        struct strings trees;       /* that have entries */
        struct strings environment; /* with what is known only now */
        wchar_t *folder;            /* owned: the container's */
        struct journal journal;
        bool has_journal;
        HANDLE object, process, thread; /* owned */
        HANDLE ends[3];                 /* owned: what the command inherits */
        struct reader readers[2];
};

/* ---- the plan ------------------------------------------------------------------------------------------- */

static int read_step(struct job *job, const struct step *step, abatis_error *err)
{
        switch (step->op) {
        case PLAN_CONTAINER:
                job->container = step;
                return 0;
        case PLAN_PRIVILEGES:
                job->is_stripped = true;
                return 0;
        case PLAN_JOB_OBJECT:
                job->object_kind = step->value;
                return 0;
        case PLAN_SHOW:
        case PLAN_WRITABLE:
        case PLAN_PROTECT:
                return strings_add(&job->trees, step->path, err);
        case PLAN_PIN:
        case PLAN_HIDE:
        case PLAN_CLOSED:
        case PLAN_OWN_TMP:
        case PLAN_SUSPENDED:
        case PLAN_RESUME:
        case PLAN_SESSION:
        case PLAN_DESCRIPTORS:
        case PLAN_ENVIRONMENT:
        case PLAN_ARGUMENTS:
        case PLAN_LIMIT:
        case PLAN_COUNT:
        case PLAN_DEADLINE:
        case PLAN_OUTPUT:
                return 0;
        case PLAN_SWEEP:
        case PLAN_NAMESPACES:
        case PLAN_MAP_IDS:
        case PLAN_STAGE:
        case PLAN_READ_ONLY_WORLD:
        case PLAN_NOEXEC:
        case PLAN_NEW_ROOT:
        case PLAN_LINK:
        case PLAN_DEVICES:
        case PLAN_TERMINALS:
        case PLAN_PRIVATE_SHM:
        case PLAN_PRIVATE_TMP:
        case PLAN_PROC:
        case PLAN_LIBRARIES:
        case PLAN_START:
        case PLAN_LOADER:
        case PLAN_HOSTS:
        case PLAN_ENTER_ROOT:
        case PLAN_PRIVATE_IPC:
        case PLAN_NETWORK:
        case PLAN_STREAMS:
        case PLAN_LOOPBACK:
        case PLAN_LOOPBACK_AT_ONCE:
        case PLAN_CGROUP:
        case PLAN_LANDLOCK:
        case PLAN_SECCOMP:
        case PLAN_CALLS:
        case PLAN_BROKER:
        case PLAN_PROFILE:
        case PLAN_PORTER:
                break;
        }
        return error_set(err, ABATIS_E_UNENFORCEABLE, "the plan has a step of another system");
}

/* Trees without a container to give them to would be a plan that holds nothing. */
static int read_plan(struct job *job, abatis_error *err)
{
        int r = 0;

        for (size_t i = 0; i < job->plan->step_count && !r; i++)
                r = read_step(job, &job->plan->steps[i], err);
        if (!r && !job->container && (job->trees.count || job->is_stripped))
                r = error_set(err, ABATIS_E_UNENFORCEABLE, "the plan has no container");
        return r;
}

static uint64_t limit_of(const struct job *job, enum limit limit)
{
        return plan_limits_by(job->plan, PLAN_LIMIT, limit) ? job->limits[limit] : 0;
}

/* ---- the container -------------------------------------------------------------------------------------- */

/* Nothing is changed before it is written down how to undo it. */
static int make_container(struct job *job, struct journal_report *report, abatis_error *err)
{
        OWN_FREE char *directory = NULL;
        const char *reason = container_reason();
        int r;

        if (reason)
                return error_set(err, ABATIS_E_BACKEND, "the backend appcontainer is not available: %s",
                                 reason);
        r = journal_find_directory(&directory, err);
        if (!r && !job->container->value)
                r = firewall_check(err);
        if (!r)
                r = journal_replay(directory, report, err);
        if (!r)
                r = container_name_new(job->name, err);
        if (!r)
                r = container_find_sid(job->name, &job->sid, err);
        if (!r)
                r = places_open(job->plan, directory, &job->places, err);
        if (!r)
                r = journal_begin(directory, job->name, &job->trees, &job->journal, err);
        if (r < 0)
                return r;
        job->has_journal = true;
        r = container_make(job->name, &job->sid, &job->folder, err);
        return r < 0 ? r : places_grant(&job->places, &job->sid.u.sid, err);
}

/* What fails here is tried again at the next start. */
static int remove_container(struct job *job, abatis_error *err)
{
        size_t removed = 0;
        int r;

        places_done(&job->places);
        if (!job->has_journal)
                return 0;
        r = places_revoke_all(&job->trees, &job->sid.u.sid, &removed, err);
        if (!r)
                r = container_remove(job->name, err);
        if (!r)
                return journal_end(&job->journal, err);
        journal_leave(&job->journal);
        return r;
}

/* ---- input and output ----------------------------------------------------------------------------------- */

/* How much of it went there. Who does not take it any more has his reasons, and the command goes on; who is slow is waited for. */
static DWORD pass_on(const struct reader *reader, const char *bytes, DWORD length)
{
        DWORD done = 0, written = 0;

        while (done < length) {
                if (WriteFile(reader->to, bytes + done, length - done, &written, NULL))
                        done += written;
                else if (GetLastError() != ERROR_OPERATION_ABORTED)
                        return length;
                else if (reader->is_given_up)
                        break;
        }
        return done;
}

static void keep(struct reader *reader, const char *bytes, DWORD length)
{
        uint64_t room = !reader->most                  ? length
                        : reader->total < reader->most ? reader->most - reader->total
                                                       : 0;
        DWORD size = room < length ? (DWORD)room : length;

        if (reader->to)
                size = pass_on(reader, bytes, size);
        else
                text_add_bytes(&reader->kept, bytes, size);
        reader->passed += size;
        reader->total += length;
}

/* What is left in the pipe when nobody of the job is there to write any more. */
static void drain(struct reader *reader)
{
        char buffer[16 * 1024];
        DWORD left = 0, got = 0;

        if (!PeekNamedPipe(reader->pipe, NULL, 0, NULL, &left, NULL))
                return;
        for (; left; left -= got) {
                if (!ReadFile(reader->pipe, buffer, left < sizeof(buffer) ? left : sizeof(buffer), &got,
                              NULL) ||
                    !got)
                        return;
                keep(reader, buffer, got);
        }
}

static DWORD WINAPI read_all(void *argument)
{
        struct reader *reader = argument;
        char buffer[16 * 1024];
        DWORD got;

        while (WaitForSingleObject(reader->end, 0) != WAIT_OBJECT_0) {
                if (ReadFile(reader->pipe, buffer, sizeof(buffer), &got, NULL) && got)
                        keep(reader, buffer, got);
                else if (GetLastError() != ERROR_OPERATION_ABORTED)
                        return 0;
        }
        drain(reader);
        return 0;
}

/* When nothing of the job runs. A pipe ends with its last writer, and that may be a stranger: a program that somebody else has started from here
 * at the moment when the command's end could be inherited. */
static void end_reader(struct reader *reader)
{
        if (!reader->thread)
                return;
        SetEvent(reader->end);
        while (WaitForSingleObject(reader->thread, LOOK_EVERY) == WAIT_TIMEOUT)
                CancelSynchronousIo(reader->thread);
}

static int open_streams(struct job *job, abatis_error *err)
{
        SECURITY_ATTRIBUTES inherited = { .nLength = sizeof(inherited), .bInheritHandle = TRUE };

        if (!job->command->input)
                job->ends[0] = CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE,
                                           &inherited, OPEN_EXISTING, 0, NULL);
        else if (!DuplicateHandle(GetCurrentProcess(), job->command->input, GetCurrentProcess(),
                                  &job->ends[0], GENERIC_READ | SYNCHRONIZE, TRUE, 0))
                job->ends[0] = NULL;
        if (!is_handle(job->ends[0]))
                return error_windows(err, GetLastError(), "open the command's input");
        for (size_t i = 0; i < 2; i++)
                if (!CreatePipe(&job->readers[i].pipe, &job->ends[1 + i], &inherited, 0) ||
                    !SetHandleInformation(job->readers[i].pipe, HANDLE_FLAG_INHERIT, 0))
                        return error_windows(err, GetLastError(), "make a pipe for the command's output");
        return 0;
}

static int start_readers(struct job *job, abatis_error *err)
{
        for (size_t i = 0; i < 2; i++) {
                job->readers[i].most = job->command->most;
                job->readers[i].to = job->command->output[i];
                job->readers[i].end = CreateEventW(NULL, TRUE, FALSE, NULL);
                if (!job->readers[i].end)
                        return error_windows(err, GetLastError(), "make an event");
                job->readers[i].thread = CreateThread(NULL, 0, read_all, &job->readers[i], 0, NULL);
                if (!job->readers[i].thread)
                        return error_windows(err, GetLastError(), "start a thread");
        }
        return 0;
}

static bool is_variable(const char *variable, const char *name)
{
        size_t length = strlen(name);

        return !_strnicmp(variable, name, length) && variable[length] == '=';
}

/* Where there is a container, its own directory is the one for temporary files. */
static int make_environment(struct job *job, abatis_error *err)
{
        OWN_FREE char *folder = job->folder ? utf8_from_wide(job->folder) : NULL;
        static const char *const names[] = { "TEMP", "TMP" };
        int r = 0;

        if (job->folder && !folder)
                return error_memory(err);
        for (const char *const *at = job->command->environment; *at && !r; at++)
                if (!folder || (!is_variable(*at, names[0]) && !is_variable(*at, names[1])))
                        r = strings_add(&job->environment, *at, err);
        for (size_t i = 0; i < 2 && folder && !r; i++) {
                OWN_TEXT struct text variable = { 0 };

                text_addf(&variable, "%s=%s\\Temp", names[i], folder);
                r = variable.has_failed ? error_memory(err)
                                        : strings_add(&job->environment, variable.data, err);
        }
        return r;
}

/* ---- the start ------------------------------------------------------------------------------------------ */

static int start_process(struct job *job, abatis_error *err)
{
        OWN_FREE const char **environment = calloc(job->environment.count + 1, sizeof(*environment));
        struct start start = { .program = job->command->program,
                               .argv = job->command->argv,
                               .directory = job->command->directory,
                               .environment = environment,
                               .standard = { job->ends[0], job->ends[1], job->ends[2] },
                               .container = job->container ? &job->sid.u.sid : NULL,
                               .capabilities = job->container ? job->container->value : 0 };

        if (!environment)
                return error_memory(err);
        for (size_t i = 0; i < job->environment.count; i++)
                environment[i] = job->environment.items[i];
        return start_suspended(&start, &job->process, &job->thread, err);
}

/* While it is suspended. */
static int confine(struct job *job, abatis_error *err)
{
        OWN_HANDLE HANDLE token = NULL;
        struct capabilities given;
        int r = 0;

        if (!AssignProcessToJobObject(job->object, job->process))
                return error_windows(err, GetLastError(), "put the command into its job object");
        if (!job->container)
                return 0;
        if (!OpenProcessToken(job->process, TOKEN_QUERY | TOKEN_ADJUST_PRIVILEGES, &token))
                return error_windows(err, GetLastError(), "open the command's token");
        if (job->is_stripped)
                r = token_strip(token, err);
        if (!r && !start_find_capabilities(job->container->value, &given))
                r = error_windows(err, GetLastError(), "make the command's capabilities");
        if (!r)
                r = token_check_capabilities(token, given.items, given.count, err);
        /* The last look before it runs. */
        return r < 0 ? r : token_check_container(token, &job->sid.u.sid, err);
}

static int begin(struct job *job, struct journal_report *report, abatis_error *err)
{
        int r = job->container ? make_container(job, report, err) : 0;

        if (!r)
                r = start_make_object(limit_of(job, LIMIT_MEMORY),
                                      job->object_kind & PLAN_ALONE ? 1 : limit_of(job, LIMIT_PROCESSES),
                                      !(job->object_kind & PLAN_NO_DESKTOP), &job->object, err);
        if (!r)
                r = open_streams(job, err);
        if (!r)
                r = make_environment(job, err);
        if (!r)
                r = start_process(job, err);
        if (!r)
                r = confine(job, err);
        /* Else the pipes would never end. */
        for (size_t i = 0; i < 3; i++) {
                own_handle_close(&job->ends[i]);
                job->ends[i] = NULL;
        }
        if (!r)
                r = start_readers(job, err);
        if (!r && ResumeThread(job->thread) == (DWORD)-1)
                r = error_windows(err, GetLastError(), "let the command run");
        return r;
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static uint64_t spent_of(HANDLE object)
{
        JOBOBJECT_BASIC_ACCOUNTING_INFORMATION facts = { 0 };

        QueryInformationJobObject(object, JobObjectBasicAccountingInformation, &facts, sizeof(facts), NULL);
        return (uint64_t)(facts.TotalUserTime.QuadPart + facts.TotalKernelTime.QuadPart) / 10000;
}

static void await(struct job *job, struct job_outcome *out)
{
        uint64_t begun = GetTickCount64();
        uint64_t timeout = plan_has(job->plan, PLAN_DEADLINE) ? job->limits[LIMIT_TIMEOUT] : 0;
        uint64_t cpu = plan_limits_by(job->plan, PLAN_COUNT, LIMIT_CPU) ? job->limits[LIMIT_CPU] : 0;
        HANDLE awaited[2] = { job->process, job->command->cancel };

        for (;;) {
                uint64_t passed = GetTickCount64() - begun;
                uint64_t left = timeout > passed ? timeout - passed : 0;
                DWORD patience = !timeout || left > LOOK_EVERY ? LOOK_EVERY : (DWORD)left;
                DWORD woken = WaitForMultipleObjects(awaited[1] ? 2 : 1, awaited, FALSE, patience);

                if (woken == WAIT_OBJECT_0)
                        break;
                out->is_cancelled = woken == WAIT_OBJECT_0 + 1;
                out->has_timed_out = timeout && GetTickCount64() - begun >= timeout;
                if (cpu && spent_of(job->object) >= cpu)
                        out->limit = "limits.cpu";
                if (out->is_cancelled || out->has_timed_out || out->limit || woken == WAIT_FAILED)
                        break;
        }
        out->duration_ms = (double)(GetTickCount64() - begun);
}

/* When this returns nothing of the tree runs any more. */
static int end_tree(struct job *job, abatis_error *err)
{
        if (!is_handle(job->process))
                return 0;
        TerminateJobObject(job->object, ENDED_BY_US);
        /* It may not have got into the object. */
        TerminateProcess(job->process, ENDED_BY_US);
        WaitForSingleObject(job->process, INFINITE);
        for (;;) {
                JOBOBJECT_BASIC_ACCOUNTING_INFORMATION facts = { 0 };

                if (!QueryInformationJobObject(job->object, JobObjectBasicAccountingInformation, &facts,
                                               sizeof(facts), NULL))
                        return error_windows(err, GetLastError(), "count what is left of the command");
                if (!facts.ActiveProcesses)
                        return 0;
                Sleep(1);
        }
}

static int collect(struct job *job, struct job_outcome *out, abatis_error *err)
{
        DWORD code = 0;
        int r = 0;

        for (size_t i = 0; i < 2; i++) {
                struct reader *reader = &job->readers[i];

                reader->is_given_up = out->is_cancelled || out->has_timed_out || out->limit;
                end_reader(reader);
                if (reader->kept.has_failed)
                        r = error_memory(err);
                out->output[i] = reader->kept;
                out->totals[i] = reader->total;
                out->are_cut[i] = reader->total > reader->passed;
                out->is_truncated |= out->are_cut[i];
                reader->kept = (struct text){ 0 };
        }
        if (!GetExitCodeProcess(job->process, &code) && !r)
                r = error_windows(err, GetLastError(), "find out how the command ended");
        out->exit_code = (int)code;
        return r;
}

static void job_done(struct job *job)
{
        HANDLE *handles[] = { &job->thread,  &job->process, &job->object,
                              &job->ends[0], &job->ends[1], &job->ends[2] };

        for (size_t i = 0; i < sizeof(handles) / sizeof(*handles); i++)
                own_handle_close(handles[i]);
        for (size_t i = 0; i < 2; i++) {
                job->readers[i].is_given_up = true;
                end_reader(&job->readers[i]);
                own_handle_close(&job->readers[i].thread);
                own_handle_close(&job->readers[i].end);
                own_handle_close(&job->readers[i].pipe);
                text_done(&job->readers[i].kept);
        }
        strings_done(&job->trees);
        strings_done(&job->environment);
        free(job->folder);
}

int windows_run(const struct plan *plan, const uint64_t limits[LIMIT_COUNT],
                const struct windows_command *command, struct job_outcome *out, struct journal_report *report,
                abatis_error *err)
{
        struct job job = { .plan = plan, .limits = limits, .command = command };
        struct job_outcome outcome = { 0 };
        struct journal_report unread;
        abatis_error later = { 0 };
        int r = read_plan(&job, err), ended, removed;

        if (!r)
                r = begin(&job, report ? report : &unread, err);
        if (!r) {
                outcome.has_run = true;
                await(&job, &outcome);
        }
        ended = end_tree(&job, &later);
        if (!r)
                r = collect(&job, &outcome, err);
        removed = remove_container(&job, ended < 0 ? NULL : &later);
        job_done(&job);
        /* The command has run, and something is left of it. */
        if (!r && (ended < 0 || removed < 0)) {
                r = ABATIS_E_NO_RESULT;
                error_set(err, r, "%s", later.message);
        }
        if (r < 0) {
                for (size_t i = 0; i < 2; i++)
                        text_done(&outcome.output[i]);
                return r;
        }
        *out = outcome;
        return 0;
}
