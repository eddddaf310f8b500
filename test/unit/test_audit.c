/* test_audit.c: the audit log: what is written into it, and into which files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/head.h"
#include "audit/reader.h"
#include "audit/record.h"
#include "audits.h"
#include "base/sha256.h"

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

static const char *string_of(const json_t *object, const char *key)
{
        const char *value = json_string_value(json_object_get(object, key));

        return value ? value : "(none)";
}

/* ---- what is written ------------------------------------------------------------------------------------ */

static void records_are_lines_of_json_in_a_chain(void **state)
{
        size_t count;
        char **lines, hash[SHA256_TEXT_SIZE];

        (void)state;
        write_log(3);
        lines = read_lines(log_path(), &count);
        assert_int_equal(count, 3);
        memcpy(hash, zeros, sizeof(hash));
        for (size_t i = 0; i < count; i++) {
                json_t *record = json_loads(lines[i], JSON_REJECT_DUPLICATES, NULL);

                assert_non_null(record);
                assert_int_equal(json_integer_value(json_object_get(record, "seq")), i + 1);
                assert_string_equal(string_of(record, "prev"), hash);
                assert_string_equal(string_of(record, "event"), "planned");
                assert_string_equal(string_of(record, "id"), "a-1");
                assert_int_equal(strlen(string_of(record, "time")), 27);
                memcpy(hash, hash_of_line(lines[i]), sizeof(hash));
                json_decref(record);
        }
        free_lines(lines, count);
        assert_verifies(0, "3 records in 1 file: the chain is whole", NULL);
}

static json_t *write_one(const struct audit_record *record)
{
        struct audit_log *log = open_log(0, 0);
        abatis_error err;
        size_t count;
        char **lines;
        json_t *root;

        if (audit_append(log, record, &err) < 0)
                fail_msg("%s", err.message);
        audit_close(log);
        lines = read_lines(log_path(), &count);
        root = json_loads(lines[count - 1], JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        free_lines(lines, count);
        return root;
}

static void every_field_is_said(void **state)
{
        const char *const argv[] = { "make", "-j8", "a \"quoted\"\n\t\\ word", "\xc3\xa9", NULL };
        const char *const enforced[] = { "network.mode", NULL }, *const not_enforced[] = { NULL };
        const struct audit_record record = {
                .event = AUDIT_FINISHED,
                .id = "00ff-7",
                .policy = "abc",
                .backend = "native",
                .argv = argv,
                .cwd = "/home/you",
                .context = "turn 7",
                .enforced = enforced,
                .not_enforced = not_enforced,
                .has_ended = true,
                .signal = 9,
                .duration_ms = 1234.5678,
                .has_timed_out = true,
                .limit = "limits.timeout",
                .output = { { "aa", 1ull << 40, true }, { "bb", 0, false } },
                .error = "none",
        };
        json_t *root = write_one(&record), *wanted;

        (void)state;
        json_object_del(root, "time");
        wanted = json_pack(
                "{s:i, s:s, s:s, s:s, s:s, s:[s,s,s,s], s:s, s:s, s:s, s:[s], s:[], s:i, s:f, s:b, s:s, "
                "s:{s:I,s:s,s:b}, s:{s:i,s:s,s:b}, s:s}",
                "seq", 1, "prev", zeros, "event", "finished", "id", "00ff-7", "policy", "abc", "argv",
                argv[0], argv[1], argv[2], argv[3], "cwd", "/home/you", "context", "turn 7", "backend",
                "native", "enforced", enforced[0], "not_enforced", "signal", 9, "duration_ms", 1234.568,
                "timed_out", 1, "limit", "limits.timeout", "stdout", "bytes", (json_int_t)1 << 40, "sha256",
                "aa", "truncated", 1, "stderr", "bytes", 0, "sha256", "bb", "truncated", 0, "error", "none");
        assert_non_null(wanted);
        if (!json_equal(root, wanted))
                fail_msg("%s", json_dumps(root, 0));
        json_decref(wanted);
        json_decref(root);
}

enum { CONNECTIONS = 4096 };

static struct connections many_connections(const char *name)
{
        struct connections seen = { .items = calloc(CONNECTIONS, sizeof(*seen.items)),
                                    .count = CONNECTIONS,
                                    .omitted = 3 };

        assert_non_null(seen.items);
        for (size_t i = 0; i < seen.count; i++) {
                struct relay_event *event = &seen.items[i];

                *event = (struct relay_event){ .kind = RELAY_CLOSED,
                                               .object = RELAY_STREAM,
                                               .stream = i + 1,
                                               .seconds = 1000000000,
                                               .microseconds = 7,
                                               .port = 443,
                                               .has_address = true,
                                               .address = { .bytes = { 192, 0, 2, 1 } },
                                               .sent = i,
                                               .received = 9 };
                snprintf(event->name, sizeof(event->name), "%s", name);
                memset(event->problem, 1, sizeof(event->problem) - 1);
                memset(event->rule, 1, sizeof(event->rule) - 1);
        }
        return seen;
}

/* Whatever a command does, its end can be written down: no line is too long for that. */
static void connections_are_said_as_far_as_there_is_room(void **state)
{
        const char *const secrets[] = { "hunter22", NULL };
        struct connections seen = many_connections("of.hunter22.example");
        const struct audit_record record = {
                .event = AUDIT_FINISHED, .id = "a-1", .connections = &seen, .secrets = secrets
        };
        json_t *root = write_one(&record), *list = json_object_get(root, "connections");
        const json_t *first = json_array_get(list, 0);
        const size_t said = json_array_size(list);

        (void)state;
        assert_in_range(said, 32, 256);
        assert_int_equal(json_integer_value(json_object_get(root, "connections_omitted")),
                         CONNECTIONS - said + 3);
        assert_string_equal(string_of(first, "name"), "of.***.example");
        assert_string_equal(string_of(first, "time"), "2001-09-09T01:46:40.000007Z");
        assert_string_equal(string_of(first, "verdict"), "closed");
        assert_string_equal(string_of(first, "address"), "192.0.2.1");
        assert_int_equal(json_integer_value(json_object_get(first, "port")), 443);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "sent")), 1);
        json_decref(root);
        free(seen.items);
}

