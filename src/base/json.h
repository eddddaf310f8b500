/* json.h: strings for JSON that may not be text. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "abatis.h"

/* A string as it is; one that is not UTF-8, such as a path in another encoding, as {"base64": "..."}; NULL as null. */
json_t *json_from_string(const char *string);
/* Releases `root`; fails when it is NULL. */
int json_to_text(json_t *root, size_t flags, char **out, abatis_error *err);

#endif
