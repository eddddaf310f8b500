/* questions.c: chooses what is asked in a round, and asks the engine. */
#define _GNU_SOURCE
#include "questions.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Nothing of the host's is changed there, not even for a moment. */
static const char *const system_paths[] = { "/",
                                            "/etc",
                                            "/etc/passwd",
                                            "/etc/hostname",
                                            "/usr",
                                            "/usr/share",
                                            "/usr/bin",
                                            "/usr/absent",
                                            "/bin",
                                            "/opt",
                                            "/root",
                                            "/home",
                                            "/var",
                                            "/var/tmp",
                                            "/run",
                                            "/sys",
                                            "/sys/kernel",
                                            "/sys/kernel/mm/ksm/run",
                                            "/proc",
                                            "/proc/version",
                                            "/proc/keys",
                                            "/proc/timer_list",
                                            "/proc/self/status",
                                            "/proc/self/comm",
                                            "/proc/sys/kernel/hostname",
                                            "/dev",
                                            "/dev/fd",
                                            "/dev/net",
                                            "/dev/kmsg",
                                            "/dev/fuse",
                                            "/dev/loop-control",
                                            "/dev/mqueue",
                                            "/dev/vda",
                                            "/tmp" };

/* What is opened here for writing and closed again is as it was. */
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                       "/dev/tty",  "/dev/ptmx", "/dev/pts",  "/dev/shm" };

static const char *const system_programs[] = { "/usr/bin/true", "/bin/true", "/usr/bin/env" };

static void add_question(struct questions *questions, abatis_access access, const char *path, bool is_gentle)
{
        struct question *items = questions->items;

        if (questions->count == questions->capacity) {
                questions->capacity = questions->capacity ? 2 * questions->capacity : 256;
                items = realloc(items, questions->capacity * sizeof(*items));
                if (!items)
                        die("questions", "memory");
                questions->items = items;
        }
        items += questions->count++;
        *items = (struct question){ .access = access, .path = strdup(path), .is_gentle = is_gentle };
        if (!items->path)
                die("questions", "memory");
}

static void add_all(struct questions *questions, const char *path)
{
        for (abatis_access access = ABATIS_READ; access <= ABATIS_EXECUTE; access++)
                add_question(questions, access, path, false);
}

static void add_absent(struct questions *questions, const char *directory, const char *name)
{
        char *path = join(directory, name);

        add_question(questions, ABATIS_WRITE, path, false);
        add_question(questions, ABATIS_EXECUTE, path, false);
        free(path);
}

/* Ours to write to: a link that leads out of the tree is not. */
static bool is_ours(const struct scene *scene, const struct entry *entry)
{
        char *real = entry->kind == ENTRY_LINK ? realpath(entry->path, NULL) : NULL;
        char target[4096];
        bool result = entry->kind != ENTRY_LINK || (real && is_below(real, scene->tree));

        /* A dangling one leads to where its target would be made. */
        if (!real && entry->kind == ENTRY_LINK) {
                ssize_t length = readlink(entry->path, target, sizeof(target) - 1);

                result = length > 0 && *target != '/';
        }
        free(real);
        return result;
}

/* What lies below the directory that a link leads to, by the link's name. */
static void add_below_link(struct questions *questions, struct scene *scene, const char *link)
{
        char *real = realpath(link, NULL);
        unsigned left = 3;

        for (size_t i = 0; real && i < scene->count && left; i++) {
                const char *path = scene->entries[i].path;
                char *through = NULL;

                if (!is_below(path, real) || !strcmp(path, real) || !is_ours(scene, &scene->entries[i]) ||
                    !scene_chance(scene, 50))
                        continue;
                if (asprintf(&through, "%s%s", link, path + strlen(real)) < 0)
                        die("questions", link);
                add_all(questions, through);
                free(through);
                left--;
        }
        /* Into the tree only: what lies elsewhere is not ours to write to. */
        if (real && is_below(real, scene->tree))
                add_absent(questions, link, "absent");
        free(real);
}

