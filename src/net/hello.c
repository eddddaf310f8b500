/* hello.c: finds the server's name in the first bytes of a TLS connection. */
#include "net/hello.h"

#include <string.h>

enum {
        RECORD_HEAD = 5,
        RECORD_MAX = 16 * 1024,
        RECORD_HANDSHAKE = 22,
        MESSAGE_HEAD = 4,
        MESSAGE_CLIENT_HELLO = 1,
        VERSION_MAJOR = 3, /* of SSL 3 and of every TLS */
        EXTENSION_SERVER_NAME = 0,
        EXTENSION_ECH = 0xfe0d,
        NAME_HOST = 0,
        ECH_OUTER = 0,
};

static struct hello malformed(const char *reason)
{
        return (struct hello){ .kind = HELLO_MALFORMED, .reason = reason };
}

/* ---- records -------------------------------------------------------------------------------------------- */

/* The handshake's bytes, out of the records round them. Sticky: behind the end there are zeros, and it has failed. */
struct stream {
        const uint8_t *bytes; /* borrowed; its records have been checked */
        size_t at, left;      /* in this record */
        size_t limit;         /* of what is being read: the message, an extension */
        bool has_failed;
};

static uint8_t get8(struct stream *stream)
{
        if (!stream->limit || stream->has_failed) {
                stream->has_failed = true;
                return 0;
        }
        if (!stream->left) {
                stream->left = (size_t)stream->bytes[stream->at + 3] << 8 | stream->bytes[stream->at + 4];
                stream->at += RECORD_HEAD;
        }
        stream->left--;
        stream->limit--;
        return stream->bytes[stream->at++];
}

static uint16_t get16(struct stream *stream)
{
        uint16_t high = get8(stream);

        return (uint16_t)(high << 8 | get8(stream));
}

static void skip(struct stream *stream, size_t length)
{
        while (length-- && !stream->has_failed)
                get8(stream);
}

/* Narrows the stream to a part of it, of which the rest is given back for widen(). */
static size_t narrow(struct stream *stream, size_t length)
{
        size_t rest = stream->limit - length;

        if (stream->has_failed || length > stream->limit) {
                stream->has_failed = true;
                return 0;
        }
        stream->limit = length;
        return rest;
}

/* What was narrowed must have been read to its end. */
static void widen(struct stream *stream, size_t rest)
{
        stream->has_failed |= stream->limit != 0;
        stream->limit = rest;
}

/* Checks one record's head, as much as there is of it. */
static const char *check_record(const uint8_t *head, size_t length)
{
        size_t size;

        if (length > 0 && head[0] != RECORD_HANDSHAKE)
                return "it does not begin with a TLS handshake";
        if (length > 1 && head[1] != VERSION_MAJOR)
                return "it has no version of TLS";
        if (length < RECORD_HEAD)
                return NULL;
        size = (size_t)head[3] << 8 | head[4];
        if (!size || size > RECORD_MAX)
                return "it has a record of no valid length";
        return NULL;
}

/* Walks the records until they hold the whole message. Else what to say is in *out. */
static bool find_message(const uint8_t *bytes, size_t length, struct stream *stream, struct hello *out)
{
        size_t at = 0, have = 0, wanted = MESSAGE_HEAD;
        uint8_t head[MESSAGE_HEAD] = { 0 };

        while (have < wanted) {
                size_t size, there;
                const char *reason = check_record(bytes + at, length - at);

                if (reason) {
                        *out = malformed(reason);
                        return false;
                }
                if (length - at < RECORD_HEAD)
                        return false;
                size = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
                at += RECORD_HEAD;
                there = length - at < size ? length - at : size;
                for (size_t i = 0; i < there && have + i < MESSAGE_HEAD; i++)
                        head[have + i] = bytes[at + i];
                if (have + there > 0 && head[0] != MESSAGE_CLIENT_HELLO) {
                        *out = malformed("its first message is no client hello");
                        return false;
                }
                have += there;
                if (have >= MESSAGE_HEAD)
                        wanted = MESSAGE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
                if (wanted > HELLO_MAX) {
                        out->kind = HELLO_TOO_LONG;
                        return false;
                }
                /* To whom would the rest of the record belong? */
                if (have - there + size > wanted && have >= MESSAGE_HEAD) {
                        *out = malformed("there is more in its record than the client hello");
                        return false;
                }
                if (there < size)
                        return false;
                at += size;
        }
        /* In short records it is too long although the message is not. Had it come in pieces, that would have been said. */
        if (at > HELLO_MAX) {
                out->kind = HELLO_TOO_LONG;
                return false;
        }
        *stream = (struct stream){ .bytes = bytes, .limit = wanted };
        skip(stream, MESSAGE_HEAD);
        return true;
}

