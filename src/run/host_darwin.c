/* host_darwin.c: finds out what this Mac can enforce. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/system.h"
#include "run/kernel_darwin.h"
#include "run/run.h"
#include "run/sweep_darwin.h"

#define TRIED "/etc/passwd"

enum { PATIENCE_MS = 10 * 1000 };

static void probe_quickly(abatis_host *host)
{
        struct utsname name;

        *host = (abatis_host){ .system = SYSTEM_MACOS };
        kernel_find_version(host->kernel, sizeof(host->kernel));
        if (!uname(&name))
                snprintf(host->machine, sizeof(host->machine), "%s", name.machine);
        host->uid = geteuid();
        host->gid = getegid();
        if (kernel_is_confined())
                snprintf(
                        host->seatbelt_reason, sizeof(host->seatbelt_reason),
                        "this process is in a sandbox already, and macOS has none inside another; fix: start "
                        "abatis outside of it");
}

void host_probe_for(const abatis_policy *policy, abatis_host *host)
{
        (void)policy;
        probe_quickly(host);
}

bool host_probe_more(abatis_host *host)
{
        (void)host;
        return false;
}

/* The launch fails where a profile is not taken. */
bool host_correct(abatis_host *host, const struct job *prepared)
{
        (void)host;
        (void)prepared;
        return false;
}

/* ---- the full probe ------------------------------------------------------------------------------------- */

static struct host_finding *add_finding(abatis_host *host, const char *name, bool is_available,
                                        bool is_required)
{
        struct host_finding *finding = &host->findings[host->finding_count++];

        *finding = (struct host_finding){ .name = name,
                                          .is_available = is_available,
                                          .is_required = is_required };
        return finding;
}

static bool can_read(void)
{
        OWN_FD int fd = open(TRIED, O_RDONLY | O_CLOEXEC);

        return fd >= 0;
}

/* In a child: a file that could be read cannot be any more. The reason why not goes into the pipe. */
static _Noreturn void try_profile(int out)
{
        static const char profile[] =
                "(version 1)(allow default)(deny file-read* (literal \"/private" TRIED "\"))";
        const char *const none[] = { NULL };
        char why[200] = "a profile was applied, and a file that it denies could still be read";

        if (!can_read())
                snprintf(why, sizeof(why), "'" TRIED "' cannot be read without a profile, either");
        else if (!kernel_apply_profile(profile, none, why, sizeof(why)) && !can_read())
                *why = '\0';
        _exit(write(out, why, sizeof(why)) != sizeof(why));
}

/* The ends are nobody else's: another thread may start a program meanwhile. */
static int open_ends(int ends[2])
{
        if (pipe(ends) < 0)
                return -1;
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        return 0;
}

/* As read(), of one who may never answer. */
static ssize_t hear(int fd, void *out, size_t size)
{
        struct pollfd polled = { fd, POLLIN, 0 };

        return poll(&polled, 1, PATIENCE_MS) == 1 ? read(fd, out, size) : -1;
}

static void end_trial(pid_t pid)
{
        if (pid <= 0)
                return;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

static void probe_profile(abatis_host *host)
{
        char why[200] = "the trial did not end";
        struct host_finding *finding;
        int ends[2];
        pid_t pid;

        if (!open_ends(ends)) {
                pid = fork();
                if (!pid)
                        try_profile(ends[1]);
                close(ends[1]);
                if (pid > 0 && hear(ends[0], why, sizeof(why)) == sizeof(why))
                        why[sizeof(why) - 1] = '\0';
                close(ends[0]);
                end_trial(pid);
        }
        finding = add_finding(host, "profile", !*why, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 *why ? why : "one was applied, and what it denies could not be read");
}

/* A process that nobody waits for any more, under a profile that has a name of its own. */
static _Noreturn void leave_orphan(const char *name, int out)
{
        static const char profile[] = "(version 1)(allow default)(deny mach-lookup)"
                                      "(allow mach-lookup (global-name (param \"" PROFILE_JOB "\")))";
        const char *const parameters[] = { PROFILE_JOB, name, NULL };
        char why[200];

        if (kernel_apply_profile(profile, parameters, why, sizeof(why)) < 0 || fork())
                _exit(0);
        setsid();
        if (write(out, "", 1) == 1)
                sleep(10);
        _exit(0);
}

/* It is found and ended, and we are not taken for one. */
static void probe_sweep(abatis_host *host)
{
        struct host_finding *finding;
        bool is_there = false;
        uint64_t number;
        char byte, name[48];
        int ends[2];
        pid_t pid;

        /* Another's trial must not be ended with this one's. */
        if (!system_random(&number, sizeof(number)) && !open_ends(ends)) {
                snprintf(name, sizeof(name), "abatis.trial.%016" PRIx64, number);
                pid = fork();
                if (!pid)
                        leave_orphan(name, ends[1]);
                close(ends[1]);
                is_there = pid > 0 && hear(ends[0], &byte, 1) == 1 &&
                           kernel_ask_process(getpid(), name) == KIN_STRANGER &&
                           kernel_ask_process(getppid(), name) == KIN_STRANGER && sweep_end(name) &&
                           hear(ends[0], &byte, 1) == 0; /* it had the other end */
                close(ends[0]);
                end_trial(pid);
        }
        finding = add_finding(host, "processes by profile", is_there, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 is_there ? "an orphan was found by its profile, and ended"
                          : "an orphan was not found, or not ended, by its profile");
}

int host_probe_fully(abatis_host *host, abatis_error *err)
{
        struct host_finding *finding;

        probe_quickly(host);
        host->findings = calloc(HOST_MAX_FINDINGS, sizeof(*host->findings));
        if (!host->findings)
                return error_memory(err);
        finding = add_finding(host, "outside any sandbox", !*host->seatbelt_reason, true);
        snprintf(finding->detail, sizeof(finding->detail), "%s", host->seatbelt_reason);
        if (*host->seatbelt_reason)
                return 0;
        if (kernel_can_apply_in_child()) {
                probe_profile(host);
                probe_sweep(host);
        } else {
                finding = add_finding(host, "profile", false, false);
                snprintf(
                        finding->detail, sizeof(finding->detail),
                        "not tried: this program has threads, and a copy of it must not compile one; fix: ask "
                        "'abatis doctor'");
        }
        finding = add_finding(host, "sandbox-exec", !access("/usr/bin/sandbox-exec", X_OK), false);
        snprintf(finding->detail, sizeof(finding->detail),
                 "applies profiles for programs with threads, which cannot do it themselves");
        return 0;
}

void host_done(abatis_host *host)
{
        free(host->findings);
        host->findings = NULL;
        host->finding_count = 0;
}
