/* test_cage.c: what the relay's cage lets through, tried by a process that closes it behind itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/cage_linux.h"
#include "scratch.h"

/* Does it in a child, in the cage or not; returns the errno, 0 if it succeeded. */
static int try_in_child(int (*call)(void), bool is_caged)
{
        pid_t pid = fork();
        int status;

        assert_true(pid >= 0);
        if (!pid) {
                struct relay_cage cage;
                struct sock_fprog program = { .filter = (struct sock_filter *)cage.code };
                int rules = -1;

                cage_build(&cage);
                if (cage_open_rules(&rules) < 0)
                        _exit(255);
                program.len = (unsigned short)cage.length;
                if (is_caged &&
                    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
                     (rules >= 0 && syscall(446, rules, 0) < 0) || prctl(PR_SET_SECCOMP, 2, &program) < 0))
                        _exit(255);
                errno = 0;
                /* Before _exit() a sanitizer would look after its stack, which the cage does not let it. */
                for (;;)
                        syscall(SYS_exit_group, call() < 0 ? errno : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static int open_hosts(void)
{
        return open("/etc/hosts", O_RDONLY);
}

static int open_null(void)
{
        return open("/dev/null", O_RDONLY);
}

static int open_passwd(void)
{
        return open("/etc/passwd", O_RDONLY);
}

static int write_null(void)
{
        return open("/dev/null", O_WRONLY);
}

static int make_stream(void)
{
        return socket(AF_INET6, SOCK_STREAM, 0);
}

static int make_unix(void)
{
        return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int start_another(void)
{
        pid_t pid = fork();

        if (!pid)
                _exit(0);
        return pid;
}

static int get_memory(void)
{
        return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1
                                                                                                          : 0;
}

static int get_code(void)
{
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1
                                                                                                         : 0;
}

static int signal_itself(void)
{
        return (int)syscall(SYS_kill, getpid(), 0);
}

static void what_the_relay_needs_passes_and_nothing_else(void **state)
{
        static const struct {
                const char *name;
                int (*call)(void);
                int expected;
        } cases[] = {
                { "/etc/hosts", open_hosts, 0 },
                { "/dev/null", open_null, 0 },
                { "a stream", make_stream, 0 },
                { "memory", get_memory, 0 },
                { "/etc/passwd", open_passwd, EACCES },
                { "/dev/null to write", write_null, EACCES },
                { "a unix socket", make_unix, EPERM },
                { "a process", start_another, EPERM },
                { "code", get_code, EPERM },
                { "a signal", signal_itself, EPERM },
        };
        int rules = -1;

        (void)state;
        assert_int_equal(cage_open_rules(&rules), 0);
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                int expected = cases[i].expected == EACCES && rules < 0 ? 0 : cases[i].expected, got;

                assert_int_equal(try_in_child(cases[i].call, false), 0);
                got = try_in_child(cases[i].call, true);
                if (got != expected)
                        fail_msg("%s: %s", cases[i].name, strerror(got));
        }
        close(rules);
}

static void the_program_fits(void **state)
{
        struct relay_cage cage;

        (void)state;
        cage_build(&cage);
        assert_in_range(cage.length, 20, RELAY_CAGE_MAX);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_the_relay_needs_passes_and_nothing_else),
                cmocka_unit_test(the_program_fits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
