/* foreign.c: policies of other tools, read as they are: each becomes a layer of ours. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/layer.h"
#include "policy/place.h"

/* Each denied domain is compared with each allowed one: a hostile file must not cost the square of its size. */
enum { DOMAIN_PAIRS_MAX = 1000 * 1000 };

/* While one document is read. */
struct foreign_reading {
        struct layer *layer;
        abatis_error *err;
};

#define fail_at(reading, node, ...) \
        document_error((reading)->err, (reading)->layer->name, (node)->line, (node)->column, __VA_ARGS__)

static const struct node *find_map(const struct node *map, const char *key)
{
        const struct node *found = map->kind == NODE_MAP ? node_find(map, key) : NULL;

        return found && found->kind == NODE_MAP ? found : NULL;
}

static bool has_any(const struct node *map, const char *const *words)
{
        for (; map && *words; words++)
                if (node_find(map, *words))
                        return true;
        return false;
}

static const char *const section_words[] = { "allow_paths", "allow_network", "resource_limits", NULL };
static const char *const table_words[] = { "enabled",          "allowed_commands",
                                           "blocked_paths",    "max_execution_time_secs",
                                           "max_output_bytes", NULL };
static const char *const srt_network_words[] = { "allowedDomains", "deniedDomains", NULL };
static const char *const srt_filesystem_words[] = { "denyRead", "allowWrite", "denyWrite", NULL };

/* A key of our own format, in a file that is read as another one, would be left out. */
static int check_unmixed(const struct foreign_reading *reading, const struct node *root)
{
        for (enum key_id key = KEY_EXTENDS; key < KEY_COUNT; key++) {
                size_t length = key_section_length(&keys[key]);
                OWN_FREE char *section = strndup(keys[key].name, length);
                const struct node *map, *found;

                if (!section)
                        return error_memory(reading->err);
                map = length ? find_map(root, section) : root;
                found = map ? node_find(map, key_leaf(&keys[key])) : NULL;
                if (found)
                        return document_error(reading->err, reading->layer->name, found->key_line,
                                              found->key_column,
                                              "%s is of another format than 'sandbox'; make two files of it",
                                              keys[key].name);
        }
        return 0;
}

enum foreign foreign_detect(const struct node *root)
{
        const struct node *sandbox = find_map(root, "sandbox");

        if (sandbox)
                return has_any(sandbox, section_words) ? FOREIGN_SECTION : FOREIGN_TABLE;
        if (has_any(find_map(root, "network"), srt_network_words) ||
            has_any(find_map(root, "filesystem"), srt_filesystem_words))
                return FOREIGN_SRT;
        return FOREIGN_NONE;
}

/* A rule that is not understood is refused, never left out. */
static int check_words(const struct foreign_reading *reading, const struct node *map, const char *where,
                       const char *const *words)
{
        char hint[256];

        if (map->kind != NODE_MAP)
                return fail_at(reading, map, "%s takes a map, not %s", where, node_kind_name(map->kind));
        for (size_t i = 0; i < map->count; i++) {
                const char *const *word = words;

                while (*word && strcmp(*word, map->items[i]->key))
                        word++;
                if (*word)
                        continue;
                explain_unknown(map->items[i]->key, words, hint, sizeof(hint));
                return document_error(reading->err, reading->layer->name, map->items[i]->key_line,
                                      map->items[i]->key_column, "unknown key '%s' in %s; %s",
                                      map->items[i]->key, where, hint);
        }
        return 0;
}

static int add(struct foreign_reading *reading, enum key_id key, const char *value, const struct node *place)
{
        return layer_add(reading->layer, key, value, place, reading->err);
}

/* The list below `name`; *out is NULL when there is none. */
static int find_list(const struct foreign_reading *reading, const struct node *map, const char *name,
                     bool has_texts_only, const struct node **out)
{
        const struct node *list = map ? node_find(map, name) : NULL;

        if (list && list->kind != NODE_LIST)
                return fail_at(reading, list, "%s takes a list, not %s", name, node_kind_name(list->kind));
        for (size_t i = 0; list && has_texts_only && i < list->count; i++)
                if (list->items[i]->kind != NODE_STRING || !*list->items[i]->text)
                        return fail_at(reading, list->items[i], "%s takes a list of texts", name);
        *out = list;
        return 0;
}

