/* fetch.c: prints what http://HOST/ gives, by getaddrinfo() and connect() of the libc that it is linked with. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(const char *host, const char *port)
{
        struct addrinfo *list, hints = { .ai_socktype = SOCK_STREAM };
        int fd = -1;

        if (getaddrinfo(host, port, &hints, &list))
                return -1;
        for (struct addrinfo *each = list; each && fd < 0; each = each->ai_next) {
                fd = socket(each->ai_family, each->ai_socktype, each->ai_protocol);
                if (fd >= 0 && connect(fd, each->ai_addr, each->ai_addrlen)) {
                        close(fd);
                        fd = -1;
                }
        }
        freeaddrinfo(list);
        return fd;
}

int main(int argc, char **argv)
{
        char text[4096];
        ssize_t length;
        int fd = argc == 2 ? connect_to(argv[1], "80") : -1;

        if (fd < 0)
                return 1;
        snprintf(text, sizeof(text), "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", argv[1]);
        if (write(fd, text, strlen(text)) < 0)
                return 1;
        while ((length = read(fd, text, sizeof(text))) > 0)
                fwrite(text, 1, (size_t)length, stdout);
        return length < 0;
}
