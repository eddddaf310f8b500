/* trial_ways_linux.c: what is tried, one system call or few at a time: in the process that runs inside. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/trial_sockets.h"
#include "cli/trials.h"

enum { HANGS_S = 20, KIB = 1024, MIB = 1024 * 1024, CHOSEN = 6 /* letters, by mkdtemp() */ };

static int number(const char *text)
{
        return (int)strtol(text, NULL, 10);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static int read_file(const char *path)
{
        char byte;
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -1 : (int)read(fd, &byte, 1);
}

static int open_to_write(const char *path)
{
        return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
}

static int cut(const char *path)
{
        return truncate(path, 0);
}

static int cut_by_open(const char *path)
{
        return open(path, O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static int make(const char *path)
{
        return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int delete (const char *path)
{
        return unlink(path);
}

static int rename_away(const char *path)
{
        char other[TRIAL_PATH + 8];

        snprintf(other, sizeof(other), "%s.moved", path);
        return rename(path, other);
}

static int change_mode(const char *path)
{
        return chmod(path, 0666);
}

static int change_times(const char *path)
{
        const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

        return utimensat(AT_FDCWD, path, times, 0);
}

static int look_at(const char *path)
{
        struct stat status;

        return stat(path, &status);
}

static int use_device(const char *path)
{
        return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
}

/* ---- processes ------------------------------------------------------------------------------------------ */

/* What a child of its own says. */
static int end_of(pid_t child)
{
        int status;

        if (child < 0 || waitpid(child, &status, 0) < 0)
                return -1;
        errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
        return errno ? -1 : 0;
}

/* A copy of this program. That it was not started is told by who should have become it, and not by an exit code. */
static int start(const char *path)
{
        int ends[2], error = 0, status;
        pid_t child;

        if (pipe2(ends, O_CLOEXEC) < 0)
                return -1;
        child = fork();
        if (!child) {
                execl(path, path, "doctor-inside", (char *)NULL);
                error = errno;
                while (write(ends[1], &error, sizeof(error)) < 0 && errno == EINTR)
                        ;
                _exit(1);
        }
        close(ends[1]);
        if (child > 0 && read(ends[0], &error, sizeof(error)) != sizeof(error))
                error = 0;
        close(ends[0]);
        if (child < 0 || waitpid(child, &status, 0) < 0)
                return -1;
        errno = error;
        return error ? -1 : 0;
}

/* No signal: only whether one might be sent. */
static int ask_for(const char *pid)
{
        return kill(number(pid), 0);
}

static int trace(const char *pid)
{
        if (ptrace(PTRACE_SEIZE, number(pid), NULL, NULL) < 0)
                return -1;
        ptrace(PTRACE_INTERRUPT, number(pid), NULL, NULL);
        waitpid(number(pid), NULL, __WALL);
        return (int)ptrace(PTRACE_DETACH, number(pid), NULL, NULL);
}

static void stay_by(int lock, const char *path, int ready)
{
        /* The longest that anybody is left of it, should all else fail. */
        const struct timespec slice = { .tv_nsec = 20 * 1000 * 1000 };

        setsid();
        if (fork())
                _exit(0);
        for (int i = 1; i < NSIG; i++)
                (void)signal(i, SIG_IGN);
        (void)signal(SIGALRM, SIG_DFL);
        alarm(HANGS_S);
        if (flock(lock, LOCK_EX | LOCK_NB) < 0 || write(ready, "", 1) != 1)
                _exit(1);
        close(ready);
        close(1);
        close(2);
        while (!access(path, F_OK))
                nanosleep(&slice, NULL);
        _exit(0);
}

/* A process that nobody waits for, deaf to what can be ignored, has a lock until its file is gone. */
static int stay(const char *path)
{
        int ready[2], lock = open(path, O_RDONLY | O_CLOEXEC);
        char byte;

        if (lock < 0 || pipe(ready) < 0)
                return -1;
        if (!fork())
                stay_by(lock, path, ready[1]);
        close(ready[1]);
        close(lock);
        errno = EIO;
        return read(ready[0], &byte, 1) == 1 ? 0 : -1;
}

/* A directory for temporary files that can be written: where there are no mounts, the job's own is not /tmp. */
static int open_temporary(const char *path, int flags, char out[PATH_MAX])
{
        const char *name = strrchr(path, '/'), *directory = getenv("TMPDIR");
        int fd;

        snprintf(out, PATH_MAX, "%s", path);
        fd = open(out, flags | O_CLOEXEC, 0600);
        if (fd >= 0 || errno == EEXIST || !directory || !name)
                return fd;
        snprintf(out, PATH_MAX, "%s%s", directory, name);
        return open(out, flags | O_CLOEXEC, 0600);
}

static void stay_for(const char *path)
{
        const struct timespec slice = { .tv_nsec = 20 * 1000 * 1000 };

        close(0);
        close(1);
        close(2);
        setsid();
        alarm(HANGS_S);
        while (!access(path, F_OK))
                nanosleep(&slice, NULL);
        _exit(0);
}

/* The second time: whether the first one's file is there, and the process that it has left. */
static int meet(const char *what)
{
        char path[PATH_MAX];
        pid_t pid = 0;
        int fd = open_temporary(what, O_RDONLY, path);
        ssize_t got = fd < 0 ? -1 : read(fd, &pid, sizeof(pid));

        if (got == (ssize_t)sizeof(pid))
                return kill(pid, 0);
        fd = open_temporary(what, O_WRONLY | O_CREAT | O_EXCL, path);
        if (fd < 0)
                return -1;
        pid = fork();
        if (!pid)
                stay_for(path);
        got = write(fd, &pid, sizeof(pid));
        errno = got == (ssize_t)sizeof(pid) ? EAGAIN : EIO;
        return -1;
}

static int attach_memory(const char *key)
{
        int id = shmget(number(key), 0, 0);

        return id < 0 || shmat(id, NULL, SHM_RDONLY) == (void *)-1 ? -1 : 0;
}

static int has_descriptor(const char *fd)
{
        return fcntl(number(fd), F_GETFD);
}

static int has_variable(const char *name)
{
        errno = ENOENT;
        return getenv(name) ? 0 : -1;
}

/* Whether a set-uid program would be one. */
static int can_gain(const char *unused)
{
        (void)unused;
        errno = EPERM;
        return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) ? -1 : 0;
}

/* A file that acts for who has made it. */
static int make_set_uid(const char *path)
{
        return chmod(path, 04755);
}

static int has_capability(const char *name)
{
        const struct {
                uint32_t version;
                int pid;
        } header = { 0x20080522, 0 };
        struct {
                uint32_t effective, permitted, inheritable;
        } sets[2] = { { 0 } };
        int capability = number(name);

        if (syscall(SYS_capget, &header, sets) < 0)
                return -1;
        errno = EPERM;
        return sets[capability / 32].permitted >> (capability % 32) & 1 ? 0 : -1;
}

static int add_key(const char *name)
{
        enum { PROCESS_KEYRING = -2 };

        return (int)syscall(SYS_add_key, "user", name, "x", 1, PROCESS_KEYRING);
}

static int make_ring(const char *unused)
{
        enum { IO_URING_SETUP = 425 };
        uint32_t parameters[30] = { 0 };

        (void)unused;
        return (int)syscall(IO_URING_SETUP, 1, parameters);
}

/* A call whose arguments a filter cannot see. */
static int open_by_newer_call(const char *path)
{
        enum { OPENAT2 = 437 };
        const uint64_t how[3] = { O_RDONLY | O_CLOEXEC };

        return (int)syscall(OPENAT2, AT_FDCWD, path, how, sizeof(how));
}

static int make_namespace(const char *unused)
{
        pid_t child = fork();

        (void)unused;
        if (!child)
                _exit(unshare(CLONE_NEWUSER) < 0 ? errno : 0);
        return end_of(child);
}

/* ---- the terminal --------------------------------------------------------------------------------------- */

/* What few programs need. */
static int make_pair(const char *unused)
{
        int pair[2], r = socketpair(AF_UNIX, SOCK_STREAM, 0, pair);

        (void)unused;
        if (!r)
                r = close(pair[0]) | close(pair[1]);
        return r;
}

static int lock_file(const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -1 : flock(fd, LOCK_SH), error = errno;

        if (fd >= 0)
                close(fd);
        errno = error;
        return r;
}

/* Memory that was written becomes code: at once, or later. Not by mmap(), which may say something else than the kernel. */
static int make_code(const char *when)
{
        const int code = strcmp(when, "at-once") ? 0 : PROT_EXEC;
        long memory = syscall(SYS_mmap, NULL, 4L * KIB, PROT_READ | PROT_WRITE | code,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1L, 0L);

        if (memory == -1)
                return -1;
        memset((void *)memory, 0, 4 * KIB);
        return code ? 0 : mprotect((void *)memory, 4 * KIB, PROT_READ | PROT_EXEC);
}

static int open_terminal(const char *path)
{
        return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* As if somebody had typed it. */
static int type_into(const char *text)
{
        return ioctl(0, TIOCSTI, text);
}

/* ---- limits --------------------------------------------------------------------------------------------- */

static int open_many(const char *count)
{
        int fds[256], opened = 0, error;

        while (opened < number(count) && opened < 256 &&
               (fds[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
                opened++;
        error = errno;
        for (int i = 0; i < opened; i++)
                close(fds[i]);
        errno = error;
        return opened == number(count) ? 0 : -1;
}

/* The second number of "AMOUNT MILLISECONDS": what is counted now and then must be there for a while. */
static int hold(const char *text)
{
        const char *second = strchr(text, ' ');
        long time = second ? strtol(second, NULL, 10) : 0;
        const struct timespec span = { time / 1000, time % 1000 * 1000 * 1000 };

        return nanosleep(&span, NULL);
}

/* So many MiB in pieces; the file is deleted at once. */
static int write_much(const char *path, int mib, bool syncs)
{
        static char piece[64 * KIB];
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0)
                return -1;
        unlink(path);
        (void)signal(SIGXFSZ, SIG_IGN);
        memset(piece, 'x', sizeof(piece));
        for (int i = 0; i < mib * MIB / (int)sizeof(piece); i++)
                if (write(fd, piece, sizeof(piece)) != (ssize_t)sizeof(piece)) {
                        int error = errno;

                        close(fd);
                        errno = error;
                        return -1;
                }
        return (syncs ? fdatasync(fd) : 0) | close(fd);
}

static int write_large(const char *mib)
{
        return write_much("large", number(mib), false);
}

/* Done only if it went to storage, which the kernel counts. */
static int write_to_storage(const char *mib)
{
        char line[80];
        long long written = 0;
        FILE *file;

        if (write_much("large", number(mib), true) < 0)
                return -1;
        file = fopen("/proc/self/io", "re");
        while (file && fgets(line, sizeof(line), file))
                if (!strncmp(line, "write_bytes: ", strlen("write_bytes: ")))
                        written = strtoll(line + strlen("write_bytes: "), NULL, 10);
        if (file)
                fclose(file);
        errno = ENODEV;
        return written >= (long long)number(mib) * MIB ? hold(mib) : -1;
}

static int fork_many(const char *count)
{
        int gate[2], error = 0;
        char byte;

        if (pipe(gate) < 0)
                return -1;
        for (int i = number(count); i > 0 && !error; i--) {
                pid_t child = fork();

                if (!child) {
                        close(gate[1]);
                        _exit(read(gate[0], &byte, 1) < 0);
                }
                error = child < 0 ? errno : 0;
        }
        close(gate[1]);
        while (wait(NULL) > 0)
                ;
        errno = error;
        return error ? -1 : 0;
}

static int fill_memory(const char *mib)
{
        size_t size = (size_t)number(mib) * MIB;
        char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory == MAP_FAILED)
                return -1;
        for (size_t i = 0; i < size; i += 4 * KIB)
                memory[i] = 'x';
        return hold(mib);
}

static int burn(const char *milliseconds)
{
        struct timespec used;

        do
                if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) < 0)
                        return -1;
        while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < number(milliseconds));
        return 0;
}

static int wait_for(const char *milliseconds)
{
        const struct timespec time = { number(milliseconds) / 1000,
                                       number(milliseconds) % 1000 * 1000L * 1000 };

        return nanosleep(&time, NULL);
}

static int say_much(const char *kib)
{
        char line[KIB];

        memset(line, 'x', sizeof(line));
        line[sizeof(line) - 1] = '\n';
        for (int i = number(kib); i > 0; i--)
                if (fwrite(line, sizeof(line), 1, stdout) != 1)
                        return -1;
        return 0;
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

static const struct way {
        const char *name;
        int (*go)(const char *what);
        int errors[6]; /* how it is refused */
} ways[] = {
        { "read", read_file, { EACCES, EPERM, ENOENT } },
        { "write", open_to_write, { EACCES, EPERM, EROFS, ENOENT } },
        { "truncate", cut, { EACCES, EPERM, EROFS, ENOENT } },
        { "truncate-by-open", cut_by_open, { EACCES, EPERM, EROFS, ENOENT } },
        { "make", make, { EACCES, EPERM, EROFS, ENOENT } },
        { "delete", delete, { EACCES, EPERM, EROFS, EBUSY, ENOENT } },
        { "rename", rename_away, { EACCES, EPERM, EROFS, EBUSY, EXDEV, ENOENT } },
        { "chmod", change_mode, { EACCES, EPERM, EROFS, ENOENT } },
        { "utime", change_times, { EACCES, EPERM, EROFS, ENOENT } },
        { "look", look_at, { EACCES, EPERM, ENOENT } },
        { "device", use_device, { EACCES, EPERM, ENOENT, ENXIO } },
        { "start", start, { EACCES, EPERM } },
        { "signal", ask_for, { EPERM, ESRCH } },
        { "trace", trace, { EPERM, ESRCH, EACCES } },
        { "stay", stay, { 0 } },
        { "memory", attach_memory, { ENOENT, EACCES, EPERM, ENOSYS } },
        { "descriptor", has_descriptor, { EBADF } },
        { "variable", has_variable, { ENOENT } },
        { "gain", can_gain, { EPERM } },
        { "set-uid", make_set_uid, { EPERM, EACCES } },
        { "capability", has_capability, { EPERM } },
        { "key", add_key, { EPERM, ENOSYS, EACCES } },
        { "ring", make_ring, { ENOSYS, EPERM } },
        { "openat2", open_by_newer_call, { ENOSYS, EPERM } },
        { "namespace", make_namespace, { EPERM, ENOSYS, EACCES } },
        { "pair", make_pair, { EPERM } },
        { "lock", lock_file, { EPERM } },
        { "code", make_code, { EPERM } },
        { "terminal", open_terminal, { ENXIO, EACCES, EPERM, ENOENT } },
        { "type", type_into, { EPERM, EACCES } },
        { "tcp", socket_stream, { ECONNREFUSED, EACCES, EPERM, ENETUNREACH, EAFNOSUPPORT } },
        { "udp", socket_datagram, { ECONNREFUSED, EACCES, EPERM, ENETUNREACH, EAFNOSUPPORT } },
        { "unix", socket_path, { EACCES, EPERM, ENOENT, EAFNOSUPPORT, ECONNREFUSED } },
        { "abstract", socket_abstract, { EACCES, EPERM, ECONNREFUSED, EAFNOSUPPORT } },
        { "loopback", socket_loopback, { 0 } },
        { "streams", socket_streams, { ECONNREFUSED, ECONNRESET } },
        { "published", socket_published, { ECONNRESET } },
        { "meet", meet, { 0 } },
        { "files", open_many, { EMFILE } },
        { "size", write_large, { EFBIG } },
        { "storage", write_to_storage, { 0 } },
        { "forks", fork_many, { EAGAIN, EPERM, ENOSYS } },
        { "fill", fill_memory, { ENOMEM } },
        { "burn", burn, { 0 } },
        { "wait", wait_for, { 0 } },
        { "say", say_much, { 0 } },
};

#define WAY_COUNT (sizeof(ways) / sizeof(*ways))

static const struct way *find_way(const char *name)
{
        for (size_t i = 0; i < WAY_COUNT; i++)
                if (!strcmp(ways[i].name, name))
                        return &ways[i];
        return NULL;
}

bool way_is_refused_with(const char *name, int error)
{
        const struct way *way = find_way(name);

        for (size_t i = 0; way && error && i < sizeof(way->errors) / sizeof(*way->errors); i++)
                if (way->errors[i] == error)
                        return true;
        return false;
}

/* In a list of commands, abatis is no program that writes, connects and traces for whoever names it. */
static bool is_copy(void)
{
        static const char *const names[] = { "/bin/probe", "/bin/other", "/outside/program" };
        char path[PATH_MAX] = "";
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

        for (size_t i = 0; length > 0 && i < sizeof(names) / sizeof(*names); i++) {
                ssize_t start = length - (ssize_t)(strlen(names[i]) + strlen("/" WORLD_NAME));

                if (start >= 0 && !strcmp(path + length - strlen(names[i]), names[i]) &&
                    !strncmp(path + start, "/" WORLD_NAME, strlen("/" WORLD_NAME) - CHOSEN))
                        return true;
        }
        return false;
}

int cmd_doctor_inside(char **argv)
{
        if (!is_copy())
                return complain("doctor-inside is for the copies that 'abatis doctor --test' makes");
        /* A way that hangs is one that proves nothing. */
        alarm(HANGS_S);
        for (; argv[0] && argv[1]; argv += 2) {
                const struct way *way = find_way(argv[0]);

                errno = EINVAL;
                printf("%d\n", !way || way->go(argv[1]) < 0 ? errno : 0);
                fflush(stdout);
        }
        return 0;
}
