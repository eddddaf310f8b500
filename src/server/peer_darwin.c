/* peer_darwin.c: who is at the other end of a unix socket, as macOS tells it. */
#include "server/peer.h"

#include <sys/types.h>
#include <unistd.h>

bool peer_is_own(int fd)
{
        uid_t user;
        gid_t group;

        return !getpeereid(fd, &user, &group) && user == geteuid();
}
