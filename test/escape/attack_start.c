/* Attempts to start a program that is not on the list of commands, or to run its code in one that is. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int start(char *path)
{
        char *const arguments[] = { path, NULL };

        execve(path, arguments, environ);
        return refused("execve");
}

static int start_descriptor(int fd, char *first_argument)
{
        char *const arguments[] = { "program", first_argument, NULL };

        syscall(SYS_execveat, fd, "", arguments, environ, AT_EMPTY_PATH);
        return refused("execveat");
}

static int copy_bytes(const char *from, int to)
{
        char bytes[1 << 16];
        ssize_t length = 0;
        int fd = open_flags(from, O_RDONLY);

        if (fd < 0)
                return -1;
        while ((length = read(fd, bytes, sizeof(bytes))) > 0)
                if (write(to, bytes, (size_t)length) != length)
                        return -1;
        close(fd);
        return length < 0 ? -1 : 0;
}

static int copy_file(const char *from, const char *to)
{
        int fd = open_flags(to, O_WRONLY | O_CREAT | O_TRUNC), r;

        if (fd < 0)
                return -1;
        r = copy_bytes(from, fd);
        if (!r)
                r = fchmod(fd, 0755);
        close(fd);
        return r;
}

static int start_path(char **argument)
{
        return start(argument[0]);
}

static int start_opened(char **argument)
{
        int fd = open(argument[0], O_RDONLY);

        return fd < 0 ? refused("open") : start_descriptor(fd, argument[1]);
}

static int start_opened_by_path(char **argument)
{
        int fd = open(argument[0], O_PATH);

        return fd < 0 ? refused("open") : start((char *)magic_link(fd));
}

/* PROGRAM WAY */
static int start_symbolic_link(char **argument)
{
        return symlink(argument[0], argument[1]) < 0 ? refused("symlink") : start(argument[1]);
}

static int start_hard_link(char **argument)
{
        return link(argument[0], argument[1]) < 0 ? refused("link") : start(argument[1]);
}

static int start_renamed(char **argument)
{
        return rename(argument[0], argument[1]) < 0 ? refused("rename") : start(argument[1]);
}

static int start_copy(char **argument)
{
        return copy_file(argument[0], argument[1]) < 0 ? refused("copy") : start(argument[1]);
}

/* PROGRAM DIRECTORY */
static int start_unnamed_copy(char **argument)
{
        int fd = open(argument[1], O_TMPFILE | O_RDWR, 0755), again;

        if (fd < 0 || copy_bytes(argument[0], fd) < 0)
                return refused("copy");
        again = open(magic_link(fd), O_RDONLY);
        if (again < 0)
                return refused("open");
        close(fd);
        return start_descriptor(again, NULL);
}

static int make_memory_file(const char *program)
{
        int fd = (int)syscall(SYS_memfd_create, "x", 0u);

        return fd >= 0 && copy_bytes(program, fd) < 0 ? -1 : fd;
}

static int start_memory_file(char **argument)
{
        int fd = make_memory_file(argument[0]);

        return fd < 0 ? refused("memfd_create") : start_descriptor(fd, NULL);
}

static int start_memory_file_by_path(char **argument)
{
        int fd = make_memory_file(argument[0]);

        return fd < 0 ? refused("memfd_create") : start((char *)magic_link(fd));
}

/* Memory that is shared is a file too, and has a name below /proc. */
static int start_shared_memory(char **argument)
{
        struct stat status;
        char path[128], *memory;
        int fd = open_flags(argument[0], O_RDONLY);
        size_t length;

        if (fd < 0 || fstat(fd, &status) < 0)
                return refused("open");
        length = ((size_t)status.st_size + 65535) & ~(size_t)65535;
        memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED || read(fd, memory, (size_t)status.st_size) != status.st_size)
                return refused("read");
        snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)memory,
                 (unsigned long)memory + length);
        return start(path);
}

/* COMMAND...: its exit status, or -1. */
static int status_of(char **command)
{
        int status = 0;
        pid_t child = fork();

        if (child == 0) {
                execvp(command[0], command);
                fprintf(stderr, "%s: %s\n", command[0], strerror(errno));
                _exit(99);
        }
        return child < 0 || waitpid(child, &status, 0) < 0 ? -1 : status;
}

/* COMMAND...: somebody else starts it, and says whether it worked. */
static int start_through(char **argument)
{
        char why[32];
        int status = status_of(argument);

        if (!status)
                return SUCCEEDED;
        snprintf(why, sizeof(why), "status 0x%x", (unsigned)status);
        return refused_because("start", why);
}

/* The same for somebody who is content either way: what is printed tells. */
static int start_somehow(char **argument)
{
        return undecided(status_of(argument), argument[0]);
}

