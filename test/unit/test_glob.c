/* test_glob.c: patterns mean what docs/POLICY.md says, refuse what they cannot mean, and never explode. */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/path.h"
#include "policy/glob.h"
#include "scratch.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void compile(const char *pattern, struct glob *out)
{
        abatis_error err;

        if (glob_compile(pattern, out, &err) < 0)
                fail_msg("'%s': %s", pattern, err.message);
}

static bool matches(const char *pattern, const char *path)
{
        struct glob glob;
        bool result;

        compile(pattern, &glob);
        result = glob_matches(&glob, path);
        glob_done(&glob);
        return result;
}

struct example {
        const char *pattern, *path;
};

static void assert_all(const struct example *examples, size_t count, bool expected)
{
        for (size_t i = 0; i < count; i++)
                if (matches(examples[i].pattern, examples[i].path) != expected)
                        fail_msg("'%s' %s '%s'", examples[i].pattern, expected ? "misses" : "matches",
                                 examples[i].path);
}

/* ---- meaning -------------------------------------------------------------------------------------------- */

static void the_examples_of_the_documentation_match(void **state)
{
        static const struct example yes[] = {
                { "**/.env", "/.env" },     { "**/.env", "/home/u/project/.env" },
                { "*.pem", "/key.pem" },    { "*.pem", "/etc/ssl/private/key.pem" },
                { "*.pem", "/.pem" },       { "/srv/*/key", "/srv/a/key" },
                { "**/a/b", "/a/b" },       { "**/a/b", "/x/y/a/b" },
                { "**/a/b", "/a/a/b" },     { "/a/**/b", "/a/b" },
                { "/a/**/b", "/a/x/b" },    { "/a/**/b", "/a/x/y/z/b" },
                { ".env", "/home/u/.env" }, { "/srv/data", "/srv/data" },
        };
        static const struct example no[] = {
                { "**/.env", "/home/u/.envrc" },
                { "**/.env", "/home/u/x.env" },
                { "*.pem", "/key.pem2" },
                { "*.pem", "/pem" },
                { "/srv/*/key", "/srv/key" },
                { "/srv/*/key", "/srv/a/b/key" },
                { "/srv/*/key", "/x/srv/a/key" },
                { "**/a/b", "/a/x/b" },
                { "**/a/b", "/xa/b" },
                { "/a/**/b", "/a" },
                { "/a/**/b", "/b" },
                { "/a/**/b", "/x/a/b" },
                { ".env", "/home/u" },
                { "/srv/data", "/srv/database" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void what_matches_a_directory_holds_for_everything_below(void **state)
{
        static const struct example yes[] = {
                { "**/.env", "/w/.env/a" },
                { "**/.env", "/w/.env/a/b/c" },
                { "*.d", "/etc/conf.d/x/y" },
                { "/srv/*/key", "/srv/a/key/b" },
                { "/srv/*", "/srv/a/b/c" },
                { "/s?v", "/srv/a" },
                { "/srv", "/srv/a/b" },
                { "/", "/" },
                { "/", "/a" },
        };
        static const struct example no[] = {
                { "/srv/*", "/srv" },
                { "/srv/*", "/" },
                { "*", "/" },
                { "/srv/*/key", "/srv/a" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void two_stars_stand_for_any_number_of_directories(void **state)
{
        static const struct example yes[] = {
                { "**", "/a" },
                { "**", "/a/b" },
                { "/**", "/a" },
                { "/**/", "/a/b" },
                { "/a/**", "/a/b" },
                { "/a/**", "/a/b/c" },
                { "**/x/**", "/x/y" },
                { "**/x/**", "/a/x/y/z" },
                { "/**/x", "/x" },
                { "/**/**/x", "/a/x" },
                { "**/**/**/x", "/x" },
                { "/a/**/b/**/c", "/a/b/c" },
                { "/a/**/b/**/c", "/a/1/b/2/3/c/4" },
                { "/a/**/b/c/**/d", "/a/b/x/b/c/y/d" },
                { "/**/a*/b", "/a1/a2/b" },
        };
        static const struct example no[] = {
                { "**", "/" },
                { "/a/**", "/a" },
                { "/a/**", "/ab/c" },
                { "**/x/**", "/x" },
                { "**/x/**", "/a/y/z" },
                { "/a/**/b/**/c", "/a/c/b" },
                { "/a/**/b/c/**/d", "/a/b/d" },
                { "/a/**/b/c/**/d", "/a/d/b/c" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void a_star_stays_within_its_name(void **state)
{
        static const struct example yes[] = {
                { "/a*c", "/ac" },      { "/a*c", "/abc" },     { "/a*c", "/a*c" },
                { "/*", "/.hidden" },   { "/a*b*c", "/aXbYc" }, { "/a*b*c", "/abbc" },
                { "/*a*", "/banana" },  { "/*ana", "/banana" }, { "/*an*an*", "/banana" },
                { "/*a?*", "/banana" }, { "/*.*", "/.x" },      { "/*", "/ " },
                { "/a*", "/a/b/c" },    { "/*/*", "/a/b" },     { "/*-*", "/-" },
                { "/*ab", "/aab" },     { "/*aab", "/aaab" },   { "/a*a", "/aa" },
        };
        static const struct example no[] = {
                { "/a*c", "/a/c" }, { "/a*c", "/ab" }, { "/a*b*c", "/acb" }, { "/*an*an*an*", "/banana" },
                { "/a*a", "/a" },   { "/*/*", "/a" },  { "/?*?", "/a" },     { "/*ab", "/aba" },
                { "/a*", "/b/a" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void sets_hold_what_is_written_in_them(void **state)
{
        static const struct example yes[] = {
                { "/[abc]", "/b" },     { "/[a-c]", "/b" },     { "/[a-c]", "/a" },   { "/[a-c]", "/c" },
                { "/[!a-c]", "/d" },    { "/[!a-c]", "/-" },    { "/[]a]", "/]" },    { "/[]a]", "/a" },
                { "/[!]a]", "/b" },     { "/[-a]", "/-" },      { "/[a-]", "/-" },    { "/[a-]", "/a" },
                { "/[!-a]", "/b" },     { "/[!-]", "/a" },      { "/[]-a]", "/^" },   { "/[a!]", "/!" },
                { "/[a^]", "/^" },      { "/[*]", "/*" },       { "/[?]", "/?" },     { "/[[]", "/[" },
                { "/x[0-9]y", "/x7y" }, { "/[a-cx-z]", "/y" },  { "/[\\]", "/\\" },   { "/[a][b]", "/ab" },
                { "/*[0-9]", "/abc1" }, { "/[.]env", "/.env" }, { "/[ ]", "/ " },     { "/[!!]", "/a" },
                { "/[a-a]", "/a" },     { "/[--0]", "/." },     { "/[a-c-e]", "/-" }, { "/[a-c-e]", "/e" },
        };
        static const struct example no[] = {
                { "/[abc]", "/d" },    { "/[abc]", "/ab" },  { "/[a-c]", "/-" }, { "/[!a-c]", "/b" },
                { "/[]a]", "/b" },     { "/[!]a]", "/]" },   { "/[!]a]", "/a" }, { "/[a-]", "/b" },
                { "/[*]", "/a" },      { "/[?]", "/a" },     { "/[!a]", "/" },   { "/[!a]", "/ab" },
                { "/x[0-9]y", "/xy" }, { "/[a-c-e]", "/d" }, { "/[A-Z]", "/a" }, { "/[!!]", "/!" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void a_question_mark_and_a_set_take_one_character_of_utf8(void **state)
{
        static const struct example yes[] = {
                { "/?", "/a" },
                { "/?", "/\xc3\xa9" },
                { "/??", "/\xc3\xa9z" },
                { "/?", "/\xe2\x82\xac" },
                { "/?", "/\xf0\x9f\x94\x91" },
                { "/[\xc3\xa0-\xc3\xbf]", "/\xc3\xa9" },
                { "/[!a]", "/\xc3\xa9" },
                { "/[\xf0\x9f\x94\x90-\xf0\x9f\x94\x92]", "/\xf0\x9f\x94\x91" },
                { "/*\xc3\xa9*", "/caf\xc3\xa9s" },
                /* What is no UTF-8 counts byte by byte. */
                { "/?", "/\xff" },
                { "/??", "/\xff\xfe" },
                { "/??", "/\xe2\x82" },
                { "/[\xff]", "/\xff" },
                { "/[!\xff]", "/\xfe" },
                { "/*", "/\xff\xfe" },
                { "/a\xff*", "/a\xff\xc3\xa9" },
        };
        static const struct example no[] = {
                { "/??", "/\xc3\xa9" },
                { "/?", "/\xc3\xa9z" },
                { "/?", "/\xff\xfe" },
                { "/[\xc3\xa0-\xc3\xbf]", "/\xc4\x80" },
                { "/[!\xc3\xa9]", "/\xc3\xa9" },
                /* Half a character is not in a whole one. */
                { "/*\xa9", "/\xc3\xa9" },
                { "/*?\xa9", "/x\xc3\xa9" },
                { "/[\xa9\xc3]?", "/\xc3\xa9" },
                { "/[!\xff]", "/\xff" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_all(no, COUNT(no), false);
}

static void every_other_character_stands_for_itself(void **state)
{
        static const char *const names[] = { "a b",      "'q'",  "\"q\"",   "{a,b}", "\\x", "new\nline",
                                             "$(x)",     "~",    "${home}", "!a",    "^a$", "a|b",
                                             "(a)",      "a+",   "#a",      "]",     "-",   "a]",
                                             "\x01\x7f", "%s%n", "&",       ";",     "\t" };

        (void)state;
        for (size_t i = 0; i < COUNT(names); i++) {
                char path[64], longer[64];

                snprintf(path, sizeof(path), "/dir/%s", names[i]);
                snprintf(longer, sizeof(longer), "/dir/x%s", names[i]);
                assert_false(glob_has_magic(path));
                assert_true(matches(path, path));
                assert_true(matches(names[i], path));
                assert_false(matches(names[i], longer));
                snprintf(longer, sizeof(longer), "/d*/%s*", names[i]);
                assert_true(matches(longer, path));
        }
        assert_false(matches("/{a,b}", "/a"));
        assert_false(matches("/\\*", "/*"));
        assert_true(matches("/\\*", "/\\x"));
}

static void needless_slashes_and_dots_mean_nothing(void **state)
{
        static const struct example yes[] = {
                { "//srv///*//", "/srv/a" }, { "/./srv/./*/.", "/srv/a" }, { "**//x", "/a/x" },
                { "**/./x", "/a/x" },        { "/.../x", "/.../x" },       { "/srv/*/", "/srv/a/b" },
        };

        (void)state;
        assert_all(yes, COUNT(yes), true);
        assert_false(matches("//srv///*//", "/srv"));
}

/* ---- refusals ------------------------------------------------------------------------------------------- */

static void what_cannot_be_meant_is_refused_with_its_reason(void **state)
{
        static const struct {
                const char *pattern, *says;
        } cases[] = {
                { NULL, "empty" },
                { "", "empty" },
                { ".", "nothing" },
                { "a/b", "relative" },
                { "a/*", "relative" },
                { "./*.c", "relative" },
                { "~/*.pem", "relative" },
                { "*/a", "relative" },
                { "a/**", "relative" },
                { "*.pem/", "relative" },
                { "***/a", "relative" },
                { "a**/b", "relative" },
                { "..", ".." },
                { "/../*", ".." },
                { "/a/../*", ".." },
                { "**/..", ".." },
                { "***", "**" },
                { "**.pem", "**" },
                { "a**", "**" },
                { "/a/**b", "**" },
                { "/a**b", "**" },
                { "/a/***/b", "**" },
                { "/?**", "**" },
                { "/[", "[[]" },
                { "/[a", "[[]" },
                { "/[]", "[[]" },
                { "/[!]", "[[]" },
                { "/[a/b]", "[[]" },
                { "/a[b/c]d", "[[]" },
                { "[", "[[]" },
                { "/[a-", "[[]" },
                { "/[^a]", "[!" },
                { "/[^]", "[!" },
                { "/[[:alpha:]]", "[:alpha:]" },
                { "/[a[.x.]]", "[:alpha:]" },
                { "/[z-a]", "z-a" },
                { "/[b\xc3\xa9-a]", "\xc3\xa9-a" },
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct glob untouched = { .count = 77 };
                abatis_error err = { 0 };

                if (glob_compile(cases[i].pattern, &untouched, &err) != ABATIS_E_INVALID)
                        fail_msg("'%s' was accepted", cases[i].pattern);
                assert_int_equal(err.code, ABATIS_E_INVALID);
                if (!strstr(err.message, cases[i].says))
                        fail_msg("'%s': '%s' does not say '%s'", cases[i].pattern, err.message,
                                 cases[i].says);
                assert_int_equal(untouched.count, 77);
                assert_null(untouched.text);
                assert_int_equal(glob_compile(cases[i].pattern, &untouched, NULL), ABATIS_E_INVALID);
        }
}

static void what_is_longer_than_any_name_or_path_is_refused(void **state)
{
        static char pattern[PATH_LONGEST + 8] = "/";
        struct glob glob;

        (void)state;
        memset(pattern + 1, 'n', NAME_MAX);
        assert_int_equal(glob_compile(pattern, &glob, NULL), 0);
        assert_true(glob_matches(&glob, pattern));
        glob_done(&glob);
        strcat(pattern, "*");
        assert_int_equal(glob_compile(pattern, &glob, NULL), 0);
        glob_done(&glob);
        strcat(pattern, "n");
        assert_int_equal(glob_compile(pattern, &glob, NULL), ABATIS_E_INVALID);

        for (size_t i = 0; i <= PATH_LONGEST; i++)
                pattern[i] = i % 2 ? 'n' : '/';
        pattern[PATH_LONGEST] = '\0';
        assert_int_equal(glob_compile(pattern, &glob, NULL), 0);
        assert_true(glob_matches(&glob, pattern));
        glob_done(&glob);
        pattern[PATH_LONGEST] = 'n';
        pattern[PATH_LONGEST + 1] = '\0';
        assert_int_equal(glob_compile(pattern, &glob, NULL), ABATIS_E_INVALID);
}

static void a_newline_is_matched_like_any_other_character(void **state)
{
        static const struct {
                const char *pattern, *path;
                bool matches;
        } cases[] = {
                { "*", "/\n", true },
                { "/a/*", "/a/\n", true },
                { "/a/*", "/a\n/b", false },
                { "/a/?", "/a/\n", true },
                { "/a/?", "/a/\n\n", false },
                { "/a/x?y", "/a/x\ny", true },
                { "/a/[!b]", "/a/\n", true },
                { "/a/[\n]", "/a/\n", true },
                { "/a/[!\n]", "/a/\n", false },
                { "/a/[\t-\r]", "/a/\n", true },
                { "**/.env", "/\n/.env", true },
                { "**/.env", "/x/\n\n/y\n/.env", true },
                { "**/.env", "/x/.env\n", false },
                { "**/.env", "/x/\n.env", false },
                { "*.pem", "/x/a\nb.pem", true },
                { "*.pem", "/x/a.pem\n", false },
                { "*\n", "/x/a.pem\n", true },
                { "/a/**", "/a/\n/b", true },
                { "/a\nb/**/c", "/a\nb/\n/c", true },
                { "/a\nb/**/c", "/a/b/\n/c", false },
        };

        (void)state;
        for (size_t i = 0; i < COUNT(cases); i++) {
                struct glob glob;

                assert_int_equal(glob_compile(cases[i].pattern, &glob, NULL), 0);
                if (glob_matches(&glob, cases[i].path) != cases[i].matches)
                        fail_msg("case %zu: '%s' and '%s'", i, cases[i].pattern, cases[i].path);
                glob_done(&glob);
        }
}

/* ---- beside the pattern --------------------------------------------------------------------------------- */

static void a_text_with_magic_is_known_and_can_be_quoted(void **state)
{
        static const char *const texts[] = { "/srv/[x]*?", "/a",    "/[",   "/]",
                                             "/[!a]",      "/**/x", "/a-b", "/[[:x:]]" };

        (void)state;
        assert_true(glob_has_magic("*"));
        assert_true(glob_has_magic("/a/?"));
        assert_true(glob_has_magic("/[a"));
        assert_false(glob_has_magic(""));
        assert_false(glob_has_magic("/a/]b{c}\\!^-"));
        for (size_t i = 0; i < COUNT(texts); i++) {
                char *quoted = glob_quote(texts[i]), other[64];

                assert_non_null(quoted);
                assert_true(matches(quoted, texts[i]));
                snprintf(other, sizeof(other), "%sx", texts[i]);
                assert_false(matches(quoted, other));
                free(quoted);
        }
        assert_true(matches("/srv/[[]x][*][?]", "/srv/[x]*?"));
        assert_false(matches("/srv/[[]x][*][?]", "/srv/xab"));
}

static void a_directory_without_a_chance_is_known(void **state)
{
        static const struct example yes[] = {
                { "**/.env", "/" },
                { "*.pem", "/anything/at/all" },
                { "/srv/*/key", "/" },
                { "/srv/*/key", "/srv" },
                { "/srv/*/key", "/srv/a" },
                { "/srv/*/key", "/srv/a/key" },
                { "/srv/**", "/srv" },
                { "/srv/**/x", "/srv/a/b" },
                { "/srv/*/key", "/srv/a/key/b" },
                { "/s*/x", "/srv" },
                { "/", "/a" },
                { "/a/[xy]/**/c", "/a/y/z" },
        };
        static const struct example no[] = {
                { "/srv/*/key", "/home" },
                { "/srv/*/key", "/srv/a/other" },
                { "/srv/*/key", "/srv/a/keys/b" },
                { "/srv/**", "/home/u" },
                { "/s*/x", "/home" },
                { "/a/[xy]/**/c", "/a/z" },
        };

        (void)state;
        for (size_t i = 0; i < COUNT(yes) + COUNT(no); i++) {
                const struct example *example = i < COUNT(yes) ? &yes[i] : &no[i - COUNT(yes)];
                struct glob glob;

                compile(example->pattern, &glob);
                if (glob_may_match_below(&glob, example->path) != (i < COUNT(yes)))
                        fail_msg("'%s' below '%s'", example->pattern, example->path);
                glob_done(&glob);
        }
}

/* ---- against a second opinion --------------------------------------------------------------------------- */

/* The same definition without any thought for speed: names by fnmatch(), "**" by trying everything. */
static bool tries_all(char *const *parts, char *const *names)
{
        if (!*parts)
                return true;
        if (strcmp(*parts, "**") != 0)
                return *names && !fnmatch(*parts, *names, FNM_NOESCAPE) && tries_all(parts + 1, names + 1);
        if (!parts[1])
                return *names;
        for (;; names++) {
                if (tries_all(parts + 1, names))
                        return true;
                if (!*names)
                        return false;
        }
}

static void split(char *text, char **out)
{
        char *rest = NULL;

        for (char *part = strtok_r(text, "/", &rest); part; part = strtok_r(NULL, "/", &rest))
                *out++ = part;
        *out = NULL;
}

static bool second_opinion(const char *pattern, const char *path)
{
        char pattern_text[256], path_text[256], *parts[64], *names[64];

        snprintf(pattern_text, sizeof(pattern_text), "%s%s", *pattern == '/' ? "" : "**/", pattern);
        snprintf(path_text, sizeof(path_text), "%s", path);
        split(pattern_text, parts);
        split(path_text, names);
        return tries_all(parts, names);
}

static uint32_t next_random(uint32_t *state)
{
        *state ^= *state << 13;
        *state ^= *state >> 17;
        *state ^= *state << 5;
        return *state;
}

static void make_random(uint32_t *state, const char *const *pieces, size_t count, unsigned most, char *out)
{
        unsigned wanted = 1 + next_random(state) % most;

        *out = '\0';
        for (unsigned i = 0; i < wanted; i++)
                strcat(out, pieces[next_random(state) % count]);
}

static void random_patterns_agree_with_fnmatch(void **state)
{
        static const char *const pieces[] = { "/",    "/",     "/**",    "/**/", "*",    "*",
                                              "?",    "a",     "b",      "ab",   "[ab]", "[!a]",
                                              "[]a]", "[a-c]", "[!a-b]", "[-a]", "[a-]", "." };
        static const char *const names[] = { "/", "/", "/a", "/b", "a", "b", "ab", "c", "-", "]", "!" };
        uint32_t random = 88172645;
        unsigned compiled = 0, matched = 0, prunable = 0;

        (void)state;
        for (unsigned i = 0; i < 30000; i++) {
                char pattern[256] = "/", path[256] = "/";
                struct glob glob;

                make_random(&random, pieces, COUNT(pieces), 10, pattern + (i % 4 != 0));
                if (glob_compile(pattern, &glob, NULL) < 0)
                        continue;
                /* The second opinion knows nothing of needless dots. */
                for (unsigned j = 0; j < 20 && !strstr(pattern, "/.") && *pattern != '.'; j++) {
                        bool is_match;
                        char *slash;

                        make_random(&random, names, COUNT(names), 12, path + 1);
                        is_match = glob_matches(&glob, path);
                        if (is_match != second_opinion(pattern, path))
                                fail_msg("'%s' and '%s': %d", pattern, path, is_match);
                        matched += is_match;
                        compiled++;
                        /* Where something matches, no directory above may have been ruled out. */
                        while ((slash = strrchr(path, '/'))) {
                                bool may = glob_may_match_below(&glob, slash == path ? "/" : path);

                                if (is_match && !may)
                                        fail_msg("'%s' rules out '%s'", pattern, path);
                                prunable += !may;
                                *slash = '\0';
                        }
                        *path = '/';
                }
                glob_done(&glob);
        }
        /* Both answers were seen often enough to mean something. */
        assert_true(compiled > 50000 && matched > compiled / 20 && matched < compiled - compiled / 20);
        assert_true(prunable > 1000);
}

/* ---- hostile patterns ----------------------------------------------------------------------------------- */

enum { LONG = 64 * 1024 };

/* A path of LONG bytes that repeats a text, with an end of its own. */
static char *make_long(const char *repeated, const char *end)
{
        size_t step = strlen(repeated), used = 0;
        char *path = malloc(LONG + 64);

        assert_non_null(path);
        path[used++] = '/';
        for (; used + step < LONG; used += step)
                memcpy(path + used, repeated, step);
        strcpy(path + used, end);
        return path;
}

static void no_pattern_takes_long_on_a_path_of_64_kib(void **state)
{
        static const char *const patterns[] = { "*a*a*a*a*a*b",
                                                "/*a*a*a*a*a*b",
                                                "**/**/**/x",
                                                "/**/a/**/a/**/a/**/a/**/b",
                                                "/**/*/**/*/**/*/**/*/**/b",
                                                "**/*a*/**/*a*/**/*a*b",
                                                "**/a/a/a/a/a/a/a/a/a/a/a/a/a/b",
                                                "*?*?*?*?*?*?*?*?b",
                                                "*[!b]*[!b]*[!b]*[!b]*[!b]b",
                                                "*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" };
        char *paths[] = { make_long("a", ""), make_long("a/", "a"), make_long("aaaaaaaa/", "a"),
                          make_long("/", "") };
        char *hits[] = { make_long("a", "b"), make_long("a/", "b") };
        clock_t start = clock();
        char widest[NAME_MAX + 8] = "/*";

        (void)state;
        for (size_t i = 0; i < COUNT(patterns); i++)
                for (size_t j = 0; j < COUNT(paths); j++)
                        assert_false(matches(patterns[i], paths[j]));
        memset(widest + 2, 'a', 100);
        strcat(widest, "b");
        for (size_t j = 0; j < COUNT(paths); j++)
                assert_false(matches(widest, paths[j]));
        /* And they are found where there is something to find. */
        assert_true(matches(patterns[0], hits[0]));
        assert_true(matches(patterns[3], hits[1]));
        assert_true(matches(widest, hits[0]));
        /* Milliseconds by themselves; valgrind and a busy machine may take a while. */
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 30);
        for (size_t j = 0; j < COUNT(paths); j++)
                free(paths[j]);
        for (size_t j = 0; j < COUNT(hits); j++)
                free(hits[j]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_examples_of_the_documentation_match),
                cmocka_unit_test(what_matches_a_directory_holds_for_everything_below),
                cmocka_unit_test(two_stars_stand_for_any_number_of_directories),
                cmocka_unit_test(a_star_stays_within_its_name),
                cmocka_unit_test(sets_hold_what_is_written_in_them),
                cmocka_unit_test(a_question_mark_and_a_set_take_one_character_of_utf8),
                cmocka_unit_test(every_other_character_stands_for_itself),
                cmocka_unit_test(needless_slashes_and_dots_mean_nothing),
                cmocka_unit_test(what_cannot_be_meant_is_refused_with_its_reason),
                cmocka_unit_test(what_is_longer_than_any_name_or_path_is_refused),
                cmocka_unit_test(a_newline_is_matched_like_any_other_character),
                cmocka_unit_test(a_text_with_magic_is_known_and_can_be_quoted),
                cmocka_unit_test(a_directory_without_a_chance_is_known),
                cmocka_unit_test(random_patterns_agree_with_fnmatch),
                cmocka_unit_test(no_pattern_takes_long_on_a_path_of_64_kib),
        };

        return cmocka_run_group_tests_name("glob", tests, NULL, NULL);
}
