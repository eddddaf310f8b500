/* lab.c: makes every address of a network namespace lead to it: lo is brought up, and all of IPv4 and IPv6 ends there.
 *
 * What `ip link set lo up; ip address add 93.184.216.70/32 dev lo; ip address add 2606:2800:21f:cb07::70/128 dev lo;
 * ip route add local 0.0.0.0/0 dev lo src 93.184.216.70; ip route add local ::/0 dev lo src ::1` does, without ip. Only what lo
 * has as an address is the host's own: what is sent elsewhere comes from there, and not from where it goes. Of a name with addresses of both
 * families resolvers then prefer IPv4. */
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

#define OWN_V4 "93.184.216.70"
#define OWN_V6 "2606:2800:21f:cb07::70"

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

struct request {
        struct nlmsghdr head;
        char rest[256];
};

static void append(struct request *request, const void *bytes, size_t length)
{
        memcpy((char *)request + request->head.nlmsg_len, bytes, length);
        request->head.nlmsg_len += NLMSG_ALIGN(length);
}

static void append_attribute(struct request *request, unsigned short type, const void *bytes, size_t length)
{
        const struct rtattr attribute = { (unsigned short)RTA_LENGTH(length), type };

        append(request, &attribute, sizeof(attribute));
        append(request, bytes, length);
}

static void ask(const struct request *request, const char *what)
{
        struct {
                struct nlmsghdr head;
                struct nlmsgerr body;
                char rest[512];
        } answer;
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

        if (fd < 0 || send(fd, request, request->head.nlmsg_len, 0) < 0 ||
            recv(fd, &answer, sizeof(answer), 0) < 0)
                fail("netlink");
        if (answer.head.nlmsg_type != NLMSG_ERROR || answer.body.error) {
                errno = -answer.body.error;
                fail(what);
        }
        close(fd);
}

static void make_all_local(unsigned char family, unsigned device)
{
        struct request request = { .head = { NLMSG_HDRLEN, RTM_NEWROUTE,
                                             NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 } };
        const struct rtmsg route = { .rtm_family = family,
                                     .rtm_table = RT_TABLE_LOCAL,
                                     .rtm_protocol = RTPROT_STATIC,
                                     .rtm_scope = RT_SCOPE_HOST,
                                     .rtm_type = RTN_LOCAL };
        unsigned char from[16];

        append(&request, &route, sizeof(route));
        append_attribute(&request, RTA_OIF, &device, sizeof(device));
        inet_pton(family, family == AF_INET ? OWN_V4 : "::1", from);
        append_attribute(&request, RTA_PREFSRC, from, family == AF_INET ? 4 : 16);
        ask(&request, "route");
}

static void add_address(unsigned char family, unsigned device, const char *text)
{
        struct request request = { .head = { NLMSG_HDRLEN, RTM_NEWADDR,
                                             NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 } };
        const size_t length = family == AF_INET ? 4 : 16;
        const struct ifaddrmsg head = { .ifa_family = family,
                                        .ifa_prefixlen = (unsigned char)(8 * length),
                                        .ifa_flags = IFA_F_NODAD,
                                        .ifa_index = device };
        unsigned char address[16];

        inet_pton(family, text, address);
        append(&request, &head, sizeof(head));
        append_attribute(&request, IFA_LOCAL, address, length);
        append_attribute(&request, IFA_ADDRESS, address, length);
        ask(&request, text);
}

int main(void)
{
        unsigned device = if_nametoindex("lo");

        bring_up("lo");
        add_address(AF_INET, device, OWN_V4);
        add_address(AF_INET6, device, OWN_V6);
        make_all_local(AF_INET, device);
        make_all_local(AF_INET6, device);
        return 0;
}
