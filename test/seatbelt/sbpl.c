/* sbpl.c: a reader and an evaluator of profiles; see sbpl.h. */
#define _GNU_SOURCE
#include "sbpl.h"

#include <ctype.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* A symbol, a string or a list. */
struct node {
        enum { NODE_SYMBOL, NODE_STRING, NODE_LIST } kind;
        char *text;          /* owned */
        struct node **items; /* owned */
        size_t count;
        regex_t *regex; /* owned: of a string that was matched as one */
};

struct sbpl {
        struct node *forms; /* a list */
        uint64_t *named;    /* owned: for each of them, the operations that it names, a bit for each */
        const struct sbpl_parameter *parameters;
        bool allows_default;
};

/* ---- reading --------------------------------------------------------------------------------------------- */

struct reader {
        const char *at;
        char *message;
        size_t size;
        bool has_failed;
};

static void *checked(void *memory)
{
        if (!memory)
                abort();
        return memory;
}

static void complain(struct reader *reader, const char *what)
{
        if (!reader->has_failed)
                snprintf(reader->message, reader->size, "%s before '%.30s'", what, reader->at);
        reader->has_failed = true;
}

static struct node *new_node(int kind)
{
        struct node *node = checked(calloc(1, sizeof(*node)));

        node->kind = kind;
        return node;
}

static void add_item(struct node *list, struct node *item)
{
        list->items = checked(realloc(list->items, (list->count + 1) * sizeof(*list->items)));
        list->items[list->count++] = item;
}

static void free_node(struct node *node)
{
        if (!node)
                return;
        for (size_t i = 0; i < node->count; i++)
                free_node(node->items[i]);
        if (node->regex) {
                regfree(node->regex);
                free(node->regex);
        }
        free(node->items);
        free(node->text);
        free(node);
}

static void skip_space(struct reader *reader)
{
        while (isspace((unsigned char)*reader->at) || *reader->at == ';')
                if (*reader->at == ';')
                        reader->at += strcspn(reader->at, "\n");
                else
                        reader->at++;
}

/* Nothing but these two escapes: what else a backslash means differs from one Scheme to the next. */
static struct node *read_string(struct reader *reader)
{
        struct node *node = new_node(NODE_STRING);
        size_t length = 0;

        node->text = checked(malloc(strlen(reader->at) + 1));
        for (reader->at++; *reader->at && *reader->at != '"'; reader->at++) {
                if ((unsigned char)*reader->at < ' ' || *reader->at == 0x7f)
                        complain(reader, "a control character in a string");
                if (*reader->at == '\\') {
                        reader->at++;
                        if (*reader->at != '"' && *reader->at != '\\') {
                                complain(reader, "an escape that is not certain");
                                break;
                        }
                }
                node->text[length++] = *reader->at;
        }
        node->text[length] = '\0';
        if (*reader->at == '"')
                reader->at++;
        else
                complain(reader, "a string without end");
        return node;
}

static struct node *read_symbol(struct reader *reader)
{
        struct node *node = new_node(NODE_SYMBOL);
        size_t length =
                strspn(reader->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-*_");

        if (!length)
                complain(reader, "something that is no symbol");
        node->text = checked(strndup(reader->at, length));
        reader->at += length;
        return node;
}

static struct node *read_node(struct reader *reader);

static struct node *read_items(struct reader *reader, char end)
{
        struct node *list = new_node(NODE_LIST);

