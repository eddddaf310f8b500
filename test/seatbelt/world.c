/* world.c: a tree of files with hostile names, and random policies and paths that speak of it. */
#define _GNU_SOURCE
#include "world.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static uint64_t state;
static char *root;                                        /* owned */
static char *entries[4096], *directories[COUNT(entries)]; /* owned; owned by the former */
static size_t entry_count, directory_count;

static void die(const char *what, const char *which)
{
        fprintf(stderr, "%s '%s': %s\n", what, which, strerror(errno));
        exit(2);
}

void world_seed(uint64_t seed)
{
        state = seed * 0x9e3779b97f4a7c15 + 1;
        for (int i = 0; i < 4; i++)
                world_random(2);
}

unsigned world_random(unsigned limit)
{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (unsigned)((state >> 11) % limit);
}

bool world_chance(unsigned percent)
{
        return world_random(100) < percent;
}

/* ---- the tree -------------------------------------------------------------------------------------------- */

/* Each would do harm if it were taken for something else than a name. */
static const char *const hostile[] = { "q\"uote",
                                       "\")(allow default)(deny file-read* (literal \"",
                                       "(paren)",
                                       "back\\slash",
                                       "end\\",
                                       "\\\"both",
                                       "semi;colon",
                                       "#\"raw\"",
                                       "star*",
                                       "br[ack]et",
                                       "]",
                                       "dollar$",
                                       "caret^",
                                       "a|b",
                                       "plus+",
                                       "dot.s",
                                       "brace{2}",
                                       " space ",
                                       "new\nline",
                                       "bell\a",
                                       "\xff\xfe",
                                       "\xc3\xa9",
                                       "e\xcc\x81",
                                       "\xe2\x80\xae",
                                       "UPPER",
                                       "Mixed.Pem",
                                       "'apostrophe'",
                                       "`tick`",
                                       "{x}",
                                       "%s%n",
                                       "~" };

static const char *const plain_directories[] = {
        "ws",   "ws/a",      "ws/a/b",   "ws/a/b/c", "ws/ab",     "ws/.git",  "ws/.git/hooks", "ws/secret",
        "ws/b", "ws/b/a",    "other",    "other/a",  "other/a/b", "other/b",  "other/b/c",     "other/secret",
        "home", "home/.ssh", "home/bin", "deep",     "deep/a",    "deep/a/b", "deep/a/b/a",    "deep/a/b/a/b"
};

static const char *const file_names[] = { "x", "key.pem", ".env", "abc" };

char *world_join(const char *directory, const char *name)
{
        char *path = NULL;

        if (asprintf(&path, "%s/%s", directory, name) < 0)
                die("join", name);
        return path;
}

static char *below_root(const char *relative)
{
        return world_join(root, relative);
}

static void make_directory(const char *directory, bool with_files)
{
        if (mkdir(directory, 0755) < 0)
                die("mkdir", directory);
        for (size_t i = 0; i < COUNT(file_names) && with_files; i++) {
                char *path = world_join(directory, file_names[i]);
                FILE *file = fopen(path, "wx");

                if (!file || fclose(file))
                        die("make", path);
                free(path);
        }
}

static void make_hostile(const char *relative)
{
        char *above = below_root(relative);

        for (size_t i = 0; i < COUNT(hostile); i++) {
                char *path = world_join(above, hostile[i]);

                make_directory(path, i % 3 == 0);
                free(path);
        }
        free(above);
}

static void make_link(const char *relative, const char *target)
{
        char *path = below_root(relative);

        if (symlink(target, path) < 0)
                die("link", path);
        free(path);
}

static int note(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
        (void)status;
        (void)walk;
        if (entry_count == COUNT(entries))
                die("too many files", path);
        entries[entry_count] = strdup(path);
        if (!entries[entry_count])
                die("note", path);
        if (kind == FTW_D)
                directories[directory_count++] = entries[entry_count];
        entry_count++;
        return 0;
}

