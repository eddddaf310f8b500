/* keys.h: the keys of a policy, as one table: documents, flags, the schema and what is printed all come from it. */
#ifndef POLICY_KEYS_H
#define POLICY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"

enum key_id {
        KEY_VERSION,
        KEY_EXTENDS,
        KEY_SESSION,
        KEY_BACKEND,
        KEY_READ,
        KEY_WRITE,
        KEY_EXECUTE,
        KEY_DENY,
        KEY_PROTECT,
        KEY_NETWORK,
        KEY_CONNECT,
        KEY_BIND,
        KEY_UNIX,
        KEY_VERIFY_SNI,
        KEY_LOOPBACK,
        KEY_FORK,
        KEY_SYSTEM_CALLS,
        KEY_EXECUTABLE_MEMORY,
        KEY_SIGNALS,
        KEY_COMMANDS,
        KEY_CHECK_ARGUMENTS,
        KEY_PASS,
        KEY_ENVIRONMENT_DENY,
        KEY_ENVIRONMENT_SET,
        KEY_MEMORY,
        KEY_PROCESSES,
        KEY_OPEN_FILES,
        KEY_CPU,
        KEY_FILE_SIZE,
        KEY_WRITTEN,
        KEY_CONNECTIONS,
        KEY_CONNECTION_RATE,
        KEY_TRAFFIC,
        KEY_TIMEOUT,
        KEY_OUTPUT,
        KEY_AUDIT_LOG,
        KEY_AUDIT_SYNC,
        KEY_AUDIT_SIZE,
        KEY_AUDIT_KEEP,
        KEY_COUNT
};

/* What a document may say for a key. */
enum key_type {
        TYPE_VERSION,     /* 1 */
        TYPE_BASES,       /* a name or a list of names */
        TYPE_SESSION,     /* private or shared */
        TYPE_CALLS,       /* usual or few */
        TYPE_BACKEND,     /* of backend_names */
        TYPE_TREES,       /* a list of paths; all, system, inherited */
        TYPE_HOLES,       /* a list of paths and patterns */
        TYPE_MODE,        /* a network mode */
        TYPE_HOSTS,       /* a list of HOST:PORT */
        TYPE_PORTS,       /* a list of ports */
        TYPE_PATHS,       /* a list of paths */
        TYPE_PROGRAMS,    /* a list of names and paths */
        TYPE_BOOLEAN,     /* true or false */
        TYPE_VARIABLES,   /* all, none, or a list of names; all in a list means all others too */
        TYPE_MASKS,       /* a list of names with * in them */
        TYPE_ASSIGNMENTS, /* a map of names to texts */
        TYPE_SIZE,
        TYPE_DURATION,
        TYPE_NUMBER,
        TYPE_LOG, /* on, off, true, false, or the path of a file; also said in the place of the whole section */
};

/* Who enforces: named in a policy, and chosen in src/backend/. */
enum backend_kind {
        BACKEND_AUTO,
        BACKEND_NATIVE,
        BACKEND_BWRAP,
        BACKEND_SEATBELT,
        BACKEND_APPCONTAINER,
        BACKEND_NONE,
        BACKEND_COUNT
};
/* In the order of the kinds, and NULL at the end. */
extern const char *const backend_names[BACKEND_COUNT + 1];

struct key {
        const char *name; /* "filesystem.read" */
        enum key_type type;
        const char *description;
};

extern const struct key keys[KEY_COUNT];

/* By its full name; KEY_COUNT when there is none. */
enum key_id key_find(const char *name, size_t length);
/* "filesystem" of "filesystem.read", "" of "version". */
size_t key_section_length(const struct key *key);
/* The part after the section. */
const char *key_leaf(const struct key *key);

/* True for what may be said to be "none": the limits. */
bool key_takes_none(enum key_id key);
/* The number behind the text of a limit or another quantity, in bytes, milliseconds or as it is; 0 for "none". */
int key_parse_limit(enum key_id key, const char *text, uint64_t *out, abatis_error *err);

#endif
