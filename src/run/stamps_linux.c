/* stamps_linux.c: compares what Landlock's rules were made for with what is there now. */
#define _GNU_SOURCE
#include "run/stamps_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"

#define NS_PER_S 1000000000ll

/* Two changes that a file system gives the same time: of one that was made shortly before the directory was listed, the next could not be
 * told. Some know only even seconds. */
static bool is_settled(const struct child_job *job, const struct child_stamp *stamp)
{
        const int64_t tick = stamp->changed_ns ? 20 * 1000 * 1000 : 3 * NS_PER_S;

        return (job->stamped_s - stamp->changed_s) * NS_PER_S + job->stamped_ns - stamp->changed_ns > tick;
}

/* What a server or another process makes of it has times of their clocks, and comes from a cache. */
static bool has_own_times(int fd)
{
        static const unsigned
                foreign[] = { 0x6969 /* nfs */,      0x517b /* smb */,     0xff534d42 /* cifs */,
                              0xfe534d42 /* smb2 */, 0x01021997 /* 9p */,  0x65735546 /* fuse */,
                              0x00c36400 /* ceph */, 0x5346414f /* afs */, 0x01161970 /* gfs2 */ };
        struct statfs status;

        if (fstatfs(fd, &status) < 0)
                return false;
        for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
                if ((unsigned)status.f_type == foreign[i])
                        return false;
        return true;
}

/* In the way that the command opens it. */
static bool is_same(const struct child_job *job, const struct child_stamp *stamp,
                    const struct child_rule *rule)
{
        const struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
                                      .resolve = RESOLVE_NO_SYMLINKS };
        OWN_FD int fd = (int)syscall(SYS_openat2, AT_FDCWD, rule->path, &how, sizeof(how));
        struct stat now;

        if (fd < 0)
                return !stamp->is_there && (errno == ENOENT || errno == ENOTDIR || errno == EACCES);
        if (!stamp->is_there || fstat(fd, &now) < 0 || now.st_dev != stamp->device ||
            now.st_ino != stamp->inode)
                return false;
        return !rule->except ||
               (now.st_ctim.tv_sec == stamp->changed_s && now.st_ctim.tv_nsec == stamp->changed_ns &&
                is_settled(job, stamp) && has_own_times(fd));
}

/* Who tidies up in /tmp takes what is old and empty. */
static bool has_directory(const struct child_job *job)
{
        struct stat status;

        return !*job->own_tmp ||
               (!lstat(job->own_tmp, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid());
}

bool stamps_are_current(const struct child_job *job, const struct resources *resources)
{
        for (size_t i = 0; i < resources->child.rule_count; i++)
                if (!resources->rules[i].is_inside && !is_same(job, &job->stamps[i], &resources->rules[i]))
                        return false;
        return has_directory(job);
}
