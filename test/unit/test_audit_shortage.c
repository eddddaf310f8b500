/* test_audit_shortage.c: lets every single allocation fail on the way of a record into the log, and of an answer out of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/read.h"
#include "audits.h"
#include "shortage.h"

static const char *where; /* borrowed: the log; at() would allocate as the core does */

static int open_and_append(abatis_error *err)
{
        static char long_word[6000];
        const char *const argv[] = {
                "curl", "-H", "token s3cr3t-value", "\xff s3cr3t-value", long_word, NULL
        };
        const char *const secrets[] = { "s3cr3t-value", "other-value", NULL };
        const struct audit_settings settings = { .path = where, .max_size = 20000, .keep = 2 };
        const struct audit_record record = { .event = AUDIT_PLANNED,
                                             .id = "a-1",
                                             .argv = argv,
                                             .cwd = "/x/s3cr3t-value",
                                             .secrets = secrets };
        struct audit_log *log;
        int r = audit_open(&settings, &log, err);

        memset(long_word, 'w', sizeof(long_word) - 1);
        if (r < 0)
                return r;
        r = audit_append(log, &record, err);
        audit_close(log);
        return r;
}

static void assert_no_secret(void)
{
        size_t length;
        char *text = read_text(where, &length);

        assert_null(memmem(text, length, "s3cr", 4));
        assert_null(memmem(text, length, "czNjcj", 6));
        free(text);
}

/* Through rotations and the removal of old parts; once more with a torn line before each. */
static void append_while_memory_is_short(bool is_torn)
{
        for (long n = 1;; n++) {
                abatis_error err = { .message = "" };
                struct stat before, after;
                int r;

                if (is_torn) {
                        assert_int_equal(stat(where, &before), 0);
                        if (truncate(where, before.st_size + 7) < 0)
                                fail();
                }
                has_failed = false;
                assert_int_equal(stat(where, &before), 0);
                countdown = n;
                r = open_and_append(&err);
                countdown = 0;
                assert_int_equal(stat(where, &after), 0);
                if (r < 0) {
                        assert_true(has_failed);
                        assert_int_equal(r, ABATIS_E_MEMORY);
                        /* Or rotation had come so far that the new file is begun, and empty. */
                        assert_true(after.st_size == before.st_size || !after.st_size);
                }
                assert_no_secret();
                if (!has_failed)
                        break;
        }
}

static void a_record_is_there_or_memory_is_short(void **state)
{
        (void)state;
        where = log_path();
        for (int i = 0; i < 6; i++) {
                assert_int_equal(open_and_append(NULL), 0);
                append_while_memory_is_short(false);
        }
        assert_verifies(0, "the chain is whole", NULL);
        append_while_memory_is_short(true);
        assert_verifies(0, "the chain is whole", NULL);
}

static int ask(int question, char **out, abatis_error *err)
{
        abatis_audit_query query = { .size = sizeof(query), .file = where, .command = "*" };
        int faults;

        switch (question) {
        case 0:
                return audit_verify(where, out, &faults, err);
        case 1:
                return audit_list(&query, ABATIS_TEXT, out, err);
        case 2:
                return audit_list(&query, ABATIS_JSON, out, err);
        case 3:
                return audit_stats(&query, ABATIS_TEXT, out, err);
        case 4:
                return audit_report(&query, out, err);
        case 5:
                return audit_sql(&query, out, err);
        }
        query.id = "a-2";
        return audit_show(&query, ABATIS_TEXT, out, err);
}

static void write_some(void)
{
        static const char *const ids[] = { "a-1", "a-2", "b-3" };
        struct audit_log *log = open_log(1500, 0);
        const char *const argv[] = { "/bin/sh", "-c", "a b", "\xff", NULL };

        for (int i = 0; i < 9; i++) {
                const struct audit_record record = { .event = (enum audit_event)(i / 3 == 1 ? 3 : i / 3),
                                                     .id = ids[i % 3],
                                                     .argv = argv,
                                                     .cwd = "/",
                                                     .error = "no",
                                                     .has_ended = i / 3 == 2,
                                                     .limit = "limits.cpu",
                                                     .duration_ms = i };

                assert_int_equal(audit_append(log, &record, NULL), 0);
        }
        audit_close(log);
}

static void an_answer_is_right_or_memory_is_short(void **state)
{
        (void)state;
        where = log_path();
        write_some();
        for (int question = 0; question < 7; question++) {
                char *complete;

                assert_int_equal(ask(question, &complete, NULL), 0);
                for (long n = 1;; n++) {
                        char untouched, *out = &untouched;
                        abatis_error err = { .message = "" };
                        int r;

                        has_failed = false;
                        countdown = n;
                        r = ask(question, &out, &err);
                        countdown = 0;
                        if (r < 0) {
                                assert_int_equal(r, ABATIS_E_MEMORY);
                                assert_true(has_failed);
                                assert_ptr_equal(out, &untouched);
                        } else {
                                /* The page says when it was made. */
                                if (question != 4 && strcmp(out, complete) != 0)
                                        fail_msg("question %d, allocation %ld: %s instead of %s", question, n,
                                                 out, complete);
                                assert_int_equal(strlen(out), strlen(complete));
                                free(out);
                        }
                        if (!has_failed)
                                break;
                }
                free(complete);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                TEST(a_record_is_there_or_memory_is_short),
                TEST(an_answer_is_right_or_memory_is_short),
        };

        return cmocka_run_group_tests_name("audit_shortage", tests, NULL, NULL);
}
