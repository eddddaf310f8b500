/* copies_linux.c: reads the files that the command gets a copy of instead of the host's own. */
#define _GNU_SOURCE
#include "run/copies_linux.h"
#include "base/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/executable.h"
#include "base/own.h"

enum { SIZE_MAX_OF_COPY = 64 * 1024 * 1024 };

bool copies_are_for(const struct step *step)
{
        return step->op == PLAN_LOADER || (step->op == PLAN_START && step->value);
}

/* All `length` bytes: a file that changes its size while it is read is not copied. */
static int read_whole(int fd, unsigned char *bytes, size_t length, const char *path, abatis_error *err)
{
        size_t done = 0;

        while (done < length) {
                ssize_t got = read(fd, bytes + done, length - done);

                if (got < 0 && errno == EINTR)
                        continue;
                if (got <= 0)
                        return error_os(err, got ? errno : EIO, "cannot read '%s'", path);
                done += (size_t)got;
        }
        return 0;
}

static int read_copy(const struct step *step, struct copy *out, abatis_error *err)
{
        OWN_FD int fd = reach_open(step->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        OWN_FREE unsigned char *bytes = NULL;
        bool is_loader = step->op == PLAN_LOADER;
        struct stat status;
        size_t length;
        int r;

        if (fd < 0 || fstat(fd, &status) < 0)
                return error_os(err, errno, "cannot open '%s'", step->path);
        if (!S_ISREG(status.st_mode) || status.st_size < 0 || status.st_size > SIZE_MAX_OF_COPY)
                return error_set(err, ABATIS_E_INVALID, "'%s' cannot be copied: it is no file, or too large",
                                 step->path);
        length = (size_t)status.st_size;
        bytes = malloc(length + EXECUTABLE_ADDED);
        if (!bytes)
                return error_memory(err);
        r = read_whole(fd, bytes, length, step->path, err);
        if (!r && is_loader)
                r = executable_disarm(bytes, length, step->path, err);
        if (r < 0)
                return r;
        out->length = length + (is_loader ? EXECUTABLE_ADDED : 0);
        out->bytes = take_pointer(bytes);
        return 0;
}

int copies_read(const struct plan *plan, struct copies *out, abatis_error *err)
{
        struct copies copies = { 0 };
        size_t wanted = 0;
        int r = 0;

        for (size_t i = 0; i < plan->step_count; i++)
                wanted += copies_are_for(&plan->steps[i]);
        if (!wanted)
                return 0;
        copies.items = calloc(wanted, sizeof(*copies.items));
        if (!copies.items)
                return error_memory(err);
        for (size_t i = 0; i < plan->step_count && !r; i++)
                if (copies_are_for(&plan->steps[i]))
                        r = read_copy(&plan->steps[i], &copies.items[copies.count++], err);
        if (r < 0) {
                copies_done(&copies);
                return r;
        }
        *out = copies;
        return 0;
}

void copies_done(struct copies *copies)
{
        for (size_t i = 0; i < copies->count; i++)
                free(copies->items[i].bytes);
        free(copies->items);
        *copies = (struct copies){ 0 };
}
