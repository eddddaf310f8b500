/* test_audit_read.c: what is read from audit logs, also from those that somebody has made to be read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/jobs.h"
#include "audit/read.h"
#include "audit/record.h"
#include "audits.h"

/* ---- times ---------------------------------------------------------------------------------------------- */

static void times_are_read_as_people_write_them(void **state)
{
        static const struct {
                const char *text;
                int64_t microseconds;
        } times[] = {
                { "1970-01-01T00:00:00Z", 0 },
                { "1970-01-01T00:00:00.000001Z", 1 },
                { "1970-01-02", INT64_C(86400000000) },
                { "2000-02-29T23:59:59.5Z", INT64_C(951868799500000) },
                { "2026-11-15 10:00:00", INT64_C(1794736800000000) },
                { "2026-11-15T12:30:00+02:30", INT64_C(1794736800000000) },
                { "2026-11-15T09:00:00-01:00", INT64_C(1794736800000000) },
        };
        static const char *const wrong[] = { "",
                                             "now",
                                             "2026",
                                             "2026-13-01",
                                             "2026-11-32",
                                             "2026-11-15T",
                                             "2026-11-15T10",
                                             "2026-11-15T25:00:00Z",
                                             "2026-11-15T10:00:00Zx",
                                             "2026-11-15T10:00:00+1",
                                             "1969-12-31",
                                             "2026/11/15",
                                             "+026-11-15" };

        (void)state;
        for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
                int64_t microseconds = -1;

                assert_true(time_parse(times[i].text, &microseconds));
                assert_int_equal(microseconds, times[i].microseconds);
        }
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                int64_t untouched = 7;

                if (time_parse(wrong[i], &untouched))
                        fail_msg("taken: %s", wrong[i]);
                assert_int_equal(untouched, 7);
        }
}

static void every_time_is_read_as_it_was_written(void **state)
{
        (void)state;
        for (int64_t day = 0; day < 60000; day += 17) {
                int64_t time = (day * 86400 + day % 86400) * 1000000 + day, read;
                char text[RECORD_TIME_SIZE];

                record_format_time(time, text);
                assert_true(time_parse(text, &read));
                assert_int_equal(read, time);
        }
}

/* ---- jobs ----------------------------------------------------------------------------------------------- */

static void finish(struct audit_log *log, const char *id, int code, double duration, const char *limit)
{
        const struct audit_record record = { .event = AUDIT_FINISHED,
                                             .id = id,
                                             .has_ended = true,
                                             .exit_code = code,
                                             .signal = limit ? 9 : 0,
                                             .duration_ms = duration,
                                             .limit = limit };

        assert_int_equal(audit_append(log, &record, NULL), 0);
}

/* Events of five jobs, one after the other and one into the other. */
static void write_jobs(void)
{
        struct audit_log *log = open_log(1500, 0);
        const char *const argv[] = { "/usr/bin/curl", "x y", NULL };
        const struct audit_record refused = {
                .event = AUDIT_REFUSED, .id = "c-3", .argv = argv, .error = "not listed"
        };

        append(log, AUDIT_PLANNED, "a-1", "make");
        append(log, AUDIT_PLANNED, "b-2", "make");
        append(log, AUDIT_STARTED, "b-2", "make");
        finish(log, "b-2", 2, 20, NULL);
        finish(log, "a-1", 0, 10, NULL);
        assert_int_equal(audit_append(log, &refused, NULL), 0);
        append(log, AUDIT_PLANNED, "d-4", "sleep");
        append(log, AUDIT_PLANNED, "e-5", "cc");
        finish(log, "e-5", 0, 30, "limits.memory");
        audit_close(log);
}

static char *ask(int (*question)(const abatis_audit_query *, abatis_format, char **, abatis_error *),
                 abatis_audit_query query, abatis_format format)
{
        abatis_error err;
        char *out = NULL;

        query.size = sizeof(query);
        query.file = log_path();
        if (question(&query, format, &out, &err) < 0)
                fail_msg("%s", err.message);
        return out;
}

