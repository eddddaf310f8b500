/* kernel_darwin.c: see kernel_darwin.h. */
#include "run/kernel_darwin.h"

#include <errno.h>
#include <libproc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/proc.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* No public header has these; libSystem has had them since Mac OS X 10.5, and browsers call them. */
enum { FILTER_NONE = 0, FILTER_GLOBAL_NAME = 2 };
extern const int SANDBOX_CHECK_NO_REPORT;
int sandbox_check(pid_t process, const char *operation, int type, ...);
int sandbox_init_with_parameters(const char *profile, uint64_t flags, const char *const parameters[],
                                 char **why);
void sandbox_free_error(char *why);

int kernel_apply_profile(const char *profile, const char *const *parameters, char *why, size_t size)
{
        char *reason = NULL;

        if (!sandbox_init_with_parameters(profile, 0, parameters, &reason))
                return 0;
        snprintf(why, size, "%s", reason ? reason : "no reason was given");
        if (reason)
                sandbox_free_error(reason);
        return -1;
}

bool kernel_can_apply_in_child(void)
{
        return !pthread_is_threaded_np();
}

/* 1, 0, or -1 when it is not told. */
static int is_confined(pid_t process)
{
        return sandbox_check(process, NULL, FILTER_NONE | SANDBOX_CHECK_NO_REPORT);
}

bool kernel_is_confined(void)
{
        return is_confined(getpid()) == 1;
}

int kernel_list_processes(pid_t *out, int count)
{
        int bytes = proc_listpids(PROC_ALL_PIDS, 0, out, count * (int)sizeof(*out));

        return bytes <= 0 ? -1 : bytes / (int)sizeof(*out);
}

/* 0 if it may, 1 if not, or -1. */
static int is_kept_from(pid_t process, const char *name)
{
        return sandbox_check(process, "mach-lookup", FILTER_GLOBAL_NAME | SANDBOX_CHECK_NO_REPORT, name);
}

/* Who is in no sandbox may look up everything, and who is in another one perhaps, too. Neither is of the job: only its own profile
 * tells the job's name from another that nobody ever heard of. */
static enum kernel_kin compare_profile(pid_t process, const char *job)
{
        int confined = is_confined(process), own, others;
        char other[128];

        if (!confined)
                return KIN_STRANGER;
        strlcpy(other, job, sizeof(other));
        strlcat(other, ".another", sizeof(other));
        own = is_kept_from(process, job);
        others = is_kept_from(process, other);
        if (confined < 0 || own < 0 || others < 0)
                return KIN_UNKNOWN;
        return !own && others ? KIN_RUNS : KIN_STRANGER;
}

/* KIN_STRANGER when there is one, of whom nothing more is known yet. */
static enum kernel_kin examine(pid_t process, struct proc_bsdshortinfo *out)
{
        errno = 0;
        if (proc_pidinfo(process, PROC_PIDT_SHORTBSDINFO, 0, out, sizeof(*out)) == sizeof(*out))
                return out->pbsi_status == SZOMB ? KIN_GONE : KIN_STRANGER;
        return errno == ESRCH || !errno ? KIN_GONE : KIN_UNKNOWN;
}

/* It is looked at a second time: who has ended in between had no profile when it was asked for. No process of a job changes its
 * user, unless that is root. */
enum kernel_kin kernel_ask_process(pid_t process, const char *job)
{
        struct proc_bsdshortinfo info;
        enum kernel_kin kin = examine(process, &info);

        if (kin != KIN_STRANGER || (geteuid() && info.pbsi_uid != geteuid()))
                return kin;
        kin = compare_profile(process, job);
        if (kin == KIN_RUNS)
                return info.pbsi_status == SSTOP ? KIN_STOPPED : KIN_RUNS;
        return examine(process, &info) == KIN_GONE ? KIN_GONE : kin;
}

int kernel_list_descriptors(int *out, int count)
{
        struct proc_fdinfo found[256];
        int bytes = proc_pidinfo(getpid(), PROC_PIDLISTFDS, 0, found, sizeof(found)), listed;

        if (bytes <= 0) /* who asks has some */
                return -1;
        listed = bytes / (int)sizeof(*found);
        for (int i = 0; i < listed && i < count; i++)
                out[i] = found[i].proc_fd;
        return listed < count ? listed : count;
}

void kernel_find_version(char *out, size_t size)
{
        size_t length = size;

        if (sysctlbyname("kern.osproductversion", out, &length, NULL, 0) < 0 || !length)
                *out = '\0';
        else
                out[length < size ? length : size - 1] = '\0';
}
