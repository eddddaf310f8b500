/* session_linux.c: the host program's side of a shared session. */
#define _GNU_SOURCE
#include "run/session_linux.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "run/images.h"
#include "run/memory_linux.h"
#include "run/options.h"
#include "run/porter_linux.h"
#include "run/request_linux.h"
#include "run/syscall_linux.h"

enum { MOST_MS_TO_SEND = 2000 };

struct session {
        pthread_mutex_t lock;
        struct resources *resources; /* borrowed, as are these */
        const struct plan *plan;
        const abatis_policy *policy;
        pid_t owner;      /* who forks has a copy of this, and not of the processes */
        struct job *home; /* owned: init and the porter; NULL until there is a guest */
        int requests;     /* to the porter, or -1 */
        bool is_closed;
        bool is_killed; /* by us; atomic */
        unsigned guest_count;
};

/* ---- the session itself --------------------------------------------------------------------------------- */

int resources_share(struct resources *resources, const struct plan *plan, const abatis_policy *policy,
                    abatis_error *err)
{
        struct session *session = calloc(1, sizeof(*session));

        if (!session)
                return error_memory(err);
        pthread_mutex_init(&session->lock, NULL);
        session->resources = resources;
        session->plan = plan;
        session->policy = policy;
        session->owner = getpid();
        session->requests = -1;
        resources->session = session;
        return 0;
}

/* What the porter has as 0, 1 and 2: see porter_linux.h. */
static int connect_porter(struct job *home, int requests, abatis_error *err)
{
        int image, r = stdio_choose(&home->stdio, PORTER_NULL, -1, err);

        home->stdio.ends[PORTER_REQUESTS] = requests;
        if (r < 0)
                return r;
        image = memory_file(MEMORY_PROGRAM, "abatis porter", porter_image, porter_image_size,
                            "session: shared", err);
        if (image < 0)
                return image;
        home->stdio.ends[1] = image;
        for (int i = 0; i < 2; i++)
                home->stdio.fds[i] = home->stdio.ends[i];
        return 0;
}

static int begin_home(struct session *session, struct job *home, abatis_error *err)
{
        static const char *const argv[] = { "abatis-porter", NULL }, *const envp[] = { NULL };
        int r;

        home->context = (struct job_context){ .resources = session->resources,
                                              .plan = session->plan,
                                              .policy = session->policy };
        job_begin_ground(home);
        r = job_renew_ground(home, err);
        if (!r)
                r = job_take_plan(home, err);
        if (r < 0)
                return r;
        home->child.program = argv[0];
        home->child.runs_image = true;
        home->child.argv = argv;
        home->child.envp = envp;
        home->child.cwd = options_home(session->policy);
        child_give_plan(&home->child);
        if (home->ground.child.has_mounts && !(home->ground.child.namespaces & CLONE_NEWNS))
                job_await_ground(home);
        stdio_close_ends(&home->stdio);
        return 0;
}

static int begin(struct session *session, abatis_error *err)
{
        struct job *home = job_new(session->resources);
        int ends[2], r;

        if (!home)
                return error_memory(err);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || fds_above_stdio(ends) < 0) {
                r = error_os(err, errno, "cannot begin the session");
        } else {
                session->requests = ends[0];
                r = connect_porter(home, ends[1], err);
                if (!r)
                        r = begin_home(session, home, err);
        }
        if (r < 0) {
                job_drop(home);
                if (session->requests >= 0)
                        close(session->requests);
                session->requests = -1;
                return r;
        }
        session->home = home;
        return 0;
}

static void end(struct session *session)
{
        if (session->requests >= 0)
                close(session->requests);
        session->requests = -1;
        if (session->home && session->owner == getpid())
                job_drop(session->home);
        session->home = NULL;
}

void session_free(struct session *session)
{
        if (!session)
                return;
        end(session);
        pthread_mutex_destroy(&session->lock);
        free(session);
}

void resources_close_session(struct resources *resources)
{
        struct session *session = resources->session;

        if (!session || session->owner != getpid())
                return;
        pthread_mutex_lock(&session->lock);
        session->is_closed = true;
        if (!session->guest_count)
                end(session);
        pthread_mutex_unlock(&session->lock);
}

