/* race.c: connects again and again while another thread swaps what the connection is about; and the servers for that.
 *
 *   race serve LETTER stream|seqpacket|abstract PATH   whoever connects gets the letter; says "ready" first
 *   race string|link|family|descriptor ALLOWED DENIED ROUNDS
 *
 * Exits with 0 if nobody was ever connected to the denied socket, whose letter is 'd', and the race was one: both outcomes were
 * met. With 2 if it was none. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct sockaddr_un ways[2], address;
static int sockets[2], number;
static volatile bool is_over;

static void set_way(struct sockaddr_un *way, const char *path)
{
        way->sun_family = AF_UNIX;
        snprintf(way->sun_path, sizeof(way->sun_path), "%s", path);
}

static int serve(const char *letter, const char *kind, const char *path)
{
        bool is_abstract = !strcmp(kind, "abstract");
        int fd = socket(AF_UNIX, strcmp(kind, "seqpacket") ? SOCK_STREAM : SOCK_SEQPACKET, 0);
        socklen_t size = sizeof(address);

        signal(SIGPIPE, SIG_IGN);
        set_way(&address, path);
        if (is_abstract) {
                address.sun_path[0] = '\0';
                snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", path);
                size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(path));
        }
        if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 128)) {
                perror(path);
                return 1;
        }
        puts("ready");
        fflush(stdout);
        for (;;) {
                int client = accept(fd, NULL, NULL);

                if (client >= 0 && write(client, letter, 1) < 1)
                        continue;
                close(client);
        }
}

/* Byte by byte, as nobody who copies it at once could wish. */
static void *swap_string(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1)
                for (size_t i = 0; i <= strlen(ways[turn].sun_path); i++)
                        ((volatile char *)address.sun_path)[i] = ways[turn].sun_path[i];
        return unused;
}

static void *swap_link(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1) {
                unlink("next");
                if (!symlink(ways[turn].sun_path, "next"))
                        rename("next", "link");
        }
        return unused;
}

static void *swap_family(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1)
                *(volatile sa_family_t *)&address.sun_family = turn ? AF_UNIX : AF_INET;
        return unused;
}

/* What is no unix socket is not asked where it leads. */
static void *swap_descriptor(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1)
                dup2(sockets[turn], number);
        return unused;
}

/* The letter of whom this socket is connected to, or '\0'. */
static char letter_of(int fd)
{
        char letter = '\0';

        return recv(fd, &letter, 1, 0) == 1 ? letter : '\0';
}

static int race(const char *kind, int rounds)
{
        void *(*swap)(void *) = !strcmp(kind, "string")   ? swap_string
                                : !strcmp(kind, "link")   ? swap_link
                                : !strcmp(kind, "family") ? swap_family
                                                          : swap_descriptor;
        bool is_by_number = swap == swap_descriptor;
        long reached = 0, refused = 0, others = 0;
        pthread_t thread;

        if (swap == swap_link)
                set_way(&address, "link");
        else
                address = ways[swap != swap_string];
        sockets[0] = socket(AF_UNIX, SOCK_STREAM, 0);
        sockets[1] = socket(AF_INET, SOCK_STREAM, 0);
        if (sockets[1] < 0) /* --net unix-only */
                sockets[1] = dup(0);
        number = dup(sockets[0]);
        if (pthread_create(&thread, NULL, swap, NULL))
                return 1;
        for (int i = 0; i < rounds; i++) {
                int fd = is_by_number ? number : socket(AF_UNIX, SOCK_STREAM, 0);
                int r = connect(fd, (struct sockaddr *)&address, sizeof(address)), error = errno;

                if (!r && letter_of(is_by_number ? sockets[0] : fd) != 'a') {
                        printf("connected to what is denied, round %d\n", i);
                        return 1;
                }
                reached += !r;
                refused += r && error == EACCES;
                others += r && error != EACCES;
                if (!is_by_number)
                        close(fd);
        }
        is_over = true;
        pthread_join(thread, NULL);
        printf("%ld reached, %ld refused, %ld others\n", reached, refused, others);
        /* The last two never lead to what is allowed. */
        if (swap == swap_string || swap == swap_link)
                return reached && refused ? 0 : 2;
        return !reached && refused && others ? 0 : 2;
}

int main(int argc, char **argv)
{
        if (argc == 5 && !strcmp(argv[1], "serve"))
                return serve(argv[2], argv[3], argv[4]);
        if (argc != 5)
                return 125;
        set_way(&ways[0], argv[2]);
        set_way(&ways[1], argv[3]);
        return race(argv[1], atoi(argv[4]));
}
