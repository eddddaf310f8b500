/* child_request_linux.c: takes a command from the texts of a request. */
#define _GNU_SOURCE
#include "run/child_request_linux.h"

#include <sys/mman.h>

#include "run/child_linux.h"
#include "run/syscall_linux.h"

long child_map(uint64_t size, int protection, int flags, long fd)
{
        return RAW(SYS_mmap, 0, size, protection, flags, fd, 0);
}

static const char *text_at(const char *texts, uint32_t place)
{
        return place ? texts + place : 0;
}

const char **child_request_list(const char *at, uint32_t count, const char **list)
{
        for (uint32_t i = 0; i < count; i++) {
                list[i] = at;
                while (*at++)
                        ;
        }
        list[count] = 0;
        return list + count + 1;
}

struct sock_fprog child_request_calls(const struct child_request *request, const char *texts)
{
        return (struct sock_fprog){ (unsigned short)request->call_count,
                                    (struct sock_filter *)(uintptr_t)(texts + request->calls) };
}

long child_request_take(const struct child_request *request, const char *texts, struct child_job *job)
{
        const long lists = child_map(((uint64_t)request->argc + request->envc + 2) * sizeof(char *),
                                     PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        const char **list = (const char **)lists, **envp;

        if (lists < 0 && lists > -4096)
                return lists;
        envp = child_request_list(texts + request->argv, request->argc, list);
        child_request_list(texts + request->envp, request->envc, envp);
        job->argv = list;
        job->envp = envp;
        job->program = text_at(texts, request->program);
        job->cwd = text_at(texts, request->cwd);
        job->fallback_cwd = text_at(texts, request->fallback_cwd);
        for (int i = 0; i < 3; i++)
                job->files[i] = text_at(texts, request->files[i]);
        return 0;
}
