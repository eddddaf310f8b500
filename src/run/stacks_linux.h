/* stacks_linux.h: the stacks of jobs that have ended, for the next ones.
 *
 * The same few pages serve all jobs of a sandbox; on the heap each job would touch others, and the host program's resident
 * memory would grow for tens of thousands of jobs. */
#ifndef RUN_STACKS_LINUX_H
#define RUN_STACKS_LINUX_H

enum { STACKS_SPARE = 64 };

struct stacks {
        char *spare[STACKS_SPARE]; /* owned, or NULL */
};

/* From any thread. Memory for init's and the command's, or NULL when there is none; `stacks` may be NULL. */
char *stacks_take(struct stacks *stacks);
void stacks_return(struct stacks *stacks, char *memory);
void stacks_done(struct stacks *stacks);

#endif
