/* value.h: of which types the values of a request are, and what is wrong with one that is not. */
#ifndef SERVER_VALUE_H
#define SERVER_VALUE_H

#include <jansson.h>
#include <stdbool.h>

enum value_type {
        TYPE_ID,          /* an integer or a short string */
        TYPE_METHOD,      /* a method's name */
        TYPE_PROTOCOL,    /* SERVER_PROTOCOL */
        TYPE_NAME,        /* a string that is not empty */
        TYPE_TEXT,        /* any string */
        TYPE_BASE64,      /* a string of base64 */
        TYPE_PATH,        /* an absolute one */
        TYPE_PATHS,       /* an array of them */
        TYPE_FLAG,        /* true or false */
        TYPE_COMMAND,     /* an array of strings, the first of them not empty */
        TYPE_STRINGS,     /* an array of strings */
        TYPE_VARIABLES,   /* an object of strings */
        TYPE_LIMITS,      /* an object of strings and numbers */
        TYPE_SETTINGS,    /* an object of strings, numbers, truth values, and arrays of these */
        TYPE_POLICY,      /* an object; the library knows the rest */
        TYPE_ACCESS,      /* read, write or execute */
        TYPE_COUNT,       /* an integer that is not negative */
        TYPE_INTERPRETER, /* a program that takes a script as an argument */
        TYPE_WAY,         /* to write a file */
        TYPE_ANY,
};

/* The names of the methods, in their order, and NULL. */
extern const char *const value_methods[];

/* What the value must be, in words, when it is not of this type; else NULL. */
const char *value_judge(enum value_type type, json_t *value);
/* The number of a TYPE_COUNT. */
json_int_t value_count(const json_t *value);
/* An integer or a string of 1 to 128 bytes. */
bool value_is_id(const json_t *value);

#endif
