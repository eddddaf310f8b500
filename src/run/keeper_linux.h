/* keeper_linux.h: a prepared sandbox: a process that has its mounts and its filter ready, and jobs that are begun ahead.
 *
 * child_keeper_linux.c is what that process does. Its world is what the mounts and files were when it was made: before every job
 * it is asked whether that still holds, and if not, it is made anew. Nothing here fails: a job that cannot be had from the keeper
 * is begun like the only one of its sandbox. */
#ifndef RUN_KEEPER_LINUX_H
#define RUN_KEEPER_LINUX_H

#include "run/run.h"

struct keeper;

/* From any thread of the process that prepared the sandbox. A job that waits for its launch (job.is_ready), or NULL. */
struct job *keeper_take(struct keeper *keeper);
/* Of a job of whose processes none is left: another may be begun where it was. `keeper` may be NULL. */
void keeper_vacate(struct keeper *keeper, const struct job *job);
/* Lets the command of such a job go; negative if there is none any more. */
int keeper_launch(struct job *job);
/* Of every job of the sandbox, when its command has been let go and when it has ended: the best times to begin the next ones.
 * `keeper` may be NULL. */
void keeper_note_start(struct keeper *keeper);
void keeper_note_end(struct keeper *keeper);
void keeper_free(struct keeper *keeper);

#endif
