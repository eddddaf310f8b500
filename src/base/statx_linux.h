/* statx_linux.h: what a file is, without its times, as Linux tells it; not every C library has this call. */
#ifndef BASE_STATX_LINUX_H
#define BASE_STATX_LINUX_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct statx. */
struct statx_facts {
        uint32_t known, block_size;
        uint64_t attributes;
        uint32_t links, uid, gid;
        uint16_t mode, unused;
        uint64_t inode, size, blocks, attributes_known;
        uint64_t times[8];
        uint32_t device_of_node[2], device[2];
        uint64_t mount; /* which never another one has, if STATX_KNOWS_MOUNT is in `known` (since 6.8) */
        uint64_t more[13];
};

enum { STATX_KNOWS_MOUNT = 0x4000 };

_Static_assert(sizeof(struct statx_facts) == 256, "as the kernel has it");

/* What the path leads to, counted from the directory `at`, links not followed; with an empty path, what `at` is. 0, or -1
 * with errno. Whoever asks for the times makes the next write note its own more exactly than it otherwise would, which
 * costs more than the rest of that write. */
static inline int statx_examine(int at, const char *path, struct statx_facts *out)
{
        enum { TYPE = 1, MODE = 2, LINKS = 4, UID = 8, INODE = 0x100, SIZE = 0x200 };

        return (int)syscall(SYS_statx, at, path, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW,
                            TYPE | MODE | LINKS | UID | INODE | SIZE | STATX_KNOWS_MOUNT, out);
}

#endif
