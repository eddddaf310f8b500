/* ways.c: one system call at a time, for a machine that has only a small shell. "done", or why not. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The end of an abstract socket's name, or a path. */
static long reach(const char *name, int does_serve)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        strcpy(address.sun_path + 1, name);
        if (fd < 0)
                return -1;
        if (!does_serve)
                return connect(fd, (struct sockaddr *)&address, length);
        if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 5))
                return -1;
        for (;;)
                pause();
}

static long go(const char *way, const char *what)
{
        int number = atoi(what);

        if (!strcmp(way, "kill"))
                return kill(number, SIGKILL);
        if (!strcmp(way, "tgkill"))
                return syscall(SYS_tgkill, number, number, SIGKILL);
        if (!strcmp(way, "group"))
                return kill(-number, SIGKILL);
        if (!strcmp(way, "truncate"))
                return truncate(what, 0);
        if (!strcmp(way, "open"))
                return open(what, O_RDONLY | O_TRUNC);
        if (!strcmp(way, "make"))
                return open(what, O_RDONLY | O_TRUNC | O_CREAT, 0644);
        if (!strcmp(way, "write"))
                return open(what, O_WRONLY);
        if (!strcmp(way, "chmod"))
                return chmod(what, 0666);
        if (!strcmp(way, "read"))
                return open(what, O_RDONLY);
        if (!strcmp(way, "connect"))
                return reach(what, 0);
        if (!strcmp(way, "serve"))
                return reach(what, 1);
        errno = EINVAL;
        return -1;
}

int main(int argc, char **argv)
{
        if (argc != 3)
                return 2;
        if (go(argv[1], argv[2]) < 0) {
                printf("%s\n", strerror(errno));
                return 1;
        }
        printf("done\n");
        return 0;
}
