/* lab.c: makes every address of a network namespace its own: lo is brought up, and all of IPv4 and IPv6 leads to it.
 *
 * What `ip link set lo up; ip route add local 0.0.0.0/0 dev lo; ip route add local ::/0 dev lo` does, without ip. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void fail(const char *what)
{
        perror(what);
        exit(125);
}

static void bring_up(const char *name)
{
        struct ifreq request = { .ifr_flags = IFF_UP | IFF_RUNNING };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
                fail(name);
        close(fd);
}

static void make_all_local(unsigned char family, const char *name)
{
        struct {
                struct nlmsghdr head;
                struct rtmsg route;
                struct rtattr attribute;
                unsigned device;
        } request = {
                .head = { sizeof(request), RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 },
                .route = { .rtm_family = family,
                           .rtm_table = RT_TABLE_LOCAL,
                           .rtm_protocol = RTPROT_STATIC,
                           .rtm_scope = RT_SCOPE_HOST,
                           .rtm_type = RTN_LOCAL },
                .attribute = { RTA_LENGTH(sizeof(unsigned)), RTA_OIF },
                .device = if_nametoindex(name),
        };
        struct {
                struct nlmsghdr head;
                struct nlmsgerr body;
                char rest[512];
        } answer;
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0)
                fail("netlink");
        if (answer.head.nlmsg_type != NLMSG_ERROR || answer.body.error) {
                errno = -answer.body.error;
                fail("route");
        }
        close(fd);
}

int main(void)
{
        bring_up("lo");
        make_all_local(AF_INET, "lo");
        make_all_local(AF_INET6, "lo");
        return 0;
}
