/* document.h: what a YAML, JSON or TOML file says, as one tree with positions; knows nothing of policies. */
#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abatis.h"

enum {
        DOCUMENT_SIZE_MAX = 1024 * 1024,
        DOCUMENT_DEPTH_MAX = 64,
        DOCUMENT_NODES_MAX = 100 * 1000,
};

enum document_format { DOCUMENT_YAML, DOCUMENT_JSON, DOCUMENT_TOML };

enum node_kind {
        NODE_NULL,
        NODE_BOOLEAN,
        NODE_INTEGER,
        NODE_FLOAT,
        NODE_STRING,
        NODE_TIME, /* only in TOML; `text` is as written, with "T" between date and time */
        NODE_LIST,
        NODE_MAP,
};

enum time_kind { TIME_OFFSET, TIME_LOCAL, TIME_DATE, TIME_CLOCK };

struct node {
        enum node_kind kind;
        unsigned line, column;         /* from 1, in characters; of the value */
        char *key;                     /* owned: of a map's item, else NULL */
        unsigned key_line, key_column; /* where the key stands */
        union {
                bool boolean;
                int64_t integer;
                double number;
                enum time_kind time;
        };
        char *text;          /* owned: of a string or a time; never with a NUL in it */
        struct node **items; /* owned: of a list or a map, in their order */
        size_t count, capacity;
        void *index; /* owned: of a large map, the items by their keys; see tsearch(3) */
};

/* Reads the whole text. `name` is how errors call the file. */
int document_parse(enum document_format format, const char *name, const char *text, size_t length,
                   struct node **out, abatis_error *err);
/* By the end of the name: .json, .toml, everything else is YAML. */
enum document_format document_format_of(const char *name);
void node_free(struct node *node);
static inline void own_node_free(struct node **node)
{
        node_free(*node);
}
#define OWN_NODE __attribute__((cleanup(own_node_free)))

/* The item of a map, or NULL. */
struct node *node_find(const struct node *map, const char *key);
const char *node_kind_name(enum node_kind kind);

/* "NAME:LINE:COLUMN: MESSAGE"; the code is ABATIS_E_INVALID. */
int document_error(abatis_error *err, const char *name, unsigned line, unsigned column, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));

/* ---- for the parsers ----------------------------------------------------------------------------------- */

/* What a parser reads, and how much it may still make of it. */
struct source {
        const char *name; /* borrowed */
        const char *text; /* borrowed: UTF-8 without NUL, not terminated */
        size_t length;
        size_t nodes;  /* made so far */
        size_t copied; /* bytes of texts and keys that aliases have made */
        abatis_error
                *err; /* never NULL: what went wrong is told through it, also where only a NULL comes back */
};

/* Counts nodes; NULL, with the error set, when memory or DOCUMENT_NODES_MAX is exhausted. */
struct node *node_new(struct source *source, enum node_kind kind, unsigned line, unsigned column);
/* Both take the item over, also when they fail. A key that is there already is an error that names both places. */
int list_add(struct source *source, struct node *list, struct node *item);
int map_add(struct source *source, struct node *map, const char *key, size_t key_length, unsigned key_line,
            unsigned key_column, struct node *item);
/* Sets the text of a string or a time; a NUL in it is an error at the node's place. */
int node_set_text(struct source *source, struct node *node, const char *text, size_t length);
int source_error(struct source *source, unsigned line, unsigned column, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* The same for a place that is known as so many bytes from the beginning. */
int source_error_at(struct source *source, size_t offset, const char *what);

int document_parse_yaml(struct source *source, struct node **out);
int document_parse_json(struct source *source, struct node **out);
int document_parse_toml(struct source *source, struct node **out);

#endif
