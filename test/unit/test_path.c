/* test_path.c: paths are cleaned, compared by whole components and resolved as the kernel would. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/reach.h"
#include "scratch.h"

static int resolve(const char *path, struct path_facts *out, abatis_error *err)
{
        return path_resolve(path, NULL, out, err);
}

/* ---- cleaning ------------------------------------------------------------------------------------------- */

static void a_path_is_cleaned_of_what_means_nothing(void **state)
{
        static const char *const cases[][2] = {
                { "/", "/" },
                { "//", "/" },
                { "///", "/" },
                { "/.", "/" },
                { "/./", "/" },
                { "/././.", "/" },
                { "/a", "/a" },
                { "/a/", "/a" },
                { "//a//b//", "/a/b" },
                { "/a/./b/.", "/a/b" },
                { "/.a", "/.a" },
                { "/a.", "/a." },
                { "/...", "/..." },
                { "/..a", "/..a" },
                { "/a..", "/a.." },
                { "/.../b", "/.../b" },
                { "/a b/[c]*?/'d'\"", "/a b/[c]*?/'d'\"" },
                { "/~/x", "/~/x" },
                { "/\xc3\xa9\xff", "/\xc3\xa9\xff" },
                { "/a\n", "/a\n" },
                { "/\n", "/\n" },
                { "/\n/", "/\n" },
                { "//\n//\n\n/./x\ny", "/\n/\n\n/x\ny" },
                { "/.\n", "/.\n" },
                { "/..\n/\n..", "/..\n/\n.." },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                abatis_error err;
                char *clean = NULL;

                assert_int_equal(path_clean(cases[i][0], &clean, &err), 0);
                assert_string_equal(clean, cases[i][1]);
                assert_int_equal(path_is_clean(cases[i][0]), !strcmp(cases[i][0], clean));
                assert_true(path_is_clean(clean));
                free(clean);
        }
}

static void a_relative_climbing_or_broken_path_is_refused(void **state)
{
        static const char *const cases[] = {
                NULL,  "",     "a",     "./a",    "../a",     "~",        "~/a",   ".",       "..",
                "/..", "/../", "/a/..", "/a/../", "/../a",    "//..",     "/./..", "/a/../b", "/a/b/../../..",
                " /a", "\n",   "\n/a",  "/\n/..", "/\n/../y", "x\n/../y",
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                char untouched, *clean = &untouched;
                abatis_error err = { 0 };

                assert_int_equal(path_clean(cases[i], &clean, &err), ABATIS_E_INVALID);
                assert_int_equal(err.code, ABATIS_E_INVALID);
                assert_true(*err.message);
                assert_ptr_equal(clean, &untouched);
                assert_int_equal(path_clean(cases[i], &clean, NULL), ABATIS_E_INVALID);
                assert_false(cases[i] && path_is_clean(cases[i]));
        }
}

static void a_name_may_have_255_bytes_and_no_more(void **state)
{
        char path[NAME_MAX + 8] = "/";
        char *clean;

        (void)state;
        memset(path + 1, 'n', NAME_MAX);
        path[NAME_MAX + 1] = '\0';
        assert_int_equal(path_clean(path, &clean, NULL), 0);
        assert_string_equal(clean, path);
        free(clean);
        assert_true(path_is_clean(path));
        strcat(path, "n");
        assert_int_equal(path_clean(path, &clean, NULL), ABATIS_E_INVALID);
        assert_false(path_is_clean(path));
}

static void what_does_not_exist_may_be_longer_than_the_kernel_takes(void **state)
{
        size_t length = 3 * PATH_MAX;
        struct path_facts facts = { 0 };
        char *path = malloc(length + 1), *clean = NULL;
        abatis_error err;

        (void)state;
        assert_non_null(path);
        for (size_t i = 0; i < length; i++)
                path[i] = i % 100 ? 'x' : '/';
        path[length] = '\0';
        assert_int_equal(path_clean(path, &clean, &err), 0);
        assert_int_equal(strlen(clean), length);
        /* Absent from its first component on, so the kernel is asked for nothing too long. */
        assert_int_equal(resolve(clean, &facts, &err), 0);
        assert_int_equal(facts.kind, PATH_ABSENT);
        assert_string_equal(facts.real, clean);
        path_facts_done(&facts);
        free(clean);
        free(path);
}

