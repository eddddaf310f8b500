/* askers.c: asks a resolver, and waits for what it says. */
#define _GNU_SOURCE
#include "askers.h"

#include <string.h>

#include "name_server.h"

struct loop loop;
struct resolver *resolver;
static struct timer guard;

size_t open_count;

void cancel(struct asker *asker)
{
        resolver_cancel(asker->lookup);
        asker->lookup = NULL;
        open_count--;
}

void take(void *user, enum resolver_result result, const struct address *addresses, size_t count)
{
        struct asker *asker = user;

        assert_non_null(asker->lookup);
        asker->lookup = NULL;
        asker->calls++;
        asker->result = result;
        asker->count = count;
        asker->took += loop_now(&loop);
        if (count)
                memcpy(asker->addresses, addresses, count * sizeof(*addresses));
        open_count--;
        if (asker->cancels && asker->cancels->lookup)
                cancel(asker->cancels);
        if (asker->asks)
                ask(asker->asks, asker->asked);
        if (asker->frees_the_resolver) {
                resolver_free(resolver);
                resolver = NULL;
        }
        if (!open_count)
                loop_end(&loop);
}

void ask(struct asker *asker, const char *name)
{
        asker->took = -loop_now(&loop);
        asker->lookup = resolver_ask(resolver, name, take, asker);
        assert_non_null(asker->lookup);
        assert_int_equal(asker->calls, 0);
        open_count++;
}

static void end_loop(struct timer *timer)
{
        (void)timer;
        loop_end(&loop);
}

void run_for(int64_t milliseconds)
{
        guard.fire = end_loop;
        loop.is_over = false;
        assert_int_equal(loop_set_timer(&loop, &guard, milliseconds), 0);
        assert_int_equal(loop_run(&loop), 0);
        loop_stop_timer(&loop, &guard);
}

void run(void)
{
        run_for(4000);
        assert_int_equal(open_count, 0);
}

struct asker answer_to(const char *name)
{
        struct asker asker = { 0 };

        ask(&asker, name);
        run();
        assert_int_equal(asker.calls, 1);
        return asker;
}

void assert_found(const struct asker *asker, const char *first, const char *second)
{
        char text[ADDRESS_TEXT_SIZE];

        assert_int_equal(asker->result, RESOLVER_FOUND);
        assert_int_equal(asker->count, second ? 2 : 1);
        address_print(&asker->addresses[0], text);
        assert_string_equal(text, first);
        if (!second)
                return;
        address_print(&asker->addresses[1], text);
        assert_string_equal(text, second);
}

void assert_not_found(const char *name, enum resolver_result result)
{
        struct asker asker = answer_to(name);

        assert_int_equal(asker.result, result);
        assert_int_equal(asker.count, 0);
}

/* ---- the resolver --------------------------------------------------------------------------------------- */

void renew_with(const struct resolver_options *options)
{
        struct resolver_options all = *options;

        all.hosts = at("hosts");
        all.resolv_conf = at("resolv.conf");
        all.port = name_server_port();
        resolver_free(resolver);
        assert_int_equal(resolver_new(&loop, &all, &resolver), 0);
}

void renew(const char *hosts, const char *resolv_conf)
{
        make_file("hosts", hosts);
        make_file("resolv.conf", resolv_conf);
        renew_with(&(struct resolver_options){ .patience_ms = 2000 });
}

int askers_setup(void **state)
{
        if (scratch_setup(state) < 0 || loop_init(&loop) < 0)
                return -1;
        name_server_start();
        renew("127.0.0.1 localhost\n", BOTH_SERVERS);
        return 0;
}

int askers_teardown(void **state)
{
        name_server_stop();
        resolver_free(resolver);
        resolver = NULL;
        open_count = 0;
        /* Nothing of it is left behind. */
        assert_int_equal(loop.timer_count, 0);
        loop_done(&loop);
        guard = (struct timer){ 0 };
        return scratch_teardown(state);
}
