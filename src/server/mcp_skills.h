/* mcp_skills.h: the installed skills as tools of MCP. */
#ifndef SERVER_MCP_SKILLS_H
#define SERVER_MCP_SKILLS_H

#include <jansson.h>
#include <stdbool.h>

#include "abatis.h"
#include "base/text.h"

/* Those that can be tools, each after a comma: one that takes an object, or says nothing of what it takes, and has no name of ours. */
void skills_list(struct text *out);
/* True for the name of one, changed or not. A path is none, whatever lies there. */
bool skills_have(const char *name);
int skills_open(const char *name, abatis_skill **out, abatis_error *err);
/* What it reads, owned by the caller: a string as it is, anything else as JSON; NULL is nothing. */
int skills_make_input(const json_t *input, char **out, abatis_error *err);

#endif
