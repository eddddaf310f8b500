/* test_audit_mask.c: no secret is written down, wherever it stands. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/mask.h"
#include "audits.h"

static void assert_masked(const char *string, const char *wanted, ...)
{
        const char *secrets[8];
        struct text scratch = { 0 };
        struct masked masked;
        va_list arguments;
        int count = 0;

        va_start(arguments, wanted);
        while ((secrets[count] = va_arg(arguments, const char *)))
                count++;
        va_end(arguments);
        masked = mask_string(string, secrets, &scratch);
        assert_int_equal(masked.length, strlen(wanted));
        assert_memory_equal(masked.bytes, wanted, masked.length);
        text_done(&scratch);
}

static void every_occurrence_is_masked(void **state)
{
        (void)state;
        assert_masked("plain", "plain", NULL);
        assert_masked("", "", "secret", NULL);
        assert_masked("secret", "***", "secret", NULL);
        assert_masked("--token=secret", "--token=***", "secret", NULL);
        assert_masked("a secret, a secret and other", "a ***, a *** and ***", "secret", "other", NULL);
        assert_masked("a\nsecret\n", "a\n***\n", "secret", NULL);
        assert_masked("secre", "secre", "secret", NULL);
}

static void what_is_too_short_to_be_one_is_left(void **state)
{
        (void)state;
        assert_masked("abc", "abc", "abc", "", NULL);
        assert_masked("abcd", "***", "abcd", NULL);
}

static void of_two_that_overlap_nothing_stays(void **state)
{
        (void)state;
        assert_masked("<abcdefgh>", "<***>", "abcd", "abcdefgh", NULL);
        assert_masked("<abcdefgh>", "<***>", "abcdefgh", "abcd", NULL);
        assert_masked("<abcdefgh>", "<***>", "abcde", "defgh", NULL);
        assert_masked("<abcdefgh>", "<***>", "defgh", "abcde", "cdef", NULL);
        assert_masked("<abcdefgh>", "<***>", "abcd", "efgh", NULL);
        assert_masked("aaaaaaaaab", "***b", "aaaa", NULL);
}

/* A second for a megabyte would be a way to hold up every launch. */
static void a_text_full_of_secrets_costs_no_more_than_its_length(void **state)
{
        enum { LENGTH = 1 << 20 };
        const char *const secrets[] = { "aaaa", "aaab", "baaa", "cccccccc", NULL };
        char *string = malloc(LENGTH + 1);
        struct text scratch = { 0 };
        struct masked masked;
        struct timespec begin, end;

        (void)state;
        assert_non_null(string);
        for (int i = 0; i < LENGTH; i++)
                string[i] = i % 9 ? 'a' : 'x';
        string[LENGTH] = '\0';
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        masked = mask_string(string, secrets, &scratch);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        assert_true(end.tv_sec - begin.tv_sec < 30);
        assert_null(memmem(masked.bytes, masked.length, "aaaa", 4));
        text_done(&scratch);
        free(string);
}

static void a_record_holds_no_secret_anywhere(void **state)
{
        enum { LONG = 4093 };
        static char padding[LONG + 16];
        const char *const secrets[] = { "s3cr3t-value", "other\"quoted", NULL };
        const char *const argv[] = { "curl",  "-H", "Authorization: s3cr3t-value", "\xff s3cr3t-value",
                                     padding, NULL };
        const struct audit_record record = {
                .event = AUDIT_REFUSED,
                .argv = argv,
                .cwd = "/srv/s3cr3t-value/x",
                .context = "turn s3cr3t-value",
                .error = "no 's3cr3t-value' nor other\"quoted",
                .secrets = secrets,
        };
        struct audit_log *log = open_log(0, 0);
        char *text;

        (void)state;
        /* One that would be cut in two where the list is cut. */
        memset(padding, 'x', LONG);
        memcpy(padding + LONG - 60, "s3cr3t-value", 12);
        assert_int_equal(audit_append(log, &record, NULL), 0);
        audit_close(log);
        text = read_text(log_path(), NULL);
        assert_null(strstr(text, "s3cr"));
        assert_null(strstr(text, "czNjcj")); /* as base64 would say it */
        assert_null(strstr(text, "quoted"));
        assert_non_null(strstr(text, "/srv/***/x"));
        assert_non_null(strstr(text, "turn ***"));
        assert_non_null(strstr(text, "no '***' nor ***"));
        free(text);
        assert_verifies(0, NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_occurrence_is_masked),
                cmocka_unit_test(what_is_too_short_to_be_one_is_left),
                cmocka_unit_test(of_two_that_overlap_nothing_stays),
                cmocka_unit_test(a_text_full_of_secrets_costs_no_more_than_its_length),
                TEST(a_record_holds_no_secret_anywhere),
        };

        return cmocka_run_group_tests_name("audit_mask", tests, NULL, NULL);
}
