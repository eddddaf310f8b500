/* fuzz_request.c: whatever a client sends is taken as a request with all that its method needs, or refused with an id that is its own.
 *
 * links: src/server/request.c src/server/object.c src/server/value.c src/server/scan.c src/server/intake.c src/server/reply.c src/base/json_text.c
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/intake.h"
#include "server/object.h"
#include "server/reply.h"
#include "server/request.h"
#include "server/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

/* A reply is one line of JSON, whatever the id. */
static void check_reply(const json_t *id, const abatis_error *err)
{
        struct text text = { 0 };
        json_t *reply;

        reply_error(&text, id, err);
        check(!text.has_failed && memchr(text.data, '\n', text.length) == text.data + text.length - 1);
        reply = json_loadb(text.data, text.length, JSON_REJECT_DUPLICATES, NULL);
        check(reply && json_equal(json_object_get(reply, "id"), id ? id : json_null()));
        json_decref(reply);
        text_done(&text);
}

static void check_taken(struct request *request)
{
        const char *input = NULL, **list = NULL;
        char *owned = NULL;
        size_t length = 0;
        abatis_error err;

        check((request->method == METHOD_EXEC) == !request->id);
        if (request->method == METHOD_RUN) {
                check(!request_list(request, "command", &list, &err) && list[0] && *list[0]);
                check(!request_input(request, "stdin", &owned, &input, &length, &err));
                check(!request_string(request, "cwd") || *request_string(request, "cwd") == '/');
        }
        if (request->method == METHOD_CANCEL)
                check(!json_object_get(request->root, "target") != !request_string(request, "session"));
        if (request->method == METHOD_CHECK)
                check(request_string(request, "access") && *request_string(request, "path") == '/');
        if (request->method == METHOD_EXEC)
                check(!request_string(request, "program") != !request_string(request, "wasm"));
        free(list);
        free(owned);
        request_done(request);
}

static void parse(const char *line, size_t length)
{
        struct request request;
        json_t *id = NULL, *found = object_find_id(line, length);
        abatis_error err = { 0 };

        if (request_parse(line, length, &request, &id, &err) < 0) {
                check(*err.message && (!id || json_is_integer(id) || json_is_string(id)));
                check_reply(id, &err);
        } else {
                /* Where a parser finds an id, the scanner finds the same or none. */
                check(!found || json_equal(found, request.id));
                check_taken(&request);
        }
        if (!request_parse_exec(line, length, &request, &err))
                check_taken(&request);
        json_decref(id);
        json_decref(found);
}

/* As lines, however they come: what is between two newlines is one. */
static void split(const uint8_t *data, size_t size)
{
        struct intake intake = { 0 };
        const char *line;
        size_t length, at = 0;
        int ends[2];

        if (size > 60000 || pipe(ends) < 0)
                return;
        check(write(ends[1], data, size) == (ssize_t)size);
        close(ends[1]);
        while (!intake.has_ended) {
                check(intake_read(&intake, ends[0]));
                while (intake_take(&intake, &line, &length) == INTAKE_LINE) {
                        check(at + length <= size && !memcmp(line, data + at, length));
                        check(at + length == size || data[at + length] == '\n');
                        at += length + 1;
                }
        }
        check(at == size || at == size + 1);
        close(ends[0]);
        intake_done(&intake);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        char *copy = malloc(size ? size : 1);

        if (!copy)
                abort();
        if (size)
                memcpy(copy, data, size);
        parse(copy, size);
        free(copy);
        split(data, size);
        return 0;
}
