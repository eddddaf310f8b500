/* mappings.c: maps files as code while others do their best to put another file in the place of the one that was judged.
 *
 *   mappings race KIND GOOD BAD ROUNDS   maps a descriptor that is now of GOOD and now of BAD, which does not begin like it;
 *                                        "GOOD refused BAD" are counted. 0 if none of BAD was mapped and some of both others
 *   mappings beside GOOD ROUNDS          maps GOOD beside threads of every kind; 0 if it always worked and no signal was lost
 *   mappings chain GOOD COUNT            starts itself anew so often, in the middle of a mapping of another thread's
 *   mappings tricks GOOD BAD             one line for each: what must be refused, and was */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SWAPPED = 50, SIZE = 4096, OTHERS = 8 };

static const char *good_path, *bad_path;
static int good, bad;
static volatile bool is_over;
static unsigned long heard, sent;

static int open_or_die(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (fd < 0) {
                perror(path);
                exit(2);
        }
        return fd;
}

static void start_thread(void *(*function)(void *))
{
        pthread_t thread;
        int r = pthread_create(&thread, NULL, function, NULL);

        if (r) {
                fprintf(stderr, "pthread_create: %s\n", strerror(r));
                exit(2);
        }
        pthread_detach(thread);
}

/* ---- who swaps ------------------------------------------------------------------------------------------- */

static void *swap_by_dup(void *unused)
{
        while (!is_over) {
                dup2(bad, SWAPPED);
                dup2(good, SWAPPED);
        }
        return unused;
}

/* Whoever closes it gets its number again, mostly. */
static void *swap_by_opening(void *unused)
{
        while (!is_over) {
                close(SWAPPED);
                dup3(bad, SWAPPED, O_CLOEXEC);
                close_range(SWAPPED, SWAPPED, 0);
                dup3(good, SWAPPED, O_CLOEXEC);
        }
        return unused;
}

static void *swap_once(void *unused)
{
        dup2(bad, SWAPPED);
        usleep(10);
        dup2(good, SWAPPED);
        return unused;
}

/* Always somebody whom nobody has seen yet. */
static void *start_swappers(void *unused)
{
        while (!is_over) {
                pthread_t threads[4];
                int count = 0;

                while (count < 4 && !pthread_create(&threads[count], NULL, swap_once, NULL))
                        count++;
                while (count)
                        pthread_join(threads[--count], NULL);
        }
        return unused;
}

/* A child that wakes up its parent whenever that sleeps. */
static pid_t start_waker(void)
{
        pid_t parent = getpid(), child = fork();

        if (child)
                return child;
        while (getppid() == parent)
                kill(parent, SIGCONT);
        _exit(0);
}

static int race(const char *kind, unsigned long rounds)
{
        unsigned long mapped[2] = { 0 }, refused = 0;
        char start = 0;
        pid_t waker = 0;

        pread(good, &start, 1, 0);
        dup2(good, SWAPPED);
        if (!strcmp(kind, "waking"))
                waker = start_waker();
        if (!strcmp(kind, "opening"))
                start_thread(swap_by_opening);
        else if (!strcmp(kind, "threads"))
                start_thread(start_swappers);
        else
                start_thread(swap_by_dup);
        for (unsigned long i = 0; i < rounds; i++) {
                char *memory = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, SWAPPED, 0);

                if (memory == MAP_FAILED) {
                        refused++;
                        continue;
                }
                mapped[*memory != start]++;
                munmap(memory, SIZE);
        }
        is_over = true;
        if (waker > 0)
                kill(waker, SIGKILL);
        printf("%lu %lu %lu\n", mapped[0], refused, mapped[1]);
        return mapped[1] || !mapped[0] || !refused;
}

/* ---- who is in the way ------------------------------------------------------------------------------------ */

static void hear(int number)
{
        (void)number;
        __atomic_add_fetch(&heard, 1, __ATOMIC_RELAXED);
}

static void *work(void *unused)
{
        volatile unsigned long sum = 0;

        while (!is_over)
                sum += sum + 1;
        return unused;
}

static void *sleep_often(void *unused)
{
        while (!is_over)
                usleep(100);
        return unused;
}

/* A real-time signal is queued each time it is sent. */
static void *send_signals(void *unused)
{
        while (!is_over) {
                if (!sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ 0 }))
                        sent++;
                usleep(20);
        }
        return unused;
}

static void *start_children(void *unused)
{
        while (!is_over) {
                pid_t child = vfork();

                if (!child)
                        _exit(0);
                if (child > 0)
                        waitpid(child, NULL, 0);
        }
        return unused;
}

static void *map_too(void *unused)
{
        while (!is_over) {
                void *memory = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, good, 0);

                if (memory != MAP_FAILED)
                        munmap(memory, SIZE);
                usleep(100);
        }
        return unused;
}

