/* Attempts to type into a terminal, or to write on somebody else's. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

/* All three standard streams and the controlling terminal: one open door is enough. */
static int on_every_terminal(unsigned long request, const char *bytes, int errno_of_the_kernel,
                             const char *what)
{
        int fds[4] = { 0, 1, 2, open_flags("/dev/tty", O_RDWR) };
        for (int i = 0; i < 4; i++) {
                if (fds[i] < 0 || !isatty(fds[i]))
                        continue;
                if (syscall(SYS_ioctl, fds[i], request, bytes) >= 0 || errno == errno_of_the_kernel)
                        return SUCCEEDED;
        }
        return refused(what);
}

static int terminal_sti(char **argument)
{
        (void)argument;
        return on_every_terminal(TIOCSTI, "!", 0, "TIOCSTI");
}

/* The kernel looks at 32 bits of the request; a filter that compares 64 would let this one pass. */
static int terminal_sti_high_bits(char **argument)
{
        (void)argument;
        return on_every_terminal(0x100000000UL | TIOCSTI, "!", 0, "TIOCSTI");
}

/* Takes the terminal for a session of our own first, which makes TIOCSTI legal. */
static int terminal_sti_new_session(char **argument)
{
        (void)argument;
        if (fork() > 0) {
                usleep(300 * 1000);
                return undecided(0, "the child types");
        }
        setsid();
        ioctl(0, TIOCSCTTY, 1);
        for (int fd = 0; fd < 3; fd++)
                ioctl(fd, TIOCSTI, "!");
        _exit(0);
}

/* Steals the terminal of the caller's session. */
static int terminal_steal(char **argument)
{
        (void)argument;
        setsid();
        return outcome_of(ioctl(0, TIOCSCTTY, 1), "TIOCSCTTY");
}

/* A pseudo terminal is no console: the driver answers ENOTTY where the filter does not answer first. */
static int terminal_tioclinux(char **argument)
{
        (void)argument;
        return on_every_terminal(TIOCLINUX, "\003", ENOTTY, "TIOCLINUX");
}

static int terminal_tioclinux_high_bits(char **argument)
{
        (void)argument;
        return on_every_terminal(0x100000000UL | TIOCLINUX, "\003", ENOTTY, "TIOCLINUX");
}

static int terminal_dev_tty(char **argument)
{
        (void)argument;
        int fd = open_flags("/dev/tty", O_RDWR);
        return fd < 0 ? refused("open /dev/tty") : SUCCEEDED;
}

/* TERMINAL */
static int terminal_write_other(char **argument)
{
        int fd = open_flags(argument[0], O_WRONLY | O_NOCTTY);
        return fd < 0 ? refused("open") : outcome_of(write(fd, "escaped", 7), "write");
}

/* Makes the foreground group of the caller's terminal ours: its keys, and its signals, would come to us. */
static int terminal_foreground(char **argument)
{
        (void)argument;
        signal(SIGTTOU, SIG_IGN);
        return outcome_of(tcsetpgrp(0, getpgrp()), "TIOCSPGRP");
}

/* Open to everybody: another user could then read what is typed. */
static int terminal_chmod(char **argument)
{
        (void)argument;
        return outcome_of(fchmod(0, 0666), "fchmod");
}

const struct attempt terminal_attempts[] = {
        { "terminal_sti", 0, terminal_sti },
        { "terminal_sti_high_bits", 0, terminal_sti_high_bits },
        { "terminal_sti_new_session", 0, terminal_sti_new_session },
        { "terminal_steal", 0, terminal_steal },
        { "terminal_tioclinux", 0, terminal_tioclinux },
        { "terminal_tioclinux_high_bits", 0, terminal_tioclinux_high_bits },
        { "terminal_dev_tty", 0, terminal_dev_tty },
        { "terminal_write_other", 1, terminal_write_other },
        { "terminal_chmod", 0, terminal_chmod },
        { "terminal_foreground", 0, terminal_foreground },
        { NULL, 0, NULL },
};