/* The ids of what is listed, in order. */
static void assert_lists(abatis_audit_query query, const char *wanted)
{
        char *text = ask(audit_list, query, ABATIS_JSON), ids[256] = "";

        for (char *at = text, *end; *at; at = end + 1) {
                json_t *job;

                end = strchr(at, '\n');
                job = json_loadb(at, (size_t)(end - at), 0, NULL);
                assert_non_null(job);
                strncat(ids, json_string_value(json_object_get(job, "id")), 100);
                strcat(ids, " ");
                json_decref(job);
        }
        assert_string_equal(ids, wanted);
        free(text);
}

static void events_are_joined_to_jobs_through_all_files(void **state)
{
        (void)state;
        write_jobs();
        assert_int_equal(access(at("log/audit.jsonl.1"), F_OK), 0);
        assert_lists((abatis_audit_query){ 0 }, "a-1 b-2 c-3 d-4 e-5 ");
}

static void filters_select(void **state)
{
        (void)state;
        write_jobs();
        assert_lists((abatis_audit_query){ .verdict = "ok" }, "a-1 ");
        assert_lists((abatis_audit_query){ .verdict = "failed" }, "b-2 ");
        assert_lists((abatis_audit_query){ .verdict = "refused" }, "c-3 ");
        assert_lists((abatis_audit_query){ .verdict = "running" }, "d-4 ");
        assert_lists((abatis_audit_query){ .verdict = "limit" }, "e-5 ");
        assert_lists((abatis_audit_query){ .verdict = "timeout" }, "");
        assert_lists((abatis_audit_query){ .command = "make" }, "a-1 b-2 ");
        assert_lists((abatis_audit_query){ .command = "curl" }, "c-3 ");
        assert_lists((abatis_audit_query){ .command = "/usr/*" }, "c-3 ");
        assert_lists((abatis_audit_query){ .command = "*'x y'" }, "c-3 ");
        assert_lists((abatis_audit_query){ .limit = 2 }, "d-4 e-5 ");
        assert_lists((abatis_audit_query){ .limit = 1, .command = "make" }, "b-2 ");
        assert_lists((abatis_audit_query){ .since = "1h" }, "a-1 b-2 c-3 d-4 e-5 ");
        assert_lists((abatis_audit_query){ .until = "1h" }, "");
        assert_lists((abatis_audit_query){ .since = "2099-01-01" }, "");
        assert_lists((abatis_audit_query){ .since = "99999d", .until = "2099-01-01T00:00:00Z" },
                     "a-1 b-2 c-3 d-4 e-5 ");
        assert_lists((abatis_audit_query){ .id = "b" }, "b-2 ");
}

static void a_wrong_question_is_refused(void **state)
{
        static const abatis_audit_query wrong[] = { { .since = "soon" },  { .since = "0s" },
                                                    { .until = "1" },     { .since = "123456d" },
                                                    { .verdict = "bad" }, { .file = "/nowhere/at/all" } };

        (void)state;
        write_jobs();
        for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
                abatis_audit_query query = wrong[i];
                char untouched, *out = &untouched;
                abatis_error err = { 0 };

                query.size = sizeof(query);
                if (!query.file)
                        query.file = log_path();
                assert_true(abatis_audit_list(&query, ABATIS_TEXT, &out, &err) < 0);
                assert_ptr_equal(out, &untouched);
                assert_true(*err.message);
                query.size = 0;
                assert_int_equal(abatis_audit_stats(&query, ABATIS_TEXT, &out, NULL), ABATIS_E_INVALID);
        }
}

