/* record.c: a record as a line of the log. */
#include "audit/record.h"

#include <string.h>

#include "audit/mask.h"
#include "base/json_text.h"
#include "base/sha256.h"
#include "plan/connection.h"

enum {
        ARGV_MAX = 4096,
        LIST_MAX = 8192,
        PATH_BYTES_MAX = 4096,
        WORDS_MAX = 1024,
        NAME_MAX_BYTES = 256,
        CONNECTIONS_MAX = 256,
        CONNECTION_BYTES_MAX = 4096,        /* about */
        CONNECTIONS_BYTES_MAX = 128 * 1024, /* with some room for the last: the line has twice as many */
};

/* Built on the way of a launch, so by hand: a tree of JSON values, or printf, would cost more than the write. */
struct builder {
        struct text *out;
        const char *const *secrets; /* borrowed */
        struct text scratch;        /* for mask_string() */
};

/* ---- strings -------------------------------------------------------------------------------------------- */

static void add_key(struct text *text, const char *key)
{
        text_add_bytes(text, ",\"", 2);
        text_add(text, key);
        text_add_bytes(text, "\":", 2);
}

/* How much of it is kept when there is room for `room` bytes: whole characters, if it consists of such. */
static size_t cut(struct masked masked, size_t room)
{
        if (masked.length <= room)
                return masked.length;
        return text_is_utf8(masked.bytes, masked.length) ? text_utf8_prefix(masked.bytes, room) : room;
}

static void add_string(struct builder *builder, const char *key, const char *string, size_t max)
{
        char hash[SHA256_TEXT_SIZE];
        struct masked masked;

        if (!string)
                return;
        masked = mask_string(string, builder->secrets, &builder->scratch);
        add_key(builder->out, key);
        json_text_string(builder->out, masked.bytes, cut(masked, max));
        if (masked.length <= max)
                return;
        sha256_text(masked.bytes, masked.length, hash);
        text_add(builder->out, ",\"");
        text_add(builder->out, key);
        text_add(builder->out, "_cut\":{\"bytes\":");
        json_text_number(builder->out, masked.length);
        text_add(builder->out, ",\"sha256\":\"");
        text_add(builder->out, hash);
        text_add(builder->out, "\"}");
}

/* ---- lists ---------------------------------------------------------------------------------------------- */

/* The hash is of what would have been written, so that nobody can try secrets against it. */
static void add_cut_list(struct builder *builder, const char *key, const char *const *list)
{
        char text[SHA256_TEXT_SIZE];
        struct sha256 hash;
        uint64_t bytes = 0, count = 0;

        sha256_init(&hash);
        for (; list[count]; count++) {
                struct masked masked = mask_string(list[count], builder->secrets, &builder->scratch);

                sha256_add(&hash, masked.bytes, masked.length);
                sha256_add(&hash, "", 1);
                bytes += masked.length + 1;
        }
        sha256_finish(&hash, text);
        text_add(builder->out, ",\"");
        text_add(builder->out, key);
        text_add(builder->out, "_cut\":{\"count\":");
        json_text_number(builder->out, count);
        text_add(builder->out, ",\"bytes\":");
        json_text_number(builder->out, bytes);
        text_add(builder->out, ",\"sha256\":\"");
        text_add(builder->out, text);
        text_add(builder->out, "\"}");
}

static void add_list(struct builder *builder, const char *key, const char *const *list, size_t max)
{
        size_t left = max;
        bool is_cut = false;

        if (!list)
                return;
        add_key(builder->out, key);
        text_add_bytes(builder->out, "[", 1);
        for (size_t i = 0; list[i] && !is_cut; i++) {
                struct masked masked = mask_string(list[i], builder->secrets, &builder->scratch);
                size_t kept = cut(masked, left);

                if (i)
                        text_add_bytes(builder->out, ",", 1);
                json_text_string(builder->out, masked.bytes, kept);
                is_cut = kept < masked.length || (kept + 1 > left && list[i + 1]);
                left -= kept + 1 < left ? kept + 1 : left;
        }
        text_add_bytes(builder->out, "]", 1);
        if (is_cut)
                add_cut_list(builder, key, list);
}

/* ---- how it ended --------------------------------------------------------------------------------------- */

static void add_signed(struct text *text, const char *key, int number)
{
        add_key(text, key);
        if (number < 0)
                text_add_bytes(text, "-", 1);
        json_text_number(text, number < 0 ? (uint64_t) - (int64_t)number : (uint64_t)number);
}

static void add_ending(struct text *text, const struct audit_record *record)
{
        if (record->signal)
                add_signed(text, "signal", record->signal);
        else
                add_signed(text, "exit_code", record->exit_code);
        add_key(text, "duration_ms");
        json_text_decimal(text, record->duration_ms);
        add_key(text, "timed_out");
        text_add(text, record->has_timed_out ? "true" : "false");
        if (record->is_cancelled) {
                add_key(text, "cancelled");
                text_add(text, "true");
        }
}

