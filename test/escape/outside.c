/* The outside of the escape suite: starts a command in a prepared situation, or plays one of its victims. */
#include "outside.h"
#include "syscalls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <unistd.h>

int fail(const char *what)
{
        fprintf(stderr, "outside: %s: %s\n", what, strerror(errno));
        return 70;
}

int open_log(const char *path)
{
        int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log < 0)
                exit(fail(path));
        return log;
}

void log_line(int log, const char *text)
{
        if (write(log, text, strlen(text)) < 0)
                _exit(70);
}

int publish(const char *path, const char *text)
{
        char spare[4096];
        snprintf(spare, sizeof(spare), "%s.part", path);
        int fd = open(spare, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
                return -1;
        close(fd);
        return rename(spare, path);
}

void end_with_parent(void)
{
        pid_t parent = getppid();
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
        if (getppid() != parent)
                _exit(0);
}

static int run_command(char **command)
{
        execvp(command[0], command);
        return fail(command[0]);
}

static char **after_dashes(char **argument)
{
        while (*argument && strcmp(*argument, "--") != 0)
                argument++;
        return *argument ? argument + 1 : argument;
}

static int exit_code(int status)
{
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static pid_t spawn(char **command)
{
        pid_t child = fork();
        if (child == 0) {
                signal(SIGUSR1, SIG_DFL); /* what we ignore, the command does not */
                _exit(run_command(command));
        }
        return child;
}

/* DIRECTORY COMMAND...: stands there, and does not live for ever. The alarm stays over the exec; on a slow
 * machine it comes later. */
static int run_at(char **argument)
{
        if (chdir(argument[0]) != 0)
                return fail(argument[0]);
        alarm(getenv("ESCAPE_SECONDS") ? (unsigned)atoi(getenv("ESCAPE_SECONDS")) : 30);
        return run_command(argument + 1);
}

/* N PATH [N PATH...] -- COMMAND: with these descriptors left open, as careless launchers do. */
static int with_descriptors(char **argument)
{
        for (; argument[0] && strcmp(argument[0], "--") != 0; argument += 2) {
                int wanted = atoi(argument[0]), fd = open(argument[1], O_RDONLY);
                if (fd < 0 || dup2(fd, wanted) < 0)
                        return fail(argument[1]);
                if (fd != wanted)
                        close(fd);
        }
        return run_command(after_dashes(argument));
}

/* TYPE -- COMMAND: standard input is a socket with a peer, as from inetd. The peer stays open in the
 * launcher. */
static int with_socket(char **argument)
{
        struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t length = sizeof(address);
        int type = atoi(argument[0]), peer = socket(AF_INET, type, 0), fd = socket(AF_INET, type, 0);
        if (bind(peer, (struct sockaddr *)&address, length) != 0 ||
            (type == SOCK_STREAM && listen(peer, 1) != 0))
                return fail("listen");
        if (getsockname(peer, (struct sockaddr *)&address, &length) != 0 ||
            connect(fd, (struct sockaddr *)&address, length) != 0)
                return fail("connect");
        if (type == SOCK_STREAM && accept(peer, NULL, NULL) < 0)
                return fail("accept");
        if (dup2(fd, 0) < 0)
                return fail("dup2");
        return run_command(after_dashes(argument));
}

static int write_text(const char *path, const char *text)
{
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -1;
        ssize_t written = write(fd, text, strlen(text));
        close(fd);
        return written < 0 ? -1 : 0;
}

/* A user namespace only where it is needed; the uid maps to itself, so that files keep their owner. */
static int new_namespaces(int flags)
{
        char map[64];
        uid_t uid = geteuid();
        gid_t gid = getegid();
        if (unshare(flags | (uid ? CLONE_NEWUSER : 0)) != 0)
                return -1;
        if (uid) {
                snprintf(map, sizeof(map), "%u %u 1", uid, uid);
                if (write_text("/proc/self/setgroups", "deny") != 0 ||
                    write_text("/proc/self/uid_map", map) != 0)
                        return -1;
                snprintf(map, sizeof(map), "%u %u 1", gid, gid);
                if (write_text("/proc/self/gid_map", map) != 0)
                        return -1;
        }
        if (flags & CLONE_NEWNS)
                return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
        return 0;
}

/* An exec by an ordinary uid would lose what the new user namespace gave; ambient capabilities stay. */
static int keep_capabilities(void)
{
        struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
        struct __user_cap_data_struct data[2];
        if (syscall(SYS_capget, &header, data) != 0)
                return -1;
        data[0].inheritable = data[0].permitted;
        data[1].inheritable = data[1].permitted;
        if (syscall(SYS_capset, &header, data) != 0)
                return -1;
        for (unsigned long capability = 0; capability <= CAP_LAST_CAP; capability++)
                prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
        return 0;
}

static int not_here(const char *what)
{
        fail(what);
        return 77;
}

/* -- COMMAND: with every right, in namespaces of its own, where it can harm nobody. The exit code 77
 * means: not here. */
static int in_namespaces(char **argument)
{
        if (new_namespaces(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) != 0 || keep_capabilities() != 0)
                return not_here("unshare");
        return run_command(after_dashes(argument));
}

/* DIRECTORY -- COMMAND: with every right, where the directory is a read-only mount. */
static int on_read_only_mount(char **argument)
{
        if (new_namespaces(CLONE_NEWNS) != 0 || keep_capabilities() != 0)
                return not_here("unshare");
        if (mount(argument[0], argument[0], NULL, MS_BIND, NULL) != 0 ||
            mount(NULL, argument[0], NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
                return not_here("mount");
        return run_command(after_dashes(argument));
}

/* DIRECTORY -- COMMAND: on a machine where a filesystem with one file is mounted there; no right is kept. */
static int with_mount(char **argument)
{
        char path[4096];
        if (new_namespaces(CLONE_NEWNS) != 0)
                return not_here("unshare");
        if (mount("none", argument[0], "tmpfs", 0, NULL) != 0)
                return not_here("mount");
        snprintf(path, sizeof(path), "%s/file", argument[0]);
        if (publish(path, "original") != 0)
                return fail(path);
        return run_command(after_dashes(argument));
}

/* TREE DIRECTORY -- COMMAND: on a machine where the tree is mounted a second time; no right is kept. */
static int with_second_mount(char **argument)
{
        if (new_namespaces(CLONE_NEWNS) != 0)
                return not_here("unshare");
        if (mount(argument[0], argument[1], NULL, MS_BIND, NULL) != 0)
                return not_here("mount");
        return run_command(after_dashes(argument));
}

static pid_t spawn_victim(char *log)
{
        char ready[4096];
        char *argument[] = { log, ready, NULL };
        snprintf(ready, sizeof(ready), "%s.ready", log);
        unlink(ready);
        pid_t victim = fork();
        if (victim == 0)
                _exit(play_victim(argument));
        for (int i = 0; i < 500 && access(ready, F_OK) != 0; i++)
                usleep(5000);
        return victim;
}

static int run_beside(pid_t victim, char **command)
{
        int status = 0;
        pid_t child = spawn(command);
        waitpid(child, &status, 0);
        usleep(50 * 1000);
        kill(victim, SIGKILL);
        waitpid(victim, NULL, 0);
        return exit_code(status);
}

/* LOG -- COMMAND: in a new process group, together with a victim that logs what the group gets. */
static int in_group(char **argument)
{
        setsid();
        signal(SIGUSR1, SIG_IGN); /* we are in the group too */
        return run_beside(spawn_victim(argument[0]), after_dashes(argument));
}

/* LOG -- COMMAND: in a PID namespace with a victim, so that kill(-1) has a world to reach and spares this
 * one. */
static int in_pid_namespace(char **argument)
{
        int status = 0;
        if (new_namespaces(CLONE_NEWPID) != 0)
                return not_here("unshare");
        pid_t init = fork();
        if (init == 0)
                _exit(run_beside(spawn_victim(argument[0]), after_dashes(argument)));
        waitpid(init, &status, 0);
        return exit_code(status);
}

static void copy_output(int master)
{
        char bytes[4096];
        struct pollfd polled = { .fd = master, .events = POLLIN };
        while (poll(&polled, 1, 0) > 0 && (polled.revents & POLLIN)) {
                ssize_t length = read(master, bytes, sizeof(bytes));
                if (length <= 0 || write(STDOUT_FILENO, bytes, (size_t)length) < 0)
                        return;
        }
}

static pid_t spawn_on_terminal(int slave, char **command)
{
        pid_t child = fork();
        if (child != 0)
                return child;
        setsid();
        if (ioctl(slave, TIOCSCTTY, 0) != 0)
                _exit(fail("TIOCSCTTY"));
        for (int fd = 0; fd < 3; fd++)
                dup2(slave, fd);
        _exit(run_command(command));
}

/* LOG -- COMMAND: on a terminal of its own; what was typed into it by force goes to the log, and a new
 * mode too. */
static int on_terminal(char **argument)
{
        struct stat before, after;
        int status = 0, log = open_log(argument[0]);
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
                return fail("open a terminal");
        int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
        struct termios mode;
        if (slave < 0 || tcgetattr(slave, &mode) != 0)
                return fail("open the terminal's other end");
        cfmakeraw(&mode);
        mode.c_cc[VMIN] = mode.c_cc[VTIME] = 0;
        tcsetattr(slave, TCSANOW, &mode);
        fstat(slave, &before);
        pid_t child = spawn_on_terminal(slave, after_dashes(argument));
        while (waitpid(child, &status, WNOHANG) == 0) {
                copy_output(master);
                usleep(2000);
        }
        copy_output(master);
        char typed[64];
        fstat(slave, &after);
        if (before.st_mode != after.st_mode)
                log_line(log, "the mode of the terminal was changed\n");
        ssize_t length = read(slave, typed, sizeof(typed));
        if (length > 0 && write(log, typed, (size_t)length) < 0)
                return fail("log");
        return exit_code(status);
}

/* FILE: gives it a file capability that has no use here (CAP_WAKE_ALARM), in the on-disk form of revision
 * 2. */
static int set_capability(char **argument)
{
        const unsigned char capability[20] = { 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 8 };
        if (setxattr(argument[0], "security.capability", capability, sizeof(capability), 0) != 0)
                return fail("setxattr");
        return 0;
}

/* FILE: marks it with the attribute that the attempts look for. */
static int set_attribute(char **argument)
{
        return setxattr(argument[0], "user.escape", SECRET, strlen(SECRET), 0) != 0 ? fail("setxattr") : 0;
}

/* PATH: its file handle, as "TYPE HEX". */
static int show_handle(char **argument)
{
        union {
                struct file_handle handle;
                char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } made = { .handle.handle_bytes = MAX_HANDLE_SZ };
        int mount_id = 0;
        if (name_to_handle_at(AT_FDCWD, argument[0], &made.handle, &mount_id, 0) != 0)
                return fail("name_to_handle_at");
        printf("%d ", made.handle.handle_type);
        for (unsigned int i = 0; i < made.handle.handle_bytes; i++)
                printf("%02x", made.handle.f_handle[i]);
        putchar('\n');
        return 0;
}

/* NAME: a secret in the user's keyring, which forgets it by itself. */
static int put_key(char **argument)
{
        long key = syscall(SYS_add_key, "user", argument[0], SECRET, strlen(SECRET), -4 /* user keyring */);
        if (key < 0 || syscall(SYS_keyctl, 15 /* set timeout */, key, 300, 0, 0) != 0)
                return fail("add_key");
        return 0;
}

static const struct {
        const char *name;
        int arguments;
        int (*run)(char **argument);
} roles[] = {
        { "state", 1, show_state },
        { "fresh", 4, make_fresh },
        { "at", 2, run_at },
        { "process", 1, show_process },
        { "handle", 1, show_handle },
        { "victim", 2, play_victim },
        { "servers", 4, play_servers },
        { "ipc", 2, play_ipc },
        { "terminal", 2, play_terminal },
        { "fd", 4, with_descriptors },
        { "socket", 3, with_socket },
        { "namespaces", 2, in_namespaces },
        { "read-only-mount", 3, on_read_only_mount },
        { "mount", 3, with_mount },
        { "second-mount", 4, with_second_mount },
        { "group", 3, in_group },
        { "pid-namespace", 3, in_pid_namespace },
        { "on-terminal", 3, on_terminal },
        { "capability", 1, set_capability },
        { "attribute", 1, set_attribute },
        { "key", 1, put_key },
};

int main(int argc, char **argv)
{
        for (size_t i = 0; argc >= 2 && i < sizeof(roles) / sizeof(roles[0]); i++)
                if (strcmp(roles[i].name, argv[1]) == 0 && argc - 2 >= roles[i].arguments)
                        return roles[i].run(argv + 2);
        fprintf(stderr, "usage: outside ROLE ARGUMENT...\n");
        return 70;
}
