/* The outside of the escape suite: what is shared by the programs that play victim, server and witness. */
#ifndef ESCAPE_OUTSIDE_H
#define ESCAPE_OUTSIDE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stdio.h>

#define SECRET "TOP-SECRET"

int show_state(char **argument);
int make_fresh(char **argument);
int show_process(char **argument);
int play_victim(char **argument);
int play_servers(char **argument);
int play_ipc(char **argument);
int play_terminal(char **argument);

void print_state(FILE *to, const char *path);

int fail(const char *what);
/* Opens the log for appending; a fixture without its log is worthless, so a failure ends it. */
int open_log(const char *path);
void log_line(int log, const char *text);
/* Writes a small file at once, so that whoever waits for it never reads half of it. */
int publish(const char *path, const char *text);
/* A fixture must not outlive the runner, whatever becomes of it. */
void end_with_parent(void);

#endif
