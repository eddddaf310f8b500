/* test_resolver.c: the addresses of names, asked of servers that answer well, badly, late and not at all. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "askers.h"
#include "name_server.h"
#include "shortage.h"

/* ---- answers -------------------------------------------------------------------------------------------- */

static void both_families_are_asked_and_ipv6_comes_first(void **state)
{
        struct asker asker = answer_to("v4.v6.test");

        (void)state;
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_asked(2, 0);
}

static void one_family_is_enough(void **state)
{
        struct asker asker = answer_to("v4.test");

        (void)state;
        assert_found(&asker, "127.1.2.3", NULL);
        asker = answer_to("v6.test");
        assert_found(&asker, "2001:db8::1", NULL);
        assert_asked(4, 0);
}

static void a_name_without_addresses_is_none_and_kept_so(void **state)
{
        (void)state;
        assert_not_found("v4.nx.test", RESOLVER_NO_NAME);
        assert_not_found("empty.test", RESOLVER_NO_NAME);
        assert_asked(4, 0);
        assert_not_found("v4.nx.test", RESOLVER_NO_NAME);
        assert_not_found("empty.test", RESOLVER_NO_NAME);
        assert_asked(4, 0);
}

static void the_next_server_is_asked_when_one_does_not_know(void **state)
{
        static const char *const names[] = { "v4.v6.fail0.test", "v4.v6.refuse0.test",
                                             "v4.v6.garbage0.test" };

        (void)state;
        for (unsigned i = 0; i < 3; i++) {
                struct asker asker = answer_to(names[i]);

                assert_found(&asker, "2001:db8::1", "127.1.2.3");
                assert_true(asker.took < 900);
                assert_asked(2 * i + 2, 2 * i + 2);
        }
        /* Nobody is asked twice that has said so, and what nobody knows is not kept. */
        renew("", "nameserver 127.0.0.1\nnameserver 127.0.0.2\noptions attempts:5\n");
        assert_not_found("v4.fail0.refuse1.test", RESOLVER_NO_ANSWER);
        assert_asked(8, 8);
        assert_not_found("v4.fail0.refuse1.test", RESOLVER_NO_ANSWER);
        assert_asked(10, 10);
}

static void the_next_server_is_asked_when_one_is_silent(void **state)
{
        struct asker asker;

        (void)state;
        renew_with(&(struct resolver_options){ .patience_ms = 800 });
        asker = answer_to("v4.v6.silent0.test");
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_true(asker.took >= 300);
        assert_asked(2, 2);
}

static void the_next_server_is_asked_when_nobody_listens(void **state)
{
        struct asker asker;

        (void)state;
        renew("", "nameserver 127.0.0.3\nnameserver 127.0.0.2\n");
        asker = answer_to("v4.v6.test");
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_true(asker.took < 900);
        assert_asked(0, 2);
        renew("", "nameserver 127.0.0.3\n");
        asker = answer_to("v4.v6.test");
        assert_int_equal(asker.result, RESOLVER_NO_ANSWER);
        assert_true(asker.took < 900);
}

static void patience_ends_when_it_was_said_to(void **state)
{
        struct asker asker;

        (void)state;
        renew("", "nameserver 127.0.0.1\nnameserver 127.0.0.2\noptions attempts:2\n");
        renew_with(&(struct resolver_options){ .patience_ms = 400 });
        asker = answer_to("v4.silent.test");
        assert_int_equal(asker.result, RESOLVER_NO_ANSWER);
        assert_true(asker.took >= 300 && asker.took < 1400);
        assert_asked(4, 4);
}

