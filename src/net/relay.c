/* relay.c: the relay's start, and what it tells the host program.
 *
 * It reads its settings, opens what the sandbox may ask and connect to, closes its cage, says that it is ready, and then does what comes until the host
 * program or the sandbox is gone. Everything that comes from inside is hostile; so it is a process of its own, which nobody's secrets
 * are in. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "net/relay.h"

enum { ENTRIES_SIZE_MAX = 16 * 1024 * 1024 };

void relay_tell(struct relay *relay, struct relay_event *event)
{
        relay_tell_of(relay, event, NULL);
}

void relay_tell_of(struct relay *relay, struct relay_event *event, struct who *who)
{
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        event->seconds = now.tv_sec;
        event->microseconds = (uint32_t)(now.tv_nsec / 1000);
        who_tell(relay, event, who);
}

/* Half of the way to the host program is kept free for what was opened: who is refused again and again, faster than that reads, would
 * else hide it. */
static bool is_crowded(const struct relay *relay)
{
        int waiting = 0, most = 0;
        socklen_t size = sizeof(most);

        return !relay->is_heard && !ioctl(relay->host.fd, TIOCOUTQ, &waiting) &&
               !getsockopt(relay->host.fd, SOL_SOCKET, SO_SNDBUF, &most, &size) && waiting > most / 2;
}

void relay_send(struct relay *relay, const struct relay_event *event)
{
        struct relay_event told = *event;

        if (event->kind == RELAY_REFUSED && is_crowded(relay)) {
                relay->unheard += event->count ? event->count : 1;
                return;
        }
        /* The next mark says it again; there must be room for the answer to this one. */
        if (event->kind == RELAY_PASSING && is_crowded(relay))
                return;
        told.unheard = relay->unheard;
        if (send(relay->host.fd, &told, sizeof(told), (relay->is_heard ? 0 : MSG_DONTWAIT) | MSG_NOSIGNAL) <
            0) {
                relay->is_heard = false;
                relay->unheard += event->count ? event->count : 1;
        }
}

/* ---- the host program ----------------------------------------------------------------------------------- */

/* Asked again in a second, if it does not come. */
static void ask_for_file(void *user, enum resolver_file_kind kind)
{
        const struct relay *relay = user;
        const struct relay_event event = { .kind = RELAY_NEEDS,
                                           .needs = kind == RESOLVER_HOSTS ? RELAY_HOSTS : RELAY_SERVERS };

        send(relay->host.fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* How many bytes came: 0 at the end. `fd` is the caller's, or -1. */
static ssize_t receive_word(int from, char *word, int *fd)
{
        union {
                char bytes[CMSG_SPACE(sizeof(int))];
                struct cmsghdr header;
        } control;
        struct iovec part = { word, 1 };
        struct msghdr message = { .msg_iov = &part,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof(control.bytes) };
        ssize_t got = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

        *fd = -1;
        if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len == CMSG_LEN(sizeof(int)))
                memcpy(fd, CMSG_DATA(header), sizeof(int));
        return got;
}

/* After all that has come with the word. */
static void answer_mark(struct timer *timer)
{
        struct relay *relay = (struct relay *)(void *)((char *)timer - offsetof(struct relay, mark));
        struct relay_event event = { .kind = RELAY_MARKED, .count = relay->marks };

        passers_catch_up();
        repeats_end(relay);
        streams_tell(relay);
        datagrams_tell(relay);
        relay_tell(relay, &event);
        /* The host program waits for it. */
        who_hurry(relay);
}

/* False when the job is over. */
static bool hear_words(struct relay *relay)
{
        ssize_t got;
        char word;
        int fd;

        while ((got = receive_word(relay->host.fd, &word, &fd)) > 0 && word != RELAY_OVER) {
                if (word == RELAY_MARK) {
                        relay->marks++;
                        relay->mark.fire = answer_mark;
                        loop_set_timer(&relay->loop, &relay->mark, 0);
                } else if (fd >= 0) {
                        resolver_take(relay->resolver,
                                      word == RELAY_HOSTS ? RESOLVER_HOSTS : RESOLVER_SERVERS, fd);
                }
        }
        return got < 0 && (errno == EAGAIN || errno == EINTR);
}

static void hear_host(struct watch *watch, uint32_t events)
{
        struct relay *relay = (struct relay *)(void *)((char *)watch - offsetof(struct relay, host));
        char words[8];
        const struct timeval patience = { .tv_sec = 1 };
        const struct relay_event last = { .kind = RELAY_TOLD };

        (void)events;
        if (hear_words(relay))
                return;
        /* Left unread, it would make an error of our end, and what we tell last would be lost to the host program. */
        while (recv(watch->fd, words, sizeof(words), MSG_DONTWAIT) > 0)
                ;
        /* Whoever has said that it is over reads what is left, and there is nothing else to do. */
        relay->is_heard = setsockopt(watch->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) == 0;
        streams_end(relay);
        datagrams_end(relay);
        passers_catch_up();
        repeats_end(relay);
        who_conclude(relay);
        /* Says how many were not told. */
        relay_send(relay, &last);
        loop_end(&relay->loop);
}

/* ---- settings ------------------------------------------------------------------------------------------- */

static int read_all(void *to, size_t size, off_t from)
{
        ssize_t got = pread(RELAY_SETTINGS, to, size, from);

        return got < 0 ? -errno : (size_t)got == size ? 0 : -EINVAL;
}

static int split(char *bytes, size_t size, uint32_t count, struct strings *out)
{
        char *at = bytes;

        if (size && bytes[size - 1])
                return -EINVAL;
        out->items = calloc(count ? count : 1, sizeof(*out->items));
        if (!out->items)
                return -ENOMEM;
        for (out->count = 0; out->count < count; out->count++) {
                if (at >= bytes + size)
                        return -EINVAL;
                out->items[out->count] = at;
                at += strlen(at) + 1;
        }
        return 0;
}

/* The bytes stay: the entries are in them. */
static int read_settings(struct relay *relay, struct strings *entries)
{
        struct relay_settings *settings = &relay->settings;
        char *bytes;
        int r = read_all(settings, sizeof(*settings), 0);

        if (r < 0 || settings->entries_size > ENTRIES_SIZE_MAX)
                return r < 0 ? r : -EINVAL;
        bytes = malloc(settings->entries_size + 1);
        if (!bytes)
                return -ENOMEM;
        r = read_all(bytes, settings->entries_size, sizeof(*settings));
        close(RELAY_SETTINGS);
        return r < 0 ? r : split(bytes, settings->entries_size, settings->entry_count, entries);
}

/* ---- the start ------------------------------------------------------------------------------------------ */

/* As many connections as the user may have. */
static void raise_limits(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
                limit.rlim_cur = limit.rlim_max;
                setrlimit(RLIMIT_NOFILE, &limit);
        }
}

