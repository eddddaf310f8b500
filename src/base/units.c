/* units.c: parses sizes, durations and counts; zero, overflow and unknown units are errors. */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct unit {
        const char *name;
        uint64_t factor;
};

static const struct unit sizes[] = {
        { "", 1 },
        { "B", 1 },
        { "KiB", 1ull << 10 },
        { "MiB", 1ull << 20 },
        { "GiB", 1ull << 30 },
        { "TiB", 1ull << 40 },
        { "KB", 1000 },
        { "MB", 1000 * 1000 },
        { "GB", 1000ull * 1000 * 1000 },
        { "K", 1ull << 10 },
        { "M", 1ull << 20 },
        { "G", 1ull << 30 },
        { NULL, 0 },
};

static const struct unit durations[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 }, { NULL, 0 },
};

static const struct unit counts[] = { { "", 1 }, { NULL, 0 } };

static int parse(const char *text, const struct unit *units, const char *example, uint64_t *out,
                 abatis_error *err)
{
        unsigned long long number;
        uint64_t value;
        char *end;

        if (!isdigit((unsigned char)*text))
                return error_set(err, ABATIS_E_INVALID, "'%s' is not of the form %s", text, example);
        errno = 0;
        number = strtoull(text, &end, 10);
        for (; units->name; units++)
                if (!strcmp(end, units->name))
                        break;
        if (!units->name)
                return error_set(err, ABATIS_E_INVALID, "'%s' is not of the form %s", text, example);
        /* Half of the range is kept free so that sums and conversions to signed kernel types cannot overflow. */
        if (errno || __builtin_mul_overflow((uint64_t)number, units->factor, &value) || value > INT64_MAX / 2)
                return error_set(err, ABATIS_E_INVALID, "'%s' is too large", text);
        if (!value)
                return error_set(err, ABATIS_E_INVALID, "'%s' is zero; write none to have no limit", text);
        *out = value;
        return 0;
}

int units_parse_size(const char *text, uint64_t *out, abatis_error *err)
{
        return parse(text, sizes, "512MiB", out, err);
}

int units_parse_duration(const char *text, uint64_t *out, abatis_error *err)
{
        return parse(text, durations, "30s or 500ms", out, err);
}

int units_parse_count(const char *text, uint64_t *out, abatis_error *err)
{
        return parse(text, counts, "256", out, err);
}
