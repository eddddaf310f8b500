/* socket.c: the place in the file system where clients come to. */
#define _GNU_SOURCE
#include "server/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "server/peer.h"
#include "server/reply.h"

enum { WAITING_CLIENTS = 64, PATIENCE = 500, PAUSE_NS = 10 * 1000 * 1000, NEEDED = 5 };

static int make_address(const char *path, struct sockaddr_un *out, abatis_error *err)
{
        *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
        if (!*path || strlen(path) >= sizeof(out->sun_path))
                return error_set(err, ABATIS_E_INVALID, "the socket '%s': a path has 1 to %zu bytes", path,
                                 sizeof(out->sun_path) - 1);
        memcpy(out->sun_path, path, strlen(path));
        return 0;
}

static int new_socket(void)
{
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        if (fd >= 0)
                fcntl(fd, F_SETFD, FD_CLOEXEC);
        return fd;
}

/* Two servers that start at once would both find that nobody listens, and one of them would take the other's place: so one looks and
 * binds after the other. Anybody who may read the directory can hold its lock, and does not keep us for ever. */
static int lock_directory(const char *path, int *out, abatis_error *err)
{
        const char *slash = strrchr(path, '/');
        OWN_FREE char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
        OWN_FD int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

        if (!directory)
                return error_memory(err);
        if (fd < 0)
                return error_os(err, errno, "the socket '%s'", path);
        for (int tries = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; tries++) {
                const struct timespec pause = { 0, PAUSE_NS };

                if (errno != EWOULDBLOCK || tries == PATIENCE)
                        return error_os(err, errno, "the socket '%s': cannot lock its directory", path);
                nanosleep(&pause, NULL);
        }
        *out = take_fd(&fd);
        return 0;
}

static int remove_stale(const char *path, const struct sockaddr_un *address, abatis_error *err)
{
        struct stat status;
        OWN_FD int fd = -1;

        if (lstat(path, &status) < 0)
                return errno == ENOENT ? 0 : error_os(err, errno, "the socket '%s'", path);
        if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())
                return error_set(err, ABATIS_E_INVALID, "'%s' is there already, and is no socket of yours",
                                 path);
        fd = new_socket();
        if (fd < 0)
                return error_os(err, errno, "the socket '%s'", path);
        fcntl(fd, F_SETFL, O_NONBLOCK); /* it may be stopped, and too many wait for it already: EAGAIN */
        if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) || errno != ECONNREFUSED)
                return error_set(err, ABATIS_E_INVALID, "somebody listens at '%s' already", path);
        return unlink(path) < 0 ? error_os(err, errno, "the socket '%s'", path) : 0;
}

/* The mode is right from the beginning: the mask is the process's, which has one thread and has not started anything yet. */
static int bind_privately(int fd, const struct sockaddr_un *address)
{
        mode_t before = umask(0177);
        int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)), kept_errno = errno;

        umask(before);
        errno = kept_errno;
        return r;
}

int door_open(struct door *door, const char *path, abatis_error *err)
{
        struct sockaddr_un address;
        struct stat status;
        OWN_FD int lock = -1, fd = -1;
        int r = make_address(path, &address, err);

        if (!r)
                r = lock_directory(path, &lock, err);
        if (!r)
                r = remove_stale(path, &address, err);
        if (r < 0)
                return r;
        fd = new_socket();
        if (fd < 0 || bind_privately(fd, &address) < 0)
                return error_os(err, errno, "the socket '%s'", path);
        if (lstat(path, &status) < 0 || listen(fd, WAITING_CLIENTS) < 0 ||
            fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
                r = error_os(err, errno, "the socket '%s'", path);
                unlink(path);
                return r;
        }
        *door = (struct door){ take_fd(&fd), path, status.st_dev, status.st_ino };
        return 0;
}

static void refuse(int fd, const abatis_error *err)
{
        OWN_TEXT struct text text = { 0 };

        reply_error(&text, NULL, err);
        if (!text.has_failed)
                (void)!send(fd, text.data, text.length, MSG_DONTWAIT);
}

/* For one who has come, and for finding out who it is: without them he would be refused, who can as well wait. */
static bool has_descriptors(int fd)
{
        int held[NEEDED], count = 0;

        while (count < NEEDED && (held[count] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
                count++;
        for (int i = 0; i < count; i++)
                close(held[i]);
        return count == NEEDED;
}

int door_accept(const struct door *door, bool *is_short)
{
        OWN_FD int fd = has_descriptors(door->fd) ? accept(door->fd, NULL, NULL) : -1;
        abatis_error err;

        *is_short = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        if (fd < 0)
                return -1;
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        if (peer_check(fd, &err) < 0) {
                refuse(fd, &err);
                return -1;
        }
        return take_fd(&fd);
}

void door_close(struct door *door)
{
        struct stat status;

        if (door->fd < 0)
                return;
        if (!lstat(door->path, &status) && status.st_dev == door->device && status.st_ino == door->inode)
                unlink(door->path);
        close(door->fd);
        door->fd = -1;
}
