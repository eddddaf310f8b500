/* test_blocked.c: the two questions without a policy: what is protected is blocked by every spelling, the rest is open. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* An agent's directories, a workspace and a configuration file elsewhere. */
static void make_agent(void)
{
        make_file("agent/data/db", "");
        make_file("agent/config.toml", "");
        make_file("agent/config.toml.bak", "");
        make_dir("agent/workspace");
        make_dir("agent/skills");
        make_dir("agent/projects");
        make_dir("agent/stores");
        make_dir("agent/database");
        make_file("elsewhere/agent.toml", "");
}

static void assert_write(const char *path, int expected)
{
        if (abatis_is_write_blocked(path, at("agent")) != expected)
                fail_msg("writing '%s' is %s", path ? path : "NULL", expected ? "open" : "blocked");
}

static void assert_read(const char *path, int expected)
{
        if (abatis_is_read_blocked(path, at("agent"), at("elsewhere/agent.toml")) != expected)
                fail_msg("reading '%s' is %s", path ? path : "NULL", expected ? "open" : "blocked");
}

static void assert_both(const char *path, int expected)
{
        assert_write(path, expected);
        assert_read(path, expected);
}

/* ---- places --------------------------------------------------------------------------------------------- */

static void the_system_is_blocked_to_writing_and_open_to_reading(void **state)
{
        static const char *const places[] = { "/System",   "/bin",     "/sbin",        "/usr/bin",
                                              "/usr/sbin", "/usr/lib", "/usr/libexec", "/private/etc",
                                              "/Library",  "/etc",     "/boot",        "/proc",
                                              "/sys",      "/dev" };

        (void)state;
        make_agent();
        for (size_t i = 0; i < COUNT(places); i++) {
                char path[128];

                assert_write(places[i], 1);
                assert_read(places[i], 0);
                snprintf(path, sizeof(path), "%s/", places[i]);
                assert_write(path, 1);
                snprintf(path, sizeof(path), "%s/absent/below", places[i]);
                assert_write(path, 1);
                assert_read(path, 0);
                /* A name that begins the same is another name. */
                snprintf(path, sizeof(path), "%s-abatis-has-no-such-name", places[i]);
                assert_write(path, 0);
        }
        assert_write("/etc/passwd", 1);
        assert_write("/bin/sh", 1);
        assert_write("/usr/bin/env", 1);
        assert_write("/dev/null", 1);
        assert_write("/proc/self/cwd/x", 1);
}

static void everything_else_is_open(void **state)
{
        static const char *const places[] = { "/tmp",
                                              "/tmp/x",
                                              "/usr/local",
                                              "/usr/local/bin/x",
                                              "/usr/share/x",
                                              "/binaries",
                                              "/etcetera",
                                              "/devices/x",
                                              "/process",
                                              "/usr/library/x",
                                              "/var/tmp/x",
                                              "/srv/x",
                                              "/nowhere/at/all",
                                              "/home",
                                              "/opt/x" };

        (void)state;
        make_agent();
        for (size_t i = 0; i < COUNT(places); i++)
                assert_both(places[i], 0);
        assert_both(getenv("HOME"), 0);
        assert_both(at("home/.bashrc"), 0);
        assert_both(at("ws"), 0);
        assert_both(at("ws/new"), 0);
}

