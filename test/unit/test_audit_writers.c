/* test_audit_writers.c: many writers of one audit log at once, killed ones, and full disks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/read.h"
#include "audits.h"

/* Under valgrind everything takes thirty times as long: there, a few are enough. */
static bool is_slow(void)
{
        const char *preload = getenv("LD_PRELOAD");

        return preload && strstr(preload, "valgrind");
}

static int write_words(struct audit_log *log, int count, int seed)
{
        static char word[20000];
        const char *const argv[] = { word, NULL };
        const struct audit_record record = { .event = AUDIT_PLANNED, .id = "a-1", .argv = argv };

        for (int i = 0; i < count; i++) {
                memset(word, 'w', sizeof(word));
                word[(i * 37 + seed * 101) % (i % 10 ? 300 : 5000)] = '\0';
                if (audit_append(log, &record, NULL) < 0)
                        return 1;
        }
        return 0;
}

/* Ends a child by another program: at an exit valgrind would look for what the parent has yet to free. */
static void leave(int code)
{
        char word[16];

        snprintf(word, sizeof(word), "exit %d", code);
        execl("/bin/sh", "sh", "-c", word, (char *)NULL);
        _exit(98);
}

static void wait_for_all(const pid_t *children, int count)
{
        for (int i = 0; i < count; i++) {
                int status;

                assert_int_equal(waitpid(children[i], &status, 0), children[i]);
                assert_int_equal(status, 0);
        }
}

/* Half of them open a log of their own, half use the one they were forked with: the same opened directory. */
static void eight_processes_lose_no_record(void **state)
{
        enum { WRITERS = 8 };
        int each = is_slow() ? 20 : 500;
        struct audit_log *log = open_log(200000, 0);
        pid_t children[WRITERS];
        char wanted[32];

        (void)state;
        for (int i = 0; i < WRITERS; i++) {
                children[i] = fork();
                if (!children[i])
                        leave(write_words(i % 2 ? open_log(200000, 0) : log, each, i));
        }
        wait_for_all(children, WRITERS);
        audit_close(log);
        snprintf(wanted, sizeof(wanted), "%d records in ", WRITERS * each);
        assert_verifies(0, wanted, "the chain is whole", NULL);
}

static void *write_in_thread(void *log)
{
        const char *const argv[] = { "thread", NULL };
        const struct audit_record record = { .event = AUDIT_PLANNED, .id = "a-1", .argv = argv };

        for (int i = 0; i < 200; i++)
                if (audit_append(log, &record, NULL) < 0)
                        return NULL;
        return log;
}

static void four_threads_share_one_log(void **state)
{
        struct audit_log *log = open_log(0, 0);
        pthread_t threads[4];
        void *result;

        (void)state;
        for (int i = 0; i < 4; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, write_in_thread, log), 0);
        for (int i = 0; i < 4; i++) {
                pthread_join(threads[i], &result);
                assert_ptr_equal(result, log);
        }
        audit_close(log);
        assert_verifies(0, "800 records in 1 file: the chain is whole", NULL);
}

/* Two writers that never stop are killed at a random moment, again and again: rotation, repairs and all. */
static void killed_writers_leave_no_lie(void **state)
{
        int rounds = is_slow() ? 5 : 200;

        (void)state;
        write_log(1); /* the first ones may be killed before they come to it */
        srand(4343);
        for (int round = 0; round < rounds; round++) {
                pid_t children[2];

                for (int i = 0; i < 2; i++) {
                        children[i] = fork();
                        if (!children[i])
                                leave(write_words(open_log(20000, 0), 1000000, round + i));
                }
                usleep((useconds_t)(rand() % 4000));
                for (int i = 0; i < 2; i++)
                        kill(children[i], SIGKILL);
                for (int i = 0; i < 2; i++)
                        waitpid(children[i], NULL, 0);
                if (round % 20 == 0)
                        assert_verifies(0, NULL);
        }
        assert_verifies(0, "the chain is whole", NULL);
        write_log(1);
        assert_verifies(0, "the chain is whole", NULL);
}

/* ---- a full disk ---------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        if (fd < 0 || write(fd, text, strlen(text)) < 0)
                leave(77);
        close(fd);
}

/* A file system of 64 KiB, in namespaces of its own; 77 where this user may not have them. */
static void mount_tiny(const char *path)
{
        char map[64];
        uid_t uid = getuid();
        gid_t gid = getgid();

        if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS) < 0)
                leave(77);
        if (uid) {
                write_file("/proc/self/setgroups", "deny");
                snprintf(map, sizeof(map), "%u %u 1", uid, uid);
                write_file("/proc/self/uid_map", map);
                snprintf(map, sizeof(map), "%u %u 1", gid, gid);
                write_file("/proc/self/gid_map", map);
        }
        if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("tiny", path, "tmpfs", 0, "size=64k,mode=700") < 0)
                leave(77);
}

static int count_records(void)
{
        abatis_error err;
        char *said = NULL, *end;
        int faults, count;

        if (audit_verify(log_path(), &said, &faults, &err) < 0 || faults)
                return -1;
        count = (int)strtol(said, &end, 10);
        if (*end != ' ')
                count = -1;
        free(said);
        return count;
}

static int fill_the_disk(struct audit_log *log)
{
        const char *const argv[] = { "echo", "0123456789012345678901234567890123456789", NULL };
        const struct audit_record record = { .event = AUDIT_PLANNED, .id = "a-1", .argv = argv };
        abatis_error err = { 0 };
        int written = 0, ballast;

        while (!audit_append(log, &record, &err))
                written++;
        if (err.os_errno != ENOSPC || written < 100 || count_records() != written)
                return 1;
        /* Full for everybody, then not any more. */
        for (int i = 0; i < 3; i++)
                if (!audit_append(log, &record, NULL) || count_records() != written)
                        return 2;
        ballast = truncate(log_path(), 0);
        return ballast < 0 || audit_append(log, &record, NULL) < 0 ? 3 : 0;
}

static void a_full_disk_is_an_error_and_no_half_line(void **state)
{
        const char *directory = make_dir("log");
        pid_t child = fork();
        int status;

        (void)state;
        if (!child) {
                mount_tiny(directory);
                leave(fill_the_disk(open_log(0, 0)));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) == 77)
                skip();
        assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(eight_processes_lose_no_record),
                TEST(four_threads_share_one_log),
                TEST(killed_writers_leave_no_lie),
                TEST(a_full_disk_is_an_error_and_no_half_line),
        };

        return cmocka_run_group_tests_name("audit_writers", tests, NULL, NULL);
}
