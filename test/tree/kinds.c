/* kinds.c: becomes one kind of process tree whose every member carries the marker in its arguments.
 *
 *   kinds KIND MARKER       in a directory that it may write
 *
 * It makes "ready-MARKER" when the tree stands, and ends when "go-MARKER" appears or a signal that it obeys comes. What
 * it leaves behind ends after half a minute by itself, so that a sandbox that fails does not haunt the machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LIFETIME_S = 30, CROWD = 40 };

static const char *self, *marker;
static int place; /* descriptor of the directory */

static int path_of(char *path, size_t size, const char *what)
{
        return snprintf(path, size, "%s-%s", what, marker) < (int)size ? 0 : -1;
}

static int is_there(const char *what)
{
        char path[256];

        return !path_of(path, sizeof(path), what) && !faccessat(place, path, F_OK, 0);
}

static int make(const char *what, int flags)
{
        char path[256];
        int fd = path_of(path, sizeof(path), what) ? -1
                                                   : openat(place, path, O_WRONLY | O_CREAT | flags, 0666);

        if (fd < 0)
                _exit(99);
        return fd;
}

static void nap(long milliseconds)
{
        const struct timespec time = { milliseconds / 1000, milliseconds % 1000 * 1000000 };

        nanosleep(&time, NULL);
}

static void ignore_signals(void)
{
        for (int number = 1; number < NSIG; number++)
                if (number != SIGCHLD)
                        signal(number, SIG_IGN);
        prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
}

static void close_everything(void)
{
        for (int fd = 0; fd < 1024; fd++)
                close(fd);
        if (chdir("/"))
                _exit(99);
}

static void linger(void)
{
        for (int i = 0; i < LIFETIME_S * 10; i++)
                nap(100);
        _exit(0);
}

/* The foreground of every kind: says that the tree stands, and waits to be let go. */
static void stay(void)
{
        close(make("ready", 0));
        for (int i = 0; i < LIFETIME_S * 500 && !is_there("go"); i++)
                nap(2);
        _exit(0);
}

static void become_foreground(void)
{
}

static void become_daemon(void)
{
        if (!fork()) {
                setsid();
                if (!fork()) {
                        ignore_signals();
                        close_everything();
                        linger();
                }
                _exit(0);
        }
        wait(NULL);
}

static void become_session(void)
{
        if (!fork()) {
                setsid();
                ignore_signals();
                linger();
        }
}

static void become_double_fork(void)
{
        if (!fork()) {
                if (!fork())
                        linger();
                _exit(0);
        }
        wait(NULL);
}

static void become_ignoring(void)
{
        ignore_signals();
        if (!fork())
                linger();
}

/* Blocked signals wait; the process sleeps in the kernel for somebody who never comes. */
static void become_blocking(void)
{
        sigset_t all;
        char byte;
        int ends[2];

        sigfillset(&all);
        if (fork())
                return;
        sigprocmask(SIG_SETMASK, &all, NULL);
        alarm(LIFETIME_S);
        if (!pipe(ends) && read(ends[0], &byte, 1) < 0)
                _exit(99);
        linger();
}

static void become_stopped(void)
{
        pid_t child = fork();

        if (!child) {
                setsid();
                raise(SIGSTOP);
                linger();
        }
        waitpid(child, NULL, WUNTRACED);
}

static int wait_in_vfork(void *unused)
{
        (void)unused;
        linger();
        return 0;
}