static void the_agents_secrets_are_blocked_and_its_other_directories_open(void **state)
{
        static const char *const blocked[] = { "agent/data", "agent/data/db", "agent/data/absent/x",
                                               "agent/config.toml", "agent/config.toml/x" };
        static const char *const open[] = {
                "agent",          "agent/workspace/x", "agent/skills/x",   "agent/projects",
                "agent/stores/x", "agent/database",    "agent/database/x", "agent/config.toml.bak",
                "agent/config"
        };

        (void)state;
        make_agent();
        for (size_t i = 0; i < COUNT(blocked); i++) {
                assert_both(at("%s", blocked[i]), 1);
                /* The control: without a data directory nobody minds. */
                assert_int_equal(abatis_is_write_blocked(at("%s", blocked[i]), NULL), 0);
                assert_int_equal(abatis_is_read_blocked(at("%s", blocked[i]), NULL, NULL), 0);
        }
        for (size_t i = 0; i < COUNT(open); i++)
                assert_both(at("%s", open[i]), 0);
        assert_read(at("elsewhere/agent.toml"), 1);
        assert_write(at("elsewhere/agent.toml"), 0);
        assert_read(at("elsewhere/agent.toml2"), 0);
        assert_read(at("elsewhere"), 0);
        assert_int_equal(abatis_is_read_blocked(at("elsewhere/agent.toml"), at("agent"), NULL), 0);
}

/* What exists only later is protected by its name. */
static void a_data_directory_that_does_not_exist_yet_is_protected(void **state)
{
        (void)state;
        assert_both(at("agent/data/x"), 1);
        assert_both(at("agent/config.toml"), 1);
        assert_read(at("elsewhere/agent.toml"), 1);
        assert_both(at("agent/workspace"), 0);
}

/* ---- spellings ------------------------------------------------------------------------------------------ */

static void what_is_not_an_absolute_path_is_blocked(void **state)
{
        static const char *const paths[] = { NULL,  "",  "x",  "./x",   "../x",   "~",
                                             "~/x", ".", "..", "tmp/x", " /tmp/x" };

        (void)state;
        make_agent();
        for (size_t i = 0; i < COUNT(paths); i++) {
                assert_both(paths[i], 1);
                assert_int_equal(abatis_is_write_blocked(paths[i], NULL), 1);
                assert_int_equal(abatis_is_read_blocked(paths[i], NULL, NULL), 1);
        }
        /* The same of what is to be protected: nobody can tell what it means. */
        assert_int_equal(abatis_is_write_blocked("/tmp/x", "agent"), 1);
        assert_int_equal(abatis_is_write_blocked("/tmp/x", ""), 1);
        assert_int_equal(abatis_is_read_blocked("/tmp/x", NULL, "agent.toml"), 1);
        assert_int_equal(abatis_is_read_blocked("/tmp/x", NULL, ""), 1);
        assert_int_equal(abatis_is_read_blocked("/tmp/x", NULL, NULL), 0);
}

static void dots_and_slashes_count_by_what_they_mean(void **state)
{
        static const struct {
                const char *path;
                int expected;
        } cases[] = {
                { "/tmp/../etc/passwd", 1 },
                { "/tmp/./../etc", 1 },
                { "//etc///passwd", 1 },
                { "/./etc/./passwd", 1 },
                { "/../../etc/passwd", 1 },
                { "/usr/local/../bin/x", 1 },
                { "/usr/share/../../usr/lib/x", 1 },
                { "/tmp/absent/../../etc/passwd", 1 },
                { "/absent/at/all/../../../etc/passwd", 1 },
                { "/etc/absent/../passwd", 1 },
                { "/etc/passwd/../shadow", 1 },
                { "/etc/.", 1 },
                { "/etc/", 1 },
                { "/etc/../tmp/x", 0 },
                { "/etc/../etcetera", 0 },
                { "/usr/bin/../local/x", 0 },
                { "/etc/absent/../../tmp", 0 },
                { "//tmp//x/", 0 },
                { "/..", 0 },
                { "/tmp/..x/...", 0 },
                { "/tmp/a\nb", 0 },
                { "/etc/a\nb", 1 },
        };

        (void)state;
        make_agent();
        for (size_t i = 0; i < COUNT(cases); i++)
                assert_write(cases[i].path, cases[i].expected);
        assert_both(at("agent/workspace/../data/db"), 1);
        assert_both(at("agent//data"), 1);
        assert_both(at("agent/data/../workspace"), 0);
        /* And in what is protected. */
        assert_int_equal(abatis_is_write_blocked(at("agent/data/db"), at("ws/..//agent/")), 1);
        assert_int_equal(abatis_is_write_blocked(at("agent/workspace"), at("ws/..//agent/")), 0);
        assert_int_equal(abatis_is_read_blocked(at("elsewhere/agent.toml"), NULL,
                                                at("ws/../elsewhere/./agent.toml")),
                         1);
}

