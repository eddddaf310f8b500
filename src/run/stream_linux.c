/* stream_linux.c: one output of a command, through a pipe: kept up to a limit, or passed on up to it. */
#define _GNU_SOURCE
#include "run/stream_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

int stream_open(struct stream *stream, int copy, int *command_end, abatis_error *err)
{
        int ends[2];

        stream->pending = malloc(STREAM_CHUNK);
        if (!stream->pending)
                return error_memory(err);
        if (pipe2(ends, O_CLOEXEC) < 0)
                return error_os(err, errno, "cannot make a pipe");
        stream->pipe = ends[0];
        stream->copy = copy;
        stream->state = STREAM_READS;
        *command_end = ends[1];
        if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
                return error_os(err, errno, "cannot make a pipe");
        return 0;
}

void stream_drop(struct stream *stream)
{
        if (stream->pipe >= 0)
                close(stream->pipe);
        stream->pipe = -1;
        stream->pending_length = 0;
        stream->state = STREAM_CLOSED;
}

void stream_done(struct stream *stream)
{
        stream_drop(stream);
        free(stream->pending);
        text_done(&stream->kept);
}

/* Our own descriptor may be blocking, and is shared with whoever gave it to us, so it is asked before each write. */
static bool is_writable(int fd)
{
        struct pollfd ask = { fd, POLLOUT, 0 };

        return poll(&ask, 1, 0) > 0;
}

/* False when the reader cannot take more now, or is gone. */
static bool flush(struct stream *stream)
{
        while (stream->pending_length) {
                ssize_t written = -1;

                errno = EAGAIN;
                if (is_writable(stream->copy))
                        written = write(stream->copy, stream->pending + stream->pending_start,
                                        stream->pending_length);
                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN) {
                        stream->state = STREAM_BLOCKED;
                        return false;
                }
                if (written <= 0) {
                        /* The reader is gone: the command shall notice, as it would without us in between. */
                        stream_drop(stream);
                        return false;
                }
                stream->pending_start += (size_t)written;
                stream->pending_length -= (size_t)written;
        }
        stream->state = STREAM_READS;
        return true;
}

/* False at the end of the pipe, or when there is nothing in it now. */
static bool read_chunk(struct stream *stream)
{
        uint64_t room = stream->limit - stream->length;
        ssize_t got;
        size_t taken;

        do
                got = read(stream->pipe, stream->pending, STREAM_CHUNK);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
                return false;
        if (got <= 0) {
                stream_drop(stream);
                return false;
        }
        /* Over the limit bytes are dropped, so that the command never blocks on us. */
        taken = (uint64_t)got < room ? (size_t)got : (size_t)room;
        stream->is_truncated |= taken < (size_t)got;
        stream->length += taken;
        stream->pending_start = 0;
        stream->pending_length = taken;
        if (stream->copy < 0) {
                text_add_bytes(&stream->kept, stream->pending, taken);
                stream->pending_length = 0;
        }
        return true;
}

void stream_advance(struct stream *stream, bool to_the_end)
{
        /* Sixteen chunks are a full pipe; more would be unfair to the other stream and to the deadline. */
        for (int chunks = 0; stream->state != STREAM_CLOSED && (to_the_end || chunks < 16); chunks++)
                if (!flush(stream) || !read_chunk(stream))
                        return;
}
