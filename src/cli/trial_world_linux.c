/* trial_world_linux.c: makes what attempts are about, and takes it away again. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/trial_sockets.h"
#include "cli/trials.h"

/* A socket's path has no more than 108 bytes. */
enum { LONGEST_PLACE = 72 };

/* Of the workspace and beside it: one for each way that changes something. */
static const char *const files[] = { "ws/file",       "ws/secret",     "ws/kept",       "ws/doctor.env",
                                     "ws/lock",       "outside/read",  "outside/open",  "outside/cut",
                                     "outside/cut2",  "outside/gone",  "outside/moved", "outside/mode",
                                     "outside/times", "outside/secret" };
static const char *const results[] = { "ws/new", "ws/absent", "ws/sub/doctor.env", "outside/new" };
static const char *const directories[] = { "ws", "ws/sub", "outside", "bin" };

/* Whoever may open one of them outside should not inside; to open it does nothing. */
static const char *const devices[] = { "/dev/fuse",  "/dev/net/tun", "/dev/kvm",
                                       "/dev/vsock", "/dev/kmsg",    "/dev/dri/renderD128" };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static int report(abatis_error *err, int error, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

static int report(abatis_error *err, int error, const char *format, ...)
{
        va_list arguments;
        size_t length;

        *err = (abatis_error){ .code = ABATIS_E_SYSTEM, .os_errno = error };
        va_start(arguments, format);
        vsnprintf(err->message, sizeof(err->message), format, arguments);
        va_end(arguments);
        length = strlen(err->message);
        if (error)
                snprintf(err->message + length, sizeof(err->message) - length, ": %s", strerror(error));
        return -1;
}

static void place(const struct trial_world *world, const char *name, char out[TRIAL_PATH])
{
        snprintf(out, TRIAL_PATH, "%s/%s", world->root, name);
}

/* ---- making it ------------------------------------------------------------------------------------------ */

static int copy_program(const char *path)
{
        static char piece[64 * 1024];
        int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
        ssize_t got = -1;

        while (from >= 0 && to >= 0 && (got = read(from, piece, sizeof(piece))) > 0)
                if (write(to, piece, (size_t)got) != got) {
                        got = -1;
                        break;
                }
        if (from >= 0)
                close(from);
        if (to >= 0)
                close(to);
        return got < 0 ? -1 : 0;
}

/* It lies where programs can be started. */
static bool can_start(const char *path)
{
        int status = -1;
        pid_t child = fork();

        if (!child) {
                execl(path, path, "doctor-inside", (char *)NULL);
                _exit(1);
        }
        return child > 0 && waitpid(child, &status, 0) == child && !status;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
        (void)status;
        (void)kind;
        (void)where;
        remove(path);
        return 0;
}

static void remove_tree(const char *path)
{
        nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool fill(struct trial_world *world)
{
        char path[TRIAL_PATH];

        for (size_t i = 0; i < COUNT(directories); i++) {
                place(world, directories[i], path);
                if (mkdir(path, 0755) < 0)
                        return false;
        }
        place(world, "outside/program", path);
        if (copy_program(path) < 0)
                return false;
        place(world, "bin/other", path);
        if (copy_program(path) < 0)
                return false;
        place(world, "bin/probe", path);
        return !copy_program(path) && can_start(path);
}

/* So that it means the same in a policy, in a report, and as it is. */
static bool is_plain(const char *path)
{
        return !path[strspn(path, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+")];
}

/* Nobody but root can put another directory in the place of one that is made there. In some user namespaces root's files are nobody's, as the
 * root directory is. */
static bool is_ours(const char *real)
{
        char path[PATH_MAX];
        struct stat status, top;

        if (stat("/", &top) < 0)
                return false;
        snprintf(path, sizeof(path), "%s", real);
        for (;;) {
                char *slash = strrchr(path, '/');

                if (stat(*path ? path : "/", &status) < 0 ||
                    (status.st_uid && status.st_uid != geteuid() && status.st_uid != top.st_uid) ||
                    (status.st_mode & (S_IWGRP | S_IWOTH) && !(status.st_mode & S_ISVTX)))
                        return false;
                if (!slash)
                        return true;
                *slash = '\0';
        }
}

/* A private one is in its place inside, so that nothing is to be found there, whatever else would hold it. */
static bool is_replaced_inside(const char *real)
{
        static const char *const places[] = { "/tmp", "/dev", "/proc" };

        for (size_t i = 0; i < COUNT(places); i++) {
                const size_t length = strlen(places[i]);

                if (!strncmp(real, places[i], length) && (real[length] == '/' || !real[length]))
                        return true;
        }
        return false;
}

static bool make_at(struct trial_world *world, const char *parent)
{
        char path[PATH_MAX + 32], real[PATH_MAX];
        mode_t before;
        bool is_made;

        if (!parent || *parent != '/' || !realpath(parent, real) || strlen(real) > LONGEST_PLACE ||
            !is_plain(real) || is_replaced_inside(real) || !is_ours(real))
                return false;
        snprintf(path, sizeof(path), "%s/" WORLD_NAME, real);
        if (!mkdtemp(path))
                return false;
        snprintf(world->root, sizeof(world->root), "%.*s", (int)sizeof(world->root) - 1, path);
        before = umask(022); /* this process does nothing else meanwhile */
        is_made = fill(world);
        umask(before);
        if (!is_made) {
                remove_tree(world->root);
                *world->root = '\0';
        }
        return is_made;
}

static bool make_somewhere(struct trial_world *world)
{
        return make_at(world, getenv("TMPDIR")) || make_at(world, "/var/tmp");
}

static void make_file_at(const char *directory, char out[64])
{
        int fd;

        snprintf(out, 64, "%s/" WORLD_NAME, directory);
        fd = mkstemp(out);
        if (fd < 0 || write(fd, "x", 1) != 1)
                *out = '\0';
        if (fd >= 0)
                close(fd);
}

static void make_memory(struct trial_world *world)
{
        for (int i = 1; world->memory < 0 && i < 20; i++) {
                world->key = (int)getpid() << 5 | i;
                world->memory = shmget(world->key, 1, IPC_CREAT | IPC_EXCL | 0600);
        }
}

/* Root makes one of his own. */
static void find_device(struct trial_world *world)
{
        char path[TRIAL_PATH];
        int fd = -1;

        place(world, "outside/device", path);
        if (!mknod(path, S_IFCHR | 0600, makedev(1, 3))) {
                fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd >= 0)
                        snprintf(world->device, sizeof(world->device), "{root}/outside/device");
        }
        for (size_t i = 0; i < COUNT(devices) && fd < 0; i++) {
                fd = open(devices[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
                if (fd >= 0)
                        snprintf(world->device, sizeof(world->device), "%s", devices[i]);
        }
        if (fd >= 0)
                close(fd);
}

int world_make(struct trial_world *world, abatis_error *err)
{
        *world = (struct trial_world){ .memory = -1, .leash = -1, .terminal = -1 };
        if (!make_somewhere(world))
                return report(
                        err, 0,
                        "doctor --test finds no place for its files: it needs a directory in which programs can be "
                        "started, as TMPDIR (no longer than %d bytes, of letters and digits, not below /tmp) or /var/tmp",
                        LONGEST_PLACE);
        make_file_at("/tmp", world->tmp);
        make_file_at("/dev/shm", world->shm);
        make_memory(world);
        find_device(world);
        return 0;
}

/* Who has met there waits for its end. */
static void end_meeting(const struct trial_world *world)
{
        char path[TRIAL_PATH];

        if (world_expand(world, MEETING, path, sizeof(path)))
                unlink(path);
}

int world_renew(const struct trial_world *world, abatis_error *err)
{
        char path[TRIAL_PATH], moved[TRIAL_PATH + 8];

        end_meeting(world);
        for (size_t i = 0; i < COUNT(results); i++) {
                place(world, results[i], path);
                unlink(path);
        }
        for (size_t i = 0; i < COUNT(files); i++) {
                int fd;

                place(world, files[i], path);
                snprintf(moved, sizeof(moved), "%s.moved", path);
                unlink(moved);
                unlink(path);
                fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
                if (fd < 0 || write(fd, "x", 1) != 1)
                        return report(err, errno, "write '%s'", path);
                close(fd);
        }
        return 0;
}

/* ---- who lives in it ------------------------------------------------------------------------------------ */

/* A session of its own, of which this is the terminal. */
static void take_terminal(struct trial_world *world)
{
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        const char *name;

        setsid();
        if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
                return;
        name = ptsname(master);
        world->terminal = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
        if (world->terminal >= 0 && ioctl(world->terminal, TIOCSCTTY, 0) < 0) {
                close(world->terminal);
                world->terminal = -1;
        }
}

int world_inhabit(struct trial_world *world, abatis_error *err)
{
        int sockets[SERVER_SOCKETS], leash[2], error;

        take_terminal(world);
        if (sockets_open(world, sockets) < 0)
                return report(err, errno, "doctor --test has no sockets to be reached by");
        if (pipe2(leash, O_CLOEXEC) < 0)
                return report(err, errno, "pipe");
        world->server = fork();
        error = errno;
        if (!world->server) {
                close(leash[1]);
                sockets_serve(sockets, leash[0]);
        }
        for (int i = 0; i < SERVER_SOCKETS; i++)
                close(sockets[i]);
        close(leash[0]);
        world->leash = leash[1];
        return world->server < 0 ? report(err, error, "fork") : 0;
}

void world_leave(struct trial_world *world)
{
        close(world->leash);
        if (world->server > 0)
                waitpid(world->server, NULL, 0);
}

void world_remove(struct trial_world *world)
{
        end_meeting(world);
        if (*world->tmp)
                unlink(world->tmp);
        if (*world->shm)
                unlink(world->shm);
        if (world->memory >= 0)
                shmctl(world->memory, IPC_RMID, NULL);
        if (*world->root)
                remove_tree(world->root);
}

bool world_is_held(const struct trial_world *world, bool ends_it)
{
        char path[TRIAL_PATH];
        bool is_held;
        int fd;

        place(world, "ws/lock", path);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        is_held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
        if (is_held && ends_it) {
                unlink(path); /* that is what it waits for */
                flock(fd, LOCK_EX);
        }
        if (fd >= 0)
                close(fd);
        return is_held;
}

/* ---- names ---------------------------------------------------------------------------------------------- */

static bool find_value(const struct trial_world *world, const char *word, char *out, size_t size)
{
        *out = '\0';
        if (!strcmp(word, "root"))
                snprintf(out, size, "%s", world->root);
        else if (!strcmp(word, "tmp"))
                snprintf(out, size, "%s", world->tmp);
        else if (!strcmp(word, "shm"))
                snprintf(out, size, "%s", world->shm);
        else if (!strcmp(word, "name"))
                snprintf(out, size, "%s", world->name);
        else if (!strcmp(word, "device") && *world->device)
                world_expand(world, world->device, out, size);
        else if (!strcmp(word, "terminal") && world->terminal >= 0)
                ttyname_r(world->terminal, out, size);
        else if (!strcmp(word, "key") && world->memory >= 0)
                snprintf(out, size, "%d", world->key);
        else if (!strcmp(word, "victim"))
                snprintf(out, size, "%d", (int)world->server);
        else if (!strcmp(word, "port"))
                snprintf(out, size, "%u", world->port);
        else if (!strcmp(word, "other-port"))
                snprintf(out, size, "%u", world->other_port);
        else if (!strcmp(word, "caller"))
                snprintf(out, size, "%u", world->caller);
        else if (!strcmp(word, "free-port") && world->free_port)
                snprintf(out, size, "%u", world->free_port);
        else if (!strcmp(word, "other-free-port") && world->other_free_port)
                snprintf(out, size, "%u", world->other_free_port);
        return *out;
}

bool world_expand(const struct trial_world *world, const char *text, char *out, size_t size)
{
        size_t length = 0;

        while (*text && length < size - 1) {
                size_t end = strcspn(text, "}");
                char word[24];

                if (*text != '{') {
                        out[length++] = *text++;
                        continue;
                }
                snprintf(word, sizeof(word), "%.*s", (int)end - 1, text + 1);
                if (!find_value(world, word, out + length, size - length))
                        return false;
                length += strlen(out + length);
                text += end + 1;
        }
        out[length] = '\0';
        return !*text;
}
