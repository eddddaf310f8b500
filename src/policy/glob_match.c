/* glob_match.c: matches patterns with resolved paths. The broker does it too, between clone and exec: nothing is called here
 * that is not defined here or in base/character.c. */
#define _GNU_SOURCE
#include "base/character.h"
#include "policy/glob.h"
#include "policy/glob_reader.h"

uint32_t glob_next_character(struct glob_reader *reader)
{
        uint32_t character;

        reader->at += text_character(reader->text + reader->at, reader->length - reader->at, &character);
        return character;
}

bool glob_begin_set(struct glob_reader *reader)
{
        bool is_negated;

        reader->at++;
        is_negated = reader->at < reader->length && reader->text[reader->at] == '!';
        reader->at += is_negated;
        return is_negated;
}

bool glob_next_member(struct glob_reader *reader, bool is_first, uint32_t *low, uint32_t *high)
{
        if (reader->text[reader->at] == ']' && !is_first) {
                reader->at++;
                return false;
        }
        *low = *high = glob_next_character(reader);
        if (reader->at + 1 < reader->length && reader->text[reader->at] == '-' &&
            reader->text[reader->at + 1] != ']') {
                reader->at++;
                *high = glob_next_character(reader);
        }
        return true;
}

static bool is_in_set(struct glob_reader *reader, uint32_t character)
{
        bool is_negated = glob_begin_set(reader), is_member = false;
        uint32_t low, high;

        for (bool is_first = true; glob_next_member(reader, is_first, &low, &high); is_first = false)
                is_member |= character >= low && character <= high;
        return is_member != is_negated;
}

/* Matches one character of a name with what the pattern has next, which is no "*". */
static bool matches_character(struct glob_reader *pattern, uint32_t character)
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
        return glob_next_character(pattern) == character;
}

static bool matches_wild(const struct glob_part *part, const char *text, size_t length)
{
        struct glob_reader pattern = { .text = part->text, .length = part->length };
        struct glob_reader name = { .text = text, .length = length };
        size_t behind_star = SIZE_MAX, first_try = 0;

        while (name.at < name.length) {
                if (pattern.at < pattern.length && pattern.text[pattern.at] == '*') {
                        behind_star = ++pattern.at;
                        first_try = name.at;
                        continue;
                }
                if (matches_character(&pattern, glob_next_character(&name)))
                        continue;
                if (behind_star == SIZE_MAX)
                        return false;
                /* Let the last star take one character more. Earlier stars need not: what they could give to this one,
                 * it can take by itself. */
                name.at = first_try;
                glob_next_character(&name);
                first_try = name.at;
                pattern.at = behind_star;
        }
        while (pattern.at < pattern.length && pattern.text[pattern.at] == '*')
                pattern.at++;
        return pattern.at == pattern.length;
}

static bool has_bytes(const char *name, const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (name[i] != text[i])
                        return false;
        return true;
}

static bool matches_name(const struct glob_part *part, const char *name, size_t length)
{
        if (length < part->least || (part->last && name[length - 1] != part->last))
                return false;
        if (part->kind == GLOB_WILD)
                return matches_wild(part, name, length);
        return length == part->length && has_bytes(name, part->text, length);
}

/* The component at or after `at`; *length is 0 when the path has no more. */
static const char *component(const char *at, size_t *length)
{
        while (*at == '/')
                at++;
        for (*length = 0; at[*length] && at[*length] != '/';)
                ++*length;
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

bool glob_leads_through(const struct glob *glob, const char *path)
{
        const char *at = path;
        size_t part = 0;

        return fit_run(glob, &part, &at) == ENDS_BEFORE;
}

bool glob_may_match_below(const struct glob *glob, const char *directory)
{
        const char *at = directory;
        size_t part = 0;

        /* From the first "**" on, anything may follow. */
        return fit_run(glob, &part, &at) != FITS_NOT;
}
