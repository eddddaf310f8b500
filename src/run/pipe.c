/* pipe.c: a command's stdin from memory, through a pipe. */
#include "run/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/system.h"

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

        if (system_pipe(ends) < 0 || fds_above_stdio(ends) < 0)
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