/* ---- links ---------------------------------------------------------------------------------------------- */

static void a_link_is_where_it_leads(void **state)
{
        (void)state;
        make_agent();
        make_link("ws/etc", "/etc");
        make_link("ws/passwd", "/etc/passwd");
        make_link("ws/new", "/etc/abatis-has-no-such-file");
        make_link("ws/data", at("agent/data"));
        make_link("ws/relative", "../agent/config.toml");
        make_link("ws/chain", "relative");
        make_link("ws/up", "..");
        make_link("ws/root", "/");
        make_link("ws/open", "../agent/workspace");
        assert_write(at("ws/etc"), 1);
        assert_write(at("ws/etc/x/y"), 1);
        assert_write(at("ws/passwd"), 1);
        assert_write(at("ws/new"), 1);
        assert_both(at("ws/data/db"), 1);
        assert_both(at("ws/data/absent"), 1);
        assert_both(at("ws/relative"), 1);
        assert_both(at("ws/chain"), 1);
        assert_both(at("ws/up/agent/data"), 1);
        assert_write(at("ws/root/etc/passwd"), 1);
        assert_both(at("ws/open"), 0);
        assert_both(at("ws/open/x"), 0);
        assert_both(at("ws/up/ws/x"), 0);
        assert_both(at("ws/root/tmp/x"), 0);
        /* ".." leaves the directory that the link has led into. */
        assert_both(at("ws/open/../data/db"), 1);
        assert_both(at("ws/data/../workspace"), 0);
        assert_write(at("ws/etc/../tmp"), 0);
}

static void what_is_protected_may_be_behind_a_link_itself(void **state)
{
        (void)state;
        make_agent();
        make_dir("vault");
        make_file("real.toml", "");
        make_link("to-agent", "agent");
        make_link("linked/data", at("vault"));
        make_link("linked/config.toml", "../real.toml");
        make_link("to-toml", "elsewhere/agent.toml");
        for (int i = 0; i < 2; i++) {
                const char *data = i ? at("to-agent") : at("agent");

                assert_int_equal(abatis_is_write_blocked(at("agent/data/db"), data), 1);
                assert_int_equal(abatis_is_write_blocked(at("to-agent/data/db"), data), 1);
                assert_int_equal(abatis_is_write_blocked(at("to-agent/config.toml"), data), 1);
                assert_int_equal(abatis_is_read_blocked(at("agent/config.toml"), data, NULL), 1);
                assert_int_equal(abatis_is_write_blocked(at("to-agent/workspace"), data), 0);
                assert_int_equal(abatis_is_write_blocked(at("agent/workspace"), data), 0);
        }
        assert_int_equal(abatis_is_write_blocked(at("vault/x"), at("linked")), 1);
        assert_int_equal(abatis_is_write_blocked(at("linked/data/x"), at("linked")), 1);
        assert_int_equal(abatis_is_read_blocked(at("real.toml"), at("linked"), NULL), 1);
        assert_int_equal(abatis_is_write_blocked(at("vaults"), at("linked")), 0);
        assert_int_equal(abatis_is_read_blocked(at("elsewhere/agent.toml"), NULL, at("to-toml")), 1);
        assert_int_equal(abatis_is_read_blocked(at("to-toml"), NULL, at("elsewhere/agent.toml")), 1);
}

/* It could be replaced there, wherever it leads. */
static void a_link_in_a_protected_place_is_part_of_it(void **state)
{
        (void)state;
        make_agent();
        make_link("agent/data/out", at("ws"));
        assert_both(at("agent/data/out"), 1);
        assert_both(at("agent/data/out/x"), 1);
        assert_both(at("ws/x"), 0);
}

