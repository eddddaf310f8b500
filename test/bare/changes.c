/* changes.c: asks the broker, from inside a sandbox without namespaces.
 *
 *   changes all FILE             every way to change a file's mode, owner, times and attributes; one line for each
 *   changes race ACTION KIND GOOD BAD ROUNDS
 *                                does something to GOOD ROUNDS times, while another thread makes the same words mean BAD:
 *                                string (the path is written over), link (a symbolic link), parent (a directory of the
 *                                way), descriptor (its number). ACTION is chmod, write, replace (rename another over it) or
 *                                unlink. Prints how often it worked: whoever started it looks at BAD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static void check(const char *name, bool is_right)
{
        printf("%s %s%s%s\n", is_right ? "ok" : "not ok", name, is_right ? "" : " - ",
               is_right ? "" : strerror(errno));
}

static unsigned mode_of(const char *path)
{
        struct stat status;

        return stat(path, &status) ? 0 : status.st_mode & 07777;
}

static long time_of(const char *path)
{
        struct stat status;

        return lstat(path, &status) ? 0 : (long)status.st_mtime;
}

static void change_modes(const char *file, const char *name, int directory, int fd)
{
        char path[64];

        errno = 0;
        check("chmod", !chmod(file, 0601) && mode_of(file) == 0601);
        check("chmod_relative", !chmod(name, 0602) && mode_of(file) == 0602);
        check("fchmod_of_a_file_opened_to_be_read", !fchmod(fd, 0603) && mode_of(file) == 0603);
        check("fchmodat", !fchmodat(directory, name, 0604, 0) && mode_of(file) == 0604);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        check("chmod_through_proc", !chmod(path, 0605) && mode_of(file) == 0605);
        snprintf(path, sizeof(path), "/dev/fd/%d", fd);
        check("chmod_through_dev_fd", !chmod(path, 0606) && mode_of(file) == 0606);
        if (!syscall(452, directory, name, 0607, AT_SYMLINK_NOFOLLOW) || errno != ENOSYS)
                check("fchmodat2", mode_of(file) == 0607);
        check("chmod_of_nothing_fails", chmod("absent", 0600) < 0 && errno == ENOENT);
        check("fchmod_of_no_descriptor_fails", fchmod(999, 0600) < 0);
        check("setuid_is_refused", chmod(file, 04755) < 0 && errno == EPERM);
        check("no_path_fails", syscall(SYS_fchmodat, AT_FDCWD, 8, 0600) < 0 && errno == EFAULT);
}

static void change_owners(const char *file, const char *name, const char *link, int directory, int fd)
{
        errno = 0;
        check("chown_to_itself", !chown(file, getuid(), getgid()));
        check("fchown_to_itself", !fchown(fd, getuid(), (gid_t)-1));
        check("fchownat_to_itself", !fchownat(directory, name, (uid_t)-1, getgid(), 0));
        check("fchownat_of_an_empty_path", !fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH));
        check("lchown_of_a_link", !lchown(link, getuid(), getgid()));
        if (getuid())
                check("chown_to_root_fails", chown(file, 0, 0) < 0);
}

static void change_times(const char *file, const char *name, const char *link, int directory, int fd)
{
        struct timespec times[2] = { { 1000, 0 }, { 1001, 0 } };
        struct timeval old[2] = { { 1002, 0 }, { 1003, 0 } };
        struct utimbuf oldest = { 1004, 1005 };

        errno = 0;
        check("utimensat", !utimensat(directory, name, times, 0) && time_of(file) == 1001);
        times[1].tv_sec = 1011;
        check("futimens_of_a_file_opened_to_be_read", !futimens(fd, times) && time_of(file) == 1011);
        times[1].tv_sec = 1021;
        check("utimensat_of_a_link",
              !utimensat(AT_FDCWD, link, times, AT_SYMLINK_NOFOLLOW) && time_of(link) == 1021);
        check("utimes", !utimes(file, old) && time_of(file) == 1003);
        check("utime", !utime(file, &oldest) && time_of(file) == 1005);
        check("utimensat_now", !utimensat(AT_FDCWD, file, NULL, 0) && time_of(file) > 100000);
}

static void change_attributes(const char *file, int fd)
{
        static char large[3000], got[3000];

        memset(large, 'x', sizeof(large));
        errno = 0;
        check("setxattr", !setxattr(file, "user.a", "1", 1, 0) && getxattr(file, "user.a", got, 9) == 1);
        check("fsetxattr_of_a_file_opened_to_be_read",
              !fsetxattr(fd, "user.b", large, sizeof(large), 0) &&
                      getxattr(file, "user.b", got, sizeof(got)) == 3000 && !memcmp(large, got, sizeof(got)));
        check("setxattr_to_nothing", !setxattr(file, "user.c", NULL, 0, 0));
        check("setxattr_twice_fails", setxattr(file, "user.c", "", 0, XATTR_CREATE) < 0 && errno == EEXIST);
        check("removexattr", !removexattr(file, "user.a") && getxattr(file, "user.a", got, 9) < 0);
        check("fremovexattr", !fremovexattr(fd, "user.b"));
        check("removexattr_of_none_fails", removexattr(file, "user.a") < 0 && errno == ENODATA);
        check("setxattr_that_is_too_large_fails",
              syscall(SYS_setxattr, file, "user.d", large, 1 << 20, 0) < 0 && errno == E2BIG);
}

static int change_all(const char *file)
{
        char link[PATH_MAX], parent[PATH_MAX];
        const char *name = strrchr(file, '/') + 1;
        int fd = open(file, O_RDONLY | O_CLOEXEC), directory;

        snprintf(link, sizeof(link), "%s.link", file);
        snprintf(parent, sizeof(parent), "%.*s", (int)(name - file - 1), file);
        directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || directory < 0 || fchdir(directory) || symlink(name, link)) {
                perror(file);
                return 1;
        }
        change_modes(file, name, directory, fd);
        change_owners(file, name, link, directory, fd);
        change_times(file, name, link, directory, fd);
        change_attributes(file, fd);
        return 0;
}

/* ---- races ---------------------------------------------------------------------------------------------- */

