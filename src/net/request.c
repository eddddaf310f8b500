/* request.c: follows the requests of one connection, so that each head is found and judged. */
#define _GNU_SOURCE
#include "net/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/allowance.h"
#include "net/body.h"
#include "net/disarm.h"
#include "net/head.h"

struct request {
        const char *host; /* borrowed */
        uint16_t port;
        char bytes[HEAD_MAX + 1];
        size_t filled, checked; /* of these bytes; what is checked may pass */
        struct body body;
        bool is_in_body, is_good, is_at_end;
        bool has_skipped;    /* an empty line before the next head */
        const char *problem; /* static */
};

struct request *request_new(const char *host, uint16_t port)
{
        struct request *request = malloc(sizeof(*request));

        if (request) {
                memset(request, 0, offsetof(struct request, bytes));
                memset((char *)request + offsetof(struct request, filled), 0,
                       sizeof(*request) - offsetof(struct request, filled));
                request->host = host;
                request->port = port;
        }
        return request;
}

void request_free(struct request *request)
{
        free(request);
}

static const char *find_problem(const struct request *request, const struct head *head)
{
        switch (head->kind) {
        case HEAD_NEEDS_MORE:
                return NULL;
        case HEAD_NO_HOST:
                return "a request that names no host";
        case HEAD_MALFORMED:
                return head->reason;
        case HEAD_TOO_LONG:
                return "the head of a request is too long";
        case HEAD_NOT_HTTP:
                return "port 80 is for plain HTTP/1";
        case HEAD_HOST:
                break;
        }
        if (head->is_connect)
                return "a request to connect to somebody else";
        if (head->is_address || strcmp(head->host, request->host) != 0 ||
            (head->port && head->port != request->port))
                return "a request for another host than was asked for";
        return NULL;
}

/* The hosts of another protocol nobody could check. */
static size_t disarm(struct request *request, const struct head *head)
{
        char *bytes = request->bytes + request->checked, *end = request->bytes + request->filled;
        size_t length = head->length;

        if (!head->wants_upgrade)
                return length;
        length = disarm_head(bytes, length);
        memmove(bytes + length, bytes + head->length, (size_t)(end - bytes) - head->length);
        request->filled -= head->length - length;
        return length;
}

/* Some clients send an empty line more than they should behind a body, and servers skip it. */
static void skip_empty_line(struct request *request)
{
        const char *next = request->bytes + request->checked;

        if (!request->is_in_body && !request->has_skipped && request->filled - request->checked >= 2 &&
            next[0] == '\r' && next[1] == '\n') {
                request->checked += 2;
                request->has_skipped = true;
        }
}

/* Half of an empty line. */
static bool needs_more(const struct request *request)
{
        return !request->is_in_body && !request->has_skipped && request->filled - request->checked == 1 &&
               request->bytes[request->checked] == '\r';
}

static int check(struct request *request)
{
        while (request->checked < request->filled) {
                skip_empty_line(request);
                if (request->checked == request->filled || needs_more(request))
                        break;

                const char *next = request->bytes + request->checked;
                size_t left = request->filled - request->checked;
                struct head head;

                if (request->is_in_body) {
                        request->checked += body_walk(&request->body, next, left);
                        if (request->body.state == BODY_MALFORMED) {
                                request->problem = "a body that does not end as its head says";
                                return -EACCES;
                        }
                        request->is_in_body = request->body.state != BODY_DONE;
                        continue;
                }
                head = head_read(next, left);
                request->problem = find_problem(request, &head);
                if (request->problem)
                        return -EACCES;
                if (head.kind == HEAD_NEEDS_MORE)
                        return 0;
                request->is_good = true;
                request->has_skipped = false;
                request->checked += disarm(request, &head);
                body_init(&request->body, &head);
                request->is_in_body = request->body.state != BODY_DONE;
        }
        return 0;
}

int request_read(struct request *request, int from)
{
        ssize_t got;

        if (request->filled == sizeof(request->bytes) || request->is_at_end)
                return 0;
        got = recv(from, request->bytes + request->filled, sizeof(request->bytes) - request->filled,
                   MSG_DONTWAIT);
        if (got < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        request->is_at_end = !got;
        request->filled += (size_t)got;
        return check(request);
}

static int pass_on(struct request *request, int to, struct allowance *allowance, uint64_t *passed)
{
        size_t most = allowance_of(allowance, request->checked);
        ssize_t gone = most ? send(to, request->bytes, most, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

        if (request->checked && !most)
                return -EDQUOT;
        if (gone < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        *passed += (uint64_t)gone;
        allowance->passed += (uint64_t)gone;
        request->filled -= (size_t)gone;
        request->checked -= (size_t)gone;
        memmove(request->bytes, request->bytes + gone, request->filled);
        return 0;
}

int request_pump(struct request *request, int from, int to, struct allowance *allowance, uint64_t *passed)
{
        int r = pass_on(request, to, allowance, passed);

        if (!r)
                r = request_read(request, from);
        /* What was judged before is the server's, whatever came behind it. */
        if (r == -EACCES)
                pass_on(request, to, allowance, passed);
        return r ? r : pass_on(request, to, allowance, passed);
}

bool request_has_more(const struct request *request)
{
        return request->checked;
}

bool request_is_at_end(const struct request *request)
{
        return request->is_at_end;
}

bool request_is_good(const struct request *request)
{
        return request->is_good;
}

const char *request_problem(const struct request *request)
{
        return request->problem ? request->problem : "";
}
