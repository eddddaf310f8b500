/* resolver.c: finds the addresses of a name, and lets everybody who asks for the same name wait for the same answer.
 *
 * Whoever is called may ask, cancel, and free the resolver if nobody waits. So before a call all that it needs lies on the
 * stack, and after it nothing else is touched. */
#define _GNU_SOURCE
#include "net/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/list.h"
#include "net/resolver_cache.h"
#include "net/resolver_files.h"
#include "net/resolver_question.h"

enum {
        PATIENCE_MS = 10000,
        CACHE_MAX = 4096,
        PORT = 53,
        INQUIRIES_MAX = 256, /* each has two sockets */
        WAITING_MAX = 4096,
        GRACE_MS = 300, /* for the other family, when one can be connected to already */
        TTL_MIN_S = 1,  /* a loop of connects is one question, whatever the record says */
        TTL_MAX_S = 3600,
        NO_NAME_S = 5,
};

struct resolver {
        struct loop *loop; /* borrowed */
        struct resolver_files files;
        struct resolver_cache cache;
        unsigned age; /* of the servers: what others said may not be so any more */
        int64_t patience_ms;
        uint16_t port;
        void (*needs)(void *user, enum resolver_file_kind kind);
        void *user;            /* borrowed */
        struct link inquiries; /* the oldest first */
        size_t inquiry_count;
        size_t waiting;    /* for an inquiry */
        struct link ready; /* those who wait to be called only */
        struct timer ready_timer;
};

/* Somebody who waits. */
struct lookup {
        struct link link; /* in the inquiry, or among those who are ready */
        struct resolver *resolver;
        resolver_done_call *done;
        void *user;
        bool is_ready; /* what follows is known */
        enum resolver_result result;
        size_t count;
        struct address addresses[];
};

enum family_state { FAMILY_OPEN, FAMILY_FOUND, FAMILY_NONE, FAMILY_FAILED };

struct family {
        struct question question; /* first, so that it is found by it */
        struct inquiry *inquiry;
        enum family_state state;
        struct address addresses[DNS_ADDRESSES_MAX];
        size_t count;
        int64_t due;
};

/* A name that is asked for. */
struct inquiry {
        struct link link;
        struct resolver *resolver;
        struct link waiting;
        struct family families[2]; /* IPv6 first */
        struct timer grace;
        unsigned age; /* of the servers that are asked */
        bool is_late; /* everybody has been called; what comes is for the cache */
        char name[];
};

/* ---- calling -------------------------------------------------------------------------------------------- */

static struct lookup *lookup_new(struct resolver *resolver, resolver_done_call *done, void *user,
                                 size_t count)
{
        struct lookup *lookup = calloc(1, sizeof(*lookup) + count * sizeof(*lookup->addresses));

        if (!lookup)
                return NULL;
        lookup->resolver = resolver;
        lookup->done = done;
        lookup->user = user;
        return lookup;
}

void resolver_cancel(struct lookup *lookup)
{
        list_remove(&lookup->link);
        if (!lookup->is_ready)
                lookup->resolver->waiting--;
        free(lookup);
}

static void call_ready(struct timer *timer)
{
        struct resolver *resolver = (void *)((char *)timer - offsetof(struct resolver, ready_timer));
        struct link ready;

        /* Who asks from within a call has its turn in the next round. */
        list_move(&resolver->ready, &ready);
        while (!list_is_empty(&ready)) {
                struct lookup *lookup = (struct lookup *)ready.next;

                list_remove(&lookup->link);
                lookup->done(lookup->user, lookup->result, lookup->addresses, lookup->count);
                free(lookup);
        }
}

/* For who must be called, though the answer is known: never from within resolver_ask(). */
static struct lookup *call_soon(struct lookup *lookup, enum resolver_result result,
                                const struct address *addresses, size_t count)
{
        struct resolver *resolver = lookup->resolver;

        lookup->is_ready = true;
        lookup->result = result;
        lookup->count = count;
        if (count)
                memcpy(lookup->addresses, addresses, count * sizeof(*addresses));
        if (!resolver->ready_timer.due && loop_set_timer(resolver->loop, &resolver->ready_timer, 0) < 0) {
                free(lookup);
                return NULL;
        }
        list_append(&resolver->ready, &lookup->link);
        return lookup;
}

static void call_waiting(struct link *waiting, enum resolver_result result, const struct address *addresses,
                         size_t count)
{
        while (!list_is_empty(waiting)) {
                struct lookup *lookup = (struct lookup *)waiting->next;
                resolver_done_call *done = lookup->done;
                void *user = lookup->user;

                resolver_cancel(lookup);
                done(user, result, addresses, count);
        }
}

/* ---- inquiries ------------------------------------------------------------------------------------------ */

static void inquiry_free(struct inquiry *inquiry)
{
        struct resolver *resolver = inquiry->resolver;

        for (int i = 0; i < 2; i++)
                question_stop(&inquiry->families[i].question);
        loop_stop_timer(resolver->loop, &inquiry->grace);
        list_remove(&inquiry->link);
        resolver->inquiry_count--;
        free(inquiry);
}

