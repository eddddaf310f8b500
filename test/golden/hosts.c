/* hosts.c: reads descriptions of machines. */
#define _GNU_SOURCE
#include "hosts.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum value_kind { VALUE_TEXT, VALUE_FLAG, VALUE_NUMBER, VALUE_WORD };

static const char *const systems[] = { "linux", "macos", "windows", NULL };
static const char *const namespaces[] = { "none", "user", "root", NULL };

#define FIELD(kind, name, words)                                                                  \
        {                                                                                         \
#name, kind, offsetof(abatis_host, name), sizeof(((abatis_host *)0)->name), words \
        }

/* What a backend may read. Files and times of bubblewrap, and findings, are for who runs it and for people. */
static const struct field {
        const char *name;
        enum value_kind kind;
        size_t offset, size;
        const char *const *words;
} fields[] = {
        FIELD(VALUE_WORD, system, systems),
        FIELD(VALUE_TEXT, kernel, NULL),
        FIELD(VALUE_TEXT, machine, NULL),
        FIELD(VALUE_NUMBER, uid, NULL),
        FIELD(VALUE_NUMBER, gid, NULL),
        FIELD(VALUE_NUMBER, landlock_abi, NULL),
        FIELD(VALUE_NUMBER, landlock_errata, NULL),
        FIELD(VALUE_FLAG, has_mount_setattr, NULL),
        FIELD(VALUE_WORD, namespaces, namespaces),
        FIELD(VALUE_TEXT, namespaces_reason, NULL),
        FIELD(VALUE_FLAG, has_broker, NULL),
        FIELD(VALUE_TEXT, broker_reason, NULL),
        FIELD(VALUE_FLAG, has_descriptors, NULL),
        FIELD(VALUE_TEXT, cgroup.directory, NULL),
        FIELD(VALUE_FLAG, cgroup.has_memory, NULL),
        FIELD(VALUE_FLAG, cgroup.has_pids, NULL),
        FIELD(VALUE_FLAG, cgroup.must_enable_memory, NULL),
        FIELD(VALUE_FLAG, cgroup.must_enable_pids, NULL),
        FIELD(VALUE_TEXT, cgroup.reason, NULL),
        FIELD(VALUE_FLAG, has_io_accounting, NULL),
        FIELD(VALUE_TEXT, hidden_reason, NULL),
        FIELD(VALUE_FLAG, is_tmp_memory, NULL),
        FIELD(VALUE_FLAG, bwrap.is_probed, NULL),
        FIELD(VALUE_FLAG, bwrap.is_available, NULL),
        FIELD(VALUE_FLAG, bwrap.has_network, NULL),
        FIELD(VALUE_NUMBER, bwrap.minor, NULL),
        FIELD(VALUE_TEXT, bwrap.path, NULL),
        FIELD(VALUE_TEXT, bwrap.version, NULL),
        FIELD(VALUE_TEXT, bwrap.reason, NULL),
        FIELD(VALUE_TEXT, bwrap.network_reason, NULL),
        FIELD(VALUE_FLAG, container.is_available, NULL),
        FIELD(VALUE_FLAG, container.is_nested, NULL),
        FIELD(VALUE_TEXT, container.reason, NULL),
        FIELD(VALUE_TEXT, container.trees[0], NULL),
        FIELD(VALUE_TEXT, container.trees[1], NULL),
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

static const struct field *find_field(const char *name)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (!strcmp(fields[i].name, name))
                        return &fields[i];
        return NULL;
}

/* Numbers and words are all of an int's size. */
static bool set_number(void *place, unsigned long number)
{
        unsigned value = (unsigned)number;

        memcpy(place, &value, sizeof(value));
        return value == number;
}

static bool set_value(const struct field *field, char *place, const char *value)
{
        char *end;

        switch (field->kind) {
        case VALUE_TEXT:
                return (size_t)snprintf(place, field->size, "%s", value) < field->size;
        case VALUE_FLAG:
                *(bool *)place = !strcmp(value, "yes");
                return *(bool *)place || !strcmp(value, "no");
        case VALUE_NUMBER:
                return *value >= '0' && *value <= '9' && set_number(place, strtoul(value, &end, 0)) && !*end;
        case VALUE_WORD:
                for (unsigned i = 0; field->words[i]; i++)
                        if (!strcmp(field->words[i], value))
                                return set_number(place, i);
        }
        return false;
}

static const char *read_line(char *line, abatis_host *host, bool seen[FIELD_COUNT])
{
        char *value = strstr(line, ": ");
        const struct field *field;

        if (!*line || *line == '#')
                return NULL;
        if (!value)
                return "is not 'key: value'";
        *value = '\0';
        field = find_field(line);
        if (!field)
                return "has a key that no host has";
        if (seen[field - fields])
                return "has a key that was there before";
        seen[field - fields] = true;
        return set_value(field, (char *)host + field->offset, value + 2) ? NULL : "has a wrong value";
}

bool host_read(const char *text, abatis_host *out, char *problem, size_t size)
{
        abatis_host host = { 0 };
        bool seen[FIELD_COUNT] = { false };

        for (unsigned number = 1; *text; number++) {
                size_t length = strcspn(text, "\n");
                char line[1024];
                const char *wrong = "is too long";

                if ((size_t)snprintf(line, sizeof(line), "%.*s", (int)length, text) < sizeof(line))
                        wrong = read_line(line, &host, seen);
                if (wrong) {
                        snprintf(problem, size, "line %u %s: '%.*s'", number, wrong, (int)length, text);
                        return false;
                }
                text += length + (text[length] == '\n');
        }
        *out = host;
        return true;
}

static void give_up(const char *directory, const char *name, const char *problem)
{
        fprintf(stderr, "%s/%s: %s\n", directory, name, problem);
        exit(1);
}

static void read_machine(const char *directory, const char *name, struct machine *out)
{
        char path[1024], text[8192], problem[1200];
        FILE *file;
        size_t got;

        snprintf(path, sizeof(path), "%s/%s", directory, name);
        file = fopen(path, "re");
        if (!file)
                give_up(directory, name, "cannot be opened");
        got = fread(text, 1, sizeof(text), file);
        fclose(file);
        if (got == sizeof(text))
                give_up(directory, name, "is too long");
        text[got] = '\0';
        if (!host_read(text, &out->host, problem, sizeof(problem)))
                give_up(directory, name, problem);
        snprintf(out->name, sizeof(out->name), "%.*s", (int)(strlen(name) - strlen(".host")), name);
}

static int is_host(const struct dirent *entry)
{
        const char *end = strrchr(entry->d_name, '.');

        return end && !strcmp(end, ".host");
}

struct machine *hosts_read_all(const char *directory, size_t *count)
{
        struct dirent **entries;
        int found = scandir(directory, &entries, is_host, alphasort);
        struct machine *machines = found > 0 ? calloc((size_t)found, sizeof(*machines)) : NULL;

        if (!machines)
                give_up(directory, "*.host", "there is none");
        for (int i = 0; i < found; i++) {
                read_machine(directory, entries[i]->d_name, &machines[i]);
                free(entries[i]);
        }
        free(entries);
        *count = (size_t)found;
        return machines;
}
