/* scene.c: makes the random tree of files that a round is about. */
#define _GNU_SOURCE
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Names that begin like each other, so that a comparison by letters instead of by components would show. */
static const char *const plain_names[] = { "a", "ab", "abc", "b", "bin", "c", "d", "key.pem", ".env", "src" };

/* Names that mean something to a shell, a pattern, YAML, printf or a policy file, and here are only names. */
static const char *const odd_names[] = {
        "two words",
        "[x]*",
        "st*r",
        "what?",
        "quo\"te",
        "it's",
        "back\\slash",
        "tab\there",
        "new\nline",
        "\n",
        "\n\n",
        "a\n",
        "\nb",
        ".env\n",
        "\xc3\xbcml\xc3\xa4ut-\xe6\x97\xa5\xe6\x9c\xac",
        "not-utf8-\xff\xfe",
        "control-\x01",
        "${workspace}",
        "$HOME",
        "~",
        "-rf",
        "...",
        "..x",
        "%s%n",
        "# no comment",
        "{path: x}",
        "key: value",
        "all",
        "system",
        "trailing ",
        "long-"
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
        "01234567890123456789012345678901234567890123456789",
};

static const char *const link_targets[] = { "/etc/passwd", "/usr/bin", "/tmp",       "/",
                                            "/var/tmp",    "..",       "../missing", "missing/deeper" };

_Noreturn void die(const char *what, const char *which)
{
        fprintf(stderr, "property: %s '%s': %s\n", what, which, strerror(errno));
        exit(2);
}

char *join(const char *directory, const char *name)
{
        char *path = NULL;

        if (asprintf(&path, "%s/%s", directory[1] ? directory : "", name) < 0)
                die("join", name);
        return path;
}

bool is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);

        return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* splitmix64: every seed begins a row of its own, also one that is next to another. */
unsigned scene_random(struct scene *scene, unsigned limit)
{
        uint64_t mixed = scene->random += 0x9e3779b97f4a7c15u;

        mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
        return (unsigned)((mixed ^ mixed >> 31) % limit);
}

bool scene_chance(struct scene *scene, unsigned percent)
{
        return scene_random(scene, 100) < percent;
}

/* ---- entries -------------------------------------------------------------------------------------------- */

static bool add_entry(struct scene *scene, enum entry_kind kind, char *path)
{
        if (scene->count == SCENE_MAX) {
                free(path);
                return false;
        }
        scene->entries[scene->count++] = (struct entry){ kind, path };
        return true;
}

static void make_directory(struct scene *scene, const char *parent, const char *name)
{
        char *path = join(parent, name);

        if (mkdir(path, 0755) < 0)
                die("mkdir", path);
        add_entry(scene, ENTRY_DIRECTORY, path);
}

static void write_file(const char *path, const char *bytes, size_t length, mode_t mode)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

        if (fd < 0 || write(fd, bytes, length) != (ssize_t)length || close(fd) < 0)
                die("write", path);
}

static void copy_program(const struct scene *scene, const char *path)
{
        char *from = join(scene->tools, "forty-two"), bytes[64 * 1024];
        int fd = open(from, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes));

        if (length <= 0)
                die("read", from);
        close(fd);
        free(from);
        write_file(path, bytes, (size_t)length, 0755);
}

static void write_script(const struct scene *scene, const char *path)
{
        char *text = NULL;
        int length = asprintf(&text, "#!%s/forty-two\n", scene->tools);

        if (length < 0)
                die("script", path);
        write_file(path, text, (size_t)length, 0755);
        free(text);
}

static const struct entry *random_entry(struct scene *scene, enum entry_kind kind)
{
        size_t start = scene_random(scene, (unsigned)scene->count);

        for (size_t i = 0; i < scene->count; i++) {
                const struct entry *entry = &scene->entries[(start + i) % scene->count];

                if (entry->kind == kind)
                        return entry;
        }
        return NULL;
}

