/* test_kin.c: who descends from init, in directories that look like /proc. */
#define _GNU_SOURCE
#include "run/kin_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "scratch.h"

enum { INIT = 500, INIT_START = 1000 };

static void live(unsigned pid, unsigned parent, unsigned start)
{
        char name[32], text[160];

        snprintf(name, sizeof(name), "proc/%u/stat", pid);
        snprintf(text, sizeof(text), "%u (x) S %u 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 %u 4096 1\n", pid,
                 parent, start);
        make_file(name, text);
}

static void die(unsigned pid)
{
        assert_int_equal(unlink(at("proc/%u/stat", pid)), 0);
        assert_int_equal(rmdir(at("proc/%u", pid)), 0);
}

/* The file system would give the next one the same inode. */
static void replace(unsigned pid, unsigned parent, unsigned start)
{
        live(pid + 1000000, parent, start);
        die(pid);
        assert_int_equal(rename(at("proc/%u", pid + 1000000), at("proc/%u", pid)), 0);
}

static struct kin begin(void)
{
        make_file("proc/uptime", "1\n");
        make_file("proc/1x/stat", "nobody\n");
        live(1, 0, 1);
        live(400, 1, 900); /* the host program */
        live(INIT, 400, INIT_START);
        return (struct kin){ .init = INIT };
}

static int look(struct kin *kin)
{
        int proc = open(at("proc"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = kin_look(kin, proc);

        close(proc);
        return r;
}

static enum kin_bond bond_of(const struct kin *kin, unsigned pid)
{
        for (size_t i = 0; i < kin->count; i++)
                if (kin->now[i].pid == pid)
                        return kin->now[i].bond;
        return KIN_GONE;
}

static void who_descends_from_init_is_found_and_nobody_else(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(501, INIT, 1000);
        live(502, 501, 1001);
        live(503, 502, 1001);
        live(300, 503, 1002); /* the numbers have begun anew */
        live(299, 300, 1003);
        live(298, 299, 1003);
        live(504, 400, 1001); /* a second init and its job */
        live(505, 504, 1002);
        live(506, 1, 1002); /* a daemon */
        live(450, 400, 999);
        live(507, 450, 1005);
        assert_int_equal(look(&kin), 0);
        for (unsigned pid = 501; pid <= 503; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_OURS);
        for (unsigned pid = 298; pid <= 300; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_OURS);
        for (unsigned pid = 504; pid <= 507; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_STRANGER);
        assert_int_equal(bond_of(&kin, 400), KIN_STRANGER);
        assert_int_equal(bond_of(&kin, 1), KIN_STRANGER);
        assert_int_equal(kin.count, 14);
        kin_done(&kin);
}

static void a_chain_that_breaks_is_asked_again(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(501, INIT, 1001);
        live(502, 499, 1001); /* its parent has died, and nobody has taken it yet */
        live(503, 504, 1001); /* and of this one a younger one has the number */
        live(504, INIT, 1002);
        live(505, 503, 1001);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 502), KIN_UNKNOWN);
        assert_int_equal(bond_of(&kin, 503), KIN_UNKNOWN);
        assert_int_equal(bond_of(&kin, 505), KIN_UNKNOWN);
        assert_int_equal(bond_of(&kin, 504), KIN_OURS);
        live(502, INIT, 1001);
        live(503, 501, 1001);
        assert_int_equal(look(&kin), 0);
        for (unsigned pid = 501; pid <= 505; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_OURS);
        kin_done(&kin);
}

static void two_that_name_each_other_do_not_hold_us_up(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(501, 502, 1001);
        live(502, 501, 1001);
        live(503, 503, 1001);
        assert_int_equal(look(&kin), 0);
        for (unsigned pid = 501; pid <= 503; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_UNKNOWN);
        kin_done(&kin);
}

static void an_orphan_stays_ours(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(501, INIT, 1001);
        live(502, 501, 1001);
        live(503, 502, 1001);
        assert_int_equal(look(&kin), 0);
        die(501);
        live(502, INIT, 1001);
        live(504, 502, 1003);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 501), KIN_GONE);
        for (unsigned pid = 502; pid <= 504; pid++)
                assert_int_equal(bond_of(&kin, pid), KIN_OURS);
        kin_done(&kin);
}

