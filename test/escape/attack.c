/* Performs exactly one named escape attempt: exit 0 when it worked, 1 when it was refused, 77 when it
 * cannot be tried here. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct attempt *const tables[] = {
        read_attempts,      write_attempts,  tree_attempts,     process_attempts, control_attempts,
        namespace_attempts, kernel_attempts, socket_attempts,   ipc_attempts,     terminal_attempts,
        privilege_attempts, abi_attempts,    survivor_attempts, start_attempts,   forged_attempts,
        calls_attempts,     code_attempts,
};

static const char *error_name(int error)
{
#ifdef __GLIBC__
        const char *name = strerrorname_np(error);
        if (name)
                return name;
#endif
        return strerror(error);
}

int refused(const char *what)
{
        fprintf(stderr, "refused: %s: %s\n", what, error_name(errno));
        return REFUSED;
}

int refused_because(const char *what, const char *why)
{
        fprintf(stderr, "refused: %s: %s\n", what, why);
        return REFUSED;
}

int untriable(const char *why)
{
        fprintf(stderr, "untriable: %s\n", why);
        return UNTRIABLE;
}

int undecided(long result, const char *what)
{
        if (result < 0)
                return refused(what);
        fprintf(stderr, "undecided: %s\n", what);
        return UNDECIDED;
}

int outcome_of(long result, const char *what)
{
        return result < 0 ? refused(what) : SUCCEEDED;
}

int outcome_of_reaching(long result, const char *what, int errno_of_the_kernel)
{
        if (result >= 0 || errno == errno_of_the_kernel)
                return SUCCEEDED;
        return refused(what);
}

int reveal_bytes(const char *bytes, size_t length)
{
        if (!memmem(bytes, length, SECRET, strlen(SECRET)))
                return refused_because("read", "no secret in it");
        if (fwrite(bytes, 1, length, stdout) != length || fflush(stdout) != 0)
                return refused("show the secret");
        return SUCCEEDED;
}

int reveal_fd(int fd)
{
        char bytes[4096];
        size_t length = 0;

        while (length < sizeof(bytes)) {
                ssize_t got = read(fd, bytes + length, sizeof(bytes) - length);
                if (got < 0)
                        return refused("read");
                if (got == 0)
                        break;
                length += (size_t)got;
        }
        return reveal_bytes(bytes, length);
}

int reveal_path(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? refused(path) : reveal_fd(fd);
}

int open_flags(const char *path, int flags)
{
        return open(path, flags | O_CLOEXEC, 0644);
}

int number_of(const char *text)
{
        return (int)strtol(text, NULL, 0);
}

mode_t mode_of(const char *text)
{
        return (mode_t)strtol(text, NULL, 8);
}

const char *magic_link(int fd)
{
        static char link[64];
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        return link;
}

int in_child(int (*run)(char **argument), char **argument)
{
        int status = 0;
        pid_t child = fork();

        if (child < 0)
                return refused("fork");
        if (child == 0) {
                int outcome = run(argument);
                fflush(NULL);
                _exit(outcome);
        }
        if (waitpid(child, &status, 0) < 0)
                return refused("waitpid");
        if (WIFSIGNALED(status))
                return refused_because("the attempt", strsignal(WTERMSIG(status)));
        return WEXITSTATUS(status);
}

static void list_attempts(void)
{
        for (size_t table = 0; table < sizeof(tables) / sizeof(tables[0]); table++)
                for (const struct attempt *a = tables[table]; a->name; a++)
                        puts(a->name);
}

static const struct attempt *find_attempt(const char *name)
{
        for (size_t table = 0; table < sizeof(tables) / sizeof(tables[0]); table++)
                for (const struct attempt *a = tables[table]; a->name; a++)
                        if (strcmp(a->name, name) == 0)
                                return a;
        return NULL;
}

int main(int argc, char **argv)
{
        const struct attempt *attempt = NULL;

        if (argc < 2) {
                fprintf(stderr, "usage: attack NAME [ARGUMENT...] | --list\n");
                return MISUSED;
        }
        if (strcmp(argv[1], "--list") == 0) {
                list_attempts();
                return 0;
        }
        attempt = find_attempt(argv[1]);
        if (!attempt || argc - 2 < attempt->arguments) {
                fprintf(stderr, "attack: no attempt '%s' with %d arguments\n", argv[1], argc - 2);
                return MISUSED;
        }
        return attempt->run(argv + 2);
}