/* Whoever is refused very often hides nothing that was opened, and the other way round. */
static void neither_kind_of_connections_hides_the_other(void **state)
{
        (void)state;
        for (int is_refused = 0; is_refused < 2; is_refused++) {
                struct connections seen = many_connections("a.example");
                const struct audit_record record = { .event = AUDIT_FINISHED,
                                                     .id = "a-1",
                                                     .connections = &seen };
                const char *const last = is_refused ? "closed" : "refused";
                json_t *root, *list;
                size_t said;

                for (size_t i = 0; i < seen.count; i++)
                        seen.items[i].kind =
                                is_refused == (i < CONNECTIONS - 2) ? RELAY_REFUSED : RELAY_CLOSED;
                seen.items[CONNECTIONS - 1].count = 7;
                root = write_one(&record);
                list = json_object_get(root, "connections");
                said = json_array_size(list);
                assert_in_range(said, 24, 256);
                assert_string_equal(string_of(json_array_get(list, 0), "verdict"),
                                    is_refused ? "refused" : "closed");
                assert_string_equal(string_of(json_array_get(list, said - 1), "verdict"), last);
                assert_string_equal(string_of(json_array_get(list, said - 2), "verdict"), last);
                assert_int_equal(json_integer_value(json_object_get(json_array_get(list, said - 1), "count")),
                                 7);
                assert_null(json_object_get(json_array_get(list, 0), "count"));
                assert_int_equal(json_integer_value(json_object_get(root, "connections_omitted")),
                                 CONNECTIONS - said + 3);
                json_decref(root);
                free(seen.items);
        }
}

static void what_is_no_text_keeps_its_bytes(void **state)
{
        const char *const argv[] = { "\xff\xfe", "ok", NULL };
        const struct audit_record record = { .argv = argv, .cwd = "/a\x80" };
        json_t *root = write_one(&record), *list = json_object_get(root, "argv");

        (void)state;
        assert_string_equal(string_of(json_array_get(list, 0), "base64"), "//4=");
        assert_string_equal(json_string_value(json_array_get(list, 1)), "ok");
        assert_string_equal(string_of(json_object_get(root, "cwd"), "base64"), "L2GA");
        json_decref(root);
}