        for (skip_space(reader); *reader->at != end && !reader->has_failed; skip_space(reader))
                add_item(list, read_node(reader));
        if (*reader->at && *reader->at == end)
                reader->at++;
        return list;
}

static struct node *read_node(struct reader *reader)
{
        switch (*reader->at) {
        case '(':
                reader->at++;
                return read_items(reader, ')');
        case '"':
                return read_string(reader);
        case '\0':
                complain(reader, "the profile ends");
                return new_node(NODE_LIST);
        }
        return read_symbol(reader);
}

/* ---- meaning --------------------------------------------------------------------------------------------- */

/* Each operation or group, and the group that has it. */
static const char *const operations[][2] = {
        { "file*", NULL },
        { "file-read*", "file*" },
        { "file-read-data", "file-read*" },
        { "file-read-metadata", "file-read*" },
        { "file-read-xattr", "file-read*" },
        { "file-test-existence", "file*" },
        { "file-write*", "file*" },
        { "file-write-create", "file-write*" },
        { "file-write-data", "file-write*" },
        { "file-write-mode", "file-write*" },
        { "file-write-owner", "file-write*" },
        { "file-write-unlink", "file-write*" },
        { "file-write-xattr", "file-write*" },
        { "file-chroot", "file*" },
        { "file-clone", "file*" },
        { "file-ioctl", "file*" },
        { "file-link", "file*" },
        { "file-map-executable", "file*" },
        { "file-mount", "file*" },
        { "file-unmount", "file*" },
        { "appleevent-send", NULL },
        { "iokit-open", NULL },
        { "ipc-posix*", NULL },
        { "ipc-posix-sem", "ipc-posix*" },
        { "ipc-posix-shm-read-data", "ipc-posix*" },
        { "ipc-posix-shm-write-data", "ipc-posix*" },
        { "ipc-sysv*", NULL },
        { "ipc-sysv-shm", "ipc-sysv*" },
        { "job-creation", NULL },
        { "lsopen", NULL },
        { "mach-lookup", NULL },
        { "mach-priv-host-port", NULL },
        { "mach-priv-task-port", NULL },
        { "mach-register", NULL },
        { "network*", NULL },
        { "network-bind", "network*" },
        { "network-inbound", "network*" },
        { "network-outbound", "network*" },
        { "nvram*", NULL },
        { "process*", NULL },
        { "process-exec*", "process*" },
        { "process-exec", "process-exec*" },
        { "process-exec-interpreter", "process-exec*" },
        { "process-fork", "process*" },
        { "process-info*", "process*" },
        { "process-info-listpids", "process-info*" },
        { "pseudo-tty", NULL },
        { "signal", NULL },
        { "sysctl-read", NULL },
        { "sysctl-write", NULL },
        { "system*", NULL },
        { "system-fsctl", "system*" },
        { "system-info", "system*" },
        { "system-reboot", "system*" },
        { "system-sched", "system*" },
        { "system-socket", "system*" },
};

/* What a filter has behind its name. */
static const struct shape {
        const char *name;
        enum { OF_STRING, OF_SYMBOL, OF_FILTERS, OF_ENDPOINT } of;
} shapes[] = {
        { "literal", OF_STRING },      { "subpath", OF_STRING },        { "regex", OF_STRING },
        { "global-name", OF_STRING },  { "ipc-posix-name", OF_STRING }, { "sysctl-name-prefix", OF_STRING },
        { "extension", OF_STRING },    { "target", OF_SYMBOL },         { "socket-domain", OF_SYMBOL },
        { "require-all", OF_FILTERS }, { "require-any", OF_FILTERS },   { "require-not", OF_FILTERS },
        { "local", OF_ENDPOINT },      { "remote", OF_ENDPOINT },
};

_Static_assert(COUNT(operations) <= 64, "a bit for each");

static size_t find_operation(const char *name)
{
        size_t i = 0;

        while (i < COUNT(operations) && strcmp(operations[i][0], name) != 0)
                i++;
        return i;
}

/* 0 for what is none. */
static uint64_t bit_of(const char *name)
{
        size_t i = find_operation(name);

        return i < COUNT(operations) ? (uint64_t)1 << i : 0;
}

/* NULL when no group has it. */
static const char *group_of(const char *name)
{
        return operations[find_operation(name)][1];
}

static bool is_symbol(const struct node *node, const char *text)
{
        return node->kind == NODE_SYMBOL && !strcmp(node->text, text);
}

static bool is_form(const struct node *node, const char *name)
{
        return node->kind == NODE_LIST && node->count && is_symbol(node->items[0], name);
}

/* The value of a string, or of a parameter; or NULL. */
static const char *string_of(const struct sbpl *sbpl, const struct node *node)
{
        if (node->kind == NODE_STRING)
                return node->text;
        if (!is_form(node, "param") || node->count != 2 || node->items[1]->kind != NODE_STRING)
                return NULL;
        for (const struct sbpl_parameter *parameter = sbpl->parameters; parameter->name; parameter++)
                if (!strcmp(parameter->name, node->items[1]->text))
                        return parameter->value;
        return NULL;
}

static bool is_endpoint(const struct sbpl *sbpl, const struct node *node)
{
        const char *place;

        if (node->count == 2)
                return is_symbol(node->items[1], "unix-socket");
        if (node->count != 3 || !(is_symbol(node->items[1], "ip") || is_symbol(node->items[1], "tcp")))
                return false;
        place = string_of(sbpl, node->items[2]);
        /* The compiler of macOS takes no other host. */
        return place && (!strncmp(place, "localhost:", 10) || !strncmp(place, "*:", 2));
}

/* Compiles regular expressions, too. */
static bool is_filter(const struct sbpl *sbpl, struct node *node)
{
        const struct shape *shape = NULL;
        bool is_good = true;

        for (size_t i = 0; i < COUNT(shapes); i++)
                if (is_form(node, shapes[i].name))
                        shape = &shapes[i];
        if (!shape || node->count < 2)
                return false;
        switch (shape->of) {
        case OF_STRING:
                is_good = node->count == 2 && string_of(sbpl, node->items[1]);
                break;
        case OF_SYMBOL:
                is_good = node->count == 2 && node->items[1]->kind == NODE_SYMBOL;
                break;
        case OF_ENDPOINT:
                is_good = is_endpoint(sbpl, node);
                break;
        case OF_FILTERS:
                for (size_t i = 1; i < node->count; i++)
                        is_good &= is_filter(sbpl, node->items[i]);
                break;
        }
        return is_good;
}

static bool is_rule(const struct sbpl *sbpl, const struct node *form)
{
        size_t i = 1;

        if (!is_form(form, "allow") && !is_form(form, "deny"))
                return false;
        if (form->count == 2 && is_symbol(form->items[1], "default"))
                return true;
        for (; i < form->count && form->items[i]->kind == NODE_SYMBOL; i++)
                if (!bit_of(form->items[i]->text))
                        return false;
        if (i == 1)
                return false;
        for (; i < form->count; i++)
                if (!is_filter(sbpl, form->items[i]))
                        return false;
        return true;
}

/* The first form is the version, the second says what holds for the rest, and no other does. */
static bool check_forms(struct sbpl *sbpl, struct reader *reader)
{
        const struct node *forms = sbpl->forms;

        if (forms->count < 2 || !is_form(forms->items[0], "version") || forms->items[0]->count != 2 ||
            !is_symbol(forms->items[0]->items[1], "1")) {
                complain(reader, "no (version 1)");
                return false;
        }
        for (size_t i = 1; i < forms->count; i++) {
                const struct node *form = forms->items[i];
                bool is_default =
                        form->kind == NODE_LIST && form->count == 2 && is_symbol(form->items[1], "default");

                if (!is_rule(sbpl, form) || is_default != (i == 1)) {
                        snprintf(reader->message, reader->size, "form %zu is no rule that we know", i);
                        return false;
                }
        }
        sbpl->allows_default = is_form(forms->items[1], "allow");
        sbpl->named = checked(calloc(forms->count, sizeof(*sbpl->named)));
        for (size_t i = 2; i < forms->count; i++)
                for (size_t j = 1; j < forms->items[i]->count; j++)
                        if (forms->items[i]->items[j]->kind == NODE_SYMBOL)
                                sbpl->named[i] |= bit_of(forms->items[i]->items[j]->text);
        return true;
}

struct sbpl *sbpl_parse(const char *text, const struct sbpl_parameter *parameters, char *message, size_t size)
{
        struct reader reader = { .at = text, .message = message, .size = size };
        struct sbpl *sbpl = checked(calloc(1, sizeof(*sbpl)));

