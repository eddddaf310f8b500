/* stream.c: one output of a command, through a pipe: kept or passed on, of much the beginning and the end. */
#define _GNU_SOURCE
#include "run/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/system.h"
#include "run/pipe.h"

enum {
        CHUNK = 64 * 1024, /* a full pipe */
        PIECE = PIPE_BUF,  /* what a pipe that polls writable takes without blocking */
};

int stream_adopt(struct stream *stream, int fd, int descriptor, int copy, abatis_error *err)
{
        stream->descriptor = descriptor;
        stream->pipe = fd;
        stream->copy = copy;
        stream->state = STREAM_READS;
        return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? error_os(err, errno, "cannot read the output") : 0;
}

int stream_open(struct stream *stream, int descriptor, int copy, int *command_end, abatis_error *err)
{
        int ends[2];

        if (system_pipe(ends) < 0 || fds_above_stdio(ends) < 0)
                return error_os(err, errno, "cannot make a pipe");
        *command_end = ends[1];
        return stream_adopt(stream, ends[0], descriptor, copy, err);
}

/* Half of it for the beginning. What is passed on cannot be taken back, so only the other half is kept for the end. */
void stream_limit(struct stream *stream, uint64_t limit)
{
        uint64_t most = SIZE_MAX / 4;

        stream->limit = limit < most ? limit : most;
        stream->kept.room = (size_t)stream->limit;
        if (stream->copy < 0)
                stream->kept.head = stream->kept.room / 2;
        else
                stream->ahead = stream->limit / 2;
        stream->completion = 3;
}

void stream_digest(struct stream *stream)
{
        stream->is_digested = true;
        sha256_init(&stream->digest);
}

/* Nothing more comes: what was kept is put in order. */
static void finish(struct stream *stream)
{
        if (stream->pipe >= 0)
                close(stream->pipe);
        stream->pipe = -1;
        if (!stream->is_finished)
                stream->is_truncated = excerpt_finish(&stream->kept);
        stream->is_finished = true;
}

void stream_drop(struct stream *stream)
{
        if (stream->state == STREAM_CLOSED)
                return;
        finish(stream);
        stream->is_truncated |= stream->pending_length || (stream->copy >= 0 && stream->kept.total);
        stream->pending_length = 0;
        stream->state = STREAM_CLOSED;
}

void stream_done(struct stream *stream)
{
        if (stream->pipe >= 0)
                close(stream->pipe);
        if (stream->left)
                close(stream->left);
        free(stream->chunk);
        excerpt_done(&stream->kept);
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
                size_t piece = stream->pending_length < PIECE ? stream->pending_length : PIECE;
                ssize_t written = -1;

                errno = EAGAIN;
                if (is_writable(stream->copy))
                        written = pipe_write(stream->copy, stream->pending, piece);
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
                stream->pending += written;
                stream->pending_length -= (size_t)written;
        }
        stream->state = STREAM_READS;
        return true;
}

/* What was kept is passed on if there is somebody to pass it on to. */
static void end(struct stream *stream)
{
        finish(stream);
        if (stream->copy >= 0) {
                stream->pending = stream->kept.text.data;
                stream->pending_length = stream->kept.text.length;
        }
        if (!stream->pending_length)
                stream->state = STREAM_CLOSED;
}

/* What is passed on at once ends between two characters. */
static size_t take_ahead(struct stream *stream, const char *bytes, size_t length)
{
        size_t count = stream->ahead < length ? (size_t)stream->ahead : length;

        if (stream->kept.total)
                return 0;
        stream->ahead -= count;
        while (!stream->ahead && stream->total + count && count < length && stream->completion &&
               stream->total + count + 1 < stream->limit && ((unsigned char)bytes[count] & 0xc0) == 0x80) {
                stream->completion--;
                count++;
        }
        if (count)
                stream->kept.before = bytes[count - 1];
        stream->kept.room = (size_t)(stream->limit - stream->total - count);
        stream->pending = bytes;
        stream->pending_length = count;
        return count;
}

static void take(struct stream *stream, const char *bytes, size_t length)
{
        size_t ahead = 0;

        if (stream->listener.hear)
                stream->listener.hear(stream->listener.user, stream->descriptor, bytes, length);
        if (stream->is_digested)
                sha256_add(&stream->digest, bytes, length);
        if (stream->copy >= 0)
                ahead = take_ahead(stream, bytes, length);
        excerpt_add(&stream->kept, bytes + ahead, length - ahead);
        stream->total += length;
}

void stream_end_here(struct stream *stream)
{
        int count = 0;

        if (stream->is_ended || stream->pipe < 0)
                return;
        stream->is_ended = true;
        stream->rest = ioctl(stream->pipe, FIONREAD, &count) < 0 ? 0 : (size_t)count;
}

/* False when there is nothing in the pipe now, or nothing left to do. */
static bool read_chunk(struct stream *stream)
{
        ssize_t got;

        if (stream->pipe < 0) {
                stream->state = STREAM_CLOSED;
                return false;
        }
        if (!stream->chunk)
                stream->chunk = malloc(CHUNK);
        if (!stream->chunk) {
                stream->kept.text.has_failed = true;
                stream_drop(stream);
                return false;
        }
        if (stream->is_ended && !stream->rest) {
                stream->left = stream->pipe;
                stream->pipe = -1;
                end(stream);
                return true;
        }
        do
                got = read(stream->pipe, stream->chunk,
                           stream->is_ended && stream->rest < CHUNK ? stream->rest : CHUNK);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
                return false;
        if (got <= 0)
                end(stream);
        else
                take(stream, stream->chunk, (size_t)got);
        if (stream->is_ended && got > 0)
                stream->rest -= (size_t)got;
        return true;
}

void stream_advance(struct stream *stream, bool to_the_end)
{
        /* More at once would be unfair to the other stream and to the deadline. */
        for (int chunks = 0; stream->state != STREAM_CLOSED && (to_the_end || chunks < 4); chunks++)
                if (!flush(stream) || !read_chunk(stream))
                        break;
        /* Of many jobs at once most wait: they need none meanwhile. */
        if (!stream->pending_length) {
                free(stream->chunk);
                stream->chunk = NULL;
        }
}

void stream_take_output(struct stream *stream, int index, struct job_outcome *out)
{
        out->totals[index] = stream->total;
        out->are_cut[index] = stream->is_truncated;
        if (stream->is_digested && stream->descriptor)
                sha256_finish(&stream->digest, out->digests[index]);
        if (stream->copy >= 0)
                return; /* it was passed on */
        out->output[index] = stream->kept.text;
        stream->kept.text = (struct text){ 0 };
}
