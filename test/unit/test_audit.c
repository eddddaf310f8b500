/* test_audit.c: the audit log: what is written, its chain, every way of tampering with it, repair and rotation. */
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

static char *hash_of_line(const char *line)
{
        static char hash[SHA256_TEXT_SIZE];

        sha256_text(line, strcspn(line, "\n"), hash);
        return hash;
}

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

static void no_descriptor_stays_and_none_is_below_three(void **state)
{
        struct audit_log *log = open_log(0, 0);
        int standard[3], next = dup(0);

        (void)state;
        close(next);
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
        assert_true(fcntl(next, F_GETFD) < 0);
        audit_close(log);
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

/* ---- tampering ------------------------------------------------------------------------------------------ */

static void change_line(size_t index, const char *from, const char *to)
{
        size_t count;
        char **lines = read_lines(log_path(), &count), *found = strstr(lines[index], from), *changed;

        assert_non_null(found);
        assert_true(asprintf(&changed, "%.*s%s%s", (int)(found - lines[index]), lines[index], to,
                             found + strlen(from)) > 0);
        free(lines[index]);
        lines[index] = changed;
        write_lines_to(log_path(), lines, count);
        free_lines(lines, count);
}

static void drop_line(size_t index)
{
        size_t count;
        char **lines = read_lines(log_path(), &count);

        free(lines[index]);
        lines[index] = NULL;
        write_lines_to(log_path(), lines, count);
        free_lines(lines, count);
}

static void an_edited_line_is_found(void **state)
{
        (void)state;
        write_log(5);
        change_line(2, "word3", "worse");
        assert_verifies(1, "line 3 of ", "was edited: the record behind it", NULL);
        /* The chain goes on behind it, and the fault stays. */
        write_log(1);
        assert_verifies(1, "line 3 of ", "6 records", NULL);
}

static void an_edited_last_line_is_found_and_stays_found(void **state)
{
        (void)state;
        write_log(5);
        change_line(4, "word5", "worse");
        assert_verifies(1, "line 5 of ", "the head holds another hash", NULL);
        write_log(1);
        assert_verifies(1, "line 5 of ", "was edited", NULL);
}

static void an_edited_first_line_is_found(void **state)
{
        (void)state;
        write_log(3);
        change_line(0, "word1", "worse");
        assert_verifies(1, "line 1 of ", NULL);
        change_line(0, "\"prev\":\"00", "\"prev\":\"01");
        assert_verifies(2, "names one before it", NULL);
}

static void removed_lines_are_found(void **state)
{
        (void)state;
        for (size_t index = 0; index < 4; index++) {
                char wanted[64];

                write_log(5);
                drop_line(index);
                snprintf(wanted, sizeof(wanted), "line %zu of ", index + 1);
                assert_verifies(1, wanted, "is missing before it", NULL);
                unlink(log_path());
                unlink(head_path());
        }
}

static void removed_last_lines_are_found_and_stay_found(void **state)
{
        (void)state;
        write_log(5);
        drop_line(4);
        drop_line(3);
        assert_verifies(1, "the log ends at record 3, but 5 were written", NULL);
        write_log(1);
        assert_verifies(1, "line 4 of ", "records 4 to 5 are missing before it", NULL);
        write_log(3);
        assert_verifies(1, "line 4 of ", "7 records", NULL);
}

static void a_removed_log_is_found_and_stays_found(void **state)
{
        (void)state;
        write_log(5);
        unlink(log_path());
        assert_verifies(1, "the log ends at record 0, but 5 were written", NULL);
        write_log(2);
        assert_verifies(1, "records 1 to 5 are missing before it", NULL);
}

static void swapped_and_copied_lines_are_found(void **state)
{
        size_t count;
        char **lines, *line;

        (void)state;
        write_log(5);
        lines = read_lines(log_path(), &count);
        line = lines[1];
        lines[1] = lines[2];
        lines[2] = line;
        write_lines_to(log_path(), lines, count);
        assert_verifies(-1, "line 2 of ", "line 3 of ", "record 2 stands behind record 3", NULL);
        free(lines[1]);
        lines[1] = line;
        write_lines_to(log_path(), lines, count);
        lines[1] = NULL;
        free_lines(lines, count);
        assert_verifies(-1, "line 3 of ", NULL);
}

static void inserted_lines_are_found(void **state)
{
        size_t count;
        char **lines, *forged;

        (void)state;
        write_log(4);
        lines = read_lines(log_path(), &count);
        lines = realloc(lines, 5 * sizeof(*lines));
        memmove(lines + 3, lines + 2, 2 * sizeof(*lines));
        assert_true(
                asprintf(
                        &forged,
                        "{\"seq\":3,\"time\":\"2026-11-15T00:00:00.000000Z\",\"prev\":\"%s\",\"event\":\"planned\"}\n",
                        hash_of_line(lines[1])) > 0);
        lines[2] = forged;
        write_lines_to(log_path(), lines, 5);
        assert_verifies(1, "line 4 of ", "record 3 stands behind record 3", NULL);
        strcpy(lines[2], "no json\n");
        write_lines_to(log_path(), lines, 5);
        assert_verifies(1, "line 3 of ", "is no record", NULL);
        free_lines(lines, 5);
}

/* Forged with a right chain, and the head forgotten. */
static void a_rewritten_end_is_found_and_stays_found(void **state)
{
        size_t count;
        char **lines, *forged;

        (void)state;
        write_log(3);
        lines = read_lines(log_path(), &count);
        assert_true(
                asprintf(
                        &forged,
                        "{\"seq\":3,\"time\":\"2026-11-15T00:00:00.000000Z\",\"prev\":\"%s\",\"event\":\"planned\",\"x\":%0300d}\n",
                        hash_of_line(lines[1]), 1) > 0);
        free(lines[2]);
        lines[2] = forged;
        write_lines_to(log_path(), lines, count);
        free_lines(lines, count);
        assert_verifies(-1, "line 3 of ", NULL);
        write_log(1);
        assert_verifies(-1, "line 3 of ", NULL);
}

static void a_changed_head_is_found(void **state)
{
        struct audit_state head;
        char bytes[HEAD_SIZE], *text;
        size_t length;

        (void)state;
        write_log(3);
        text = read_text(head_path(), &length);
        assert_true(head_parse(text, length, &head));
        free(text);
        head.seq = 7;
        head_format(&head, bytes);
        write_text(head_path(), bytes, sizeof(bytes));
        assert_verifies(1, "ends at record 3, but 7 were written", NULL);
        head.seq = 3;
        head.hash[5] = head.hash[5] == '0' ? '1' : '0';
        head_format(&head, bytes);
        write_text(head_path(), bytes, sizeof(bytes));
        assert_verifies(1, "the head holds another hash", NULL);
        head.seq = 2;
        head_format(&head, bytes);
        write_text(head_path(), bytes, sizeof(bytes));
        assert_verifies(1, "line 2 of ", NULL);
        write_text(head_path(), "rubbish", 7);
        assert_verifies(1, "the head is damaged", NULL);
        unlink(head_path());
        assert_verifies(1, "the head is missing", NULL);
}

/* A writer that was killed before its first record. */
static void a_log_that_has_not_begun_is_whole(void **state)
{
        (void)state;
        make_file("log/audit.jsonl.head", "");
        chmod(head_path(), 0600);
        assert_verifies(0, "0 records in 0 files: the chain is whole", NULL);
        make_file("log/audit.jsonl", "");
        chmod(log_path(), 0600);
        assert_verifies(0, "0 records in 1 file: the chain is whole", NULL);
        unlink(head_path());
        assert_verifies(1, "the head is missing", NULL);
        make_file("log/audit.jsonl.head", "");
        chmod(head_path(), 0600);
        write_log(2);
        assert_verifies(0, "2 records in 1 file: the chain is whole", NULL);
        write_text(head_path(), "", 0);
        assert_verifies(1, "the head is empty", NULL);
}

static void a_removed_head_stays_found(void **state)
{
        (void)state;
        write_log(5);
        drop_line(4);
        unlink(head_path());
        write_log(2);
        assert_verifies(1, "line 5 of ", "the head was missing here", NULL);
        write_text(head_path(), "rubbish", 7);
        write_log(1);
        assert_verifies(2, "the head was damaged here", NULL);
}

/* ---- what a killed writer leaves ---------------------------------------------------------------------------- */

static void cut_log(long bytes)
{
        struct stat status;

        assert_int_equal(stat(log_path(), &status), 0);
        assert_int_equal(truncate(log_path(), status.st_size + bytes), 0);
}

static void a_head_that_is_behind_is_no_accusation(void **state)
{
        size_t length;
        char *head;

        (void)state;
        write_log(2);
        head = read_text(head_path(), &length);
        write_log(3);
        write_text(head_path(), head, length);
        free(head);
        assert_verifies(0, "note: the head is 3 behind", NULL);
        write_log(1);
        assert_verifies(0, "6 records in 1 file: the chain is whole", NULL);
}

/* Torn at every length, the last one lacking nothing but its newline. */
static void a_torn_line_is_kept_and_repaired(void **state)
{
        (void)state;
        write_log(1);
        for (int torn = 1; torn < 130; torn += torn < 8 ? 1 : 13) {
                size_t length, count;
                char *head = read_text(head_path(), &length), **lines;

                write_log(1);
                write_text(head_path(), head, length);
                cut_log(-torn);
                assert_verifies(0, "the next will repair it", NULL);
                write_log(2);
                assert_verifies(0, "it was repaired", "the chain is whole", NULL);
                lines = read_lines(log_path(), &count);
                assert_non_null(strstr(lines[count - 3], "\"event\":\"repaired\",\"torn_bytes\":"));
                free_lines(lines, count);
                /* And the one that repaired it was killed before it came to the head. */
                write_text(head_path(), head, length);
                free(head);
                assert_verifies(0, "behind", NULL);
                write_log(1);
                assert_verifies(0, "the chain is whole", NULL);
        }
}

static void a_repair_explains_only_what_it_names(void **state)
{
        size_t length;
        char *head;

        (void)state;
        write_log(1);
        head = read_text(head_path(), &length);
        write_log(1);
        write_text(head_path(), head, length);
        free(head);
        cut_log(-20);
        write_log(1);
        assert_verifies(0, NULL);
        change_line(1, "planned", "plonned");
        assert_verifies(1, "line 2 of ", "is no record", NULL);
}

/* A torn line that the head knows was whole once. */
static void half_a_line_taken_away_is_no_torn_line(void **state)
{
        (void)state;
        write_log(3);
        cut_log(-10);
        assert_verifies(1, "the log ends at record 2, but 3 were written", NULL);
        write_log(1);
        assert_verifies(1, "record 3 is missing before it", NULL);
}

/* As after a power cut: as long as it was, and empty from some place on. */
static void zeros_at_the_end_swallow_no_record(void **state)
{
        (void)state;
        write_log(4);
        cut_log(-400);
        cut_log(400);
        write_log(2);
        assert_verifies(-1, "it was repaired", "missing before it", NULL);
        /* The zeros were one line, and what was written since is there. */
        write_log(1);
        assert_verifies(1, NULL);
}

/* ---- rotation ------------------------------------------------------------------------------------------- */

static void the_chain_goes_on_through_all_files(void **state)
{
        struct audit_log *log = open_log(2000, 0);
        struct stat status;

        (void)state;
        for (int i = 0; i < 100; i++)
                append(log, AUDIT_PLANNED, "a-1", "word");
        audit_close(log);
        assert_int_equal(stat(at("log/audit.jsonl.8"), &status), 0);
        assert_true(status.st_size <= 2000);
        assert_verifies(0, "100 records in ", "the chain is whole", NULL);
        unlink(at("log/audit.jsonl.5"));
        assert_verifies(1, "audit.jsonl.4: records ", NULL);
}

static void older_files_are_dropped_and_not_missed(void **state)
{
        struct audit_log *log = open_log(2000, 3);
        struct stat status;

        (void)state;
        for (int i = 0; i < 100; i++)
                append(log, AUDIT_PLANNED, "a-1", "word");
        assert_int_equal(stat(at("log/audit.jsonl.3"), &status), 0);
        assert_true(stat(at("log/audit.jsonl.4"), &status) < 0);
        assert_verifies(0, "in 4 files: the chain is whole", NULL);
        /* But what rotation has not taken is. */
        unlink(at("log/audit.jsonl.3"));
        assert_verifies(1, "line 1 of ", "audit.jsonl.2: records ", NULL);
        audit_close(log);
}

/* Killed after the files were moved: a gap, and no file of the log's own name. */
static void a_rotation_that_was_cut_short_goes_on(void **state)
{
        struct audit_log *log = open_log(2000, 0);

        (void)state;
        for (int i = 0; i < 40; i++)
                append(log, AUDIT_PLANNED, "a-1", "word");
        assert_int_equal(rename(at("log/audit.jsonl.2"), at("log/audit.jsonl.20")), 0);
        assert_int_equal(rename(at("log/audit.jsonl.1"), at("log/audit.jsonl.10")), 0);
        assert_verifies(-1, NULL); /* another order of numbers is another order of records */
        assert_int_equal(rename(at("log/audit.jsonl.10"), at("log/audit.jsonl.1")), 0);
        assert_int_equal(rename(at("log/audit.jsonl.20"), at("log/audit.jsonl.2")), 0);
        assert_int_equal(rename(log_path(), at("log/audit.jsonl.0")), 0);
        for (int i = 9; i > 0; i--)
                rename(at("log/audit.jsonl.%d", i), at("log/audit.jsonl.%d", i + 1));
        assert_int_equal(rename(at("log/audit.jsonl.0"), at("log/audit.jsonl.1")), 0);
        assert_verifies(0, NULL);
        for (int i = 0; i < 40; i++)
                append(log, AUDIT_PLANNED, "a-1", "word");
        audit_close(log);
        assert_verifies(0, "80 records", NULL);
}

/* The first record of a new file is there, and the head does not know it. */
static void a_writer_killed_behind_a_rotation_loses_nothing(void **state)
{
        struct audit_log *log = open_log(2000, 0);
        struct audit_state head;
        char bytes[HEAD_SIZE], *text;
        size_t length, count = 0;

        (void)state;
        for (int i = 0; i < 40 && (count != 1 || i < 11); i++) {
                text = read_text(i ? head_path() : make_file("empty", ""), &length);
                if (i)
                        assert_true(head_parse(text, length, &head));
                free(text);
                append(log, AUDIT_PLANNED, "a-1", "word");
                free_lines(read_lines(log_path(), &count), count);
        }
        assert_int_equal(count, 1);
        head.size = 0;
        head_format(&head, bytes);
        write_text(head_path(), bytes, sizeof(bytes));
        assert_verifies(0, "note: the head is 1 behind", NULL);
        append(log, AUDIT_PLANNED, "a-1", "word");
        audit_close(log);
        assert_verifies(0, "the chain is whole", NULL);
}

/* Killed behind its record after lines had been taken away: the gap is found, and nothing else. */
static void a_writer_killed_behind_a_gap_loses_nothing(void **state)
{
        struct audit_state head;
        char bytes[HEAD_SIZE], *text;
        size_t length;

        (void)state;
        write_log(6);
        drop_line(5);
        drop_line(4);
        text = read_text(head_path(), &length);
        assert_true(head_parse(text, length, &head));
        free(text);
        free(read_text(log_path(), &length));
        write_log(1);
        /* As the killed one has left it: the size that it found, nothing of its record. */
        head.size = length;
        head_format(&head, bytes);
        write_text(head_path(), bytes, sizeof(bytes));
        write_log(2);
        assert_verifies(1, "line 5 of ", "records 5 to 6 are missing before it", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(records_are_lines_of_json_in_a_chain),
                TEST(every_field_is_said),
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
                TEST(somebody_elses_file_is_not_written_into),
                TEST(a_held_lock_is_waited_for_with_an_end),
                TEST(a_short_write_is_undone),
                TEST(an_edited_line_is_found),
                TEST(an_edited_last_line_is_found_and_stays_found),
                TEST(an_edited_first_line_is_found),
                TEST(removed_lines_are_found),
                TEST(removed_last_lines_are_found_and_stay_found),
                TEST(a_removed_log_is_found_and_stays_found),
                TEST(swapped_and_copied_lines_are_found),
                TEST(inserted_lines_are_found),
                TEST(a_rewritten_end_is_found_and_stays_found),
                TEST(a_changed_head_is_found),
                TEST(a_log_that_has_not_begun_is_whole),
                TEST(a_removed_head_stays_found),
                TEST(a_head_that_is_behind_is_no_accusation),
                TEST(a_torn_line_is_kept_and_repaired),
                TEST(a_repair_explains_only_what_it_names),
                TEST(half_a_line_taken_away_is_no_torn_line),
                TEST(zeros_at_the_end_swallow_no_record),
                TEST(the_chain_goes_on_through_all_files),
                TEST(older_files_are_dropped_and_not_missed),
                TEST(a_rotation_that_was_cut_short_goes_on),
                TEST(a_writer_killed_behind_a_rotation_loses_nothing),
                TEST(a_writer_killed_behind_a_gap_loses_nothing),
        };

        return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
