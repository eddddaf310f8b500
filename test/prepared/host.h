/* host.h: a program that embeds the library, as the tests of prepared sandboxes want it. */
#ifndef HOST_H
#define HOST_H

#include <abatis.h>
#include <stdbool.h>
#include <sys/types.h>

/* The working directory; the workspace, which lies in it; a directory that the policy denies. */
extern char base[4096], workspace[4200], secrets[4200];

/* Says whether a test has passed; its first failure is what is printed. */
void begin(const char *name);
void expect(bool is_true, const char *format, ...) __attribute__((format(printf, 2, 3)));
void end(void);
int summary(void);

/* A sandbox with the preset dev; `key` and `value` set something more, or are NULL. */
abatis_sandbox *open_box(int spares, const char *key, const char *value);
/* Runs a script and returns its exit code, or -SIGNAL, or -1000 if there was an error. What it printed comes into `text`. */
int run(abatis_sandbox *box, const char *script);
extern char text[65536];
/* What run() does at a job's end. */
int finish_job(abatis_job *job);
/* A script as a job, with this descriptor, or -1, as its input; and its end, which is waited for. */
abatis_job *start_job(abatis_sandbox *box, const char *script, int input);
int end_job(abatis_job *job);

/* Processes of this one's tree that are of keepers: those that wait and, until their exec, those that are begun. */
int keepers(pid_t of, pid_t *pids, int most);
/* Waits until there are so many; false when there never are. */
bool await_keepers(pid_t of, int count);
bool is_alive(pid_t pid);
int open_descriptors(void);

/* A shared session. */
abatis_sandbox *open_session(void);
/* How many processes have this word in their command lines, in this one's view; and whether there are ever so many. */
int count_marked(const char *mark);
bool await_marked(const char *mark, int count);
/* The number that was printed. */
int number(void);

/* changes.c */
void test_changes_of_the_host(void);
/* loopbacks.c */
void test_loopbacks(void);
/* rules.c */
void test_rules_made_ahead(void);
/* guests.c */
void test_guests(void);
/* shared.c */
void test_shared_sessions(void);

#endif