static void add_output(struct text *text, const char *key, const struct audit_output *output)
{
        if (!output->sha256)
                return;
        add_key(text, key);
        text_add(text, "{\"bytes\":");
        json_text_number(text, output->bytes);
        text_add(text, ",\"sha256\":");
        json_text_string(text, output->sha256, strnlen(output->sha256, NAME_MAX_BYTES));
        text_add(text, output->is_truncated ? ",\"truncated\":true}" : ",\"truncated\":false}");
}

/* ---- connections ---------------------------------------------------------------------------------------- */

static void add_words(struct builder *builder, const char *key, const char *words)
{
        add_string(builder, key, *words ? words : NULL, WORDS_MAX);
}

static void add_count(struct text *text, const char *key, uint64_t number)
{
        add_key(text, key);
        json_text_number(text, number);
}

/* A name, like all that the command has chosen, may hold a secret. */
static void add_connection(struct builder *builder, const struct relay_event *event)
{
        abatis_connection connection;
        char time[RECORD_TIME_SIZE];

        connection_describe(event, &connection);
        record_format_time(event->seconds * 1000000 + event->microseconds, time);
        text_add(builder->out, "{\"time\":\"");
        text_add(builder->out, time);
        text_add(builder->out, "\"");
        add_words(builder, "verdict", connection.verdict);
        add_words(builder, "direction", connection.direction);
        add_words(builder, "transport", connection.transport);
        add_words(builder, "name", connection.name);
        add_words(builder, "address", connection.address);
        if (connection.port)
                add_count(builder->out, "port", connection.port);
        add_count(builder->out, "sent", connection.sent);
        add_count(builder->out, "received", connection.received);
        add_words(builder, "rule", connection.rule);
        add_words(builder, "problem", connection.problem);
        if (connection.pid)
                add_count(builder->out, "pid", (uint64_t)connection.pid);
        add_words(builder, "program", connection.program);
        if (connection.count > 1)
                add_count(builder->out, "count", connection.count);
        text_add(builder->out, "}");
}

/* How much of the line one kind may have, those that were refused or the others, so that neither hides the other. */
struct share {
        size_t count, bytes;
};

static void make_shares(const struct connections *connections, struct share shares[2])
{
        size_t counts[2] = { 0, 0 };

        for (size_t i = 0; i < connections->count; i++)
                counts[connections->items[i].kind == RELAY_REFUSED]++;
        for (int i = 0; i < 2; i++) {
                const size_t others = counts[!i] < CONNECTIONS_MAX / 2 ? counts[!i] : CONNECTIONS_MAX / 2;

                shares[i].count = CONNECTIONS_MAX - others;
                shares[i].bytes =
                        CONNECTIONS_BYTES_MAX - (others < CONNECTIONS_BYTES_MAX / 2 / CONNECTION_BYTES_MAX
                                                         ? others * CONNECTION_BYTES_MAX
                                                         : CONNECTIONS_BYTES_MAX / 2);
        }
}

static void add_connections(struct builder *builder, const struct connections *connections)
{
        struct share shares[2];
        size_t said = 0;

        if (!connections || (!connections->count && !connections->omitted))
                return;
        add_key(builder->out, "connections");
        text_add(builder->out, "[");
        make_shares(connections, shares);
        for (size_t i = 0; i < connections->count; i++) {
                struct share *share = &shares[connections->items[i].kind == RELAY_REFUSED];
                const size_t start = builder->out->length;
                size_t length;

                if (!share->count || !share->bytes)
                        continue;
                text_add(builder->out, said++ ? "," : "");
                add_connection(builder, &connections->items[i]);
                length = builder->out->length - start;
                share->count--;
                share->bytes -= length < share->bytes ? length : share->bytes;
        }
        text_add(builder->out, "]");
        if (connections->count - said + connections->omitted)
                add_count(builder->out, "connections_omitted",
                          connections->count - said + connections->omitted);
}

/* ---- the line ------------------------------------------------------------------------------------------- */

static void add_digits(char **to, uint64_t number, int count)
{
        for (int i = count; i-- > 0; number /= 10)
                (*to)[i] = (char)('0' + number % 10);
        *to += count;
}

/* By the proleptic Gregorian calendar, with years that begin in March: a leap day comes last. */
void record_format_time(int64_t microseconds, char out[RECORD_TIME_SIZE])
{
        uint64_t of_day, days, era, year_of_era, day_of_year, month, time = (uint64_t)microseconds;

        of_day = time / 1000000 % 86400;
        days = time / 1000000 / 86400 + 719468;
        era = days / 146097;
        days %= 146097;
        year_of_era = (days - days / 1460 + days / 36524 - days / 146096) / 365;
        day_of_year = days - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        month = (5 * day_of_year + 2) / 153;
        add_digits(&out, year_of_era + era * 400 + (month >= 10), 4);
        *out++ = '-';
        add_digits(&out, month < 10 ? month + 3 : month - 9, 2);
        *out++ = '-';
        add_digits(&out, day_of_year - (153 * month + 2) / 5 + 1, 2);
        *out++ = 'T';
        add_digits(&out, of_day / 3600, 2);
        *out++ = ':';
        add_digits(&out, of_day / 60 % 60, 2);
        *out++ = ':';
        add_digits(&out, of_day % 60, 2);
        *out++ = '.';
        add_digits(&out, time % 1000000, 6);
        *out++ = 'Z';
        *out = '\0';
}

