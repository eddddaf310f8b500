/* fuzz_head.c: whatever comes as an HTTP request is judged the same, however it comes in pieces, and ends in the same place.
 *
 * links: src/net/head.c src/net/body.c src/net/disarm.c
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/body.h"
#include "net/disarm.h"
#include "net/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

/* What the most careless server would take for a Host field: one is all that there is, or none. */
static void check_hosts(const char *text, const struct head *head)
{
        unsigned hosts = 0;

        for (size_t i = 0; i + 5 <= head->length; i++) {
                bool begins_line = i && (text[i - 1] == '\n' || text[i - 1] == '\r');

                hosts += begins_line && !strncasecmp(text + i, "host", 4) && strchr(": \t", text[i + 4]);
        }
        check(hosts <= 1 && (hosts || head->kind == HEAD_NO_HOST));
}

static struct head read_first(const uint8_t *data, size_t length)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        char *copy = malloc(length ? length : 1);
        struct head head;

        if (!copy)
                abort();
        if (length)
                memcpy(copy, data, length);
        head = head_read(copy, length);
        check((head.kind == HEAD_HOST) == (*head.host || head.is_address));
        check((head.kind == HEAD_MALFORMED) == (head.reason != NULL));
        check((head.kind == HEAD_HOST || head.kind == HEAD_NO_HOST) == (head.length > 0));
        check(head.length <= length && head.length <= HEAD_MAX);
        if (head.length)
                check_hosts(copy, &head);
        free(copy);
        return head;
}

/* Where the body ends must not depend on the pieces it comes in. */
static void check_body(const struct head *head, const char *bytes, size_t length)
{
        struct body whole, parts;
        size_t at = 0, end;

        body_init(&whole, head);
        body_init(&parts, head);
        end = body_walk(&whole, bytes, length);
        check(end == length || whole.state == BODY_DONE || whole.state == BODY_MALFORMED);
        while (at < length && body_walk(&parts, bytes + at, 1))
                at++;
        check(at == end && parts.state == whole.state);
}

/* A head without its wish for another protocol is the same head, and has none. */
static void check_disarmed(const struct head *head, const uint8_t *data)
{
        char *copy = malloc(head->length);
        struct head after;

        if (!copy)
                abort();
        memcpy(copy, data, head->length);
        after = head_read(copy, disarm_head(copy, head->length));
        check(!after.wants_upgrade && after.kind == head->kind && !strcmp(after.host, head->host) &&
              after.port == head->port && after.is_connect == head->is_connect && after.body == head->body &&
              after.body_length == head->body_length && after.length <= head->length);
        free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct head whole = read_first(data, size);
        size_t step = size / 256 + 1;

        for (size_t length = 0; length < size; length += step) {
                struct head part = read_first(data, length);

                /* What was said once is said for good, except that at its limit one waits no longer. */
                if (part.kind != HEAD_NEEDS_MORE && length < HEAD_MAX)
                        check(part.kind == whole.kind && !strcmp(part.host, whole.host) &&
                              part.port == whole.port && part.length == whole.length);
                check(part.kind != HEAD_NEEDS_MORE || length < HEAD_MAX);
        }
        if (whole.length) {
                check_body(&whole, (const char *)data + whole.length, size - whole.length);
                check_disarmed(&whole, data);
        }
        return 0;
}
