/* network_linux.c: starts the relay of a job with its settings, and ends it. */
#define _GNU_SOURCE
#include "run/network_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "run/cage_linux.h"
#include "run/child_linux.h"
#include "run/images.h"
#include "run/memory_linux.h"
#include "run/syscall_linux.h"

enum {
        PATIENCE_MS = 5000,
        LAST_WORDS_MS = 1000,       /* for each */
        MOST_LAST_WORDS_MS = 30000, /* for all of them */
        SLICE_MS = 5,
        AT_ONCE = 64,       /* events; then others have their turn */
        STREAMS_MAX = 4096, /* where the policy does not say */
};

static int lift(int fd)
{
        int lifted;

        if (fd < 0 || fd >= RELAY_FIRST_FREE)
                return fd;
        lifted = fcntl(fd, F_DUPFD_CLOEXEC, RELAY_FIRST_FREE);
        close(fd);
        return lifted;
}

static int make_image(abatis_error *err)
{
        int fd = memory_file(MEMORY_PROGRAM, "abatis relay", relay_image, relay_image_size, "network.connect",
                             err);

        if (fd >= 0)
                fd = lift(fd);
        return fd;
}

/* Each once; the plan has seen to it that they fit. */
static void add_binds(const abatis_policy *policy, struct relay_settings *settings)
{
        for (size_t i = 0; i < policy->bind.count; i++) {
                uint16_t port = (uint16_t)strtoul(policy->bind.items[i], NULL, 10);
                bool is_known = settings->bind_count == RELAY_BINDS_MAX;

                for (uint32_t k = 0; k < settings->bind_count && !is_known; k++)
                        is_known = settings->binds[k] == port;
                if (!is_known)
                        settings->binds[settings->bind_count++] = port;
        }
}

static uint32_t at_most(uint64_t limit)
{
        return limit < UINT32_MAX ? (uint32_t)limit : UINT32_MAX;
}

static int make_settings(const abatis_policy *policy, bool has_rules, bool is_own, bool has_knocks,
                         abatis_error *err)
{
        OWN_FD int fd = lift(memfd_create("abatis relay's settings", MFD_CLOEXEC));
        struct relay_settings settings = { .entry_count = (uint32_t)policy->connect.count,
                                           .has_knocks = has_knocks,
                                           .checks_names = !policy->passes_any_name,
                                           .most_streams = at_most(policy->limits[LIMIT_CONNECTIONS]),
                                           .most_streams_a_second =
                                                   at_most(policy->limits[LIMIT_CONNECTION_RATE]),
                                           .most_bytes = policy->limits[LIMIT_TRAFFIC],
                                           .is_asked = !is_own,
                                           .has_rules = has_rules };
        int r;

        add_binds(policy, &settings);
        if (!settings.most_streams)
                settings.most_streams = STREAMS_MAX;
        cage_build(&settings.cage);
        for (size_t i = 0; i < policy->connect.count; i++)
                settings.entries_size += (uint32_t)strlen(policy->connect.items[i]) + 1;
        r = fd < 0 ? -1 : memory_write(fd, &settings, sizeof(settings));
        for (size_t i = 0; i < policy->connect.count && !r; i++)
                r = memory_write(fd, policy->connect.items[i], strlen(policy->connect.items[i]) + 1);
        return r < 0 ? error_os(err, errno, "cannot write the relay's settings") : take_fd(&fd);
}

static int make_pair(int out[2], abatis_error *err)
{
        int pair[2];

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return error_os(err, errno, "cannot connect the relay");
        out[0] = lift(pair[0]);
        out[1] = lift(pair[1]);
        return out[0] < 0 || out[1] < 0 ? error_os(err, errno, "cannot connect the relay") : 0;
}