/* LISTED NAME PROGRAM: puts the program into the listed file, which has this name too, and starts that. */
static int start_overwritten(char **argument)
{
        int fd = open_flags(argument[1], O_WRONLY | O_TRUNC);

        if (fd < 0 || copy_bytes(argument[2], fd) < 0)
                return refused("overwrite");
        close(fd);
        argument[1] = NULL;
        return start_somehow(argument);
}

/* LISTED PROGRAM WAY: the listed name becomes another file. */
static int start_replaced(char **argument)
{
        if (copy_file(argument[1], argument[2]) < 0 || rename(argument[2], argument[0]) < 0)
                return refused("replace");
        return start(argument[0]);
}

/* LISTED PROGRAM WAY: the directory of the listed file makes room for another of its name. */
static int start_in_a_moved_directory(char **argument)
{
        char directory[4096];

        snprintf(directory, sizeof(directory), "%s", argument[0]);
        *strrchr(directory, '/') = '\0';
        if (rename(directory, argument[2]) < 0 || mkdir(directory, 0755) < 0 ||
            copy_file(argument[1], argument[0]) < 0)
                return refused("move");
        return start(argument[0]);
}

/* LIBRARY PROGRAM: the program is listed, the library is the attempt. */
static int start_preloaded(char **argument)
{
        char text[4200];

        snprintf(text, sizeof(text), "LD_PRELOAD=%s", argument[0]);
        putenv(text);
        return start_somehow(argument + 1);
}

/* LIBRARY COPY PROGRAM */
static int start_preloaded_copy(char **argument)
{
        if (copy_file(argument[0], argument[1]) < 0)
                return refused("copy");
        return start_preloaded(argument + 1);
}

/* The loader and a program that loads plugins do no more than this. */
static int start_mapped(char **argument)
{
        int fd = open(argument[0], O_RDONLY);

        if (fd < 0)
                return refused("open");
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? refused("mmap")
                                                                                         : SUCCEEDED;
}

static int start_mapped_copy(char **argument)
{
        return copy_file(argument[0], argument[1]) < 0 ? refused("copy") : start_mapped(argument + 1);
}

/* A mapping that becomes code later. */
static int start_protected_later(char **argument)
{
        int fd = open(argument[0], O_RDONLY);
        void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

        if (memory == MAP_FAILED)
                return refused("mmap");
        return outcome_of(mprotect(memory, 4096, PROT_READ | PROT_EXEC), "mprotect");
}

/* "return 42", written by the program into its own memory. */
static int start_machine_code(char **argument)
{
#if defined(__aarch64__)
        static const unsigned code[] = { 0x52800540, 0xd65f03c0 };
#else
        static const unsigned char code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#endif
        void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        int (*function)(void);

        (void)argument;
        if (memory == MAP_FAILED)
                return refused("mmap");
        memcpy(memory, code, sizeof(code));
        if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) < 0)
                return refused("mprotect");
        __builtin___clear_cache(memory, (char *)memory + sizeof(code));
        memcpy(&function, &memory, sizeof(function));
        return function() == 42 ? SUCCEEDED : refused_because("call", "another answer");
}

/* GO PROGRAM */
static int start_when_told(char **argument)
{
        char ready[4200];

        snprintf(ready, sizeof(ready), "%s.ready", argument[0]);
        close(open_flags(ready, O_WRONLY | O_CREAT));
        for (int i = 0; i < 1000 && access(argument[0], F_OK) < 0; i++)
                usleep(10 * 1000);
        return start(argument[1]);
}

const struct attempt start_attempts[] = {
        { "start_path", 1, start_path },
        { "start_opened", 1, start_opened },
        { "start_opened_by_path", 1, start_opened_by_path },
        { "start_symbolic_link", 2, start_symbolic_link },
        { "start_hard_link", 2, start_hard_link },
        { "start_renamed", 2, start_renamed },
        { "start_copy", 2, start_copy },
        { "start_unnamed_copy", 2, start_unnamed_copy },
        { "start_memory_file", 1, start_memory_file },
        { "start_memory_file_by_path", 1, start_memory_file_by_path },
        { "start_shared_memory", 1, start_shared_memory },
        { "start_overwritten", 3, start_overwritten },
        { "start_replaced", 3, start_replaced },
        { "start_in_a_moved_directory", 3, start_in_a_moved_directory },
        { "start_through", 1, start_through },
        { "start_somehow", 1, start_somehow },
        { "start_preloaded", 2, start_preloaded },
        { "start_preloaded_copy", 3, start_preloaded_copy },
        { "start_mapped", 1, start_mapped },
        { "start_mapped_copy", 2, start_mapped_copy },
        { "start_protected_later", 1, start_protected_later },
        { "start_machine_code", 0, start_machine_code },
        { "start_when_told", 2, start_when_told },
        { NULL, 0, NULL },
};