static void a_long_answer_comes_over_tcp(void **state)
{
        struct asker asker = answer_to("v4.v6.many.long.test");

        (void)state;
        assert_int_equal(asker.result, RESOLVER_FOUND);
        assert_int_equal(asker.count, RESOLVER_ADDRESSES_MAX);
        assert_true(asker.addresses[DNS_ADDRESSES_MAX - 1].is_v6);
        assert_int_equal(asker.addresses[DNS_ADDRESSES_MAX - 1].bytes[15], 16);
        assert_false(asker.addresses[DNS_ADDRESSES_MAX].is_v6);
        assert_int_equal(asker.addresses[DNS_ADDRESSES_MAX].bytes[3], 3);
        assert_int_equal(name_server_asked_by_stream(0), 2);
        assert_asked(4, 0);
}

static void a_connection_that_breaks_is_no_answer(void **state)
{
        struct asker asker = answer_to("v4.v6.long.cut0.test");

        (void)state;
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_int_equal(name_server_asked_by_stream(0), 2);
        assert_int_equal(name_server_asked_by_stream(1), 2);
        assert_not_found("v4.long.cut0.cut1.test", RESOLVER_NO_ANSWER);
}

static void forged_answers_are_passed_over(void **state)
{
        struct asker asker = answer_to("v4.v6.forged.test");

        (void)state;
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_asked(2, 0);
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static void the_hosts_file_comes_before_the_servers(void **state)
{
        struct asker asker;

        (void)state;
        renew("# 127.9.9.9 v4.test\n"
              "127.5.0.1\tBox.Example  box # 127.5.0.2 other\r\n"
              "  2001:db8::5 other.example box.example. \n"
              "127.5.0.1 box.example\n"
              "fe80::1%lo box.example\n"
              "127.5.1 box.example\n"
              "127.5.0.3\n"
              "nonsense box.example\n"
              "127.5.0.4 -x- 7 ok.example",
              BOTH_SERVERS);
        asker = answer_to("box.example");
        assert_found(&asker, "2001:db8::5", "127.5.0.1");
        asker = answer_to("box");
        assert_found(&asker, "127.5.0.1", NULL);
        asker = answer_to("other.example");
        assert_found(&asker, "2001:db8::5", NULL);
        asker = answer_to("ok.example");
        assert_found(&asker, "127.5.0.4", NULL);
        assert_asked(0, 0);
        asker = answer_to("v4.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_not_found("example", RESOLVER_NO_NAME);
        assert_asked(4, 0);
}

static void changed_files_are_read_again(void **state)
{
        struct asker asker, early = { 0 }, late = { 0 };

        (void)state;
        renew("127.5.0.1 box\n", "nameserver 127.0.0.1\noptions attempts:1\n");
        asker = answer_to("box");
        assert_found(&asker, "127.5.0.1", NULL);
        asker = answer_to("v4.test");
        assert_asked(2, 0);
        ask(&early, "v4.silent0.test");
        make_file("hosts", "127.5.0.22 box\n127.5.0.7 new\n");
        make_file("resolv.conf", "nameserver 127.0.0.2\noptions x\n");
        run_for(1100);
        /* Nobody joins those who wait for a server of the past. */
        ask(&late, "v4.silent0.test");
        run_for(200);
        assert_int_equal(early.calls, 0);
        assert_found(&late, "127.1.2.3", NULL);
        cancel(&early);
        asker = answer_to("box");
        assert_found(&asker, "127.5.0.22", NULL);
        asker = answer_to("new");
        assert_found(&asker, "127.5.0.7", NULL);
        /* What other servers have said is forgotten. */
        asker = answer_to("v4.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_asked(4, 4);
}

static void files_that_say_nothing_mean_the_server_of_this_host(void **state)
{
        struct asker asker;

        (void)state;
        renew("", "; nameserver 127.0.0.2\n nameserver 127.0.0.2\nnameserver\nnameserver fe80::1%lo\n"
                  "nameserver 127.1\noptions timeout:x attempts: rotate ndots:3\nsearch example.org\n");
        asker = answer_to("v4.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_int_equal(remove(at("hosts")), 0);
        assert_int_equal(remove(at("resolv.conf")), 0);
        renew_with(&(struct resolver_options){ 0 });
        asker = answer_to("v4.test");
        assert_found(&asker, "127.1.2.3", NULL);
        /* A pipe is no file, and whoever opened it would wait. */
        assert_int_equal(mkfifo(at("hosts"), 0600), 0);
        assert_int_equal(mkfifo(at("resolv.conf"), 0600), 0);
        renew_with(&(struct resolver_options){ 0 });
        asker = answer_to("v4.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_asked(6, 0);
}

static void of_a_large_file_whole_lines_are_read(void **state)
{
        enum { MOST = 1024 * 1024 };
        static const char first[] = "127.5.0.1 first.example\n#", cut[] = "\n127.5.0.2 last.example";
        char *hosts = malloc(MOST + 16);
        struct asker asker;

        (void)state;
        assert_non_null(hosts);
        memset(hosts, '#', MOST);
        memcpy(hosts, first, sizeof(first) - 1);
        memcpy(hosts + MOST - (sizeof(cut) - 1), cut, sizeof(cut) - 1);
        strcpy(hosts + MOST, ".org\n");
        renew(hosts, BOTH_SERVERS);
        free(hosts);
        asker = answer_to("first.example");
        assert_found(&asker, "127.5.0.1", NULL);
        assert_not_found("last.example", RESOLVER_NO_NAME);
        assert_not_found("last.example.org", RESOLVER_NO_NAME);
}

/* ---- the cache ------------------------------------------------------------------------------------------ */

static void answers_are_kept_as_long_as_they_say(void **state)
{
        static const char *const names[] = { "v4.v6.test", "v4.v6.ttl1.test", "v4.v6.ttl0.test" };
        struct asker asker;

        (void)state;
        for (int round = 0; round < 2; round++)
                for (int i = 0; i < 3; i++) {
                        asker = answer_to(names[i]);
                        assert_found(&asker, "2001:db8::1", "127.1.2.3");
                }
        assert_asked(6, 0);
        run_for(1100);
        for (int i = 0; i < 3; i++) {
                asker = answer_to(names[i]);
                assert_found(&asker, "2001:db8::1", "127.1.2.3");
        }
        assert_asked(10, 0);
}

static void the_name_used_longest_ago_is_forgotten_first(void **state)
{
        (void)state;
        renew_with(&(struct resolver_options){ .cache_max = 2 });
        answer_to("a.v4.test");
        answer_to("b.v4.test");
        answer_to("a.v4.test");
        assert_asked(4, 0);
        answer_to("c.v4.test");
        answer_to("a.v4.test");
        assert_asked(6, 0);
        answer_to("b.v4.test");
        assert_asked(8, 0);
}

static void one_family_does_not_wait_long_for_the_other(void **state)
{
        struct asker asker = answer_to("v4.v6.late6.test");

        (void)state;
        assert_found(&asker, "127.1.2.3", NULL);
        assert_true(asker.took >= 200 && asker.took < LATE_MS);
        asker = answer_to("v4.v6.late6.test");
        assert_found(&asker, "127.1.2.3", NULL);
        /* What comes late is for who asks later. */
        run_for(LATE_MS);
        asker = answer_to("v4.v6.late6.test");
        assert_found(&asker, "2001:db8::1", "127.1.2.3");
        assert_asked(2, 0);
}

static void what_does_not_hold_any_more_is_asked_anew(void **state)
{
        struct asker asker;

        (void)state;
        /* One server alone, which is given all the time there is. */
        renew("", "nameserver 127.0.0.1\noptions attempts:1\n");
        asker = answer_to("v4.v6.mute6.ttl1.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_asked(2, 0);
        run_for(800);
        /* The late question is still open, but nobody is told what is too old. */
        asker = answer_to("v4.v6.mute6.ttl1.test");
        assert_found(&asker, "127.1.2.3", NULL);
        assert_asked(4, 0);
}

/* ---- who waits ------------------------------------------------------------------------------------------ */

static void the_same_question_is_asked_once(void **state)
{
        struct asker askers[50] = { 0 };

        (void)state;
        for (int i = 0; i < 50; i++)
                ask(&askers[i], "v4.v6.test");
        run();
        for (int i = 0; i < 50; i++) {
                assert_int_equal(askers[i].calls, 1);
                assert_found(&askers[i], "2001:db8::1", "127.1.2.3");
        }
        assert_asked(2, 0);
}

static void who_cancels_is_not_called_and_others_are(void **state)
{
        struct asker askers[6] = { 0 };

        (void)state;
        for (int i = 0; i < 3; i++)
                ask(&askers[i], "v4.test");
        ask(&askers[3], "localhost");
        ask(&askers[4], "localhost");
        cancel(&askers[1]);
        cancel(&askers[3]);
        run();
        for (int i = 0; i < 5; i++)
                assert_int_equal(askers[i].calls, i != 1 && i != 3);
        assert_found(&askers[0], "127.1.2.3", NULL);
        assert_found(&askers[4], "127.0.0.1", NULL);
        /* Nobody waits, and yet the answer is of use. */
        ask(&askers[5], "v6.test");
        cancel(&askers[5]);
        run_for(200);
        askers[0] = answer_to("v6.test");
        assert_found(&askers[0], "2001:db8::1", NULL);
        assert_asked(4, 0);
}

static void who_is_called_may_cancel_others_and_ask_again(void **state)
{
        static const char *const names[] = { "v4.test", "localhost" };

        (void)state;
        for (int i = 0; i < 2; i++) {
                struct asker again = { 0 }, askers[3] = {
                        { .cancels = &askers[1] },
                        { 0 },
                        { .asks = &again, .asked = names[i] },
                };

                for (int j = 0; j < 3; j++)
                        ask(&askers[j], names[i]);
                run();
                assert_int_equal(askers[0].calls, 1);
                assert_int_equal(askers[1].calls, 0);
                assert_int_equal(askers[2].calls, 1);
                assert_int_equal(again.calls, 1);
                assert_int_equal(again.result, RESOLVER_FOUND);
        }
        assert_asked(2, 0);
}

static void the_last_one_called_may_free_the_resolver(void **state)
{
        static const char *const names[] = { "v4.v6.test", "localhost", "v4.mute6.test",
                                             "v4.fail0.fail1.test" };

        (void)state;
        for (int i = 0; i < 4; i++) {
                struct asker other = { 0 }, asker = { .frees_the_resolver = true };

                renew_with(&(struct resolver_options){ 0 });
                ask(&other, names[i]);
                ask(&asker, names[i]);
                run();
                assert_null(resolver);
                assert_int_equal(loop.timer_count, 0);
        }
        /* Sockets that nobody waits for are closed with it. */
        renew_with(&(struct resolver_options){ 0 });
        answer_to("v4.mute6.test");
        assert_true(loop.timer_count > 0);
}

static void too_many_questions_are_refused(void **state)
{
        enum { NAMES = 256, WAITING = 4096 };
        struct asker *askers = calloc(WAITING + 1, sizeof(*askers)), known = { 0 }, found = { 0 };
        char name[64];

        (void)state;
        assert_non_null(askers);
        for (int i = 0; i <= NAMES; i++) {
                snprintf(name, sizeof(name), "name-%d.silent.test", i);
                ask(&askers[i], name);
        }
        run_for(100);
        assert_int_equal(askers[NAMES].calls, 1);
        assert_int_equal(askers[NAMES].result, RESOLVER_BUSY);
        assert_int_equal(askers[0].calls + askers[NAMES - 1].calls, 0);
        /* Who has left makes room, and what is known needs none. */
        cancel(&askers[0]);
        ask(&found, "v4.test");
        ask(&known, "localhost");
        run_for(200);
        assert_found(&found, "127.1.2.3", NULL);
        assert_found(&known, "127.0.0.1", NULL);
        for (int i = NAMES - 1; i; i--)
                cancel(&askers[i]);
        memset(askers, 0, (WAITING + 1) * sizeof(*askers));
        for (int i = 0; i <= WAITING; i++)
                ask(&askers[i], "silent.test");
        run_for(100);
        assert_int_equal(askers[WAITING].calls, 1);
        assert_int_equal(askers[WAITING].result, RESOLVER_BUSY);
        for (int i = 0; i < WAITING; i++)
                cancel(&askers[i]);
        free(askers);
}

/* ---- shortage ------------------------------------------------------------------------------------------- */

/* With every allocation failing once: there is an answer, or none, and nothing is lost. */
static void want_of_memory_is_said_or_survived(void **state)
{
        long allocation = 0;

        (void)state;
        resolver_free(resolver);
        resolver = NULL;
        do {
                struct resolver_options options = { .hosts = at("hosts"),
                                                    .resolv_conf = at("resolv.conf"),
                                                    .patience_ms = 500,
                                                    .port = name_server_port() };
                struct asker asker = { 0 };

                countdown = ++allocation;
                has_failed = false;
                if (resolver_new(&loop, &options, &resolver) < 0) {
                        assert_true(has_failed);
                        continue;
                }
                asker.lookup = resolver_ask(resolver, "v4.long.test", take, &asker);
                open_count = asker.lookup ? 1 : 0;
                if (asker.lookup) {
                        run();
                        assert_int_equal(asker.calls, 1);
                        assert_true(asker.result == RESOLVER_FOUND || has_failed);
                } else {
                        assert_true(has_failed);
                }
                countdown = 0;
                resolver_free(resolver);
                resolver = NULL;
        } while (has_failed);
        countdown = 0;
        assert_true(allocation > 10);
}

#define RESOLVER_TEST(test) cmocka_unit_test_setup_teardown(test, askers_setup, askers_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                RESOLVER_TEST(both_families_are_asked_and_ipv6_comes_first),
                RESOLVER_TEST(one_family_is_enough),
                RESOLVER_TEST(a_name_without_addresses_is_none_and_kept_so),
                RESOLVER_TEST(the_next_server_is_asked_when_one_does_not_know),
                RESOLVER_TEST(the_next_server_is_asked_when_one_is_silent),
                RESOLVER_TEST(the_next_server_is_asked_when_nobody_listens),
                RESOLVER_TEST(patience_ends_when_it_was_said_to),
                RESOLVER_TEST(a_long_answer_comes_over_tcp),
                RESOLVER_TEST(a_connection_that_breaks_is_no_answer),
                RESOLVER_TEST(forged_answers_are_passed_over),
                RESOLVER_TEST(the_hosts_file_comes_before_the_servers),
                RESOLVER_TEST(changed_files_are_read_again),
                RESOLVER_TEST(files_that_say_nothing_mean_the_server_of_this_host),
                RESOLVER_TEST(of_a_large_file_whole_lines_are_read),
                RESOLVER_TEST(answers_are_kept_as_long_as_they_say),
                RESOLVER_TEST(the_name_used_longest_ago_is_forgotten_first),
                RESOLVER_TEST(one_family_does_not_wait_long_for_the_other),
                RESOLVER_TEST(what_does_not_hold_any_more_is_asked_anew),
                RESOLVER_TEST(the_same_question_is_asked_once),
                RESOLVER_TEST(who_cancels_is_not_called_and_others_are),
                RESOLVER_TEST(who_is_called_may_cancel_others_and_ask_again),
                RESOLVER_TEST(the_last_one_called_may_free_the_resolver),
                RESOLVER_TEST(too_many_questions_are_refused),
                RESOLVER_TEST(want_of_memory_is_said_or_survived),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
