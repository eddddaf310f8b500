/* names.c: gives each name that exists in the sandbox an address of its own there.
 *
 * The addresses are of ranges that are reserved for benchmarks (RFC 2544, RFC 5180), so that no host has them: what a program
 * remembers of them leads nowhere outside. They stay with their names as long as the job lasts, as programs keep answers longer than
 * they are told to. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/relay.h"

enum {
        NAMES_MAX = 4096,
        SLOTS = 2 * NAMES_MAX, /* a power of two */
        FIRST = 256,           /* so that no address ends in 0 that could be taken for a network's */
};

struct names {
        struct name *list[NAMES_MAX]; /* owned, in the order of their addresses */
        size_t count;
        uint16_t slots[SLOTS]; /* 1 + their place in the list, by a hash of their texts; 0: none */
};

int names_new(struct names **out)
{
        struct names *names = calloc(1, sizeof(*names));

        if (!names)
                return -ENOMEM;
        *out = names;
        return 0;
}

static size_t hash(const char *text)
{
        uint32_t value = 2166136261u;

        while (*text)
                value = (value ^ (uint8_t)*text++) * 16777619u;
        return value % SLOTS;
}

static void number_addresses(struct name *name, size_t place)
{
        const uint32_t number = (uint32_t)place + FIRST;

        name->addresses[0] = (struct address){ .bytes = { 198, (uint8_t)(18 + (number >> 16)),
                                                          (uint8_t)(number >> 8), (uint8_t)number } };
        name->addresses[1] =
                (struct address){ .is_v6 = true,
                                  .bytes = { 0x20, 0x01, 0, 2, [13] = (uint8_t)(number >> 16),
                                             [14] = (uint8_t)(number >> 8), [15] = (uint8_t)number } };
}

struct name *names_give(struct names *names, const char *text)
{
        struct name *name;
        size_t slot = hash(text);

        for (; names->slots[slot]; slot = (slot + 1) % SLOTS)
                if (strcmp(names->list[names->slots[slot] - 1]->text, text) == 0)
                        return names->list[names->slots[slot] - 1];
        if (names->count == NAMES_MAX || strlen(text) >= sizeof(name->text))
                return NULL;
        name = calloc(1, sizeof(*name));
        if (!name)
                return NULL;
        snprintf(name->text, sizeof(name->text), "%s", text);
        number_addresses(name, names->count);
        names->list[names->count++] = name;
        names->slots[slot] = (uint16_t)names->count;
        return name;
}

struct name *names_find(const struct names *names, const struct address *address)
{
        const uint8_t *last = address->bytes + address_length(address) - 3;
        uint32_t number = (uint32_t)last[0] << 16 | (uint32_t)last[1] << 8 | last[2];
        struct name *name;

        if (!address->is_v6)
                number -= 18u << 16;
        if (number < FIRST || number - FIRST >= names->count)
                return NULL;
        name = names->list[number - FIRST];
        return address_equals(address, &name->addresses[address->is_v6]) ? name : NULL;
}
