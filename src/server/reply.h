/* reply.h: what the server says: one line of JSON each. */
#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include <jansson.h>

#include "base/text.h"

/* Codes of an abatis_error that only the protocol has. */
enum {
        PROTOCOL_JSON = -100,        /* no JSON, no UTF-8, a key twice, too deep, too many values */
        PROTOCOL_REQUEST = -101,     /* a key is unknown, missing, or of the wrong type */
        PROTOCOL_LENGTH = -102,      /* the line is too long */
        PROTOCOL_ID = -103,          /* a request with this id is not answered yet */
        PROTOCOL_BUSY = -104,        /* too much is waiting already */
        PROTOCOL_CANCELLED = -105,   /* before it started */
        PROTOCOL_UNSUPPORTED = -106, /* this abatis cannot do it yet */
        PROTOCOL_PEER = -107,        /* another user's, or in a sandbox */
        PROTOCOL_FAILED = -108,      /* of exec-request: the program ran, and did not end well */
};

/* "ABATIS_E_INVALID", "PROTOCOL_JSON", ... */
const char *reply_code(int code);

/* {"id":ID without the brace at the end; of NULL the id is null. */
void reply_open(struct text *text, const json_t *id);
/* ,"KEY":"STRING"; what is not UTF-8 as {"base64": ...}. */
void reply_add_string(struct text *text, const char *key, const char *string);
/* ,"KEY":"..." or ,"KEY_base64":"..." for what is no text. */
void reply_add_bytes(struct text *text, const char *key, const char *bytes, size_t length);
/* ,"KEY":JSON, on one line however many it has. */
void reply_add_json(struct text *text, const char *key, const char *json);
void reply_close(struct text *text);

/* {"code":...,"message":...} */
void reply_describe_error(struct text *text, const abatis_error *err);
/* The whole line. */
void reply_error(struct text *text, const json_t *id, const abatis_error *err);

#endif
