/* Attempts to read what the policy denies: every call that yields content, and every way round to the same
 * inode. */
#include "attack.h"
#include "syscalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int read_open(char **argument)
{
        return reveal_path(argument[0]);
}

static int read_openat(char **argument)
{
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s", argument[0]);
        char *slash = strrchr(path, '/');
        if (!slash)
                return untriable("needs an absolute path");
        *slash = '\0';
        int parent = open_flags(path, O_PATH | O_DIRECTORY);
        if (parent < 0)
                return refused("open the parent");
        int fd = openat(parent, slash + 1, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? refused("openat") : reveal_fd(fd);
}

static int read_openat2(char **argument)
{
        struct kernel_open_how how = { .flags = O_RDONLY | O_CLOEXEC };
        int fd = (int)syscall(SYS_openat2, AT_FDCWD, argument[0], &how, sizeof(how));
        return fd < 0 ? refused("openat2") : reveal_fd(fd);
}

static int read_openat2_in_root(char **argument)
{
        struct kernel_open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = KERNEL_RESOLVE_IN_ROOT };
        int root = open_flags("/", O_PATH | O_DIRECTORY);
        int fd = (int)syscall(SYS_openat2, root, argument[0], &how, sizeof(how));
        return fd < 0 ? refused("openat2") : reveal_fd(fd);
}

static int read_reopened_path_fd(char **argument)
{
        int path_fd = open_flags(argument[0], O_PATH);
        return path_fd < 0 ? refused("open O_PATH") : reveal_path(magic_link(path_fd));
}

static int read_after_chmod(char **argument)
{
        if (chmod(argument[0], 0777) != 0)
                return refused("chmod");
        return reveal_path(argument[0]);
}

static int read_mmap(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        struct stat status;
        if (fd < 0)
                return refused("open");
        if (fstat(fd, &status) != 0 || status.st_size == 0)
                return refused_because("fstat", "empty");
        char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        return bytes == MAP_FAILED ? refused("mmap") : reveal_bytes(bytes, (size_t)status.st_size);
}

static int read_sendfile(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY), pair[2];
        if (fd < 0)
                return refused("open");
        if (pipe(pair) != 0 || sendfile(pair[1], fd, NULL, 4096) < 0)
                return refused("sendfile");
        close(pair[1]);
        return reveal_fd(pair[0]);
}

static int read_splice(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY), pair[2];
        if (fd < 0)
                return refused("open");
        if (pipe(pair) != 0 || splice(fd, NULL, pair[1], NULL, 4096, 0) < 0)
                return refused("splice");
        close(pair[1]);
        return reveal_fd(pair[0]);
}

static int read_copy_file_range(char **argument)
{
        int from = open_flags(argument[0], O_RDONLY);
        int to = open_flags(argument[1], O_RDWR | O_CREAT | O_TRUNC);
        if (from < 0 || to < 0)
                return refused("open");
        if (copy_file_range(from, NULL, to, NULL, 4096, 0) < 0)
                return refused("copy_file_range");
        lseek(to, 0, SEEK_SET);
        return reveal_fd(to);
}

static int read_execve(char **argument)
{
        char *const arguments[] = { argument[0], NULL };
        execv(argument[0], arguments);
        return refused("execve");
}

static int read_execveat(char **argument)
{
        char *const arguments[] = { argument[0], NULL }, *const environment[] = { NULL };
        int fd = open(argument[0], O_PATH); /* not O_CLOEXEC: the interpreter of a script opens it again */
        if (fd < 0)
                return refused("open O_PATH");
        syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH);
        return refused("execveat");
}

static int read_readlink(char **argument)
{
        char target[PATH_MAX];
        ssize_t length = readlink(argument[0], target, sizeof(target));
        return length < 0 ? refused("readlink") : reveal_bytes(target, (size_t)length);
}

/* DIRECTORY NAME */
static int read_getdents(char **argument)
{
        DIR *directory = opendir(argument[0]);
        if (!directory)
                return refused("opendir");
        for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory))
                if (strcmp(entry->d_name, argument[1]) == 0)
                        return puts(SECRET) < 0 ? REFUSED : SUCCEEDED;
        return refused_because("getdents", "the name is not there");
}