static void what_cannot_be_found_out_is_blocked(void **state)
{
        uid_t uid = geteuid();
        char name[NAME_MAX + 2];

        (void)state;
        make_agent();
        make_link("ws/loop", "loop");
        make_link("ws/ping", "pong");
        make_link("ws/pong", "ping/x");
        make_link("ws/here", ".");
        make_file("ws/closed/file", "");
        assert_both(at("ws/loop"), 1);
        assert_both(at("ws/loop/x"), 1);
        assert_both(at("ws/ping"), 1);
        memset(name, 'n', sizeof(name) - 1);
        name[sizeof(name) - 1] = '\0';
        assert_both(at("ws/%s", name), 1);
        assert_both(at("ws/closed/file"), 0);
        assert_int_equal(chmod(at("%s", ""), 0755), 0);
        assert_int_equal(chmod(at("ws/closed"), 0), 0);
        if (!uid)
                assert_int_equal(seteuid(4343), 0); /* root may look into everything */
        assert_both(at("ws/closed/file"), 1);
        assert_both(at("ws/closed"), 0);
        assert_int_equal(abatis_is_write_blocked(at("ws/x"), at("ws/closed/file")), 1);
        assert_int_equal(seteuid(uid), 0);
        assert_int_equal(abatis_is_write_blocked(at("ws/x"), at("ws/loop")), 1);
        assert_int_equal(abatis_is_read_blocked(at("ws/x"), NULL, at("ws/loop")), 1);
}

/* The agent's directory lies so deep, too. */
static void trees_deeper_than_the_kernel_takes_at_once_are_like_others(void **state)
{
        const char *deep = make_deep("deep", 2 * PATH_MAX);
        char *data = path_join(deep, "data"), *one = path_join(deep, "one"), *link = path_join(deep, "link");
        char *below = path_join(data, "x"), *climbs = path_join(deep, "data/../data/x");

        (void)state;
        assert_int_equal(abatis_is_write_blocked(one, NULL), 0);
        assert_int_equal(abatis_is_write_blocked(one, deep), 0);
        assert_int_equal(abatis_is_write_blocked(below, NULL), 0);
        assert_int_equal(abatis_is_write_blocked(below, deep), 1);
        assert_int_equal(abatis_is_read_blocked(below, deep, NULL), 1);
        assert_int_equal(abatis_is_read_blocked(climbs, deep, NULL), 1);
        assert_int_equal(abatis_is_read_blocked(link, NULL, NULL), 0);
        assert_int_equal(abatis_is_read_blocked(link, NULL, one), 1);
        free(data);
        free(one);
        free(link);
        free(below);
        free(climbs);
}

static void a_newline_is_part_of_a_name(void **state)
{
        (void)state;
        make_dir("data\n/data");
        make_dir("ws");
        make_link("ws/in\n", at("data\n/data"));
        assert_int_equal(abatis_is_write_blocked(at("ws/a\n"), NULL), 0);
        assert_int_equal(abatis_is_write_blocked("/etc\n/passwd", NULL), 0);
        assert_int_equal(abatis_is_write_blocked("/etc/\n", NULL), 1);
        assert_int_equal(abatis_is_write_blocked("/x\n/../etc/passwd", NULL), 1);
        assert_int_equal(abatis_is_read_blocked(at("data\n/data/x"), at("data\n"), NULL), 1);
        assert_int_equal(abatis_is_read_blocked(at("ws/in\n/x"), at("data\n"), NULL), 1);
        assert_int_equal(abatis_is_read_blocked(at("data/data/x"), at("data\n"), NULL), 0);
        assert_int_equal(abatis_is_read_blocked(at("data\n/datum"), at("data\n"), NULL), 0);
}

