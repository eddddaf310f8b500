/* seatbelt_words.c: how strings, paths and patterns are said in a profile for macOS's Seatbelt.
 *
 * A profile is a program in a small Scheme: whoever gets a quote into it writes the policy. Its regular expressions know no
 * more for certain than sets, groups, "|", "*", "+" and "?"; nothing here depends on whether they see bytes or characters. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "backend/seatbelt.h"
#include "policy/glob_reader.h"

/* Where the disk's writable half is mounted; links that no program sees lead there from the root's directories. */
#define DATA_VOLUME "/System/Volumes/Data"

enum { FIRST_PRINTABLE = ' ', LAST_PRINTABLE = '~' };

static bool is_printable(uint32_t character)
{
        return character >= FIRST_PRINTABLE && character <= LAST_PRINTABLE;
}

static bool is_sayable(const char *string)
{
        for (const unsigned char *at = (const unsigned char *)string; *at; at++)
                if (*at < FIRST_PRINTABLE || *at == 0x7f)
                        return false;
        return text_is_utf8(string, strlen(string));
}

bool seatbelt_quote(struct text *out, const char *string)
{
        if (!is_sayable(string))
                return false;
        text_add(out, "\"");
        for (; *string; string++) {
                if (*string == '"' || *string == '\\')
                        text_add(out, "\\");
                text_add_bytes(out, string, 1);
        }
        text_add(out, "\"");
        return true;
}

/* ---- paths ----------------------------------------------------------------------------------------------- */

static const char *const linked[] = { "/tmp", "/var", "/etc" }; /* to the same name in /private */

char *seatbelt_canonical(const char *real)
{
        if (path_is_below(real, DATA_VOLUME))
                real += strlen(DATA_VOLUME);
        for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); i++)
                if (path_is_below(real, linked[i]))
                        return text_join("/private", real, "");
        return strdup(*real ? real : "/");
}

static bool add_filter(struct text *out, const char *name, const char *string)
{
        OWN_TEXT struct text filter = { 0 };
        bool is_said;

        text_addf(&filter, " (%s ", name);
        is_said = seatbelt_quote(&filter, string);
        text_add(&filter, ")");
        out->has_failed |= filter.has_failed;
        if (is_said && filter.data)
                text_add(out, filter.data);
        return is_said;
}

static bool add_exactly(struct text *out, const char *canonical, bool with_tree)
{
        return add_filter(out, "literal", canonical) && (!with_tree || add_filter(out, "subpath", canonical));
}

/* A letter of ASCII stands for both of its cases: most disks of Macs take them for the same. */
static void add_character(struct text *regex, char character)
{
        char lower = (char)(character | 0x20);

        if (lower >= 'a' && lower <= 'z')
                text_addf(regex, "[%c%c]", lower, lower & ~0x20);
        else {
                if (strchr("\\^$.|?*+()[]{}", character))
                        text_add(regex, "\\");
                text_add_bytes(regex, &character, 1);
        }
}

static void add_characters(struct text *regex, const char *characters)
{
        for (; *characters; characters++)
                add_character(regex, *characters);
}

static void begin_regex(struct text *regex)
{
        text_add(regex, "^(");
        add_characters(regex, DATA_VOLUME);
        text_add(regex, ")?");
}

static bool add_regex(struct text *out, struct text *regex, bool with_tree)
{
        text_add(regex, with_tree ? "(/|$)" : "$");
        out->has_failed |= regex->has_failed;
        return !regex->has_failed && add_filter(out, "regex", regex->data);
}

/* The kernel compares what it calls the file: as the disk has its name, once it has one, and by the shorter of the disk's two
 * names. So others have measured it, for some versions of macOS; here the rest is refused, too. */
static bool add_spelled(struct text *out, const char *canonical, bool with_tree)
{
        OWN_TEXT struct text regex = { 0 };

        if (!add_exactly(out, canonical, with_tree))
                return false;
        begin_regex(&regex);
        add_characters(&regex, canonical[1] ? canonical : "");
        return add_regex(out, &regex, with_tree);
}

static bool add_path(struct text *out, const char *real, bool with_tree,
                     bool (*add)(struct text *, const char *, bool))
{
        char *canonical = seatbelt_canonical(real);
        bool is_said = canonical && add(out, canonical, with_tree);

        out->has_failed |= !canonical;
        free(canonical);
        return is_said;
}

bool seatbelt_add_itself(struct text *out, const char *real)
{
        return add_path(out, real, false, add_exactly);
}

bool seatbelt_add_tree(struct text *out, const char *real)
{
        return add_path(out, real, true, add_exactly);
}

bool seatbelt_add_itself_spelled(struct text *out, const char *real)
{
        return add_path(out, real, false, add_spelled);
}

bool seatbelt_add_tree_spelled(struct text *out, const char *real)
{
        return add_path(out, real, true, add_spelled);
}

/* ---- patterns -------------------------------------------------------------------------------------------- */

