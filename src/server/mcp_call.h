/* mcp_call.h: a call of a tool: which one, with which arguments, and what has to be run for it. */
#ifndef SERVER_MCP_CALL_H
#define SERVER_MCP_CALL_H

#include "server/mcp_message.h"
#include "server/mcp_tools.h"
#include "server/order.h"
#include "server/server.h"

struct call {
        enum tool_kind tool;
        json_t *arguments; /* borrowed from the message; NULL: none */
        const char *skill; /* borrowed from it, or NULL: it is none */
};

/* Refuses what is no tool. Of the arguments tool_check() judges. */
int call_read(const struct message *message, struct call *out, abatis_error *err);
/* The path that is an argument, absolute, owned by the caller. */
int call_path(const struct call *call, const struct server_options *options, const char *name, char **out,
              abatis_error *err);
/* The command of a tool that has one; what it is made of is the message's, whose root the order takes over. */
int call_make_order(struct call *call, struct message *message, const struct server_options *options,
                    struct order *out, abatis_error *err);

#endif
