/* Attempts to change the names around a kept path: make, remove, move or replace it, or leave a dangerous
 * file behind. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char *below(const char *directory, const char *name)
{
        static char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", directory, name);
        return path;
}

static int tree_unlink(char **argument)
{
        return outcome_of(unlink(argument[0]), "unlink");
}

static int tree_unlinkat(char **argument)
{
        return outcome_of(unlinkat(AT_FDCWD, argument[0], 0), "unlinkat");
}

static int tree_rmdir(char **argument)
{
        return outcome_of(rmdir(argument[0]), "rmdir");
}

/* FROM TO */
static int tree_rename(char **argument)
{
        return outcome_of(rename(argument[0], argument[1]), "rename");
}

static int tree_renameat2(char **argument)
{
        return outcome_of(renameat2(AT_FDCWD, argument[0], AT_FDCWD, argument[1], RENAME_NOREPLACE),
                          "renameat2");
}

static int tree_exchange(char **argument)
{
        return outcome_of(renameat2(AT_FDCWD, argument[0], AT_FDCWD, argument[1], RENAME_EXCHANGE),
                          "renameat2 EXCHANGE");
}

static int tree_link(char **argument)
{
        return outcome_of(link(argument[0], argument[1]), "link");
}

static int tree_create(char **argument)
{
        return outcome_of(open_flags(below(argument[0], "new"), O_WRONLY | O_CREAT | O_EXCL), "open O_CREAT");
}

static int tree_mkdir(char **argument)
{
        return outcome_of(mkdir(below(argument[0], "new"), 0755), "mkdir");
}

static int tree_symlink(char **argument)
{
        return outcome_of(symlink("anything", below(argument[0], "new")), "symlink");
}

static int tree_mknod_fifo(char **argument)
{
        return outcome_of(mknod(below(argument[0], "new"), S_IFIFO | 0644, 0), "mknod S_IFIFO");
}

static int tree_mknod_regular(char **argument)
{
        return outcome_of(mknod(below(argument[0], "new"), S_IFREG | 0644, 0), "mknod S_IFREG");
}

static int tree_tmpfile(char **argument)
{
        int fd = open_flags(argument[0], O_TMPFILE | O_RDWR);
        if (fd < 0)
                return refused("open O_TMPFILE");
        const char *name = below(argument[0], "new");
        return outcome_of(linkat(AT_FDCWD, magic_link(fd), AT_FDCWD, name, AT_SYMLINK_FOLLOW), "linkat");
}

/* FILE NEW: makes the bytes in a writable place and moves them over the kept name. */
static int tree_replace(char **argument)
{
        int fd = open_flags(argument[1], O_WRONLY | O_CREAT);
        if (fd < 0 || write(fd, "evil\n", 5) != 5)
                return refused("make the replacement");
        return outcome_of(rename(argument[1], argument[0]), "rename");
}

static int tree_replace_by_symlink(char **argument)
{
        if (unlink(argument[0]) != 0)
                return refused("unlink");
        return outcome_of(symlink(argument[1], argument[0]), "symlink");
}

/* ANCESTOR AWAY DIRECTORY FILE: moves the ancestor away, builds the same names again, with our own
 * content. */
static int tree_rebuild(char **argument)
{
        if (rename(argument[0], argument[1]) != 0)
                return refused("rename the ancestor");
        if (mkdir(argument[0], 0755) != 0 || (mkdir(argument[2], 0755) != 0 && errno != EEXIST))
                return refused("mkdir");
        int fd = open_flags(argument[3], O_WRONLY | O_CREAT);
        return fd < 0 ? refused("create") : outcome_of(write(fd, "evil\n", 5), "write");
}

/* ANCESTOR AWAY TARGET: the name now leads where we want. */
static int tree_relink(char **argument)
{
        if (rename(argument[0], argument[1]) != 0)
                return refused("rename the ancestor");
        return outcome_of(symlink(argument[2], argument[0]), "symlink");
}

/* FILE DIRECTORY...: plants a file whose parents may have to be made first. */
static int tree_plant(char **argument)
{
        for (char **directory = argument + 1; *directory; directory++)
                if (mkdir(*directory, 0755) != 0 && errno != EEXIST)
                        return refused("mkdir");
        int fd = open_flags(argument[0], O_WRONLY | O_CREAT);
        return fd < 0 ? refused("create") : outcome_of(write(fd, "evil\n", 5), "write");
}

