/* cli_darwin.c: what the command line asks of macOS. */
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/event.h>
#include <unistd.h>

#include "cli/cli.h"

/* Theirs are ours. */
void read_path(char *word)
{
        (void)word;
}

const char *own_program(void)
{
        static char path[PATH_MAX];
        uint32_t size = sizeof(path);

        return _NSGetExecutablePath(path, &size) ? NULL : path;
}

const char *own_interpreter(void)
{
        return own_program();
}

/* It has a name, which nobody can guess, for as long as it takes to remove it. */
int scratch_open(char path[SCRATCH_PATH_SIZE])
{
        char name[64];
        int fd;

        snprintf(name, sizeof(name), "/private/tmp/abatis-%08x%08x", arc4random(), arc4random());
        fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd >= 0)
                unlink(name);
        snprintf(path, SCRATCH_PATH_SIZE, "/dev/fd/%d", fd);
        return fd;
}

/* ---- signals -------------------------------------------------------------------------------------------- */

enum { FIRST = 1, LAST = 31 /* of the signals that macOS has */, AGAIN = 0 };

/* The queue tells that one has come; the signal itself stays pending until it is taken. */
static void wake(int queue)
{
        struct kevent event;

        EV_SET(&event, AGAIN, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
        kevent(queue, &event, 1, NULL, 0, NULL);
}

/* One that came before the queue was there is told by nobody. */
int signals_open(const sigset_t *held)
{
        int queue = kqueue();
        struct kevent event;

        if (queue < 0)
                return -1;
        EV_SET(&event, AGAIN, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, NULL);
        kevent(queue, &event, 1, NULL, 0, NULL);
        for (int number = FIRST; number <= LAST; number++)
                if (sigismember(held, number)) {
                        EV_SET(&event, (uintptr_t)number, EVFILT_SIGNAL, EV_ADD | EV_CLEAR, 0, 0, NULL);
                        kevent(queue, &event, 1, NULL, 0, NULL);
                }
        wake(queue);
        return queue;
}

int signals_take(int signals, const sigset_t *held)
{
        const struct timespec at_once = { 0 };
        struct kevent events[LAST + 1];
        sigset_t pending, one;
        int taken = 0;

        kevent(signals, NULL, 0, events, LAST + 1, &at_once);
        if (sigpending(&pending) < 0)
                return 0;
        for (int number = FIRST; number <= LAST; number++) {
                if (!sigismember(held, number) || !sigismember(&pending, number))
                        continue;
                if (taken) {
                        wake(signals);
                        break;
                }
                sigemptyset(&one);
                sigaddset(&one, number);
                if (sigwait(&one, &taken))
                        return 0;
        }
        return taken;
}