static void add_entry_questions(struct questions *questions, struct scene *scene, const struct entry *entry)
{
        char *variant = NULL;

        if (is_ours(scene, entry)) {
                add_all(questions, entry->path);
        } else {
                add_question(questions, ABATIS_READ, entry->path, false);
                add_question(questions, ABATIS_WRITE, entry->path, true);
        }
        if (entry->kind == ENTRY_LINK)
                add_below_link(questions, scene, entry->path);
        if (entry->kind == ENTRY_DIRECTORY && scene_chance(scene, 60))
                add_absent(questions, entry->path, scene_chance(scene, 50) ? "absent" : "abs[e]nt *");
        if (entry->kind == ENTRY_DIRECTORY && scene_chance(scene, 10)) {
                if (asprintf(&variant, "/.%s//", entry->path) < 0)
                        die("questions", entry->path);
                add_question(questions, ABATIS_READ, variant, false);
                free(variant);
        }
}

/* The program that starts this one starts those of the system, too. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *out)
{
        (void)size;
        for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_INTERP)
                        *(const char **)out = (const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        return 1; /* the first is the program itself */
}

static void add_system_questions(struct questions *questions)
{
        char name[64];

        for (size_t i = 0; i < COUNT(system_paths); i++) {
                add_question(questions, ABATIS_READ, system_paths[i], true);
                add_question(questions, ABATIS_WRITE, system_paths[i], true);
        }
        for (size_t i = 0; i < COUNT(devices); i++)
                add_all(questions, devices[i]);
        for (size_t i = 0; i < COUNT(system_programs); i++) {
                add_question(questions, ABATIS_EXECUTE, system_programs[i], true);
                dl_iterate_phdr(find_loader, &questions->items[questions->count - 1].helper);
        }
        /* These two are everybody's. */
        snprintf(name, sizeof(name), "absent-%d", getpid());
        add_absent(questions, "/tmp", name);
        add_absent(questions, "/dev/shm", name);
        for (size_t i = questions->count - 4; i < questions->count; i++)
                questions->items[i].is_at_top = true;
}

void questions_make(struct questions *questions, struct scene *scene)
{
        for (size_t i = 0; i < scene->count; i++)
                add_entry_questions(questions, scene, &scene->entries[i]);
        add_system_questions(questions);
}

/* ---- asking --------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
        size_t length = strlen(text), end_length = strlen(end);

        return length >= end_length && !strcmp(text + length - end_length, end);
}

static enum place place_of(const char *rule)
{
        if (ends_with(rule, " inside"))
                return PLACE_PRIVATE;
        return ends_with(rule, "a device that every command may use") ? PLACE_DEVICE : PLACE_HOST;
}

static void ask_about(struct question *question, const char *path, abatis_policy *policy)
{
        abatis_error err = { 0 };

        free(question->rule);
        question->rule = NULL;
        question->is_allowed = 0;
        if (abatis_policy_check(policy, question->access, path, &question->is_allowed, &question->rule,
                                &err) < 0) {
                question->has_error = true;
                question->rule = strdup(err.message);
        }
        if (!question->rule)
                die("questions", "memory");
        question->place = place_of(question->rule);
}

void questions_ask(struct questions *questions, abatis_policy *policy)
{
        for (size_t i = 0; i < questions->count; i++) {
                struct question *question = &questions->items[i];

                ask_about(question, question->path, policy);
                /* One line, or what a name holds could pass for another answer. */
                if (strchr(question->rule, '\n'))
                        die("the answer has two lines", question->rule);
                if (question->is_allowed && question->helper)
                        ask_about(question, question->helper, policy);
        }
}

void questions_done(struct questions *questions)
{
        for (size_t i = 0; i < questions->count; i++) {
                free(questions->items[i].path);
                free(questions->items[i].rule);
        }
        free(questions->items);
        *questions = (struct questions){ 0 };
}