static int report_end(abatis_error *err)
{
        return error_set(
                err, ABATIS_E_SYSTEM,
                "the shared session has ended, and with it /tmp and all processes in it; open another "
                "sandbox");
}

static bool is_over(const struct session *session)
{
        struct pollfd sign = { session->home ? session->home->pidfd : -1, POLLIN, 0 };

        return !session->home || poll(&sign, 1, 0) > 0;
}

/* ---- a guest -------------------------------------------------------------------------------------------- */

int session_enter(struct session *session, struct job *job, abatis_error *err)
{
        int r = 0;

        if (job->options.terminal)
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "a shared session has no terminals; run the command with session: private");
        if (session->owner != getpid())
                return error_set(err, ABATIS_E_INVALID,
                                 "the shared session belongs to the process that opened the sandbox");
        pthread_mutex_lock(&session->lock);
        if (!session->home && !session->is_closed)
                r = begin(session, err);
        if (!r && (session->is_closed || is_over(session))) {
                r = report_end(err);
        } else if (!r) {
                session->guest_count++;
                job->session = session;
                if (*session->home->child.own_tmp)
                        job_name_tmp(job, session->home->child.own_tmp);
                if (session->home->network)
                        r = network_share(session->home->network, &job->network, err);
        }
        pthread_mutex_unlock(&session->lock);
        return r;
}

int session_sign(const struct job *job)
{
        return job->session->home->pidfd;
}

void session_leave(struct job *job)
{
        struct session *session = job->session;

        if (session->owner != getpid())
                return;
        if (job->network)
                network_leave(job->network);
        pthread_mutex_lock(&session->lock);
        if (!--session->guest_count && session->is_closed)
                end(session);
        pthread_mutex_unlock(&session->lock);
}

static int write_request(const struct job *job, struct child_request *request, abatis_error *err)
{
        static const char *const none[3];
        OWN_TEXT struct text texts = { 0 };
        int r = request_write(&job->child, &job->context.resources->child.calls,
                              job->session->home->ground.child.has_mounts
                                      ? (const char *const *)job->stdio.paths
                                      : none,
                              request, &texts, err);

        return r ? r
                 : memory_file(MEMORY_DATA, "abatis request", texts.data, texts.length, "session: shared",
                               err);
}

/* The porter may have a lot to do. */
static int send_request(const struct session *session, const struct child_request *request, const int *fds)
{
        struct pollfd room = { session->requests, POLLOUT, 0 };
        int ready;
        long r;

        do
                r = child_send(session->requests, request, sizeof(*request), fds, REQUEST_COUNT);
        while (r == -EAGAIN &&
               ((ready = poll(&room, 1, MOST_MS_TO_SEND)) > 0 || (ready < 0 && errno == EINTR)));
        return (int)r;
}

int session_launch(struct job *job, abatis_error *err)
{
        struct child_request request = { 0 };
        OWN_FD int texts = write_request(job, &request, err);
        int ends[2], fds[REQUEST_COUNT], r;

        if (texts < 0)
                return texts;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || fds_above_stdio(ends) < 0)
                return error_os(err, errno, "cannot reach the session");
        job->control = ends[0];
        fds[REQUEST_TEXTS] = texts;
        fds[REQUEST_CONTROL] = ends[1];
        memcpy(&fds[REQUEST_STDIO], job->stdio.fds, sizeof(job->stdio.fds));
        r = send_request(job->session, &request, fds);
        close(ends[1]);
        if (r >= 0)
                return 0;
        close(job->control);
        job->control = -1;
        return r == -EPIPE || r == -ECONNRESET ? report_end(err)
                                               : error_os(err, -r, "cannot reach the session");
}

