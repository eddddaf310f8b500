/* mcp_result.h: what a tool gives back: text for the model, and the same as a structure for programs. */
#ifndef SERVER_MCP_RESULT_H
#define SERVER_MCP_RESULT_H

#include "server/mcp_tools.h"
#include "server/task.h"

/* A string as it is, or if it is not UTF-8, as the name of a file may be, so that people can read it. */
void result_show(struct text *out, const char *string);
/* The whole line for a task that is done. */
void result_of_task(const struct task *task, enum tool_kind tool, bool is_stateless, struct text *out);
/* One that has failed before anything ran: a mistake that a model can read, and correct. */
void result_refused(struct text *out, const json_t *id, bool is_stateless, const abatis_error *err);
/* A text, and a structure as JSON. */
void result_answered(struct text *out, const json_t *id, bool is_stateless, const char *text,
                     const char *structure);

#endif
