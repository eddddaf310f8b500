/* stdio_linux.c: what a command gets as its descriptors 0, 1 and 2: nothing that leads further than its policy. */
#define _GNU_SOURCE
#include "run/stdio_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

static const char *const names[] = { "stdin", "stdout", "stderr" };

static bool has_peer(int fd)
{
        struct sockaddr_storage peer;
        socklen_t size = sizeof(peer);

        return getpeername(fd, (struct sockaddr *)&peer, &size) == 0;
}

static bool is_aimable(int fd)
{
        int domain = 0;
        socklen_t size = sizeof(domain);

        return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 || domain != AF_UNIX ||
               !has_peer(fd);
}

/* A connected stream leads where its other end is; anything else can be aimed at whom the command likes: one that has no other end
 * yet also by sending (MSG_FASTOPEN). */
static bool is_far_reaching(int fd, bool *is_unix)
{
        int domain = 0, type = 0;
        socklen_t size = sizeof(domain);

        *is_unix = true; /* as far as we know */
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0)
                return true;
        *is_unix = domain == AF_UNIX;
        if (domain != AF_UNIX && !has_peer(fd))
                return true;
        return type != SOCK_STREAM && !(domain == AF_UNIX && type == SOCK_SEQPACKET);
}

bool stdio_is_particular(int fd)
{
        struct stat status;

        if (fd < 0 || fstat(fd, &status) < 0)
                return false;
        return S_ISREG(status.st_mode) ? (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY
                                       : S_ISSOCK(status.st_mode) && is_aimable(fd);
}

/* The path of a file that was opened with these flags, if that was for reading and it still has one. */
static int find_path(int fd, int flags, char **out, abatis_error *err)
{
        char link[32], path[PATH_MAX];
        ssize_t length;

        if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY)
                return 0;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof(path) - 1);
        if (length < 0 && errno == ENAMETOOLONG)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "descriptor %d is a file with a path longer than the kernel tells, so that no rule can "
                        "be found for it; give the command a pipe",
                        fd);
        if (length < 0)
                return error_os(err, errno, "cannot find out which file descriptor %d is", fd);
        path[length] = '\0';
        if (path[0] != '/')
                return 0; /* no path leads there */
        *out = strdup(path);
        return *out ? 0 : error_memory(err);
}

/* Terminals, and what is the same whoever opens it. Every other device could be opened again, for writing: the descriptor leads
 * through the host's /dev. */
