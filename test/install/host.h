/* host.h: what the host programs of this test share. */
#ifndef INSTALL_HOST_H
#define INSTALL_HOST_H

#include <abatis.h>
#include <stdbool.h>

/* One line for each fact; the rest is printed only when it is wrong. Returns is_right. */
bool report(const char *name, bool is_right, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- the host program ----------------------------------------------------------------------------------- */

/* In the scratch directory: where the commands work, a file beside it, and one that does not exist. */
extern char workspace[512], secret[512], outside[512];

/* Takes SCRATCH-DIRECTORY from the arguments, enters the workspace, and acquires habits; false when it cannot. */
bool host_begin(int argc, char **argv);
/* Compares everything the header promises not to touch before and after the tests: in a program that wants to hear of
 * its children, and then in one that has them ignored. */
void host_watch(void (*test)(void));
void host_watch_ignoring_children(void (*test)(void));
/* Prints the sum and returns the exit code. */
int host_end(void);

unsigned count_descriptors(void);
/* False for one that runs and for one that nobody has waited for. */
bool has_no_child(void);

/* ---- its jobs ------------------------------------------------------------------------------------------- */

/* A sandbox over the workspace with these settings: keys and values in turn, ended by NULL. */
abatis_sandbox *open_sandbox(const char *const *settings);
/* For a job that was prepared, or NULL. */
abatis_sandbox *open_sandbox_for(abatis_job *prepared, const char *const *settings);
#define SETTINGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct shell {
        const char *argv[4];
        abatis_job_options options;
};

/* `sh -c text`, its output collected. The options lie in the command. */
const abatis_job_options *shell(struct shell *command, const char *text);
/* Until its end; NULL when it did not run. */
abatis_result *run(abatis_sandbox *sandbox, const char *text);
bool has_output(const abatis_result *result, const char *out, const char *error);

enum { DRIVEN_MAX = 16 };

/* Drives jobs until all are done, as an event loop would; false when that takes longer than half a minute. */
bool drive(abatis_job **jobs, size_t count);

#endif
