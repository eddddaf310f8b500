/* race.c: opens a file again and again while another thread swaps what leads to it for what leads to a denied one.
 *
 *   race string|link|descriptor|parent ALLOWED DENIED ROUNDS
 *
 * Both files hold one letter: 'a', or 'd' for the denied one. Exits with 0 if 'd' was never read and both the allowed file and
 * the refusal were met; with 2 if it was no race. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char ways[2][4096], path[4096];
static int directories[2], directory;
static volatile bool is_over;

/* Byte by byte, as nobody who copies it at once could wish. */
static void *swap_string(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1)
                for (size_t i = 0; i <= strlen(ways[turn]); i++)
                        ((volatile char *)path)[i] = ways[turn][i];
        return unused;
}

static void *swap_link(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1) {
                unlink("next");
                if (!symlink(ways[turn], "next"))
                        rename("next", "link");
        }
        return unused;
}

static void *swap_descriptor(void *unused)
{
        for (int turn = 0; !is_over; turn ^= 1)
                dup2(directories[turn], directory);
        return unused;
}

/* Two directories with a file of the same name each: one is renamed to where the other was. */
static void *swap_parent(void *unused)
{
        while (!is_over)
                syscall(SYS_renameat2, AT_FDCWD, "left", AT_FDCWD, "right", 2 /* RENAME_EXCHANGE */);
        return unused;
}

static int open_now(const char *kind, const char *name)
{
        if (!strcmp(kind, "descriptor"))
                return openat(directory, name, O_RDONLY);
        return open(strcmp(kind, "string") ? name : path, O_RDONLY);
}

int main(int argc, char **argv)
{
        void *(*swap)(void *);
        const char *name, *kind;
        long rounds, read_count = 0, refused = 0;
        pthread_t thread;

        if (argc != 5)
                return 3;
        kind = argv[1];
        rounds = atol(argv[4]);
        swap = !strcmp(kind, "string")   ? swap_string
               : !strcmp(kind, "link")   ? swap_link
               : !strcmp(kind, "parent") ? swap_parent
                                         : swap_descriptor;
        for (int i = 0; i < 2; i++)
                snprintf(ways[i], sizeof(ways[i]), "%s", argv[2 + i]);
        strcpy(path, ways[0]);
        name = swap == swap_link ? "link" : swap == swap_parent ? "left/name" : strrchr(ways[1], '/') + 1;
        if (swap == swap_link && symlink(ways[0], "link") < 0)
                return 3;
        for (int i = 0; swap == swap_descriptor && i < 2; i++) {
                *strrchr(ways[i], '/') = '\0';
                directories[i] = open(ways[i], O_PATH | O_DIRECTORY);
        }
        directory = dup(swap == swap_descriptor ? directories[0] : 0);
        if (pthread_create(&thread, NULL, swap, NULL))
                return 3;
        for (long i = 0; i < rounds; i++) {
                char letter = 0;
                int fd = open_now(kind, name);

                if (fd < 0) {
                        refused += errno == EACCES;
                        continue;
                }
                if (read(fd, &letter, 1) == 1 && letter == 'd') {
                        printf("round %ld read the denied file\n", i);
                        _exit(1);
                }
                read_count += letter == 'a';
                close(fd);
        }
        is_over = true;
        pthread_join(thread, NULL);
        printf("%ld read, %ld refused\n", read_count, refused);
        return read_count && (refused || swap == swap_parent) ? 0 : 2;
}
