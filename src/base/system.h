/* system.h: what every operating system does in a way of its own, below the sandbox: one file for each, system_<os>.c. */
#ifndef BASE_SYSTEM_H
#define BASE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- files ---------------------------------------------------------------------------------------------- */

/* Flags of open(): for what is only named, also if it may not be read (with O_DIRECTORY it is a place to look up names in); for a
 * file that shall not note that it was read. */
extern const int system_name_flags, system_unnoted_flags;
/* Whether one file may have several spellings: then a path is only known after each of its names was asked for. */
extern const bool system_folds_names;

/* What a user has written, in place: a path in the form of this system becomes one of ours, which begin with a slash. */
void system_read_path(char *path);

/* ELOOP at a symbolic link anywhere on the way, ENOSYS where the kernel cannot tell, or where a path without a link is not yet the
 * only one to its file. */
int system_open_without_links(int directory, const char *path, unsigned flags);
/* What the kernel calls an open directory; owned by the caller, or NULL with errno. */
char *system_path_of(int fd);
/* The last name of a path that is there, and no link, as the disk has it: owned by the caller. NULL: as it stands in the path. 0, or -1
 * with errno. */
int system_find_spelling(const char *path, char **out);

/* What a file is, but for its times: who asks for them may slow down its writers. */
struct system_file {
        unsigned mode, uid;
        uint64_t links, inode, size, device;
};

/* What the name leads to in the directory `at`, links not followed; with an empty name, what `at` is. 0, or -1 with errno. */
int system_examine(int at, const char *name, struct system_file *out);

/* Nanoseconds since 1970. */
struct system_times {
        int64_t written_ns, changed_ns; /* its bytes; anything of it */
};

struct stat;
struct system_times system_times_of(const struct stat *status);

/* Names in an open directory, with what the listing says of each (DT_*). False when that was not worth it, so that not all were told;
 * where another spelling of a name is the same file it never is. */
bool system_list(int directory, void (*note)(void *user, const char *name, unsigned char type), void *user);

/* Two names of a directory change places, at once. 0, or -1 with errno: EINVAL, ENOSYS or ENOTSUP where that cannot be done. */
int system_exchange(int directory, const char *first, const char *second);
/* What was written to it outlives a power cut. 0, or -1 with errno. */
int system_sync(int fd);
/* A pipe that no exec inherits. 0, or -1 with errno. */
int system_pipe(int ends[2]);

/* ---- the process and its user --------------------------------------------------------------------------- */

/* Bytes that nobody can guess: 256 at most. 0, or -1 with errno. */
int system_random(void *out, size_t length);
/* Microseconds since 1970. */
int64_t system_now(void);
char **system_environment(void);
/* The home of the account, whatever $HOME says: 0, or ENOMEM. *out is owned by the caller, and NULL when there is none. */
int system_account_home(char **out);
/* A decimal number as C has it, whatever the locale of the program around us. 0, or -1 with errno. */
int system_read_decimal(const char *digits, double *out);
/* Whether the processor has the instructions of sha256_<processor>.c. Not in those files: whatever is compiled there may need them. */
bool system_has_sha256(void);

#endif
