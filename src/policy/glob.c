/* glob.c: compiles patterns. They are matched with resolved paths (glob_match.c) in time that no pattern can make explode.
 *
 * A pattern is a list of runs of components with "**" between them. Since whatever lies below a match matches too, only
 * the beginning of a path has to be matched: the first run where the pattern is anchored, every other one at the first
 * place where it fits. Nothing is ever tried again, neither by recursion nor by going back over a "**". Within one name
 * the same holds for "*". */
#define _GNU_SOURCE
#include "policy/glob.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob_reader.h"

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

/* Passes over a set, or says what is wrong with it. */
static int pass_set(struct glob_reader *reader, abatis_error *err)
{
        const char *open = reader->text + reader->at;
        uint32_t low, high;

        glob_begin_set(reader);
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
                if (!glob_next_member(reader, is_first, &low, &high))
                        return 0;
                if (low > high)
                        return error_set(err, ABATIS_E_INVALID,
                                         "'%s': the range '%.*s' is the wrong way round", reader->pattern,
                                         (int)(reader->text + reader->at - member), member);
        }
}

static int pass_star(struct glob_reader *reader, abatis_error *err)
{
        reader->at++;
        if (reader->at < reader->length && reader->text[reader->at] == '*')
                return error_set(err, ABATIS_E_INVALID,
                                 "'%s': '**' stands for whole directories, alone between slashes",
                                 reader->pattern);
        return 0;
}

/* Finds out what kind of component this is. */
static int examine(struct glob_reader *reader, struct glob_part *out, abatis_error *err)
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
                        glob_next_character(reader);
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
                struct glob_reader reader = { .pattern = glob->text };
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