/* `to` as seen from the directory `from`: up to the tree's root and down again. */
static char *relative(const struct scene *scene, const char *from, const char *to)
{
        size_t length = strlen(scene->tree);
        char *result = NULL, *climb = calloc(1, 3 * strlen(from) + 1);

        if (!climb)
                die("relative", to);
        for (const char *at = from + length; *at; at++)
                if (*at == '/')
                        strcat(climb, "../");
        if (asprintf(&result, "%s%s", climb, to[length] ? to + length + 1 : ".") < 0)
                die("relative", to);
        free(climb);
        return result;
}

static void make_link(struct scene *scene, const char *parent, const char *path)
{
        const char *to = scene->entries[scene_random(scene, (unsigned)scene->count)].path;
        char *target;

        if (scene_chance(scene, 25))
                target = strdup(link_targets[scene_random(scene, COUNT(link_targets))]);
        else if (scene_chance(scene, 50))
                target = strdup(to);
        else
                target = relative(scene, parent, to);
        if (!target || symlink(target, path) < 0)
                die("symlink", path);
        free(target);
}

static bool make_hard_link(struct scene *scene, const char *path)
{
        const struct entry *from = random_entry(scene, scene_chance(scene, 50) ? ENTRY_FILE : ENTRY_PROGRAM);

        if (!from)
                return false;
        if (link(from->path, path) < 0)
                die("link", path);
        return add_entry(scene, from->kind, strdup(path));
}

static void make_random_entry(struct scene *scene)
{
        const char *parent = random_entry(scene, ENTRY_DIRECTORY)->path;
        const char *name = scene_chance(scene, 75) ? plain_names[scene_random(scene, COUNT(plain_names))]
                                                   : odd_names[scene_random(scene, COUNT(odd_names))];
        unsigned draw = scene_random(scene, 100);
        char *path = join(parent, name);
        struct stat status;

        if (!lstat(path, &status) || strlen(path) > 1500) {
                free(path);
                return;
        }
        if (draw < 30 && !mkdir(path, 0755)) {
                add_entry(scene, ENTRY_DIRECTORY, path);
        } else if (draw < 50) {
                write_file(path, "text\n", 5, 0644);
                add_entry(scene, ENTRY_FILE, path);
        } else if (draw < 68) {
                copy_program(scene, path);
                add_entry(scene, ENTRY_PROGRAM, path);
        } else if (draw < 76) {
                write_script(scene, path);
                add_entry(scene, ENTRY_SCRIPT, path);
        } else if (draw < 90) {
                make_link(scene, parent, path);
                add_entry(scene, ENTRY_LINK, path);
        } else if (draw < 96) {
                make_hard_link(scene, path);
                free(path);
        } else if (!mkfifo(path, 0644)) {
                add_entry(scene, ENTRY_PIPE, path);
        } else {
                free(path);
        }
}

static void make_text(struct scene *scene, const char *parent, const char *name, const char *text)
{
        char *path = join(parent, name);

        write_file(path, text, strlen(text), 0644);
        add_entry(scene, ENTRY_FILE, path);
}

/* A repository, whole or without its hooks, which may also be kept beside it. */
static void make_repository(struct scene *scene, const char *parent)
{
        char *git = join(parent, ".git");

        make_directory(scene, parent, ".git");
        make_text(scene, git, "config", scene_chance(scene, 30) ? "[core]\n\thooksPath = a\n" : "");
        if (scene_chance(scene, 70))
                make_directory(scene, git, "hooks");
        free(git);
}

/* The workspace is a worktree of a repository outside it. */
static void make_worktree(struct scene *scene)
{
        char *main = join(scene->tree, "main"), *git = join(main, ".git"), *trees = join(git, "worktrees");
        char *own = join(trees, "wt"), *there = NULL, *back = NULL;

        if (asprintf(&there, "gitdir: %s\n", own) < 0 || asprintf(&back, "%s/.git\n", scene->workspace) < 0)
                die("worktree", own);
        make_directory(scene, scene->tree, "main");
        make_repository(scene, main);
        make_directory(scene, git, "worktrees");
        make_directory(scene, trees, "wt");
        make_text(scene, own, "gitdir", back);
        make_text(scene, scene->workspace, ".git", there);
        free(main);
        free(git);
        free(trees);
        free(own);
        free(there);
        free(back);
}

