/* child_broker_linux.h: one question to the broker, and the caller it comes from. For the broker's own files. */
#ifndef RUN_CHILD_BROKER_LINUX_H
#define RUN_CHILD_BROKER_LINUX_H

#include <linux/limits.h>

#include "run/child_linux.h"

enum {
        PROC_PATH_SIZE = 64,
        ATTRIBUTE_NAME_SIZE = 256,
        ATTRIBUTE_SIZE = 65536, /* the kernel takes no more */
};

struct child_broker_room {
        char path[PATH_MAX], real[PATH_MAX], name[ATTRIBUTE_NAME_SIZE];
        char value[ATTRIBUTE_SIZE];
        char places[2][PATH_MAX + NAME_MAX + 2]; /* of names that a call is about */
        char rest[PATH_MAX], target[PATH_MAX];   /* of a path that is walked */
};

/* What one call is about. */
struct request {
        struct child_job *job;
        struct child_broker_room *room;
        long listener;
        uint64_t id; /* of the question */
        int call;    /* its number */
        uint64_t args[6];
        int thread;
        long directory;   /* as the caller has it: a descriptor or AT_FDCWD */
        uint64_t path;    /* in the caller's memory */
        bool has_path;    /* else the descriptor itself is meant */
        bool follows;     /* a link at the path's end */
        bool takes_empty; /* an empty path means the descriptor, too */
};

/* "/proc/THREAD/KIND" or, with a number that is not negative, "/proc/THREAD/KIND/NUMBER". Thread 0 is init itself. */
void caller_proc_path(char path[PROC_PATH_SIZE], long thread, const char *kind, long number);
/* Each returns 0, a descriptor or a negative errno. A descriptor is of O_PATH. */
long caller_open_descriptor(const struct request *request, long number);
long caller_open_object(const struct request *request);
/* The path is counted from what the caller has as `directory`; `flags` beside O_PATH. */
long caller_open_at(const struct request *request, long directory, const char *path, int flags);
/* The same from a descriptor of our own. */
long caller_open_from(const struct request *request, long directory, const char *path, int flags);
long caller_read(const struct request *request, uint64_t address, void *to, size_t size);
long caller_read_text(const struct request *request, uint64_t address, char *to, size_t size, long too_long);
void caller_redirect(const struct request *request);
/* It is still waiting for the answer, so its number was its own all the time. */
bool caller_is_waiting(const struct request *request);
/* Where the kernel says that something lies: true of the object, whatever way led to it. NULL if it does not say. In the
 * request's room. */
const char *caller_find_place(const struct request *request, long object);

/* What the policy says of a path as the kernel prints it. */
bool broker_may_write(const struct request *request, const char *real);
bool broker_may_read(const struct request *request, const char *real);
bool broker_may_open_to_write(const struct request *request, const char *real);
/* Whether something that may not be written lies there or below. */
bool broker_holds_closed(const struct request *request, const char *real);

/* child_names_linux.c. Each returns 0, a negative errno, or that the caller has its answer and goes on already. */
enum { BROKER_HAS_ANSWERED = 1 };
/* Gives the caller the descriptor, or the errno that stands for it, and closes it here. */
long broker_give(const struct request *request, long fd, uint64_t flags);
bool broker_is_write(uint64_t flags);
long broker_open_to_write(struct request *request, long directory, uint64_t path, uint64_t flags,
                          uint64_t mode);
long broker_serve_name(struct request *request);

#endif