static int read_stat_below(char **argument)
{
        struct stat status;
        if (stat(argument[0], &status) != 0)
                return refused("stat");
        puts(SECRET);
        return SUCCEEDED;
}

static int read_xattr(char **argument)
{
        char value[256];
        ssize_t length = getxattr(argument[0], "user.escape", value, sizeof(value));
        return length < 0 ? refused("getxattr") : reveal_bytes(value, (size_t)length);
}

static int open_handle(int mount, const struct file_handle *given)
{
        union {
                struct file_handle handle;
                char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } copy;
        memcpy(&copy, given, sizeof(*given) + given->handle_bytes);
        int fd = open_by_handle_at(mount, &copy.handle, O_RDONLY | O_CLOEXEC);
        return fd < 0 ? refused("open_by_handle_at") : reveal_fd(fd);
}

static int read_handle(char **argument)
{
        union {
                struct file_handle handle;
                char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } made = { .handle.handle_bytes = MAX_HANDLE_SZ };
        int mount_id = 0;
        if (name_to_handle_at(AT_FDCWD, argument[0], &made.handle, &mount_id, 0) != 0)
                return refused("name_to_handle_at");
        return open_handle(AT_FDCWD, &made.handle);
}

/* MOUNT TYPE HEX: a handle made outside, so the mask cannot hide the inode's number. */
static int read_given_handle(char **argument)
{
        union {
                struct file_handle handle;
                char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        } given = { .handle.handle_type = number_of(argument[1]) };
        unsigned int length = (unsigned int)strlen(argument[2]) / 2;
        for (unsigned int i = 0; i < length && i < MAX_HANDLE_SZ; i++) {
                unsigned int byte = 0;
                sscanf(argument[2] + 2 * (size_t)i, "%2x", &byte);
                given.handle.f_handle[i] = (unsigned char)byte;
        }
        given.handle.handle_bytes = length;
        int mount = open_flags(argument[0], O_RDONLY | O_DIRECTORY);
        return mount < 0 ? refused("open the mount") : open_handle(mount, &given.handle);
}

static int read_parent_root(char **argument)
{
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)getppid(), argument[0]);
        return reveal_path(path);
}

static int read_symlink(char **argument)
{
        if (symlink(argument[0], argument[1]) != 0)
                return refused("symlink");
        return reveal_path(argument[1]);
}

static int read_hard_link(char **argument)
{
        if (link(argument[0], argument[1]) != 0)
                return refused("link");
        return reveal_path(argument[1]);
}

static int read_hard_link_of_fd(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        if (fd < 0)
                return refused("open O_PATH");
        if (linkat(AT_FDCWD, magic_link(fd), AT_FDCWD, argument[1], AT_SYMLINK_FOLLOW) != 0)
                return refused("linkat");
        return reveal_path(argument[1]);
}

/* OLD NEW SECRET-UNDER-NEW */
static int read_renamed(char **argument)
{
        if (rename(argument[0], argument[1]) != 0)
                return refused("rename");
        return reveal_path(argument[2]);
}

static int read_exchanged(char **argument)
{
        if (renameat2(AT_FDCWD, argument[0], AT_FDCWD, argument[1], RENAME_EXCHANGE) != 0)
                return refused("renameat2 EXCHANGE");
        return reveal_path(argument[2]);
}

static int read_unmounted(char **argument)
{
        /* Outside there is no mask, and EINVAL says that the call itself was open to us. */
        if (umount2(argument[0], MNT_DETACH) != 0 && errno != EINVAL)
                return refused("umount2");
        return reveal_path(argument[0]);
}

/* TREE TARGET SECRET-UNDER-TARGET: a bind without MS_REC leaves the masks of the tree behind. */
static int read_bound(char **argument)
{
        if (mount(argument[0], argument[1], NULL, MS_BIND, NULL) != 0)
                return refused("mount MS_BIND");
        return reveal_path(argument[2]);
}

