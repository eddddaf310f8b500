/* glob.c: compiles patterns and matches them with resolved paths, in time that no pattern can make explode.
 *
 * A pattern is a list of runs of components with "**" between them. Since whatever lies below a match matches too, only
 * the beginning of a path has to be matched: the first run where the pattern is anchored, every other one at the first
 * place where it fits. Nothing is ever tried again, neither by recursion nor by going back over a "**". Within one name
 * the same holds for "*". */
#define _GNU_SOURCE
#include "policy/glob.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

bool glob_has_magic(const char *text)
{
        return strpbrk(text, "*?[") != NULL;
}

char *glob_quote(const char *text)
{
        char *quoted = malloc(3 * strlen(text) + 1), *at = quoted;

        if (!quoted)
                return NULL;
        /* There is no escape character, but a set of one stands for that one. */
        for (; *text; text++) {
                bool is_magic = strchr("*?[", *text) != NULL;

                if (is_magic)
                        *at++ = '[';
                *at++ = *text;
                if (is_magic)
                        *at++ = ']';
        }
        *at = '\0';
        return quoted;
}

/* ---- compiling ------------------------------------------------------------------------------------------ */

/* While one name is examined. */
struct reader {
        const char *pattern; /* for messages */
        const char *text;
        size_t length, at;
};

static uint32_t next_character(struct reader *reader)
{
        uint32_t character;

        reader->at += text_character(reader->text + reader->at, reader->length - reader->at, &character);
        return character;
}

/* What stands between "[" and "]", as far as it is the same for those who compile and those who match: whether the set
 * is turned round, and where its members begin. */
static bool begin_set(struct reader *reader)
{
        bool is_negated;

        reader->at++;
        is_negated = reader->at < reader->length && reader->text[reader->at] == '!';
        reader->at += is_negated;
        return is_negated;
}

/* The next member, a single character or a range; false at the end of the set, which is then behind us. A "]" that
 * comes first is a member, and so is a "-" that comes first or last. */
static bool next_member(struct reader *reader, bool is_first, uint32_t *low, uint32_t *high)
{
        if (reader->text[reader->at] == ']' && !is_first) {
                reader->at++;
                return false;
        }
        *low = *high = next_character(reader);
        if (reader->at + 1 < reader->length && reader->text[reader->at] == '-' &&
            reader->text[reader->at + 1] != ']') {
                reader->at++;
                *high = next_character(reader);
        }
        return true;
}

/* Passes over a set, or says what is wrong with it. */
static int pass_set(struct reader *reader, abatis_error *err)
{
        const char *open = reader->text + reader->at;
        uint32_t low, high;

        begin_set(reader);
        for (bool is_first = true;; is_first = false) {
                const char *member = reader->text + reader->at;

                if (reader->at >= reader->length)
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "'%s': a '[' without its ']'; write '[[]' for the character, and no '/' in a set",
                                reader->pattern);
                /* Elsewhere these mean what people would expect here, and would not get. */
                if (is_first && *member == '^' && member == open + 1)
                        return error_set(
                                err, ABATIS_E_INVALID,
                                "'%s': write '[!...]' for any character but these, or put the '^' last",
                                reader->pattern);
                if (*member == '[' && reader->at + 1 < reader->length && strchr(":.=", member[1]))
                        return error_set(err, ABATIS_E_INVALID,
                                         "'%s': there are no classes like [:alpha:]; write a range like a-z",
                                         reader->pattern);
                if (!next_member(reader, is_first, &low, &high))
                        return 0;
                if (low > high)
                        return error_set(err, ABATIS_E_INVALID,
                                         "'%s': the range '%.*s' is the wrong way round", reader->pattern,
                                         (int)(reader->text + reader->at - member), member);
        }
}

static int pass_star(struct reader *reader, abatis_error *err)
{
        reader->at++;
        if (reader->at < reader->length && reader->text[reader->at] == '*')
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s': '**' stands for whole directories, alone between slashes",
                                 reader->pattern);
        return 0;
}

