/* json_text.c: numbers and strings of JSON, written straight into a text: no tree of values is made first. */
#include "base/json_text.h"

void json_text_number(struct text *text, uint64_t number)
{
        char digits[20];
        size_t at = sizeof(digits);

        do
                digits[--at] = (char)('0' + number % 10);
        while (number /= 10);
        text_add_bytes(text, digits + at, sizeof(digits) - at);
}

/* By hand: printf would write the point of the host program's locale. */
void json_text_decimal(struct text *text, double number)
{
        uint64_t thousandths = number > 0 && number < 1e15 ? (uint64_t)(number * 1000 + 0.5) : 0;
        char fraction[4] = { '.', (char)('0' + thousandths / 100 % 10), (char)('0' + thousandths / 10 % 10),
                             (char)('0' + thousandths % 10) };

        json_text_number(text, thousandths / 1000);
        text_add_bytes(text, fraction, sizeof(fraction));
}

static void add_escape(struct text *text, unsigned char byte)
{
        static const char digits[] = "0123456789abcdef",
                          names[] = { ['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r' };
        char code[6] = { '\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15] },
             name[2] = { '\\', (char)byte };

        if (byte < sizeof(names) && names[byte])
                name[1] = names[byte];
        else if (byte != '"' && byte != '\\') {
                text_add_bytes(text, code, sizeof(code));
                return;
        }
        text_add_bytes(text, name, sizeof(name));
}

/* Controls are escaped, U+007f to U+009f too, which JSON would allow: a log is looked at in terminals. */
void json_text_characters(struct text *text, const char *bytes, size_t length)
{
        size_t start = 0;

        for (size_t i = 0; i < length; i++) {
                unsigned char byte = (unsigned char)bytes[i];
                bool is_c1 = byte == 0xc2 && i + 1 < length && (unsigned char)bytes[i + 1] < 0xa0;

                if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7f && !is_c1)
                        continue;
                text_add_bytes(text, bytes + start, i - start);
                i += is_c1;
                add_escape(text, (unsigned char)bytes[i]);
                start = i + 1;
        }
        text_add_bytes(text, bytes + start, length - start);
}

/* True for what needs no second look: ASCII that stands for itself. That is nearly everything. */
static bool is_simple(const char *bytes, size_t length)
{
        unsigned char odd = 0;

        for (size_t i = 0; i < length; i++) {
                unsigned char byte = (unsigned char)bytes[i];

                odd |= (byte < 0x20) | (byte > 0x7e) | (byte == '"') | (byte == '\\');
        }
        return !odd;
}

void json_text_string(struct text *text, const char *bytes, size_t length)
{
        bool is_plain = is_simple(bytes, length);

        if (!is_plain && !text_is_utf8(bytes, length)) {
                text_add(text, "{\"base64\":\"");
                text_add_base64(text, bytes, length);
                text_add(text, "\"}");
                return;
        }
        text_add_bytes(text, "\"", 1);
        if (is_plain)
                text_add_bytes(text, bytes, length);
        else
                json_text_characters(text, bytes, length);
        text_add_bytes(text, "\"", 1);
}
