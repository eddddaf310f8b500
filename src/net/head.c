/* head.c: reads the head of an HTTP/1 request, and refuses what could be read in two ways. */
#define _GNU_SOURCE
#include "net/head.h"

#include <string.h>
#include <strings.h>

static const char preface[] = "PRI * HTTP/2.0\r\n"; /* how HTTP/2 begins */

/* A part of the head, without what surrounds it. */
struct part {
        const char *bytes; /* borrowed */
        size_t length;
};

/* While a head is read. */
struct reading {
        struct head *head;
        const char *reason; /* static; NULL as long as all is well */
        bool is_new;        /* HTTP/1.1, not 1.0 */
        bool has_host, has_length, has_coding;
        bool has_authority; /* the target names a host too: */
        struct head target;
};

static bool equals(struct part part, const char *text)
{
        return part.length == strlen(text) && !strncasecmp(part.bytes, text, part.length);
}

bool head_is_token_character(char character)
{
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9') || (character && strchr("!#$%&'*+-.^_`|~", character));
}

static bool is_token(struct part part)
{
        for (size_t i = 0; i < part.length; i++)
                if (!head_is_token_character(part.bytes[i]))
                        return false;
        return part.length;
}

static bool is_blank(char character)
{
        return character == ' ' || character == '\t';
}

static struct part trim(struct part part)
{
        for (; part.length && is_blank(*part.bytes); part.length--)
                part.bytes++;
        while (part.length && is_blank(part.bytes[part.length - 1]))
                part.length--;
        return part;
}

/* ---- hosts ---------------------------------------------------------------------------------------------- */

static bool read_port(struct part part, uint16_t *out)
{
        unsigned value = 0;

        if (!part.length || part.length > 5 || *part.bytes == '0')
                return false;
        for (size_t i = 0; i < part.length; i++) {
                if (part.bytes[i] < '0' || part.bytes[i] > '9')
                        return false;
                value = 10 * value + (unsigned)(part.bytes[i] - '0');
        }
        *out = (uint16_t)value;
        return value <= UINT16_MAX;
}

/* HOST or HOST:PORT, with brackets round an IPv6 address; nothing about users. */
static bool read_authority(struct part part, struct head *out)
{
        bool has_brackets = part.length && *part.bytes == '[';
        const char *end = part.bytes + part.length;
        const char *bracket = has_brackets ? memchr(part.bytes, ']', part.length) : NULL;
        const char *colon = bracket ? bracket + 1 : memchr(part.bytes, ':', part.length);
        struct part host = { part.bytes, (size_t)((colon ? colon : end) - part.bytes) };

        if (has_brackets && !bracket)
                return false;
        out->port = 0;
        if (colon && colon < end &&
            (*colon != ':' || !read_port((struct part){ colon + 1, (size_t)(end - colon) - 1 }, &out->port)))
                return false;
        if (has_brackets)
                host = (struct part){ host.bytes + 1, host.length - 2 };
        out->host[0] = '\0';
        out->is_address = address_parse(host.bytes, host.length, &out->address);
        if (out->is_address)
                return out->address.is_v6 == has_brackets;
        return !has_brackets && host_name_read(host.bytes, host.length, out->host);
}

static bool has_same_host(const struct head *first, const struct head *second)
{
        if (first->is_address != second->is_address)
                return false;
        return first->is_address ? address_equals(&first->address, &second->address)
                                 : !strcmp(first->host, second->host);
}

/* ---- the request line ----------------------------------------------------------------------------------- */

static const char *read_target(struct reading *reading, struct part method, struct part target)
{
        static const char scheme[] = "http://";
        struct part authority = target;

        for (size_t i = 0; i < target.length; i++)
                if ((unsigned char)target.bytes[i] <= ' ' || target.bytes[i] == 0x7f)
                        return "its target has characters that none may have";
        reading->head->is_connect = equals(method, "CONNECT");
        if (!reading->head->is_connect && *target.bytes == '/')
                return NULL;
        if (equals(target, "*") && equals(method, "OPTIONS"))
                return NULL;
        if (!reading->head->is_connect) {
                if (target.length < strlen(scheme) || strncasecmp(target.bytes, scheme, strlen(scheme)) != 0)
                        return "its target is neither a path nor of http";
                authority.bytes += strlen(scheme);
                authority.length -= strlen(scheme);
                for (size_t i = 0; i < authority.length; i++)
                        if (strchr("/?#", authority.bytes[i]))
                                authority.length = i;
        }
        reading->has_authority = true;
        if (!read_authority(authority, &reading->target))
                return "its target names no host";
        if (reading->head->is_connect && !reading->target.port)
                return "its target names no port";
        return NULL;
}

static const char *read_request_line(struct reading *reading, struct part line)
{
        const char *first = memchr(line.bytes, ' ', line.length), *second;
        struct part method, target, version;

        if (!first)
                return "its first line is not of HTTP";
        method = (struct part){ line.bytes, (size_t)(first - line.bytes) };
        second = memchr(first + 1, ' ', line.length - method.length - 1);
        if (!second || second == first + 1)
                return "its first line is not of HTTP";
        target = (struct part){ first + 1, (size_t)(second - first) - 1 };
        version = (struct part){ second + 1, line.length - method.length - target.length - 2 };
        if (!is_token(method))
                return "its method is not a word";
        /* Capitals matter here. */
        reading->is_new = version.length == 8 && !memcmp(version.bytes, "HTTP/1.1", 8);
        if (!reading->is_new && (version.length != 8 || memcmp(version.bytes, "HTTP/1.0", 8) != 0))
                return "it is neither of HTTP/1.0 nor of HTTP/1.1";
        return read_target(reading, method, target);
}

/* ---- fields --------------------------------------------------------------------------------------------- */

static const char *read_host(struct reading *reading, struct part value)
{
        if (reading->has_host)
                return "it has two Host fields";
        reading->has_host = true;
        /* Empty is what is sent for a target without a host. */
        if (!value.length)
                return NULL;
        if (!read_authority(value, reading->head))
                return "its Host is no host";
        reading->head->kind = HEAD_HOST;
        return NULL;
}

static const char *read_length(struct reading *reading, struct part value)
{
        uint64_t length = 0;

        if (reading->has_length)
                return "it has two Content-Length fields";
        reading->has_length = true;
        /* No more digits than surely fit. */
        if (!value.length || value.length > 18)
                return "its Content-Length is no number";
        for (size_t i = 0; i < value.length; i++) {
                if (value.bytes[i] < '0' || value.bytes[i] > '9')
                        return "its Content-Length is no number";
                length = 10 * length + (uint64_t)(value.bytes[i] - '0');
        }
        reading->head->body_length = length;
        reading->head->body = length ? HEAD_BODY_LENGTH : HEAD_BODY_NONE;
        return NULL;
}

static const char *read_coding(struct reading *reading, struct part value)
{
        if (reading->has_coding)
                return "it has two Transfer-Encoding fields";
        reading->has_coding = true;
        if (!equals(value, "chunked"))
                return "its Transfer-Encoding is not chunked";
        return NULL;
}

/* What Connection lists is for the next hop alone: a proxy takes it out and passes on what is left. */
static const char *read_connection(struct part value)
{
        static const char *const needed[] = { "Host", "Content-Length", "Transfer-Encoding" };

        while (value.length) {
                const char *comma = memchr(value.bytes, ',', value.length);
                struct part word = { value.bytes, comma ? (size_t)(comma - value.bytes) : value.length };
                size_t taken = word.length + (comma != NULL);

                word = trim(word);
                for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
                        if (equals(word, needed[i]))
                                return "its Connection takes out a field that counts";
                value.bytes += taken;
                value.length -= taken;
        }
        return NULL;
}

static const char *read_field(struct reading *reading, struct part line)
{
        const char *colon = memchr(line.bytes, ':', line.length);
        struct part name = { line.bytes, colon ? (size_t)(colon - line.bytes) : 0 }, value;

        if (is_blank(*line.bytes))
                return "it has a folded line";
        if (!colon || !is_token(name))
                return "it has a field whose name is not a word";
        value = (struct part){ colon + 1, line.length - name.length - 1 };
        for (size_t i = 0; i < value.length; i++)
                if (((unsigned char)value.bytes[i] < ' ' && value.bytes[i] != '\t') || value.bytes[i] == 0x7f)
                        return "it has characters that no field may have";
        value = trim(value);
        if (equals(name, "Host"))
                return read_host(reading, value);
        if (equals(name, "Content-Length"))
                return read_length(reading, value);
        if (equals(name, "Transfer-Encoding"))
                return read_coding(reading, value);
        if (equals(name, "Connection") || equals(name, "Proxy-Connection"))
                return read_connection(value);
        reading->head->wants_upgrade |= equals(name, "Upgrade");
        return NULL;
}

/* What only all fields together can tell. */
static const char *check_whole(struct reading *reading)
{
        struct head *head = reading->head;
        uint16_t usual = head->is_connect ? reading->target.port : 80;
        uint16_t said = head->port ? head->port : usual;

        if (reading->has_coding && (reading->has_length || !reading->is_new))
                return "it has a Transfer-Encoding beside what forbids one";
        if (reading->has_coding)
                head->body = HEAD_BODY_CHUNKED;
        if (!reading->has_authority)
                return NULL;
        /* A server that knows no such targets would take Host, or whom it has for nobody. */
        if (head->kind != HEAD_HOST || !has_same_host(head, &reading->target) ||
            said != (reading->target.port ? reading->target.port : usual))
                return "its target names another host than its Host";
        head->port = reading->target.port ? reading->target.port : head->port;
        if (head->is_connect && head->body != HEAD_BODY_NONE)
                return "it connects, and has a body";
        return NULL;
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

/* One line without its end, or false if its end has not come. */
static bool take_line(struct part *rest, struct part *out, const char **reason)
{
        const char *newline = memchr(rest->bytes, '\n', rest->length);
        size_t length = newline ? (size_t)(newline - rest->bytes) : rest->length;
        const char *cr = memchr(rest->bytes, '\r', length);

        /* A return that is the last byte so far may still be followed by its newline. */
        if (cr && (size_t)(cr - rest->bytes) != length - 1)
                *reason = "it has a carriage return within a line";
        else if (newline && !cr)
                *reason = "it has a line that ends without a carriage return";
        else if (memchr(rest->bytes, '\0', length))
                *reason = "it has a NUL in it";
        if (*reason || !newline)
                return false;
        *out = (struct part){ rest->bytes, length - 1 };
        rest->bytes += length + 1;
        rest->length -= length + 1;
        return true;
}

static void read_lines(struct reading *reading, const char *bytes, size_t length)
{
        struct part rest = { bytes, length }, line;
        struct head *head = reading->head;

        head->kind = HEAD_NO_HOST;
        for (bool is_first = true; take_line(&rest, &line, &reading->reason); is_first = false) {
                if (is_first)
                        reading->reason = read_request_line(reading, line);
                else if (line.length)
                        reading->reason = read_field(reading, line);
                else {
                        reading->reason = check_whole(reading);
                        head->length = length - rest.length;
                        return;
                }
                if (reading->reason)
                        return;
        }
        head->kind = HEAD_NEEDS_MORE;
}

/* Whether it cannot be HTTP/1, as far as the first bytes tell. */
static bool is_foreign(const char *bytes, size_t length)
{
        return (length && !head_is_token_character(*bytes)) ||
               (length >= strlen(preface) && !memcmp(bytes, preface, strlen(preface)));
}

struct head head_read(const char *bytes, size_t length)
{
        struct head head = { .kind = HEAD_NEEDS_MORE };
        struct reading reading = { .head = &head };

        if (is_foreign(bytes, length))
                return (struct head){ .kind = HEAD_NOT_HTTP };
        read_lines(&reading, bytes, length);
        if (reading.reason)
                return (struct head){ .kind = HEAD_MALFORMED, .reason = reading.reason };
        if (head.kind == HEAD_NEEDS_MORE ? length >= HEAD_MAX : head.length > HEAD_MAX)
                return (struct head){ .kind = HEAD_TOO_LONG };
        if (head.kind == HEAD_NEEDS_MORE)
                return (struct head){ .kind = HEAD_NEEDS_MORE };
        return head;
}
