/* test_seatbelt.c: what the macOS backend makes of a policy: a profile that holds it, by our own evaluator, or a refusal that names
 * it. Rules for files are the matter of test/seatbelt, too. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../seatbelt/sbpl.h"
#include "backend/seatbelt.h"
#include "plans.h"
#include "shortage.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const abatis_host mac = {
        .system = SYSTEM_MACOS, .kernel = "15.1", .machine = "arm64", .uid = 501, .gid = 20
};
static const struct sbpl_parameter parameters[] = {
        { "TMP", "/private/tmp/own" }, { "TTY", "/dev/ttys7" }, { "JOB", "job-7" }, { NULL, NULL }
};

/* ---- plans and profiles ---------------------------------------------------------------------------------- */

static struct plan *plan_of(abatis_policy *policy, const abatis_host *host)
{
        return plan_by(&backend_seatbelt, policy, host);
}

static struct sbpl *profile_in(const struct plan *plan)
{
        char message[256] = "no profile";
        struct sbpl *profile = NULL;

        for (size_t i = 0; i < plan->step_count; i++)
                if (plan->steps[i].op == PLAN_PROFILE)
                        profile = sbpl_parse(plan->steps[i].target, parameters, message, sizeof(message));
        if (!profile)
                fail_msg("%s", message);
        return profile;
}

static struct sbpl *profile_of(abatis_policy *policy)
{
        struct plan *plan = plan_of(policy, &mac);
        struct sbpl *profile = profile_in(plan);

        plan_free(plan);
        return profile;
}

/* What both orders say; they must be of one mind. */
static bool answer(const struct sbpl *profile, struct sbpl_question question)
{
        bool last = sbpl_allows(profile, SBPL_LAST, &question);

        if (last != sbpl_allows(profile, SBPL_NARROWEST, &question))
                fail_msg("%s is judged in two ways", question.operation);
        return last;
}

static bool allowed(const struct sbpl *profile, const char *operation, const char *path)
{
        return answer(profile, (struct sbpl_question){ .operation = operation, .path = path });
}

static bool reached(const struct sbpl *profile, const char *operation, const char *host, unsigned port)
{
        return answer(profile, (struct sbpl_question){ .operation = operation, .host = host, .port = port });
}

static void assert_missed(const char *key, const char *value, const char *clause, const char *words)
{
        assert_missed_by(&backend_seatbelt, &mac, key, value, clause, words);
}

/* ---- clauses --------------------------------------------------------------------------------------------- */

static void presets_are_held_whole_but_the_one_with_few_calls(void **state)
{
        (void)state;
        for (size_t i = 0; preset_names[i]; i++) {
                struct plan *plan = plan_of(new_policy(preset_names[i]), &mac);
                bool has_few_calls = !strcmp(preset_names[i], "skill");
                abatis_error err = { .message = "" };

                if ((plan_check(plan, false, &err) < 0) != has_few_calls)
                        fail_msg("%s: %s", preset_names[i], err.message);
                plan_free(plan);
        }
}

static void every_clause_is_held_or_missed_with_a_reason(void **state)
{
        abatis_policy *policy = policy_with_everything();
        struct plan *plan;

        (void)state;
        set(policy, "session", "shared");
        plan = plan_of(policy, &mac);
        assert_all_is_held_or_has_a_reason(plan);
        assert_non_null(reason_of(plan, "session"));
        assert_non_null(reason_of(plan, "limits.memory"));
        assert_null(reason_of(plan, "limits.open_files"));
        plan_free(plan);
}

static void root_is_told_that_it_stays_root(void **state)
{
        abatis_host host = mac;
        struct plan *plan;

        (void)state;
        host.uid = 0;
        plan = plan_of(new_policy("dev"), &host);
        assert_non_null(reason_of(plan, "process.privileges"));
        assert_non_null(reason_of(plan, "process.kernel"));
        assert_null(reason_of(plan, "process.lifetime"));
        plan_free(plan);
}