/* A list below `name`, if there is one; each item, a text unless it is a port, goes through `translate`. */
static int add_texts(struct foreign_reading *reading, const struct node *map, const char *name,
                     enum key_id key,
                     int (*translate)(struct foreign_reading *, enum key_id, const struct node *))
{
        const struct node *list = NULL;
        int r = find_list(reading, map, name, key != KEY_BIND, &list);

        reading->layer->has[key] |= !!list;
        for (size_t i = 0; list && i < list->count && !r; i++)
                r = translate(reading, key, list->items[i]);
        return r;
}

static int add_as_is(struct foreign_reading *reading, enum key_id key, const struct node *item)
{
        return add(reading, key, item->text, item);
}

/* These formats mean the workspace by the working directory. */
static int add_place(struct foreign_reading *reading, enum key_id key, const struct node *item)
{
        OWN_FREE char *place = NULL;
        const char *rest = item->text;

        if (*rest == '/' || *rest == '~' || *rest == '$')
                return add(reading, key, rest, item);
        if (!strncmp(rest, "./", 2))
                rest += 2;
        else if (!strcmp(rest, "."))
                rest++;
        place = *rest ? text_join("${workspace}/", rest, "") : strdup("${workspace}");
        if (!place)
                return error_memory(reading->err);
        return add(reading, key, place, item);
}

/* HOST:PORT; without a port, every one. */
static int add_host(struct foreign_reading *reading, enum key_id key, const struct node *item)
{
        OWN_FREE char *every = text_join(item->text, ":*", "");
        struct place place;
        abatis_error below;

        if (!every)
                return error_memory(reading->err);
        if (!place_parse(item->text, &place, NULL))
                return add(reading, key, item->text, item);
        if (strpbrk(item->text, ": \t\r\n"))
                return fail_at(reading, item, "'%s' is not of the form HOST or HOST:PORT", item->text);
        if (place_parse(every, &place, &below) < 0)
                return fail_at(reading, item, "%s", below.message);
        return add(reading, key, every, item);
}

/* A port, as a number or as a text, of the loopback, where ours are published. */
static int add_port(struct foreign_reading *reading, enum key_id key, const struct node *item)
{
        static const char *const loopbacks[] = { "", "localhost:", "127.0.0.1:", "[::1]:", NULL };
        char number[24] = "";
        const char *text = item->kind == NODE_STRING ? item->text : number;

        if (item->kind == NODE_INTEGER)
                snprintf(number, sizeof(number), "%" PRId64, item->integer);
        for (const char *const *loopback = loopbacks; *loopback; loopback++) {
                size_t length = strlen(*loopback);

                if (!strncmp(text, *loopback, length) && layer_is_port(text + length))
                        return add(reading, key, text + length, item);
        }
        return fail_at(reading, item, "bind takes ports of the loopback, such as 8080 or localhost:8080");
}

/* A whole number below `name`, if there is one, with what makes it ours: 512 and "MiB". */
static int add_number(struct foreign_reading *reading, const struct node *map, const char *name,
                      enum key_id key, const char *unit)
{
        const struct node *number = map ? node_find(map, name) : NULL;
        char text[32];

        if (!number)
                return 0;
        if (number->kind != NODE_INTEGER || number->integer <= 0 || number->integer > INT32_MAX)
                return fail_at(reading, number, "%s takes a whole number from 1 to %d", name, INT32_MAX);
        snprintf(text, sizeof(text), "%" PRId64 "%s", number->integer, unit);
        return add(reading, key, text, number);
}

/* Open for what is listed, if anything is. */
static int add_mode(struct foreign_reading *reading, const struct node *place)
{
        const struct layer *layer = reading->layer;
        bool is_open = false;

        for (size_t i = 0; i < layer->count; i++)
                is_open |= layer->entries[i].key == KEY_CONNECT || layer->entries[i].key == KEY_BIND;
        return add(reading, KEY_NETWORK, is_open ? "list" : "deny", place);
}

