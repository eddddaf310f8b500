/* peer_linux.c: who is at the other end of a unix socket, as Linux tells it. */
#define _GNU_SOURCE
#include "server/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "server/reply.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

/* ---- what it may do ------------------------------------------------------------------------------------- */

/* Lines of /proc/PID/status. None of them can be taken back by who has it, nor by what he starts. */
static const struct restriction {
        const char *name;
        int base;
        bool is_needed; /* others are missing in kernels that are old, or have no seccomp */
} restrictions[] = {
        { "NoNewPrivs", 10, true }, { "Seccomp", 10, false }, { "Seccomp_filters", 10, false },
        { "CapPrm", 16, true }, /* capabilities: there the one with fewer is the more restricted one */
        { "CapBnd", 16, true },
};
enum { RESTRICTIONS = sizeof(restrictions) / sizeof(*restrictions) };

struct status {
        bool has[RESTRICTIONS];
        uint64_t values[RESTRICTIONS];
};

static bool read_status(int process, struct status *out)
{
        OWN_FD int fd = openat(process, "status", O_RDONLY | O_CLOEXEC);
        char text[8192];
        ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

        if (length <= 0)
                return false;
        text[length] = '\0';
        for (size_t i = 0; i < RESTRICTIONS; i++) {
                char start[32];
                const char *line;

                snprintf(start, sizeof(start), "\n%s:\t", restrictions[i].name);
                line = strstr(text, start);
                out->has[i] = line;
                out->values[i] = line ? strtoull(line + strlen(start), NULL, restrictions[i].base) : 0;
                if (!line && restrictions[i].is_needed)
                        return false;
        }
        return true;
}

static bool is_within(const struct status *peer, const struct status *own, size_t i)
{
        if (restrictions[i].base == 16)
                return !(own->values[i] & ~peer->values[i]);
        return peer->has[i] == own->has[i] && peer->values[i] <= own->values[i];
}

/* ---- where it is ---------------------------------------------------------------------------------------- */

/* Only for who may trace the process: of one that is in a namespace above ours, say, it fails. */
static bool is_same_place(int process, int own, const char *name)
{
        struct stat theirs, ours;

        return !fstatat(process, name, &theirs, 0) && !fstatat(own, name, &ours, 0) &&
               theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static int compare(int process, int own, abatis_error *err)
{
        static const char *const places[] = { "ns/user", "ns/mnt", "ns/pid", "root" };
        struct status theirs, ours;

        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
                if (!is_same_place(process, own, places[i]))
                        return error_set(
                                err, PROTOCOL_PEER,
                                "the client is in a sandbox: its /proc/PID/%s is not the server's, or cannot be seen",
                                places[i]);
        if (!read_status(process, &theirs) || !read_status(own, &ours))
                return error_set(
                        err, PROTOCOL_PEER,
                        "whether the client is in a sandbox cannot be found out: no /proc/PID/status");
        for (size_t i = 0; i < RESTRICTIONS; i++)
                if (!is_within(&theirs, &ours, i))
                        return error_set(err, PROTOCOL_PEER,
                                         "the client is in a sandbox: its %s is stricter than the server's",
                                         restrictions[i].name);
        return 0;
}

/* ---- who it is ------------------------------------------------------------------------------------------ */

/* A number that was a process's in a sandbox may be somebody else's by now. The kernel tells from 6.5 on; before that the time between
 * connect() and accept() is what there is for it. */
static bool is_alive(int fd)
{
        OWN_FD int process = -1;
        socklen_t size = sizeof(process);
        struct pollfd ask = { .events = POLLIN };

        if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &size) < 0) {
                process = -1;
                return errno == ENOPROTOOPT;
        }
        ask.fd = process;
        return poll(&ask, 1, 0) == 0;
}

int peer_check(int fd, abatis_error *err)
{
        OWN_FD int process = -1, own = -1;
        struct ucred peer;
        socklen_t size = sizeof(peer);
        char path[32];
        int r;

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != geteuid())
                return error_set(err, PROTOCOL_PEER, "this is another user's server");
        snprintf(path, sizeof(path), "/proc/%d", (int)peer.pid);
        process = peer.pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (process < 0 || own < 0)
                return error_set(err, PROTOCOL_PEER,
                                 "the client is a process that cannot be seen from here, as in a sandbox");
        r = compare(process, own, err);
        if (!r && !is_alive(fd))
                r = error_set(err, PROTOCOL_PEER, "the process that has connected is gone");
        return r;
}
