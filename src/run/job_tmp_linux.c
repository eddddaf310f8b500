/* job_tmp_linux.c: a directory of the job's own: where there are no mounts in the place of /tmp, or for masks. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "run/job_linux.h"

void job_name_tmp(struct job *job, const char *path)
{
        snprintf(job->tmp_variable, sizeof(job->tmp_variable), "TMPDIR=%s", path);
}

/* Its name is nobody's guess, and what is there already is never taken. */
int job_name_own_tmp(struct job *job, const char *place)
{
        char *path = job->child.own_tmp;
        uint64_t number;

        if (getrandom(&number, sizeof(number), 0) != sizeof(number) ||
            snprintf(path, CHILD_TMP_SIZE, "%s/abatis-%016" PRIx64, place, number) >= CHILD_TMP_SIZE) {
                *path = '\0';
                return -1;
        }
        job_name_tmp(job, path);
        return 0;
}

static int make_own_tmp_in(struct job *job, const char *place)
{
        job->child.has_own_tmp = !job_name_own_tmp(job, place) && !mkdir(job->child.own_tmp, 0700);
        if (job->child.has_own_tmp)
                return 0;
        *job->child.own_tmp = *job->tmp_variable = '\0';
        return -1;
}

static bool is_in_memory(const char *path)
{
        struct statfs status;

        return statfs(path, &status) < 0 || status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

/* A sandbox around this one may have closed /tmp, and says where else. */
int job_make_own_tmp(struct job *job, abatis_error *err)
{
        const char *other = getenv("TMPDIR");

        if (make_own_tmp_in(job, "/tmp") < 0) {
                int error = errno;

                if (!other || *other != '/' || make_own_tmp_in(job, other) < 0)
                        return error_os(err, error, "cannot make a directory in /tmp");
        }
        /* The plan knows of /tmp, and not what TMPDIR names. */
        if (job->meter.is_counted[LIMIT_MEMORY] && is_in_memory(job->child.own_tmp))
                return error_set(err, ABATIS_E_UNENFORCEABLE,
                                 "%s cannot be enforced: files in '%s' would be memory of no process",
                                 keys[KEY_MEMORY].name, job->child.own_tmp);
        return 0;
}

int job_make_masks(struct job *job, const char *file, const char *directory, abatis_error *err)
{
        OWN_FREE char *file_path = NULL, *directory_path = NULL;
        int r = job_make_own_tmp(job, err), fd;

        if (r < 0)
                return r;
        *job->tmp_variable = '\0';
        file_path = text_join(job->child.own_tmp, "/", file);
        directory_path = text_join(job->child.own_tmp, "/", directory);
        if (!file_path || !directory_path)
                return error_memory(err);
        fd = open(file_path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0 || mkdir(directory_path, 0) < 0)
                r = error_os(err, errno, "cannot make a mask in '%s'", job->child.own_tmp);
        if (fd >= 0)
                close(fd);
        return r;
}