/* What has been found so far; *due is when the first of it does not hold any more. */
static size_t collect(const struct inquiry *inquiry, struct address out[RESOLVER_ADDRESSES_MAX], int64_t *due)
{
        size_t count = 0;

        *due = INT64_MAX;
        for (int i = 0; i < 2; i++) {
                const struct family *family = &inquiry->families[i];

                if (family->state != FAMILY_FOUND)
                        continue;
                memcpy(out + count, family->addresses, family->count * sizeof(*out));
                count += family->count;
                *due = family->due < *due ? family->due : *due;
        }
        return count;
}

static void keep(const struct inquiry *inquiry, const struct address *addresses, size_t count, int64_t due)
{
        struct resolver *resolver = inquiry->resolver;

        /* One family may have come so late that what the other said does not hold any more. */
        if (inquiry->age == resolver->age && due > loop_now(resolver->loop))
                resolver_cache_put(&resolver->cache, inquiry->name, addresses, count, due);
}

/* One family will do. The other may still answer, for those who ask later. */
static void end_grace(struct timer *timer)
{
        struct inquiry *inquiry = (void *)((char *)timer - offsetof(struct inquiry, grace));
        struct address addresses[RESOLVER_ADDRESSES_MAX];
        struct link waiting;
        int64_t due;
        size_t count = collect(inquiry, addresses, &due);

        keep(inquiry, addresses, count, due);
        inquiry->is_late = true;
        list_move(&inquiry->waiting, &waiting);
        call_waiting(&waiting, RESOLVER_FOUND, addresses, count);
}

static void finish(struct inquiry *inquiry)
{
        struct address addresses[RESOLVER_ADDRESSES_MAX];
        enum resolver_result result = RESOLVER_NO_ANSWER;
        int64_t due;
        size_t count = collect(inquiry, addresses, &due);
        struct link waiting;

        if (count) {
                result = RESOLVER_FOUND;
        } else if (inquiry->families[0].state == FAMILY_NONE && inquiry->families[1].state == FAMILY_NONE) {
                result = RESOLVER_NO_NAME;
                due = loop_now(inquiry->resolver->loop) + 1000 * (int64_t)NO_NAME_S;
        }
        if (result != RESOLVER_NO_ANSWER)
                keep(inquiry, addresses, count, due);
        list_move(&inquiry->waiting, &waiting);
        inquiry_free(inquiry);
        call_waiting(&waiting, result, addresses, count);
}

static void take_answer(struct question *question, const struct dns_answer *answer)
{
        struct family *family = (struct family *)question;
        struct inquiry *inquiry = family->inquiry;
        struct loop *loop = inquiry->resolver->loop;

        if (!answer) {
                family->state = FAMILY_FAILED;
        } else if (!answer->count) {
                family->state = FAMILY_NONE;
        } else {
                int64_t ttl = answer->ttl < TTL_MAX_S ? answer->ttl : TTL_MAX_S;

                family->state = FAMILY_FOUND;
                family->count = answer->count;
                memcpy(family->addresses, answer->addresses, answer->count * sizeof(*answer->addresses));
                family->due = loop_now(loop) + 1000 * (ttl > TTL_MIN_S ? ttl : TTL_MIN_S);
        }
        if (inquiry->families[0].state != FAMILY_OPEN && inquiry->families[1].state != FAMILY_OPEN)
                finish(inquiry);
        else if (family->state == FAMILY_FOUND && loop_set_timer(loop, &inquiry->grace, GRACE_MS) < 0)
                end_grace(&inquiry->grace);
}

/* NULL for want of memory. */
static struct inquiry *inquiry_new(struct resolver *resolver, const char *name)
{
        struct inquiry *inquiry = calloc(1, sizeof(*inquiry) + strlen(name) + 1);
        struct question_options options = {
                .servers = &resolver->files.servers,
                .port = resolver->port,
                .patience_ms = resolver->patience_ms,
                .done = take_answer,
        };

        if (!inquiry)
                return NULL;
        memcpy(inquiry->name, name, strlen(name) + 1);
        options.name = inquiry->name;
        inquiry->resolver = resolver;
        inquiry->age = resolver->age;
        inquiry->grace.fire = end_grace;
        list_init(&inquiry->waiting);
        for (int i = 0; i < 2; i++) {
                inquiry->families[i].inquiry = inquiry;
                options.type = i ? DNS_A : DNS_AAAA;
                if (question_start(&inquiry->families[i].question, resolver->loop, &options) < 0) {
                        if (i)
                                question_stop(&inquiry->families[0].question);
                        free(inquiry);
                        return NULL;
                }
        }
        list_append(&resolver->inquiries, &inquiry->link);
        resolver->inquiry_count++;
        return inquiry;
}

