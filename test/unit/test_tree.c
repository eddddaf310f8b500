/* test_tree.c: what is read out of /proc/PID, and what several looks at a tree add up to. */
#include "run/tree_linux.h"

#include <string.h>

#include "scratch.h"

static void a_name_cannot_pretend_to_be_numbers(void **state)
{
        static const char text[] =
                "7 (x) R 1 2) 3) S 2 7 7 0 -1 4194368 130 4 0 0 11 22 33 44 20 0 1 0 777 0 0\n";
        struct tree_process process = { 0 };

        (void)state;
        assert_true(tree_parse_stat(text, 10000, &process));
        assert_int_equal(process.cpu, 1100000);
        assert_int_equal(process.waited, 770000);
        assert_int_equal(process.start, 777);
        assert_true(process.has_not_executed);
        assert_true(process.is_dead);
}

static void a_dead_first_thread_is_no_dead_process(void **state)
{
        struct tree_process process = { 0 };

        (void)state;
        assert_true(
                tree_parse_stat("7 (x) Z 2 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 3 0 777 0 0\n", 10000, &process));
        assert_false(process.is_dead);
        assert_true(tree_parse_stat("7 (x) S 2 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 777 4096 0\n", 10000,
                                    &process));
        assert_false(process.is_dead);
        assert_false(process.has_not_executed);
}

static void what_is_not_a_stat_is_refused(void **state)
{
        static const char *const cases[] = { "",        "7 (x",          "7 (x)",          "7 (x) ",
                                             "7 (x) S", "7 (x) S 1 2 3", "7 (x) S 1 2 a 4" };
        struct tree_process process = { 0 };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                assert_false(tree_parse_stat(cases[i], 10000, &process));
}

static void memory_is_what_only_the_process_keeps(void **state)
{
        struct tree_process process = { 0 };

        (void)state;
        tree_parse_status(
                "Name:\tVmSwap: 9\nState:\tD (disk sleep)\nPPid:\t5\nVmSize:\t 100 kB\nVmRSS:\t 90 kB\nRssAnon:\t 1 kB\n"
                "RssFile:\t 50 kB\nRssShmem:\t 2 kB\nVmPTE:\t 4 kB\nVmSwap:\t 8 kB\nHugetlbPages:\t 16 kB\n",
                &process);
        assert_int_equal(process.memory, 31 << 10);
        assert_int_equal(process.size, 100 << 10);
        assert_int_equal(process.parent, 5);
        assert_true(process.is_blocked);
        /* A zombie has none. */
        tree_parse_status("Name:\tx\nState:\tZ (zombie)\nPPid:\t5\n", &process);
        assert_int_equal(process.memory, 0);
        assert_false(process.is_blocked);
}

static void other_files_say_what_they_are_asked(void **state)
{
        uint64_t number = 0;

        (void)state;
        assert_true(tree_parse_rollup(
                "0-1 ---p 0 0:0 0 [rollup]\nRss: 9 kB\nPss: 9 kB\nPss_Anon: 3 kB\nPss_File: 5 kB\n"
                "Pss_Shmem: 1 kB\nSwap: 9 kB\nSwapPss: 2 kB\n",
                &number));
        assert_int_equal(number, 6 << 10);
        assert_false(tree_parse_rollup("Rss: 9 kB\nPss: 9 kB\n", &number));
        assert_true(tree_parse_io("rchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 4096\n", &number));
        assert_int_equal(number, 4096);
        assert_false(tree_parse_io("rchar: 1\ncancelled_write_bytes: 4096\n", &number));
}

static void who_was_waited_for_counts_once(void **state)
{
        struct tree_losses losses = { 0 };

        (void)state;
        tree_settle_losses(&losses, 100, 130);
        assert_int_equal(losses.lost + losses.pending, 0);
        /* The parent was read before it waited. */
        tree_settle_losses(&losses, 100, 0);
        assert_int_equal(losses.lost + losses.pending, 100);
        tree_settle_losses(&losses, 0, 100);
        assert_int_equal(losses.lost + losses.pending, 0);
}

static void whom_nobody_waits_for_is_not_forgotten(void **state)
{
        struct tree_losses losses = { 0 };

        (void)state;
        tree_settle_losses(&losses, 100, 0);
        tree_settle_losses(&losses, 50, 0);
        tree_settle_losses(&losses, 0, 0);
        assert_int_equal(losses.lost, 150);
        assert_int_equal(losses.pending, 0);
}

