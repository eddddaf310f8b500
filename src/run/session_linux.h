/* session_linux.h: a shared session: one long job, in which a porter starts the others as its guests. See porter_linux.c. */
#ifndef RUN_SESSION_LINUX_H
#define RUN_SESSION_LINUX_H

#include "run/job_linux.h"

/* Ends whoever is left in it. */
void session_free(struct session *session);

/* A guest: from the first to the last it is the session's, and one of its own descriptors stands for it. */
int session_enter(struct session *session, struct job *job, abatis_error *err);
int session_launch(struct job *job, abatis_error *err);
/* A signal for the command; 0 or -1. */
int session_tell(struct job *job, int number);
/* It shall end, and all that it has started with it. */
int session_ask(struct job *job);
/* True when the command has ended, and what became of it is known. One that was told to end is waited for, but not for ever: then
 * the session ends with it. */
bool session_hear(struct job *job, bool waits);
/* All that the command has started, and nobody else. If that takes longer, nobody can be relied on in there: end them all. */
enum { GUEST_PATIENCE_MS = 5000 };
void session_end_guest(struct job *job);
void session_give_up(const struct job *job);
/* What others may write there from now on is of no interest. */
void session_drain(const struct job *job, int pipe);
/* A descriptor that is readable when the session has ended. */
int session_sign(const struct job *job);
void session_leave(struct job *job);

#endif
