/* edits.c: what is to be put in the place of parts of a text, and how people see it. */
#include "agents/edits.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Of a line, at most so much before and behind a change is shown. */
enum { SHOWN_AROUND = 120 };

int edits_add(struct edits *edits, size_t start, size_t end, struct text *replacement, abatis_error *err)
{
        struct edit *items = realloc(edits->items, (edits->count + 1) * sizeof(*items));
        int r;

        if (!items)
                return error_memory(err);
        edits->items = items;
        r = text_take(replacement, &items[edits->count].text, err);
        if (r < 0)
                return r;
        items[edits->count].start = start;
        items[edits->count].end = end;
        edits->count++;
        return 0;
}

static int compare(const void *left, const void *right)
{
        const struct edit *a = left, *b = right;

        if (a->start != b->start)
                return a->start < b->start ? -1 : 1;
        return (a->end > b->end) - (a->end < b->end);
}

void edits_sort(struct edits *edits)
{
        if (edits->count)
                qsort(edits->items, edits->count, sizeof(*edits->items), compare);
}

/* The new text of a part of the old one, in which these edits are. */
static void apply(const struct edit *edits, size_t count, const char *text, size_t start, size_t end,
                  struct text *out)
{
        for (size_t i = 0; i < count; i++) {
                text_add_bytes(out, text + start, edits[i].start - start);
                text_add(out, edits[i].text);
                start = edits[i].end;
        }
        text_add_bytes(out, text + start, end - start);
}

void edits_apply(const struct edits *edits, const char *text, size_t length, struct text *out)
{
        text_add(out, "");
        apply(edits->items, edits->count, text, 0, length, out);
}

static bool is_inside_character(const char *text, size_t length, size_t at)
{
        return at < length && ((unsigned char)text[at] & 0xc0) == 0x80;
}

static size_t shown_start(const char *text, size_t length, size_t at)
{
        size_t start = at;

        while (start && text[start - 1] != '\n' && at - start < SHOWN_AROUND)
                start--;
        while (is_inside_character(text, length, start))
                start++;
        return start;
}

static size_t shown_end(const char *text, size_t length, size_t at)
{
        size_t end = at;

        while (end < length && text[end] != '\n' && end - at < SHOWN_AROUND)
                end++;
        while (is_inside_character(text, length, end))
                end--;
        return end;
}

static void show_lines(char sign, const char *text, size_t length, bool is_cut_before, bool is_cut_behind,
                       struct text *out)
{
        char shown[TEXT_SHOWN_SIZE];

        text_addf(out, "%c%s", sign, is_cut_before ? "..." : "");
        for (size_t at = 0; at < length;) {
                if (text[at] == '\n')
                        text_addf(out, "\n%c", sign);
                /* Tabs, and a return before a newline, look as in any editor. */
                if (text[at] == '\n' || text[at] == '\r') {
                        at++;
                        continue;
                }
                if (text[at] == '\t') {
                        text_add(out, "\t");
                        at++;
                        continue;
                }
                at += text_show(text + at, length - at, shown);
                text_add(out, shown);
        }
        text_add(out, is_cut_behind ? "...\n" : "\n");
}

void edits_show(const struct edits *edits, const char *text, size_t length, struct text *out)
{
        size_t line = 1, counted = 0;

        for (size_t i = 0, count; i < edits->count; i += count) {
                const struct edit *first = &edits->items[i];
                size_t start = shown_start(text, length, first->start);
                size_t end = shown_end(text, length, first->end);
                OWN_TEXT struct text after = { 0 };
                bool is_cut_before = start && text[start - 1] != '\n', is_cut_behind;

                for (count = 1; i + count < edits->count && first[count].start <= end; count++)
                        end = shown_end(text, length, first[count].end);
                is_cut_behind = end < length && text[end] != '\n';
                for (; counted < start; counted++)
                        line += text[counted] == '\n';
                text_addf(out, "@@ line %zu @@\n", line);
                show_lines('-', text + start, end - start, is_cut_before, is_cut_behind, out);
                apply(first, count, text, start, end, &after);
                if (after.has_failed)
                        out->has_failed = true;
                else
                        show_lines('+', after.data ? after.data : "", after.length, is_cut_before,
                                   is_cut_behind, out);
        }
}

void edits_done(struct edits *edits)
{
        for (size_t i = 0; i < edits->count; i++)
                free(edits->items[i].text);
        free(edits->items);
        *edits = (struct edits){ 0 };
}
