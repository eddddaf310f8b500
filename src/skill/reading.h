/* reading.h: what the readers of a module's sections share. */
#ifndef SKILL_READING_H
#define SKILL_READING_H

#include "skill/module.h"

enum { OPCODE_END = 0x0b };
enum { LIMITS_MAX = 1, LIMITS_SHARED = 2, LIMITS_64_BIT = 4, LIMITS_PAGE_SIZE = 8 }; /* flags */

/* A module of which a part has been read; what is wrong is told to the wire. */
struct reading {
        struct wire wire;
        struct module *module; /* borrowed, as all here */
        const struct module_options *options;
        struct names *names; /* of the exports, while they are read */
        uint32_t bodies, data_count;
        bool has_data_count;
};

extern const char *const module_kind_names[MODULE_KINDS];

/* funcref or externref. */
void types_read_reference(struct wire *wire);
/* The type of a function. */
void types_read(struct wire *wire);
void types_read_global(struct wire *wire);
/* Whether the function takes nothing and gives nothing. Walks through a section or two, so it is asked for single functions only. */
bool types_is_plain(const struct module *module, uint32_t function);

/* An expression of one value, whose type is left to the engine. */
void constant_read(struct reading *reading);
/* A number of one of those that there are so far. */
uint32_t constant_read_index(struct reading *reading, enum module_kind kind);

/* Of a table or a memory, which is added to the module's. */
void limits_read(struct reading *reading, enum module_kind kind, bool is_imported);

#endif
