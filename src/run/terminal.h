/* terminal.h: the near end of a command's terminal, and what is typed into it. */
#ifndef RUN_TERMINAL_H
#define RUN_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "abatis.h"

struct terminal {
        int sockets
                [2]; /* owned: ours, and init's until it has a copy; -1 when they are closed. Linux has them */
        int master;  /* owned, or -1 as long as it is not made */
        int input;   /* borrowed: where typing comes from, or -1 when there is no more */
        char *typed; /* owned: read, and not yet taken by the command */
        size_t done, length;
        char last;      /* what was typed last */
        bool has_ended; /* nothing more is typed: the end was */
};

#define TERMINAL_INIT                                            \
        {                                                        \
                .sockets = { -1, -1 }, .master = -1, .input = -1 \
        }

/* What is typed: the bytes, copied, or what the descriptor has. */
int terminal_fill(struct terminal *terminal, int input, const void *bytes, size_t length, abatis_error *err);
/* Reads, when `is_readable`, and writes what the terminal takes now. True when there is something left to write. */
bool terminal_type(struct terminal *terminal, bool is_readable);
void terminal_resize(const struct terminal *terminal, unsigned rows, unsigned columns);
void terminal_done(struct terminal *terminal);

/* terminal_linux.c: the same as filling it, and makes the sockets. */
int terminal_open(struct terminal *terminal, int input, const void *bytes, size_t length, abatis_error *err);
/* Takes the master that init has sent. False when it has not: nothing comes any more. */
bool terminal_receive(struct terminal *terminal);

#endif
