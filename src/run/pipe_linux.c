/* pipe_linux.c: writing to a reader that may be gone. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "run/pipe.h"

ssize_t pipe_write(int fd, const void *bytes, size_t length)
{
        const struct timespec at_once = { 0 };
        sigset_t pipe_signal, before, pending;
        ssize_t written;
        int kept_errno;

        sigemptyset(&pipe_signal);
        sigaddset(&pipe_signal, SIGPIPE);
        sigpending(&pending);
        pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
        written = write(fd, bytes, length);
        kept_errno = errno;
        /* One that was pending before is not ours to take. */
        if (written < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
                sigtimedwait(&pipe_signal, NULL, &at_once);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        errno = kept_errno;
        return written;
}
