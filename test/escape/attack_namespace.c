/* Attempts to make a world of one's own: new namespaces, new mounts, a new root. */
#include "attack.h"
#include "syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

/* FLAGS as a number: the runner goes through every kind. */
static int namespace_unshare(char **argument)
{
        return outcome_of(unshare((int)strtoul(argument[0], NULL, 0)), "unshare");
}

static int finish_child(long child, const char *what)
{
        if (child < 0)
                return refused(what);
        if (child == 0)
                _exit(0);
        waitpid((pid_t)child, NULL, __WALL);
        return SUCCEEDED;
}

static int namespace_clone(char **argument)
{
        unsigned long flags = strtoul(argument[0], NULL, 0) | SIGCHLD;
        return finish_child(syscall(SYS_clone, flags, NULL, NULL, NULL, NULL), "clone");
}

static int namespace_clone3(char **argument)
{
        struct kernel_clone_args args = { .flags = strtoul(argument[0], NULL, 0), .exit_signal = SIGCHLD };
        return finish_child(syscall(SYS_clone3, &args, sizeof(args)), "clone3");
}

static int mount_tmpfs(char **argument)
{
        return outcome_of(mount("tmpfs", argument[0], "tmpfs", 0, NULL), "mount tmpfs");
}

static int mount_proc(char **argument)
{
        return outcome_of(mount("proc", argument[0], "proc", 0, NULL), "mount proc");
}

static int mount_bind(char **argument)
{
        return outcome_of(mount("/", argument[0], NULL, MS_BIND | MS_REC, NULL), "mount MS_BIND");
}

static int mount_move(char **argument)
{
        long tree = syscall(SYS_open_tree, AT_FDCWD, argument[0], KERNEL_OPEN_TREE_CLONE);
        if (tree < 0)
                return refused("open_tree");
        long result =
                syscall(SYS_move_mount, tree, "", AT_FDCWD, argument[0], KERNEL_MOVE_MOUNT_F_EMPTY_PATH);
        return outcome_of(result, "move_mount");
}

/* EBADF is the kernel's own answer to a move of nothing: the call alone, so that its own filter is tested. */
static int mount_move_alone(char **argument)
{
        long result = syscall(SYS_move_mount, -1, "", AT_FDCWD, argument[0], KERNEL_MOVE_MOUNT_F_EMPTY_PATH);
        return outcome_of_reaching(result, "move_mount", EBADF);
}

static int mount_open_tree(char **argument)
{
        return outcome_of(syscall(SYS_open_tree, AT_FDCWD, argument[0], KERNEL_OPEN_TREE_CLONE), "open_tree");
}

static int mount_open_tree_attr(char **argument)
{
        struct kernel_mount_attr attributes = { .attr_clr = KERNEL_MOUNT_ATTR_RDONLY };
        long result = syscall(SYS_open_tree_attr, AT_FDCWD, argument[0],
                              KERNEL_OPEN_TREE_CLONE | KERNEL_AT_RECURSIVE, &attributes, sizeof(attributes));
        return outcome_of(result, "open_tree_attr");
}

static int mount_fsopen(char **argument)
{
        (void)argument;
        return outcome_of(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
}

static int mount_fspick(char **argument)
{
        return outcome_of(syscall(SYS_fspick, AT_FDCWD, argument[0], 0), "fspick");
}

static int mount_fsconfig(char **argument)
{
        (void)argument;
        /* Without a context the kernel says EINVAL, and fsmount says EBADF. */
        return outcome_of_reaching(syscall(SYS_fsconfig, -1, 6, NULL, NULL, 0), "fsconfig", EINVAL);
}

static int mount_fsmount(char **argument)
{
        (void)argument;
        return outcome_of_reaching(syscall(SYS_fsmount, -1, 0, 0), "fsmount", EBADF);
}

static int mount_setattr_attempt(char **argument)
{
        struct kernel_mount_attr attributes = { .attr_clr = KERNEL_MOUNT_ATTR_RDONLY };
        long result = syscall(SYS_mount_setattr, AT_FDCWD, argument[0], KERNEL_AT_RECURSIVE, &attributes,
                              sizeof(attributes));
        return outcome_of(result, "mount_setattr");
}

static int mount_umount(char **argument)
{
        return outcome_of(umount2(argument[0], MNT_DETACH), "umount2");
}

static int mount_pivot_root(char **argument)
{
        if (chdir(argument[0]) != 0)
                return refused("chdir");
        /* EINVAL or EBUSY: the kernel got as far as looking at the directories, which are no mount points. */
        long result = syscall(SYS_pivot_root, ".", ".");
        return outcome_of_reaching(result, "pivot_root", result < 0 && errno == EBUSY ? EBUSY : EINVAL);
}

static int mount_chroot(char **argument)
{
        return outcome_of(chroot(argument[0]), "chroot");
}

/* NAME: only where the runner made a UTS namespace for it. */
static int name_sethostname(char **argument)
{
        return outcome_of(sethostname(argument[0], 4), "sethostname");
}

static int name_setdomainname(char **argument)
{
        return outcome_of(setdomainname(argument[0], 4), "setdomainname");
}

const struct attempt namespace_attempts[] = {
        { "namespace_unshare", 1, namespace_unshare },
        { "namespace_clone", 1, namespace_clone },
        { "namespace_clone3", 1, namespace_clone3 },
        { "mount_tmpfs", 1, mount_tmpfs },
        { "mount_proc", 1, mount_proc },
        { "mount_bind", 1, mount_bind },
        { "mount_move", 1, mount_move },
        { "mount_move_alone", 1, mount_move_alone },
        { "mount_open_tree", 1, mount_open_tree },
        { "mount_open_tree_attr", 1, mount_open_tree_attr },
        { "mount_fsopen", 0, mount_fsopen },
        { "mount_fspick", 1, mount_fspick },
        { "mount_fsconfig", 0, mount_fsconfig },
        { "mount_fsmount", 0, mount_fsmount },
        { "mount_setattr", 1, mount_setattr_attempt },
        { "mount_umount", 1, mount_umount },
        { "mount_pivot_root", 1, mount_pivot_root },
        { "mount_chroot", 1, mount_chroot },
        { "name_sethostname", 1, name_sethostname },
        { "name_setdomainname", 1, name_setdomainname },
        { NULL, 0, NULL },
};
