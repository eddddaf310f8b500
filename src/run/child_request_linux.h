/* child_request_linux.h: a command, for a program that starts it and is not in the host program's memory. */
#ifndef RUN_CHILD_REQUEST_LINUX_H
#define RUN_CHILD_REQUEST_LINUX_H

#include <stdint.h>

struct child_job;
struct sock_fprog;

/* Numbers are places in the texts, `size` bytes that nobody changes any more; 0 is no text. */
struct child_request {
        uint32_t size;
        uint32_t program, cwd, fallback_cwd;
        uint32_t files[3];               /* where a file among stdio lies that was opened to be read */
        uint32_t calls, call_count;      /* of the second filter: struct sock_filter */
        uint32_t argv, argc, envp, envc; /* where the first text of each list stands: the others follow */
};

/* What the job needs of it; it borrows the texts. 0 or a negative errno. */
long child_request_take(const struct child_request *request, const char *texts, struct child_job *job);
/* The second filter, for child_plan.calls. */
struct sock_fprog child_request_calls(const struct child_request *request, const char *texts);
/* Texts that stand in a row, in a list that has room for them and NULL; its end is returned. */
const char **child_request_list(const char *at, uint32_t count, const char **list);
/* As mmap does it: an address, or a negative errno. */
long child_map(uint64_t size, int protection, int flags, long fd);

#endif
