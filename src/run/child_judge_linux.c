/* child_judge_linux.c: what the policy says of a path as the kernel prints it. For the broker. */
#define _GNU_SOURCE
#include <linux/limits.h>

#include "run/child_broker_linux.h"
#include "run/child_text_linux.h"

static bool is_below(const char *path, const char *directory)
{
        if (!directory[1]) /* the root */
                return true;
        while (*directory && *path == *directory) {
                path++;
                directory++;
        }
        return !*directory && (!*path || *path == '/');
}

static bool is_in_one_of(const char *path, const char *const *trees)
{
        for (; *trees; trees++)
                if (is_below(path, *trees))
                        return true;
        return false;
}

static bool matches_one_of(const char *path, const struct glob *const *globs)
{
        for (; *globs; globs++)
                if (glob_matches(*globs, path))
                        return true;
        return false;
}

/* What was removed while somebody had it open is still what it was: the kernel says so behind its name. NULL if it was not. In
 * the request's room. */
static const char *former_name(const struct request *request, const char *real)
{
        static const char mark[] = " (deleted)";
        char *name = request->room->target;
        size_t length = 0;

        while (real[length])
                length++;
        if (length < sizeof(mark) || length >= PATH_MAX ||
            !text_is_same(real + length - (sizeof(mark) - 1), mark))
                return 0;
        length -= sizeof(mark) - 1;
        for (size_t i = 0; i < length; i++)
                name[i] = real[i];
        name[length] = '\0';
        return name;
}

static bool is_listed(const struct request *request, const char *real, const char *const *trees,
                      const struct glob *const *globs)
{
        const char *former = former_name(request, real);

        return is_in_one_of(real, trees) || matches_one_of(real, globs) ||
               (former && (is_in_one_of(former, trees) || matches_one_of(former, globs)));
}

static bool is_in_own_tmp(const struct request *request, const char *real)
{
        return *request->job->own_tmp && is_below(real, request->job->own_tmp);
}

bool broker_is_denied(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        return is_listed(request, real, broker->denied, broker->denied_globs);
}

bool broker_may_write(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        return (is_in_own_tmp(request, real) || is_in_one_of(real, broker->open)) &&
               !is_listed(request, real, broker->closed, broker->closed_globs);
}

bool broker_may_map(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        return (is_in_one_of(real, broker->libraries) || is_in_one_of(real, broker->programs) ||
                is_in_one_of(real, broker->loaders)) &&
               !broker_may_write(request, real);
}

bool broker_holds_closed(const struct request *request, const char *real)
{
        /* The job's own directory goes with the job, and not before. */
        if (*request->job->own_tmp && is_below(request->job->own_tmp, real))
                return true;
        for (const char *const *closed = request->job->plan->broker->closed; *closed; closed++)
                if (is_below(*closed, real))
                        return true;
        return false;
}

bool broker_leads_out(const struct request *request, const char *real)
{
        for (const struct glob *const *fixed = request->job->plan->broker->fixed_globs; *fixed; fixed++)
                if (glob_may_match_below(*fixed, real))
                        return true;
        return false;
}

bool broker_leads_in(const struct request *request, const char *real)
{
        for (const struct glob *const *fixed = request->job->plan->broker->fixed_globs; *fixed; fixed++)
                if (glob_leads_through(*fixed, real))
                        return true;
        return false;
}

/* Its own, and nowhere else. */
static bool has_no_place(const char *real)
{
        return text_begins_with(real, "pipe:[") || text_begins_with(real, "socket:[") ||
               text_begins_with(real, "/memfd:");
}

bool broker_may_change(const struct request *request, const char *real)
{
        return has_no_place(real) || (*real == '/' && broker_may_write(request, real));
}

/* The one that was made for the command, by its number among the host's. */
static bool is_own_terminal(const struct request *request, const char *real)
{
        static const char directory[] = "/dev/pts/";
        unsigned number = 0;

        if (!request->job->has_terminal || !text_begins_with(real, directory) || !real[sizeof(directory) - 1])
                return false;
        for (real += sizeof(directory) - 1; *real >= '0' && *real <= '9' && number < 1u << 24; real++)
                number = 10 * number + (unsigned)(*real - '0');
        return !*real && number == (unsigned)request->job->terminal;
}

bool broker_is_own_device(const struct request *request, const char *real)
{
        static const char *const devices[] = { "/dev/null",   "/dev/zero",     "/dev/full",
                                               "/dev/random", "/dev/urandom",  "/dev/tty",
                                               "/dev/ptmx",   "/dev/pts/ptmx", 0 };

        return is_in_one_of(real, devices) || is_own_terminal(request, real) || request->has_own_pty;
}

bool broker_may_open_to_write(const struct request *request, const char *real)
{
        if (has_no_place(real))
                return true;
        /* What is written to a device changes no file: as on a read-only mount, protecting /dev leaves /dev/null. */
        return *real == '/' && (broker_may_write(request, real) ||
                                (broker_is_own_device(request, real) && !broker_is_denied(request, real)));
}

/* The process that a path in /proc is of, and what follows its number; 0 if it is of none. */
static long process_of(const char *real, const char **rest)
{
        static const char directory[] = "/proc/";
        long number = 0;

        if (!text_begins_with(real, directory))
                return 0;
        for (real += sizeof(directory) - 1; *real >= '0' && *real <= '9' && number < 1l << 30; real++)
                number = 10 * number + (*real - '0');
        *rest = real;
        return *real && *real != '/' ? 0 : number;
}

long broker_init_number(const struct request *request)
{
        return request->job->plan->broker->is_among_others ? request->job->init : 1;
}

bool broker_is_of_init(const struct request *request, const char *real, const char **rest)
{
        return process_of(real, rest) == broker_init_number(request);
}

/* Init may look into processes that the command may not: into itself, and, where all are in view, into others of its user. Of
 * those only what everybody may read is shown. */
static bool may_look_into(const struct request *request, const char *real)
{
        static const char *const open_to_all[] = { "",      "/stat",   "/status", "/statm",     "/cmdline",
                                                   "/comm", "/cgroup", "/limits", "/oom_score", 0 };
        const char *rest = 0;
        long process = process_of(real, &rest);

        if (!process)
                return true;
        /* Of init every thread has a directory there. */
        if (process == broker_init_number(request) || caller_is_init(process))
                return false;
        if (!request->job->plan->broker->is_among_others || caller_is_process(request, process))
                return true;
        for (const char *const *name = open_to_all; *name; name++)
                if (text_is_same(rest, *name))
                        return true;
        return false;
}

bool broker_may_read(const struct request *request, const char *real)
{
        const struct child_broker *broker = request->job->plan->broker;

        if (has_no_place(real))
                return true;
        if (*real != '/' || broker_is_denied(request, real) || !may_look_into(request, real))
                return false;
        return is_in_own_tmp(request, real) || is_in_one_of(real, broker->shown) ||
               broker_is_own_device(request, real) || !is_in_one_of(real, broker->hidden) ||
               text_is_same(real, "/dev"); /* its list */
}
