/* fuzz_hello.c: whatever comes first on a connection is judged the same, however it comes in pieces.
 *
 * links: src/net/hello.c
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_true)
{
        if (!is_true)
                abort();
}

static struct hello read_first(const uint8_t *data, size_t length)
{
        /* Without slack behind it, so that the sanitizers see a read past the end. */
        uint8_t *copy = malloc(length ? length : 1);
        struct hello hello;
        char again[HOST_NAME_SIZE];

        if (!copy)
                abort();
        if (length)
                memcpy(copy, data, length);
        hello = hello_read(copy, length);
        free(copy);
        check((hello.kind == HELLO_NAME) == (*hello.name != '\0'));
        check((hello.kind == HELLO_MALFORMED) == (hello.reason != NULL));
        check(hello.kind != HELLO_NAME ||
              (host_name_read(hello.name, strlen(hello.name), again) && !strcmp(again, hello.name)));
        return hello;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct hello whole = read_first(data, size);
        size_t step = size / 256 + 1;

        for (size_t length = 0; length < size; length += step) {
                struct hello part = read_first(data, length);

                /* What was said once is said for good, except that at its limit one waits no longer. */
                if (part.kind != HELLO_NEEDS_MORE && length < HELLO_MAX)
                        check(part.kind == whole.kind && !strcmp(part.name, whole.name) &&
                              part.has_ech == whole.has_ech);
                check(part.kind != HELLO_NEEDS_MORE || length < HELLO_MAX);
        }
        return 0;
}
