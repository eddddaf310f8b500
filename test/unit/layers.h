/* layers.h: what the tests of layers share: a layer from a text, its entries, the exact words of a refusal. */
#ifndef UNIT_LAYERS_H
#define UNIT_LAYERS_H

#include "policy/layer.h"
#include "scratch.h"

/* Under the name "f"; the test fails with the message when the text is refused. The caller frees the layer. */
struct layer *read_layer(enum document_format format, const char *text);
/* Refused with this message, with and without a place for it, and nothing handed out. */
void assert_layer_refused(enum document_format format, const char *text, const char *message);
/* The values of a key, in their order, with "|" between them; a literal path has braces. Valid until the next call. */
const char *values_of(const struct layer *layer, enum key_id key);
void assert_values(const struct layer *layer, enum key_id key, const char *values);
/* The same entries, whatever the places are. */
void assert_same_layers(const struct layer *left, const struct layer *right);

#endif
