/* memory_linux.h: files without a name. */
#ifndef RUN_MEMORY_LINUX_H
#define RUN_MEMORY_LINUX_H

#include <stddef.h>

#include "abatis.h"

enum memory_kind { MEMORY_DATA, MEMORY_PROGRAM };

/* One that holds these bytes, or a negative error; `what` says what needs it. Closed by an exec. */
int memory_file(enum memory_kind kind, const char *name, const void *bytes, size_t size, const char *what,
                abatis_error *err);
/* Adds to it. 0, or -1 with an errno. */
int memory_write(int fd, const void *bytes, size_t size);

#endif