static struct inquiry *find_inquiry(struct resolver *resolver, const char *name)
{
        for (struct link *link = resolver->inquiries.next; link != &resolver->inquiries; link = link->next)
                if (((struct inquiry *)link)->age == resolver->age &&
                    !strcmp(((struct inquiry *)link)->name, name))
                        return (struct inquiry *)link;
        return NULL;
}

/* What nobody waits for any more goes first. */
static bool make_room(struct resolver *resolver)
{
        struct link *link = resolver->inquiries.next;

        if (resolver->inquiry_count < INQUIRIES_MAX)
                return true;
        for (; link != &resolver->inquiries; link = link->next) {
                if (!list_is_empty(&((struct inquiry *)link)->waiting))
                        continue;
                inquiry_free((struct inquiry *)link);
                return true;
        }
        return false;
}

/* ---- asking --------------------------------------------------------------------------------------------- */

static struct lookup *wait_for(struct resolver *resolver, const char *name, resolver_done_call *done,
                               void *user)
{
        struct lookup *lookup = lookup_new(resolver, done, user, 0);
        struct inquiry *inquiry = find_inquiry(resolver, name);

        if (!lookup)
                return NULL;
        /* What it found does not hold any more, or it would be in the cache. */
        if (inquiry && inquiry->is_late) {
                inquiry_free(inquiry);
                inquiry = NULL;
        }
        if (resolver->waiting >= WAITING_MAX || (!inquiry && !make_room(resolver)))
                return call_soon(lookup, RESOLVER_BUSY, NULL, 0);
        if (!inquiry)
                inquiry = inquiry_new(resolver, name);
        if (!inquiry) {
                free(lookup);
                return NULL;
        }
        list_append(&inquiry->waiting, &lookup->link);
        resolver->waiting++;
        return lookup;
}

static void use_servers(struct resolver *resolver, bool are_others)
{
        if (!are_others)
                return;
        resolver_cache_clear(&resolver->cache);
        resolver->age++;
}

/* Who asks now is answered by what is known now: whoever has the file is not waited for. */
static void look_at_files(struct resolver *resolver, int64_t now)
{
        struct resolver_files *files = &resolver->files;
        const bool is_time = now >= files->next_look;

        use_servers(resolver, resolver_files_refresh(files, now));
        if (is_time && resolver->needs && files->hosts_file.is_shut)
                resolver->needs(resolver->user, RESOLVER_HOSTS);
        if (is_time && resolver->needs && files->servers_file.is_shut)
                resolver->needs(resolver->user, RESOLVER_SERVERS);
}

void resolver_take(struct resolver *resolver, enum resolver_file_kind kind, int fd)
{
        use_servers(resolver, resolver_files_take(&resolver->files, kind, fd));
}

struct lookup *resolver_ask(struct resolver *resolver, const char *name, resolver_done_call *done, void *user)
{
        struct address hosts[RESOLVER_ADDRESSES_MAX];
        const struct address *addresses = hosts;
        enum resolver_result result = RESOLVER_FOUND;
        int64_t now = loop_now(resolver->loop);
        const struct cached *cached;
        struct lookup *lookup;
        size_t count;

        look_at_files(resolver, now);
        count = resolver_files_find(&resolver->files, name, hosts);
        if (!count) {
                cached = resolver_cache_find(&resolver->cache, name, now);
                if (!cached)
                        return wait_for(resolver, name, done, user);
                addresses = cached->addresses;
                count = cached->count;
                result = count ? RESOLVER_FOUND : RESOLVER_NO_NAME;
        }
        lookup = lookup_new(resolver, done, user, count);
        return lookup ? call_soon(lookup, result, addresses, count) : NULL;
}

/* ---- the resolver --------------------------------------------------------------------------------------- */

int resolver_new(struct loop *loop, const struct resolver_options *options, struct resolver **out)
{
        struct resolver *resolver = calloc(1, sizeof(*resolver));
        int r;

        if (!resolver)
                return -ENOMEM;
        resolver->loop = loop;
        resolver->patience_ms = options->patience_ms ? options->patience_ms : PATIENCE_MS;
        resolver->port = options->port ? options->port : PORT;
        resolver->needs = options->needs;
        resolver->user = options->user;
        resolver->ready_timer.fire = call_ready;
        list_init(&resolver->inquiries);
        list_init(&resolver->ready);
        resolver_cache_init(&resolver->cache, options->cache_max ? options->cache_max : CACHE_MAX);
        r = resolver_files_init(&resolver->files, options->hosts, options->resolv_conf, loop_now(loop));
        if (r < 0) {
                resolver_free(resolver);
                return r;
        }
        *out = resolver;
        return 0;
}

void resolver_free(struct resolver *resolver)
{
        if (!resolver)
                return;
        while (!list_is_empty(&resolver->inquiries))
                inquiry_free((struct inquiry *)resolver->inquiries.next);
        loop_stop_timer(resolver->loop, &resolver->ready_timer);
        resolver_cache_clear(&resolver->cache);
        resolver_files_done(&resolver->files);
        free(resolver);
}