static void a_path_without_end_is_blocked(void **state)
{
        char *path = malloc(PATH_LONGEST + 16), *links = malloc(4 * PATH_MAX);
        size_t length;

        (void)state;
        make_agent();
        make_link("ws/here", ".");
        assert_non_null(path);
        assert_non_null(links);
        length = (size_t)snprintf(path, PATH_MAX, "%s", at("ws"));
        while (length < PATH_LONGEST)
                path[length] = length % 100 ? 'x' : '/', length++;
        path[PATH_LONGEST] = '\0';
        assert_both(path, 0);
        assert_int_equal(abatis_is_write_blocked("/tmp/x", path), 1);
        strcat(path, "y");
        assert_both(path, 1);
        assert_int_equal(abatis_is_read_blocked("/tmp/x", NULL, path), 1);
        /* And more links than the kernel follows. */
        strcpy(links, at("ws"));
        for (int i = 0; i < 40; i++)
                strcat(links, "/here");
        assert_both(links, 0);
        strcat(links, "/here");
        assert_both(links, 1);
        free(path);
        free(links);
}

/* ---- another root --------------------------------------------------------------------------------------- */

/* What a machine has whose /bin is a link to where nobody would look for it. */
static int ask_in_another_root(const void *root)
{
        static const struct {
                const char *path;
                int expected;
        } cases[] = { { "/bin/tool", 1 },
                      { "/opt/programs/tool", 1 },
                      { "/opt/programs", 1 },
                      { "/sbin/x", 1 },
                      { "/usr/bin/x", 1 },
                      { "/vendor/usr/lib/x", 1 },
                      { "/usr/lib/x", 1 },
                      { "/opt/other", 0 },
                      { "/vendor/usr/x", 0 },
                      { "/usr/local/x", 0 },
                      { "/bin/../other", 0 },
                      { "/opt", 0 },
                      { "/etc/alternatives/tool", 1 } };

        if (chroot(root) < 0 || chdir("/") < 0)
                return 2;
        for (size_t i = 0; i < COUNT(cases); i++)
                if (abatis_is_write_blocked(cases[i].path, "/agent") != cases[i].expected) {
                        print_error("'%s' is not %d\n", cases[i].path, cases[i].expected);
                        return 1;
                }
        return 0;
}

static void a_system_directory_that_is_a_link_is_blocked_by_both_names(void **state)
{
        (void)state;
        make_file("root/opt/programs/tool", "");
        make_file("root/opt/other", "");
        make_link("root/bin", "opt/programs");
        make_link("root/sbin", "/bin");
        make_dir("root/vendor/usr/lib");
        make_link("root/usr", "vendor/usr");
        make_link("root/etc/alternatives/tool", "/opt/other");
        assert_int_equal(ask_with_own_mounts(ask_in_another_root, at("root")), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(the_system_is_blocked_to_writing_and_open_to_reading),
                POLICY_TEST(everything_else_is_open),
                POLICY_TEST(the_agents_secrets_are_blocked_and_its_other_directories_open),
                POLICY_TEST(a_data_directory_that_does_not_exist_yet_is_protected),
                POLICY_TEST(what_is_not_an_absolute_path_is_blocked),
                POLICY_TEST(dots_and_slashes_count_by_what_they_mean),
                POLICY_TEST(a_link_is_where_it_leads),
                POLICY_TEST(what_is_protected_may_be_behind_a_link_itself),
                POLICY_TEST(a_link_in_a_protected_place_is_part_of_it),
                POLICY_TEST(what_cannot_be_found_out_is_blocked),
                POLICY_TEST(a_path_without_end_is_blocked),
                POLICY_TEST(trees_deeper_than_the_kernel_takes_at_once_are_like_others),
                POLICY_TEST(a_newline_is_part_of_a_name),
                POLICY_TEST(a_system_directory_that_is_a_link_is_blocked_by_both_names),
        };

        return cmocka_run_group_tests_name("blocked", tests, NULL, NULL);
}