/* ---- the message ---------------------------------------------------------------------------------------- */

static void read_server_name(struct stream *stream, struct hello *out)
{
        char bytes[HOST_NAME_SIZE];
        size_t whole = narrow(stream, get16(stream)), length;
        uint8_t type = get8(stream);

        length = get16(stream);
        /* What follows the one name, another one say, is found by widen(). */
        if (type != NAME_HOST || !length || length > sizeof(bytes)) {
                stream->has_failed = true;
                return;
        }
        for (size_t i = 0; i < length; i++)
                bytes[i] = (char)get8(stream);
        widen(stream, whole);
        if (stream->has_failed || stream->limit || !host_name_read(bytes, length, out->name))
                stream->has_failed = true;
}

static const char *read_extensions(struct stream *stream, struct hello *out)
{
        bool has_name = false;

        while (stream->limit && !stream->has_failed) {
                uint16_t type = get16(stream);
                size_t rest = narrow(stream, get16(stream));

                if (stream->has_failed)
                        break;
                if (type == EXTENSION_SERVER_NAME) {
                        if (has_name)
                                return "it names its server twice";
                        has_name = true;
                        read_server_name(stream, out);
                        if (stream->has_failed)
                                return "its server name is not one name of a host";
                } else if (type == EXTENSION_ECH) {
                        /* What would be the inner one is never seen outside. */
                        if (out->has_ech || get8(stream) != ECH_OUTER)
                                return "its encrypted hello is none";
                        out->has_ech = true;
                }
                skip(stream, stream->limit);
                widen(stream, rest);
        }
        out->kind = has_name ? HELLO_NAME : HELLO_NO_NAME;
        return NULL;
}

static const char *read_message(struct stream *stream, struct hello *out)
{
        const char *reason;
        size_t length;

        if (get8(stream) != VERSION_MAJOR)
                return "it has no version of TLS";
        skip(stream, 1 + 32); /* the rest of the version, and the random bytes */
        length = get8(stream);
        if (length > 32)
                return "its session has no valid length";
        skip(stream, length);
        length = get16(stream);
        if (!length || length % 2)
                return "its ciphers have no valid length";
        skip(stream, length);
        length = get8(stream);
        if (!length)
                return "its compressions have no valid length";
        skip(stream, length);
        if (!stream->has_failed && !stream->limit) {
                out->kind = HELLO_NO_NAME; /* before there were extensions */
                return NULL;
        }
        length = get16(stream);
        if (length != stream->limit)
                return "its extensions have no valid length";
        reason = read_extensions(stream, out);
        return !reason && stream->has_failed ? "its parts do not add up" : reason;
}

struct hello hello_read(const uint8_t *bytes, size_t length)
{
        struct hello hello = { .kind = HELLO_NEEDS_MORE };
        struct stream stream;
        const char *reason;

        if (!find_message(bytes, length, &stream, &hello)) {
                if (hello.kind == HELLO_NEEDS_MORE && length >= HELLO_MAX)
                        hello.kind = HELLO_TOO_LONG;
                return hello;
        }
        reason = read_message(&stream, &hello);
        return reason ? malformed(reason) : hello;
}
