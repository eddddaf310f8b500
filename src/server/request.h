/* request.h: one request: JSON that has all keys of its method that it must have, and no other. */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include <jansson.h>

#include "abatis.h"

enum method {
        METHOD_RUN,
        METHOD_CANCEL,
        METHOD_CHECK,
        METHOD_EXPLAIN,
        METHOD_PROBE,
        METHOD_SKILL,
        METHOD_EXEC /* of abatis exec-request: it has no name, and no id */
};

struct request {
        enum method method;
        json_t *root;     /* owned */
        json_t *id;       /* borrowed from root; NULL: none */
        const char *text; /* borrowed: what it was made of */
        size_t length;
};

/* A line. When it fails, *id is the id where it is known, and owned by the caller, or NULL. */
int request_parse(const char *line, size_t length, struct request *out, json_t **id, abatis_error *err);
/* The same for a file with one request. */
int request_parse_exec(const char *text, size_t length, struct request *out, abatis_error *err);
void request_done(struct request *request);

/* NULL where there is no such key. */
const char *request_string(const struct request *request, const char *key);
int request_flag(const struct request *request, const char *key);

/* NULL-terminated; the list is owned by the caller, the strings are the request's. */
int request_list(const struct request *request, const char *key, const char ***out, abatis_error *err);

/* What a command reads: *out is NULL when the request says nothing; borrowed from the request, or from *owned. */
int request_input(const struct request *request, const char *key, char **owned, const char **out,
                  size_t *length, abatis_error *err);

#endif