static void a_path_may_have_65535_bytes_and_2048_names(void **state)
{
        char *path = malloc(PATH_LONGEST + 8), *clean = NULL;
        abatis_error err;

        (void)state;
        assert_non_null(path);
        for (size_t i = 0; i < PATH_LONGEST + 1; i++)
                path[i] = i % 200 ? 'x' : '/';
        path[PATH_LONGEST + 1] = '\0';
        assert_int_equal(path_clean(path, &clean, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "65536 bytes; 65535 are the most"));
        assert_false(path_is_clean(path));
        path[PATH_LONGEST] = '\0';
        assert_int_equal(path_clean(path, &clean, &err), 0);
        assert_string_equal(path, clean);
        assert_true(path_is_clean(path));
        free(clean);
        /* Only what is left counts. */
        memset(path, '/', 100);
        assert_int_equal(path_clean(path, &clean, &err), 0);
        free(clean);

        for (size_t i = 0; i < 2 * (PATH_DEEPEST + 1); i++)
                path[i] = i % 2 ? 'x' : '/';
        path[2 * (PATH_DEEPEST + 1)] = '\0';
        assert_int_equal(path_clean(path, &clean, &err), ABATIS_E_INVALID);
        assert_non_null(strstr(err.message, "2049 directories deep; 2048 are the most"));
        assert_false(path_is_clean(path));
        path[2 * PATH_DEEPEST] = '\0';
        assert_int_equal(path_clean(path, &clean, &err), 0);
        assert_true(path_is_clean(path));
        free(clean);
        free(path);
}

/* ---- comparing ------------------------------------------------------------------------------------------ */