void world_make(const char *path)
{
        root = realpath(path, NULL);
        if (!root)
                die("root", path);
        for (size_t i = 0; i < COUNT(plain_directories); i++) {
                char *directory = below_root(plain_directories[i]);

                make_directory(directory, true);
                free(directory);
        }
        make_hostile("ws");
        make_hostile("other/b");
        make_link("ws/link", "a/b");
        make_link("other/link", "../ws/secret");
        make_link("home/link", "../other");
        if (nftw(root, note, 16, FTW_PHYS))
                die("walk", root);
}

void world_forget(void)
{
        while (entry_count)
                free(entries[--entry_count]);
        directory_count = 0;
        free(root);
        root = NULL;
}

const char *world_root(void)
{
        return root;
}

/* ---- paths ----------------------------------------------------------------------------------------------- */

static const char *const outside[] = { "/usr/bin/env",
                                       "/etc/hosts",
                                       "/var/log/x",
                                       "/Users/u/.ssh/id",
                                       "/opt/x",
                                       "/dev/null",
                                       "/dev/disk0",
                                       "/dev/tty",
                                       "/tmp/shown/x",
                                       "/tmp/hidden",
                                       OWN_TMP_HERE,
                                       OWN_TMP_HERE "/x",
                                       OWN_TMP_HERE "/a/.env",
                                       OWN_TMP_HERE "/a/b",
                                       OWN_TMP_HERE "/key.pem" };

static const char *random_name(void)
{
        static const char *const names[] = { "x",       "a",      "b",     "c",   ".env",
                                             "key.pem", "absent", "hooks", "abc", "z" };

        return world_chance(15) ? hostile[world_random(COUNT(hostile))] : names[world_random(COUNT(names))];
}

/* Something of the tree, or near it. */
static char *random_path(void)
{
        const char *entry = entries[world_random((unsigned)entry_count)];
        char *path, *deeper;

        switch (world_random(6)) {
        case 0:
                return world_join(entry, random_name());
        case 1:
                path = world_join(entry, random_name());
                deeper = world_join(path, random_name());
                free(path);
                return deeper;
        case 2:
                if (asprintf(&path, "%s%s", entry, world_chance(50) ? "x" : ".") < 0)
                        die("path", entry);
                return path;
        }
        path = strdup(entry);
        if (!path)
                die("path", entry);
        return path;
}

char *world_path(void)
{
        for (;;) {
                char *path = world_chance(8) ? strdup(outside[world_random(COUNT(outside))]) : random_path(),
                     *real;
                struct path_facts facts = { 0 };

                if (!path)
                        die("path", "");
                if (path_resolve(path, NULL, &facts, NULL) < 0 || !facts.real) {
                        free(path); /* below a file, say */
                        continue;
                }
                real = facts.real;
                facts.real = NULL;
                path_facts_done(&facts);
                free(path);
                return real;
        }
}

const char *world_directory(void)
{
        return directories[world_random((unsigned)directory_count)];
}

char *world_hostile_path(void)
{
        static const char *const pieces[] = { "\"",      "\\",   ")", "(", ";", "#", "\n", " ", "allow",
                                              "default", "deny", "*", "[", "]", "^", "$",  "|", "\xc3\xa9",
                                              "\xff",    "a",    "Z", ".", "{", "'", "\t" };
        size_t length = 0, components = 1 + world_random(4);
        char *path = malloc(4096);

        if (!path)
                die("path", "");
        while (components--) {
                path[length++] = '/';
                path[length++] = 'p'; /* neither "." nor ".." */
                for (unsigned i = world_random(12); i; i--) {
                        const char *piece = pieces[world_random(COUNT(pieces))];

                        if (world_chance(20))
                                path[length++] = (char)(1 + world_random(46)); /* below "/" */
                        else
                                length += (size_t)sprintf(path + length, "%s", piece);
                }
        }
        path[length] = '\0';
        return path;
}

