/* verify.c: finds where a log was edited, where lines are missing, and where they stand in another order. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/read.h"
#include "audit/reader.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

enum { FAULTS_SAID = 100 };

/* A line that was looked at. */
struct seen {
        uint64_t seq; /* 0: none yet */
        uint64_t length, number;
        const char *file; /* borrowed from the snapshot */
        char hash[SHA256_TEXT_SIZE];
};

struct verifier {
        const struct snapshot *snapshot; /* borrowed */
        struct text out;
        int faults;
        uint64_t records;
        bool has_lines;
        struct seen last, before; /* the last record, and the one before that */
        struct seen pending; /* a line that is no record, until the next one explains it; file NULL: none */
        struct seen at_head; /* the record that the head names */
};

__attribute__((format(printf, 3, 4))) static void accuse(struct verifier *verifier, const struct seen *at,
                                                         const char *format, ...)
{
        char *words = NULL;
        va_list arguments;

        if (++verifier->faults > FAULTS_SAID)
                return;
        va_start(arguments, format);
        if (vasprintf(&words, format, arguments) < 0) {
                words = NULL;
                verifier->out.has_failed = true;
        }
        va_end(arguments);
        if (words && at)
                text_addf(&verifier->out, "line %llu of %s: %s\n", (unsigned long long)at->number, at->file,
                          words);
        else if (words)
                text_addf(&verifier->out, "%s\n", words);
        free(words);
}

static void say_missing(struct verifier *verifier, const struct seen *at, uint64_t from, uint64_t to)
{
        if (from == to)
                accuse(verifier, at, "record %llu is missing before it", (unsigned long long)from);
        else
                accuse(verifier, at, "records %llu to %llu are missing before it", (unsigned long long)from,
                       (unsigned long long)to);
}

/* ---- one line ------------------------------------------------------------------------------------------- */

static json_t *parse_record(const struct line *line)
{
        json_t *root = NULL;

        if (line->full_length == line->length)
                root = json_loadb(line->bytes, line->length, JSON_REJECT_DUPLICATES, NULL);
        if (!json_is_object(root)) {
                json_decref(root);
                root = NULL;
        }
        return root;
}

static bool names_fragment(const json_t *record, const struct seen *fragment)
{
        const char *hash = json_string_value(json_object_get(record, "torn_sha256"));
        json_int_t bytes = json_integer_value(json_object_get(record, "torn_bytes"));

        return fragment->file && hash && !strcmp(hash, fragment->hash) && bytes > 0 &&
               (uint64_t)bytes == fragment->length;
}

/* A repair explains the line before it. That may look like a record: a line that only lacked its newline. */
static void take_repair(struct verifier *verifier, const json_t *record, const struct seen *at)
{
        const char *head = json_string_value(json_object_get(record, "head"));
        const struct seen *fragment = NULL;

        if (names_fragment(record, &verifier->pending)) {
                fragment = &verifier->pending;
        } else if (!verifier->pending.file && names_fragment(record, &verifier->last)) {
                fragment = &verifier->last;
                verifier->records--;
        }
        if (fragment)
                text_addf(&verifier->out,
                          "note: line %llu of %s is what a killed writer left; it was repaired\n",
                          (unsigned long long)fragment->number, fragment->file);
        if (fragment == &verifier->last)
                verifier->last = verifier->before;
        if (fragment)
                verifier->pending = (struct seen){ 0 };
        if (head)
                accuse(verifier, at, "the head was %s here: what is missing before it cannot be told", head);
}

static void check_first(struct verifier *verifier, const struct seen *at, const char *prev)
{
        const struct snapshot *snapshot = verifier->snapshot;
        uint64_t first = snapshot->head_kind == HEAD_RIGHT ? snapshot->head.first : 1;
        struct audit_state none;

        head_init(&none);
        if (at->seq > first)
                say_missing(verifier, at, first, at->seq - 1);
        else if (at->seq == 1 && memcmp(prev, none.hash, SHA256_TEXT_SIZE - 1))
                accuse(verifier, at, "is the first record and names one before it: it was edited");
}

static void check_order(struct verifier *verifier, const struct seen *at, const char *prev)
{
        const struct seen *last = &verifier->last;

        if (!last->seq)
                check_first(verifier, at, prev);
        else if (at->seq > last->seq + 1)
                say_missing(verifier, at, last->seq + 1, at->seq - 1);
        else if (at->seq <= last->seq)
                accuse(verifier, at, "record %llu stands behind record %llu: it was moved or put in",
                       (unsigned long long)at->seq, (unsigned long long)last->seq);
        else if (memcmp(prev, last->hash, SHA256_TEXT_SIZE - 1))
                accuse(verifier, last, "was edited: the record behind it holds another hash of it");
}