static void below_compares_whole_components(void **state)
{
        static const struct {
                const char *path, *directory;
                bool is_below;
        } cases[] = {
                { "/bin", "/bin", true },
                { "/bin/sh", "/bin", true },
                { "/binaries", "/bin", false },
                { "/bin-x/sh", "/bin", false },
                { "/bi", "/bin", false },
                { "/", "/bin", false },
                { "/", "/", true },
                { "/bin", "/", true },
                { "/a/b", "/a/b/c", false },
                { "/a/bc", "/a/b", false },
                { "/b/a", "/a", false },
                { "/home/user2", "/home/user", false },
                { "/BIN/sh", "/bin", false },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                assert_int_equal(path_is_below(cases[i].path, cases[i].directory), cases[i].is_below);
}

static void in_order_a_directory_is_followed_by_all_that_is_below_it(void **state)
{
        static const char *const sorted[] = { "/",     "/a",   "/a/b",      "/a/b/c", "/a/b!",      "/a/c",
                                              "/a!/x", "/a-b", "/a-b/\x01", "/aa",    "/a\xc3\xa4", "/b" };
        const size_t count = sizeof(sorted) / sizeof(*sorted);

        (void)state;
        for (size_t i = 0; i < count; i++)
                for (size_t j = 0; j < count; j++) {
                        int order = path_compare(sorted[i], sorted[j]);

                        assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
                }
}

static void joining_knows_the_root(void **state)
{
        char *joined = path_join("/", "a");

        (void)state;
        assert_string_equal(joined, "/a");
        free(joined);
        joined = path_join("/a/b", "c");
        assert_string_equal(joined, "/a/b/c");
        free(joined);
}

/* ---- resolving ------------------------------------------------------------------------------------------ */

static void assert_resolves(const char *path, const char *real, enum path_kind kind, size_t links)
{
        struct path_facts facts = { 0 };
        abatis_error err = { .message = "" };

        if (resolve(path, &facts, &err) < 0)
                fail_msg("'%s' did not resolve: %s", path, err.message);
        assert_string_equal(facts.real, real);
        assert_int_equal(facts.kind, kind);
        assert_int_equal(facts.links.count, links);
        path_facts_done(&facts);
        assert_null(facts.real);
}

static void assert_does_not_resolve(const char *path, int os_errno)
{
        struct path_facts facts = { .kind = PATH_OTHER };
        abatis_error err = { 0 };

        assert_int_equal(resolve(path, &facts, &err), ABATIS_E_SYSTEM);
        assert_int_equal(err.os_errno, os_errno);
        assert_null(facts.real);
        assert_int_equal(facts.kind, PATH_OTHER);
        assert_int_equal(resolve(path, &facts, NULL), ABATIS_E_SYSTEM);
}

static void what_exists_keeps_its_name_and_has_its_kind(void **state)
{
        (void)state;
        assert_resolves("/", "/", PATH_DIRECTORY, 0);
        assert_resolves(make_dir("d"), at("d"), PATH_DIRECTORY, 0);
        assert_resolves(make_file("d/f", "x"), at("d/f"), PATH_FILE, 0);
        assert_int_equal(mkfifo(at("d/p"), 0600), 0);
        assert_resolves(at("d/p"), at("d/p"), PATH_OTHER, 0);
        assert_resolves("/dev/null", "/dev/null", PATH_OTHER, 0);
}

static void a_missing_tail_is_kept_as_written(void **state)
{
        (void)state;
        make_dir("d");
        make_file("f", "");
        assert_resolves(at("d/no"), at("d/no"), PATH_ABSENT, 0);
        assert_resolves(at("d/no/more/of/it"), at("d/no/more/of/it"), PATH_ABSENT, 0);
        assert_resolves(at("f/below-a-file"), at("f/below-a-file"), PATH_ABSENT, 0);
        /* "d" again below what is missing must not be looked up. */
        assert_resolves(at("no/d"), at("no/d"), PATH_ABSENT, 0);
}

static void links_are_followed_and_listed_where_they_stood(void **state)
{
        struct path_facts facts;

        (void)state;
        make_file("real/deep/f", "");
        make_link("one", at("real"));
        make_link("two", "one");
        make_link("real/here", "deep");
        assert_resolves(at("one/deep/f"), at("real/deep/f"), PATH_FILE, 1);
        assert_resolves(at("one"), at("real"), PATH_DIRECTORY, 1);
        assert_resolves(at("one/no"), at("real/no"), PATH_ABSENT, 1);
        assert_int_equal(resolve(at("two/here/f"), &facts, NULL), 0);
        assert_string_equal(facts.real, at("real/deep/f"));
        assert_int_equal(facts.links.count, 3);
        assert_string_equal(facts.links.items[0], at("two"));
        assert_string_equal(facts.links.items[1], at("one"));
        assert_string_equal(facts.links.items[2], at("real/here"));
        path_facts_done(&facts);
}

static void a_link_to_nothing_is_absent_where_it_points(void **state)
{
        (void)state;
        make_link("absolute", at("nowhere/at/all"));
        make_link("relative", "gone/too");
        assert_resolves(at("absolute"), at("nowhere/at/all"), PATH_ABSENT, 1);
        assert_resolves(at("absolute/tail"), at("nowhere/at/all/tail"), PATH_ABSENT, 1);
        assert_resolves(at("relative"), at("gone/too"), PATH_ABSENT, 1);
}

static void climbing_in_a_link_counts_from_where_the_link_really_is(void **state)
{
        (void)state;
        make_file("a/b/f", "");
        make_file("other/f", "");
        make_link("a/b/up", "../../other/./f");
        make_link("short", "a/b");
        make_link("through", "short/../b/f"); /* the kernel leaves a/b, not the top */
        make_link("top", "../../../../../../../../../../../../../../../../../../../..");
        make_link("slashes", "a//b///");
        make_link("self", ".");
        assert_resolves(at("a/b/up"), at("other/f"), PATH_FILE, 1);
        assert_resolves(at("short/up"), at("other/f"), PATH_FILE, 2);
        assert_resolves(at("through"), at("a/b/f"), PATH_FILE, 2);
        assert_resolves(at("top"), "/", PATH_DIRECTORY, 1);
        assert_resolves(at("top/dev/null"), "/dev/null", PATH_OTHER, 1);
        assert_resolves(at("slashes"), at("a/b"), PATH_DIRECTORY, 1);
        assert_resolves(at("self/self/a"), at("a"), PATH_DIRECTORY, 2);
}

/* The kernel refuses to climb out of what is no directory, so such a link names nothing. */
static void climbing_out_of_a_file_or_of_nothing_does_not_arrive_at_a_file(void **state)
{
        static const char *const names[] = { "out-of-file", "out-of-nothing", "dot-in-file" };

        (void)state;
        make_file("f", "");
        make_dir("d");
        make_link("out-of-file", "f/..");
        make_link("out-of-nothing", "no/../d");
        make_link("dot-in-file", "f/.");
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                struct path_facts facts;

                if (resolve(at("%s", names[i]), &facts, NULL) < 0)
                        continue; /* an error is right too */
                if (facts.kind != PATH_ABSENT)
                        fail_msg("%s: '%s' is said to exist", names[i], facts.real);
                path_facts_done(&facts);
        }
}

