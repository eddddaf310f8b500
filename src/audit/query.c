/* query.c: which jobs somebody asks for: by time, command, verdict and number. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <string.h>
#include <time.h>

#include "audit/jobs.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/units.h"

/* ---- times ---------------------------------------------------------------------------------------------- */

/* Exactly `count` digits. */
static bool take_digits(const char **from, int count, int *out)
{
        int number = 0;

        for (int i = 0; i < count; i++) {
                char digit = *(*from)++;

                if (digit < '0' || digit > '9')
                        return false;
                number = number * 10 + (digit - '0');
        }
        *out = number;
        return true;
}

static int64_t days_before(int year, int month, int day)
{
        int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;

        return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool take_clock(const char **from, int64_t *microseconds)
{
        int hour, minute, second;
        int64_t scale = 100000;

        if (!take_digits(from, 2, &hour) || *(*from)++ != ':' || !take_digits(from, 2, &minute) ||
            *(*from)++ != ':' || !take_digits(from, 2, &second) || hour > 23 || minute > 59 || second > 60)
                return false;
        *microseconds += ((int64_t)hour * 3600 + minute * 60 + second) * 1000000;
        if (**from != '.')
                return true;
        for ((*from)++; **from >= '0' && **from <= '9'; (*from)++, scale /= 10)
                *microseconds += (**from - '0') * scale;
        return true;
}

static bool take_zone(const char **from, int64_t *microseconds)
{
        int sign = **from == '-' ? -1 : 1, hours, minutes;

        if (**from == 'Z' || **from == 'z') {
                (*from)++;
                return true;
        }
        if (**from != '+' && **from != '-')
                return !**from;
        (*from)++;
        if (!take_digits(from, 2, &hours) || *(*from)++ != ':' || !take_digits(from, 2, &minutes) ||
            hours > 23 || minutes > 59)
                return false;
        *microseconds -= sign * ((int64_t)hours * 60 + minutes) * 60 * 1000000;
        return true;
}

bool time_parse(const char *text, int64_t *out)
{
        int year, month, day;
        int64_t microseconds;

        if (strlen(text) < 10 || !take_digits(&text, 4, &year) || *text++ != '-' ||
            !take_digits(&text, 2, &month) || *text++ != '-' || !take_digits(&text, 2, &day) || year < 1970 ||
            month < 1 || month > 12 || day < 1 || day > 31)
                return false;
        microseconds = days_before(year, month, day) * 86400 * 1000000;
        if (*text == 'T' || *text == 't' || *text == ' ') {
                text++;
                if (strlen(text) < 8 || !take_clock(&text, &microseconds) || !take_zone(&text, &microseconds))
                        return false;
        }
        if (*text)
                return false;
        *out = microseconds;
        return true;
}

/* "7d"; longer than a hundred years is nobody's question. */
static bool parse_days(const char *text, uint64_t *milliseconds)
{
        size_t digits = strspn(text, "0123456789");
        int days;

        if (!digits || digits > 5 || strcmp(text + digits, "d") || !take_digits(&text, (int)digits, &days))
                return false;
        *milliseconds = (uint64_t)days * 86400 * 1000;
        return true;
}

static int parse_moment(const char *text, const char *what, int64_t *out, abatis_error *err)
{
        struct timespec now;
        uint64_t ago;

        if (time_parse(text, out))
                return 0;
        if (!parse_days(text, &ago) && units_parse_duration(text, &ago, NULL) < 0)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "%s '%s' is neither a time, 2026-11-15T10:00:00Z or 2026-11-15, nor so long ago, 30m, 2h or 7d",
                        what, text);
        clock_gettime(CLOCK_REALTIME, &now);
        if (ago / 1000 > (uint64_t)now.tv_sec)
                ago = (uint64_t)now.tv_sec * 1000;
        *out = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 - (int64_t)ago * 1000;
        return 0;
}

/* ---- selecting ------------------------------------------------------------------------------------------ */

static int parse_verdict(const char *word, enum audit_verdict *out, abatis_error *err)
{
        const char *names[VERDICT_COUNT + 1] = { NULL }, *nearest;

        for (int i = 0; i < VERDICT_COUNT; i++) {
                names[i] = verdict_name((enum audit_verdict)i);
                if (!strcmp(word, names[i])) {
                        *out = (enum audit_verdict)i;
                        return 0;
                }
        }
        nearest = abatis_suggest(word, names);
        return error_set(
                err, ABATIS_E_INVALID,
                "unknown verdict '%s'%s%s%s; there are ok, failed, refused, timeout, limit and running", word,
                nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static bool matches_command(const char *pattern, const struct audit_job *job)
{
        const char *whole = json_string_value(json_array_get(job->argv, 0));

        return job->command && (!fnmatch(pattern, job->program, 0) ||
                                (whole && !fnmatch(pattern, whole, 0)) || !fnmatch(pattern, job->command, 0));
}

int jobs_select(struct audit_jobs *jobs, const abatis_audit_query *query, abatis_error *err)
{
        int64_t since = INT64_MIN, until = INT64_MAX;
        enum audit_verdict verdict = VERDICT_COUNT;
        size_t kept = 0, skipped;
        int r = query->since ? parse_moment(query->since, "since", &since, err) : 0;

        if (!r && query->until)
                r = parse_moment(query->until, "until", &until, err);
        if (!r && query->verdict)
                r = parse_verdict(query->verdict, &verdict, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < jobs->count; i++) {
                struct audit_job *job = &jobs->items[i];

                if (job->time < since || job->time > until || (query->verdict && job->verdict != verdict) ||
                    (query->command && !matches_command(query->command, job)))
                        job_done(job);
                else
                        jobs->items[kept++] = *job;
        }
        jobs->count = kept;
        skipped = query->limit && query->limit < kept ? kept - (size_t)query->limit : 0;
        for (size_t i = 0; i < skipped; i++)
                job_done(&jobs->items[i]);
        if (skipped)
                memmove(jobs->items, jobs->items + skipped, (kept - skipped) * sizeof(*jobs->items));
        jobs->count -= skipped;
        return 0;
}

/* ---- for people ----------------------------------------------------------------------------------------- */

void add_printable(struct text *text, const char *bytes, size_t length)
{
        for (size_t i = 0; i < length;) {
                uint32_t character;
                size_t taken = text_character(bytes + i, length - i, &character);

                /* U+2028 to U+202e and U+2066 to U+2069 end lines or turn the order of what follows. */
                if (character < 0x20 || (character >= 0x7f && character < 0xa0) || character >= 0x110000 ||
                    (character >= 0x2028 && character <= 0x202e) ||
                    (character >= 0x2066 && character <= 0x2069))
                        text_add(text, "?");
                else
                        text_add_bytes(text, bytes + i, taken);
                i += taken;
        }
}

void add_duration(struct text *text, double milliseconds)
{
        if (milliseconds < 1)
                text_addf(text, "%.0f µs", milliseconds * 1000);
        else if (milliseconds < 1000)
                text_addf(text, "%.*f ms", milliseconds < 100 ? 1 : 0, milliseconds);
        else if (milliseconds < 60000)
                text_addf(text, "%.1f s", milliseconds / 1000);
        else
                text_addf(text, "%.0f min %02d s", (double)(int64_t)(milliseconds / 60000),
                          (int)(milliseconds / 1000 - 60 * (double)(int64_t)(milliseconds / 60000)));
}

void add_time(struct text *text, int64_t microseconds)
{
        char time[RECORD_TIME_SIZE];

        record_format_time(microseconds, time);
        time[10] = ' ';
        text_add_bytes(text, time, 19);
}
