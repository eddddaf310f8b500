/* object.h: one JSON object of bytes from anywhere, within bounds, and whose it is also when it is none. */
#ifndef SERVER_OBJECT_H
#define SERVER_OBJECT_H

#include <jansson.h>

#include "abatis.h"

/* *out is owned by the caller. When it fails, so is *id: the id, where it can be known, or NULL. Who wants none gives no place for it. */
int object_load(const char *text, size_t length, json_t **out, json_t **id, abatis_error *err);
/* The id in a line of which only the beginning is there. Owned by the caller, or NULL. */
json_t *object_find_id(const char *line, size_t length);

#endif
