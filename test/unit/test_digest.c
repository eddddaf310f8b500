/* test_digest.c: policies that make different sandboxes have different digests; and the trust tiers. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "compositions.h"
#include "policy/compose.h"

static void digest(const char *preset, const char *key, const char *value, char out[ABATIS_DIGEST_SIZE])
{
        const abatis_policy_options options = { .size = sizeof(options),
                                                .workspace = at("ws"),
                                                .preset = preset };
        abatis_policy *policy = NULL;
        abatis_error err = { .message = "" };

        if (abatis_policy_new(&options, &policy, &err) < 0 ||
            (key && abatis_policy_set(policy, key, value, &err) < 0) ||
            abatis_policy_digest(policy, out, &err) < 0)
                fail_msg("%s=%s: %s", key, value, err.message);
        assert_int_equal(strlen(out), ABATIS_DIGEST_SIZE - 1);
        abatis_policy_free(policy);
}

static void the_same_policy_has_the_same_digest(void **state)
{
        char first[ABATIS_DIGEST_SIZE], second[ABATIS_DIGEST_SIZE];

        (void)state;
        digest("dev", "environment.pass", "A=b", first);
        digest("dev", "environment.pass", "A=b", second);
        assert_string_equal(first, second);
}

static void every_difference_is_one_of_the_digest(void **state)
{
        static const struct {
                const char *preset, *key, *value;
        } cases[] = {
                { "dev", NULL, NULL },
                { "tool", NULL, NULL },
                { "strict", NULL, NULL },
                { "dev", "session", "shared" },
                { "dev", "backend", "native" },
                { "dev", "network.mode", "allow" },
                { "dev", "network.loopback", "false" },
                { "dev", "process.fork", "false" },
                { "dev", "process.system_calls", "few" },
                { "skill", NULL, NULL },
                { "dev", "filesystem.deny", "/nonexistent" },
                { "dev", "filesystem.protect", "/nonexistent" },
                { "dev", "environment.pass", "A" },
                { "dev", "environment.pass", "A=" },
                { "dev", "environment.pass", "A=b" },
                { "dev", "environment.pass", "A=c" },
                { "dev", "limits.timeout", "29s" },
                { "dev", "limits.output", "1MiB" }, /* the default, but said */
                { "dev", "limits.memory", "1GiB" },
                { "dev", "audit.log", "off" },
                { "dev", "audit.log", "/var/tmp/other.jsonl" },
                { "dev", "audit.sync", "true" },
        };
        enum { COUNT = sizeof(cases) / sizeof(*cases) };
        char digests[COUNT][ABATIS_DIGEST_SIZE];

        (void)state;
        for (size_t i = 0; i < COUNT; i++) {
                digest(cases[i].preset, cases[i].key, cases[i].value, digests[i]);
                for (size_t j = 0; j < i; j++)
                        if (!strcmp(digests[i], digests[j]))
                                fail_msg("%s %s=%s is the same as %s %s=%s", cases[i].preset, cases[i].key,
                                         cases[i].value, cases[j].preset, cases[j].key, cases[j].value);
        }
}

static void what_a_path_is_counts(void **state)
{
        char absent[ABATIS_DIGEST_SIZE], file[ABATIS_DIGEST_SIZE], link[ABATIS_DIGEST_SIZE];

        (void)state;
        digest("dev", "filesystem.deny", at("ws/secret"), absent);
        make_file("ws/secret", "x");
        digest("dev", "filesystem.deny", at("ws/secret"), file);
        unlink(at("ws/secret"));
        make_link("ws/secret", make_file("ws/elsewhere", "x"));
        digest("dev", "filesystem.deny", at("ws/secret"), link);
        assert_string_not_equal(absent, file);
        assert_string_not_equal(file, link);
        assert_string_not_equal(absent, link);
}

/* What was changed just now is like nothing else: of a file that a sandbox has a copy of, this is when it no longer is. */
static void digest_settled(const char *key, const char *value, char out[ABATIS_DIGEST_SIZE])
{
        char again[ABATIS_DIGEST_SIZE];

        for (int tries = 0; tries < 1000; tries++) {
                digest("dev", key, value, out);
                digest("dev", key, value, again);
                if (!strcmp(out, again))
                        return;
                usleep(10 * 1000);
        }
        fail_msg("%s=%s: never the same", key, value);
}