/* ---- YAML with a section `sandbox` ---------------------------------------------------------------------- */

static int parse_section(struct foreign_reading *reading, const struct node *root)
{
        static const char *const top_words[] = { "version", "default_action", "policies", "sandbox", NULL };
        static const char *const path_words[] = { "read", "write", "execute", NULL };
        static const char *const network_words[] = { "connect", "bind", NULL };
        static const char *const limit_words[] = { "max_memory_mb", "max_open_files", "max_processes",
                                                   "timeout_seconds", NULL };
        const struct node *sandbox = find_map(root, "sandbox"), *paths = node_find(sandbox, "allow_paths"),
                          *network = node_find(sandbox, "allow_network"),
                          *limits = node_find(sandbox, "resource_limits");
        struct layer *layer = reading->layer;
        int r = check_words(reading, root, "the file", top_words);

        if (!r)
                r = check_words(reading, sandbox, "sandbox", section_words);
        if (!r && paths)
                r = check_words(reading, paths, "sandbox.allow_paths", path_words);
        if (!r && network)
                r = check_words(reading, network, "sandbox.allow_network", network_words);
        if (!r && limits)
                r = check_words(reading, limits, "sandbox.resource_limits", limit_words);
        /* It lists what is allowed, so there is nothing below it. */
        layer->has[KEY_EXTENDS] = layer->has[KEY_READ] = layer->has[KEY_WRITE] = layer->has[KEY_EXECUTE] =
                true;
        if (!r)
                r = add_texts(reading, paths, "read", KEY_READ, add_place);
        if (!r)
                r = add_texts(reading, paths, "write", KEY_WRITE, add_place);
        if (!r)
                r = add_texts(reading, paths, "execute", KEY_EXECUTE, add_place);
        if (!r)
                r = add_texts(reading, network, "connect", KEY_CONNECT, add_host);
        if (!r)
                r = add_texts(reading, network, "bind", KEY_BIND, add_port);
        if (!r)
                r = add_mode(reading, network ? network : sandbox);
        if (!r)
                r = add_number(reading, limits, "max_memory_mb", KEY_MEMORY, "MiB");
        if (!r)
                r = add_number(reading, limits, "max_open_files", KEY_OPEN_FILES, "");
        if (!r)
                r = add_number(reading, limits, "max_processes", KEY_PROCESSES, "");
        return r ? r : add_number(reading, limits, "timeout_seconds", KEY_TIMEOUT, "s");
}

/* ---- TOML with a table [sandbox] ------------------------------------------------------------------------ */

static int parse_table(struct foreign_reading *reading, const struct node *root)
{
        const struct node *sandbox = find_map(root, "sandbox"), *enabled = node_find(sandbox, "enabled");
        struct layer *layer = reading->layer;
        int r = check_unmixed(reading, root);

        if (!r)
                r = check_words(reading, sandbox, "[sandbox]", table_words);
        if (!r && enabled && enabled->kind != NODE_BOOLEAN)
                r = fail_at(reading, enabled, "enabled takes true or false");
        if (r < 0)
                return r;
        layer->is_disabled = enabled && !enabled->boolean;
        r = add_texts(reading, sandbox, "allowed_commands", KEY_COMMANDS, add_as_is);
        if (!r)
                r = add_texts(reading, sandbox, "blocked_paths", KEY_DENY, add_as_is);
        if (!r)
                r = add(reading, KEY_CHECK_ARGUMENTS, "true", sandbox);
        if (!r)
                r = add_number(reading, sandbox, "max_execution_time_secs", KEY_TIMEOUT, "s");
        if (!r && !layer->has[KEY_TIMEOUT])
                r = add(reading, KEY_TIMEOUT, "30s", sandbox);
        if (!r)
                r = add_number(reading, sandbox, "max_output_bytes", KEY_OUTPUT, "");
        if (!r && !layer->has[KEY_OUTPUT])
                r = add(reading, KEY_OUTPUT, "1MiB", sandbox);
        return r;
}