static void stats_count_and_measure(void **state)
{
        char *text;
        json_t *root, *duration;

        (void)state;
        write_jobs();
        text = ask(audit_stats, (abatis_audit_query){ 0 }, ABATIS_JSON);
        root = json_loads(text, 0, NULL);
        duration = json_object_get(root, "duration_ms");
        assert_int_equal(json_integer_value(json_object_get(root, "jobs")), 5);
        assert_true(json_number_value(json_object_get(duration, "p50")) == 20);
        assert_true(json_number_value(json_object_get(duration, "p99")) == 30);
        assert_int_equal(json_array_size(json_object_get(root, "slowest")), 3);
        json_decref(root);
        free(text);
        text = ask(audit_stats, (abatis_audit_query){ .verdict = "timeout" }, ABATIS_TEXT);
        assert_string_equal(text, "0 jobs\n");
        free(text);
}

static void one_job_is_shown_by_the_beginning_of_its_id(void **state)
{
        abatis_audit_query query = { .size = sizeof(query), .file = log_path() };
        struct audit_log *log;
        abatis_error err;
        char *text;

        (void)state;
        write_jobs();
        text = ask(audit_show, (abatis_audit_query){ .id = "b" }, ABATIS_JSON);
        assert_int_equal(strncmp(text, "{\"seq\":2,", 9), 0);
        assert_non_null(strstr(text, "\"event\":\"finished\""));
        assert_null(strstr(text, "a-1"));
        free(text);
        log = open_log(1500, 0);
        append(log, AUDIT_PLANNED, "b-9", "make");
        audit_close(log);
        query.id = "b";
        assert_int_equal(audit_show(&query, ABATIS_TEXT, &text, &err), ABATIS_E_INVALID);
        assert_string_equal(err.message, "2 jobs of the audit log begin with 'b'");
        query.id = "x";
        assert_int_equal(audit_show(&query, ABATIS_TEXT, &text, &err), ABATIS_E_INVALID);
}

/* ---- made to be read ------------------------------------------------------------------------------------ */

static void answer_everything(void)
{
        static int (*const questions[])(const abatis_audit_query *, abatis_format, char **,
                                        abatis_error *) = { audit_list, audit_stats };
        abatis_audit_query query = { .size = sizeof(query), .file = log_path() };
        char *out = NULL;
        int faults;

        for (int i = 0; i < 2; i++) {
                free(ask(questions[i], query, ABATIS_TEXT));
                free(ask(questions[i], query, ABATIS_JSON));
        }
        assert_int_equal(audit_report(&query, &out, NULL), 0);
        free(out);
        assert_int_equal(audit_sql(&query, &out, NULL), 0);
        free(out);
        assert_int_equal(audit_verify(log_path(), &out, &faults, NULL), 0);
        free(out);
}

static void a_line_that_is_no_record_is_named(void **state)
{
        char *text;
        int fd;

        (void)state;
        write_log(2);
        fd = open(log_path(), O_WRONLY | O_APPEND | O_CLOEXEC);
        assert_true(write(fd, "{\"event\":\n\n[]\n", 14) == 14);
        close(fd);
        text = ask(audit_list, (abatis_audit_query){ 0 }, ABATIS_TEXT);
        assert_non_null(strstr(text, "line 3 of "));
        assert_non_null(strstr(text, "line 4 of "));
        assert_non_null(strstr(text, "line 5 of "));
        assert_null(strstr(text, "line 2 of "));
        free(text);
        assert_verifies(3, "line 3 of ", "line 4 of ", "line 5 of ", NULL);
}