static void what_a_profile_cannot_hold_is_missed_by_name(void **state)
{
        (void)state;
        make_dir("ws/a");
        make_dir("ws/new\nline");
        make_dir("ws/\xc3\xa9");
        make_file("home/.ssh/id", "");
        assert_missed("filesystem.deny", at("ws/new\nline"), "filesystem.deny", "control character");
        assert_missed("filesystem.protect", at("ws/\xff"), "filesystem.protect", "UTF-8");
        assert_missed("filesystem.deny", at("ws/\xc3\xa4"), "filesystem.deny", "make it first");
        assert_missed("filesystem.deny_glob", "*\xc3\xa9*", "filesystem.deny", "ASCII");
        assert_missed("filesystem.deny_glob", "[\xc3\xa9]", "filesystem.deny", "ASCII");
        /* From ws/a to its own directory in /tmp. */
        assert_missed("filesystem.deny_glob", at("ws/**/key"), "filesystem.deny", "moved out");
        assert_missed("filesystem.deny_glob", "**/a/**/key", "filesystem.deny", "moved out");
        assert_missed("filesystem.write", at("ws/new\nline"), "filesystem.write", "control character");
        assert_missed("limits.processes", "9", "limits.processes", "tree");
        assert_missed("network.unix", at("home/.ssh/agent"), "network.unix", "denies it");
}

static void what_differs_little_from_that_is_held(void **state)
{
        static const char *const patterns[] = { "*.key", "**/a/key", "[a-c]?" };
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_dir("ws/\xc3\xa9");
        set(policy, "filesystem.deny", at("ws/\xc3\xa9"));
        set(policy, "filesystem.deny", at("ws/absent"));
        set(policy, "filesystem.deny", at("ws/\xc3\xa9/absent"));
        set(policy, "filesystem.deny_glob", at("ws/*/key"));
        set(policy, "filesystem.deny_glob", at("home/**/key")); /* nothing there can be moved */
        for (size_t i = 0; i < COUNT(patterns); i++)
                set(policy, "filesystem.deny_glob", patterns[i]);
        plan = plan_of(policy, &mac);
        assert_null(reason_of(plan, "filesystem"));
        plan_free(plan);
}

/* ---- words ----------------------------------------------------------------------------------------------- */

static void strings_are_quoted_or_refused(void **state)
{
        static const struct {
                const char *string, *quoted; /* NULL: refused */
        } cases[] = {
                { "", "\"\"" },
                { "/a b", "\"/a b\"" },
                { "a\"b", "\"a\\\"b\"" },
                { "\\", "\"\\\\\"" },
                { "\\\"", "\"\\\\\\\"\"" },
                { "(;#|'`)", "\"(;#|'`)\"" },
                { "\xc3\xa9", "\"\xc3\xa9\"" },
                { "a\nb", NULL },
                { "\x01", NULL },
                { "\x7f", NULL },
                { "\xff", NULL },
                { "\xc3", NULL },
                { "\xed\xa0\x80", NULL },
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct text text = { 0 };

                text_add(&text, "before ");
                assert_int_equal(seatbelt_quote(&text, cases[i].string), cases[i].quoted != NULL);
                assert_string_equal(text.data + strlen("before "), cases[i].quoted ? cases[i].quoted : "");
                text_done(&text);
        }
}

static void paths_are_those_that_the_kernel_has(void **state)
{
        static const char *const cases[][2] = {
                { "/", "/" },
                { "/tmp", "/private/tmp" },
                { "/tmp/x", "/private/tmp/x" },
                { "/tmpx", "/tmpx" },
                { "/var/tmp", "/private/var/tmp" },
                { "/etc/hosts", "/private/etc/hosts" },
                { "/private/etc/hosts", "/private/etc/hosts" },
                { "/Users/u", "/Users/u" },
                { "/System/Volumes/Data", "/" },
                { "/System/Volumes/Data/Users/u", "/Users/u" },
                { "/System/Volumes/Data/tmp/x", "/private/tmp/x" },
                { "/System/Volumes/Database", "/System/Volumes/Database" },
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                char *canonical = seatbelt_canonical(cases[i][0]);

                assert_string_equal(canonical, cases[i][1]);
                free(canonical);
        }
}

static void patterns_hold_for_every_spelling_that_is_the_same_file(void **state)
{
        static const char *const denied[] = { "/x/.env", "/x/.ENV", "/x/.Env/below",
                                              "/System/Volumes/Data/x/.env", "/private/tmp/y/k.pem" };
        static const char *const open[] = { "/x/env", "/x/.envx", "/x/x.env", "/private/tmp/own/k.pem" };
        abatis_policy *policy = new_policy("guard");
        struct sbpl *profile;

        (void)state;
        set(policy, "filesystem.deny_glob", "**/.env");
        set(policy, "filesystem.deny_glob", "/tmp/y/*.pem");
        profile = profile_of(policy);
        for (size_t i = 0; i < COUNT(denied); i++) {
                assert_false(allowed(profile, "file-read-data", denied[i]));
                assert_false(allowed(profile, "file-read-metadata", denied[i]));
        }
        for (size_t i = 0; i < COUNT(open); i++)
                assert_true(allowed(profile, "file-read-data", open[i]));
        sbpl_free(profile);
}