static int map_beside_others(unsigned long rounds)
{
        void *(*const functions[OTHERS])(void *) = { work,           sleep_often,    send_signals,
                                                     start_children, start_swappers, map_too,
                                                     map_too,        sleep_often };
        unsigned long failed = 0;

        bad = good;
        signal(SIGRTMIN + 1, hear);
        for (int i = 0; i < OTHERS; i++)
                start_thread(functions[i]);
        for (unsigned long i = 0; i < rounds; i++) {
                void *memory = mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, good, 0);

                failed += memory == MAP_FAILED;
                if (memory != MAP_FAILED)
                        munmap(memory, SIZE);
        }
        is_over = true;
        for (int i = 0; i < 1000 && heard != sent; i++)
                usleep(1000);
        usleep(10 * 1000);
        printf("%lu failed, %lu of %lu signals\n", failed, heard, sent);
        return failed || heard != sent || !sent;
}

static void *map_always(void *unused)
{
        for (;;)
                munmap(mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, good, 0), SIZE);
        return unused;
}

static int start_anew(char **argv)
{
        int count = atoi(argv[3]);
        char text[16];

        if (!count)
                return 0;
        start_thread(map_always);
        start_thread(work);
        usleep((unsigned)(count * 37 % 2000));
        snprintf(text, sizeof(text), "%d", count - 1);
        argv[3] = text;
        execv("/proc/self/exe", argv);
        perror("exec");
        return 1;
}

/* ---- tricks ------------------------------------------------------------------------------------------------ */

static int failures;

static void expect(const char *name, bool is_true)
{
        failures += !is_true;
        printf("%s %s%s%s\n", is_true ? "ok" : "not ok", name, is_true ? "" : " - ",
               is_true ? "" : strerror(errno));
}

static long map_number(unsigned long number, int flags)
{
        return syscall(SYS_mmap, NULL, SIZE, PROT_READ | PROT_EXEC, flags, number, 0);
}

static int be_child(void *unused)
{
        (void)unused;
        return 0;
}

static bool is_cloned(int flags)
{
        static char stack[65536] __attribute__((aligned(16)));
        int child = clone(be_child, stack + sizeof(stack), flags | SIGCHLD, NULL);

        return child > 0 && waitpid(child, NULL, 0) == child;
}

static int try_tricks(void)
{
        const unsigned long above = 1ul << 32;

        expect("library_is_mapped", map_number((unsigned)good, MAP_PRIVATE) > 0);
        expect("library_is_mapped_whatever_is_above_its_number",
               map_number((unsigned)good | above, MAP_PRIVATE) > 0);
        expect("other_file_is_not_mapped", map_number((unsigned)bad, MAP_PRIVATE) < 0 && errno == EPERM);
        expect("other_file_is_not_mapped_whatever_is_above_its_number",
               map_number((unsigned)bad | above, MAP_PRIVATE) < 0 && errno == EPERM);
        expect("other_file_is_not_mapped_to_be_shared",
               map_number((unsigned)bad, MAP_SHARED) < 0 && errno == EPERM);
        expect("other_file_is_read", mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, bad, 0) != MAP_FAILED);
        expect("working_directory_is_no_descriptor",
               map_number((unsigned long)AT_FDCWD, MAP_PRIVATE) < 0 && errno == EBADF);
        expect("no_descriptor_is_none", map_number(999, MAP_PRIVATE) < 0 && errno == EBADF);
        expect("memory_is_mapped", map_number((unsigned long)-1, MAP_PRIVATE | MAP_ANONYMOUS) > 0);
        expect("process_without_a_part_in_descriptors_is_started", is_cloned(0));
        expect("process_with_a_part_in_memory_is_started", is_cloned(CLONE_VM));
        expect("process_with_a_part_in_descriptors_is_not_started",
               !is_cloned(CLONE_FILES) && errno == EPERM);
        expect("process_with_a_part_in_both_is_not_started",
               !is_cloned(CLONE_FILES | CLONE_VM) && errno == EPERM);
        expect("personality_is_told", personality(0xffffffff) >= 0);
        expect("what_is_read_does_not_become_code", personality(READ_IMPLIES_EXEC) < 0 && errno == EPERM);
        expect("other_personality_is_taken", personality(ADDR_NO_RANDOMIZE) >= 0);
        return failures;
}

int main(int argc, char **argv)
{
        bool is_race = argc == 6 && !strcmp(argv[1], "race");

        if (argc < 4)
                return 2;
        good_path = argv[is_race ? 3 : 2];
        bad_path = is_race ? argv[4] : argv[3];
        good = open_or_die(good_path);
        if (!strcmp(argv[1], "beside"))
                return map_beside_others(strtoul(argv[3], NULL, 10));
        if (!strcmp(argv[1], "chain"))
                return start_anew(argv);
        bad = open_or_die(bad_path);
        return is_race ? race(argv[2], strtoul(argv[5], NULL, 10)) : try_tricks();
}