static void no_byte_of_a_line_drives_a_terminal(void **state)
{
        const char *const argv[] = { "\033[2J\x7f\xc2\x9b\xc2\xa0\r", NULL };
        const struct audit_record record = { .argv = argv };
        json_t *root = write_one(&record);
        size_t length;
        char *text = read_text(log_path(), &length);

        (void)state;
        assert_string_equal(json_string_value(json_array_get(json_object_get(root, "argv"), 0)), argv[0]);
        for (size_t i = 0; i + 1 < length; i++)
                assert_true((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
        assert_null(strstr(text, "\xc2\x9b"));
        free(text);
        json_decref(root);
}

static void a_long_command_is_cut_with_a_hash_of_all(void **state)
{
        enum { LONG = 3 << 20 };
        char *word = malloc(LONG + 1), wanted[SHA256_TEXT_SIZE];
        const char *const argv[] = { "echo", word, "last", NULL };
        const struct audit_record record = { .argv = argv };
        struct sha256 hash;
        json_t *root, *list, *cut;

        (void)state;
        assert_non_null(word);
        for (int i = 0; i < LONG; i += 2)
                memcpy(word + i, "\xc3\xa9", 2);
        word[LONG] = '\0';
        root = write_one(&record);
        list = json_object_get(root, "argv");
        cut = json_object_get(root, "argv_cut");
        assert_int_equal(json_array_size(list), 2);
        assert_in_range(strlen(json_string_value(json_array_get(list, 1))), 4000, 4096);
        assert_int_equal(json_integer_value(json_object_get(cut, "count")), 3);
        assert_int_equal(json_integer_value(json_object_get(cut, "bytes")), 5 + LONG + 1 + 5);
        sha256_init(&hash);
        for (int i = 0; i < 3; i++)
                sha256_add(&hash, argv[i], strlen(argv[i]) + 1);
        sha256_finish(&hash, wanted);
        assert_string_equal(string_of(cut, "sha256"), wanted);
        json_decref(root);
        free(word);
        assert_verifies(0, NULL);
}

static void no_record_is_longer_than_a_line_may_be(void **state)
{
        enum { COUNT = 9000 };
        static char controls[9000];
        const char **list = calloc(COUNT + 1, sizeof(*list));
        struct audit_record record = {
                .cwd = controls, .context = controls, .error = controls, .id = controls
        };
        size_t length;

        (void)state;
        assert_non_null(list);
        memset(controls, 1, sizeof(controls) - 1);
        for (int i = 0; i < COUNT; i++)
                list[i] = "\xff";
        record.argv = record.enforced = record.not_enforced = list;
        json_decref(write_one(&record));
        free(read_text(log_path(), &length));
        assert_in_range(length, 100000, AUDIT_LINE_MAX);
        assert_verifies(0, NULL);
        free(list);
}

static void times_are_those_of_the_calendar(void **state)
{
        static const struct {
                int64_t seconds;
                const char *text;
        } times[] = {
                { 0, "1970-01-01T00:00:00.000007Z" },          { 951782399, "2000-02-28T23:59:59.000007Z" },
                { 951782400, "2000-02-29T00:00:00.000007Z" },  { 951868800, "2000-03-01T00:00:00.000007Z" },
                { 1798761599, "2026-12-31T23:59:59.000007Z" }, { 4107542400, "2100-03-01T00:00:00.000007Z" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
                char text[RECORD_TIME_SIZE];

                record_format_time(times[i].seconds * 1000000 + 7, text);
                assert_string_equal(text, times[i].text);
        }
}

static void an_id_is_random_and_names_the_process(void **state)
{
        char first[AUDIT_ID_SIZE], second[AUDIT_ID_SIZE], pid[16];

        (void)state;
        assert_int_equal(audit_id_new(first, NULL), 0);
        assert_int_equal(audit_id_new(second, NULL), 0);
        assert_string_not_equal(first, second);
        snprintf(pid, sizeof(pid), "-%d", (int)getpid());
        assert_string_equal(first + 16, pid);
}

/* ---- the files ------------------------------------------------------------------------------------------ */

static void assert_refused(const char *wanted)
{
        const struct audit_settings settings = { .path = log_path() };
        const struct audit_record record = { 0 };
        struct audit_log *log = NULL;
        abatis_error err = { .message = "" };
        int r = audit_open(&settings, &log, &err);

        if (!r)
                r = audit_append(log, &record, &err);
        audit_close(log);
        assert_true(r < 0);
        if (!strstr(err.message, wanted))
                fail_msg("'%s' does not say '%s'", err.message, wanted);
}

static void files_and_directories_are_private(void **state)
{
        struct stat status;

        (void)state;
        write_log(1);
        assert_int_equal(stat(at("log"), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0700);
        assert_int_equal(stat(log_path(), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
        assert_int_equal(stat(head_path(), &status), 0);
        assert_int_equal(status.st_mode & 07777, 0600);
}

static void files_of_others_and_links_are_refused(void **state)
{
        const struct audit_settings relative = { .path = "audit.jsonl" };
        struct audit_log *log;

        (void)state;
        assert_int_equal(audit_open(&relative, &log, NULL), ABATIS_E_INVALID);
        write_log(1);
        chmod(log_path(), 0620);
        assert_refused("can be written by others");
        chmod(log_path(), 0600);
        chmod(at("log"), 0777);
        assert_refused("can be written by everybody");
        chmod(at("log"), 0700);
        assert_int_equal(rename(log_path(), at("log/elsewhere")), 0);
        assert_int_equal(symlink("elsewhere", log_path()), 0);
        assert_refused("is a symbolic link");
        unlink(log_path());
        assert_int_equal(mkfifo(log_path(), 0600), 0);
        assert_refused("is not a regular file");
        unlink(log_path());
        rename(head_path(), at("log/other"));
        assert_int_equal(symlink("other", head_path()), 0);
        assert_refused("is a symbolic link");
        unlink(head_path());
        rename(at("log/other"), head_path());
        rename(at("log/elsewhere"), log_path());
        if (!geteuid()) {
                assert_int_equal(chown(log_path(), 4343, 4343), 0);
                assert_refused("belongs to another user");
                assert_int_equal(chown(log_path(), 0, 0), 0);
                assert_int_equal(chown(at("log"), 4343, 4343), 0);
                assert_refused("belongs to another user");
                assert_int_equal(chown(at("log"), 0, 0), 0);
        }
        write_log(1);
        assert_verifies(0, "2 records", NULL);
}

/* `sudo abatis` with the user's HOME must not make directories there that the user cannot enter. */
static void root_makes_nothing_in_the_directories_of_others(void **state)
{
        const struct audit_settings settings = { .path = at("home/state/abatis/audit.jsonl") };
        struct audit_log *log;
        abatis_error err;

        (void)state;
        if (geteuid())
                skip();
        assert_int_equal(chown(make_dir("home"), 4343, 4343), 0);
        assert_int_equal(audit_open(&settings, &log, &err), ABATIS_E_INVALID);
        assert_non_null(
                strstr(err.message, "home', the directory of the audit log, belongs to another user"));
        assert_true(access(at("home/state"), F_OK) < 0);
        assert_int_equal(chown(at("home"), 0, 0), 0);
        assert_int_equal(audit_open(&settings, &log, &err), 0);
        audit_close(log);
}

static void a_synced_log_is_a_log(void **state)
{
        struct audit_settings settings = { .path = log_path(), .sync = AUDIT_SYNC_ALWAYS, .max_size = 1000 };
        const struct audit_record record = { .event = AUDIT_PLANNED, .id = "a-1" };
        struct audit_log *log;

        (void)state;
        assert_int_equal(audit_open(&settings, &log, NULL), 0);
        for (int i = 0; i < 20; i++)
                assert_int_equal(audit_append(log, &record, NULL), 0);
        audit_close(log);
        assert_verifies(0, "20 records in ", "the chain is whole", NULL);
}

static int count_descriptors(void)
{
        int count = 0;

        for (int fd = 0; fd < 200; fd++)
                count += fcntl(fd, F_GETFD) >= 0;
        return count;
}

static void no_descriptor_stays_and_none_is_below_three(void **state)
{
        int standard[3], before = count_descriptors();
        struct audit_log *log = open_log(0, 0);

        (void)state;
        for (int fd = 0; fd < 3; fd++) {
                standard[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
                close(fd);
        }
        append(log, AUDIT_PLANNED, "a-1", "true");
        for (int fd = 0; fd < 3; fd++) {
                assert_true(fcntl(fd, F_GETFD) < 0);
                dup2(standard[fd], fd);
                close(standard[fd]);
        }
        audit_close(log);
        assert_int_equal(count_descriptors(), before);
}

/* What is kept open from one record to the next is found again, whatever has become of the names. */
static void a_log_that_was_moved_meanwhile_is_left_alone(void **state)
{
        struct audit_log *log = open_log(0, 0), *other = open_log(0, 0);
        struct stat moved, now;

        (void)state;
        append(log, AUDIT_PLANNED, "a-1", "true");
        append(other, AUDIT_PLANNED, "a-2", "true");
        assert_int_equal(rename(log_path(), at("log/moved")), 0);
        assert_int_equal(unlink(at("log/audit.jsonl.lock")), 0);
        assert_int_equal(stat(at("log/moved"), &moved), 0);
        append(log, AUDIT_STARTED, "a-1", NULL);
        append(other, AUDIT_STARTED, "a-2", NULL);
        append(log, AUDIT_STARTED, "a-3", NULL);
        assert_int_equal(stat(at("log/moved"), &now), 0);
        assert_int_equal(now.st_size, moved.st_size);
        assert_int_equal(stat(log_path(), &now), 0);
        assert_true(now.st_size > 0);
        audit_close(log);
        audit_close(other);
}

static void somebody_elses_file_is_not_written_into(void **state)
{
        (void)state;
        make_file("log/audit.jsonl", "export PATH=/bin\n");
        chmod(log_path(), 0600);
        assert_refused("its last line is no record");
}

static void a_held_lock_is_waited_for_with_an_end(void **state)
{
        abatis_error err;
        int holder, fd;

        (void)state;
        write_log(1);
        holder = open(head_path(), O_RDONLY | O_CLOEXEC);
        fd = open(head_path(), O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(holder, LOCK_EX), 0);
        assert_int_equal(lock_wait(fd, LOCK_EX, 50, "x", &err), ABATIS_E_SYSTEM);
        assert_non_null(strstr(err.message, "has held the lock"));
        close(holder);
        assert_int_equal(lock_wait(fd, LOCK_EX, 50, "x", &err), 0);
        close(fd);
        write_log(1);
        assert_verifies(0, "2 records", NULL);
}

/* ---- what fails leaves nothing ---------------------------------------------------------------------------- */

/* The kernel writes as much as the limit lets it: a short write, as on a full disk. */
static void a_short_write_is_undone(void **state)
{
        struct rlimit saved, limit;
        struct stat status;
        const char *const argv[] = { "echo", "0123456789", NULL };
        const struct audit_record record = { .event = AUDIT_PLANNED, .argv = argv };
        struct audit_log *log;
        abatis_error err;

        (void)state;
        write_log(2);
        log = open_log(0, 0);
        assert_int_equal(stat(log_path(), &status), 0);
        getrlimit(RLIMIT_FSIZE, &saved);
        limit = saved;
        signal(SIGXFSZ, SIG_IGN);
        for (rlim_t more = 0; more < 150; more += 7) {
                struct stat after;
                int r;

                limit.rlim_cur = (rlim_t)status.st_size + more;
                setrlimit(RLIMIT_FSIZE, &limit);
                r = audit_append(log, &record, &err);
                setrlimit(RLIMIT_FSIZE, &saved);
                assert_int_equal(r, ABATIS_E_SYSTEM);
                assert_non_null(strstr(err.message, "cannot write the audit log"));
                assert_int_equal(stat(log_path(), &after), 0);
                assert_int_equal(after.st_size, status.st_size);
        }
        signal(SIGXFSZ, SIG_DFL);
        assert_int_equal(audit_append(log, &record, NULL), 0);
        audit_close(log);
        assert_verifies(0, "3 records in 1 file: the chain is whole", NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(records_are_lines_of_json_in_a_chain),
                TEST(every_field_is_said),
                TEST(connections_are_said_as_far_as_there_is_room),
                TEST(neither_kind_of_connections_hides_the_other),
                TEST(what_is_no_text_keeps_its_bytes),
                TEST(no_byte_of_a_line_drives_a_terminal),
                TEST(a_long_command_is_cut_with_a_hash_of_all),
                TEST(no_record_is_longer_than_a_line_may_be),
                TEST(times_are_those_of_the_calendar),
                TEST(an_id_is_random_and_names_the_process),
                TEST(files_and_directories_are_private),
                TEST(files_of_others_and_links_are_refused),
                TEST(root_makes_nothing_in_the_directories_of_others),
                TEST(a_synced_log_is_a_log),
                TEST(no_descriptor_stays_and_none_is_below_three),
                TEST(a_log_that_was_moved_meanwhile_is_left_alone),
                TEST(somebody_elses_file_is_not_written_into),
                TEST(a_held_lock_is_waited_for_with_an_end),
                TEST(a_short_write_is_undone),
        };

        return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