/* Until the child lets go of its memory, the parent hears nothing but SIGKILL: the state that /proc calls D. */
static void become_in_vfork(void)
{
        char *stack = malloc(65536);

        if (!stack)
                _exit(99);
        if (!fork()) {
                ignore_signals();
                clone(wait_in_vfork, stack + 65536, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
                _exit(0);
        }
}

static void *linger_in_thread(void *unused)
{
        (void)unused;
        linger();
        return NULL;
}

/* /proc shows the leader as a zombie without arguments; its thread lives. */
static void become_leaderless(void)
{
        pthread_t thread;

        if (fork())
                return;
        setsid();
        if (!pthread_create(&thread, NULL, linger_in_thread, NULL))
                pthread_exit(NULL);
        _exit(99);
}

/* Never the same program for longer than a millisecond. */
static void become_restarting(void)
{
        char *arguments[] = { (char *)self, "restarted", (char *)marker, NULL };

        if (!fork()) {
                setsid();
                alarm(60); /* an exec does not stop it */
                execv(self, arguments);
                _exit(99);
        }
}

static void restart(void)
{
        char *arguments[] = { (char *)self, "restarted", (char *)marker, NULL };

        ignore_signals();
        signal(SIGALRM, SIG_DFL);
        nap(1);
        if (chdir("/"))
                _exit(0);
        execv(self, arguments);
        _exit(99);
}

/* Never the same process for longer than two milliseconds: who walks a list comes too late. A file grows as long as
 * there is one. */
static void become_chain(void)
{
        int beat = make("beat", O_APPEND);
        time_t end = time(NULL) + LIFETIME_S;

        if (fork())
                return;
        setsid();
        ignore_signals();
        signal(SIGCHLD, SIG_IGN);
        while (time(NULL) < end) {
                if (fork() > 0)
                        _exit(0);
                nap(2);
                if (write(beat, ".", 1) != 1)
                        _exit(99);
        }
        _exit(0);
}

/* Everybody forks whenever there is room, in sessions of their own every other time; some end, and make room. */
static void detonate(volatile int *crowd, int beat)
{
        time_t end = time(NULL) + LIFETIME_S;

        ignore_signals();
        signal(SIGCHLD, SIG_IGN);
        for (unsigned turn = (unsigned)getpid(); time(NULL) < end; turn++) {
                if (__atomic_add_fetch(crowd, 1, __ATOMIC_ACQ_REL) > CROWD) {
                        __atomic_sub_fetch(crowd, 1, __ATOMIC_ACQ_REL);
                        if (turn % 32 == 0) {
                                __atomic_sub_fetch(crowd, 1, __ATOMIC_ACQ_REL);
                                _exit(0);
                        }
                        nap(2);
                        continue;
                }
                switch (fork()) {
                case 0:
                        turn = (unsigned)getpid();
                        if (turn % 2)
                                setsid();
                        if (write(beat, ".", 1) != 1)
                                _exit(99);
                        break;
                case -1:
                        __atomic_sub_fetch(crowd, 1, __ATOMIC_ACQ_REL);
                }
        }
        _exit(0);
}

static void become_bomb(void)
{
        int beat = make("beat", O_APPEND);
        int *crowd = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (crowd == MAP_FAILED)
                _exit(99);
        *crowd = 1;
        if (!fork())
                detonate(crowd, beat);
        while (*crowd < CROWD / 2)
                nap(1);
}

/* Its orphans become its own children, not init's. */
static void become_subreaper(void)
{
        if (fork())
                return;
        setsid();
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        ignore_signals();
        become_daemon();
        linger();
}

/* A /proc with hidepid does not show it to its own user. */
static void become_undumpable(void)
{
        if (fork())
                return;
        setsid();
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        ignore_signals();
        linger();
}

/* Stopped by a tracer, where tracing is allowed; elsewhere it just stays. */
static void become_traced(void)
{
        pid_t child;

        if (fork())
                return;
        setsid();
        child = fork();
        if (!child) {
                if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
                        raise(SIGTRAP);
                linger();
        }
        ignore_signals();
        linger();
}

/* A name that looks like the end of a name, in the file that tells who is whose child. */
static void become_renamed(void)
{
        if (fork())
                return;
        setsid();
        prctl(PR_SET_NAME, ") Z 1 1 ) (", 0, 0, 0);
        ignore_signals();
        linger();
}

static void write_proof(const char *what)
{
        int proof = openat(place, "proof", O_WRONLY | O_CREAT | O_APPEND, 0666);
        char line[128];
        int length = snprintf(line, sizeof(line), "%s %s\n", what, marker);

        if (proof < 0 || write(proof, line, (size_t)length) != length)
                _exit(99);
        close(proof);
}

/* A short command that leaves a daemon, and in a file that it has run. */
static void prove(void)
{
        write_proof("began");
        become_daemon();
        nap(1);
        write_proof("ended");
        _exit(7);
}

/* Takes all of its user's places in the queue of signals: who relies on one to be sent, fails. */
static void become_queueing(void)
{
        sigset_t all;

        sigfillset(&all);
        sigdelset(&all, SIGTERM);
        signal(SIGTERM, SIG_IGN);
        sigprocmask(SIG_SETMASK, &all, NULL);
        while (!sigqueue(getpid(), SIGRTMIN + 3, (union sigval){ 0 }))
                ;
}

/* ---- what bombs do: until the limit, and then on --------------------------------------------------------- */

/* The machine is not to suffer from a limit that does not hold. */
enum { FORKS_MAX = 400, MEMORY_MAX = 512, DESCRIPTORS_MAX = 4096 };

static void explode(void)
{
        int *count = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (count == MAP_FAILED)
                _exit(99);
        ignore_signals();
        for (int i = 0; i < LIFETIME_S * 1000; i++) {
                pid_t child = __atomic_load_n(count, __ATOMIC_ACQUIRE) < FORKS_MAX ? fork() : -1;

                if (child < 0) {
                        if (errno == EAGAIN && *count < FORKS_MAX)
                                close(make("ready", 0));
                        nap(1);
                } else if (!child) {
                        __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
                        setsid();
                }
        }
        _exit(0);
}

static void swallow(void)
{
        enum { PIECE = 1024 * 1024 };

        for (int i = 0; i < MEMORY_MAX; i++) {
                char *piece = malloc(PIECE);

                if (!piece)
                        break;
                memset(piece, 1, PIECE);
        }
        close(make("ready", 0)); /* a limit of the tree ends us before */
        linger();
}

static void open_all(void)
{
        int count = 0;

        while (count < DESCRIPTORS_MAX && dup(place) >= 0)
                count++;
        if (errno == EMFILE && count < DESCRIPTORS_MAX) {
                close(place + 1);
                close(make("ready", 0));
        }
        linger();
}

static void fill(void)
{
        static char piece[65536];
        char name[32];

        signal(SIGXFSZ, SIG_IGN);
        for (int i = 0; i < 10000; i++) {
                int fd;

                snprintf(name, sizeof(name), "fill%d", i % 100);
                fd = openat(place, name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
                while (fd >= 0 && write(fd, piece, sizeof(piece)) > 0)
                        ;
                if (errno == ENOSPC || fd < 0)
                        close(make("ready", 0));
                close(fd);
        }
        linger();
}

static void flood(void)
{
        static char piece[65536];

        memset(piece, 'x', sizeof(piece));
        close(make("ready", 0));
        for (int i = 0; i < 16 * 1024; i++)
                if (write(1, piece, sizeof(piece)) != sizeof(piece))
                        _exit(99);
        _exit(0);
}

static void do_nothing(void)
{
        _exit(0);
}

static const struct kind {
        const char *name;
        void (*become)(void);
} kinds[] = {
        { "foreground", become_foreground },
        { "daemon", become_daemon },
        { "session", become_session },
        { "double_fork", become_double_fork },
        { "ignoring", become_ignoring },
        { "blocking", become_blocking },
        { "stopped", become_stopped },
        { "in_vfork", become_in_vfork },
        { "leaderless", become_leaderless },
        { "restarting", become_restarting },
        { "chain", become_chain },
        { "bomb", become_bomb },
        { "subreaper", become_subreaper },
        { "undumpable", become_undumpable },
        { "traced", become_traced },
        { "renamed", become_renamed },
        { "queueing", become_queueing },
        { "closed", become_foreground },
        { "restarted", restart },
        { "proof", prove },
        { "forks", explode },
        { "memory", swallow },
        { "descriptors", open_all },
        { "disk", fill },
        { "flood", flood },
        { "nothing", do_nothing },
};

int main(int argc, char **argv)
{
        if (argc != 3)
                return 2;
        self = argv[0];
        marker = argv[2];
        place = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (!strcmp(argv[1], "closed")) {
                /* The directory's own descriptor stays: somebody must say that the tree stands. */
                for (int fd = 0; fd < 1024; fd++)
                        if (fd != place)
                                close(fd);
        }
        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                if (!strcmp(kinds[i].name, argv[1])) {
                        kinds[i].become();
                        stay();
                }
        return 2;
}
