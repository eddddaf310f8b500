/* sha256.h: the hash that says whether a file is still the one that was looked at (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

enum { SHA256_TEXT_SIZE = 65 };

/* As hexadecimal digits, with a NUL behind them. */
void sha256_text(const void *bytes, size_t length, char out[SHA256_TEXT_SIZE]);

#endif
