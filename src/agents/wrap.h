/* wrap.h: a client's configuration with its MCP servers in a sandbox, or out of it again, as a text that differs nowhere else. */
#ifndef AGENTS_WRAP_H
#define AGENTS_WRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "agents/servers.h"

struct wrap_options {
        bool is_undone; /* what was wrapped shall be as it was */
        struct servers_program program;
        const char *const *flags; /* of `abatis run`, each with its value in one word; ends with NULL */
        const char *const *names; /* only these servers; NULL: all */
};

struct wrap {
        char *text; /* owned; NULL: nothing is to be changed */
        size_t length;
        char *difference; /* owned: of lines, for people; NULL when nothing is to be changed */
        char *report;     /* owned: a line on each server, for people */
        size_t changed;   /* how many servers */
};

/* Messages of errors that a place of the text is to blame for begin with "LINE:COLUMN: ". */
int wrap_make(const char *text, size_t length, const struct wrap_options *options, struct wrap *out,
              abatis_error *err);
void wrap_done(struct wrap *wrap);

#endif
