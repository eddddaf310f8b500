/* wrap_linux.h: a job that bubblewrap carries out. */
#ifndef RUN_WRAP_LINUX_H
#define RUN_WRAP_LINUX_H

#include "run/job_linux.h"

/* Before init is started, which has a copy of all descriptors: opens those that bubblewrap will have. */
int wrap_open(struct job *job, abatis_error *err);
/* When the command is known: what bubblewrap is told to do, and who is inside. */
int wrap_fill(struct job *job, abatis_error *err);
/* The children have theirs. */
void wrap_close_ends(struct wrap *wrap);
/* Everybody is gone: what the one inside has said of it goes where init would have said it. */
void wrap_conclude(struct job *job);
/* Why it did not come to the command, if nobody inside could say so; else 0. */
int wrap_report(const struct job *job, abatis_error *err);
void wrap_free(struct wrap *wrap);

#endif