static void settle_pending(struct verifier *verifier)
{
        if (verifier->pending.file)
                accuse(verifier, &verifier->pending, "is no record");
        verifier->pending = (struct seen){ 0 };
}

static void take_line(struct verifier *verifier, const struct line *line, struct seen *at)
{
        json_t *record = parse_record(line);
        const char *prev, *event = json_string_value(json_object_get(record, "event"));

        at->length = line->full_length;
        memcpy(at->hash, line->hash, sizeof(at->hash));
        if (!event || !line->is_whole || !record_parse_place(line->bytes, line->length, &at->seq, &prev)) {
                settle_pending(verifier);
                verifier->pending = *at;
        } else {
                if (!strcmp(event, "repaired"))
                        take_repair(verifier, record, at);
                settle_pending(verifier);
                check_order(verifier, at, prev);
                if (verifier->snapshot->head_kind == HEAD_RIGHT && at->seq == verifier->snapshot->head.seq)
                        verifier->at_head = *at;
                verifier->before = verifier->last;
                verifier->last = *at;
                verifier->records++;
        }
        json_decref(record);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static int read_part(struct verifier *verifier, const struct part *part, abatis_error *err)
{
        OWN_READER struct reader reader = { 0 };
        struct seen at = { .file = part->name };
        struct line line;
        int r;

        reader_init(&reader, part->fd, 0, part->size);
        while ((r = reader_next(&reader, &line, err)) > 0) {
                at.number++;
                verifier->has_lines = true;
                /* A writer that was killed has left it, and the next one will say so. */
                if (!line.is_whole && !part->number) {
                        settle_pending(verifier);
                        text_addf(
                                &verifier->out,
                                "note: line %llu of %s is what a killed writer left; the next will repair it\n",
                                (unsigned long long)at.number, part->name);
                } else {
                        take_line(verifier, &line, &at);
                }
                if (verifier->out.has_failed)
                        return error_memory(err);
        }
        return r;
}

static void check_head(struct verifier *verifier)
{
        const struct audit_state *head = &verifier->snapshot->head;
        uint64_t last = verifier->last.seq;

        switch (verifier->snapshot->head_kind) {
        case HEAD_MISSING:
                accuse(verifier, NULL,
                       "the head is missing: whether the last records are there cannot be told");
                return;
        case HEAD_EMPTY:
                if (verifier->has_lines)
                        accuse(verifier, NULL,
                               "the head is empty: whether the last records are there cannot be told");
                return;
        case HEAD_DAMAGED:
                accuse(verifier, NULL,
                       "the head is damaged: whether the last records are there cannot be told");
                return;
        case HEAD_RIGHT:
                break;
        }
        if (head->seq > last)
                accuse(verifier, NULL, "the log ends at record %llu, but %llu were written",
                       (unsigned long long)last, (unsigned long long)head->seq);
        else if (verifier->at_head.seq && strcmp(verifier->at_head.hash, head->hash))
                accuse(verifier, &verifier->at_head, "was edited: the head holds another hash of it");
        else if (head->seq < last)
                text_addf(&verifier->out,
                          "note: the head is %llu behind: a writer was killed before it came to it\n",
                          (unsigned long long)(last - head->seq));
}

static void sum_up(struct verifier *verifier)
{
        if (verifier->faults > FAULTS_SAID)
                text_addf(&verifier->out, "and %d more\n", verifier->faults - FAULTS_SAID);
        text_addf(&verifier->out, "%llu record%s in %zu file%s: ", (unsigned long long)verifier->records,
                  verifier->records == 1 ? "" : "s", verifier->snapshot->count,
                  verifier->snapshot->count == 1 ? "" : "s");
        if (verifier->faults)
                text_addf(&verifier->out, "%d fault%s\n", verifier->faults, verifier->faults == 1 ? "" : "s");
        else
                text_add(&verifier->out, "the chain is whole\n");
}

int audit_verify(const char *path, char **out, int *faults, abatis_error *err)
{
        OWN_SNAPSHOT struct snapshot snapshot = { 0 };
        struct verifier verifier = { .snapshot = &snapshot };
        int r = snapshot_open(path, &snapshot, err);

        for (size_t i = 0; !r && i < snapshot.count; i++)
                r = read_part(&verifier, &snapshot.parts[i], err);
        if (!r) {
                settle_pending(&verifier);
                check_head(&verifier);
                sum_up(&verifier);
                r = text_take(&verifier.out, out, err);
        }
        text_done(&verifier.out);
        if (!r)
                *faults = verifier.faults;
        return r;
}
