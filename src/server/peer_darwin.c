/* peer_darwin.c: who is at the other end of a unix socket, as macOS tells it. */
#include "server/peer.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "server/reply.h"

/* No public header has these; libSystem has had them since Mac OS X 10.5. */
enum { FILTER_NONE = 0 };
extern const int SANDBOX_CHECK_NO_REPORT;
int sandbox_check(pid_t process, const char *operation, int type, ...);

int peer_check(int fd, abatis_error *err)
{
        pid_t process = 0;
        socklen_t size = sizeof(process);
        uid_t user;
        gid_t group;

        if (getpeereid(fd, &user, &group) < 0 || user != geteuid())
                return error_set(err, PROTOCOL_PEER, "this is another user's server");
        if (getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &process, &size) < 0 || process <= 0)
                return error_set(err, PROTOCOL_PEER, "the client is a process that cannot be seen from here");
        if (sandbox_check(process, NULL, FILTER_NONE | SANDBOX_CHECK_NO_REPORT) != 0)
                return error_set(err, PROTOCOL_PEER, "the client is in a sandbox, and the server is not");
        return 0;
}