/* ---- what is not about files ----------------------------------------------------------------------------- */

static void nobody_outside_is_reached_or_does_anything_for_the_command(void **state)
{
        static const struct sbpl_question refused[] = {
                { .operation = "mach-lookup", .name = "com.apple.coreservices.launchservicesd" },
                { .operation = "mach-lookup", .name = "com.apple.coreservices.appleevents" },
                { .operation = "mach-lookup", .name = "com.apple.SecurityServer" },
                { .operation = "mach-lookup", .name = "com.apple.cfprefsd.agent" },
                { .operation = "mach-lookup", .name = "job-8" },
                { .operation = "mach-register", .name = "job-7" },
                { .operation = "mach-priv-task-port" },
                { .operation = "appleevent-send" },
                { .operation = "lsopen" },
                { .operation = "job-creation" },
                { .operation = "signal", .target = "others" },
                { .operation = "process-info-listpids", .target = "others" },
                { .operation = "sysctl-read", .name = "kern.proc.all" },
                { .operation = "sysctl-read", .name = "kern.procargs2.1" },
                { .operation = "sysctl-write", .name = "kern.hostname" },
                { .operation = "ipc-posix-sem", .name = "s" },
                { .operation = "ipc-posix-shm-write-data", .name = "s" },
                { .operation = "ipc-sysv-shm" },
                { .operation = "iokit-open" },
                { .operation = "system-reboot" },
                { .operation = "file-mount", .path = "/Users/u" },
                { .operation = "file-chroot", .path = "/Users/u" },
                { .operation = "file-read-data", .path = "/dev/disk0" },
                { .operation = "file-read-data", .path = "/dev/ttys003" },
                { .operation = "file-write-data", .path = "/dev/ttys003" },
                { .operation = "file-ioctl", .path = "/dev/ttys003" },
                { .operation = "file-read-data", .path = "/.vol/1/2" },
        };
        static const struct sbpl_question granted[] = {
                { .operation = "mach-lookup", .name = "com.apple.system.opendirectoryd.libinfo" },
                { .operation = "mach-lookup", .name = "job-7" },
                { .operation = "signal", .target = "same-sandbox" },
                { .operation = "process-info-listpids", .target = "same-sandbox" },
                { .operation = "process-fork" },
                { .operation = "sysctl-read", .name = "hw.ncpu" },
                { .operation = "pseudo-tty" },
                { .operation = "file-read-data", .path = "/dev/null" },
                { .operation = "file-write-data", .path = "/dev/null" },
                { .operation = "file-write-data", .path = "/dev/ttys003", .has_extension = true },
                { .operation = "file-ioctl", .path = "/dev/ttys003", .has_extension = true },
                { .operation = "file-ioctl", .path = "/dev/ttys7" }, /* that was made for it */
        };

        (void)state;
        for (size_t i = 0; preset_names[i]; i++) {
                struct sbpl *profile = profile_of(new_policy(preset_names[i]));

                for (size_t j = 0; j < COUNT(refused); j++)
                        if (answer(profile, refused[j]))
                                fail_msg("%s: question %zu is allowed", preset_names[i], j);
                for (size_t j = 0; j < COUNT(granted); j++)
                        if (!answer(profile, granted[j]) && (strcmp(preset_names[i], "skill") ||
                                                             strcmp(granted[j].operation, "process-fork")))
                                fail_msg("%s: question %zu is refused", preset_names[i], j);
                sbpl_free(profile);
        }
}

static void forks_can_be_forbidden(void **state)
{
        static const char *const presets[] = { "dev", "guard" };

        (void)state;
        for (size_t i = 0; i < COUNT(presets); i++) {
                abatis_policy *policy = new_policy(presets[i]);
                struct sbpl *profile;

                policy->forbids_forks = true;
                profile = profile_of(policy);
                assert_false(allowed(profile, "process-fork", NULL));
                assert_true(allowed(profile, "process-exec", "/usr/bin/true"));
                sbpl_free(profile);
        }
}

