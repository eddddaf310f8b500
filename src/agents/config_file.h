/* config_file.h: somebody's configuration file, read whole, and replaced at once with a copy kept. */
#ifndef AGENTS_CONFIG_FILE_H
#define AGENTS_CONFIG_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "abatis.h"

enum { CONFIG_FILE_MAX = 16 << 20 };

struct config_file {
        char *path; /* owned: where links lead to */
        char *text; /* owned */
        size_t length;
        dev_t device;
        ino_t inode;
        mode_t mode;
        uid_t uid;
        gid_t gid;
};

int config_file_read(const char *path, struct config_file *out, abatis_error *err);
/* Another text in its place, with the same mode and owner; refuses when it is no longer what was read. *backup is the path of the copy,
 * owned by the caller. On failure nothing is left that was not there, but perhaps the copy. */
int config_file_replace(const struct config_file *file, const char *text, size_t length, char **backup,
                        abatis_error *err);
void config_file_done(struct config_file *file);

#endif