static int start_parts(struct relay *relay, const struct strings *entries)
{
        const struct relay_settings *settings = &relay->settings;
        const struct resolver_options options = {
                .hosts = *settings->hosts ? settings->hosts : NULL,
                .resolv_conf = *settings->resolver_conf ? settings->resolver_conf : NULL,
                .port = settings->resolver_port,
                .needs = ask_for_file,
                .user = relay,
        };
        abatis_error err;
        int r = allow_new(entries, &relay->allow, &err) < 0 ? -EINVAL : 0;

        relay->limits.allowance.most = settings->most_bytes;
        if (!r)
                r = names_new(&relay->names);
        if (!r)
                r = resolver_new(&relay->loop, &options, &relay->resolver);
        if (!r)
                r = streams_new(relay, &relay->streams);
        if (!r)
                r = datagrams_new(relay, &relay->datagrams);
        if (settings->is_asked)
                return r ? r : callers_start(relay);
        if (!r)
                r = questions_start(relay);
        if (!r)
                r = passers_start(relay);
        if (!r)
                r = published_start(relay);
        if (!r)
                r = doors_await_knocks(relay);
        return r ? r : doors_open_for_addresses(relay, entries);
}

static int start(struct relay *relay)
{
        struct strings entries = { 0 };
        int r = loop_init(&relay->loop);

        relay->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (!r && relay->spare < 0)
                r = -errno;
        if (!r)
                r = read_settings(relay, &entries);
        if (!r)
                r = start_parts(relay, &entries);
        if (!r)
                r = loop_watch(&relay->loop, &relay->host, EPOLLIN | EPOLLRDHUP);
        if (!r)
                r = cage_close(&relay->settings);
        return r;
}

int main(void)
{
        static struct relay relay = { .host = { .fd = RELAY_HOST, .ready = hear_host },
                                      .inside = RELAY_INSIDE };
        struct relay_event event = { .kind = RELAY_READY };
        int r;

        prctl(PR_SET_NAME, "abatis relay");
        prctl(PR_SET_DUMPABLE, 0);
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        raise_limits();
        syscall(SYS_close_range, RELAY_FIRST_FREE, ~0u, 0); /* older musl has no name for it */
        r = start(&relay);
        if (r < 0) {
                event.kind = RELAY_FAILED;
                snprintf(event.problem, sizeof(event.problem), "%s",
                         *relay.problem ? relay.problem : strerror(-r));
        }
        relay_send(&relay, &event);
        return r < 0 || loop_run(&relay.loop) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
