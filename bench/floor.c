/* The least that a command can do that holds the default policy where there are no namespaces, and exits with its end:
 *
 *   floor PROGRAM ARGUMENT...
 *
 * It reads no policy, asks the host nothing, answers nobody and writes nothing: it gives Landlock's rights to what lies beside the secrets of
 * the home, which it takes to be one, loads the filter of descriptor 9, and keeps a process that would end the others. What `abatis run`
 * could reach at best without namespaces, beside which it is printed; the bar of such launches is for jobs that are prepared. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILTER_FD = 9, FILTER_MAX = 4096, LISTED_MAX = 64 * 1024 };

static void fail(const char *what)
{
        perror(what);
        exit(125);
}

/* A file has no right to be listed, and the kernel refuses to give it. */
static void allow(int ruleset, int directory, const char *name, unsigned char type)
{
        struct landlock_path_beneath_attr rule = { .parent_fd = openat(directory, name, O_PATH | O_CLOEXEC) };
        rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
        if (type == DT_DIR)
                rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
        if (rule.parent_fd < 0)
                return;
        syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
        close(rule.parent_fd);
}

/* Everything in it but one. */
static void allow_beside(int ruleset, const char *path, const char *except, size_t length)
{
        static char buffer[LISTED_MAX];
        int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        long got;
        while ((got = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0)
                for (long at = 0; at < got;) {
                        const struct dirent64 *entry = (const void *)(buffer + at);
                        if ((strncmp(entry->d_name, except, length) != 0 || entry->d_name[length] != '\0') &&
                            entry->d_type != DT_LNK && entry->d_name[0] != '.')
                                allow(ruleset, directory, entry->d_name, entry->d_type);
                        at += entry->d_reclen;
                }
        close(directory);
}

static int make_ruleset(const char *home)
{
        struct landlock_ruleset_attr handled = { .handled_access_fs = (1u << 13) - 1 };
        int ruleset =
                (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled.handled_access_fs, 0);
        char path[4096];
        if (ruleset < 0)
                fail("landlock");
        for (const char *at = home; *at == '/';) {
                size_t length = strcspn(at + 1, "/");
                snprintf(path, sizeof path, "%.*s", at == home ? 1 : (int)(at - home), home);
                allow_beside(ruleset, path, at + 1, length);
                at += 1 + length;
        }
        allow_beside(ruleset, home, ".ssh", 4);
        return ruleset;
}

static void start(int ruleset, char **argv)
{
        static struct sock_filter code[FILTER_MAX];
        ssize_t got = pread(FILTER_FD, code, sizeof code, 0);
        struct sock_fprog filter = { (unsigned short)((size_t)got / sizeof *code), code };
        if (got <= 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0)
                fail("restrict");
        execv(argv[0], argv);
        fail(argv[0]);
}

static int wait_for(pid_t pid)
{
        int status;
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
                fail("wait");
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
        const char *home = getenv("HOME");
        if (argc < 2 || home == NULL)
                return 2;
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        int ruleset = make_ruleset(home);
        pid_t init = vfork();
        if (init == 0) {
                prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
                pid_t command = vfork();
                if (command == 0)
                        start(ruleset, argv + 1);
                _exit(wait_for(command));
        }
        return wait_for(init);
}