static int read_cloned_tree(char **argument)
{
        int tree = (int)syscall(SYS_open_tree, AT_FDCWD, argument[0], KERNEL_OPEN_TREE_CLONE | O_CLOEXEC);
        if (tree < 0)
                return refused("open_tree");
        int fd = openat(tree, argument[1], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? refused("openat") : reveal_fd(fd);
}

static int read_chrooted(char **argument)
{
        if (chroot(argument[0]) != 0)
                return refused("chroot");
        return reveal_path(argument[1]);
}

static int read_in_user_namespace(char **argument)
{
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
                return refused("unshare");
        return read_unmounted(argument);
}

/* PID SECRET: the mount namespace of a process that still sees everything. */
static int read_in_namespace_of(char **argument)
{
        char path[64];
        snprintf(path, sizeof(path), "/proc/%s/ns/mnt", argument[0]);
        int namespace = open_flags(path, O_RDONLY);
        if (namespace < 0)
                return refused(path);
        if (setns(namespace, CLONE_NEWNS) != 0)
                return refused("setns");
        return reveal_path(argument[1]);
}

/* FD NAME: a directory that the launcher left open. */
static int read_from_inherited_directory(char **argument)
{
        int fd = openat(number_of(argument[0]), argument[1], O_RDONLY | O_CLOEXEC);
        return fd < 0 ? refused("openat") : reveal_fd(fd);
}

static int read_inherited_file(char **argument)
{
        int fd = number_of(argument[0]);
        return lseek(fd, 0, SEEK_SET) < 0 ? refused("lseek") : reveal_fd(fd);
}

static const char *ready_name(const char *go)
{
        static char ready[PATH_MAX];
        snprintf(ready, sizeof(ready), "%s.ready", go);
        return ready;
}

/* GO PATH: says that it runs, and waits for somebody outside to do his work. */
static void wait_until_told(const char *go)
{
        close(open_flags(ready_name(go), O_WRONLY | O_CREAT));
        for (int i = 0; i < 1000 && access(go, F_OK) != 0; i++)
                usleep(10 * 1000);
}

static int read_when_told(char **argument)
{
        wait_until_told(argument[0]);
        return reveal_path(argument[1]);
}

static int write_when_told(char **argument)
{
        wait_until_told(argument[0]);
        int fd = open_flags(argument[1], O_WRONLY);
        return fd < 0 ? refused("open") : outcome_of(write(fd, "evil", 4), "write");
}

/* GO PATH: never stops trying until told. */
static int read_until_told(char **argument)
{
        char bytes[256];
        close(open_flags(ready_name(argument[0]), O_WRONLY | O_CREAT));
        for (int i = 0; i < 20 * 1000 * 1000 && (i % 64 != 0 || access(argument[0], F_OK) != 0); i++) {
                int fd = open_flags(argument[1], O_RDONLY);
                ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));
                if (fd >= 0)
                        close(fd);
                if (length > 0 && memmem(bytes, (size_t)length, SECRET, strlen(SECRET)))
                        return reveal_bytes(bytes, (size_t)length);
        }
        return refused_because("race", "no round was won");
}

static int write_until_told(char **argument)
{
        close(open_flags(ready_name(argument[0]), O_WRONLY | O_CREAT));
        for (int i = 0; i < 20 * 1000 * 1000 && (i % 64 != 0 || access(argument[0], F_OK) != 0); i++) {
                int fd = open_flags(argument[1], O_WRONLY);
                if (fd >= 0)
                        return outcome_of(write(fd, "evil", 4), "write");
        }
        return refused_because("race", "no round was won");
}

/* Any byte is too much. */
static int read_any(char **argument)
{
        char byte;
        int fd = open_flags(argument[0], O_RDONLY);
        if (fd < 0)
                return refused("open");
        return read(fd, &byte, 1) == 1 ? SUCCEEDED : refused_because("read", "nothing in it");
}

struct swapper {
        const char *link, *first, *second;
        atomic_int stop, swaps;
};

static void *swap_links(void *context)
{
        struct swapper *swapper = context;
        char spare[PATH_MAX];
        snprintf(spare, sizeof(spare), "%s.spare", swapper->link);
        for (int i = 0; !atomic_load(&swapper->stop); i++) {
                if (symlink(i % 2 ? swapper->first : swapper->second, spare) == 0)
                        rename(spare, swapper->link);
                atomic_fetch_add(&swapper->swaps, 1);
        }
        unlink(spare);
        return NULL;
}

