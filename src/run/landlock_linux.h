/* landlock_linux.h: our own copy of Landlock's constants up to ABI 11: the build host's headers may be older. */
#ifndef RUN_LANDLOCK_LINUX_H
#define RUN_LANDLOCK_LINUX_H

#include <stdint.h>

#define LL_EXECUTE (1ull << 0)
#define LL_WRITE_FILE (1ull << 1)
#define LL_READ_FILE (1ull << 2)
#define LL_READ_DIR (1ull << 3)
#define LL_REMOVE_DIR (1ull << 4)
#define LL_REMOVE_FILE (1ull << 5)
#define LL_MAKE_CHAR (1ull << 6)
#define LL_MAKE_DIR (1ull << 7)
#define LL_MAKE_REG (1ull << 8)
#define LL_MAKE_SOCK (1ull << 9)
#define LL_MAKE_FIFO (1ull << 10)
#define LL_MAKE_BLOCK (1ull << 11)
#define LL_MAKE_SYM (1ull << 12)
#define LL_REFER (1ull << 13)     /* ABI 2 */
#define LL_TRUNCATE (1ull << 14)  /* ABI 3 */
#define LL_IOCTL_DEV (1ull << 15) /* ABI 5 */

#define LL_NET_BIND_TCP (1ull << 0) /* ABI 4 */
#define LL_NET_CONNECT_TCP (1ull << 1)

#define LL_SCOPE_ABSTRACT (1ull << 0) /* ABI 6 */
#define LL_SCOPE_SIGNAL (1ull << 1)

#define LL_CREATE_VERSION (1u << 0)
#define LL_CREATE_ERRATA (1u << 1)
#define LL_RULE_PATH_BENEATH 1

struct ll_ruleset {
        uint64_t handled_fs, handled_net, scoped;
};

struct ll_path_beneath {
        uint64_t allowed;
        int32_t parent_fd;
} __attribute__((packed));

/* How many bytes of struct ll_ruleset a kernel of this ABI knows. */
static inline unsigned ll_ruleset_size(int abi)
{
        return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

static inline uint64_t ll_handled_fs(int abi)
{
        uint64_t rights = LL_REFER - 1;

        if (abi >= 2)
                rights |= LL_REFER;
        if (abi >= 3)
                rights |= LL_TRUNCATE;
        if (abi >= 5)
                rights |= LL_IOCTL_DEV;
        return rights;
}

/* What may be granted on something that is no directory. */
#define LL_FILE_RIGHTS (LL_EXECUTE | LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE | LL_IOCTL_DEV)

#endif