/* ---- the settings of srt -------------------------------------------------------------------------------- */

static int add_domain(struct foreign_reading *reading, enum key_id key, const struct node *item)
{
        OWN_FREE char *every = text_join(item->text, ":*", "");
        struct place place;
        abatis_error below;

        if (!every)
                return error_memory(reading->err);
        if (strpbrk(item->text, ": \t\r\n[]"))
                return fail_at(reading, item, "'%s' is not a domain", item->text);
        if (place_parse(every, &place, &below) < 0)
                return fail_at(reading, item, "%s", below.message);
        return add(reading, key, every, item);
}

/* "*.example.org" covers "www.example.org" and "*.www.example.org". */
static bool covers(const char *allowed, const char *name)
{
        size_t length = strlen(name), suffix;

        if (!strcasecmp(allowed, name) || !strcmp(allowed, "*"))
                return true;
        if (strncmp(allowed, "*.", 2))
                return false;
        suffix = strlen(allowed + 1);
        return length > suffix && !strcasecmp(name + length - suffix, allowed + 1);
}

/* An exception within what is allowed has no words in our format; any other changes nothing. */
static int check_denied_domains(const struct foreign_reading *reading, const struct node *network)
{
        const struct node *denied = NULL, *allowed = NULL;
        int r = find_list(reading, network, "deniedDomains", true, &denied);

        if (!r)
                r = find_list(reading, network, "allowedDomains", true, &allowed);
        if (!r && denied && allowed && denied->count * allowed->count > DOMAIN_PAIRS_MAX)
                r = fail_at(reading, denied, "too many domains beside so many allowedDomains");
        for (size_t i = 0; denied && allowed && i < denied->count * allowed->count && !r; i++) {
                const struct node *item = denied->items[i / allowed->count];
                const char *other = allowed->items[i % allowed->count]->text;

                if (covers(other, item->text) || covers(item->text, other))
                        r = fail_at(reading, item,
                                    "deniedDomains '%s' is an exception to allowedDomains '%s', which "
                                    "cannot be enforced; list the domains to allow one by one",
                                    item->text, other);
        }
        return r;
}

static int parse_srt(struct foreign_reading *reading, const struct node *root)
{
        static const char *const top_words[] = { "network", "filesystem", NULL };
        const struct node *network = node_find(root, "network"), *files = node_find(root, "filesystem");
        struct layer *layer = reading->layer;
        int r = check_words(reading, root, "the file", top_words);

        if (!r && network)
                r = check_words(reading, network, "network", srt_network_words);
        if (!r && files)
                r = check_words(reading, files, "filesystem", srt_filesystem_words);
        /* Everything may be read but what is denied; nothing may be written but what is listed. */
        layer->has[KEY_EXTENDS] = layer->has[KEY_WRITE] = true;
        if (!r)
                r = add(reading, KEY_READ, "all", root);
        if (!r)
                r = add(reading, KEY_EXECUTE, "all", root);
        if (!r)
                r = add_texts(reading, files, "denyRead", KEY_DENY, add_place);
        if (!r)
                r = add_texts(reading, files, "allowWrite", KEY_WRITE, add_place);
        if (!r)
                r = add_texts(reading, files, "denyWrite", KEY_PROTECT, add_place);
        if (!r)
                r = add_texts(reading, network, "allowedDomains", KEY_CONNECT, add_domain);
        if (!r)
                r = check_denied_domains(reading, network);
        return r ? r : add_mode(reading, network ? network : root);
}

int foreign_parse(enum foreign format, const struct node *root, struct layer *layer, abatis_error *err)
{
        struct foreign_reading reading = { layer, err };

        switch (format) {
        case FOREIGN_NONE:
                return 0;
        case FOREIGN_SECTION:
                return parse_section(&reading, root);
        case FOREIGN_TABLE:
                return parse_table(&reading, root);
        case FOREIGN_SRT:
                return parse_srt(&reading, root);
        }
        return 0;
}
