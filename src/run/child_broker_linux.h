/* child_broker_linux.h: one question to the broker, and the caller it comes from. For the broker's own files. */
#ifndef RUN_CHILD_BROKER_LINUX_H
#define RUN_CHILD_BROKER_LINUX_H

#include <limits.h>
#include <linux/limits.h>

#include "run/child_linux.h"

enum {
        PROC_PATH_SIZE = 64,
        ATTRIBUTE_NAME_SIZE = 256,
        ATTRIBUTE_SIZE = 65536, /* the kernel takes no more */
        WAITERS = 8,
        WAITER_STACK_SIZE = 8192,
        CONNECTORS = 64,
        ADDRESS_SIZE = 128, /* the kernel takes no more */
        HELD_MAX = 1024,
        HOLDERS_MAX = 64,
        HOLDERS_UNKNOWN = -1,
};

/* Which file it is, on this machine. */
struct file_number {
        uint32_t major, minor;
        uint64_t inode;
};

/* A thread that opens a named pipe and waits until somebody opens its other end. */
struct waiter {
        char stack[WAITER_STACK_SIZE] __attribute__((aligned(16)));
        int is_taken; /* a futex; cleared by the kernel when the thread is gone */
        int thread;   /* its number; 0 until it is known */
        long listener, object;
        uint64_t id, flags;
};

/* Of a socket, with room behind it. */
struct socket_name {
        char bytes[ADDRESS_SIZE] __attribute__((aligned(8)));
        int length;
};

/* A thread that connects a socket and waits until it is connected. */
struct connector {
        char stack[WAITER_STACK_SIZE] __attribute__((aligned(16)));
        struct socket_name address;
        long listener, socket;
        int thread;   /* of the caller */
        int domain;   /* of the socket */
        int is_alone; /* a futex: set when nobody else here has the socket any more */
        struct child_job *job;
        struct stream_request *stream; /* of TCP, to the relay: in the thread's own memory; else NULL */
        uint64_t id;
};

struct request;

/* A thread that holds a caller's others still. */
struct holder {
        char stack[WAITER_STACK_SIZE] __attribute__((aligned(16)));
        int is_running; /* a futex; cleared by the kernel when the thread is gone */
        const struct request *request;
        long (*judge)(const struct request *request);
        bool has_answered;
        int count, threads[HELD_MAX]; /* that are held */
};

/* What one of the broker's threads has. */
struct child_broker_room {
        struct waiter waiters[WAITERS];
        struct connector connectors[CONNECTORS + 1];
        int is_connecting
                [CONNECTORS]; /* futexes of the connectors, as waiter.is_taken: apart, as pages that are touched cost */
        char stack[CHILD_STACK_SIZE] __attribute__((aligned(16)));
        struct holder holder;
        struct child_job *job;
        long listener;
        int hold;        /* a lock: taken while it has open what its caller has already */
        int descriptors; /* descriptor of its own /proc/thread-self/fd */
        int caller,
                caller_directory; /* the thread that asked last, or 0, and a descriptor of its /proc/THREAD */
        struct file_number holders[HOLDERS_MAX]; /* see child_lists_linux.c */
        int holder_count;
        struct file_number proc;
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
        bool is_read;     /* the path is in the room already */
        bool follows;     /* a link at the path's end */
        bool takes_empty; /* an empty path means the descriptor, too */
        bool has_own_pty; /* what was found is a terminal that the job has made */
};

/* "/proc/THREAD/KIND" or, with a number that is not negative, "/proc/THREAD/KIND/NUMBER". Thread 0 is the
 * broker's own. */