static void what_is_copied_counts(void **state)
{
        const char *tool = make_program("usr/bin/tool", NULL);
        char single[ABATIS_DIGEST_SIZE], copied[ABATIS_DIGEST_SIZE], changed[ABATIS_DIGEST_SIZE];

        (void)state;
        digest_settled("process.commands", tool, single);
        assert_int_equal(link(tool, at("ws/other")), 0);
        digest_settled("process.commands", tool, copied);
        assert_string_not_equal(single, copied);
        make_program("usr/bin/tool", NULL); /* the same bytes, in the same file */
        digest_settled("process.commands", tool, changed);
        assert_string_not_equal(copied, changed);
}

static void a_loader_counts_as_it_is(void **state)
{
        const char *loader = make_program("usr/lib/ld-own.so.1", NULL);
        const char *tool = make_program("usr/bin/tool", loader);
        char before[ABATIS_DIGEST_SIZE], after[ABATIS_DIGEST_SIZE];

        (void)state;
        digest_settled("process.commands", tool, before);
        unlink(loader);
        make_program("usr/lib/ld-own.so.1", NULL);
        digest_settled("process.commands", tool, after);
        assert_string_not_equal(before, after);
}

static void directories_of_libraries_count(void **state)
{
        const char *tool = make_program("usr/bin/tool", NULL);
        char without[ABATIS_DIGEST_SIZE], with[ABATIS_DIGEST_SIZE];

        (void)state;
        digest("dev", "process.commands", tool, without);
        make_dir("usr/lib");
        digest("dev", "process.commands", tool, with);
        assert_string_not_equal(without, with);
}

static void where_a_socket_lies_counts(void **state)
{
        char before[ABATIS_DIGEST_SIZE], after[ABATIS_DIGEST_SIZE];

        (void)state;
        make_dir("one");
        make_dir("two");
        make_link("current", "one");
        digest("dev", "network.unix", at("current/socket"), before);
        unlink(at("current"));
        make_link("current", "two");
        digest("dev", "network.unix", at("current/socket"), after);
        assert_string_not_equal(before, after);
}

static int compare_after_mount(const void *directory)
{
        char before[ABATIS_DIGEST_SIZE], after[ABATIS_DIGEST_SIZE];

        digest("dev", "filesystem.write", directory, before);
        if (mount("tmpfs", directory, "tmpfs", 0, NULL) < 0)
                return -1;
        digest("dev", "filesystem.write", directory, after);
        return !!strcmp(before, after);
}

static void the_file_system_of_a_tree_counts(void **state)
{
        (void)state;
        assert_int_equal(ask_with_own_mounts(compare_after_mount, make_dir("disk")), 1);
}

static void digest_of(const struct texts *texts, char out[ABATIS_DIGEST_SIZE])
{
        abatis_policy *policy = compose(texts);

        assert_int_equal(abatis_policy_digest(policy, out, NULL), 0);
        abatis_policy_free(policy);
}

static void a_ceiling_counts(void **state)
{
        char first[ABATIS_DIGEST_SIZE], second[ABATIS_DIGEST_SIZE];

        (void)state;
        digest_of(&(struct texts){ .system = "limits: {memory: 1GiB}" }, first);
        digest_of(&(struct texts){ .system = "limits: {memory: 2GiB}" }, second);
        assert_string_not_equal(first, second);
}

static void what_is_unknown_is_untrusted(void **state)
{
        (void)state;
        assert_string_equal(abatis_tier_find("local")->name, "local");
        assert_string_equal(abatis_tier_find("verified")->name, "verified");
        assert_string_equal(abatis_tier_find("untrusted")->name, "untrusted");
        assert_string_equal(abatis_tier_find(NULL)->name, "untrusted");
        assert_string_equal(abatis_tier_find("")->name, "untrusted");
        assert_string_equal(abatis_tier_find("Local")->name, "untrusted");
        assert_string_equal(abatis_tier_find("local ")->name, "untrusted");
        assert_int_equal(abatis_tier_find("unknown")->may_connect, 0);
        assert_int_equal(abatis_tier_find("unknown")->layers, ABATIS_LAYER_SYSTEM | ABATIS_DENY_SECRETS);
}

static abatis_policy *policy_of(const char *tier)
{
        abatis_policy_options options = { .size = sizeof(options), .workspace = at("ws") };
        abatis_policy *policy = NULL;
        abatis_error err;

        if (abatis_tier_apply(abatis_tier_find(tier), &options, &err) < 0 ||
            abatis_policy_new(&options, &policy, &err) < 0)
                fail_msg("%s: %s", tier, err.message);
        return policy;
}

