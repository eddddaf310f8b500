/* child_lists_linux.c: the part of the broker that lets directories be listed where there are no mounts. Raw system calls.
 *
 * Landlock cannot let a directory be listed and keep one in it from being. So the directories that hold something denied have
 * no such right, and are opened here for the caller. All others Landlock judges, and the call goes on: whatever the
 * caller does to the path meanwhile, it gets no more than Landlock grants. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"
#include "run/syscall_linux.h"

static void add_holder(struct child_broker_room *room, const char *path)
{
        struct file_number *holder = &room->holders[room->holder_count];

        if (room->holder_count < HOLDERS_MAX && file_look_at(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, holder))
                room->holder_count++;
}

/* One that takes another's place later has no rights from Landlock, nor has anything in it: it is not listed either. */
static void find_holders(struct child_broker_room *room)
{
        const struct child_plan *plan = room->job->plan;

        room->holder_count = 0;
        for (size_t i = 0; i < plan->rule_count; i++)
                if (plan->rules[i].except)
                        add_holder(room, plan->rules[i].path);
        add_holder(room, "/dev");
        if (!file_look_at(AT_FDCWD, "/proc", 0, &room->proc))
                room->holder_count = HOLDERS_MAX;
}

static bool is_holder(const struct child_broker_room *room, const struct file_number *number)
{
        for (int i = 0; i < room->holder_count; i++)
                if (room->holders[i].inode == number->inode && room->holders[i].major == number->major &&
                    room->holders[i].minor == number->minor)
                        return true;
        /* What leads to a process there leads to another one here. */
        return room->proc.major == number->major && room->proc.minor == number->minor;
}

/* The path is in the room afterwards. */
static bool is_for_landlock(struct request *request)
{
        struct child_broker_room *room = request->room;
        struct file_number number;

        if (room->holder_count == HOLDERS_UNKNOWN)
                find_holders(room);
        if (room->holder_count == HOLDERS_MAX ||
            caller_read_text(request, request->path, room->path, PATH_MAX, -ENAMETOOLONG) < 0)
                return false;
        request->is_read = true;
        return *room->path && !text_begins_with(room->path, "/proc/") &&
               caller_look_at(request, request->follows, &number) && !is_holder(room, &number);
}

static bool may_list(const struct request *request, long object)
{
        const char *real = caller_find_place(request, object);

        return real && *real == '/' && broker_may_read(request, real);
}

/* The caller gets a descriptor of a directory. What lies in it is opened by the caller, under its own rules. */
static long list(const struct request *request, long object, uint64_t flags)
{
        const uint64_t kept = O_CLOEXEC | O_NONBLOCK | O_NOATIME;
        char name[PROC_PATH_SIZE];

        broker_descriptor_name(name, object);
        return broker_give_at_once(request,
                                   RAW(SYS_openat, request->room->descriptors, name,
                                       O_RDONLY | O_DIRECTORY | O_CLOEXEC | (flags & kept)),
                                   flags);
}

long broker_list(struct request *request, uint64_t flags, bool *goes_on)
{
        long object, r;

        if ((flags & O_ACCMODE) != O_RDONLY)
                return -EISDIR;
        *goes_on = is_for_landlock(request);
        if (*goes_on)
                return 0;
        object = caller_open_object(request);
        if (object < 0)
                return object;
        r = may_list(request, object) ? list(request, object, flags) : -EACCES;
        RAW(SYS_close, object);
        return r;
}
