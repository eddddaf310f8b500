/* pipe_linux.c: writing to a reader that may be slow or gone, and a command's stdin from memory. */
#define _GNU_SOURCE
#include "run/pipe_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

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

static void end(struct feed *feed)
{
        if (feed->pipe >= 0)
                close(feed->pipe);
        feed->pipe = -1;
        free(feed->bytes);
        feed->bytes = NULL;
}

int feed_open(struct feed *feed, const void *bytes, size_t length, int *command_end, abatis_error *err)
{
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0 || fds_above_stdio(ends) < 0)
                return error_os(err, errno, "cannot make a pipe");
        feed->pipe = ends[1];
        *command_end = ends[0];
        feed->bytes = malloc(length + 1);
        if (!feed->bytes)
                return error_memory(err);
        memcpy(feed->bytes, bytes, length);
        feed->length = length;
        if (fcntl(ends[1], F_SETFL, O_NONBLOCK) < 0)
                return error_os(err, errno, "cannot make a pipe");
        feed_advance(feed);
        return 0;
}

void feed_advance(struct feed *feed)
{
        while (feed->pipe >= 0 && feed->done < feed->length) {
                ssize_t written = pipe_write(feed->pipe, feed->bytes + feed->done, feed->length - feed->done);

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        return;
                if (written < 0)
                        break;
                feed->done += (size_t)written;
        }
        end(feed);
}

void feed_done(struct feed *feed)
{
        end(feed);
}
