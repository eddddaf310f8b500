/* config_file.h: somebody's configuration file, read whole, and replaced at once with a copy kept. */
#ifndef AGENTS_CONFIG_FILE_H
#define AGENTS_CONFIG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abatis.h"

enum { CONFIG_FILE_MAX = 16 << 20, CONFIG_FILE_BACKUPS = 100 };

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
 * owned by the caller; NULL: none is kept. On failure nothing is left that was not there, but perhaps the copy. */
int config_file_replace(const struct config_file *file, const char *text, size_t length, char **backup,
                        abatis_error *err);
/* The path of such a copy, owned by the caller: the first has the number 0. NULL when there is no memory. */
char *config_file_backup(const struct config_file *file, unsigned number);
/* Whether one of them has that text. */
bool config_file_has_backup(const struct config_file *file, const char *text, size_t length);
void config_file_done(struct config_file *file);

#endif
