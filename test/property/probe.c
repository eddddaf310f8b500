/* probe.c: really tries what it is asked about, inside a sandbox or, as the control, outside.
 *
 *   probe PROGRAM [outside] <questions >answers
 *
 * PROGRAM is what it puts where it is asked to execute something that is not there. Nothing that it does lasts. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abatis.h"
#include "probe.h"

static char program[64 * 1024];
static size_t program_length;

/* The command in a sandbox has no capabilities; the control must not have more, or root could do anything outside. */
static void drop_capabilities(void)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

        if (syscall(SYS_capset, &header, none) < 0) {
                perror("capset");
                exit(1);
        }
}

static void set_object(struct probe_answer *answer, const struct stat *status)
{
        answer->is_directory = S_ISDIR(status->st_mode);
        answer->is_pipe = S_ISFIFO(status->st_mode);
        answer->device = status->st_dev;
        answer->inode = status->st_ino;
}

/* As everybody lists a directory. */
static void try_read(const char *path, struct probe_answer *answer)
{
        struct stat status;
        int is_directory = !stat(path, &status) && S_ISDIR(status.st_mode) ? O_DIRECTORY : 0;
        int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | is_directory);
        char buffer[1024];

        if (fd < 0) {
                answer->error = errno;
                if (errno == ENOENT)
                        answer->state = PROBE_MISSING;
                return;
        }
        if (!fstat(fd, &status))
                set_object(answer, &status);
        if (answer->is_directory && syscall(SYS_getdents64, fd, buffer, sizeof(buffer)) < 0)
                answer->error = errno;
        close(fd);
}

/* Makes the file, through a dangling link if there is one: its descriptor, or -1 with errno. */
static int make_file(const char *path, mode_t mode, struct probe_answer *answer)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC, mode);
        struct stat status;

        if (fd >= 0 && !fstat(fd, &status)) {
                answer->device = status.st_dev;
                answer->state = PROBE_MADE;
        }
        return fd;
}

/* Removes what a descriptor is open for, which need not be what the name that it was opened by names. */
static void remove_opened(int fd)
{
        char link[64], target[PATH_MAX];
        ssize_t length;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        length = readlink(link, target, sizeof(target) - 1);
        if (length > 0) {
                target[length] = '\0';
                unlink(target);
        }
}

static void try_write_into(const char *directory, struct probe_answer *answer)
{
        char *path = NULL;
        int fd;

        if (asprintf(&path, "%s/.probe-%d", directory, getpid()) < 0)
                abort();
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        answer->error = fd < 0 ? errno : 0;
        if (fd >= 0) {
                close(fd);
                if (unlink(path) < 0)
                        answer->error = errno;
        }
        free(path);
}

static void try_write(const char *path, struct probe_answer *answer)
{
        struct stat status;
        int fd;

        if (stat(path, &status) < 0) {
                fd = errno == ENOENT ? make_file(path, 0600, answer) : -1;
                answer->error = fd < 0 ? errno : 0;
                if (fd < 0)
                        answer->state = PROBE_MISSING;
                else
                        remove_opened(fd);
        } else {
                set_object(answer, &status);
                if (answer->is_directory) {
                        try_write_into(path, answer);
                        return;
                }
                fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
                /* A pipe that nobody reads says this after every permission has been asked for. */
                if (fd < 0 && !(errno == ENXIO && S_ISFIFO(status.st_mode)))
                        answer->error = errno;
        }
        if (fd >= 0)
                close(fd);
}

static void execute(const char *path, struct probe_answer *answer)
{
        char name[] = "program", *const argv[] = { name, NULL }, *const envp[] = { NULL };
        pid_t pid;

        answer->error = posix_spawn(&pid, path, NULL, NULL, argv, envp);
        while (!answer->error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
}

static void try_execute(const char *path, struct probe_answer *answer)
{
        struct stat status;
        int fd, kept;

        if (!stat(path, &status)) {
                set_object(answer, &status);
                execute(path, answer);
                return;
        }
        fd = errno == ENOENT ? make_file(path, 0700, answer) : -1;
        if (fd < 0) {
                answer->error = errno;
                answer->state = PROBE_MISSING;
                return;
        }
        kept = open(path, O_PATH | O_CLOEXEC);
        if (write(fd, program, program_length) != (ssize_t)program_length || kept < 0)
                answer->state = PROBE_MISSING;
        close(fd); /* as long as somebody has it open for writing, nobody can execute it */
        if (answer->state == PROBE_MADE)
                execute(path, answer);
        remove_opened(kept);
        close(kept);
}

/* Whether the file modes would let it be written. */
static void ask_modes(const char *path, struct probe_answer *answer)
{
        struct stat status;
        char *copy = NULL, *slash;

        if (!stat(path, &status)) {
                set_object(answer, &status);
                answer->error = faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0 ? errno : 0;
                return;
        }
        answer->error = errno;
        answer->state = PROBE_MISSING;
        copy = strdup(path);
        slash = copy ? strrchr(copy, '/') : NULL;
        if (errno == ENOENT && slash) {
                slash[slash == copy] = '\0';
                answer->error = faccessat(AT_FDCWD, copy, W_OK | X_OK, AT_EACCESS) < 0 ? errno : 0;
                if (!answer->error && !stat(copy, &status)) {
                        answer->device = status.st_dev;
                        answer->state = PROBE_MADE;
                }
        }
        free(copy);
}

static void answer_question(const struct probe_question *question, const char *path, bool is_outside,
                            struct probe_answer *answer)
{
        switch ((abatis_access)question->access) {
        case ABATIS_READ:
                try_read(path, answer);
                break;
        case ABATIS_WRITE:
                if (question->is_gentle && is_outside)
                        ask_modes(path, answer);
                else
                        try_write(path, answer);
                break;
        case ABATIS_EXECUTE:
                try_execute(path, answer);
                break;
        }
}

int main(int argc, char **argv)
{
        bool is_outside = argc > 2 && !strcmp(argv[2], "outside");
        FILE *file = argc > 1 ? fopen(argv[1], "re") : NULL;
        struct probe_question question;

        if (!file) {
                fprintf(stderr, "probe PROGRAM [outside]\n");
                return 1;
        }
        program_length = fread(program, 1, sizeof(program), file);
        fclose(file);
        drop_capabilities();
        umask(022);
        alarm(60);
        while (fread(&question, sizeof(question), 1, stdin) == 1) {
                struct probe_answer answer = { .state = PROBE_FOUND };
                char path[PATH_MAX + 1] = "";

                if (question.length > PATH_MAX || fread(path, 1, question.length, stdin) != question.length)
                        return 1;
                answer_question(&question, path, is_outside, &answer);
                if (fwrite(&answer, sizeof(answer), 1, stdout) != 1)
                        return 1;
        }
        return fflush(stdout) ? 1 : 0;
}
