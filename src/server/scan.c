/* scan.c: a line before it is parsed: how much a parser would have to make of it, and whose it is. */
#include "server/scan.h"

#include <string.h>

struct walk {
        const char *line;
        size_t length, at, values;
        unsigned depth, ids;
        bool is_object;   /* the outermost value is one */
        bool expects_key; /* of the outermost object */
        bool is_wanted;   /* the key before this value is "id", or what is looked for */
};

/* Behind the string that begins here, or the end of the line. */
static size_t string_end(const struct walk *walk)
{
        size_t at = walk->at + 1;

        while (at < walk->length && walk->line[at] != '"')
                at += walk->line[at] == '\\' ? 2 : 1;
        return at < walk->length ? at + 1 : walk->length;
}

static size_t word_end(const struct walk *walk)
{
        size_t at = walk->at + 1;

        while (at < walk->length && !strchr(",:]}[{\" \t\r\n", walk->line[at]))
                at++;
        return at;
}

static bool is_outermost(const struct walk *walk)
{
        return walk->depth == 1 && walk->is_object;
}

/* A string or a word, from here to `end`. */
static void see_scalar(struct walk *walk, size_t end, struct scan *out)
{
        const char *start = walk->line + walk->at;
        size_t length = end - walk->at;

        if (is_outermost(walk) && walk->expects_key) {
                walk->is_wanted = length == 4 && !memcmp(start, "\"id\"", 4);
                /* Such a key may be "id", too, for the parser. */
                walk->ids += memchr(start, '\\', length) != NULL;
                walk->expects_key = false;
        } else if (is_outermost(walk) && walk->is_wanted) {
                walk->ids++;
                out->id = start;
                out->id_length = length;
        }
        walk->at = end;
}

static void see_sign(struct walk *walk, struct scan *out)
{
        char sign = walk->line[walk->at++];

        if (sign == '{' || sign == '[') {
                walk->is_object |= !walk->depth && sign == '{' && !walk->values;
                walk->expects_key |= !walk->depth;
                walk->depth++;
                walk->values++;
        } else if ((sign == '}' || sign == ']') && walk->depth) {
                walk->depth--;
        } else if (sign == ',') {
                walk->expects_key |= walk->depth == 1;
                walk->values++;
        }
        out->is_too_deep |= walk->depth > SCAN_DEPTH_MAX;
        out->has_too_many |= walk->values > SCAN_VALUES_MAX;
}

struct scan scan_line(const char *line, size_t length)
{
        struct walk walk = { .line = line, .length = length };
        struct scan out = { 0 };

        while (walk.at < length) {
                char sign = line[walk.at];

                if (sign == '"')
                        see_scalar(&walk, string_end(&walk), &out);
                else if (strchr("{}[],", sign) && sign)
                        see_sign(&walk, &out);
                else if (strchr(": \t\r\n", sign))
                        walk.at++;
                else
                        see_scalar(&walk, word_end(&walk), &out);
        }
        if (walk.ids != 1)
                out.id = NULL;
        return out;
}

static const char *trim(const char *start, const char *end, size_t *out_length)
{
        static const char blanks[] = " \t\r\n";

        while (start < end && strchr(blanks, *start))
                start++;
        while (start < end && strchr(blanks, end[-1]))
                end--;
        *out_length = (size_t)(end - start);
        return start;
}

const char *scan_member(const char *text, size_t length, const char *key, size_t *out_length)
{
        struct walk walk = { .line = text, .length = length, .expects_key = true };
        const char *value = NULL;

        for (size_t next; walk.at < length; walk.at = next) {
                char sign = text[walk.at];
                bool is_between = walk.depth == 1 && (sign == ',' || sign == '}');

                next = sign == '"' ? string_end(&walk) : walk.at + 1;
                if (is_between && value)
                        return trim(value, text + walk.at, out_length);
                if (sign == '"' && walk.depth == 1 && walk.expects_key) {
                        walk.is_wanted = next - walk.at == strlen(key) + 2 &&
                                         !memcmp(text + walk.at + 1, key, strlen(key));
                        walk.expects_key = false;
                } else if (sign == ':' && walk.depth == 1 && walk.is_wanted) {
                        value = text + next;
                }
                walk.expects_key |= is_between;
                walk.depth += sign == '{' || sign == '[';
                walk.depth -= sign == '}' || sign == ']';
        }
        return NULL;
}
