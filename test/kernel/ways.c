/* ways.c: one system call at a time, for a machine that has only a small shell.
 *
 *   ways WAY WHAT          prints "done", or why not
 *   ways < LIST            the same for each line of a list */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* The end of an abstract socket's name, or a path if it begins with a slash. */
static long reach(const char *name, int does_serve)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int is_abstract = *name != '/';
        socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);

        strcpy(address.sun_path + is_abstract, name);
        if (fd < 0)
                return -1;
        if (!does_serve)
                return connect(fd, (struct sockaddr *)&address, length);
        if (bind(fd, (struct sockaddr *)&address, length) || listen(fd, 5))
                return -1;
        for (;;)
                close(accept(fd, NULL, NULL));
}

static long connect_abstract(const char *what)
{
        return reach(what, 0);
}

static long serve_abstract(const char *what)
{
        return reach(what, 1);
}

/* A server of TCP on the loopback, for as long as it is wanted. */
static long serve_port(const char *what)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((in_port_t)atoi(what)),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);

        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 5) ||
            bind(datagrams, (struct sockaddr *)&address, sizeof(address)))
                return -1;
        for (;;) {
                int peer = accept(fd, NULL, NULL);

                if (write(peer, "hello\n", 6) != 6)
                        perror("write");
                close(peer);
        }
}

static long connect_port(const char *what)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((in_port_t)atoi(what)),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        char byte;
        int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
                return -1;
        errno = ECONNRESET;
        return read(fd, &byte, 1) == 1 ? 0 : -1;
}

/* A second datagram to a port that nobody has is refused: the first tells so. */
static long send_datagram(const char *what)
{
        struct sockaddr_in address = { .sin_family = AF_INET,
                                       .sin_port = htons((in_port_t)atoi(what)),
                                       .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int fd = socket(AF_INET, SOCK_DGRAM, 0);

        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) || send(fd, "x", 1, 0) != 1)
                return -1;
        usleep(20000);
        return send(fd, "x", 1, 0) == 1 ? 0 : -1;
}

static long kill_one(const char *what)
{
        return kill(atoi(what), SIGKILL);
}

static long kill_thread(const char *what)
{
        return syscall(SYS_tgkill, atoi(what), atoi(what), SIGKILL);
}

static long kill_group(const char *what)
{
        return kill(-atoi(what), SIGKILL);
}

/* No signal: only whether one might be sent. */
static long ask_for_one(const char *what)
{
        return kill(atoi(what), 0);
}

