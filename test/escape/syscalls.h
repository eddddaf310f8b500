/* Numbers and constants of system calls that are younger than the C library's headers on the oldest build
 * host. */
#ifndef ESCAPE_SYSCALLS_H
#define ESCAPE_SYSCALLS_H

#include <stdint.h>
#include <sys/syscall.h>

/* From 424 on every architecture uses the same number. */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#define SYS_fspick 433
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

struct kernel_open_how {
        uint64_t flags, mode, resolve;
};

#define KERNEL_RESOLVE_IN_ROOT 0x10
#define KERNEL_OPEN_TREE_CLONE 1
#define KERNEL_AT_RECURSIVE 0x8000
#define KERNEL_MOVE_MOUNT_F_EMPTY_PATH 4
#define KERNEL_MOUNT_ATTR_RDONLY 1

struct kernel_mount_attr {
        uint64_t attr_set, attr_clr, propagation, userns_fd;
};

struct kernel_xattr_args {
        uint64_t value;
        uint32_t size, flags;
};

struct kernel_file_attr {
        uint64_t xflags;
        uint32_t extsize, nextents, projid, cowextsize;
};

struct kernel_clone_args {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
                set_tid_size, cgroup;
};

#endif
