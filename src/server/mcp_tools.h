/* mcp_tools.h: the tools of MCP: their names, what they take and give, in the words that a model is told. */
#ifndef SERVER_MCP_TOOLS_H
#define SERVER_MCP_TOOLS_H

#include <jansson.h>

#include "base/text.h"

enum tool_kind {
        TOOL_RUN_COMMAND,
        TOOL_RUN_SCRIPT,
        TOOL_READ_FILE,
        TOOL_WRITE_FILE,
        TOOL_LIST_DIRECTORY,
        TOOL_CHECK_PATH,
        TOOL_EXPLAIN_POLICY,
        TOOL_RUN_SKILL,
        TOOL_SKILL, /* an installed one by its own name: see mcp_skills.h */
        TOOL_COUNT
};

enum { TOOL_READ_DEFAULT = 256 * 1024, TOOL_READ_MAX = 1024 * 1024, TOOL_ENTRIES_MAX = 1000 };

/* TOOL_COUNT for a name that is none. */
enum tool_kind tool_find(const char *name);
const char *tool_name(enum tool_kind kind);
/* Whether what it prints is the caller's, and not for us. */
bool tool_is_command(enum tool_kind kind);
/* Refuses arguments, which may be NULL, that the tool does not take, with a message for the model. */
int tool_check(enum tool_kind kind, json_t *arguments, abatis_error *err);
/* What the array of tools/list has of them, without its brackets. */
void tool_list(struct text *out);

#endif
