/* reach.h: system calls on paths of any length. The kernel takes no path of PATH_MAX (4096) bytes or more at once, though
 * trees may well be deeper: of such a path all but the end is opened first, piece by piece. A shorter one costs nothing
 * more than the call itself. Each returns what the call does, and sets errno. */
#ifndef BASE_REACH_H
#define BASE_REACH_H

#include <stddef.h>
#include <sys/stat.h>

/* The flag that no exec inherits it is added. */
int reach_open(const char *path, int flags);
int reach_lstat(const char *path, struct stat *out);
int reach_stat(const char *path, struct stat *out);
int reach_access(const char *path, int mode);
/* For the effective ids. */
int reach_effective_access(const char *path, int mode);
int reach_make_directory(const char *path, mode_t mode);
/* At most PATH_MAX - 1 bytes: no link is longer. */
long reach_read_link(const char *path, char *out, size_t size);
/* ELOOP at a symbolic link anywhere on the way, ENOSYS where the kernel cannot tell. */
int reach_open_without_links(const char *path, unsigned flags);
/* The absolute path of the working directory, owned by the caller, or NULL. */
char *reach_working_directory(void);

#endif
