/* tree.h: a part of a document as JSON. */
#ifndef SKILL_TREE_H
#define SKILL_TREE_H

#include "policy/document.h"

/* *out is owned by the caller. A number that JSON does not have is refused with its place; `file` is how the error calls the document. */
int tree_to_json(const struct node *node, const char *file, char **out, abatis_error *err);
/* How many levels there are, the top included. */
unsigned tree_depth(const struct node *node);

#endif
