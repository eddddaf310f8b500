/* peer_linux.c: who is at the other end of a unix socket, as Linux tells it. */
#define _GNU_SOURCE
#include "server/peer.h"

#include <sys/socket.h>
#include <unistd.h>

bool peer_is_own(int fd)
{
        struct ucred peer;
        socklen_t size = sizeof(peer);

        return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && size == sizeof(peer) &&
               peer.uid == geteuid();
}
