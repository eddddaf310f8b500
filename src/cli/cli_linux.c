/* cli_linux.c: what the command line asks of Linux. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"

/* Theirs are ours. */
void read_path(char *word)
{
        (void)word;
}

const char *own_program(void)
{
        return (const char *)getauxval(AT_EXECFN);
}

const char *own_interpreter(void)
{
        static char path[PATH_MAX];
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

        return length > 0 ? path : NULL;
}

int scratch_open(char path[SCRATCH_PATH_SIZE])
{
        int fd = memfd_create("abatis", 0);

        snprintf(path, SCRATCH_PATH_SIZE, "/proc/self/fd/%d", fd);
        return fd;
}

int signals_open(const sigset_t *held)
{
        return signalfd(-1, held, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_take(int signals, const sigset_t *held)
{
        struct signalfd_siginfo info;

        (void)held;
        return read(signals, &info, sizeof(info)) == sizeof(info) ? (int)info.ssi_signo : 0;
}
