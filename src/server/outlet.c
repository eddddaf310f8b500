/* outlet.c: bytes on their way to a reader that may be slow or gone. */
#include "server/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
        KEPT = 1024 * 1024 /* of room for later, and of bytes that went out and still lie before the others */
};

void outlet_init(struct outlet *outlet, int fd)
{
        struct stat status;

        *outlet = (struct outlet){ .fd = fd };
        outlet->is_socket = !fstat(fd, &status) && S_ISSOCK(status.st_mode);
}

size_t outlet_pending(const struct outlet *outlet)
{
        return outlet->text.length - outlet->done;
}

/* The descriptor is shared with whoever gave it to us, so it stays blocking: a pipe that polls writable takes PIPE_BUF bytes. SIGPIPE is
 * blocked. */
static ssize_t write_some(const struct outlet *outlet, const char *bytes, size_t length)
{
        struct pollfd ask = { outlet->fd, POLLOUT, 0 };

        if (outlet->is_socket)
                return send(outlet->fd, bytes, length, MSG_DONTWAIT);
        if (poll(&ask, 1, 0) > 0)
                return write(outlet->fd, bytes, length < PIPE_BUF ? length : PIPE_BUF);
        errno = EAGAIN;
        return -1;
}

static void tidy(struct outlet *outlet)
{
        size_t left = outlet_pending(outlet);

        if (!left && outlet->text.capacity > KEPT)
                text_done(&outlet->text);
        if (!left || outlet->done > KEPT) {
                if (left)
                        memmove(outlet->text.data, outlet->text.data + outlet->done, left);
                outlet->text.length = left;
                outlet->done = 0;
        }
}

static void break_off(struct outlet *outlet, int why)
{
        outlet->is_broken = true;
        outlet->why = why == EPIPE || why == ECONNRESET ? 0 : why;
}

void outlet_flush(struct outlet *outlet)
{
        if (outlet->text.has_failed)
                break_off(outlet, ENOMEM);
        while (!outlet->is_broken && outlet_pending(outlet)) {
                ssize_t written =
                        write_some(outlet, outlet->text.data + outlet->done, outlet_pending(outlet));

                if (written < 0 && errno == EINTR)
                        continue;
                if (written < 0 && errno == EAGAIN)
                        break;
                if (written <= 0)
                        break_off(outlet, written ? errno : EIO);
                else
                        outlet->done += (size_t)written;
        }
        if (outlet->is_broken)
                outlet->done = outlet->text.length;
        tidy(outlet);
}

void outlet_done(struct outlet *outlet)
{
        text_done(&outlet->text);
}
