/* passage.c: moves bytes from one socket to another: many without copying them, and a few at once. */
#define _GNU_SOURCE
#include "net/passage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/allowance.h"
#include "net/request.h"

enum {
        PIPES_MAX = 64, /* kept for whoever needs one next */
        PIPE_SIZE = 256 * 1024,
        FEW = 4096,  /* a pipe has room for so much, however little a user may have of them */
        ROUNDS = 16, /* then others have their turn */
};

/* Of one relay, which lasts as long as its process. */
static int pipes[PIPES_MAX][2];
static size_t pipe_count;

static int take_pipe(struct passage *passage)
{
        if (pipe_count) {
                pipe_count--;
                passage->pipe[0] = pipes[pipe_count][0];
                passage->pipe[1] = pipes[pipe_count][1];
        } else {
                if (pipe2(passage->pipe, O_NONBLOCK | O_CLOEXEC) < 0)
                        return -errno;
                /* Users may have so much of it; what there is by itself does, too. */
                fcntl(passage->pipe[1], F_SETPIPE_SZ, PIPE_SIZE);
        }
        passage->has_pipe = true;
        return 0;
}

/* What is still in it goes with it. */
static void leave_pipe(struct passage *passage)
{
        if (!passage->has_pipe)
                return;
        passage->has_pipe = false;
        if (!passage->in_pipe && pipe_count < PIPES_MAX) {
                pipes[pipe_count][0] = passage->pipe[0];
                pipes[pipe_count++][1] = passage->pipe[1];
                return;
        }
        close(passage->pipe[0]);
        close(passage->pipe[1]);
}

void passage_init(struct passage *passage, int from, int to, struct request *request,
                  struct allowance *allowance)
{
        *passage = (struct passage){
                .from = from, .to = to, .wants_read = true, .request = request, .allowance = allowance
        };
}

void passage_done(struct passage *passage)
{
        leave_pipe(passage);
}

static void count(struct passage *passage, ssize_t gone)
{
        passage->passed += (uint64_t)gone;
        passage->allowance->passed += (uint64_t)gone;
}

/* What cannot go now waits in a pipe. 1, or a negative errno. */
static int pass_few(struct passage *passage, const char *bytes, size_t length)
{
        size_t most = allowance_of(passage->allowance, length);
        ssize_t gone = most ? send(passage->to, bytes, most, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
        int r;

        if (!most)
                return -EDQUOT;
        if (gone < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        gone = gone < 0 ? 0 : gone;
        count(passage, gone);
        length -= (size_t)gone;
        if (!length)
                return 1;
        r = passage->has_pipe ? 0 : take_pipe(passage);
        if (r < 0)
                return r;
        passage->in_pipe = length;
        return write(passage->pipe[1], bytes + gone, length) == (ssize_t)length ? 1 : -ENOBUFS;
}

/* 1 if something came, 0 if nothing is there now or ever. */
static int take_few(struct passage *passage)
{
        char bytes[FEW];
        ssize_t got = recv(passage->from, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (got < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        passage->is_at_end = !got;
        if (got == FEW)
                passage->is_wide = true;
        return got ? pass_few(passage, bytes, (size_t)got) : 0;
}

/* Likewise. */
static int fill(struct passage *passage)
{
        ssize_t got;
        int r = passage->is_wide && !passage->has_pipe ? take_pipe(passage) : 0;

        if (r < 0)
                return r;
        got = !passage->is_wide ? 0
                                : splice(passage->from, NULL, passage->pipe[1], NULL, PIPE_SIZE,
                                         SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        /* splice() neither passes an urgent byte nor goes round it: that looks like the end. To recv() it is one like any other
         * (SO_OOBINLINE), and is passed on so. */
        if (got <= 0)
                return take_few(passage);
        passage->in_pipe += (size_t)got;
        passage->is_wide = got >= FEW;
        return 1;
}

static int empty(struct passage *passage)
{
        size_t most = allowance_of(passage->allowance, passage->in_pipe);
        ssize_t gone;

        if (!most)
                return -EDQUOT;
        gone = splice(passage->pipe[0], NULL, passage->to, NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (gone < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        passage->in_pipe -= (size_t)gone;
        count(passage, gone);
        return gone > 0;
}

static int end(struct passage *passage)
{
        passage->wants_read = passage->wants_write = false;
        if (!passage->has_ended)
                shutdown(passage->to, SHUT_WR);
        passage->has_ended = true;
        return 0;
}

static int pump_pipe(struct passage *passage)
{
        for (int i = 0; i < ROUNDS; i++) {
                int r = passage->in_pipe || passage->is_at_end ? 1 : fill(passage);

                if (r > 0 && passage->in_pipe)
                        r = empty(passage);
                if (r < 0)
                        return r;
                /* Where little came that was mostly all: if not, the loop says so. */
                if (!r || passage->is_at_end || (!passage->in_pipe && !passage->is_wide))
                        break;
        }
        passage->wants_write = passage->in_pipe;
        passage->wants_read = !passage->in_pipe;
        if (!passage->in_pipe)
                leave_pipe(passage);
        return passage->is_at_end && !passage->in_pipe ? end(passage) : 0;
}

static int pump_request(struct passage *passage)
{
        int r = request_pump(passage->request, passage->from, passage->to, passage->allowance,
                             &passage->passed);

        passage->wants_write = request_has_more(passage->request);
        passage->wants_read = !passage->wants_write;
        passage->is_at_end = request_is_at_end(passage->request);
        return r < 0 ? r : passage->is_at_end && !passage->wants_write ? end(passage) : 0;
}

int passage_pump(struct passage *passage)
{
        if (passage->has_ended)
                return 0;
        return passage->request ? pump_request(passage) : pump_pipe(passage);
}
