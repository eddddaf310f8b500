/* askers.h: a resolver for each test, whose files lie in the test's tree, and those who ask it. */
#ifndef UNIT_ASKERS_H
#define UNIT_ASKERS_H

#include "net/resolver.h"
#include "scratch.h"

extern struct loop loop;
extern struct resolver *resolver;
extern size_t open_count; /* of those who wait */

/* Somebody who asks. */
struct asker {
        struct lookup *lookup; /* NULL once it was called */
        unsigned calls;
        enum resolver_result result;
        struct address addresses[RESOLVER_ADDRESSES_MAX];
        size_t count;
        int64_t took;
        struct asker *cancels;   /* from within the call */
        struct asker *asks;      /* the same */
        const char *asked;       /* by that one */
        bool frees_the_resolver; /* the same */
};

/* For cmocka's setup and teardown: the tree, the name servers, and a resolver that asks both of them once. */
int askers_setup(void **state);
int askers_teardown(void **state);

#define BOTH_SERVERS "nameserver 127.0.0.1\nnameserver 127.0.0.2\noptions attempts:1\n"

/* Another resolver in place of the present one, with these files, or with those that lie there. */
void renew(const char *hosts, const char *resolv_conf);
void renew_with(const struct resolver_options *options);

void ask(struct asker *asker, const char *name);
void cancel(struct asker *asker);
/* What resolver_ask() is given, with an asker. */
void take(void *user, enum resolver_result result, const struct address *addresses, size_t count);
/* Until all have been called. */
void run(void);
/* The same, or until this much time has passed. */
void run_for(int64_t milliseconds);
struct asker answer_to(const char *name);

/* These addresses and no others; the second may be NULL. */
void assert_found(const struct asker *asker, const char *first, const char *second);
void assert_not_found(const char *name, enum resolver_result result);
/* How many questions each server has had. */
#define assert_asked(first, second)                             \
        do {                                                    \
                assert_int_equal(name_server_asked(0), first);  \
                assert_int_equal(name_server_asked(1), second); \
        } while (0)

#endif