static void add_place(struct text *text, const struct record_place *place, const char *event)
{
        char time[RECORD_TIME_SIZE];

        record_format_time(place->microseconds, time);
        text_add(text, "{\"seq\":");
        json_text_number(text, place->seq);
        text_add(text, ",\"time\":\"");
        text_add(text, time);
        text_add(text, "\",\"prev\":\"");
        text_add(text, place->prev);
        text_add(text, "\",\"event\":\"");
        text_add(text, event);
        text_add(text, "\"");
}

static const char *event_name(enum audit_event event)
{
        switch (event) {
        case AUDIT_PLANNED:
                return "planned";
        case AUDIT_STARTED:
                return "started";
        case AUDIT_FINISHED:
                return "finished";
        case AUDIT_REFUSED:
                return "refused";
        }
        return "unknown";
}

void record_add(enum audit_event event, const struct text *members, const struct record_place *place,
                struct text *out)
{
        add_place(out, place, event_name(event));
        text_add_bytes(out, members->data, members->length);
}

void record_describe(const struct audit_record *record, struct text *out)
{
        struct builder builder = { .out = out, .secrets = record->secrets };
        struct builder plain = { .out = out };

        add_string(&plain, "id", record->id, NAME_MAX_BYTES);
        add_string(&plain, "policy", record->policy, NAME_MAX_BYTES);
        add_list(&builder, "argv", record->argv, ARGV_MAX);
        add_string(&builder, "cwd", record->cwd, PATH_BYTES_MAX);
        add_string(&builder, "context", record->context, WORDS_MAX);
        add_string(&plain, "backend", record->backend, NAME_MAX_BYTES);
        add_list(&plain, "enforced", record->enforced, LIST_MAX);
        add_list(&plain, "not_enforced", record->not_enforced, LIST_MAX);
        if (record->has_ended)
                add_ending(out, record);
        add_string(&plain, "limit", record->limit, NAME_MAX_BYTES);
        add_output(out, "stdout", &record->output[0]);
        add_output(out, "stderr", &record->output[1]);
        add_string(&builder, "error", record->error, WORDS_MAX);
        add_connections(&builder, record->connections);
        add_list(&builder, "set_aside", record->set_aside, LIST_MAX);
        text_add(out, "}");
        out->has_failed |= builder.scratch.has_failed;
        text_done(&builder.scratch);
}

void record_add_repair(const struct record_repair *repair, const struct record_place *place, struct text *out)
{
        add_place(out, place, "repaired");
        if (repair->torn_bytes) {
                add_key(out, "torn_bytes");
                json_text_number(out, repair->torn_bytes);
                add_key(out, "torn_sha256");
                json_text_string(out, repair->torn_sha256, strlen(repair->torn_sha256));
        }
        if (repair->head) {
                add_key(out, "head");
                json_text_string(out, repair->head, strlen(repair->head));
        }
        text_add(out, "}");
}

/* ---- and back ------------------------------------------------------------------------------------------- */

bool record_parse_place(const char *line, size_t length, uint64_t *seq, const char **prev)
{
        static const char first[] = "{\"seq\":", second[] = ",\"time\":\"", third[] = "\",\"prev\":\"",
                          fourth[] = "\",\"event\":\"";
        const char *at = line + sizeof(first) - 1, *end = line + length;
        uint64_t number = 0;

        if (length < sizeof(first) || memcmp(line, first, sizeof(first) - 1) || *at < '1' || *at > '9')
                return false;
        for (; at < end && *at >= '0' && *at <= '9'; at++)
                if (__builtin_mul_overflow(number, 10, &number) ||
                    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number) || number >= INT64_MAX)
                        return false;
        if ((size_t)(end - at) < sizeof(second) + RECORD_TIME_SIZE + sizeof(third) + SHA256_TEXT_SIZE +
                                         sizeof(fourth) - 5 ||
            memcmp(at, second, sizeof(second) - 1))
                return false;
        at += sizeof(second) - 1 + RECORD_TIME_SIZE - 1;
        if (memcmp(at, third, sizeof(third) - 1))
                return false;
        at += sizeof(third) - 1;
        if (!sha256_is_text(at) || memcmp(at + SHA256_TEXT_SIZE - 1, fourth, sizeof(fourth) - 1) ||
            end[-1] != '}')
                return false;
        *seq = number;
        *prev = at;
        return true;
}
