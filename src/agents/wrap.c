/* wrap.c: a client's configuration with its MCP servers in a sandbox, or out of it again, as a text that differs nowhere else. */
#include "agents/wrap.h"

#include <stdlib.h>
#include <string.h>

#include "agents/edits.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/own.h"

/* The blanks before a key or a word, if they put it on a line of its own and if there are only blanks; else one. */
static void add_gap(struct text *text, const struct jsonc *document, size_t at)
{
        const char *end = document->text + at, *start = end;
        const char *before;

        while (start > document->text && start[-1] && strchr(" \t\r\n", start[-1]))
                start--;
        before = start > document->text ? start - 1 : start;
        if (memchr(start, '\n', (size_t)(end - start)) && strchr("{[,", *before))
                text_add_bytes(text, start, (size_t)(end - start));
        else
                text_add(text, " ");
}

static void add_word(struct text *text, const char *word)
{
        json_text_string(text, word, strlen(word));
        text_add(text, ", ");
}

/* A client gives a server's variables to whatever it starts: with these abatis itself would read another policy, or be another program. */
static bool steers_abatis(const char *name)
{
        static const char *const names[] = { "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
                                             "XDG_DATA_HOME" };

        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
                if (!strcmp(name, names[i]))
                        return true;
        return !strncmp(name, "LD_", 3) || !strncmp(name, "DYLD_", 5) || !strncmp(name, "ABATIS_", 7);
}

/* What a client gives one server by name is meant for it, also if it looks secret. */
static int add_variables(struct text *text, const struct jsonc *document, size_t env, abatis_error *err)
{
        if (env == JSONC_NONE || document->values[env].kind != JSONC_OBJECT)
                return 0;
        for (size_t i = jsonc_first(document, env); i != JSONC_NONE; i = jsonc_next(document, env, i)) {
                const struct jsonc_value *value = &document->values[i];
                OWN_FREE char *name = jsonc_decode(document, value->key, value->key_end);
                OWN_TEXT struct text flag = { 0 };

                if (!name)
                        return error_memory(err);
                if (steers_abatis(name))
                        return jsonc_refuse(
                                document, value->key, err,
                                "this variable would be for abatis, too; take it out, and have the command set it: env NAME=VALUE COMMAND");
                /* No variable is called so. */
                if (!*name || strchr(name, '='))
                        continue;
                text_add(&flag, "--env=");
                text_add(&flag, name);
                if (flag.has_failed)
                        return error_memory(err);
                add_word(text, flag.data);
        }
        return 0;
}

/* The words that come before a server's own, the last of which is its command. */
static int add_words(struct text *text, const struct jsonc *document, const struct server *server,
                     const struct wrap_options *options, abatis_error *err)
{
        const struct jsonc_value *command = &document->values[server->command];
        int r;

        add_word(text, SERVERS_VERB);
        add_word(text, server->args == JSONC_NONE ? SERVERS_MARK_NO_ARGS : SERVERS_MARK);
        for (const char *const *flag = options->flags; *flag; flag++)
                add_word(text, *flag);
        r = add_variables(text, document, server->env, err);
        add_word(text, "--");
        text_add_bytes(text, document->text + command->start, command->end - command->start);
        return r;
}

static int replace_command(const struct jsonc *document, const struct server *server,
                           struct text *replacement, struct edits *edits, abatis_error *err)
{
        const struct jsonc_value *command = &document->values[server->command];

        return edits_add(edits, command->start, command->end, replacement, err);
}

static int wrap_server(const struct jsonc *document, const struct server *server,
                       const struct wrap_options *options, struct edits *edits, abatis_error *err)
{
        const struct jsonc_value *command = &document->values[server->command];
        size_t first = server->args == JSONC_NONE ? JSONC_NONE : jsonc_first(document, server->args);
        size_t at;
        OWN_TEXT struct text program = { 0 }, words = { 0 };
        int r;

        json_text_string(&program, options->program.path, strlen(options->program.path));
        if (server->args == JSONC_NONE) {
                text_add(&words, ",");
                add_gap(&words, document, command->key);
                text_add(&words, "\"args\": [");
                at = command->end;
        } else
                at = first == JSONC_NONE ? document->values[server->args].start + 1
                                         : document->values[first].start;
        r = add_words(&words, document, server, options, err);
        if (server->args == JSONC_NONE)
                text_add(&words, "]");
        else if (first != JSONC_NONE) {
                text_add(&words, ",");
                add_gap(&words, document, at);
        }
        if (!r)
                r = replace_command(document, server, &program, edits, err);
        return r ? r : edits_add(edits, at, at, &words, err);
}

