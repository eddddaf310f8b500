/* clock.c: clocks that go on, a sleep that ends, and random bytes that are not the same twice. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
        struct timespec before, after, wall;
        const struct timespec pause = { .tv_nsec = 20000000 };
        struct pollfd output = { .fd = 1, .events = POLLOUT };
        char one[32] = { 0 }, other[32] = { 0 };

        clock_gettime(CLOCK_REALTIME, &wall);
        clock_gettime(CLOCK_MONOTONIC, &before);
        nanosleep(&pause, NULL);
        clock_gettime(CLOCK_MONOTONIC, &after);
        getentropy(one, sizeof one);
        getentropy(other, sizeof other);
        printf("{\"later\":%d,\"year\":%d,\"random\":%d,\"ready\":%d}\n",
               (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >=
                       pause.tv_nsec / 10 * 9, /* some engines count in milliseconds */
               wall.tv_sec > 1600000000, memcmp(one, other, sizeof one) != 0, poll(&output, 1, 1000));
        return 0;
}