void caller_proc_path(char path[PROC_PATH_SIZE], long thread, const char *kind, long number);
/* The name of one of init's own descriptors in its directory of them (room->descriptors), which leads to what it is of. */
void broker_descriptor_name(char name[PROC_PATH_SIZE], long fd);
/* Each returns 0, a descriptor or a negative errno. A descriptor is of O_PATH. */
long caller_open_descriptor(const struct request *request, long number);
long caller_open_object(const struct request *request);
/* The file that the caller runs. */
long caller_open_program(const struct request *request);
/* The path is counted from what the caller has as `directory`; `flags` beside O_PATH. */
long caller_open_at(const struct request *request, long directory, const char *path, int flags);
/* The same from a descriptor of our own. */
long caller_open_from(const struct request *request, long directory, const char *path, int flags);
long caller_read(const struct request *request, uint64_t address, void *to, size_t size);
long caller_read_text(const struct request *request, uint64_t address, char *to, size_t size, long too_long);
void caller_redirect(const struct request *request);
/* Whether this is its number, or that of another of its threads. */
bool caller_is_process(const struct request *request, long process);
/* Its own number, or its process's: these stay its own while it waits. */
bool caller_keeps_number(const struct request *request, long number);
/* The number of its process, or a negative errno. */
long caller_find_process(const struct request *request);
/* How many threads it has; 0 if nobody knows. */
int caller_count_threads(const struct request *request);
/* The same of init, of which the broker is a part. */
bool caller_is_init(long process);
/* Whether it is of a file system of processes. */
bool caller_is_in_proc(long fd);
/* /proc/THREAD/status: its beginning, and a number in it behind this key, which begins with a newline and ends with a tab. */
long status_read(int thread, char *text, size_t size);
bool status_find(const char *text, long length, const char *key, unsigned base, uint64_t *out);
/* What the path in the room leads to at the moment. False if that is nothing. */
bool caller_look_at(const struct request *request, bool follows, struct file_number *out);
bool file_look_at(long directory, const char *path, int flags, struct file_number *out);
/* It is still waiting for the answer, so its number was its own all the time. */
bool caller_is_waiting(const struct request *request);
/* Where the kernel says that something lies: true of the object, whatever way led to it. NULL if it does not say. In the
 * request's room. */
const char *caller_find_place(const struct request *request, long object);

/* child_judge_linux.c: what the policy says of a path as the kernel prints it. */
bool broker_may_write(const struct request *request, const char *real);
bool broker_is_denied(const struct request *request, const char *real);
/* As code. */
bool broker_may_map(const struct request *request, const char *real);
bool broker_may_read(const struct request *request, const char *real);
bool broker_may_open_to_write(const struct request *request, const char *real);
/* One of the few that every command has, or a terminal of the job's. */
bool broker_is_own_device(const struct request *request, const char *real);
/* Its mode, owner, times and attributes. */
bool broker_may_change(const struct request *request, const char *real);
/* Whether something that may not be written lies there or below. */
bool broker_holds_closed(const struct request *request, const char *real);
/* Whether what lies below a directory might match a pattern no longer if this one had another name; or match one if a
 * directory or a link came to have this name. */
bool broker_leads_out(const struct request *request, const char *real);
bool broker_leads_in(const struct request *request, const char *real);
/* Whether it lies in init's own directory in /proc, which `rest` is then the path in. */
bool broker_is_of_init(const struct request *request, const char *real, const char **rest);
long broker_init_number(const struct request *request);

/* child_places_linux.c: a name that a call is about. Each returns 0 or a negative errno. */
struct place {
        long parent; /* a descriptor, -1 when there is none */
        char name[NAME_MAX + 1];
        char *real;     /* of the name, in the request's room */
        bool has_slash; /* behind it: a directory is meant */
};

/* Of the path at this address, counted from what the caller has as `directory`; `index` is one of the room's two. */
long place_find(const struct request *request, long directory, uint64_t address, int index,
                struct place *place);
/* Of a path that is in the room. It is counted from what the caller has as `directory`; or, if that is not negative, from
 * our own descriptor `from`. */
long place_locate(const struct request *request, long directory, long from, int index, struct place *place);
void place_leave(const struct place *place);
enum kind { KIND_NONE, KIND_FILE, KIND_LINK, KIND_DIRECTORY };
enum kind place_kind(long fd);
/* A new name: nothing may be there, and it must be the command's to make. On the way to what is closed only a directory may
 * be made, and a new one. */
long place_check_new(const struct request *request, const struct place *place, enum kind kind);
/* A name that goes: nothing that is closed may go with it, or come to be where it is. */
long place_check_old(const struct request *request, const struct place *place, bool must_exist,
                     enum kind *kind);
/* What is of this kind and moves from here to there comes to match no pattern, and nothing in it leaves one. */
long place_check_move(const struct request *request, const struct place *from, const struct place *to,
                      enum kind kind);
enum { ALL_MODES = 01777 }; /* without those that act for another user or group */
unsigned caller_umask(const struct request *request);