/* What presets have rules of their own for. */
static void make_special_entries(struct scene *scene)
{
        unsigned draw = scene_random(scene, 100);

        if (draw < 30)
                make_repository(scene, scene->workspace);
        else if (draw < 35)
                make_repository(scene, scene->tree);
        else if (draw < 40)
                make_worktree(scene);
        if (scene_chance(scene, 50)) {
                char *keys = join(scene->home, ".ssh");

                make_directory(scene, scene->home, ".ssh");
                make_text(scene, keys, "id", "secret");
                free(keys);
        }
        if (scene_chance(scene, 30))
                make_text(scene, scene->home, ".netrc", "secret");
}

/* The agent's directory of data and the program that it is. */
static void choose_options(struct scene *scene)
{
        const struct entry *data = random_entry(scene, ENTRY_DIRECTORY);
        const struct entry *program = random_entry(scene, ENTRY_PROGRAM);

        if (data && scene_chance(scene, 10) && !is_below(scene->workspace, data->path))
                scene->data = strdup(data->path);
        if (program && scene_chance(scene, 10))
                scene->program = strdup(program->path);
}

/* A place is mostly called by its name. */
static char *name_place(struct scene *scene, const char *place, const char *name)
{
        char *link;

        if (!scene_chance(scene, 10))
                return strdup(place);
        link = join(scene->tree, name);
        if (symlink(place, link) < 0)
                die("symlink", link);
        add_entry(scene, ENTRY_LINK, strdup(link));
        return link;
}

/* The first four directories are what the round is built on. */
enum { FIRST_OF_MANY = 4 };

/* Some of the user's own files are closed to himself, too. */
static void change_modes(struct scene *scene)
{
        static const mode_t modes[] = { 0, 0400, 0444, 0600, 0700, 0111 };
        static const mode_t directory_modes[] = { 0500, 0555, 0300, 0700 };

        for (size_t i = FIRST_OF_MANY; i < scene->count; i++) {
                const struct entry *entry = &scene->entries[i];

                if (entry->kind == ENTRY_DIRECTORY && scene_chance(scene, 3))
                        chmod(entry->path, directory_modes[scene_random(scene, COUNT(directory_modes))]);
                else if (entry->kind != ENTRY_DIRECTORY && entry->kind != ENTRY_LINK &&
                         scene_chance(scene, 6))
                        chmod(entry->path, modes[scene_random(scene, COUNT(modes))]);
        }
}

void scene_make(struct scene *scene, uint64_t seed, const char *tree, const char *tools)
{
        const char *workspace, *home;

        *scene = (struct scene){ .random = seed, .tools = tools, .tree = strdup(tree) };
        if (!scene->tree || mkdir(tree, 0755) < 0)
                die("mkdir", tree);
        add_entry(scene, ENTRY_DIRECTORY, strdup(tree));
        workspace = scene_chance(scene, 15) ? "w\ns" : "ws";
        home = scene_chance(scene, 15) ? "home\n" : "home";
        scene->workspace = join(tree, workspace);
        scene->home = join(tree, home);
        make_directory(scene, tree, workspace);
        make_directory(scene, tree, home);
        make_directory(scene, tree, "out");
        make_special_entries(scene);
        scene->workspace_name = name_place(scene, scene->workspace, "ws link");
        scene->home_name = name_place(scene, scene->home, "home link");
        for (unsigned i = 12 + scene_random(scene, 30); i && scene->count < SCENE_MAX; i--)
                make_random_entry(scene);
        choose_options(scene);
        change_modes(scene);
}

/* ---- the end -------------------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
        (void)status;
        (void)type;
        (void)walk;
        return remove(path);
}

void scene_done(struct scene *scene)
{
        for (size_t i = 0; i < scene->count; i++)
                if (scene->entries[i].kind == ENTRY_DIRECTORY)
                        chmod(scene->entries[i].path, 0755);
        if (nftw(scene->tree, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0)
                die("remove", scene->tree);
        for (size_t i = 0; i < scene->count; i++)
                free(scene->entries[i].path);
        free(scene->tree);
        free(scene->workspace);
        free(scene->home);
        free(scene->workspace_name);
        free(scene->home_name);
        free(scene->data);
        free(scene->program);
        *scene = (struct scene){ 0 };
}