static bool is_harmless_device(int fd, dev_t device)
{
        const unsigned number = minor(device);

        switch (major(device)) {
        case 1: /* null, zero, full, random, urandom */
                return number == 3 || number == 5 || (number >= 7 && number <= 9);
        case 4:
        case 5:
                return true;
        default:
                if (major(device) >= 136 && major(device) <= 143)
                        return true;
                return (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY; /* given to be written */
        }
}

/* Root owns the nodes, and through the host's mount could give them another mode: so they are opened again inside, too. */
static int find_node(struct stdio *stdio, int index, dev_t device, abatis_error *err)
{
        static const char *const nodes[] = { [3] = "/dev/null",
                                             [5] = "/dev/zero",
                                             [7] = "/dev/full",
                                             [8] = "/dev/random",
                                             [9] = "/dev/urandom" };
        const unsigned number = minor(device);

        if (geteuid() || major(device) != 1 || number >= sizeof(nodes) / sizeof(*nodes) || !nodes[number])
                return 0;
        stdio->is_node[index] = true;
        stdio->paths[index] = strdup(nodes[number]);
        return stdio->paths[index] ? 0 : error_memory(err);
}

int stdio_choose(struct stdio *stdio, int index, int given, abatis_error *err)
{
        struct stat status = { 0 };
        int flags = 0, r = 0;

        free(stdio->paths[index]);
        stdio->paths[index] = NULL;
        stdio->is_far_reaching[index] = stdio->is_unix[index] = stdio->is_aimable[index] =
                stdio->is_nameless[index] = stdio->is_node[index] = stdio->is_written[index] = false;
        if (given >= 0 && fstat(given, &status) < 0) {
                if (errno != EBADF)
                        return error_os(err, errno, "cannot examine %s", names[index]);
                given = -1; /* closed */
        }
        if (given < 0) {
                given = stdio->ends[index] = open("/dev/null", O_RDWR | O_CLOEXEC);
                if (given < 0)
                        return error_os(err, errno, "cannot open /dev/null");
                stdio->fds[index] = given;
                return find_node(stdio, index, makedev(1, 3), err);
        }
        if (S_ISREG(status.st_mode)) {
                flags = fcntl(given, F_GETFL);
                stdio->is_written[index] = (flags & O_ACCMODE) != O_RDONLY;
        }
        if (S_ISDIR(status.st_mode) || flags & O_PATH) {
                /* It leads into the host's mounts, where nothing is masked or read-only. */
                return error_set(err, ABATIS_E_INVALID,
                                 "%s is a directory; give the command a file, a pipe or a terminal",
                                 names[index]);
        } else if (S_ISBLK(status.st_mode) ||
                   (S_ISCHR(status.st_mode) && !is_harmless_device(given, status.st_rdev))) {
                return error_set(
                        err, ABATIS_E_INVALID,
                        "%s is a device, which the command could open again for writing; give it a pipe",
                        names[index]);
        } else if (S_ISSOCK(status.st_mode)) {
                stdio->is_far_reaching[index] = is_far_reaching(given, &stdio->is_unix[index]);
                stdio->is_aimable[index] = is_aimable(given);
        } else if (S_ISCHR(status.st_mode)) {
                r = find_node(stdio, index, status.st_rdev, err);
        } else if (S_ISREG(status.st_mode) && status.st_nlink) {
                r = find_path(given, flags, &stdio->paths[index], err);
        } else if (S_ISREG(status.st_mode)) {
                stdio->is_nameless[index] = true;
                stdio->devices[index] = status.st_dev;
        }
        stdio->fds[index] = given;
        return r;
}

/* What the policy denies is not passed on by accident. */
static int check_file(const char *path, int index, const abatis_policy *policy, abatis_error *err)
{
        bool is_allowed;
        const struct rule *rule = policy_decide(policy, ABATIS_WRITE, path, &is_allowed);

        if (!is_allowed && rule && rule->kind == RULE_DENY)
                return error_set(err, ABATIS_E_INVALID, "descriptor %d is '%s', which %s '%s' denies", index,
                                 path, rule->origin, rule->path);
        return 0;
}

/* All files in memory lie on the kernel's one device for them. Where none can be made to compare with, each nameless
 * file could be one. */
static bool is_memory_file(dev_t device)
{
        OWN_FD int fd = (int)syscall(SYS_memfd_create, "", MFD_CLOEXEC);
        struct stat status;

        return fd < 0 || fstat(fd, &status) < 0 || status.st_dev == device;
}

bool stdio_has_aimable(const struct stdio *stdio)
{
        return stdio->is_aimable[0] || stdio->is_aimable[1] || stdio->is_aimable[2];
}

int stdio_check(struct stdio *stdio, const abatis_policy *policy, bool asks_connects, bool has_loopback,
                abatis_error *err)
{
        for (int i = 0; i < 3; i++) {
                int r = 0;

                /* With a list connect() is not refused; nor where a filter with a loopback is loaded already. */
                bool is_too_far = stdio->is_far_reaching[i] ||
                                  (stdio->is_aimable[i] && (has_loopback || policy->network == NETWORK_LIST));

                if (is_too_far && policy->network != NETWORK_ALLOW)
                        r = error_set(
                                err, ABATIS_E_INVALID,
                                "%s is a socket that reaches further than --net %s allows; give the command a pipe",
                                names[i], network_mode_name(policy->network));
                else if (stdio->is_far_reaching[i] && stdio->is_unix[i] && asks_connects)
                        r = error_set(
                                err, ABATIS_E_INVALID,
                                "%s is a socket that can be aimed at what the policy denies; give the command a pipe",
                                names[i]);
                /* It leads through a mount of the host's, which lets it be mapped as code. */
                else if (stdio->is_written[i] && policy->forbids_new_code)
                        r = error_set(err, ABATIS_E_INVALID,
                                      "%s is a file that the command could write and then map as code, and "
                                      "process.executable_memory is false; give the command a pipe",
                                      names[i]);
                else if (stdio->paths[i] && !stdio->is_node[i])
                        r = check_file(stdio->paths[i], i, policy, err);
                else if (stdio->is_nameless[i] && policy->commands.count && is_memory_file(stdio->devices[i]))
                        r = error_set(
                                err, ABATIS_E_INVALID,
                                "%s is a file in memory, which no list of commands keeps from being started; "
                                "give the command a pipe",
                                names[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}
