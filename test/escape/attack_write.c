/* Attempts to change one file that the policy keeps: its content, mode, owner, attributes or times. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#define FRESH_MODE 0751 /* no file of the tree has it */
static const char value[] = "changed";

static int write_bytes(int fd, const char *what)
{
        if (fd < 0)
                return refused(what);
        return outcome_of(write(fd, value, sizeof(value)), "write");
}

static int write_open(char **argument)
{
        return write_bytes(open_flags(argument[0], O_WRONLY), "open O_WRONLY");
}

static int write_append(char **argument)
{
        return write_bytes(open_flags(argument[0], O_RDWR | O_APPEND), "open O_APPEND");
}

static int write_openat2(char **argument)
{
        struct kernel_open_how how = { .flags = O_WRONLY | O_CLOEXEC };
        return write_bytes((int)syscall(SYS_openat2, AT_FDCWD, argument[0], &how, sizeof(how)), "openat2");
}

static int write_creat(char **argument)
{
        return write_bytes(creat(argument[0], 0644), "creat");
}

/* The kernel truncates even when the descriptor is for reading. */
static int write_open_trunc(char **argument)
{
        return outcome_of(open_flags(argument[0], O_RDONLY | O_TRUNC), "open O_TRUNC");
}

static int write_reopened_path_fd(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        if (fd < 0)
                return refused("open O_PATH");
        return write_bytes(open_flags(magic_link(fd), O_WRONLY), "open /proc/self/fd");
}

static int write_reopened_read_fd(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        if (fd < 0)
                return refused("open");
        return write_bytes(open_flags(magic_link(fd), O_WRONLY), "open /proc/self/fd");
}

static int write_mmap(char **argument)
{
        int fd = open_flags(argument[0], O_RDWR);
        if (fd < 0)
                return refused("open O_RDWR");
        char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED)
                return refused("mmap");
        page[0] ^= 1;
        return outcome_of(msync(page, 4096, MS_SYNC), "msync");
}

static int write_truncate(char **argument)
{
        return outcome_of(truncate(argument[0], 1), "truncate");
}

static int write_ftruncate(char **argument)
{
        int fd = open_flags(argument[0], O_WRONLY);
        return fd < 0 ? refused("open") : outcome_of(ftruncate(fd, 1), "ftruncate");
}

static int write_fallocate(char **argument)
{
        int fd = open_flags(argument[0], O_WRONLY);
        return fd < 0 ? refused("open") : outcome_of(fallocate(fd, 0, 0, 8192), "fallocate");
}

static int write_copy_file_range(char **argument)
{
        int to = open_flags(argument[0], O_WRONLY), from = open_flags(argument[1], O_RDONLY);
        if (to < 0 || from < 0)
                return refused("open");
        return outcome_of(copy_file_range(from, NULL, to, NULL, 5, 0), "copy_file_range");
}

static int chmod_path(char **argument)
{
        return outcome_of(chmod(argument[0], FRESH_MODE), "chmod");
}

static int chmod_fd(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(fchmod(fd, FRESH_MODE), "fchmod");
}

static int chmod_at(char **argument)
{
        return outcome_of(fchmodat(AT_FDCWD, argument[0], FRESH_MODE, 0), "fchmodat");
}

static int chmod_at2(char **argument)
{
        return outcome_of(syscall(SYS_fchmodat2, AT_FDCWD, argument[0], FRESH_MODE, AT_SYMLINK_NOFOLLOW),
                          "fchmodat2");
}

static int chmod_at2_empty(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        if (fd < 0)
                return refused("open O_PATH");
        return outcome_of(syscall(SYS_fchmodat2, fd, "", FRESH_MODE, AT_EMPTY_PATH),
                          "fchmodat2 AT_EMPTY_PATH");
}

static int chmod_magic_link(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        return fd < 0 ? refused("open O_PATH")
                      : outcome_of(chmod(magic_link(fd), FRESH_MODE), "chmod /proc/self/fd");
}

/* To ourselves: the owner may always do that, and it still touches the inode. */
static int chown_path(char **argument)
{
        return outcome_of(chown(argument[0], getuid(), getgid()), "chown");
}

static int chown_link(char **argument)
{
        return outcome_of(lchown(argument[0], getuid(), getgid()), "lchown");
}

static int chown_fd(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(fchown(fd, getuid(), getgid()), "fchown");
}

static int chown_at(char **argument)
{
        return outcome_of(fchownat(AT_FDCWD, argument[0], getuid(), getgid(), 0), "fchownat");
}

static int chown_at_empty(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        if (fd < 0)
                return refused("open O_PATH");
        return outcome_of(fchownat(fd, "", getuid(), getgid(), AT_EMPTY_PATH), "fchownat AT_EMPTY_PATH");
}

