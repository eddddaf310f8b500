/* locks.c: a lock that belongs to an open file goes with it, also if the broker has opened the file.
 *
 *   locks FILE ROUNDS: prints how often a lock was still held after its file was closed; more threads than processors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

enum { THREADS = 6 };

static const char *path;
static int rounds;
static int held[THREADS], failed[THREADS];

static int open_or_count(int thread, const char *file, int flags)
{
        int fd = open(file, flags);

        failed[thread] += fd < 0;
        return fd;
}

static int lock_open_file(int fd, short type)
{
        struct flock lock = { .l_type = type };

        return fcntl(fd, F_OFD_SETLK, &lock);
}

static void *take_and_close(void *argument)
{
        int thread = *(int *)argument;
        char file[4096];

        snprintf(file, sizeof(file), "%s%d", path, thread);
        close(open(file, O_CREAT | O_RDWR, 0600));
        for (int i = 0; i < rounds; i++) {
                int fd = open_or_count(thread, file, O_RDONLY);

                held[thread] += flock(fd, LOCK_EX | LOCK_NB) < 0;
                close(fd);
                fd = open_or_count(thread, file, O_RDONLY);
                held[thread] += flock(fd, LOCK_EX | LOCK_NB) < 0;
                close(fd);
                fd = open_or_count(thread, file, O_RDONLY);
                held[thread] += lock_open_file(fd, F_RDLCK) < 0;
                close(fd);
                fd = open_or_count(thread, file, O_RDWR);
                held[thread] += lock_open_file(fd, F_WRLCK) < 0;
                close(fd);
        }
        return NULL;
}

int main(int argc, char **argv)
{
        pthread_t threads[THREADS];
        int numbers[THREADS], held_sum = 0, failed_sum = 0;

        if (argc != 3)
                return 2;
        path = argv[1];
        rounds = atoi(argv[2]);
        for (int i = 0; i < THREADS; i++) {
                numbers[i] = i;
                if (pthread_create(&threads[i], NULL, take_and_close, &numbers[i]))
                        return 2;
        }
        for (int i = 0; i < THREADS; i++) {
                pthread_join(threads[i], NULL);
                held_sum += held[i];
                failed_sum += failed[i];
        }
        printf("%d held, %d not opened\n", held_sum, failed_sum);
        return held_sum || failed_sum;
}
