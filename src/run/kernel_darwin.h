/* kernel_darwin.h: the few questions that only macOS answers, apart from all that any BSD would do: so that the rest can be run
 * elsewhere, with another file in this one's place (test/darwin). */
#ifndef RUN_KERNEL_DARWIN_H
#define RUN_KERNEL_DARWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Puts this process, and all that descend from it, under a profile. `parameters` are names and values in turn, and NULL. 0, or -1
 * with the reason in words. */
int kernel_apply_profile(const char *profile, const char *const *parameters, char *why, size_t size);
/* Whether that may be called between fork and exec: not if another thread may hold a lock of the profiles' compiler. */
bool kernel_can_apply_in_child(void);

/* Whether this process is in a sandbox already: there is none inside another. */
bool kernel_is_confined(void);

/* All processes that there are at one moment, or -1. The newest come first. */
int kernel_list_processes(pid_t *out, int count);

/* What a process is to a job: under the profile whose JOB that is, or a stranger. Of one that has ended nobody can tell any more, and of
 * one that the kernel does not answer for not now. */
enum kernel_kin { KIN_STRANGER, KIN_GONE, KIN_RUNS, KIN_STOPPED, KIN_UNKNOWN };
enum kernel_kin kernel_ask_process(pid_t process, const char *job);
/* The descriptors that this process has, or as many as there is room for; or -1. */
int kernel_list_descriptors(int *out, int count);

/* Of macOS, "15.1" say; "" when it is not told. */
void kernel_find_version(char *out, size_t size);

#endif
