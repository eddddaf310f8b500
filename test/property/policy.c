/* policy.c: writes the random policy files of a round. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum list { LIST_READ, LIST_WRITE, LIST_EXECUTE, LIST_DENY, LIST_PROTECT };

/* While one file is written. */
struct writer {
        struct scene *scene;
        FILE *out;
        bool has_items;             /* the list that is being written has begun */
        const char *protected_path; /* borrowed: the last one, or NULL */
};

/* ---- YAML ----------------------------------------------------------------------------------------------- */

static void write_quoted(FILE *out, const char *text)
{
        fputc('"', out);
        for (; *text; text++) {
                unsigned char byte = (unsigned char)*text;

                if (byte == '"' || byte == '\\')
                        fprintf(out, "\\%c", byte);
                else if (byte < 0x20 || byte == 0x7f)
                        fprintf(out, "\\x%02x", byte);
                else
                        fputc(byte, out);
        }
        fputc('"', out);
}

static void begin_list(struct writer *writer, const char *key)
{
        fprintf(writer->out, "  %s:", key);
        writer->has_items = false;
}

static void begin_item(struct writer *writer)
{
        fputs("\n  - ", writer->out);
        writer->has_items = true;
}

static void end_list(struct writer *writer)
{
        fputs(writer->has_items ? "\n" : " []\n", writer->out);
}

static void add_word(struct writer *writer, const char *word)
{
        begin_item(writer);
        write_quoted(writer->out, word);
}

/* A path below a place that has a name of its own is sometimes written with that name. */
static bool add_with_variable(struct writer *writer, const char *path, const char *place,
                              const char *variable)
{
        char *text = NULL;

        if (!is_below(path, place) || !scene_chance(writer->scene, 40))
                return false;
        if (asprintf(&text, "%s%s", variable, path + strlen(place)) < 0)
                die("policy", path);
        add_word(writer, text);
        free(text);
        return true;
}

static void add_path(struct writer *writer, const char *path)
{
        const struct scene *scene = writer->scene;
        bool is_literal = strpbrk(path, "*?[") || strstr(path, "${") || scene_chance(writer->scene, 25);

        if (!is_literal && (add_with_variable(writer, path, scene->workspace, "${workspace}") ||
                            add_with_variable(writer, path, scene->home, "${home}") ||
                            add_with_variable(writer, path, scene->home, "~")))
                return;
        begin_item(writer);
        if (is_literal)
                fputs("{path: ", writer->out);
        write_quoted(writer->out, path);
        if (is_literal)
                fputc('}', writer->out);
}

/* ---- what the lists say --------------------------------------------------------------------------------- */

/* No document can hold bytes that are not UTF-8. */
static bool can_be_written(const char *path)
{
        return !strchr(path, '\xff');
}

/* Something that is asked for below a link, or that is not there: more often refused than not, so it is rare. */
static char *random_detour(struct scene *scene, const struct entry *entry, enum list list)
{
        if (entry->kind == ENTRY_LINK && scene_chance(scene, 30))
                return join(entry->path, "a");
        if ((list == LIST_DENY || list == LIST_PROTECT) && scene_chance(scene, 10) &&
            (entry->kind == ENTRY_DIRECTORY || scene_chance(scene, 10)) &&
            (!is_below(entry->path, scene->workspace) || scene_chance(scene, 10)))
                return join(entry->path, scene_chance(scene, 50) ? "absent" : "absent/deeper");
        return strdup(entry->path);
}

static bool suits(struct scene *scene, const struct entry *entry, enum list list)
{
        const char *path = entry->path;

        if (!can_be_written(path))
                return false;
        /* A link in a writable directory could be replaced: most such rules are refused. */
        if (entry->kind == ENTRY_LINK &&
            (is_below(path, scene->workspace) ? !scene_chance(scene, 10) : !scene_chance(scene, 50)))
                return false;
        /* A denied workspace is an error, and a rule for the whole tree leaves little to ask about. */
        if (list == LIST_DENY && is_below(scene->workspace, path))
                return false;
        if (entry->kind == ENTRY_PIPE && list == LIST_PROTECT)
                return scene_chance(scene, 20);
        return strcmp(path, scene->tree) || scene_chance(scene, 10);
}

