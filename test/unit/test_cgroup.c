/* test_cgroup.c: what is read out of the kernel's texts on cgroups. */
#include "run/cgroup_linux.h"

#include <string.h>

#include "scratch.h"

static void the_own_path_is_that_of_the_unified_hierarchy(void **state)
{
        static const char *const cases[][2] = {
                { "0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope" },
                { "9:name=systemd:/a\n4:memory:/b\n0::/c d\n", "/c d" },
                { "0::/\n", "/" },
                { "0::/no newline", "/no newline" },
        };
        char path[CGROUP_PATH_MAX];

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_true(cgroup_parse_own(cases[i][0], path));
                assert_string_equal(path, cases[i][1]);
        }
}

static void a_path_that_cannot_be_used_is_none(void **state)
{
        static const char *const cases[] = { "",      "4:memory:/b\n", "10::/x\n", "0::/../outside\n",
                                             "0::\n", "0::x\n" };
        char path[CGROUP_PATH_MAX], longest[CGROUP_PATH_MAX + 8];

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                assert_false(cgroup_parse_own(cases[i], path));
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "0::/", 4);
        longest[sizeof(longest) - 1] = '\0';
        assert_false(cgroup_parse_own(longest, path));
}

#define V1 "37 33 0:34 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"

static void the_hierarchy_is_found_where_it_is_mounted(void **state)
{
        static const struct {
                const char *mounts, *own, *path;
                size_t root_length;
        } cases[] = {
                { "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "/a/b",
                  "/sys/fs/cgroup/a/b", 14 },
                { V1 "43 33 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/",
                  "/sys/fs/cgroup/unified", 22 },
                { "30 23 0:26 / /mnt/a\\040b rw - cgroup2 x rw", "/c", "/mnt/a b/c", 8 },
                /* A part of it. */
                { "30 23 0:26 /a /cg rw - cgroup2 x rw\n", "/a/b", "/cg/b", 3 },
                { "30 23 0:26 /a /cg rw - cgroup2 x rw\n", "/a", "/cg", 3 },
                { "30 23 0:26 /x /other rw - cgroup2 x rw\n31 23 0:26 / /cg rw - cgroup2 x rw\n", "/xy",
                  "/cg/xy", 3 },
        };
        char path[CGROUP_PATH_MAX];
        size_t length;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                assert_true(cgroup_parse_mounts(cases[i].mounts, cases[i].own, path, &length));
                assert_string_equal(path, cases[i].path);
                assert_int_equal(length, cases[i].root_length);
        }
}

static void no_hierarchy_is_found_where_there_is_none(void **state)
{
        static const char *const cases[] = { "", V1, "30 23 0:26 /a /cg rw - cgroup2 x rw\n",
                                             "30 23 - cgroup2 x\n", "\n\n" };
        char path[CGROUP_PATH_MAX];
        size_t length;

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                assert_false(cgroup_parse_mounts(cases[i], "/ab", path, &length));
}

static void a_controller_is_a_whole_word(void **state)
{
        (void)state;
        assert_true(cgroup_has_word("cpu io memory pids\n", "memory"));
        assert_true(cgroup_has_word("memory", "memory"));
        assert_true(cgroup_has_word("memory2 memory\n", "memory"));
        assert_false(cgroup_has_word("cpuset cpu2\n", "cpu"));
        assert_false(cgroup_has_word("xmemory\n", "memory"));
        assert_false(cgroup_has_word("", "memory"));
}

static void a_number_is_found_by_its_whole_name(void **state)
{
        static const char events[] = "low 0\noom 3\noom_kill 2\noom_group_kill 1\n";

        (void)state;
        assert_int_equal(cgroup_parse_value(events, "oom_kill"), 2);
        assert_int_equal(cgroup_parse_value(events, "oom"), 3);
        assert_int_equal(cgroup_parse_value(events, "max"), 0);
        assert_int_equal(cgroup_parse_value("", "max"), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_own_path_is_that_of_the_unified_hierarchy),
                cmocka_unit_test(a_path_that_cannot_be_used_is_none),
                cmocka_unit_test(the_hierarchy_is_found_where_it_is_mounted),
                cmocka_unit_test(no_hierarchy_is_found_where_there_is_none),
                cmocka_unit_test(a_controller_is_a_whole_word),
                cmocka_unit_test(a_number_is_found_by_its_whole_name),
        };

        return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