/* child_opens_linux.c, child_names_linux.c, child_connect_linux.c. Each returns 0, a negative errno, or that the caller has its answer and goes on already. */
enum { BROKER_HAS_ANSWERED = 1 };
/* In place of a descriptor: another thread will give it. */
enum { BROKER_WILL_ANSWER = INT_MAX };
/* The answer: what the call returns, or a negative errno. */
void broker_send(long listener, uint64_t id, long result);
/* The call itself is made, in the caller. */
void broker_let_go_on(const struct request *request);
/* Nobody is left who could ask, or could be answered. */
bool broker_is_over(long listener);
/* Gives the caller the descriptor, or the errno that stands for it, and closes it here. */
long broker_give(const struct request *request, long fd, uint64_t flags);
/* The same of what nobody notices to be open: the caller goes on before it is closed here. */
long broker_give_at_once(const struct request *request, long fd, uint64_t flags);
/* Until nothing is open here any more that callers have got. */
void broker_settle(const struct request *request);
/* A lock that is 0 at first. */
void broker_take_lock(int *lock);
void broker_leave_lock(int *lock);
bool broker_is_write(uint64_t flags);
/* What an O_PATH descriptor of our own is of. */
long broker_reopen(const struct request *request, long object, uint64_t flags, uint64_t mode);
/* Opens what the request is about (O_PATH); *real is where it lies, or NULL. */
long broker_find(const struct request *request, const char **real);
long broker_open(struct request *request, long directory, uint64_t path, uint64_t flags, uint64_t mode);
long broker_serve_name(struct request *request);
long broker_connect(struct request *request);
/* connect() where the relay listens only for who comes. */
long broker_knock(const struct request *request, bool *goes_on);
/* bind(), where only listed unix sockets are connected to: of no unix socket, which then has nobody to wait for. */
long broker_bind(const struct request *request);
/* The socket of network.unix that the path in the room means, as it stands on the host: a descriptor (O_PATH). */
long broker_open_listed(struct request *request);
/* child_streams_linux.c: sockets of TCP, which the relay takes. Whether it is one: 0 or a negative errno. */
long stream_check(long socket, int domain);
/* Asks the relay; the connector's address is the relay's then. 0 or a negative errno. */
long stream_ask(struct connector *connector, struct stream_request *stream);
/* The connection is made, or will be: the relay is told whose it is. */
long stream_tell(struct connector *connector);
/* child_lists_linux.c: opens a directory, which is all that is asked about reading. */
long broker_list(struct request *request, uint64_t flags, bool *goes_on);

/* child_descent_linux.c: processes among the host's, by their directories in /proc. */
enum descent_word {
        DESCENT_PARENT = 1,
        DESCENT_GROUP = 2,
        DESCENT_TERMINAL = 4
}; /* of "STATE PARENT GROUP SESSION TERMINAL" */
enum { DESCENT_IS_INIT = INT_MAX };
/* A descriptor of the process's directory, or a negative errno. */
long descent_open(long process);
/* -ESRCH if it is gone. */
long descent_read(long process, enum descent_word word);
/* The length of what was read, which ends with a NUL then, or a negative errno. */
long descent_read_text(long directory, const char *path, char *text, size_t size);
/* A descriptor, DESCENT_IS_INIT, -ESRCH if the process is gone, -EAGAIN if its parent is, -EPERM if it is nobody's of the job. */
long descent_open_parent(const struct request *request, long process);
/* 0 if it descends from init; -ESRCH if it is gone, -EPERM if it is somebody else. */
long descent_check(const struct request *request, long process);
bool descent_is_thread(long process, long thread);

/* child_mappings_linux.c: mmap() of a file as code, mprotect() of what becomes code, and their like. */
bool broker_is_about_code(int call);
long broker_serve_code(const struct request *request, bool *goes_on);

/* child_threads_linux.c: where the caller has other threads. If the judge says 0, the call goes on and is done before any of
 * them can do anything; BROKER_HAS_ANSWERED then, else a negative errno. */
long broker_hold_others(const struct request *request, long (*judge)(const struct request *request));

/* child_loopback_linux.c: socket() */
long broker_socket(const struct request *request);

/* child_signals_linux.c: kill() and its like. */
long broker_signal(const struct request *request, bool *goes_on);

/* child_pty_linux.c: terminals that the job has made, where all of the host's are in view. */
/* Whether the caller, or an ancestor of it in the job, has the other end of this terminal (O_PATH). */
bool pty_is_own(const struct request *request, long object);
/* The terminal that controls the caller: a descriptor or a negative errno. */
long pty_open_controlling(const struct request *request, uint64_t flags);
/* ioctl(TIOCGPTPEER) */
long pty_serve_peer(struct request *request, bool *goes_on);

#endif