static void what_the_machine_writes_is_read(void **state)
{
        uint64_t pages = 0, machine = 0;

        (void)state;
        assert_true(unseen_parse_vmstat("nr_free_pages 5\nnr_dirtied 77\nnr_written 3\n", &pages));
        assert_int_equal(pages, 77);
        assert_false(unseen_parse_vmstat("nr_dirtied_x 77\n", &pages));
        assert_false(unseen_parse_vmstat("", &pages));
        assert_int_equal(unseen_parse_diskstats("   7       0 loop0 1 2 3 4 5 6 7 8 9\n"
                                                " 254       0 vda 1 2 3 4 5 6 1000 8 9 10 11\n"
                                                " 254       1 vda1 1 2\n"),
                         1007);
        assert_int_equal(unseen_parse_diskstats(""), 0);
        assert_true(unseen_read_machine(&machine));
        assert_true(machine > 0);
}

static void who_hides_may_have_written_all_that_was(void **state)
{
        struct unseen unseen = { 0 };

        (void)state;
        unseen_settle(&unseen, 5000, false, false); /* before us */
        unseen_settle(&unseen, 5100, false, false);
        assert_int_equal(unseen.pending + unseen.lost, 0);
        unseen_settle(&unseen, 5300, true, false); /* one was born since, and hides */
        assert_int_equal(unseen.pending, 200);
        unseen_settle(&unseen, 5310, true, false);
        assert_int_equal(unseen.pending, 210);
        unseen_settle(&unseen, 5320, false, false); /* it can be read again */
        assert_int_equal(unseen.pending + unseen.lost, 0);
        unseen_settle(&unseen, 5330, true, false);
        unseen_settle(&unseen, 5370, false, true); /* until its end */
        assert_int_equal(unseen.lost, 50);
        unseen_settle(&unseen, 5400, false, false);
        unseen_settle(&unseen, 5401, true, false);
        unseen_settle(&unseen, 5403, true, true); /* the next one has come by then */
        assert_int_equal(unseen.lost, 53);
        unseen_settle(&unseen, 5000, true, false); /* never less */
        assert_int_equal(unseen.pending + unseen.lost, 53);
}

static void a_vfork_has_its_parents_memory(void **state)
{
        struct tree_process tree[] = {
                { .pid = 2, .memory = 100 << 20, .size = 1 << 30, .is_blocked = true },
                { .pid = 3, .parent = 2, .memory = 100 << 20, .size = 1 << 30, .has_not_executed = true },
                /* There can be no second one. */
                { .pid = 4, .parent = 2, .memory = 100 << 20, .size = 1 << 30, .has_not_executed = true },
        };

        (void)state;
        tree_find_twins(tree, 3);
        assert_true(tree[1].is_twin);
        assert_false(tree[2].is_twin);
        assert_false(tree[0].is_twin);
}

static void a_fork_has_its_own_memory(void **state)
{
        static const struct tree_process parent = { .pid = 2,
                                                    .memory = 100 << 20,
                                                    .size = 1 << 30,
                                                    .is_blocked = true },
                                         child = { .pid = 3,
                                                   .parent = 2,
                                                   .memory = 100 << 20,
                                                   .size = 1 << 30,
                                                   .has_not_executed = true };
        struct tree_process tree[2];

        (void)state;
        for (int i = 0; i < 4; i++) {
                tree[0] = parent;
                tree[1] = child;
                tree[0].is_blocked = i != 0;
                tree[1].has_not_executed = i != 1;
                tree[1].size += i == 2 ? 4096 : 0;
                tree[1].memory += i == 3 ? 1 << 20 : 0;
                tree_find_twins(tree, 2);
                assert_false(tree[1].is_twin);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_name_cannot_pretend_to_be_numbers),
                cmocka_unit_test(a_dead_first_thread_is_no_dead_process),
                cmocka_unit_test(what_is_not_a_stat_is_refused),
                cmocka_unit_test(memory_is_what_only_the_process_keeps),
                cmocka_unit_test(other_files_say_what_they_are_asked),
                cmocka_unit_test(who_was_waited_for_counts_once),
                cmocka_unit_test(whom_nobody_waits_for_is_not_forgotten),
                cmocka_unit_test(what_the_machine_writes_is_read),
                cmocka_unit_test(who_hides_may_have_written_all_that_was),
                cmocka_unit_test(a_vfork_has_its_parents_memory),
                cmocka_unit_test(a_fork_has_its_own_memory),
        };

        return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
