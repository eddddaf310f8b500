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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "run/cage_linux.h"
#include "run/child_linux.h"
#include "run/images.h"
#include "run/syscall_linux.h"

enum {
        PATIENCE_MS = 5000,
        LAST_WORDS_MS = 1000,
        AT_ONCE = 64,       /* events; then others have their turn */
        STREAMS_MAX = 4096, /* where the policy does not say */
        MEMORY_EXEC = 0x10  /* MFD_EXEC, Linux 6.3 */
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

static int write_whole(int fd, const void *bytes, size_t size)
{
        for (size_t done = 0; done < size;) {
                ssize_t written = write(fd, (const char *)bytes + done, size - done);

                if (written < 0 && errno != EINTR)
                        return -1;
                done += written > 0 ? (size_t)written : 0;
        }
        return 0;
}

/* A kernel that does not know the word makes all such files executable. */
static int make_image(abatis_error *err)
{
        OWN_FD int fd = memfd_create("abatis relay", MFD_CLOEXEC | MEMORY_EXEC);

        if (fd < 0 && errno == EINVAL)
                fd = memfd_create("abatis relay", MFD_CLOEXEC);
        if (fd < 0 && errno == EACCES)
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "network.connect needs a program in memory, which the sysctl "
                                 "vm.memfd_noexec forbids");
        fd = lift(fd);
        if (fd < 0 || write_whole(fd, relay_image, relay_image_size) < 0)
                return error_os(err, errno, "cannot keep the relay in memory");
        return take_fd(&fd);
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
        r = fd < 0 ? -1 : write_whole(fd, &settings, sizeof(settings));
        for (size_t i = 0; i < policy->connect.count && !r; i++)
                r = write_whole(fd, policy->connect.items[i], strlen(policy->connect.items[i]) + 1);
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

/* Where the stream is, or where it would be: there is always room. */
static uint16_t *find_place(struct network *network, uint64_t stream)
{
        size_t at = stream % NETWORK_PLACES;

        while (network->places[at] && network->seen.items[network->places[at] - 1].stream != stream)
                at = (at + 1) % NETWORK_PLACES;
        return &network->places[at];
}

/* One that was opened and then closed is one. */
static void keep(struct network *network, const struct relay_event *event)
{
        struct connections *seen = &network->seen;
        uint16_t *place = event->stream ? find_place(network, event->stream) : NULL;
        struct relay_event *items;

        if (place && *place) {
                seen->items[*place - 1] = *event;
                return;
        }
        /* There is always room for the end. */
        items = seen->count < NETWORK_SEEN_MAX + (size_t)(event->kind == RELAY_ENDED)
                        ? realloc(seen->items, (seen->count + 1) * sizeof(*items))
                        : NULL;
        if (!items) {
                seen->omitted += event->kind != RELAY_CLOSED;
                return;
        }
        seen->items = items;
        items[seen->count++] = *event;
        if (place)
                *place = (uint16_t)seen->count;
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
}

/* False when there will be no more. */
static bool take_event(struct network *network, const struct network_listener *listener)
{
        struct relay_event event;
        ssize_t got = recv(network->events, &event, sizeof(event), MSG_DONTWAIT);

        if (got != sizeof(event))
                return got < 0 && (errno == EAGAIN || errno == EINTR);
        /* Nobody has waited for its start, if the job has failed before. */
        if (event.kind == RELAY_READY || event.kind == RELAY_FAILED)
                return true;
        tame(&event);
        if (event.unheard > network->unheard) {
                network->seen.omitted += event.unheard - network->unheard;
                network->unheard = event.unheard;
        }
        keep(network, &event);
        if (listener->hear)
                listener->hear(listener->user, &event);
        return true;
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

/* It was killed, or has fallen: from here on whoever connects is refused. */
static void tell_end(struct network *network, const struct network_listener *listener)
{
        struct relay_event event = { .kind = RELAY_ENDED };
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        event.seconds = now.tv_sec;
        event.microseconds = (uint32_t)(now.tv_nsec / 1000);
        snprintf(event.problem, sizeof(event.problem),
                 "the relay has ended before the command: there is no network any more");
        keep(network, &event);
        if (listener->hear)
                listener->hear(listener->user, &event);
        network->is_deaf = true;
}

void network_hear(struct network *network, const struct network_listener *listener)
{
        for (int i = 0; i < AT_ONCE && is_readable(network, 0); i++)
                if (!take_event(network, listener)) {
                        tell_end(network, listener);
                        return;
                }
}

static int64_t now_ms(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void network_conclude(struct network *network, const struct network_listener *listener)
{
        const int64_t end = now_ms() + LAST_WORDS_MS;

        if (network->is_deaf)
                return;
        if (send(network->events, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
                network_hear(network, listener);
                return;
        }
        for (int64_t left = LAST_WORDS_MS; left > 0; left = end - now_ms())
                if (!is_readable(network, (int)left) || !take_event(network, listener))
                        break;
        network->is_deaf = true;
}

void network_free(struct network *network)
{
        siginfo_t info;

        if (!network)
                return;
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
        free(network->seen.items);
        free(network->stack);
        free(network);
}