/* Finds out what kind of component this is. */
static int examine(struct reader *reader, struct glob_part *out, abatis_error *err)
{
        struct glob_part part = { GLOB_NAME, reader->text, reader->length, 0, '\0' };
        int r = 0;

        if (reader->length == 2 && !memcmp(reader->text, "..", 2))
                return error_set(err, ABATIS_E_INVALID, "'%s': a pattern may not climb with '..'",
                                 reader->pattern);
        if (reader->length == 2 && !memcmp(reader->text, "**", 2)) {
                part.kind = GLOB_ANY_DEPTH;
                *out = part;
                return 0;
        }
        while (reader->at < reader->length && !r) {
                size_t before = reader->at;

                switch (reader->text[before]) {
                case '*':
                        r = pass_star(reader, err);
                        break;
                case '[':
                        r = pass_set(reader, err);
                        part.least++;
                        break;
                case '?':
                        reader->at++;
                        part.least++;
                        break;
                default:
                        next_character(reader);
                        part.least += reader->at - before;
                        part.last = reader->text[reader->at - 1];
                        continue;
                }
                part.kind = GLOB_WILD;
                part.last = '\0';
        }
        if (r < 0)
                return r;
        if (part.least > NAME_MAX)
                return error_set(err, ABATIS_E_INVALID, "'%s': a name of %zu bytes is longer than any file's",
                                 reader->pattern, part.least);
        *out = part;
        return 0;
}

/* What a pattern may begin with, so that nobody has to guess from where it counts. */
static int check_beginning(const char *pattern, abatis_error *err)
{
        if (!pattern || !*pattern)
                return error_set(err, ABATIS_E_INVALID, "an empty pattern");
        if (!strcmp(pattern, "."))
                return error_set(err, ABATIS_E_INVALID, "'.' names nothing");
        if (strlen(pattern) > PATH_LONGEST)
                return error_set(err, ABATIS_E_INVALID, "a pattern of %zu bytes is longer than any path",
                                 strlen(pattern));
        if (*pattern != '/' && strchr(pattern, '/') && strncmp(pattern, "**/", 3) != 0)
                return error_set(
                        err, ABATIS_E_INVALID,
                        "'%s' is relative; begin it with '/', or with '**/' for every directory, or give a name without '/'",
                        pattern);
        return 0;
}

static void add_part(struct glob *glob, struct glob_part part)
{
        bool is_repeated = part.kind == GLOB_ANY_DEPTH && glob->count &&
                           glob->parts[glob->count - 1].kind == GLOB_ANY_DEPTH;

        if (!is_repeated)
                glob->parts[glob->count++] = part;
}

static int add_parts(struct glob *glob, abatis_error *err)
{
        const char *at = glob->text;

        if (*at != '/')
                add_part(glob, (struct glob_part){ .kind = GLOB_ANY_DEPTH });
        while (*at) {
                struct reader reader = { .pattern = glob->text };
                struct glob_part part;
                int r;

                at += strspn(at, "/");
                reader.text = at;
                reader.length = strcspn(at, "/");
                at += reader.length;
                if (!reader.length || (reader.length == 1 && *reader.text == '.'))
                        continue;
                r = examine(&reader, &part, err);
                if (r < 0)
                        return r;
                add_part(glob, part);
        }
        return 0;
}

int glob_compile(const char *pattern, struct glob *out, abatis_error *err)
{
        struct glob glob = { 0 };
        int r = check_beginning(pattern, err);

        if (r < 0)
                return r;
        glob.text = strdup(pattern);
        /* Every component but the first has a slash before it, and a relative pattern gets one more. */
        glob.parts = calloc(strlen(pattern) / 2 + 2, sizeof(*glob.parts));
        r = glob.text && glob.parts ? add_parts(&glob, err) : error_memory(err);
        if (r < 0)
                glob_done(&glob);
        else
                *out = glob;
        return r;
}

void glob_done(struct glob *glob)
{
        free(glob->text);
        free(glob->parts);
        *glob = (struct glob){ 0 };
}

