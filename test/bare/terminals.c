/* terminals.c: races for terminals of somebody else, who makes and closes them all the time.
 *
 *   terminals open              opens one in libc's way, and prints what came through it
 *   terminals other             makes terminals, marks them by their size, and closes them, until it is killed
 *   terminals peer ROUNDS       asks for the other end of a descriptor while another thread puts something else there
 *   terminals name ROUNDS       opens by name what it has made, while another thread closes it
 *
 * The last two print "GOT opened, MARKED of somebody else". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { MARK = 4343, OTHERS = 4, FD = 100 };

static atomic_uint number;
static atomic_bool is_over;
static long rounds;

static int make(unsigned short rows)
{
        struct winsize size = { rows, 80, 0, 0 };
        int unlocked = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

        /* Locked until it is marked: nobody opens one of these without its mark. */
        if (fd >= 0 && (ioctl(fd, TIOCSWINSZ, &size) || ioctl(fd, TIOCSPTLCK, &unlocked))) {
                close(fd);
                return -1;
        }
        return fd;
}

static void make_and_close(void)
{
        int fds[OTHERS] = { -1, -1, -1, -1 };

        for (unsigned i = 0;; i++) {
                close(fds[i % OTHERS]);
                fds[i % OTHERS] = make(MARK);
        }
}

static int open_one(void)
{
        char text[6] = "";
        int master, slave;

        if (openpty(&master, &slave, NULL, NULL, NULL) || write(slave, "hello", 5) != 5 ||
            read(master, text, 5) != 5 || !isatty(slave)) {
                perror("openpty");
                return 1;
        }
        puts(text);
        return 0;
}

static bool is_marked(int fd)
{
        struct winsize size = { 0 };

        return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_row == MARK;
}

static void *put_other_things(void *argument)
{
        int file = open("/dev/null", O_RDWR | O_CLOEXEC);

        for (long round = 0; round < rounds; round++) {
                int fd = make(1), mine = 0, pause = rand() % 100000;

                if (fd < 0)
                        continue;
                if (!ioctl(fd, TIOCGPTN, &mine))
                        number = (unsigned)mine;
                dup2(fd, FD);
                close(fd);
                /* Without a pause on one side none of them meets the other. */
                for (volatile int i = 0; i < pause; i++)
                        ;
                if (rand() % 2)
                        dup2(file, FD);
                else
                        close(FD);
        }
        is_over = true;
        return argument;
}

int main(int argc, char **argv)
{
        long got = 0, marked = 0;
        bool by_name = argc == 3 && !strcmp(argv[1], "name");
        pthread_t thread;

        if (argc == 2 && !strcmp(argv[1], "open"))
                return open_one();
        if (argc == 2)
                make_and_close();
        rounds = argc == 3 ? atol(argv[2]) : 0;
        if (!rounds || pthread_create(&thread, NULL, put_other_things, NULL))
                return 2;
        while (!is_over) {
                char path[32];
                int fd;

                snprintf(path, sizeof(path), "/dev/pts/%u", number);
                fd = by_name ? open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
                             : ioctl(FD, 0x5441 /* TIOCGPTPEER */, O_RDWR | O_NOCTTY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                got++;
                marked += is_marked(fd);
                close(fd);
        }
        pthread_join(thread, NULL);
        printf("%ld opened, %ld of somebody else\n", got, marked);
        return 0;
}
