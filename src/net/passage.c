/* passage.c: moves bytes from one socket to another without copying them. */
#define _GNU_SOURCE
#include "net/passage.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/allowance.h"
#include "net/request.h"

enum {
        PIPES_MAX = 64, /* kept for whoever needs one next */
        PIPE_SIZE = 256 * 1024,
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

/* splice() neither passes an urgent byte nor goes round it. It is one like any other (SO_OOBINLINE), and is passed on so. */
static ssize_t take_urgent(const struct passage *passage)
{
        int is_at_mark = 0;
        char byte;

        if (ioctl(passage->from, SIOCATMARK, &is_at_mark) < 0 || !is_at_mark ||
            recv(passage->from, &byte, 1, MSG_DONTWAIT) != 1)
                return 0;
        return write(passage->pipe[1], &byte, 1);
}

/* 1 if something came, 0 if nothing is there now or ever. */
static int fill(struct passage *passage)
{
        ssize_t got;
        int r = passage->has_pipe ? 0 : take_pipe(passage);

        if (r < 0)
                return r;
        got = splice(passage->from, NULL, passage->pipe[1], NULL, PIPE_SIZE,
                     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (got < 0 && errno != EAGAIN && errno != EINTR)
                return -errno;
        if (got <= 0) {
                ssize_t urgent = take_urgent(passage);

                if (urgent <= 0 && got < 0)
                        return 0;
                got = urgent > 0 ? urgent : 0;
        }
        passage->is_at_end = !got;
        passage->in_pipe += (size_t)got;
        return got > 0;
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
        passage->passed += (uint64_t)gone;
        passage->allowance->passed += (uint64_t)gone;
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
                int came = 0, went = 0;

                if (!passage->in_pipe && !passage->is_at_end)
                        came = fill(passage);
                if (came < 0)
                        return came;
                if (passage->in_pipe)
                        went = empty(passage);
                if (went < 0)
                        return went;
                if (!came && !went)
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
