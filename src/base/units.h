/* units.h: sizes ("512MiB"), durations ("30s") and counts as people write them. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

#include "abatis.h"

int units_parse_size(const char *text, uint64_t *out, abatis_error *err);     /* bytes */
int units_parse_duration(const char *text, uint64_t *out, abatis_error *err); /* milliseconds */
int units_parse_count(const char *text, uint64_t *out, abatis_error *err);

#endif
