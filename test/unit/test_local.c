/* test_local.c: which addresses are the host's own, in a network where it is known: a namespace with a lo. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "net/local.h"

enum { NO_NAMESPACES = 77 };

static void write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                _exit(NO_NAMESPACES);
        close(fd);
}

static void enter_network(void)
{
        if (unshare(getuid() ? CLONE_NEWUSER | CLONE_NEWNET : CLONE_NEWNET) < 0)
                _exit(NO_NAMESPACES);
}

static void set(int fd, unsigned long what, struct ifreq *request, const char *text)
{
        struct sockaddr_in address = { .sin_family = AF_INET };

        inet_pton(AF_INET, text, &address.sin_addr);
        memcpy(&request->ifr_addr, &address, sizeof(address));
        if (ioctl(fd, what, request) < 0)
                _exit(1);
}

/* lo, up, with one more address; all of one network would be its own. */
static void give_address(const char *text)
{
        struct ifreq device = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING },
                     other = { .ifr_name = "lo:1" };
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &device) < 0)
                _exit(1);
        set(fd, SIOCSIFADDR, &other, text);
        set(fd, SIOCSIFNETMASK, &other, "255.255.255.255");
        close(fd);
}

static int is_own(const char *text)
{
        struct address address = { .is_v6 = false };

        if (!address_parse(text, strlen(text), &address))
                _exit(1);
        return local_address(&address);
}

static int look(void)
{
        /* More than once: the socket that is kept for it is used again. */
        for (int i = 0; i < 2; i++)
                if (is_own("93.184.216.70") != 1 || is_own("::ffff:93.184.216.70") != 1 ||
                    is_own("93.184.216.71") || is_own("::ffff:93.184.216.71") || is_own("127.0.0.1") != 1 ||
                    is_own("192.0.2.1"))
                        return 1;
        return 0;
}

static int look_at_ipv6(void)
{
        return is_own("::1") != 1 || is_own("2606:2800::1") || is_own("2001:db8::1");
}

static int find_by_having(void)
{
        give_address("93.184.216.70");
        return look() || look_at_ipv6();
}

static int find_by_reaching(void)
{
        give_address("93.184.216.70");
        write_file("/proc/sys/net/ipv4/ip_nonlocal_bind", "1");
        write_file("/proc/sys/net/ipv6/ip_nonlocal_bind", "1");
        return look() || look_at_ipv6();
}

/* In a process of its own, whose user may make such a network. */
static void check(int (*find)(void))
{
        int status = 0;
        pid_t pid = fork();

        if (!pid) {
                enter_network();
                _exit(find());
        }
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        if (WEXITSTATUS(status) == NO_NAMESPACES)
                skip();
        assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_address_of_a_device_is_the_hosts_own(void **state)
{
        (void)state;
        check(find_by_having);
}

static void it_is_found_where_sockets_can_have_any_address(void **state)
{
        (void)state;
        check(find_by_reaching);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(an_address_of_a_device_is_the_hosts_own),
                cmocka_unit_test(it_is_found_where_sockets_can_have_any_address),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
