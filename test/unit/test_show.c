/* test_show.c: a policy that was printed, read again as a file, is the same policy. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policies.h"

/* What a policy of this preset, or of this file, is printed as, without where each line came from. */
static char *print(const char *preset, const char *file)
{
        const abatis_policy_options options = {
                .size = sizeof(options), .preset = preset, .workspace = at("ws"), .file = file
        };
        abatis_policy *policy = NULL;
        abatis_error err;
        char *text = NULL, *to;

        if (abatis_policy_new(&options, &policy, &err) < 0 ||
            abatis_policy_print(policy, ABATIS_TEXT, &text, &err) < 0)
                fail_msg("%s", err.message);
        abatis_policy_free(policy);
        to = text;
        for (const char *from = text; *from;) {
                const char *end = strchr(from, '\n'), *comment = memmem(from, (size_t)(end - from), " #", 2);
                size_t length = (size_t)((comment ? comment : end) - from);

                memmove(to, from, length);
                for (to += length; to > text && to[-1] == ' ';)
                        to--;
                *to++ = '\n';
                from = end + 1;
        }
        *to = '\0';
        return text;
}

static size_t count_of(const char *text, const char *part)
{
        size_t count = 0;

        for (; (text = strstr(text, part)); text++)
                count++;
        return count;
}

static void assert_stable(const char *preset)
{
        char *first = print(preset, NULL), *again = print(NULL, make_file("shown.yaml", first));

        assert_string_equal(again, first);
        free(again);
        free(first);
}

static void what_is_shown_says_the_same_when_it_is_read(void **state)
{
        (void)state;
        make_file("home/.ssh/id", "");
        make_file("home/.netrc", "");
        assert_stable("dev");
        assert_stable("tool");
        assert_stable("mcp");
        assert_stable("strict");
        assert_stable("claude-code");
}

/* What a preset knows of a repository follows from the whole once more where there is no preset. */
static void a_repository_is_shown_once(void **state)
{
        (void)state;
        make_file("ws/.git/config", "");
        make_file("ws/.git/HEAD", "ref: refs/heads/main\n");
        make_dir("ws/.git/hooks");
        assert_stable("dev");
        assert_stable("tool");
        assert_stable("mcp");
        assert_stable("strict");
}

/* In a /run with a docker socket in it: 0 when it is denied once, whichever way the policy came. */
static int show_docker(const void *preset)
{
        char *first, *again;
        bool is_same;

        if (mount("tmpfs", "/run", "tmpfs", 0, NULL) < 0 || mknod("/run/docker.sock", S_IFREG | 0600, 0) < 0)
                return 2;
        first = print(preset, NULL);
        again = print(NULL, make_file("shown.yaml", first));
        is_same = !strcmp(first, again) && count_of(again, "\"/run/docker.sock\"") == 1;
        free(first);
        free(again);
        return !is_same;
}

static void control_sockets_are_shown_once(void **state)
{
        (void)state;
        assert_int_equal(ask_with_own_mounts(show_docker, "mcp"), 0);
        assert_int_equal(ask_with_own_mounts(show_docker, "claude-code"), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(what_is_shown_says_the_same_when_it_is_read),
                POLICY_TEST(a_repository_is_shown_once),
                POLICY_TEST(control_sockets_are_shown_once),
        };

        return cmocka_run_group_tests_name("show", tests, NULL, NULL);
}
