/* head.h: the file beside a log that says where it ends. */
#ifndef AUDIT_HEAD_H
#define AUDIT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"

struct audit_state {
        uint64_t seq;   /* of the last record; 0: none yet */
        uint64_t first; /* of the first record that rotation has kept */
        uint64_t size;  /* of the file, with that record's newline */
        char hash[SHA256_TEXT_SIZE];
};

enum { HEAD_SIZE = 148 };

/* Before the first record. */
void head_init(struct audit_state *state);
void head_format(const struct audit_state *state, char out[HEAD_SIZE]);
/* False for what no writer leaves behind. */
bool head_parse(const char *bytes, size_t length, struct audit_state *out);

#endif
