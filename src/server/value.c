/* value.c: of which types the values of a request are, and what is wrong with one that is not. */
#include "server/value.h"

#include <string.h>

#include "base/text.h"
#include "server/server.h"

enum { ID_SIZE_MAX = 128 };

const char *const value_methods[] = { "run", "cancel", "check", "explain", "probe", "skill", NULL };

static bool is_in(const json_t *value, const char *const *words)
{
        for (; json_is_string(value) && *words; words++)
                if (!strcmp(json_string_value(value), *words))
                        return true;
        return false;
}

static bool is_name(const json_t *value)
{
        return json_is_string(value) && json_string_length(value);
}

static bool is_string(const json_t *value)
{
        return json_is_string(value);
}

static bool is_path(const json_t *value)
{
        return json_is_string(value) && *json_string_value(value) == '/';
}

static bool is_quantity(const json_t *value)
{
        return is_name(value) || (json_is_integer(value) && json_integer_value(value) >= 0);
}

static bool is_scalar(const json_t *value)
{
        return json_is_string(value) || json_is_integer(value) || json_is_boolean(value);
}

static bool are_all(const json_t *array, bool (*is_one)(const json_t *value))
{
        for (size_t i = 0; i < json_array_size(array); i++)
                if (!is_one(json_array_get(array, i)))
                        return false;
        return json_is_array(array);
}

static bool is_setting(const json_t *value)
{
        return is_scalar(value) || are_all(value, is_scalar);
}

static bool have_all(json_t *object, bool (*is_one)(const json_t *value))
{
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value) if (!*key || !is_one(value)) return false;
        return json_is_object(object);
}

static bool are_variables(json_t *object)
{
        const char *key;
        json_t *value;

        json_object_foreach(object, key, value) if (strchr(key, '=')) return false;
        return have_all(object, is_string);
}

static bool is_base64(const json_t *value)
{
        OWN_TEXT struct text text = { 0 };

        return json_is_string(value) &&
               text_add_decoded(&text, json_string_value(value), json_string_length(value));
}

json_int_t value_count(const json_t *value)
{
        return json_is_real(value) ? (json_int_t)json_real_value(value) : json_integer_value(value);
}

/* To JSON Schema 10.0 is an integer, too, and some languages write it so; beyond 2^53 they cannot tell one from the next. */
static bool is_count(const json_t *value)
{
        double real = json_real_value(value);

        if (!json_is_real(value))
                return json_is_integer(value) && json_integer_value(value) >= 0;
        return real >= 0 && real <= (double)(1LL << 53) && real == (double)(json_int_t)real;
}

bool value_is_id(const json_t *value)
{
        return json_is_integer(value) || (is_name(value) && json_string_length(value) <= ID_SIZE_MAX);
}

const char *value_judge(enum value_type type, json_t *value)
{
        static const char *const accesses[] = { "read", "write", "execute", NULL };
        static const char *const interpreters[] = { "sh", "bash", "python3", "node", "perl", "ruby", NULL };
        static const char *const ways[] = { "overwrite", "create", "append", NULL };

        switch (type) {
        case TYPE_ID:
                return value_is_id(value) ? NULL : "an integer or a string of 1 to 128 bytes";
        case TYPE_METHOD:
                return is_in(value, value_methods) ? NULL : "run, cancel, check, explain, probe or skill";
        case TYPE_PROTOCOL:
                return json_is_integer(value) && json_integer_value(value) == SERVER_PROTOCOL ? NULL : "1";
        case TYPE_NAME:
                return is_name(value) ? NULL : "a string that is not empty";
        case TYPE_TEXT:
                return json_is_string(value) ? NULL : "a string";
        case TYPE_BASE64:
                return is_base64(value) ? NULL : "a string of base64";
        case TYPE_PATH:
                return is_path(value) ? NULL : "an absolute path";
        case TYPE_PATHS:
                return are_all(value, is_path) ? NULL : "an array of absolute paths";
        case TYPE_FLAG:
                return json_is_boolean(value) ? NULL : "true or false";
        case TYPE_COMMAND:
                return are_all(value, is_string) && is_name(json_array_get(value, 0))
                               ? NULL
                               : "an array of strings: the program and its arguments";
        case TYPE_STRINGS:
                return are_all(value, is_string) ? NULL : "an array of strings";
        case TYPE_VARIABLES:
                return are_variables(value) ? NULL : "an object of strings";
        case TYPE_LIMITS:
                return have_all(value, is_quantity) ? NULL : "an object of strings and numbers";
        case TYPE_SETTINGS:
                return have_all(value, is_setting)
                               ? NULL
                               : "an object of strings, numbers, truth values and arrays of these";
        case TYPE_POLICY:
                return json_is_object(value) ? NULL : "an object";
        case TYPE_ACCESS:
                return is_in(value, accesses) ? NULL : "read, write or execute";
        case TYPE_COUNT:
                return is_count(value) ? NULL : "an integer from 0";
        case TYPE_INTERPRETER:
                return is_in(value, interpreters) ? NULL : "sh, bash, python3, node, perl or ruby";
        case TYPE_WAY:
                return is_in(value, ways) ? NULL : "overwrite, create or append";
        case TYPE_ANY:
                break;
        }
        return NULL;
}
