/* flow.c: one output of a command on its way into events, through a pipe of ours: while nobody reads them, the command waits. */
#define _GNU_SOURCE
#include "server/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system.h"
#include "server/reply.h"

enum { CHUNK = 32 * 1024 };

static void close_end(int *end)
{
        if (*end >= 0)
                close(*end);
        *end = -1;
}

int flow_open(struct flow *flow, abatis_error *err)
{
        int ends[2];

        if (system_pipe(ends) < 0)
                return error_os(err, errno, "cannot make a pipe");
        flow->reads = ends[0];
        flow->writes = ends[1];
        return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? error_os(err, errno, "cannot make a pipe") : 0;
}

void flow_close_writer(struct flow *flow)
{
        close_end(&flow->writes);
}

void flow_close_reader(struct flow *flow)
{
        close_end(&flow->reads);
}

void flow_done(struct flow *flow)
{
        close_end(&flow->reads);
        close_end(&flow->writes);
}

/* How many bytes at the end begin a character that may go on. */
static size_t unfinished(const char *bytes, size_t length)
{
        size_t most = length < 3 ? length : 3;

        for (size_t back = 1; back <= most; back++) {
                unsigned char byte = (unsigned char)bytes[length - back];
                size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

                if ((byte & 0xc0) != 0x80)
                        return whole > back ? back : 0;
        }
        return 0;
}

static void add_event(const json_t *id, const char *name, const char *bytes, size_t length, struct text *out)
{
        reply_open(out, id);
        reply_add_string(out, "event", name);
        reply_add_bytes(out, "data", bytes, length);
        reply_close(out);
}

void flow_tell(struct flow *flow, const json_t *id, const char *name, struct text *out)
{
        char bytes[sizeof(flow->held) + CHUNK];
        size_t length = flow->held_length;
        ssize_t got;

        memcpy(bytes, flow->held, length);
        do
                got = read(flow->reads, bytes + length, CHUNK);
        while (got < 0 && errno == EINTR);
        if (got < 0 && errno == EAGAIN)
                return;
        if (got <= 0)
                close_end(&flow->reads);
        else
                length += (size_t)got;
        flow->held_length = got > 0 ? unfinished(bytes, length) : 0;
        length -= flow->held_length;
        memcpy(flow->held, bytes + length, flow->held_length);
        if (length)
                add_event(id, name, bytes, length, out);
}
