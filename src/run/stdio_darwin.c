/* stdio_darwin.c: what a command gets as its descriptors 0, 1 and 2: nothing that leads further than its policy. A profile judges what is
 * opened, and not what is open already. */
#include "run/stdio_darwin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/system.h"

static const char *const names[] = { "stdin", "stdout", "stderr" };

/* Terminals, and what is the same whoever opens it. */
static bool is_harmless_device(int fd, dev_t device)
{
        static const char *const nodes[] = { "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom" };
        struct stat status;

        for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++)
                if (!stat(nodes[i], &status) && status.st_rdev == device)
                        return true;
        return isatty(fd);
}

/* A connected stream leads where its other end is; anything else can be aimed at whom the command likes. */
static bool is_far_reaching(int fd)
{
        struct sockaddr_storage peer;
        socklen_t size = sizeof(peer), type_size = sizeof(int);
        int type = 0;

        return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) < 0 || type != SOCK_STREAM ||
               getpeername(fd, (struct sockaddr *)&peer, &size) < 0;
}

static int find_path(int fd, char **out, abatis_error *err)
{
        int flags = fcntl(fd, F_GETFL);

        if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY)
                return 0;
        *out = system_path_of(fd);
        return *out ? 0 : error_os(err, errno, "cannot find out which file descriptor %d is", fd);
}

static int open_null(struct stdio *stdio, int index, abatis_error *err)
{
        int fd = fd_above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));

        if (fd < 0)
                return error_os(err, errno, "cannot open /dev/null");
        stdio->fds[index] = stdio->ends[index] = fd;
        return 0;
}

int stdio_choose(struct stdio *stdio, int index, int given, abatis_error *err)
{
        struct stat status;
        int r = 0;

        if (given < 0 || fstat(given, &status) < 0) {
                if (given >= 0 && errno != EBADF)
                        return error_os(err, errno, "cannot examine %s", names[index]);
                return open_null(stdio, index, err);
        }
        if (S_ISDIR(status.st_mode))
                return error_set(err, ABATIS_E_INVALID,
                                 "%s is a directory; give the command a file, a pipe or a terminal",
                                 names[index]);
        if (S_ISBLK(status.st_mode) ||
            (S_ISCHR(status.st_mode) && !is_harmless_device(given, status.st_rdev)))
                return error_set(err, ABATIS_E_INVALID, "%s is a device; give the command a pipe",
                                 names[index]);
        if (S_ISSOCK(status.st_mode))
                stdio->is_far_reaching[index] = is_far_reaching(given);
        else if (S_ISREG(status.st_mode) && status.st_nlink)
                r = find_path(given, &stdio->paths[index], err);
        stdio->fds[index] = given;
        return r;
}

int stdio_check(const struct stdio *stdio, const abatis_policy *policy, abatis_error *err)
{
        for (int i = 0; i < 3; i++) {
                const struct rule *rule;
                bool is_allowed;

                if (stdio->is_far_reaching[i] && policy->network != NETWORK_ALLOW)
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "%s is a socket that reaches further than --net %s allows; give the command a pipe",
                                names[i], network_mode_name(policy->network));
                if (!stdio->paths[i])
                        continue;
                rule = policy_decide(policy, ABATIS_WRITE, stdio->paths[i], &is_allowed);
                if (!is_allowed && rule && rule->kind == RULE_DENY)
                        return error_set(err, ABATIS_E_INVALID, "descriptor %d is '%s', which %s '%s' denies",
                                         i, stdio->paths[i], rule->origin, rule->path);
        }
        return 0;
}
