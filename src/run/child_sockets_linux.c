/* child_sockets_linux.c: the part of the broker that opens a unix socket of network.unix. Raw system calls.
 *
 * What the caller says only chooses among the sockets of the list. What is connected to is looked up in the host's own tree, by
 * the path that the policy's was found to be, and no link is followed: nothing that the command does to its memory, to links
 * or to its own mounts leads anywhere else. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum { NOT_FOUND = -1 };

static long find_text(const char *const *texts, const char *text)
{
        for (long i = 0; texts[i]; i++)
                if (text_is_same(texts[i], text))
                        return i;
        return NOT_FOUND;
}

/* By its name first, since the host's may not be in view: in a /tmp that is hidden by a private one, or behind a new root. Else
 * by where the path leads. Returns its index or a negative errno. */
static long choose(struct request *request)
{
        const struct child_broker *broker = request->job->plan->broker;
        const char *real;
        long index = find_text(broker->socket_names, request->room->path), object;

        if (index == NOT_FOUND)
                index = find_text(broker->sockets, request->room->path);
        if (index != NOT_FOUND)
                return index;
        request->directory = AT_FDCWD;
        request->has_path = request->is_read = request->follows = true;
        object = broker_find(request, &real);
        if (object < 0)
                return object;
        index = real ? find_text(broker->sockets, real) : NOT_FOUND;
        RAW(SYS_close, object);
        return index == NOT_FOUND ? -EACCES : index;
}

/* The host program may have closed it, and opened something else with its number. */
static bool is_host_root(const struct child_broker *broker)
{
        struct stat status;

        return !RAW(SYS_fstat, broker->host, &status) &&
               /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
               status.st_dev == broker->host_device && status.st_ino == broker->host_inode;
}

static bool is_socket(long object)
{
        struct stat status;

        /* NOLINTNEXTLINE(clang-analyzer-core.*): as above */
        return !RAW(SYS_fstat, object, &status) && S_ISSOCK(status.st_mode);
}

static long open_on_host(const struct child_broker *broker, const char *path)
{
        const char *last;
        long directory = child_walk_to_last(broker->host, path, &last), object;

        if (directory < 0)
                return directory;
        object = RAW(SYS_openat, directory, last, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (directory != broker->host)
                RAW(SYS_close, directory);
        if (object < 0 || is_socket(object))
                return object;
        RAW(SYS_close, object);
        return -ECONNREFUSED; /* as the kernel says */
}

long broker_open_listed(struct request *request)
{
        const struct child_broker *broker = request->job->plan->broker;
        long index = choose(request);

        if (index < 0)
                return index;
        if (broker_is_denied(request, broker->sockets[index]))
                return -EACCES;
        return is_host_root(broker) ? open_on_host(broker, broker->sockets[index]) : -EBADF;
}