static int race_links(char **argument, int flags, int (*won)(int fd))
{
        struct swapper swapper = { .link = argument[2], .first = argument[0], .second = argument[1] };
        pthread_t thread;
        int outcome = REFUSED, rounds = number_of(argument[3]);
        if (symlink(argument[1], argument[2]) != 0)
                return refused("symlink");
        if (pthread_create(&thread, NULL, swap_links, &swapper) != 0)
                return untriable("no thread");
        /* On a busy machine the other thread may not have had its turn yet: both must have tried often enough. */
        for (int i = 0; outcome != SUCCEEDED && i < 100 * rounds; i++) {
                if (i >= rounds && atomic_load(&swapper.swaps) >= rounds / 4)
                        break;
                if (i % 32 == 0)
                        sched_yield();
                int fd = open_flags(argument[2], flags);
                if (fd >= 0)
                        outcome = won(fd);
                if (fd >= 0)
                        close(fd);
        }
        atomic_store(&swapper.stop, 1);
        pthread_join(thread, NULL);
        return outcome == SUCCEEDED ? SUCCEEDED : refused_because("race", "no round was won");
}

static int holds_secret(int fd)
{
        char bytes[256];
        ssize_t length = read(fd, bytes, sizeof(bytes));
        return length > 0 && memmem(bytes, (size_t)length, SECRET, strlen(SECRET))
                       ? reveal_bytes(bytes, (size_t)length)
                       : REFUSED;
}

/* DENIED DECOY LINK ROUNDS */
static int read_race(char **argument)
{
        return race_links(argument, O_RDONLY, holds_secret);
}

static int writes_to_victim(int fd)
{
        char bytes[64];
        ssize_t length = pread(fd, bytes, sizeof(bytes), 0);
        if (length < 5 || memcmp(bytes, "DECOY", 5) == 0)
                return REFUSED;
        return pwrite(fd, "RACED", 5, 0) == 5 ? SUCCEEDED : REFUSED;
}

/* READ-ONLY DECOY LINK ROUNDS */
static int write_race(char **argument)
{
        return race_links(argument, O_RDWR, writes_to_victim);
}

const struct attempt read_attempts[] = {
        { "read_open", 1, read_open },
        { "read_openat", 1, read_openat },
        { "read_openat2", 1, read_openat2 },
        { "read_openat2_in_root", 1, read_openat2_in_root },
        { "read_reopened_path_fd", 1, read_reopened_path_fd },
        { "read_after_chmod", 1, read_after_chmod },
        { "read_mmap", 1, read_mmap },
        { "read_sendfile", 1, read_sendfile },
        { "read_splice", 1, read_splice },
        { "read_copy_file_range", 2, read_copy_file_range },
        { "read_execve", 1, read_execve },
        { "read_execveat", 1, read_execveat },
        { "read_readlink", 1, read_readlink },
        { "read_getdents", 2, read_getdents },
        { "read_stat_below", 1, read_stat_below },
        { "read_xattr", 1, read_xattr },
        { "read_handle", 1, read_handle },
        { "read_given_handle", 3, read_given_handle },
        { "read_parent_root", 1, read_parent_root },
        { "read_symlink", 2, read_symlink },
        { "read_hard_link", 2, read_hard_link },
        { "read_hard_link_of_fd", 2, read_hard_link_of_fd },
        { "read_renamed", 3, read_renamed },
        { "read_exchanged", 3, read_exchanged },
        { "read_unmounted", 1, read_unmounted },
        { "read_bound", 3, read_bound },
        { "read_cloned_tree", 2, read_cloned_tree },
        { "read_chrooted", 2, read_chrooted },
        { "read_in_user_namespace", 1, read_in_user_namespace },
        { "read_in_namespace_of", 2, read_in_namespace_of },
        { "read_from_inherited_directory", 2, read_from_inherited_directory },
        { "read_inherited_file", 1, read_inherited_file },
        { "read_when_told", 2, read_when_told },
        { "write_when_told", 2, write_when_told },
        { "read_until_told", 2, read_until_told },
        { "write_until_told", 2, write_until_told },
        { "read_any", 1, read_any },
        { "read_race", 4, read_race },
        { "write_race", 4, write_race },
        { NULL, 0, NULL },
};