/* As of init: the host program's own handling of its children never sees this one. */
static int start(struct child_relay *relay, int *pidfd, abatis_error *err)
{
        OWN_FREE char *stack = aligned_alloc(16, CHILD_STACK_SIZE);
        struct clone3_arguments arguments = {
                .flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD | CLONE3_CLEAR_SIGHAND,
                .pidfd = (uintptr_t)pidfd,
                .stack = (uintptr_t)stack,
                .stack_size = CHILD_STACK_SIZE,
        };
        const uint64_t all = ~0ull;
        uint64_t before;
        long pid;

        if (!stack)
                return error_memory(err);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
        pid = raw_clone(&arguments, child_network_run_relay, relay);
        RAW(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
        if (pid < 0)
                return error_os(err, (int)-pid, "cannot start the relay");
        *pidfd = lift(*pidfd);
        return 0;
}

static int open_parts(const abatis_policy *policy, bool is_own, bool has_knocks, struct network *network,
                      abatis_error *err)
{
        int events[2] = { -1, -1 }, inside[2] = { -1, -1 }, knocks[2] = { -1, -1 };
        OWN_FD int image = make_image(err);
        OWN_FD int rules = -1;
        int rules_problem = cage_open_rules(&rules);
        OWN_FD int settings = image < 0 ? -1 : make_settings(policy, rules >= 0, is_own, has_knocks, err);
        OWN_FD int null = settings < 0 ? -1 : lift(open("/dev/null", O_RDWR | O_CLOEXEC));
        int r = image < 0 ? image : settings < 0 ? settings : 0;

        rules = lift(rules);
        if (!r && rules_problem < 0)
                r = error_os(err, -rules_problem, "cannot make the relay's rules");
        if (!r && null < 0)
                r = error_os(err, errno, "cannot open /dev/null");
        if (!r)
                r = make_pair(events, err);
        if (!r)
                r = make_pair(inside, err);
        if (!r)
                r = make_pair(knocks, err);
        OWN_FD int relay_host = events[1];
        OWN_FD int relay_inside = inside[0];
        OWN_FD int relay_knocks = knocks[0];

        network->events = events[0];
        network->inside = inside[1];
        network->knocks = knocks[1];
        if (r < 0)
                return r;
        struct child_relay relay = { .image = image,
                                     .host = relay_host,
                                     .inside = relay_inside,
                                     .knocks = relay_knocks,
                                     .settings = settings,
                                     .null = null,
                                     .rules = rules };

        return start(&relay, &network->pidfd, err);
}

int network_open(const abatis_policy *policy, bool is_own, bool has_knocks, struct network **out,
                 abatis_error *err)
{
        struct network *network = calloc(1, sizeof(*network));
        int r;

        if (!network)
                return error_memory(err);
        pthread_mutex_init(&network->lock, NULL);
        network->events = network->inside = network->knocks = network->pidfd = -1;
        network->stack = aligned_alloc(16, CHILD_NETWORK_STACK_SIZE + CHILD_WHO_STACK_SIZE);
        r = network->stack ? open_parts(policy, is_own, has_knocks, network, err) : error_memory(err);
        if (r < 0) {
                network_free(network);
                return r;
        }
        *out = network;
        return 0;
}

static bool is_of_policy(const struct relay_event *event)
{
        return strncmp(event->problem, "network.", strlen("network.")) == 0;
}

int network_await(struct network *network, abatis_error *err)
{
        struct pollfd wait = { network->events, POLLIN, 0 };
        struct relay_event event;
        ssize_t got;
        int r;

        /* Init has them. Ours would keep the relay from noticing that init is gone. */
        close(network->inside);
        close(network->knocks);
        network->inside = network->knocks = -1;
        do
                r = poll(&wait, 1, PATIENCE_MS);
        while (r < 0 && errno == EINTR);
        got = r > 0 ? recv(network->events, &event, sizeof(event), MSG_DONTWAIT) : -1;
        if (got != sizeof(event))
                return error_set(err, ABATIS_E_SYSTEM, "the relay does not answer");
        if (event.kind != RELAY_READY)
                return error_set(err, ABATIS_E_SYSTEM, "%s%s",
                                 is_of_policy(&event) ? "" : "the relay cannot work: ", event.problem);
        return 0;
}

/* Whoever has taken over the relay by what it reads must not get further by what it tells: not in what is made of it, the log's
 * lines among it. */
static void tame(struct relay_event *event)
{
        const int64_t last_second = 253402300799; /* of the year 9999 */

        event->name[sizeof(event->name) - 1] = event->rule[sizeof(event->rule) - 1] =
                event->problem[sizeof(event->problem) - 1] = event->program[sizeof(event->program) - 1] =
                        '\0';
        if (event->seconds < 0 || event->seconds > last_second)
                event->seconds = 0;
        event->microseconds %= 1000000;
        if (event->kind != RELAY_OPENED && event->kind != RELAY_CLOSED && event->kind != RELAY_REFUSED)
                event->kind = RELAY_BROKEN;
        event->sent = event->sent > INT64_MAX ? INT64_MAX : event->sent;
        event->received = event->received > INT64_MAX ? INT64_MAX : event->received;
        event->count = event->count > UINT32_MAX ? UINT32_MAX : event->count ? event->count : 1;
}

/* A file of the host's that the relay's rules do not know, since it has taken the place of one that they do. */
static void give_file(const struct network *network, const struct relay_event *event)
{
        const bool is_hosts = event->needs == RELAY_HOSTS;
        const char word = is_hosts ? RELAY_HOSTS : RELAY_SERVERS;
        OWN_FD int fd = open(is_hosts ? "/etc/hosts" : "/etc/resolv.conf",
                             O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat status;

        if (fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode))
                child_send(network->events, &word, sizeof(word), &fd, 1);
}

static struct network *find_own(struct network *network)
{
        return network->of ? network->of : network;
}

/* Where this connection is kept: in a session, with the command that has heard of its start, if that is not over. */
static struct seen *find_seen(struct network *network, const struct relay_event *event)
{
        if (!network->of)
                return &network->seen;
        for (struct network *guest = network->of->guests; guest; guest = guest->next)
                if (seen_has(&guest->seen, event))
                        return &guest->seen;
        return NULL;
}

/* What nobody else is told of. */
static bool is_ours(struct network *network, struct relay_event *event)
{
        if (event->kind == RELAY_NEEDS)
                give_file(network, event);
        else if (event->kind == RELAY_MARKED)
                find_own(network)->marked = (uint32_t)event->count;
        else if (event->kind == RELAY_TOLD)
                network->has_told = true;
        else if (event->kind == RELAY_PASSING) {
                struct seen *seen;

                tame(event);
                seen = find_seen(network, event);
                if (seen)
                        seen_update(seen, event);
        } else
                return false;
        return true;
}

/* How many more than anybody knew. */
static uint64_t count_unheard(struct network *network, const struct relay_event *event)
{
        uint64_t *known = &find_own(network)->unheard, before = *known;

        if (event->unheard <= before)
                return 0;
        *known = event->unheard;
        return event->unheard - before;
}

/* Whether anybody is told of it. */
static bool keep(struct network *network, struct relay_event *event)
{
        struct seen *seen = &network->seen;

        seen->list.omitted += count_unheard(network, event);
        /* Nobody has waited for its start, if the job has failed before. */
        if (event->kind == RELAY_READY || event->kind == RELAY_FAILED || is_ours(network, event))
                return false;
        tame(event);
        if (network->of && event->kind == RELAY_CLOSED)
                seen = find_seen(network, event);
        if (seen)
                seen_add(seen, event);
        return true;
}

/* 1, 0 if there is none now, or -1 when there will be no more. */
static int take_event(struct network *network, const struct network_listener *listener)
{
        struct network *own = find_own(network);
        struct relay_event event;
        bool is_kept = false;
        ssize_t got;
        int r = 1;

        /* Guests hear side by side: how one ends is not to be known before how it began. */
        pthread_mutex_lock(&own->lock);
        got = recv(network->events, &event, sizeof(event), MSG_DONTWAIT);
        if (got != sizeof(event))
                r = got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
        else
                is_kept = keep(network, &event);
        pthread_mutex_unlock(&own->lock);
        if (is_kept && listener->hear)
                listener->hear(listener->user, &event);
        return r;
}

static bool is_readable(const struct network *network, int patience)
{
        struct pollfd wait = { network->events, POLLIN, 0 };
        int r;

        do
                r = poll(&wait, 1, patience);
        while (r < 0 && errno == EINTR);
        return r > 0;
}

static const char is_gone[] = "the relay has ended before the command: there is no network any more",
                  is_late[] = "the relay has not told all: connections, or refusals, are missing here";

/* It was killed, or has fallen: from here on whoever connects is refused. Or it gets no turn. */
static void tell_end(struct network *network, const char *problem, const struct network_listener *listener)
{
        struct relay_event event = { .kind = RELAY_ENDED };
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        event.seconds = now.tv_sec;
        event.microseconds = (uint32_t)(now.tv_nsec / 1000);
        snprintf(event.problem, sizeof(event.problem), "%s", problem);
        seen_add(&network->seen, &event);
        if (listener->hear)
                listener->hear(listener->user, &event);
        network->is_deaf = true;
}

void network_hear(struct network *network, const struct network_listener *listener)
{
        int r = 1;

        for (int i = 0; i < AT_ONCE && r > 0; i++)
                r = take_event(network, listener);
        if (r < 0)
                tell_end(network, is_gone, listener);
}

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void network_leave(struct network *guest)
{
        struct network **at;

        pthread_mutex_lock(&guest->of->lock);
        for (at = &guest->of->guests; *at && *at != guest; at = &(*at)->next)
                ;
        if (*at)
                *at = guest->next;
        pthread_mutex_unlock(&guest->of->lock);
}

static bool is_marked(struct network *own, uint32_t mark)
{
        bool is_it;

        pthread_mutex_lock(&own->lock);
        is_it = (int32_t)(own->marked - mark) >= 0;
        pthread_mutex_unlock(&own->lock);
        return is_it;
}

/* Until the relay has told all that it knew when the command had ended. Others may hear its answer. */
static void conclude_guest(struct network *network, const struct network_listener *listener)
{
        const int64_t last = now_ms() + MOST_LAST_WORDS_MS;
        int64_t end = now_ms() + LAST_WORDS_MS;
        const char word = RELAY_MARK;
        bool is_sent;
        uint32_t mark;

        pthread_mutex_lock(&network->of->lock);
        is_sent = send(network->events, &word, sizeof(word), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(word);
        mark = network->of->marks += is_sent;
        pthread_mutex_unlock(&network->of->lock);
        if (!is_sent)
                network_hear(network, listener);
        while (is_sent && !is_marked(network->of, mark) && now_ms() < end && now_ms() < last) {
                int r = is_readable(network, SLICE_MS) ? take_event(network, listener) : 0;

                if (r < 0) {
                        tell_end(network, is_gone, listener);
                        break;
                }
                if (r > 0)
                        end = now_ms() + LAST_WORDS_MS;
        }
        if (is_sent && !network->is_deaf && !is_marked(network->of, mark))
                tell_end(network, is_late, listener);
        network_leave(network);
}

int network_share(struct network *of, struct network **out, abatis_error *err)
{
        struct network *network = calloc(1, sizeof(*network));

        if (!network)
                return error_memory(err);
        network->inside = network->knocks = network->pidfd = -1;
        network->of = of;
        network->events = fcntl(of->events, F_DUPFD_CLOEXEC, RELAY_FIRST_FREE);
        if (network->events < 0) {
                int error = errno;

                free(network);
                return error_os(err, error, "cannot hear the relay");
        }
        pthread_mutex_lock(&of->lock);
        network->next = of->guests;
        of->guests = network;
        pthread_mutex_unlock(&of->lock);
        *out = network;
        return 0;
}

void network_conclude(struct network *network, const struct network_listener *listener)
{
        const int64_t last = now_ms() + MOST_LAST_WORDS_MS;
        const char over = RELAY_OVER;

        if (network->is_deaf)
                return;
        if (network->of) {
                conclude_guest(network, listener);
                return;
        }
        if (send(network->events, &over, sizeof(over), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
                network_hear(network, listener);
                return;
        }
        while (!network->has_told && now_ms() < last)
                if (!is_readable(network, LAST_WORDS_MS) || take_event(network, listener) < 0)
                        break;
        if (!network->has_told)
                tell_end(network, is_late, listener);
        network->is_deaf = true;
}

void network_free(struct network *network)
{
        siginfo_t info;

        if (!network)
                return;
        if (!network->of)
                pthread_mutex_destroy(&network->lock);
        if (network->events >= 0)
                close(network->events);
        if (network->inside >= 0)
                close(network->inside);
        if (network->knocks >= 0)
                close(network->knocks);
        if (network->pidfd >= 0) {
                syscall(SYS_pidfd_send_signal, network->pidfd, SIGKILL, NULL, 0);
                while (waitid(P_PIDFD, (id_t)network->pidfd, &info, WEXITED | __WALL) < 0 && errno == EINTR)
                        ;
                close(network->pidfd);
        }
        seen_done(&network->seen);
        free(network->stack);
        free(network);
}
