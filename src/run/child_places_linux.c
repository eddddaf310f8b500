/* child_places_linux.c: where the broker would make, move or remove something. Raw system calls.
 *
 * A name is a directory that is held open, where the kernel says that it lies, and one component in it, which is never
 * followed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

enum { NOBODY_ELSE = 077 };

static size_t length_of(const char *text)
{
        size_t length = 0;

        while (text[length])
                length++;
        return length;
}

/* Cuts the last component off a path; what is left leads to its directory. -EBUSY where there is none to cut off. */
static long cut_name(char *path, struct place *place, const char **directory)
{
        size_t end = length_of(path), start;

        if (!end)
                return -ENOENT;
        for (; end && path[end - 1] == '/'; end--)
                place->has_slash = true;
        path[end] = '\0';
        for (start = end; start && path[start - 1] != '/';)
                start--;
        if (end - start > NAME_MAX)
                return -ENAMETOOLONG;
        for (size_t i = 0; i <= end - start; i++)
                place->name[i] = path[start + i];
        if (start == end || text_is_dots(place->name))
                return -EBUSY;
        if (start)
                path[start] = '\0'; /* the slash stays: it may be the root */
        *directory = start ? path : ".";
        return 0;
}

static void add_component(char *to, const char *directory, const char *name)
{
        while (*directory)
                *to++ = *directory++;
        if (to[-1] != '/')
                *to++ = '/';
        while (*name)
                *to++ = *name++;
        *to = '\0';
}

long place_locate(const struct request *request, long directory, long from, int index, struct place *place)
{
        const char *way = 0, *real;
        long r = cut_name(request->room->path, place, &way);

        if (!r)
                r = from < 0 ? caller_open_at(request, directory, way, O_DIRECTORY)
                             : caller_open_from(request, from, way, O_DIRECTORY);
        if (r < 0)
                return r;
        place->parent = r;
        real = caller_find_place(request, place->parent);
        if (!real || *real != '/')
                return -EACCES;
        place->real = request->room->places[index];
        add_component(place->real, real, place->name);
        return 0;
}

long place_find(const struct request *request, long directory, uint64_t address, int index,
                struct place *place)
{
        long r = caller_read_text(request, address, request->room->path, PATH_MAX, -ENAMETOOLONG);

        place->parent = -1;
        place->name[0] = place->name[1] = '\0';
        place->has_slash = false;
        return r < 0 ? r : place_locate(request, directory, -1, index, place);
}

void place_leave(const struct place *place)
{
        if (place->parent >= 0)
                RAW(SYS_close, place->parent);
}

enum kind place_kind(long fd)
{
        struct stat status;

        if (RAW(SYS_fstat, fd, &status) < 0)
                return KIND_DIRECTORY;
        /* NOLINTNEXTLINE(clang-analyzer-core.*): the kernel has filled it, as the analyzer cannot see */
        return S_ISDIR(status.st_mode) ? KIND_DIRECTORY : S_ISLNK(status.st_mode) ? KIND_LINK : KIND_FILE;
}

/* Something is there, and it is a directory if a slash says so. */
static long find_entry(const struct place *place, enum kind *kind)
{
        long fd = RAW(SYS_openat, place->parent, place->name,
                      O_PATH | O_NOFOLLOW | O_CLOEXEC | (place->has_slash ? O_DIRECTORY : 0));

        *kind = KIND_NONE;
        if (fd < 0)
                return fd;
        *kind = place_kind(fd);
        RAW(SYS_close, fd);
        return 0;
}

long place_check_new(const struct request *request, const struct place *place, enum kind kind)
{
        enum kind found;
        long r = find_entry(place, &found);

        if (!r || r == -ENOTDIR)
                return -EEXIST;
        if (r != -ENOENT)
                return r;
        if (!caller_is_waiting(request))
                return -ESRCH;
        if (!broker_may_write(request, place->real) ||
            (kind != KIND_DIRECTORY && broker_holds_closed(request, place->real)) ||
            (kind == KIND_LINK && broker_leads_in(request, place->real)))
                return -EACCES;
        return 0;
}

long place_check_old(const struct request *request, const struct place *place, bool must_exist,
                     enum kind *kind)
{
        long r = find_entry(place, kind);

        if (r < 0 && (must_exist || r != -ENOENT))
                return r;
        if (!caller_is_waiting(request))
                return -ESRCH;
        if (!broker_may_write(request, place->real))
                return -EACCES;
        return broker_holds_closed(request, place->real) ? -EBUSY : 0;
}

long place_check_move(const struct request *request, const struct place *from, const struct place *to,
                      enum kind kind)
{
        if (kind == KIND_DIRECTORY && broker_leads_out(request, from->real))
                return -EBUSY;
        return kind >= KIND_LINK && broker_leads_in(request, to->real) ? -EACCES : 0;
}

/* As long as nobody in the job has changed his, everybody has the one that the command was started with. */
unsigned caller_umask(const struct request *request)
{
        char *text = request->room->value;
        uint64_t mask;

        if (!request->job->has_umasks)
                return (unsigned)request->job->umask;
        return status_find(text, status_read(request->thread, text, 512), "\nUmask:\t", 8, &mask)
                       ? (unsigned)mask
                       : NOBODY_ELSE;
}