static struct {
        const char *good, *bad;
        char path[PATH_MAX]; /* what the changing thread names */
        char spare[PATH_MAX];
        int fd, good_fd, bad_fd;
        volatile bool is_over;
} race;

static void *flip_string(void *unused)
{
        size_t size = strlen(race.good) + 1;

        (void)unused;
        while (!race.is_over) {
                memcpy(race.path, race.bad, size);
                memcpy(race.path, race.good, size);
        }
        return NULL;
}

static void *flip_link(void *unused)
{
        (void)unused;
        while (!race.is_over) {
                if (symlink(race.bad, race.spare) || rename(race.spare, race.path) ||
                    symlink(race.good, race.spare) || rename(race.spare, race.path))
                        break;
        }
        return NULL;
}

/* The directory and a link to another one, in turns; not in step with the other thread, since the broker serves them by
 * turns too. */
static void *flip_parent(void *unused)
{
        unsigned seed = 1;

        (void)unused;
        while (!race.is_over) {
                for (volatile int pause = rand_r(&seed) % 20000; pause; pause--)
                        ;
                if (renameat2(AT_FDCWD, "way", AT_FDCWD, "other", RENAME_EXCHANGE)) {
                        perror("exchange");
                        break;
                }
        }
        return NULL;
}

static void *flip_descriptor(void *unused)
{
        (void)unused;
        while (!race.is_over) {
                dup2(race.bad_fd, race.fd);
                dup2(race.good_fd, race.fd);
        }
        return NULL;
}

static bool prepare_race(const char *kind)
{
        char good_parent[PATH_MAX], bad_parent[PATH_MAX];

        if (!strcmp(kind, "string")) {
                strcpy(race.path, race.good);
                return strlen(race.good) == strlen(race.bad);
        }
        if (!strcmp(kind, "link")) {
                strcpy(race.path, "flipping");
                strcpy(race.spare, "flipping.spare");
                return !symlink(race.good, race.path);
        }
        if (!strcmp(kind, "parent")) {
                snprintf(good_parent, sizeof(good_parent), "%.*s", (int)(strrchr(race.good, '/') - race.good),
                         race.good);
                snprintf(bad_parent, sizeof(bad_parent), "%.*s", (int)(strrchr(race.bad, '/') - race.bad),
                         race.bad);
                snprintf(race.path, sizeof(race.path), "way/%s", strrchr(race.bad, '/') + 1);
                return !mkdir("way", 0700) && !symlink(bad_parent, "other") &&
                       close(open(race.path, O_WRONLY | O_CREAT, 0600)) == 0;
        }
        race.good_fd = open(race.good, O_RDONLY | O_CLOEXEC);
        race.bad_fd = open(race.bad, O_RDONLY | O_CLOEXEC);
        race.fd = dup(race.good_fd);
        return race.good_fd >= 0 && race.bad_fd >= 0;
}

static int change_mode_in_race(long round)
{
        unsigned mode = round % 2 ? 0600 : 0640;

        return race.fd ? fchmod(race.fd, mode) : chmod(race.path, mode);
}

static int write_in_race(long round)
{
        int fd = open(race.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

        (void)round;
        if (fd < 0)
                return -1;
        if (write(fd, "changed", 7) != 7)
                perror("write");
        return close(fd);
}

static int make_file(const char *path)
{
        return close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static int replace_in_race(long round)
{
        (void)round;
        if (make_file("replacement"))
                perror("replacement");
        return rename("replacement", race.path);
}

static int unlink_in_race(long round)
{
        (void)round;
        make_file(race.path);
        return unlink(race.path);
}

static int run_race(const char *action, const char *kind, long rounds)
{
        int (*act)(long) = !strcmp(action, "chmod")     ? change_mode_in_race
                           : !strcmp(action, "write")   ? write_in_race
                           : !strcmp(action, "replace") ? replace_in_race
                                                        : unlink_in_race;
        void *(*flip)(void *) = !strcmp(kind, "string")   ? flip_string
                                : !strcmp(kind, "link")   ? flip_link
                                : !strcmp(kind, "parent") ? flip_parent
                                                          : flip_descriptor;
        long worked = 0, refused = 0;
        pthread_t thread;

        if (!prepare_race(kind) || pthread_create(&thread, NULL, flip, NULL)) {
                perror(kind);
                return 1;
        }
        for (long i = 0; i < rounds; i++) {
                int r = act(i);

                worked += !r;
                refused += r && (errno == EROFS || errno == EACCES);
        }
        race.is_over = true;
        pthread_join(thread, NULL);
        printf("%ld worked, %ld refused\n", worked, refused);
        return !worked || !refused;
}

int main(int argc, char **argv)
{
        if (argc == 3 && !strcmp(argv[1], "all"))
                return change_all(argv[2]);
        if (argc == 7 && !strcmp(argv[1], "race")) {
                race.good = argv[4];
                race.bad = argv[5];
                return run_race(argv[2], argv[3], atol(argv[6]));
        }
        return 2;
}