static void add_paths(struct writer *writer, enum list list, unsigned limit)
{
        struct scene *scene = writer->scene;

        for (unsigned i = scene_random(scene, limit + 1); i; i--) {
                const struct entry *entry = &scene->entries[scene_random(scene, (unsigned)scene->count)];

                if (suits(scene, entry, list)) {
                        char *path = random_detour(scene, entry, list);

                        add_path(writer, path);
                        free(path);
                        if (list == LIST_PROTECT)
                                writer->protected_path = entry->path;
                }
        }
}

static void write_read(struct writer *writer, bool has_base)
{
        struct scene *scene = writer->scene;

        if (has_base && scene_chance(scene, 55))
                return;
        begin_list(writer, "read");
        if (scene_chance(scene, 25)) {
                add_word(writer, "all");
        } else {
                add_path(writer, scene->tools);
                if (scene_chance(scene, 60))
                        add_word(writer, "system");
                if (has_base && scene_chance(scene, 20))
                        add_word(writer, "inherited");
        }
        add_paths(writer, LIST_READ, 4);
        end_list(writer);
}

static void write_write(struct writer *writer, bool has_base)
{
        struct scene *scene = writer->scene;

        if (scene_chance(scene, has_base ? 40 : 10))
                return;
        begin_list(writer, "write");
        if (has_base && scene_chance(scene, 30))
                add_word(writer, "inherited");
        if (scene_chance(scene, 50))
                add_word(writer, "${workspace}");
        if (scene_chance(scene, 50))
                add_word(writer, "${tmp}");
        add_paths(writer, LIST_WRITE, 3);
        end_list(writer);
}

/* `is_needed` when the base would not let the probe itself be executed. */
static void write_execute(struct writer *writer, bool has_base, bool is_needed)
{
        struct scene *scene = writer->scene;

        if (!is_needed && scene_chance(scene, 55))
                return;
        begin_list(writer, "execute");
        if (scene_chance(scene, 20))
                add_word(writer, "all");
        add_path(writer, scene->tools);
        if (scene_chance(scene, 60))
                add_word(writer, "system");
        if (has_base && scene_chance(scene, 30))
                add_word(writer, "inherited");
        add_paths(writer, LIST_EXECUTE, 3);
        end_list(writer);
}

static void write_holes(struct writer *writer)
{
        static const char *const system_holes[] = {
                "/etc/hostname", "/etc/passwd",  "/usr/bin/env", "/usr/share",  "/opt",
                "/etc/absent",   "/tmp/absent",  "/dev/zero",    "/dev/null",   "/dev/shm",
                "/dev/pts",      "/dev/ptmx",    "/dev/absent",  "/dev/net",    "/dev",
                "/proc/version", "/proc/absent", "/proc/sys",    "/sys/kernel", "/bin",
                "/usr/bin",      "/tmp"
        };
        struct scene *scene = writer->scene;

        begin_list(writer, "protect");
        add_paths(writer, LIST_PROTECT, 3);
        end_list(writer);
        begin_list(writer, "deny");
        add_paths(writer, LIST_DENY, 4);
        if (scene_chance(scene, 10))
                add_path(writer, system_holes[scene_random(scene, COUNT(system_holes))]);
        /* Nobody inside can make it, whatever is writable around it. */
        if (writer->protected_path && scene_chance(scene, 20)) {
                char *path = join(writer->protected_path, "absent");

                add_path(writer, path);
                free(path);
        }
        /* This machine may not be able to hold a pattern. */
        if (scene_chance(scene, 2))
                add_word(writer, "*.pem");
        end_list(writer);
}

char *scene_policy(struct scene *scene)
{
        static const struct base {
                const char *text;
                bool executes_all, is_something;
        } bases[] = { { "dev", true, true },           { "dev", true, true },     { "tool", true, true },
                      { "mcp", true, true },           { "strict", false, true }, { "strict", false, true },
                      { "[]", false, false },          { "[]", false, false },    { "[]", false, false },
                      { "[strict, tool]", true, true } };
        const struct base *base = &bases[scene_random(scene, COUNT(bases))];
        struct writer writer = { .scene = scene };
        size_t size = 0;
        char *text = NULL;

        writer.out = open_memstream(&text, &size);
        if (!writer.out)
                die("policy", base->text);
        fprintf(writer.out, "version: 1\nextends: %s\nfilesystem:\n", base->text);
        write_read(&writer, base->is_something);
        write_write(&writer, base->is_something);
        write_execute(&writer, base->is_something, !base->executes_all);
        write_holes(&writer);
        if (fclose(writer.out))
                die("policy", base->text);
        return text;
}