static void a_number_that_is_used_again_is_another_process(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(300, 1, 900);
        live(501, INIT, 1001);
        live(502, 400, 1001);
        assert_int_equal(look(&kin), 0);
        replace(300, INIT, 1004);
        replace(501, 1, 1004);
        replace(502, 300, 1004);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 300), KIN_OURS);
        assert_int_equal(bond_of(&kin, 501), KIN_STRANGER);
        assert_int_equal(bond_of(&kin, 502), KIN_OURS);
        kin_done(&kin);
}

/* Even where the inode does not tell. */
static void a_wrong_stranger_is_found_out_after_a_while(void **state)
{
        struct kin kin = begin();
        int looks = 0;

        (void)state;
        live(501, 400, 1001);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 501), KIN_STRANGER);
        live(501, INIT, 1001);
        do
                assert_int_equal(look(&kin), 0);
        while (bond_of(&kin, 501) != KIN_OURS && looks++ < 20);
        assert_in_range(looks, 1, 16);
        kin_done(&kin);
}

static void one_of_ours_with_a_strange_parent_is_asked_again(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(501, INIT, 1001);
        live(502, 501, 1001);
        assert_int_equal(look(&kin), 0);
        live(502, 400, 1001);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 502), KIN_OURS); /* who is ours stays so, and is not read */
        kin_check(&kin, 501, INIT);
        kin_check(&kin, 502, 400);
        kin_check(&kin, 503, 400); /* nobody */
        live(501, 400, 1001);
        assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 501), KIN_OURS);
        assert_int_equal(bond_of(&kin, 502), KIN_STRANGER);
        kin_done(&kin);
}

static void only_new_ones_are_read(void **state)
{
        struct kin kin = begin();

        (void)state;
        live(300, 1, 900);
        live(501, INIT, 1001);
        assert_int_equal(look(&kin), 0);
        make_file("proc/300/stat", "nonsense\n");
        for (int i = 0; i < 40; i++)
                assert_int_equal(look(&kin), 0);
        assert_int_equal(bond_of(&kin, 300), KIN_STRANGER);
        make_file("proc/600/stat", "nonsense\n");
        assert_int_equal(look(&kin), -EPROTO);
        kin_done(&kin);
}

static void who_cannot_be_read_is_an_error(void **state)
{
        struct kin kin = begin();

        (void)state;
        make_dir("proc/600/stat");
        assert_int_equal(look(&kin), -EISDIR);
        assert_int_equal(rmdir(at("proc/600/stat")), 0);
        assert_int_equal(look(&kin), 0); /* gone while we looked */
        assert_int_equal(bond_of(&kin, 600), KIN_GONE);
        die(INIT);
        assert_int_equal(look(&kin), -ESRCH);
        kin_done(&kin);
}

static void a_thousand_are_told_apart(void **state)
{
        struct kin kin = begin();

        (void)state;
        for (unsigned n = 0; n < 1000; n++) {
                live(1000 + 2 * n, n ? 1000 + 2 * (n - 1) : INIT, 1001 + n);
                live(1001 + 2 * n, n ? 1001 + 2 * (n - 1) : 400, 1001 + n);
        }
        assert_int_equal(look(&kin), 0);
        for (unsigned n = 0; n < 1000; n++) {
                assert_int_equal(bond_of(&kin, 1000 + 2 * n), KIN_OURS);
                assert_int_equal(bond_of(&kin, 1001 + 2 * n), KIN_STRANGER);
        }
        kin_done(&kin);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                SCRATCH_TEST(who_descends_from_init_is_found_and_nobody_else),
                SCRATCH_TEST(a_chain_that_breaks_is_asked_again),
                SCRATCH_TEST(two_that_name_each_other_do_not_hold_us_up),
                SCRATCH_TEST(an_orphan_stays_ours),
                SCRATCH_TEST(a_number_that_is_used_again_is_another_process),
                SCRATCH_TEST(a_wrong_stranger_is_found_out_after_a_while),
                SCRATCH_TEST(one_of_ours_with_a_strange_parent_is_asked_again),
                SCRATCH_TEST(only_new_ones_are_read),
                SCRATCH_TEST(who_cannot_be_read_is_an_error),
                SCRATCH_TEST(a_thousand_are_told_apart),
        };

        return cmocka_run_group_tests_name("kin", tests, NULL, NULL);
}