static void hostile_records_are_read_without_harm(void **state)
{
        static const char *const lines[] = {
                "{\"event\":\"finished\",\"time\":\"2026-11-15\",\"id\":\"\",\"argv\":[],\"exit_code\":1e400}",
                "{\"event\":\"finished\",\"time\":\"9999-12-31T23:59:59Z\",\"id\":\"x\",\"argv\":[1,null,{\"base64\":3},[]],"
                "\"exit_code\":99999999999999,\"duration_ms\":-5}",
                "{\"event\":\"planned\",\"time\":\"1970-01-01\",\"id\":\"x\",\"argv\":{},\"cwd\":[],\"error\":{}}",
                "{\"event\":\"finished\",\"time\":\"2026-11-15\",\"id\":\"y\",\"signal\":-9223372036854775808,"
                "\"duration_ms\":1e308,\"stdout\":{\"bytes\":-1},\"stderr\":7}",
                "{\"event\":\"refused\",\"time\":\"2026-11-15\",\"id\":\"z\",\"error\":\"\"}",
                "{\"event\":\"repaired\",\"time\":\"2026-11-15\",\"torn_bytes\":-1,\"torn_sha256\":7}",
                "{\"seq\":18446744073709551615,\"time\":\"\",\"prev\":\"\",\"event\":\"\"}",
        };
        char all[4096] = "";

        (void)state;
        for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
                strcat(all, lines[i]);
                strcat(all, "\n");
        }
        make_dir("log");
        write_text(log_path(), all, strlen(all));
        answer_everything();
}

static void binary_and_endless_lines_are_read_without_harm(void **state)
{
        enum { LENGTH = 3 << 20 };
        unsigned char *bytes = malloc(LENGTH);
        unsigned random = 4343;

        (void)state;
        assert_non_null(bytes);
        for (int i = 0; i < LENGTH; i++) {
                random = random * 1103515245 + 12345;
                bytes[i] = (unsigned char)(random >> 16);
        }
        make_dir("log");
        write_text(log_path(), (char *)bytes, LENGTH / 8);
        answer_everything();
        memset(bytes, '{', LENGTH);
        write_text(log_path(), (char *)bytes, LENGTH);
        answer_everything();
        memset(bytes, '\n', LENGTH / 8);
        write_text(log_path(), (char *)bytes, LENGTH / 8);
        answer_everything();
        free(bytes);
        /* Of a gigabyte that is not there, nothing is kept. */
        write_text(log_path(), "", 0);
        assert_int_equal(truncate(log_path(), 64 << 20), 0);
        assert_verifies(-1, NULL);
}

static void an_empty_log_is_answered(void **state)
{
        (void)state;
        make_dir("log");
        write_text(log_path(), "", 0);
        answer_everything();
}

static void a_page_holds_no_markup_of_others(void **state)
{
        static const char *const evil = "<script>alert(1)</script>\"'>&";
        const char *const argv[] = { evil, evil, NULL };
        const struct audit_record records[] = {
                { .event = AUDIT_REFUSED, .id = evil, .argv = argv, .error = evil },
                { .event = AUDIT_FINISHED, .id = "b", .argv = argv, .has_ended = true, .limit = evil },
        };
        abatis_audit_query query = { .size = sizeof(query), .file = log_path() };
        struct audit_log *log = open_log(0, 0);
        char *page;

        (void)state;
        for (int i = 0; i < 2; i++)
                assert_int_equal(audit_append(log, &records[i], NULL), 0);
        audit_close(log);
        assert_int_equal(audit_report(&query, &page, NULL), 0);
        assert_null(strstr(page, "<script"));
        assert_null(strstr(page, "\"'>&"));
        assert_non_null(strstr(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert_null(strstr(page, "http://"));
        assert_null(strstr(page, "https://"));
        free(page);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(times_are_read_as_people_write_them),
                cmocka_unit_test(every_time_is_read_as_it_was_written),
                TEST(events_are_joined_to_jobs_through_all_files),
                TEST(filters_select),
                TEST(a_wrong_question_is_refused),
                TEST(stats_count_and_measure),
                TEST(one_job_is_shown_by_the_beginning_of_its_id),
                TEST(a_line_that_is_no_record_is_named),
                TEST(hostile_records_are_read_without_harm),
                TEST(binary_and_endless_lines_are_read_without_harm),
                TEST(an_empty_log_is_answered),
                TEST(a_page_holds_no_markup_of_others),
        };

        return cmocka_run_group_tests_name("audit_read", tests, NULL, NULL);
}
