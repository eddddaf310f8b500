/* request_linux.c: writes down what a program that is not in our memory needs to start a command. */
#include "run/request_linux.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

uint32_t request_add(struct text *texts, const char *text)
{
        uint32_t place = (uint32_t)texts->length;

        if (text)
                text_add_bytes(texts, text, strlen(text) + 1);
        return text ? place : 0;
}

static uint32_t add_list(struct text *texts, const char *const *list, uint32_t *count)
{
        uint32_t place = (uint32_t)texts->length;

        for (*count = 0; list[*count]; (*count)++)
                request_add(texts, list[*count]);
        return place;
}

int request_write(const struct child_job *child, const struct sock_fprog *calls, const char *const files[3],
                  struct child_request *out, struct text *texts, abatis_error *err)
{
        text_add_bytes(texts, "", 1); /* no text stands at 0 */
        out->program = request_add(texts, child->program);
        out->cwd = request_add(texts, child->cwd);
        out->fallback_cwd = request_add(texts, child->fallback_cwd);
        for (int i = 0; i < 3; i++)
                out->files[i] = request_add(texts, files[i]);
        out->call_count = calls->len;
        out->calls = (uint32_t)texts->length;
        text_add_bytes(texts, (const char *)calls->filter, calls->len * sizeof(*calls->filter));
        out->argv = add_list(texts, child->argv, &out->argc);
        out->envp = add_list(texts, child->envp, &out->envc);
        if (texts->has_failed)
                return error_memory(err);
        if (texts->length > INT32_MAX)
                return error_os(err, E2BIG, "cannot execute '%s'", child->program);
        out->size = (uint32_t)texts->length;
        return 0;
}
