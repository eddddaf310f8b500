/* servers.h: the MCP servers that a client's configuration names, and what is to be said of each. */
#ifndef AGENTS_SERVERS_H
#define AGENTS_SERVERS_H

#include "agents/jsonc.h"

enum server_state {
        SERVER_BARE,    /* started by the client, as it is */
        SERVER_WRAPPED, /* by us */
        SERVER_FOREIGN, /* it looks so, and its program is another */
        SERVER_OURS,    /* abatis itself, or somebody's own `abatis run` */
        SERVER_REMOTE,  /* reached at an address */
        SERVER_UNKNOWN  /* nothing says how it is started */
};

struct server {
        char *name; /* owned */
        enum server_state state;
        /* Values of the document; JSONC_NONE: there is none. Only of what is bare or wrapped. */
        size_t holder; /* the object that has both of these */
        size_t command, args;
        size_t env;
        /* Only of what is wrapped or looks so: the word of the args that was the command. */
        size_t original;
        bool had_no_args;
};

struct servers {
        struct server *items; /* owned */
        size_t count;
};

/* The first words of the args of what we have wrapped: it is known by them, and the audit log has the second. */
#define SERVERS_VERB "run"
#define SERVERS_MARK "--context=mcp-wrap"
#define SERVERS_MARK_NO_ARGS "--context=mcp-wrap:no-args"

struct servers_program {
        const char *path;                  /* of abatis */
        bool (*is_same)(const char *path); /* whether another absolute path leads to it; NULL: none does */
};

/* Refuses a document that has none of the places where clients keep servers. Messages begin with "LINE:COLUMN: ". */
int servers_find(const struct jsonc *document, const struct servers_program *program, struct servers *out,
                 abatis_error *err);
void servers_done(struct servers *servers);
#define OWN_SERVERS __attribute__((cleanup(servers_done)))

#endif