/* ---- matching ------------------------------------------------------------------------------------------- */

static bool is_in_set(struct reader *reader, uint32_t character)
{
        bool is_negated = begin_set(reader), is_member = false;
        uint32_t low, high;

        for (bool is_first = true; next_member(reader, is_first, &low, &high); is_first = false)
                is_member |= character >= low && character <= high;
        return is_member != is_negated;
}

/* Matches one character of a name with what the pattern has next, which is no "*". */
static bool matches_character(struct reader *pattern, uint32_t character)
{
        if (pattern->at >= pattern->length)
                return false;
        switch (pattern->text[pattern->at]) {
        case '?':
                pattern->at++;
                return true;
        case '[':
                return is_in_set(pattern, character);
        }
        return next_character(pattern) == character;
}

static bool matches_wild(const struct glob_part *part, const char *text, size_t length)
{
        struct reader pattern = { .text = part->text, .length = part->length };
        struct reader name = { .text = text, .length = length };
        size_t behind_star = SIZE_MAX, first_try = 0;

        while (name.at < name.length) {
                if (pattern.at < pattern.length && pattern.text[pattern.at] == '*') {
                        behind_star = ++pattern.at;
                        first_try = name.at;
                        continue;
                }
                if (matches_character(&pattern, next_character(&name)))
                        continue;
                if (behind_star == SIZE_MAX)
                        return false;
                /* Let the last star take one character more. Earlier stars need not: what they could give to this one,
                 * it can take by itself. */
                name.at = first_try;
                next_character(&name);
                first_try = name.at;
                pattern.at = behind_star;
        }
        while (pattern.at < pattern.length && pattern.text[pattern.at] == '*')
                pattern.at++;
        return pattern.at == pattern.length;
}

static bool matches_name(const struct glob_part *part, const char *name, size_t length)
{
        if (length < part->least || (part->last && name[length - 1] != part->last))
                return false;
        if (part->kind == GLOB_WILD)
                return matches_wild(part, name, length);
        return length == part->length && !memcmp(name, part->text, length);
}

/* The component at or after `at`; *length is 0 when the path has no more. */
static const char *component(const char *at, size_t *length)
{
        at += strspn(at, "/");
        *length = strcspn(at, "/");
        return at;
}

enum fit { FITS, FITS_NOT, ENDS_BEFORE };

/* Compares parts up to the next "**" with the components from *at on, which then is behind them. */
static enum fit fit_run(const struct glob *glob, size_t *part, const char **at)
{
        size_t i = *part;
        const char *name = *at;

        for (; i < glob->count && glob->parts[i].kind != GLOB_ANY_DEPTH; i++) {
                size_t length;

                name = component(name, &length);
                if (!length)
                        return ENDS_BEFORE;
                if (!matches_name(&glob->parts[i], name, length))
                        return FITS_NOT;
                name += length;
        }
        *part = i;
        *at = name;
        return FITS;
}

/* The same from the first place on where it fits. */
static bool find_run(const struct glob *glob, size_t *part, const char **at)
{
        enum fit fit;

        while ((fit = fit_run(glob, part, at)) == FITS_NOT) {
                size_t length;

                *at = component(*at, &length);
                *at += length;
        }
        return fit == FITS;
}

bool glob_matches(const struct glob *glob, const char *real)
{
        const char *at = real;
        size_t part = 0, length;

        if (fit_run(glob, &part, &at) != FITS)
                return false;
        while (part < glob->count) {
                part++;
                if (part == glob->count) {
                        /* What lies below, but not the directory itself. */
                        component(at, &length);
                        return length > 0;
                }
                if (!find_run(glob, &part, &at))
                        return false;
        }
        return true;
}

bool glob_may_match_below(const struct glob *glob, const char *directory)
{
        const char *at = directory;
        size_t part = 0;

        /* From the first "**" on, anything may follow. */
        return fit_run(glob, &part, &at) != FITS_NOT;
}