static void every_policy_of_a_tier_is_one(void **state)
{
        static const char *const names[] = { "local", "verified", "untrusted" };

        (void)state;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
                abatis_policy *policy = policy_of(names[i]);

                assert_int_equal(policy->network, NETWORK_DENY);
                abatis_policy_free(policy);
        }
}

/* From the most trusted on: what one may not, the next may not either. */
static void a_tier_may_nothing_that_the_one_above_may_not(void **state)
{
        static const char *const names[] = { "local", "verified", "untrusted" };
        static const char *const places[] = { "home/.ssh/id", "home/.aws/credentials", "home/plain",
                                              "ws/file",      "ws/.git/config",        "elsewhere/file" };
        static const char *const system[] = { "/etc/passwd", "/etc/shadow", "/usr/bin/env", "/var/lib",
                                              "/tmp/x" };
        enum { PLACES = sizeof(places) / sizeof(*places), ALL = PLACES + sizeof(system) / sizeof(*system) };
        bool was[ALL][2];

        (void)state;
        for (size_t i = 0; i < PLACES; i++)
                make_file(places[i], "x");
        make_file("ws/.git/HEAD", "ref: refs/heads/main\n");
        for (size_t tier = 0; tier < 3; tier++) {
                abatis_policy *policy = policy_of(names[tier]);

                for (size_t i = 0; i < ALL; i++)
                        for (size_t access = 0; access < 2; access++) {
                                const char *path = i < PLACES ? at("%s", places[i]) : system[i - PLACES];
                                bool is = check_says(policy, access ? ABATIS_WRITE : ABATIS_READ, path);

                                if (tier && is && !was[i][access])
                                        fail_msg("%s may %s %s", names[tier], access ? "write" : "read",
                                                 path);
                                was[i][access] = is;
                        }
                assert_int_equal(check_says(policy, ABATIS_READ, at("ws/file")), tier < 2);
                assert_false(check_says(policy, ABATIS_READ, at("home/.ssh/id")));
                abatis_policy_free(policy);
        }
}

static void what_is_untrusted_is_limited(void **state)
{
        static const enum limit limits[] = { LIMIT_MEMORY,  LIMIT_PROCESSES, LIMIT_CPU,
                                             LIMIT_WRITTEN, LIMIT_TIMEOUT,   LIMIT_OUTPUT };
        abatis_policy *policy = policy_of("untrusted");

        (void)state;
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
                assert_true(policy->limits[limits[i]] > 0);
        set(policy, "limits.memory", "none");
        assert_int_equal(policy->limits[LIMIT_MEMORY], 0);
        abatis_policy_free(policy);
}

static void a_tier_has_its_own_policy_or_none(void **state)
{
        abatis_policy_options options = { .size = sizeof(options), .preset = "guard" };

        (void)state;
        assert_int_equal(abatis_tier_apply(abatis_tier_find("untrusted"), &options, NULL), ABATIS_E_INVALID);
        assert_int_equal(abatis_tier_apply(abatis_tier_find("verified"), &options, NULL), ABATIS_E_INVALID);
        assert_int_equal(abatis_tier_apply(abatis_tier_find("local"), &options, NULL), 0);
        assert_string_equal(options.preset, "guard");
        assert_null(options.text);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                COMPOSITION_TEST(the_same_policy_has_the_same_digest),
                COMPOSITION_TEST(every_difference_is_one_of_the_digest),
                COMPOSITION_TEST(what_a_path_is_counts),
                COMPOSITION_TEST(what_is_copied_counts),
                COMPOSITION_TEST(a_loader_counts_as_it_is),
                COMPOSITION_TEST(directories_of_libraries_count),
                COMPOSITION_TEST(where_a_socket_lies_counts),
                COMPOSITION_TEST(the_file_system_of_a_tree_counts),
                COMPOSITION_TEST(a_ceiling_counts),
                COMPOSITION_TEST(what_is_unknown_is_untrusted),
                COMPOSITION_TEST(every_policy_of_a_tier_is_one),
                COMPOSITION_TEST(a_tier_may_nothing_that_the_one_above_may_not),
                COMPOSITION_TEST(what_is_untrusted_is_limited),
                COMPOSITION_TEST(a_tier_has_its_own_policy_or_none),
        };

        return cmocka_run_group_tests_name("digest", tests, NULL, NULL);
}
