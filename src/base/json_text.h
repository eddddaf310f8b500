/* json_text.h: numbers and strings of JSON, written straight into a text: no tree of values is made first. */
#ifndef BASE_JSON_TEXT_H
#define BASE_JSON_TEXT_H

#include "base/text.h"

void json_text_number(struct text *text, uint64_t number);
/* With three digits after the point; what is negative or beyond measure is 0. */
void json_text_decimal(struct text *text, double number);
/* What stands between the quotes for UTF-8, or for a part of it that ends between two characters. */
void json_text_characters(struct text *text, const char *bytes, size_t length);
/* A string; what is not UTF-8 as {"base64": "..."}, as json_from_string() has it. */
void json_text_string(struct text *text, const char *bytes, size_t length);

#endif
