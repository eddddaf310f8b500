/* documents.h: what the tests of documents share: reading a text, finding a node again, the exact words of a refusal. */
#ifndef UNIT_DOCUMENTS_H
#define UNIT_DOCUMENTS_H

#include "policy/document.h"
#include "scratch.h"

/* Reads a copy without slack behind it, under the name "f": valgrind and the sanitizers see a read past the end. */
int parse_bytes(enum document_format format, const char *text, size_t length, struct node **out,
                abatis_error *err);
/* The test fails with the message when the text is refused. The caller frees the tree. */
struct node *parse(enum document_format format, const char *text);
/* Refused with this message, with and without a place for it, and nothing handed out. */
void assert_refused(enum document_format format, const char *text, const char *message);
void assert_refused_bytes(enum document_format format, const char *text, size_t length, const char *message);
/* Read, or refused with a place in the text. */
void assert_answered(enum document_format format, const char *text, size_t length);

/* The node that keys, or the indexes of lists, lead to: "a/0/b". */
struct node *find_node(struct node *root, const char *path);
void assert_place(struct node *root, const char *path, unsigned key_line, unsigned key_column, unsigned line,
                  unsigned column);
/* The same kinds, keys and values, whatever the places are. */
bool is_same(const struct node *left, const struct node *right);

/* A text of `count` times the same, between a beginning and an end; the caller frees it. */
char *repeat(const char *before, const char *what, size_t count, const char *after);
/* So many brackets open behind `before`, and as many close behind `inside`; the caller frees it. */
char *nest(const char *before, const char *open, size_t depth, const char *inside, const char *close);
/* Processor time of the process so far, in seconds. */
double seconds_used(void);

#endif
