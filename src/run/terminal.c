/* terminal.c: the near end of a command's terminal, and what is typed into it. */
#include "run/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"

enum { CHUNK = 4096, END_OF_FILE = 4 /* Ctrl-D */ };

static void close_one(int *fd)
{
        if (*fd >= 0)
                close(*fd);
        *fd = -1;
}

/* At the end of what is typed the command finds the end of its input. A line that is not finished takes two. */
static void end_input(struct terminal *terminal)
{
        terminal->input = -1;
        terminal->done = 0;
        terminal->length = terminal->last == '\n' ? 1 : 2;
        memset(terminal->typed, END_OF_FILE, terminal->length);
        terminal->has_ended = true;
}

int terminal_fill(struct terminal *terminal, int input, const void *bytes, size_t length, abatis_error *err)
{
        terminal->typed = malloc(length > CHUNK ? length + 2 : CHUNK + 2);
        if (!terminal->typed)
                return error_memory(err);
        if (bytes)
                memcpy(terminal->typed, bytes, length);
        terminal->length = bytes ? length : 0;
        terminal->last = terminal->length ? terminal->typed[length - 1] : '\n';
        terminal->input = bytes ? -1 : input;
        if (!terminal->length && terminal->input < 0)
                end_input(terminal);
        return 0;
}

static void read_input(struct terminal *terminal)
{
        ssize_t got = read(terminal->input, terminal->typed, CHUNK);

        if (got < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (got <= 0) {
                end_input(terminal);
                return;
        }
        terminal->done = 0;
        terminal->length = (size_t)got;
        terminal->last = terminal->typed[got - 1];
}

bool terminal_type(struct terminal *terminal, bool is_readable)
{
        if (terminal->master < 0)
                return false;
        if (terminal->done == terminal->length && terminal->input >= 0 && is_readable)
                read_input(terminal);
        while (terminal->done < terminal->length) {
                ssize_t written = write(terminal->master, terminal->typed + terminal->done,
                                        terminal->length - terminal->done);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        return true;
                if (written < 0) {
                        terminal->input = -1;
                        terminal->done = terminal->length;
                        return false;
                }
                terminal->done += (size_t)written;
                if (terminal->done == terminal->length && terminal->input < 0 && !terminal->has_ended)
                        end_input(terminal);
        }
        return false;
}

void terminal_resize(const struct terminal *terminal, unsigned rows, unsigned columns)
{
        struct winsize size = { .ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns };

        if (terminal->master >= 0)
                ioctl(terminal->master, TIOCSWINSZ, &size);
}

void terminal_done(struct terminal *terminal)
{
        close_one(&terminal->sockets[0]);
        close_one(&terminal->sockets[1]);
        close_one(&terminal->master);
        free(terminal->typed);
}