static void link_loops_are_errors(void **state)
{
        (void)state;
        make_link("self", "self");
        make_link("ping", "pong");
        make_link("pong", at("ping"));
        make_link("growing", "growing/x");
        assert_does_not_resolve(at("self"), ELOOP);
        assert_does_not_resolve(at("ping"), ELOOP);
        assert_does_not_resolve(at("pong/below"), ELOOP);
        assert_does_not_resolve(at("growing"), ELOOP);
}

static void forty_links_are_followed_and_the_next_is_an_error_as_in_the_kernel(void **state)
{
        struct stat status;
        int tries = 0;

        (void)state;
        make_file("link0", "the end of the chain");
        for (int i = 1; i <= 41; i++) {
                char name[16], target[16];

                snprintf(name, sizeof(name), "link%d", i);
                snprintf(target, sizeof(target), "link%d", i - 1);
                make_link(name, target);
        }
        /* A lookup that the kernel has to repeat with locks counts its links twice. */
        while (stat(at("link40"), &status) < 0)
                assert_true(++tries < 100);
        assert_resolves(at("link40"), at("link0"), PATH_FILE, 40);
        assert_int_equal(stat(at("link41"), &status), -1);
        assert_does_not_resolve(at("link41"), ELOOP);
}

/* An old kernel and valgrind do not know the system call; then nothing is known of any path. */
static void assert_has_no_link(const char *path)
{
        assert_int_equal(path_has_no_link(path), path_has_no_link("/"));
}

static void what_may_not_be_looked_into_is_an_error(void **state)
{
        uid_t uid = geteuid();

        (void)state;
        make_file("closed/f", "");
        assert_int_equal(chmod(at("%s", ""), 0755), 0);
        assert_int_equal(chmod(at("closed"), 0), 0);
        if (!uid)
                assert_int_equal(seteuid(4343), 0); /* root may look into everything */
        assert_resolves(at("closed"), at("closed"), PATH_DIRECTORY, 0);
        assert_does_not_resolve(at("closed/f"), EACCES);
        assert_has_no_link(at("closed"));
        assert_false(path_has_no_link(at("closed/f")));
        assert_int_equal(seteuid(uid), 0);
}

static void resolving_agrees_with_the_kernel_on_a_tree_of_links(void **state)
{
        static const char *const paths[] = { "a",         "a/x",       "l1",          "l1/x",      "l2/l1/x",
                                             "l3/../a/x", "a/back",    "a/back/l2/x", "abs/a/x",   "a/x2",
                                             "l4",        "l4/y/back", "a/y/cousin",  "l1/y/../x", "deep/x" };

        (void)state;
        make_file("a/x", "");
        make_dir("a/y");
        make_link("l1", "a");
        make_link("l2", "./l1/.");
        make_link("l3", "a/y");
        make_link("l4", "l3/..");
        make_link("a/back", "..");
        make_link("a/x2", "../l2/../a/x");
        make_link("a/y/back", "../..");
        make_link("a/y/cousin", "back/l2/y");
        make_link("abs", at("%s", ""));
        make_link("deep", "abs/a/back/l4/");
        for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
                struct path_facts facts;
                char *real = realpath(at("%s", paths[i]), NULL);
                int r = resolve(at("%s", paths[i]), &facts, NULL);

                if (real) {
                        assert_int_equal(r, 0);
                        assert_string_equal(facts.real, real);
                        assert_int_not_equal(facts.kind, PATH_ABSENT);
                } else if (!r) {
                        assert_int_equal(facts.kind, PATH_ABSENT);
                }
                /* The shortcut knows the same. */
                if (!r && path_is_clean(at("%s", paths[i])) && !facts.links.count)
                        assert_has_no_link(at("%s", paths[i]));
                else
                        assert_false(path_has_no_link(at("%s", paths[i])));
                if (!r)
                        path_facts_done(&facts);
                free(real);
        }
}

static bool has_open_above(int lowest)
{
        int fd = dup(0);

        close(fd);
        return fd > lowest;
}