/* The comma between two members that follow each other, when there is nothing else but blanks; or JSONC_NONE. */
static size_t comma_between(const struct jsonc *document, size_t first, size_t second)
{
        const char *text = document->text;
        size_t at;

        if (first == JSONC_NONE || second == JSONC_NONE)
                return JSONC_NONE;
        at = jsonc_blanks_end(text, document->length, document->values[first].end);
        if (text[at] != ',' ||
            jsonc_blanks_end(text, document->length, at + 1) != document->values[second].key)
                return JSONC_NONE;
        return at;
}

/* What has to go for a member to be gone: with the comma before it, which is how it came, or else with the one behind. False when there is
 * a comment: then an empty list stays. */
static bool find_member(const struct jsonc *document, size_t object, size_t member, size_t *start,
                        size_t *end)
{
        size_t before = JSONC_NONE, behind = jsonc_next(document, object, member), comma;

        for (size_t i = jsonc_first(document, object); i != member; i = jsonc_next(document, object, i))
                before = i;
        comma = comma_between(document, before, member);
        if (comma != JSONC_NONE) {
                *start = comma;
                *end = document->values[member].end;
        } else if (before == JSONC_NONE && comma_between(document, member, behind) != JSONC_NONE) {
                *start = document->values[member].key;
                *end = document->values[behind].key;
        } else
                return false;
        return true;
}

/* Of what goes, the words are ours; between them there are blanks, commas and brackets, or somebody's comments. */
static int refuse_comments(const struct jsonc *document, const struct server *server, size_t start,
                           size_t end, abatis_error *err)
{
        size_t word = jsonc_first(document, server->args);

        while (start < end) {
                bool is_last = word == JSONC_NONE || document->values[word].start >= end;
                size_t until = is_last ? end : document->values[word].start;
                const char *slash = memchr(document->text + start, '/', until - start);

                if (slash)
                        return jsonc_refuse(document, (size_t)(slash - document->text), err,
                                            "this comment would be lost: move it elsewhere");
                start = is_last ? end : document->values[word].end;
                word = is_last ? word : jsonc_next(document, server->args, word);
        }
        return 0;
}

static int unwrap_server(const struct jsonc *document, const struct server *server, struct edits *edits,
                         abatis_error *err)
{
        const struct jsonc_value *original = &document->values[server->original];
        size_t next = jsonc_next(document, server->args, server->original);
        size_t start = document->values[jsonc_first(document, server->args)].start, end = original->end;
        OWN_TEXT struct text command = { 0 }, nothing = { 0 };
        int r;

        if (next != JSONC_NONE) {
                end = document->values[next].start;
        } else if (!server->had_no_args ||
                   !find_member(document, server->holder, server->args, &start, &end)) {
                size_t behind = jsonc_blanks_end(document->text, document->length, end);

                end = document->text[behind] == ',' ? behind + 1 : end;
        }
        text_add_bytes(&command, document->text + original->start, original->end - original->start);
        r = refuse_comments(document, server, start, end, err);
        if (!r)
                r = replace_command(document, server, &command, edits, err);
        return r ? r : edits_add(edits, start, end, &nothing, err);
}

static bool is_named(const struct wrap_options *options, const char *name)
{
        if (!options->names)
                return true;
        for (const char *const *wanted = options->names; *wanted; wanted++)
                if (!strcmp(*wanted, name))
                        return true;
        return false;
}

static int check_names(const struct servers *servers, const struct wrap_options *options, abatis_error *err)
{
        for (const char *const *wanted = options->names; wanted && *wanted; wanted++) {
                bool is_there = false;

                for (size_t i = 0; i < servers->count; i++)
                        is_there |= !strcmp(servers->items[i].name, *wanted);
                if (!is_there)
                        return error_set(err, ABATIS_E_INVALID, "1:1: no server is called '%s'", *wanted);
        }
        return 0;
}

static const char *describe(enum server_state state, bool is_undone, bool is_wanted)
{
        switch (state) {
        case SERVER_REMOTE:
                return "left: it is reached at an address, and runs elsewhere";
        case SERVER_UNKNOWN:
                return "left: nothing says how it is started";
        case SERVER_FOREIGN:
                return is_undone ? is_wanted ? "to be as it was" : "left, wrapped" : "";
        case SERVER_OURS:
                return is_undone ? "left: not wrapped by mcp-wrap" : "left: it is abatis already";
        case SERVER_WRAPPED:
                return is_undone ? is_wanted ? "to be as it was" : "left, wrapped" : "wrapped already";
        case SERVER_BARE:
                return is_undone ? "left: not wrapped" : is_wanted ? "to be wrapped" : "left, not wrapped";
        }
        return "";
}