/* One character of a name, as far as it is printable ASCII. Others come in runs: how many they are depends on who counts, so
 * a whole run counts for one, which refuses more and never less. */
#define OTHERS "[^ -~]+"
#define ANY_ONE "([ -.0-~]|" OTHERS ")"

/* What is a member by itself: at the end of a range it would be taken for something else. */
static bool is_special(int character)
{
        return character == '[' || character == ']' || character == '^' || character == '-' ||
               character == '\\';
}

static void add_alternative(struct text *regex, bool *has_any)
{
        text_add(regex, *has_any ? "|" : "(");
        *has_any = true;
}

static void add_single(struct text *regex, int character, bool *has_any)
{
        char single = (char)character;

        add_alternative(regex, has_any);
        if (strchr("\\^$.|?*+()[]{}", single))
                text_add(regex, "\\");
        text_add_bytes(regex, &single, 1);
}

/* All characters from `first` to `last` are members. */
static void add_range(struct text *regex, int first, int last, bool *has_any)
{
        for (; first <= last && is_special(first); first++)
                add_single(regex, first, has_any);
        for (; first <= last && is_special(last); last--)
                add_single(regex, last, has_any);
        if (first == last)
                add_single(regex, first, has_any);
        if (first < last) {
                add_alternative(regex, has_any);
                text_addf(regex, "[%c-%c]", first, last);
        }
}

/* Both cases of what the set has; but of a set that is turned round, just what it says. */
static bool has_member(const bool *members, bool is_negated, int character)
{
        int lower = character | 0x20;

        if (character == '/')
                return false;
        if (is_negated)
                return !members[character];
        return members[character] ||
               (lower >= 'a' && lower <= 'z' && (members[lower] || members[lower & ~0x20]));
}

static bool add_set(struct text *regex, struct glob_reader *reader)
{
        bool members[LAST_PRINTABLE + 1] = { false }, is_negated = glob_begin_set(reader), has_any = false;
        uint32_t low, high;

        for (bool is_first = true; glob_next_member(reader, is_first, &low, &high); is_first = false) {
                if (!is_printable(low) || !is_printable(high))
                        return false;
                for (; low <= high; low++)
                        members[low] = true;
        }
        for (int first = FIRST_PRINTABLE; first <= LAST_PRINTABLE; first++) {
                int last = first;

                if (!has_member(members, is_negated, first))
                        continue;
                while (last < LAST_PRINTABLE && has_member(members, is_negated, last + 1))
                        last++;
                add_range(regex, first, last, &has_any);
                first = last;
        }
        if (is_negated) {
                add_alternative(regex, &has_any);
                text_add(regex, OTHERS);
        }
        text_add(regex, ")");
        return has_any;
}

static bool add_name(struct text *regex, const struct glob_part *part)
{
        struct glob_reader reader = { .text = part->text, .length = part->length };

        text_add(regex, "/");
        while (reader.at < reader.length) {
                char next = part->kind == GLOB_WILD ? reader.text[reader.at] : '\0';
                uint32_t character;

                if (next == '*' || next == '?') {
                        text_add(regex, next == '*' ? "[^/]*" : ANY_ONE);
                        reader.at++;
                        continue;
                }
                if (next == '[') {
                        if (!add_set(regex, &reader))
                                return false;
                        continue;
                }
                character = glob_next_character(&reader);
                if (!is_printable(character))
                        return false;
                add_character(regex, (char)character);
        }
        return true;
}

static bool is_name(const struct glob *glob, size_t part, const char *name)
{
        return part < glob->count && glob->parts[part].kind == GLOB_NAME &&
               glob->parts[part].length == strlen(name) &&
               !memcmp(glob->parts[part].text, name, strlen(name));
}

/* What seatbelt_canonical() does for a path. Returns how many parts it has done. */
static size_t begin_pattern(struct text *regex, const struct glob *glob)
{
        size_t done = 0;

        begin_regex(regex);
        if (is_name(glob, 0, "System") && is_name(glob, 1, "Volumes") && is_name(glob, 2, "Data"))
                done = 3;
        for (size_t i = 0; i < sizeof(linked) / sizeof(*linked); i++)
                if (is_name(glob, done, linked[i] + 1))
                        add_characters(regex, "/private");
        return done;
}

bool seatbelt_add_pattern(struct text *out, const struct glob *glob, size_t count, bool with_tree)
{
        OWN_TEXT struct text regex = { 0 };

        for (size_t i = begin_pattern(&regex, glob); i < count; i++) {
                bool is_last = i + 1 == count;

                switch (glob->parts[i].kind) {
                case GLOB_ANY_DEPTH:
                        text_add(&regex, is_last ? "/[^/]+" : "(/[^/]+)*");
                        break;
                case GLOB_NAME:
                case GLOB_WILD:
                        if (!add_name(&regex, &glob->parts[i]))
                                return false;
                        break;
                }
        }
        return add_regex(out, &regex, with_tree);
}