static void one_lookup_finds_out_that_there_is_no_link(void **state)
{
        int lowest = dup(0);
        struct stat before, after;
        char *longest = malloc(3 * PATH_MAX);

        (void)state;
        close(lowest);
        make_file("d/file", "content");
        make_link("d/link", "file");
        make_link("d/dangling", "nowhere");
        make_link("d/loop", "loop");
        make_link("to-d", "d");
        assert_int_equal(mkfifo(at("d/pipe"), 0600), 0);
        assert_int_equal(stat(at("d/file"), &before), 0);
        /* Nothing is opened: a pipe would keep us waiting, and a file would be written. */
        assert_has_no_link(at("d/file"));
        assert_has_no_link(at("d/pipe"));
        assert_has_no_link(at("d"));
        assert_has_no_link("/");
        assert_has_no_link("/dev/null");
        assert_has_no_link(at("d/absent"));
        assert_has_no_link(at("d/absent/deeper"));
        assert_has_no_link(at("d/file/below"));
        assert_false(path_has_no_link(at("d/link")));
        assert_false(path_has_no_link(at("d/link/below")));
        assert_false(path_has_no_link(at("d/dangling")));
        assert_false(path_has_no_link(at("d/dangling/below")));
        assert_false(path_has_no_link(at("d/loop")));
        assert_false(path_has_no_link(at("to-d")));
        assert_false(path_has_no_link(at("to-d/file")));
        assert_false(path_has_no_link(at("to-d/absent")));
        assert_false(path_has_no_link("/proc/self/status"));
        assert_non_null(longest);
        for (size_t i = 0; i < 3 * PATH_MAX; i++)
                longest[i] = i % 2 ? 'n' : '/';
        longest[3 * PATH_MAX - 1] = '\0';
        assert_has_no_link(longest);
        memcpy(longest, at("to-d"), strlen(at("to-d")));
        longest[strlen(at("to-d"))] = '/';
        assert_false(path_has_no_link(longest));
        free(longest);
        assert_int_equal(stat(at("d/file"), &after), 0);
        assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
        assert_false(has_open_above(lowest));
}

static void names_with_newlines_are_names(void **state)
{
        (void)state;
        assert_resolves(make_file("\n/a\n", "x"), at("\n/a\n"), PATH_FILE, 0);
        assert_resolves(at("\n/a"), at("\n/a"), PATH_ABSENT, 0);
        make_link("to\nit", "\n");
        make_link("back\n", at("to\nit/a\n"));
        assert_resolves(at("to\nit/a\n"), at("\n/a\n"), PATH_FILE, 1);
        assert_resolves(at("back\n"), at("\n/a\n"), PATH_FILE, 2);
        assert_has_no_link(at("\n/a\n"));
        assert_false(path_has_no_link(at("to\nit/a\n")));
}

/* Around every length at which the kernel, or a piece, ends. */
static void a_tree_deeper_than_the_kernel_takes_at_once_is_resolved(void **state)
{
        static const size_t lengths[] = { PATH_MAX - 300, PATH_MAX - 1, PATH_MAX, 2 * PATH_MAX,
                                          5 * PATH_MAX };

        (void)state;
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                const char *deep = make_deep(at("%zu", lengths[i]) + strlen(at("%s", "")) + 1, lengths[i]);
                char *one = path_join(deep, "one"), *absent = path_join(deep, "absent/too");
                char *link = path_join(deep, "link"), *through = path_join(at("door%zu", i), "one");
                char *real;

                assert_resolves(deep, deep, PATH_DIRECTORY, 0);
                assert_resolves(one, one, PATH_FILE, 0);
                assert_resolves(absent, absent, PATH_ABSENT, 0);
                assert_resolves(link, one, PATH_FILE, 1);
                assert_has_no_link(one);
                assert_has_no_link(deep);
                assert_has_no_link(absent);
                assert_false(path_has_no_link(link));
                real = path_real(link);
                assert_string_equal(real, one);
                free(real);
                real = path_real(one);
                assert_string_equal(real, one);
                free(real);
                assert_null(path_real(absent));
                assert_int_equal(errno, ENOENT);
                /* A link is shorter than that, but what follows it need not be. */
                make_link(at("door%zu", i) + strlen(at("%s", "")) + 1,
                          strlen(deep) < PATH_MAX ? deep : "nowhere");
                if (strlen(deep) < PATH_MAX)
                        assert_resolves(through, one, PATH_FILE, 1);
                free(one);
                free(absent);
                free(link);
                free(through);
        }
}