char *world_on_mac(const char *real)
{
        static const char *const moved[] = { "/tmp", "/var", "/etc" };
        char *path = NULL;
        bool is_moved = false;

        for (size_t i = 0; i < COUNT(moved); i++)
                is_moved |= !strncmp(real, moved[i], 4) && (!real[4] || real[4] == '/');
        if (asprintf(&path, "%s%s", is_moved ? "/private" : "", real) < 0)
                die("path", real);
        return path;
}

bool world_is_plain(const char *text)
{
        for (; *text; text++)
                if (*text < ' ' || *text > '~' || (*text >= 'A' && *text <= 'Z'))
                        return false;
        return true;
}

/* ---- policies -------------------------------------------------------------------------------------------- */

/* "@" stands for the root. */
static const char *const patterns[] = {
        "**/.env",       "*.pem",    "@/ws/*/x",    "@/ws/**/x",     "@/ws/a/**",   "**/a/b",
        "**/secret/**",  "@/*/a",    "[a-c]",       "[!a-c]",        "?",           "a?c",
        "**/.git/hooks", "@/o*/b/c", "key.[a-p]em", "**/a/**/x",     "*\"*",        "**/*(*",
        "**/*[*]*",      "*[[]*",    "*[]]*",       "*[\\^]*",       "@/**/secret", "@/other/**/.env",
        "*[!-~]",        "[A-Z]*",   "*\xc3\xa9*",  "**/?\\*",       "@/ws/a/*/c",  "ab*",
        "**/a/*",        "*{2}",     "*[.]s",       "@/deep/**/a/b", "[!x]?*"
};

static void add_path(abatis_policy *policy, enum rule_kind kind)
{
        char *path = world_chance(5) ? strdup("/tmp/shown") : random_path();

        /* What cannot be a rule is none. */
        policy_add_rule(policy, kind, path, "test", NULL);
        free(path);
}

static void add_pattern(abatis_policy *policy, enum rule_kind kind)
{
        const char *pattern = patterns[world_random(COUNT(patterns))];
        char *whole = NULL;

        if (asprintf(&whole, "%s%s", *pattern == '@' ? root : "", pattern + (*pattern == '@')) < 0)
                die("pattern", pattern);
        if (policy_add_glob(policy, kind, whole, "test", NULL) < 0)
                die("pattern", whole);
        free(whole);
}

static void add_rules(abatis_policy *policy)
{
        static const struct {
                enum rule_kind kind;
                unsigned most, patterns;
        } kinds[] = { { RULE_READ, 3, 0 },
                      { RULE_WRITE, 3, 0 },
                      { RULE_EXECUTE, 2, 0 },
                      { RULE_PROTECT, 3, 35 },
                      { RULE_DENY, 4, 35 } };
        char *workspace = below_root("ws");

        if (world_chance(60) && policy_add_rule(policy, RULE_WRITE, workspace, "test", NULL) < 0)
                die("rule", workspace);
        free(workspace);
        for (size_t i = 0; i < COUNT(kinds); i++)
                for (unsigned j = world_random(kinds[i].most + 1); j; j--)
                        if (world_chance(kinds[i].patterns))
                                add_pattern(policy, kinds[i].kind);
                        else
                                add_path(policy, kinds[i].kind);
}

abatis_policy *world_policy(void)
{
        static const enum network_mode modes[] = { NETWORK_DENY, NETWORK_UNIX_ONLY, NETWORK_ALLOW };
        char *workspace = below_root("ws");
        abatis_policy_options options = { .workspace = workspace };
        abatis_policy *policy = NULL;
        abatis_error err = { 0 };

        if (policy_new_empty(&options, &policy, &err) < 0)
                die("policy", err.message);
        free(workspace);
        add_rules(policy);
        policy->reads_all = world_chance(50);
        policy->executes_all = world_chance(60);
        policy->has_private_tmp = world_chance(50);
        policy->network = modes[world_random(COUNT(modes))];
        policy->reaches_control_sockets = world_chance(30);
        /* Or what this machine has would be added. */
        policy->is_finished = true;
        return policy;
}
