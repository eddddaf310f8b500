/* json.c: strings for JSON that may not be text. */
#include "base/json.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

json_t *json_from_string(const char *string)
{
        OWN_TEXT struct text encoded = { 0 };

        if (!string)
                return json_null();
        if (text_is_utf8(string, strlen(string)))
                return json_string(string);
        text_add_base64(&encoded, string, strlen(string));
        return encoded.has_failed ? NULL : json_pack("{s:s}", "base64", encoded.data);
}

int json_to_text(json_t *root, size_t flags, char **out, abatis_error *err)
{
        char *text = root ? json_dumps(root, flags) : NULL;

        json_decref(root);
        if (!text)
                return error_memory(err);
        *out = text;
        return 0;
}