static void a_working_directory_deeper_than_the_kernel_tells_is_found(void **state)
{
        const char *deep = make_deep("cwd", 3 * PATH_MAX);
        int before = open(".", O_PATH | O_CLOEXEC), fd = reach_open(deep, O_PATH | O_DIRECTORY);
        char *found, *one;

        (void)state;
        found = reach_working_directory();
        assert_non_null(found);
        assert_string_not_equal(found, deep);
        free(found);
        assert_true(fd >= 0 && before >= 0);
        assert_int_equal(fchdir(fd), 0);
        found = reach_working_directory();
        one = path_real("link");
        assert_int_equal(fchdir(before), 0);
        close(before);
        close(fd);
        assert_non_null(found);
        assert_string_equal(found, deep);
        assert_non_null(one);
        assert_string_equal(one + strlen(deep), "/one");
        free(found);
        free(one);
}

/* What was resolved before is not looked at again, and changes nothing in the answer. */
static void a_known_directory_saves_work_and_changes_no_answer(void **state)
{
        static const char *const tails[] = {
                "", "/f", "/no", "/no/more", "/up", "/up/x", "/out", "/out/dev"
        };

        (void)state;
        make_file("a/known/f", "");
        make_file("a/x", "");
        make_link("a/known/up", "..");
        make_link("a/known/out", "/");
        for (size_t i = 0; i < sizeof(tails) / sizeof(*tails); i++) {
                const char *const known[] = { at("a/known"), at("a/know"), "/", at("b") };
                const char *path = at("a/known%s", tails[i]);
                struct path_facts expected, facts;

                assert_int_equal(resolve(path, &expected, NULL), 0);
                for (size_t j = 0; j < sizeof(known) / sizeof(*known); j++) {
                        assert_int_equal(path_resolve(path, known[j], &facts, NULL), 0);
                        assert_string_equal(facts.real, expected.real);
                        assert_int_equal(facts.kind, expected.kind);
                        assert_int_equal(facts.links.count, expected.links.count);
                        path_facts_done(&facts);
                }
                path_facts_done(&expected);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_path_is_cleaned_of_what_means_nothing),
                cmocka_unit_test(a_relative_climbing_or_broken_path_is_refused),
                cmocka_unit_test(a_name_may_have_255_bytes_and_no_more),
                cmocka_unit_test(what_does_not_exist_may_be_longer_than_the_kernel_takes),
                cmocka_unit_test(a_path_may_have_65535_bytes_and_2048_names),
                cmocka_unit_test(below_compares_whole_components),
                cmocka_unit_test(in_order_a_directory_is_followed_by_all_that_is_below_it),
                cmocka_unit_test(joining_knows_the_root),
                SCRATCH_TEST(what_exists_keeps_its_name_and_has_its_kind),
                SCRATCH_TEST(names_with_newlines_are_names),
                SCRATCH_TEST(a_tree_deeper_than_the_kernel_takes_at_once_is_resolved),
                SCRATCH_TEST(a_working_directory_deeper_than_the_kernel_tells_is_found),
                SCRATCH_TEST(a_missing_tail_is_kept_as_written),
                SCRATCH_TEST(links_are_followed_and_listed_where_they_stood),
                SCRATCH_TEST(a_link_to_nothing_is_absent_where_it_points),
                SCRATCH_TEST(climbing_in_a_link_counts_from_where_the_link_really_is),
                SCRATCH_TEST(climbing_out_of_a_file_or_of_nothing_does_not_arrive_at_a_file),
                SCRATCH_TEST(link_loops_are_errors),
                SCRATCH_TEST(forty_links_are_followed_and_the_next_is_an_error_as_in_the_kernel),
                SCRATCH_TEST(what_may_not_be_looked_into_is_an_error),
                SCRATCH_TEST(resolving_agrees_with_the_kernel_on_a_tree_of_links),
                SCRATCH_TEST(one_lookup_finds_out_that_there_is_no_link),
                SCRATCH_TEST(a_known_directory_saves_work_and_changes_no_answer),
        };

        return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
