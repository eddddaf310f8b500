/* host_name.c: reads and compares names of hosts, whoever wrote them. */
#include "base/host_name.h"

#include <string.h>

/* Not <ctype.h>: its answers depend on the locale. */
static bool is_digit(char character)
{
        return character >= '0' && character <= '9';
}

static char lower(char character)
{
        return character >= 'A' && character <= 'Z' ? (char)(character - 'A' + 'a') : character;
}

static bool is_label(const char *label, size_t length)
{
        if (!length || length > HOST_LABEL_MAX_LENGTH || label[0] == '-' || label[length - 1] == '-')
                return false;
        for (size_t i = 0; i < length; i++)
                if (!is_digit(label[i]) && (lower(label[i]) < 'a' || lower(label[i]) > 'z') &&
                    label[i] != '-' && label[i] != '_')
                        return false;
        return true;
}

/* As the parsers of URLs see it: digits, or 0x and any number of hexadecimal ones. */
static bool is_number(const char *label, size_t length)
{
        bool is_hexadecimal = length >= 2 && label[0] == '0' && lower(label[1]) == 'x';

        for (size_t i = is_hexadecimal ? 2 : 0; i < length; i++)
                if (!is_digit(label[i]) &&
                    !(is_hexadecimal && lower(label[i]) >= 'a' && lower(label[i]) <= 'f'))
                        return false;
        return true;
}

bool host_name_read(const char *bytes, size_t length, char out[HOST_NAME_SIZE])
{
        size_t start = 0;

        if (length && bytes[length - 1] == '.')
                length--;
        if (!length || length > HOST_NAME_MAX_LENGTH)
                return false;
        for (size_t i = 0; i <= length; i++) {
                if (i < length && bytes[i] != '.')
                        continue;
                if (!is_label(bytes + start, i - start) ||
                    (i == length && is_number(bytes + start, i - start)))
                        return false;
                start = i + 1;
        }
        for (size_t i = 0; i < length; i++)
                out[i] = lower(bytes[i]);
        out[length] = '\0';
        return true;
}

bool host_name_is_below(const char *name, const char *parent)
{
        size_t length = strlen(name), suffix = strlen(parent);

        return length > suffix + 1 && name[length - suffix - 1] == '.' &&
               !strcmp(name + length - suffix, parent);
}