/* What is believed to be in a sandbox is shown with its flags. */
static int add_line(const struct jsonc *document, const struct server *server, struct text *report,
                    abatis_error *err)
{
        bool is_ours = server->state == SERVER_OURS || server->state == SERVER_WRAPPED;
        size_t word = is_ours ? server->command : JSONC_NONE;

        text_add(report, is_ours ? ": " : "");
        while (word != JSONC_NONE) {
                OWN_FREE char *text =
                        jsonc_decode(document, document->values[word].start, document->values[word].end);

                if (!text)
                        return error_memory(err);
                text_add_line(report, text);
                word = word != server->command      ? jsonc_next(document, server->args, word)
                       : server->args == JSONC_NONE ? JSONC_NONE
                                                    : jsonc_first(document, server->args);
                text_add(report, word == JSONC_NONE ? "" : " ");
        }
        text_add(report, "\n");
        return 0;
}

static int edit_servers(const struct jsonc *document, const struct servers *servers,
                        const struct wrap_options *options, struct edits *edits, struct text *report,
                        size_t *changed, abatis_error *err)
{
        enum server_state wanted = options->is_undone ? SERVER_WRAPPED : SERVER_BARE;
        int r = 0;

        text_add(report, "");
        for (size_t i = 0; i < servers->count && !r; i++) {
                const struct server *server = &servers->items[i];
                bool is_wanted = is_named(options, server->name);

                if (server->state == SERVER_FOREIGN && !options->is_undone)
                        return jsonc_refuse(
                                document, document->values[server->command].start, err,
                                "this server looks wrapped, and its program is not this abatis; --undo takes that back");
                text_add_line(report, server->name);
                text_addf(report, ": %s", describe(server->state, options->is_undone, is_wanted));
                r = add_line(document, server, report, err);
                if ((server->state != wanted && server->state != SERVER_FOREIGN) || !is_wanted)
                        continue;
                ++*changed;
                if (!r)
                        r = options->is_undone ? unwrap_server(document, server, edits, err)
                                               : wrap_server(document, server, options, edits, err);
        }
        edits_sort(edits);
        return r;
}

/* What clients are to read must be readable: it is read here first. */
static int check_result(const char *text, size_t length, abatis_error *err)
{
        OWN_JSONC struct jsonc document = { 0 };
        abatis_error why;

        if (jsonc_parse(text, length, &document, &why) < 0)
                return error_set(err, ABATIS_E_INVALID, "1:1: it cannot be changed without breaking it (%s)",
                                 why.message);
        return 0;
}

static int make_texts(const struct edits *edits, const char *text, size_t length, struct wrap *out,
                      abatis_error *err)
{
        OWN_TEXT struct text changed = { 0 }, difference = { 0 };
        size_t changed_length;
        int r;

        if (!edits->count)
                return 0;
        edits_apply(edits, text, length, &changed);
        edits_show(edits, text, length, &difference);
        if (changed.has_failed)
                return error_memory(err);
        changed_length = changed.length;
        r = check_result(changed.data, changed_length, err);
        if (!r)
                r = text_take(&difference, &out->difference, err);
        if (!r)
                r = text_take(&changed, &out->text, err);
        out->length = changed_length;
        return r;
}

static int check_words(const struct wrap_options *options, abatis_error *err)
{
        if (options->is_undone)
                return 0;
        if (!text_is_utf8(options->program.path, strlen(options->program.path)))
                return error_set(err, ABATIS_E_INVALID, "the path of abatis is not UTF-8: '%s'",
                                 options->program.path);
        for (const char *const *flag = options->flags; *flag; flag++)
                if (!text_is_utf8(*flag, strlen(*flag)))
                        return error_set(err, ABATIS_E_INVALID, "not UTF-8, which JSON needs: '%s'", *flag);
        return 0;
}

int wrap_make(const char *text, size_t length, const struct wrap_options *options, struct wrap *out,
              abatis_error *err)
{
        OWN_JSONC struct jsonc document = { 0 };
        OWN_SERVERS struct servers servers = { 0 };
        OWN_EDITS struct edits edits = { 0 };
        OWN_TEXT struct text report = { 0 };
        struct wrap wrap = { 0 };
        int r = check_words(options, err);

        if (!r)
                r = jsonc_parse(text, length, &document, err);
        if (!r)
                r = servers_find(&document, &options->program, &servers, err);
        if (!r)
                r = check_names(&servers, options, err);
        if (!r)
                r = edit_servers(&document, &servers, options, &edits, &report, &wrap.changed, err);
        if (!r)
                r = make_texts(&edits, text, length, &wrap, err);
        if (!r)
                r = text_take(&report, &wrap.report, err);
        if (r < 0)
                wrap_done(&wrap);
        else
                *out = wrap;
        return r;
}

void wrap_done(struct wrap *wrap)
{
        free(wrap->text);
        free(wrap->difference);
        free(wrap->report);
        *wrap = (struct wrap){ 0 };
}
