/* kernel.c: what macOS's run layer asks of its kernel, answered by Linux: all but the sandbox itself, so that the rest can be run.
 *
 * What stands for the profile is a mark that every descendant inherits and none can lose: a limit of a kind that nobody uses. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plan/plan.h"
#include "run/kernel_darwin.h"

/* Between 1 and what an ordinary user has. */
static unsigned long mark_of(const char *job)
{
        uint64_t hash = 1469598103934665603u;

        while (*job)
                hash = (hash ^ (unsigned char)*job++) * 1099511628211u;
        return 1 + hash % 819000;
}

int kernel_apply_profile(const char *profile, const char *const *parameters, char *why, size_t size)
{
        const char *job = NULL;
        struct rlimit mark;

        for (size_t i = 0; parameters[i]; i += 2)
                if (!strcmp(parameters[i], PROFILE_JOB))
                        job = parameters[i + 1];
        if (strncmp(profile, "(version 1)", 11) != 0 || !job || getenv("REFUSE_PROFILES")) {
                snprintf(why, size, "it is refused here");
                return -1;
        }
        mark.rlim_cur = mark.rlim_max = mark_of(job);
        return setrlimit(RLIMIT_MSGQUEUE, &mark);
}

bool kernel_can_apply_in_child(void)
{
        return !getenv("HAS_THREADS");
}

bool kernel_is_confined(void)
{
        return getenv("IS_CONFINED");
}

static int list_numbers(const char *path, int *out, int count)
{
        DIR *directory = opendir(path);
        struct dirent *entry;
        int found = 0;

        if (!directory)
                return -1;
        while (found < count && (entry = readdir(directory)))
                if (*entry->d_name >= '0' && *entry->d_name <= '9')
                        out[found++] = atoi(entry->d_name);
        closedir(directory);
        return found;
}

/* Linux lists them from the lowest number on. */
int kernel_list_processes(pid_t *out, int count)
{
        int found = list_numbers("/proc", out, count);

        for (int i = 0; i < found / 2; i++) {
                pid_t other = out[i];

                out[i] = out[found - 1 - i];
                out[found - 1 - i] = other;
        }
        if (found < 0 || !getenv("HAS_TOO_MANY"))
                return found;
        while (found < count)
                out[found++] = 0;
        return found;
}

int kernel_list_descriptors(int *out, int count)
{
        return list_numbers("/proc/self/fd", out, count);
}

/* The letter that Linux has for its state, or 0. */
static char state_of(pid_t process)
{
        char path[64], text[512], *at;
        FILE *file;
        size_t got;

        snprintf(path, sizeof(path), "/proc/%d/stat", process);
        file = fopen(path, "re");
        if (!file)
                return 0;
        got = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[got] = '\0';
        at = strrchr(text, ')');
        return at && at[1] ? at[2] : '\0';
}

static unsigned long find_mark(pid_t process)
{
        char path[64], line[256];
        unsigned long mark = 0;
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/limits", process);
        file = fopen(path, "re");
        while (file && fgets(line, sizeof(line), file))
                sscanf(line, "Max msgqueue size %lu", &mark);
        if (file)
                fclose(file);
        return mark;
}

enum kernel_kin kernel_ask_process(pid_t process, const char *job)
{
        const char *unknown = getenv("SAYS_NOTHING_OF");
        unsigned long mark = find_mark(process);
        char state = state_of(process);

        if (!state || state == 'Z')
                return KIN_GONE;
        if (unknown && process == atoi(unknown))
                return KIN_UNKNOWN;
        if (mark != mark_of(job))
                return KIN_STRANGER;
        return state == 'T' ? KIN_STOPPED : KIN_RUNS;
}

void kernel_find_version(char *out, size_t size)
{
        snprintf(out, size, "0");
}
