/* request_linux.h: a command as another program is told of it. */
#ifndef RUN_REQUEST_LINUX_H
#define RUN_REQUEST_LINUX_H

#include "base/text.h"
#include "run/child_linux.h"
#include "run/child_request_linux.h"

/* Adds the texts, of which none may be there yet; `calls` as child_plan.calls, `files` as child_job.files. */
int request_write(const struct child_job *child, const struct sock_fprog *calls, const char *const files[3],
                  struct child_request *out, struct text *texts, abatis_error *err);
/* One text more: where it stands, or 0 for none. */
uint32_t request_add(struct text *texts, const char *text);

#endif