static long trace(const char *what)
{
        pid_t pid = atoi(what);

        if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
                return -1;
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
        waitpid(pid, NULL, __WALL);
        return ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

static long read_file(const char *what)
{
        char byte;
        int fd = open(what, O_RDONLY);

        return fd < 0 ? -1 : read(fd, &byte, 1);
}

static long write_file(const char *what)
{
        return open(what, O_WRONLY);
}

static long truncate_file(const char *what)
{
        return truncate(what, 0);
}

static long truncate_by_open(const char *what)
{
        return open(what, O_RDONLY | O_TRUNC);
}

static long make_file(const char *what)
{
        return open(what, O_RDONLY | O_TRUNC | O_CREAT, 0644);
}

static long change_mode(const char *what)
{
        return chmod(what, 0666);
}

static long change_times(const char *what)
{
        const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

        return utimensat(AT_FDCWD, what, times, 0);
}

static long move(const char *what)
{
        char other[4096];

        snprintf(other, sizeof(other), "%s.moved", what);
        return rename(what, other);
}

static long status(const char *what)
{
        struct stat text;

        return stat(what, &text);
}

/* A device that is opened and read: every node for it may be there, and not work. */
static long read_device(const char *what)
{
        char byte;
        int fd = open(what, O_RDWR);

        return fd < 0 ? -1 : write(fd, &byte, 1);
}

static long attach_memory(const char *what)
{
        int id = shmget(atoi(what), 0, 0);

        return id < 0 || shmat(id, NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0;
}

static long make_memory(const char *what)
{
        return shmget(atoi(what), 4096, IPC_CREAT | 0666);
}

static long has_descriptor(const char *what)
{
        return fcntl(atoi(what), F_GETFD);
}

static long has_variable(const char *what)
{
        errno = ENOENT;
        return getenv(what) ? 0 : -1;
}

static long add_key(const char *what)
{
        return syscall(SYS_add_key, "user", what, "x", 1, KEY_SPEC_PROCESS_KEYRING);
}

/* Whether this user is one. */
static long is_user(const char *what)
{
        errno = EPERM;
        return geteuid() == (uid_t)atoi(what) ? 0 : -1;
}

static long has_capability(const char *what)
{
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
        int capability = atoi(what);

        if (syscall(SYS_capget, &header, sets))
                return -1;
        errno = EPERM;
        return sets[capability / 32].permitted >> (capability % 32) & 1 ? 0 : -1;
}

/* A byte typed into a terminal of one's own, of which the child has made the other side its session's. */
static long type_into_terminal(const char *what)
{
        int master = open("/dev/ptmx", O_RDWR | O_NOCTTY), code = 0, zero = 0;
        pid_t child;

        if (master < 0 || ioctl(master, TIOCSPTLCK, &zero))
                return -1;
        child = fork();
        if (child == 0) {
                int terminal = (setsid(), ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY));

                if (terminal < 0 || ioctl(terminal, TIOCSCTTY, 0) || ioctl(terminal, TIOCSTI, what))
                        _exit(errno);
                _exit(0);
        }
        waitpid(child, &code, 0);
        close(master);
        errno = WIFEXITED(code) ? WEXITSTATUS(code) : EINTR;
        return code ? -1 : 0;
}

static long run(const char *program, const char *way, const char *what)
{
        int code = 0;
        pid_t child = fork();

        if (child == 0) {
                close(1);
                execl(program, program, way, what, (char *)NULL);
                _exit(errno);
        }
        if (child < 0)
                return -1;
        waitpid(child, &code, 0);
        errno = WIFEXITED(code) ? WEXITSTATUS(code) : EINTR;
        return code ? -1 : 0;
}

/* A copy of this program that belongs to root and is set-uid. */
static long become_root(const char *what)
{
        return run(what, "is_user", "0");
}

/* A copy of this program that no list names. */
static long start(const char *what)
{
        return run(what, "status", "/");
}

/* A process that nobody waits for, deaf to what can be ignored, holds a lock for a minute. */
static long stay(const char *what)
{
        int ready[2];
        char byte;

        if (pipe(ready))
                return -1;
        if (fork() == 0) {
                int fd = open(what, O_RDONLY);

                setsid();
                if (fork() != 0)
                        _exit(0);
                for (int i = 1; i < NSIG; i++)
                        signal(i, SIG_IGN);
                if (flock(fd, LOCK_EX | LOCK_NB) == 0 && write(ready[1], "x", 1) == 1)
                        sleep(60);
                _exit(0);
        }
        close(ready[1]);
        errno = EIO;
        return read(ready[0], &byte, 1) == 1 ? 0 : -1;
}

/* Whether somebody holds it. */
static long is_held(const char *what)
{
        int fd = open(what, O_RDONLY);

        if (fd < 0)
                return -1;
        if (flock(fd, LOCK_EX | LOCK_NB))
                return 0;
        errno = ENOLCK;
        return -1;
}

static long open_many(const char *what)
{
        for (int i = atoi(what); i > 0; i--)
                if (open("/bin/ways", O_RDONLY) < 0)
                        return -1;
        return 0;
}

/* So many KiB in the file "large". */
static long write_much(const char *what)
{
        static char piece[1024];
        int fd = open("large", O_WRONLY | O_CREAT | O_TRUNC, 0644);

        signal(SIGXFSZ, SIG_IGN);
        for (int i = atoi(what); i > 0; i--)
                if (write(fd, piece, sizeof(piece)) != sizeof(piece))
                        return -1;
        return 0;
}

static long fork_many(const char *what)
{
        int gate[2], error = 0;
        char byte;

        if (pipe(gate))
                return -1;
        for (int i = atoi(what); i > 0 && !error; i--) {
                pid_t child = fork();

                if (child == 0) {
                        close(gate[1]);
                        _exit(read(gate[0], &byte, 1) < 0);
                }
                if (child < 0)
                        error = errno;
        }
        close(gate[1]);
        while (wait(NULL) > 0)
                ;
        errno = error;
        return error ? -1 : 0;
}

static const struct {
        const char *name;
        long (*go)(const char *what);
} ways[] = {
        { "kill", kill_one },
        { "tgkill", kill_thread },
        { "group", kill_group },
        { "ask", ask_for_one },
        { "trace", trace },
        { "read", read_file },
        { "write", write_file },
        { "truncate", truncate_file },
        { "open", truncate_by_open },
        { "make", make_file },
        { "chmod", change_mode },
        { "utime", change_times },
        { "move", move },
        { "status", status },
        { "device", read_device },
        { "connect", connect_abstract },
        { "serve", serve_abstract },
        { "port", connect_port },
        { "datagram", send_datagram },
        { "serve_port", serve_port },
        { "memory", attach_memory },
        { "make_memory", make_memory },
        { "descriptor", has_descriptor },
        { "variable", has_variable },
        { "key", add_key },
        { "is_user", is_user },
        { "capability", has_capability },
        { "type", type_into_terminal },
        { "root", become_root },
        { "start", start },
        { "stay", stay },
        { "held", is_held },
        { "files", open_many },
        { "size", write_much },
        { "forks", fork_many },
};

static long go(const char *way, const char *what)
{
        for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
                if (!strcmp(ways[i].name, way))
                        return ways[i].go(what);
        errno = EINVAL;
        return -1;
}

static int try(const char *way, const char *what)
{
        long r = go(way, what);

        printf("%s\n", r < 0 ? strerror(errno) : "done");
        fflush(stdout);
        return r < 0;
}

int main(int argc, char **argv)
{
        char way[32], what[200];

        if (argc == 3)
                return try(argv[1], argv[2]);
        while (scanf("%31s %199s", way, what) == 2)
                try(way, what);
        return 0;
}
