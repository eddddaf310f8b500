/* test_audit_chain.c: the audit log: every way of tampering with its chain, repair and rotation. */
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
        char bytes[HEAD_SIZE], *text, **lines;
        size_t length, count = 0;

        (void)state;
        for (int i = 0; i < 40 && (count != 1 || i < 11); i++) {
                text = read_text(i ? head_path() : make_file("empty", ""), &length);
                if (i)
                        assert_true(head_parse(text, length, &head));
                free(text);
                append(log, AUDIT_PLANNED, "a-1", "word");
                lines = read_lines(log_path(), &count);
                free_lines(lines, count);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
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

        return cmocka_run_group_tests_name("audit_chain", tests, NULL, NULL);
}