static void each_network_mode_opens_what_it_says(void **state)
{
        static const struct sbpl_question
                tcp = { .operation = "network-outbound", .host = "192.0.2.1", .port = 443 },
                local = { .operation = "network-outbound", .host = "localhost", .port = 80 },
                bind = { .operation = "network-bind", .host = "localhost", .port = 80 },
                socket = { .operation = "network-outbound", .path = "/private/var/run/x" },
                docker = { .operation = "network-outbound", .path = "/private/var/run/docker.sock" },
                names = { .operation = "network-outbound", .path = "/private/var/run/mDNSResponder" },
                pair = { .operation = "system-socket", .family = "AF_UNIX" },
                raw = { .operation = "system-socket", .family = "AF_SYSTEM" };
        static const struct {
                const char *mode;
                bool reaches_inet, reaches_unix;
        } modes[] = { { "deny", false, false }, { "unix-only", false, true }, { "allow", true, true } };

        (void)state;
        for (size_t i = 0; i < COUNT(modes); i++) {
                abatis_policy *policy = new_policy("dev");
                struct sbpl *profile;

                set(policy, "network.mode", modes[i].mode);
                profile = profile_of(policy);
                assert_int_equal(answer(profile, tcp), modes[i].reaches_inet);
                assert_int_equal(answer(profile, local), modes[i].reaches_inet);
                assert_int_equal(answer(profile, bind), modes[i].reaches_inet);
                assert_int_equal(answer(profile, names), modes[i].reaches_inet);
                assert_int_equal(answer(profile, raw), modes[i].reaches_inet);
                assert_int_equal(answer(profile, socket), modes[i].reaches_unix);
                assert_false(answer(profile, docker));
                assert_true(answer(profile, pair));
                sbpl_free(profile);
        }
}

static void sockets_are_denied_and_bound_as_files_are(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct sbpl *profile;
        char path[512];

        (void)state;
        make_dir("ws/secret");
        set(policy, "network.mode", "unix-only");
        set(policy, "filesystem.deny", at("ws/secret"));
        profile = profile_of(policy);
        snprintf(path, sizeof(path), "/private%s", at("ws/socket"));
        assert_true(allowed(profile, "network-outbound", path));
        assert_true(allowed(profile, "network-bind", path));
        snprintf(path, sizeof(path), "/private%s", at("ws/secret/socket"));
        assert_false(allowed(profile, "network-outbound", path));
        assert_false(allowed(profile, "network-bind", path));
        snprintf(path, sizeof(path), "/private%s", at("home/socket"));
        assert_true(allowed(profile, "network-outbound", path));
        assert_false(allowed(profile, "network-bind", path));
        assert_false(allowed(profile, "network-outbound", "/private/tmp/another's"));
        assert_true(allowed(profile, "network-bind", "/private/tmp/own/socket"));
        sbpl_free(profile);
}

static void listed_sockets_are_reached_and_no_others(void **state)
{
        abatis_policy *policy = new_policy("dev");
        struct sbpl *profile;

        (void)state;
        set(policy, "network.unix", "/opt/db/socket");
        profile = profile_of(policy);
        assert_true(allowed(profile, "network-outbound", "/opt/db/socket"));
        assert_false(allowed(profile, "network-outbound", "/opt/db/socket2"));
        assert_false(allowed(profile, "network-bind", "/opt/db/socket"));
        sbpl_free(profile);
}

/* What Seatbelt calls localhost is more than the entry says: so it is refused, and done with --best-effort. */
static void a_list_reaches_ports_of_this_machine_at_best(void **state)
{
        static const char *const entries[] = { "127.0.0.1:5432", "[::1]:5433",      "host.abatis:5434",
                                               "192.0.2.1:443",  "example.org:443", "127.0.0.1:53/udp" };
        abatis_policy *policy = new_policy("dev");
        struct sbpl *profile;
        struct plan *plan;

        (void)state;
        set(policy, "network.mode", "list");
        for (size_t i = 0; i < COUNT(entries); i++)
                set(policy, "network.connect", entries[i]);
        set(policy, "network.bind", "8080");
        plan = plan_of(policy, &mac);
        profile = profile_in(plan);
        for (size_t i = 0; i < COUNT(entries); i++) {
                char clause[64];

                snprintf(clause, sizeof(clause), "network.connect %s", entries[i]);
                assert_non_null(reason_of(plan, clause));
        }
        assert_non_null(reason_of(plan, "network.bind"));
        assert_non_null(reason_of(plan, "network.verify_sni"));
        for (unsigned port = 5432; port <= 5434; port++) {
                assert_true(reached(profile, "network-outbound", "localhost", port));
                assert_false(reached(profile, "network-outbound", "192.0.2.1", port));
        }
        assert_false(reached(profile, "network-outbound", "localhost", 5435));
        assert_false(reached(profile, "network-outbound", "localhost", 53));
        assert_false(reached(profile, "network-outbound", "192.0.2.1", 443));
        assert_true(reached(profile, "network-bind", "localhost", 8080));
        assert_false(reached(profile, "network-bind", "localhost", 8081));
        sbpl_free(profile);
        plan_free(plan);
}