static int xattr_set(char **argument)
{
        return outcome_of(setxattr(argument[0], "user.attack", value, sizeof(value), 0), "setxattr");
}

static int xattr_set_link(char **argument)
{
        return outcome_of(lsetxattr(argument[0], "user.attack", value, sizeof(value), 0), "lsetxattr");
}

static int xattr_set_fd(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open")
                      : outcome_of(fsetxattr(fd, "user.attack", value, sizeof(value), 0), "fsetxattr");
}

static int xattr_set_at(char **argument)
{
        struct kernel_xattr_args args = { .value = (uintptr_t)value, .size = sizeof(value) };
        return outcome_of(syscall(SYS_setxattrat, AT_FDCWD, argument[0], 0, "user.attack", &args,
                                  sizeof(args)),
                          "setxattrat");
}

/* An access list that says what mode 0751 says, in the kernel's on-disk form: version 2, then tag, rights,
 * id. */
static int xattr_set_acl(char **argument)
{
        const unsigned char list[] = {
                2, 0, 0,   0,   0x01, 0,   7,    0, 255, 255, 255, 255, 0x04, 0,
                5, 0, 255, 255, 255,  255, 0x20, 0, 1,   0,   255, 255, 255,  255,
        };
        return outcome_of(setxattr(argument[0], "system.posix_acl_access", list, sizeof(list), 0),
                          "setxattr acl");
}

static int xattr_remove(char **argument)
{
        return outcome_of(removexattr(argument[0], "user.escape"), "removexattr");
}

static int xattr_remove_link(char **argument)
{
        return outcome_of(lremovexattr(argument[0], "user.escape"), "lremovexattr");
}

static int xattr_remove_fd(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(fremovexattr(fd, "user.escape"), "fremovexattr");
}

static int xattr_remove_at(char **argument)
{
        return outcome_of(syscall(SYS_removexattrat, AT_FDCWD, argument[0], 0, "user.escape"),
                          "removexattrat");
}

static int time_utime(char **argument)
{
        return outcome_of(utime(argument[0], &(struct utimbuf){ .actime = 1, .modtime = 1 }), "utime");
}

static int time_utimes(char **argument)
{
        const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };
        return outcome_of(utimes(argument[0], times), "utimes");
}

static int time_futimesat(char **argument)
{
        const struct timeval times[2] = { { 1, 0 }, { 1, 0 } };
#ifdef SYS_futimesat
        return outcome_of(syscall(SYS_futimesat, AT_FDCWD, argument[0], times), "futimesat");
#else
        return outcome_of(lutimes(argument[0], times), "lutimes");
#endif
}

static const struct timespec old_times[2] = { { 1, 0 }, { 1, 0 } };

static int time_utimensat(char **argument)
{
        return outcome_of(utimensat(AT_FDCWD, argument[0], old_times, AT_SYMLINK_NOFOLLOW), "utimensat");
}

static int time_futimens(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(futimens(fd, old_times), "futimens");
}

static int time_utimensat_empty(char **argument)
{
        int fd = open_flags(argument[0], O_PATH);
        if (fd < 0)
                return refused("open O_PATH");
        return outcome_of(utimensat(fd, "", old_times, AT_EMPTY_PATH), "utimensat AT_EMPTY_PATH");
}

static int flags_ioctl(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY), flags = 0;
        if (fd < 0)
                return refused("open");
        if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
                return errno == ENOTTY ? untriable("this filesystem has no inode flags")
                                       : refused("FS_IOC_GETFLAGS");
        flags ^= FS_NODUMP_FL;
        return outcome_of(ioctl(fd, FS_IOC_SETFLAGS, &flags), "FS_IOC_SETFLAGS");
}

static int flags_fssetxattr(char **argument)
{
        struct fsxattr attributes;
        int fd = open_flags(argument[0], O_RDONLY);
        if (fd < 0)
                return refused("open");
        if (ioctl(fd, FS_IOC_FSGETXATTR, &attributes) != 0)
                return errno == ENOTTY ? untriable("this filesystem has no inode flags")
                                       : refused("FS_IOC_FSGETXATTR");
        attributes.fsx_xflags ^= FS_XFLAG_NODUMP;
        return outcome_of(ioctl(fd, FS_IOC_FSSETXATTR, &attributes), "FS_IOC_FSSETXATTR");
}

static int flags_setversion(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY), version = 4711;
        if (fd < 0)
                return refused("open");
        if (ioctl(fd, FS_IOC_SETVERSION, &version) == 0)
                return SUCCEEDED;
        return errno == ENOTTY ? untriable("this filesystem has no inode version")
                               : refused("FS_IOC_SETVERSION");
}