/* LINK TARGET: a link of ours that leads out. */
static int tree_write_through_symlink(char **argument)
{
        if (symlink(argument[1], argument[0]) != 0)
                return refused("symlink");
        int fd = open_flags(argument[0], O_WRONLY | O_CREAT);
        return fd < 0 ? refused("open") : outcome_of(write(fd, "evil\n", 5), "write");
}

static int tree_remount_writable(char **argument)
{
        if (mount(NULL, argument[0], NULL, MS_REMOUNT | MS_BIND, NULL) != 0)
                return refused("mount MS_REMOUNT");
        return tree_create(argument);
}

static int tree_setattr_writable(char **argument)
{
        struct kernel_mount_attr attributes = { .attr_clr = KERNEL_MOUNT_ATTR_RDONLY };
        long result = syscall(SYS_mount_setattr, AT_FDCWD, argument[0], 0, &attributes, sizeof(attributes));
        if (result != 0)
                return refused("mount_setattr");
        return tree_create(argument);
}

static int tree_bind_socket(char **argument)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        snprintf(address.sun_path, sizeof(address.sun_path), "%s", below(argument[0], "new"));
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return refused("socket");
        return outcome_of(bind(fd, (struct sockaddr *)&address, sizeof(address)), "bind");
}

/* DIRECTORY: a crash there leaves a core file, unless the directory is closed to us. */
static int tree_dump_core(char **argument)
{
        const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
        if (chdir(argument[0]) != 0)
                return refused("chdir");
        setrlimit(RLIMIT_CORE, &unlimited);
        pid_t child = fork();
        if (child == 0) {
                signal(SIGABRT, SIG_DFL);
                kill(getpid(), SIGABRT);
                _exit(0);
        }
        usleep(200 * 1000);
        char name[64];
        snprintf(name, sizeof(name), "core.%d", (int)child);
        if (access("core", F_OK) == 0 || access(name, F_OK) == 0)
                return SUCCEEDED;
        return refused_because("core dump", "no core file");
}

/* --- a file that gives its owner's rights to whoever runs it, left in the workspace --- */

static int setuid_chmod(char **argument)
{
        return outcome_of(chmod(argument[0], mode_of(argument[1])), "chmod");
}

static int setuid_fchmod(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        return fd < 0 ? refused("open") : outcome_of(fchmod(fd, mode_of(argument[1])), "fchmod");
}

static int setuid_fchmodat(char **argument)
{
        return outcome_of(fchmodat(AT_FDCWD, argument[0], mode_of(argument[1]), 0), "fchmodat");
}

static int setuid_fchmodat2(char **argument)
{
        return outcome_of(syscall(SYS_fchmodat2, AT_FDCWD, argument[0], mode_of(argument[1]), 0),
                          "fchmodat2");
}

/* The kernel keeps 16 bits of the mode; a filter that compares the whole register would look away. */
static int setuid_fchmod_high_bits(char **argument)
{
        int fd = open_flags(argument[0], O_RDONLY);
        if (fd < 0)
                return refused("open");
        return outcome_of(syscall(SYS_fchmod, fd, 0x7000000000000L | 0x10000 | mode_of(argument[1])),
                          "fchmod");
}

/* A call may report success and still leave the bit out; only the bit itself counts. */
static int has_mode(const char *path, const char *mode)
{
        struct stat status;
        mode_t wanted = mode_of(mode) & (S_ISUID | S_ISGID);
        if (lstat(path, &status) != 0)
                return refused("lstat");
        return (status.st_mode & wanted) == wanted ? SUCCEEDED : refused_because("create", "without the bit");
}

static int setuid_open(char **argument)
{
        int fd = open(argument[0], O_WRONLY | O_CREAT | O_EXCL, mode_of(argument[1]));
        return fd < 0 ? refused("open") : has_mode(argument[0], argument[1]);
}

static int setuid_openat2(char **argument)
{
        struct kernel_open_how how = { .flags = O_WRONLY | O_CREAT, .mode = mode_of(argument[1]) };
        long fd = syscall(SYS_openat2, AT_FDCWD, argument[0], &how, sizeof(how));
        return fd < 0 ? refused("openat2") : has_mode(argument[0], argument[1]);
}

static int setuid_creat(char **argument)
{
        int fd = creat(argument[0], mode_of(argument[1]));
        return fd < 0 ? refused("creat") : has_mode(argument[0], argument[1]);
}

static int setuid_mknod(char **argument)
{
        if (mknod(argument[0], S_IFREG | mode_of(argument[1]), 0) != 0)
                return refused("mknod");
        return has_mode(argument[0], argument[1]);
}