int session_tell(struct job *job, int number)
{
        return send(job->control, &number, sizeof(number), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int session_ask(struct job *job)
{
        return session_tell(job, CONTROL_ASK);
}

void session_drain(const struct job *job, int pipe)
{
        const int word = CONTROL_DRAIN;

        child_send(job->control, &word, sizeof(word), &pipe, 1);
}

void session_give_up(const struct job *job)
{
        __atomic_store_n(&job->session->is_killed, true, __ATOMIC_RELEASE);
        job_kill_tree(job->session->home);
}

/* Its usher is gone without a word: with the session, which may know why, or alone. Then nobody can tell any more whom the command has
 * started: if these have to end, all have to. Who was killed is waited for. */
static void note_loss(struct job *job)
{
        const struct child_job *home = &job->session->home->child;
        struct child_job *child = &job->child;
        struct pollfd end = { job->session->home->pidfd, POLLIN, 0 };

        if (job->is_ending)
                session_give_up(job);
        while (__atomic_load_n(&job->session->is_killed, __ATOMIC_ACQUIRE) && poll(&end, 1, -1) < 0 &&
               errno == EINTR)
                ;

        if (!__atomic_load_n(&home->has_failed, __ATOMIC_ACQUIRE))
                return;
        child->has_failed = true;
        child->failed_in_init = home->failed_in_init;
        child->failed_op = home->failed_op == COMMAND_EXEC ? COMMAND_TAKE : home->failed_op;
        child->failed_plan_op = home->failed_op == COMMAND_EXEC ? PLAN_PORTER : home->failed_plan_op;
        child->failed_path = home->failed_path;
        child->failed_errno = home->failed_errno;
        child->phase = home->phase;
}

/* True when that was the last. */
static bool take_report(struct job *job, const struct porter_report *report)
{
        struct child_job *child = &job->child;

        if (report->usher) {
                job->usher = report->usher;
                if (report->has_status && !job->is_told_to_end)
                        job_kill_tree(job);
                return false;
        }
        child->has_status = report->has_status;
        child->status = report->status;
        child->has_failed = report->has_failed;
        child->failed_op = (enum command_op)report->failed_op;
        child->failed_plan_op = PLAN_PORTER;
        child->failed_errno = report->failed_errno;
        return true;
}

static long now_ms(void)
{
        struct timespec now;

        job_read_clock(&now);
        return (long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether there is something to hear within that time, or never will be: a copy of this process may hold the other end of the socket. */
static bool can_be_heard(const struct job *job, int milliseconds)
{
        struct pollfd signs[] = { { job->control, POLLIN, 0 }, { job->session->home->pidfd, POLLIN, 0 } };
        const long end = now_ms() + milliseconds;
        long left = milliseconds;
        int r;

        do {
                r = poll(signs, 2, (int)left);
                if (milliseconds > 0)
                        left = end > now_ms() ? end - now_ms() : 0;
        } while (r < 0 && errno == EINTR);
        return r > 0;
}

bool session_hear(struct job *job, bool waits)
{
        for (;;) {
                struct porter_report report;
                ssize_t got;

                if (!can_be_heard(job, waits ? GUEST_PATIENCE_MS : 0)) {
                        if (!waits)
                                return false;
                        session_give_up(job);
                        waits = false;
                        if (!can_be_heard(job, -1))
                                return false;
                }
                got = recv(job->control, &report, sizeof(report), MSG_DONTWAIT);
                if (got < 0 && (errno == EAGAIN || errno == EINTR) && !is_over(job->session))
                        continue;
                if (got != sizeof(report)) {
                        note_loss(job);
                        return true;
                }
                if (take_report(job, &report))
                        return true;
        }
}

/* Whether its last word, or its end, is there to be heard; else its usher is known, if that has begun. */
static bool has_ended(struct job *job)
{
        int patience = job->usher ? 0 : GUEST_PATIENCE_MS;

        for (; can_be_heard(job, patience); patience = 0) {
                struct porter_report report;

                if (recv(job->control, &report, sizeof(report), MSG_PEEK | MSG_DONTWAIT) != sizeof(report) ||
                    !report.usher)
                        return true;
                recv(job->control, &report, sizeof(report), MSG_DONTWAIT);
                take_report(job, &report);
        }
        return false;
}

/* Init kills them, whom nobody inside can stop or starve; the usher sees who is left. It is there until we close its socket, so
 * the number is its own. */
void session_end_guest(struct job *job)
{
        if (job->is_told_to_end)
                return;
        job->is_told_to_end = true;
        if (!has_ended(job) && (!job->usher || session_tell(job, CONTROL_END) < 0 ||
                                job_send_to_init(job->session->home, -job->usher) < 0))
                session_give_up(job);
}
