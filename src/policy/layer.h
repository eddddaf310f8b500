/* layer.h: what one file, profile or converted file says: keys and values, checked, with their places; nothing of it is
 * looked up on this machine yet. */
#ifndef POLICY_LAYER_H
#define POLICY_LAYER_H

#include <stdbool.h>

#include "policy/document.h"
#include "policy/keys.h"

struct entry {
        enum key_id key;
        bool is_literal; /* a path in which no character has a meaning */
        char *value;     /* owned: a path, a name, NAME=VALUE, a number with its unit, true or false */
        unsigned line, column;
};

struct layer {
        char *name;            /* owned: of the file, as errors call it */
        struct entry *entries; /* owned */
        size_t count, capacity;
        bool has[KEY_COUNT]; /* the key is there, if only with an empty list */
        bool is_disabled;    /* says itself that nothing may run */
        bool is_shipped;     /* part of the program */
};

/* Checks every key and value of the document; our own format or a foreign one. */
int layer_parse(const struct node *root, const char *name, struct layer **out, abatis_error *err);
/* Parses the text first. */
int layer_read(enum document_format format, const char *name, const char *text, size_t length,
               struct layer **out, abatis_error *err);
void layer_free(struct layer *layer);
static inline void own_layer_free(struct layer **layer)
{
        layer_free(*layer);
}
#define OWN_LAYER __attribute__((cleanup(own_layer_free)))

/* As YAML of our own format; lines.c. */
int layer_print(const struct layer *layer, char **out, abatis_error *err);

/* For the parsers of other formats. Copies the value. */
struct layer *layer_new(const char *name);
int layer_add(struct layer *layer, enum key_id key, const char *value, const struct node *place,
              abatis_error *err);

/* An absolute path of a file, once its variables are replaced. */
bool layer_is_log(const char *text);
/* "443". */
bool layer_is_port(const char *text);

/* foreign.c: formats of other tools. */
enum foreign { FOREIGN_NONE, FOREIGN_SECTION, FOREIGN_TABLE, FOREIGN_SRT };
enum foreign foreign_detect(const struct node *root);
int foreign_parse(enum foreign format, const struct node *root, struct layer *layer, abatis_error *err);

/* For error messages about unknown keys: "; did you mean 'write'?", or which there are. */
void explain_unknown(const char *word, const char *const *valid, char *out, size_t size);

#endif