        sbpl->parameters = parameters;
        sbpl->forms = read_items(&reader, '\0');
        if (!reader.has_failed && check_forms(sbpl, &reader))
                return sbpl;
        sbpl_free(sbpl);
        return NULL;
}

void sbpl_free(struct sbpl *sbpl)
{
        if (!sbpl)
                return;
        free_node(sbpl->forms);
        free(sbpl->named);
        free(sbpl);
}

/* ---- answering ------------------------------------------------------------------------------------------- */

static bool is_in(const char *path, const char *tree)
{
        size_t length = strlen(tree);

        if (!strcmp(tree, "/"))
                return true;
        return !strncmp(path, tree, length) && (!path[length] || path[length] == '/');
}

/* Compiled when it is first needed; the locale of the test decides whether it sees bytes or characters. */
static bool matches_regex(struct node *node, const char *path)
{
        if (!node->regex) {
                node->regex = checked(calloc(1, sizeof(*node->regex)));
                if (regcomp(node->regex, node->text, REG_EXTENDED | REG_NOSUB))
                        abort();
        }
        return !regexec(node->regex, path, 0, NULL, 0);
}

static bool matches_endpoint(const struct sbpl *sbpl, const struct node *filter,
                             const struct sbpl_question *question)
{
        const char *place, *port;

        if (filter->count == 2)
                return question->path != NULL;
        place = string_of(sbpl, filter->items[2]);
        port = strrchr(place, ':') + 1;
        return question->host && (*place == '*' || !strncmp(place, question->host, strlen(question->host))) &&
               (*port == '*' || strtoul(port, NULL, 10) == question->port);
}

static bool matches(const struct sbpl *sbpl, const struct node *filter, const struct sbpl_question *question)
{
        const char *name = filter->items[0]->text, *path = question->path, *string;
        bool all = true, any = false;

        for (size_t i = 1; i < filter->count && !strncmp(name, "require-", 8); i++) {
                bool is_met = matches(sbpl, filter->items[i], question);

                all &= is_met;
                any |= is_met;
        }
        if (!strcmp(name, "require-all"))
                return all;
        if (!strcmp(name, "require-any"))
                return any;
        if (!strcmp(name, "require-not"))
                return !any;
        if (!strcmp(name, "local") || !strcmp(name, "remote"))
                return matches_endpoint(sbpl, filter, question);
        if (!strcmp(name, "target"))
                return question->target && is_symbol(filter->items[1], question->target);
        if (!strcmp(name, "socket-domain"))
                return question->family && is_symbol(filter->items[1], question->family);
        string = string_of(sbpl, filter->items[1]);
        if (!strcmp(name, "extension"))
                return question->has_extension;
        if (!strcmp(name, "sysctl-name-prefix"))
                return question->name && !strncmp(question->name, string, strlen(string));
        if (!strcmp(name, "global-name") || !strcmp(name, "ipc-posix-name"))
                return question->name && !strcmp(question->name, string);
        if (!path)
                return false;
        if (!strcmp(name, "literal"))
                return !strcmp(path, string);
        if (!strcmp(name, "subpath"))
                return is_in(path, string);
        return matches_regex(filter->items[1], path);
}

/* Filters beside each other are alternatives; a rule without any holds for all. */
static bool applies(const struct sbpl *sbpl, const struct node *rule, const struct sbpl_question *question)
{
        bool has_filter = false;

        for (size_t i = 1; i < rule->count; i++) {
                if (rule->items[i]->kind == NODE_SYMBOL)
                        continue;
                has_filter = true;
                if (matches(sbpl, rule->items[i], question))
                        return true;
        }
        return !has_filter;
}

bool sbpl_allows(const struct sbpl *sbpl, enum sbpl_order order, const struct sbpl_question *question)
{
        const struct node *forms = sbpl->forms;
        uint64_t asked = 0;

        for (const char *operation = question->operation; operation; operation = group_of(operation)) {
                asked = bit_of(operation) | (order == SBPL_LAST ? asked : 0);
                if (order == SBPL_LAST && group_of(operation))
                        continue;
                for (size_t i = forms->count; i-- > 2;)
                        if (sbpl->named[i] & asked && applies(sbpl, forms->items[i], question))
                                return is_form(forms->items[i], "allow");
        }
        return sbpl->allows_default;
}

/* ---- its shape ------------------------------------------------------------------------------------------- */

static void print_shape(FILE *out, const struct node *node)
{
        if (node->kind != NODE_LIST) {
                fprintf(out, " %s", node->kind == NODE_STRING ? "\"\"" : node->text);
                return;
        }
        fputs(" (", out);
        for (size_t i = 0; i < node->count; i++)
                print_shape(out, node->items[i]);
        fputs(")", out);
}

char *sbpl_skeleton(const struct sbpl *sbpl)
{
        char *text = NULL;
        size_t size = 0;
        FILE *out = checked(open_memstream(&text, &size));

        print_shape(out, sbpl->forms);
        if (fclose(out))
                abort();
        return checked(text);
}

static bool has_string(const struct node *node, const char *string)
{
        for (size_t i = 0; i < node->count; i++)
                if (has_string(node->items[i], string))
                        return true;
        return node->kind == NODE_STRING && !strcmp(node->text, string);
}

bool sbpl_has_string(const struct sbpl *sbpl, const char *string)
{
        return has_string(sbpl->forms, string);
}