static void only_listed_commands_start(void **state)
{
        const char *loader = make_program("lib/ld.so", NULL);
        abatis_policy *policy = new_policy("dev");
        struct sbpl *profile;
        char path[512];

        (void)state;
        make_program("bin/tool", loader);
        make_program("bin/other", loader);
        set(policy, "process.commands", at("bin/tool"));
        profile = profile_of(policy);
        snprintf(path, sizeof(path), "/private%s", at("bin/tool"));
        assert_true(allowed(profile, "process-exec", path));
        snprintf(path, sizeof(path), "/private%s", at("bin/other"));
        assert_false(allowed(profile, "process-exec", path));
        assert_false(allowed(profile, "file-map-executable", path));
        assert_true(allowed(profile, "file-read-data", path));
        snprintf(path, sizeof(path), "/private%s", at("ws/made"));
        assert_false(allowed(profile, "process-exec", path));
        assert_false(allowed(profile, "file-map-executable", path));
        assert_false(allowed(profile, "process-exec", "/private/tmp/own/made"));
        assert_true(allowed(profile, "file-map-executable", "/usr/lib/libSystem.B.dylib"));
        sbpl_free(profile);
}

static void a_command_that_could_be_changed_is_not_listed(void **state)
{
        const char *loader = make_program("lib/ld.so", NULL);
        abatis_policy *policy = new_policy("dev");
        struct plan *plan;

        (void)state;
        make_program("ws/tool", loader);
        make_program("ws/two", loader);
        assert_int_equal(link(at("ws/two"), at("ws/names")), 0);
        assert_missed("process.commands", at("ws/two"), "process.commands", "another of its names");
        set(policy, "process.commands", at("ws/tool"));
        plan = plan_of(policy, &mac);
        assert_null(reason_of(plan, "process.commands")); /* it is protected */
        plan_free(plan);
}

/* ---- little memory --------------------------------------------------------------------------------------- */

static void without_memory_there_is_no_weaker_profile(void **state)
{
        abatis_policy *policy = new_policy("strict");
        char *whole = NULL;

        (void)state;
        make_dir("ws/a");
        make_link("ws/link", "a");
        set(policy, "filesystem.deny", at("ws/link"));
        set(policy, "filesystem.protect", at("ws/a"));
        set(policy, "filesystem.deny_glob", at("ws/*/[!a-c]?*"));
        set(policy, "network.mode", "unix-only");
        assert_int_equal(policy_finish(policy, NULL), 0);
        for (long failing = 0; !whole || has_failed; failing++) {
                struct plan *plan = plan_new(policy, BACKEND_SEATBELT);
                char *text = NULL;

                assert_non_null(plan);
                has_failed = false;
                countdown = failing;
                backend_seatbelt.compile(policy, &mac, plan);
                countdown = 0;
                for (size_t i = 0; i < plan->step_count; i++)
                        if (plan->steps[i].op == PLAN_PROFILE)
                                text = plan->steps[i].target;
                if (!whole) {
                        whole = strdup(text);
                        has_failed = true; /* go on */
                } else if (!plan->has_failed) {
                        assert_non_null(text);
                        assert_string_equal(text, whole);
                } else
                        assert_true(plan_check(plan, true, NULL) < 0);
                plan_free(plan);
        }
        free(whole);
        abatis_policy_free(policy);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                POLICY_TEST(presets_are_held_whole_but_the_one_with_few_calls),
                POLICY_TEST(every_clause_is_held_or_missed_with_a_reason),
                POLICY_TEST(root_is_told_that_it_stays_root),
                POLICY_TEST(what_a_profile_cannot_hold_is_missed_by_name),
                POLICY_TEST(what_differs_little_from_that_is_held),
                POLICY_TEST(strings_are_quoted_or_refused),
                POLICY_TEST(paths_are_those_that_the_kernel_has),
                POLICY_TEST(patterns_hold_for_every_spelling_that_is_the_same_file),
                POLICY_TEST(nobody_outside_is_reached_or_does_anything_for_the_command),
                POLICY_TEST(forks_can_be_forbidden),
                POLICY_TEST(each_network_mode_opens_what_it_says),
                POLICY_TEST(sockets_are_denied_and_bound_as_files_are),
                POLICY_TEST(listed_sockets_are_reached_and_no_others),
                POLICY_TEST(a_list_reaches_ports_of_this_machine_at_best),
                POLICY_TEST(only_listed_commands_start),
                POLICY_TEST(a_command_that_could_be_changed_is_not_listed),
                POLICY_TEST(without_memory_there_is_no_weaker_profile),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