/* The calls without "at" exist on older architectures only, and a filter has to know them as well. */
static int setuid_old_open(char **argument)
{
#ifdef SYS_open
        long fd = syscall(SYS_open, argument[0], O_WRONLY | O_CREAT, mode_of(argument[1]));
        return fd < 0 ? refused("open") : has_mode(argument[0], argument[1]);
#else
        (void)argument;
        return untriable("no such call on this architecture");
#endif
}

static int setuid_old_mknod(char **argument)
{
#ifdef SYS_mknod
        if (syscall(SYS_mknod, argument[0], S_IFREG | mode_of(argument[1]), 0) != 0)
                return refused("mknod");
        return has_mode(argument[0], argument[1]);
#else
        (void)argument;
        return untriable("no such call on this architecture");
#endif
}

static int setuid_tmpfile(char **argument)
{
        char parent[PATH_MAX];
        snprintf(parent, sizeof(parent), "%s", argument[0]);
        *strrchr(parent, '/') = '\0';
        int fd = open(parent, O_TMPFILE | O_RDWR, mode_of(argument[1]));
        if (fd < 0)
                return refused("open O_TMPFILE");
        if (linkat(AT_FDCWD, magic_link(fd), AT_FDCWD, argument[0], AT_SYMLINK_FOLLOW) != 0)
                return refused("linkat");
        return has_mode(argument[0], argument[1]);
}

/* FILE: a capability that whoever runs the file would get, in the on-disk form of revision 2. */
static int setuid_capability(char **argument)
{
        const unsigned char capability[20] = { 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 8 };
        return outcome_of(setxattr(argument[0], "security.capability", capability, sizeof(capability), 0),
                          "setxattr");
}

/* DEVICE: gives it the mode that it has. Whoever may do that may also take /dev/null away from everybody. */
static int device_chmod(char **argument)
{
        struct stat status;
        if (stat(argument[0], &status) != 0)
                return refused("stat");
        return outcome_of(chmod(argument[0], status.st_mode & 07777), "chmod");
}

/* The machine's null device: harmless where it works. */
static int tree_mknod_device(char **argument)
{
        return outcome_of(mknod(below(argument[0], "new"), S_IFCHR | 0666, makedev(1, 3)), "mknod S_IFCHR");
}

const struct attempt tree_attempts[] = {
        { "tree_unlink", 1, tree_unlink },
        { "tree_unlinkat", 1, tree_unlinkat },
        { "tree_rmdir", 1, tree_rmdir },
        { "tree_rename", 2, tree_rename },
        { "tree_renameat2", 2, tree_renameat2 },
        { "tree_exchange", 2, tree_exchange },
        { "tree_link", 2, tree_link },
        { "tree_create", 1, tree_create },
        { "tree_mkdir", 1, tree_mkdir },
        { "tree_symlink", 1, tree_symlink },
        { "tree_mknod_fifo", 1, tree_mknod_fifo },
        { "tree_mknod_regular", 1, tree_mknod_regular },
        { "tree_mknod_device", 1, tree_mknod_device },
        { "tree_tmpfile", 1, tree_tmpfile },
        { "tree_replace", 2, tree_replace },
        { "tree_replace_by_symlink", 2, tree_replace_by_symlink },
        { "tree_rebuild", 4, tree_rebuild },
        { "tree_relink", 3, tree_relink },
        { "tree_plant", 1, tree_plant },
        { "tree_write_through_symlink", 2, tree_write_through_symlink },
        { "tree_remount_writable", 1, tree_remount_writable },
        { "tree_setattr_writable", 1, tree_setattr_writable },
        { "tree_bind_socket", 1, tree_bind_socket },
        { "tree_dump_core", 1, tree_dump_core },
        { "setuid_capability", 1, setuid_capability },
        { "device_chmod", 1, device_chmod },
        { "setuid_chmod", 2, setuid_chmod },
        { "setuid_fchmod", 2, setuid_fchmod },
        { "setuid_fchmodat", 2, setuid_fchmodat },
        { "setuid_fchmodat2", 2, setuid_fchmodat2 },
        { "setuid_fchmod_high_bits", 2, setuid_fchmod_high_bits },
        { "setuid_open", 2, setuid_open },
        { "setuid_openat2", 2, setuid_openat2 },
        { "setuid_creat", 2, setuid_creat },
        { "setuid_mknod", 2, setuid_mknod },
        { "setuid_old_open", 2, setuid_old_open },
        { "setuid_old_mknod", 2, setuid_old_mknod },
        { "setuid_tmpfile", 2, setuid_tmpfile },
        { NULL, 0, NULL },
};
