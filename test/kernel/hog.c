/* hog.c: uses too much of one thing, for the tests in a virtual machine: it needs no library there.
 *
 *   hog memory MIB CHILDREN     each of them, or the process itself, touches so much and holds it for a second
 *   hog file MIB                the same in a file in memory that nobody maps
 *   hog processes NUMBER        so many at once; exit code 3 when the kernel has no more
 *   hog cpu MS CHILDREN         each uses so much processor time
 *   hog sockets MIB             so much is sent on a loopback and not received; exit code 3 when no more is taken
 *   hog as UID COMMAND [ARG...] */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void touch(size_t mebibytes)
{
        for (size_t i = 0; i < mebibytes; i++) {
                char *piece = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (piece == MAP_FAILED)
                        exit(4);
                memset(piece, 1, 1 << 20);
        }
        sleep(1);
}

static void fill_file(size_t mebibytes)
{
        static char piece[1 << 20];
        int fd = memfd_create("hog", 0);

        for (size_t i = 0; i < mebibytes; i++)
                if (write(fd, piece, sizeof(piece)) != sizeof(piece))
                        exit(4);
}

static void fill_sockets(size_t mebibytes)
{
        static char piece[64 << 10];
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        socklen_t size = sizeof(address);
        int server = socket(AF_INET, SOCK_STREAM, 0);
        size_t sent = 0;

        if (server < 0 || bind(server, (struct sockaddr *)&address, size) || listen(server, 200) ||
            getsockname(server, (struct sockaddr *)&address, &size))
                exit(4);
        for (int i = 0; i < 150 && sent < mebibytes << 20; i++) {
                int client = socket(AF_INET, SOCK_STREAM, 0);
                ssize_t taken;

                if (connect(client, (struct sockaddr *)&address, size) || accept(server, NULL, NULL) < 0)
                        exit(4);
                while ((taken = send(client, piece, sizeof(piece), MSG_DONTWAIT)) > 0)
                        sent += (size_t)taken;
        }
        fprintf(stderr, "%zu KiB in sockets\n", sent >> 10);
        if (sent < mebibytes << 20)
                exit(3);
}

static void burn(size_t milliseconds)
{
        while ((size_t)clock() < milliseconds * (CLOCKS_PER_SEC / 1000))
                ;
}

static int wait_for_all(void)
{
        int status, worst = 0;

        while (wait(&status) > 0)
                if (status)
                        worst = 5;
        return worst;
}

static int spread(void (*use)(size_t), size_t amount, int children)
{
        for (int i = 0; i < children; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return 3;
                if (!pid) {
                        use(amount);
                        _exit(0);
                }
        }
        if (!children)
                use(amount);
        return wait_for_all();
}

static void stay(size_t seconds)
{
        sleep((unsigned)seconds);
}

int main(int argc, char **argv)
{
        size_t amount = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
        int children = argc > 3 ? atoi(argv[3]) : 0;

        if (argc > 3 && !strcmp(argv[1], "as")) {
                if (setgid((gid_t)amount) || setuid((uid_t)amount))
                        return 2;
                execv(argv[3], argv + 3);
                return 127;
        }
        if (argc > 2 && !strcmp(argv[1], "memory"))
                return spread(touch, amount, children);
        if (argc > 2 && !strcmp(argv[1], "file"))
                return spread(fill_file, amount, 0);
        if (argc > 2 && !strcmp(argv[1], "sockets"))
                return spread(fill_sockets, amount, 0);
        if (argc > 2 && !strcmp(argv[1], "processes"))
                return spread(stay, 1, (int)amount - 1);
        if (argc > 2 && !strcmp(argv[1], "cpu"))
                return spread(burn, amount, children);
        return 2;
}
