/* fuzz_executable.c: whatever a file says of itself, reading it does no harm, and a disarmed loader names "/". */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/executable.h"

static int read_bytes(const void *bytes, size_t length, struct executable *out)
{
        int fd = memfd_create("input", MFD_CLOEXEC), r;

        if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
                abort();
        r = executable_read(fd, "input", out, NULL);
        close(fd);
        return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct executable found = { 0 };
        unsigned char *image = malloc(size + EXECUTABLE_ADDED);

        if (!image)
                return 0;
        if (!read_bytes(data, size, &found)) {
                /* A script names something, and only a script has an argument. */
                if (found.kind == EXECUTABLE_SCRIPT ? !found.interpreter || !*found.interpreter
                                                    : found.argument != NULL)
                        abort();
                executable_done(&found);
        }
        if (size)
                memcpy(image, data, size);
        if (!executable_disarm(image, size, "input", NULL)) {
                if (read_bytes(image, size + EXECUTABLE_ADDED, &found) < 0 || !found.interpreter ||
                    strcmp(found.interpreter, "/"))
                        abort();
                executable_done(&found);
        }
        free(image);
        return 0;
}