static int flags_file_setattr(char **argument)
{
        struct kernel_file_attr attributes = { .xflags = FS_XFLAG_NODUMP };
        long result = syscall(SYS_file_setattr, AT_FDCWD, argument[0], &attributes, sizeof(attributes), 0);
        return outcome_of(result, "file_setattr");
}

/* FILE NEW: a second name in a writable place would carry every change back to the file. */
static int link_then_write(char **argument)
{
        if (link(argument[0], argument[1]) != 0)
                return refused("link");
        argument[0] = argument[1];
        return write_open(argument);
}

static int link_then_chmod(char **argument)
{
        if (link(argument[0], argument[1]) != 0)
                return refused("link");
        argument[0] = argument[1];
        return chmod_path(argument);
}

static int inherited_chmod(char **argument)
{
        return outcome_of(fchmod(number_of(argument[0]), FRESH_MODE), "fchmod");
}

static int inherited_utime(char **argument)
{
        return outcome_of(futimens(number_of(argument[0]), old_times), "futimens");
}

static int inherited_xattr(char **argument)
{
        return outcome_of(fsetxattr(number_of(argument[0]), "user.attack", value, sizeof(value), 0),
                          "fsetxattr");
}

static int inherited_reopen(char **argument)
{
        return write_bytes(open_flags(magic_link(number_of(argument[0])), O_WRONLY), "open /proc/self/fd");
}

/* FD NAME: the launcher's directory still shows its own mounts, where nothing is read-only. */
static int inherited_directory_write(char **argument)
{
        return write_bytes(openat(number_of(argument[0]), argument[1], O_WRONLY | O_CLOEXEC), "openat");
}

static int inherited_directory_chmod(char **argument)
{
        return outcome_of(fchmodat(number_of(argument[0]), argument[1], FRESH_MODE, 0), "fchmodat");
}

const struct attempt write_attempts[] = {
        { "write_open", 1, write_open },
        { "write_append", 1, write_append },
        { "write_openat2", 1, write_openat2 },
        { "write_creat", 1, write_creat },
        { "write_open_trunc", 1, write_open_trunc },
        { "write_reopened_path_fd", 1, write_reopened_path_fd },
        { "write_reopened_read_fd", 1, write_reopened_read_fd },
        { "write_mmap", 1, write_mmap },
        { "write_truncate", 1, write_truncate },
        { "write_ftruncate", 1, write_ftruncate },
        { "write_fallocate", 1, write_fallocate },
        { "write_copy_file_range", 2, write_copy_file_range },
        { "chmod", 1, chmod_path },
        { "chmod_fd", 1, chmod_fd },
        { "chmod_at", 1, chmod_at },
        { "chmod_at2", 1, chmod_at2 },
        { "chmod_at2_empty", 1, chmod_at2_empty },
        { "chmod_magic_link", 1, chmod_magic_link },
        { "chown", 1, chown_path },
        { "chown_link", 1, chown_link },
        { "chown_fd", 1, chown_fd },
        { "chown_at", 1, chown_at },
        { "chown_at_empty", 1, chown_at_empty },
        { "xattr_set", 1, xattr_set },
        { "xattr_set_link", 1, xattr_set_link },
        { "xattr_set_fd", 1, xattr_set_fd },
        { "xattr_set_at", 1, xattr_set_at },
        { "xattr_set_acl", 1, xattr_set_acl },
        { "xattr_remove", 1, xattr_remove },
        { "xattr_remove_link", 1, xattr_remove_link },
        { "xattr_remove_fd", 1, xattr_remove_fd },
        { "xattr_remove_at", 1, xattr_remove_at },
        { "time_utime", 1, time_utime },
        { "time_utimes", 1, time_utimes },
        { "time_futimesat", 1, time_futimesat },
        { "time_utimensat", 1, time_utimensat },
        { "time_futimens", 1, time_futimens },
        { "time_utimensat_empty", 1, time_utimensat_empty },
        { "flags_ioctl", 1, flags_ioctl },
        { "flags_fssetxattr", 1, flags_fssetxattr },
        { "flags_setversion", 1, flags_setversion },
        { "flags_file_setattr", 1, flags_file_setattr },
        { "link_then_write", 2, link_then_write },
        { "link_then_chmod", 2, link_then_chmod },
        { "inherited_chmod", 1, inherited_chmod },
        { "inherited_utime", 1, inherited_utime },
        { "inherited_xattr", 1, inherited_xattr },
        { "inherited_reopen", 1, inherited_reopen },
        { "inherited_directory_write", 2, inherited_directory_write },
        { "inherited_directory_chmod", 2, inherited_directory_chmod },
        { NULL, 0, NULL },
};
