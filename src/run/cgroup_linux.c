/* cgroup_linux.c: finds a delegated cgroup v2 directory and makes one in it for a job. */
#define _GNU_SOURCE
#include "run/cgroup_linux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"

#define PREFIX "abatis-"

/* What to do where the machine could but does not let us. */
#define FIX \
        "start it with 'systemd-run --user --scope -p Delegate=yes', or in a container with a writable cgroup"

/* ---- texts of the kernel -------------------------------------------------------------------------------- */

bool cgroup_parse_own(const char *text, char out[CGROUP_PATH_MAX])
{
        const char *line = strncmp(text, "0::", 3) ? strstr(text, "\n0::") : text;
        size_t length;

        if (!line)
                return false;
        line += *line == '\n' ? 4 : 3;
        length = strcspn(line, "\n");
        /* "/..": the process is outside of what its cgroup namespace shows. */
        if (*line != '/' || length >= CGROUP_PATH_MAX || !strncmp(line, "/..", 3))
                return false;
        memcpy(out, line, length);
        out[length] = '\0';
        return true;
}

/* A field that ends with a space; octal escapes stand for blanks, newlines and backslashes. */
static const char *take_field(const char *at, char out[CGROUP_PATH_MAX])
{
        size_t length = 0;

        for (; *at && *at != ' ' && *at != '\n'; at++) {
                char byte = *at;

                if (byte == '\\' && at[1] && at[2] && at[3]) {
                        byte = (char)((at[1] & 7) << 6 | (at[2] & 7) << 3 | (at[3] & 7));
                        at += 3;
                }
                if (length == CGROUP_PATH_MAX - 1)
                        return NULL;
                out[length++] = byte;
        }
        out[length] = '\0';
        return *at == ' ' ? at + 1 : at;
}

/* "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS ... - TYPE SOURCE OPTIONS" */
static bool parse_mount(const char *line, char root[CGROUP_PATH_MAX], char point[CGROUP_PATH_MAX])
{
        size_t length = strcspn(line, "\n");
        const char *type = memmem(line, length, " - ", 3);

        if (!type || strncmp(type, " - cgroup2 ", 11) != 0)
                return false;
        for (int field = 0; line && field < 3; field++) {
                line = strchr(line, ' ');
                line = line ? line + 1 : NULL;
        }
        line = line ? take_field(line, root) : NULL;
        return line && take_field(line, point) && *root == '/' && *point == '/';
}

bool cgroup_parse_mounts(const char *text, const char *own, char out[CGROUP_PATH_MAX], size_t *root_length)
{
        char root[CGROUP_PATH_MAX], point[CGROUP_PATH_MAX];

        for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line) {
                size_t length;

                if (!parse_mount(line, root, point))
                        continue;
                /* Only a part of the hierarchy may be mounted there. */
                length = root[1] ? strlen(root) : 0;
                if (strncmp(own, root, length) != 0 || (own[length] && own[length] != '/'))
                        continue;
                if (snprintf(out, CGROUP_PATH_MAX, "%s%s", point,
                             own[length] && own[length + 1] ? own + length : "") >= CGROUP_PATH_MAX)
                        continue;
                *root_length = strlen(point);
                return true;
        }
        return false;
}

bool cgroup_has_word(const char *list, const char *word)
{
        size_t length = strlen(word);

        for (const char *at = strstr(list, word); at; at = strstr(at + 1, word))
                if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ' || at[length] == '\n'))
                        return true;
        return false;
}

uint64_t cgroup_parse_value(const char *text, const char *name)
{
        size_t length = strlen(name);

        for (const char *line = text; line && *line; line = strchr(line, '\n'), line += !!line)
                if (!strncmp(line, name, length) && line[length] == ' ')
                        return strtoull(line + length + 1, NULL, 10);
        return 0;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static bool read_at(int directory, const char *name, char *out, size_t size)
{
        OWN_FD int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
        ssize_t length = fd < 0 ? -1 : read(fd, out, size - 1);

        out[length > 0 ? length : 0] = '\0';
        return length >= 0;
}

static int write_at(int directory, const char *name, const char *text)
{
        OWN_FD int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);

        return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* All of a file of /proc, which may be long. */
static bool read_whole(const char *path, struct text *out)
{
        OWN_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
        char part[4096];
        ssize_t length = fd < 0 ? -1 : 0;

        while (fd >= 0 && (length = read(fd, part, sizeof(part))) > 0)
                text_add_bytes(out, part, (size_t)length);
        return !length && !out->has_failed && out->data;
}

static bool is_writable(int directory, const char *name)
{
        return !faccessat(directory, name, W_OK, AT_EACCESS);
}

/* ---- the place ------------------------------------------------------------------------------------------ */

/* Only the root of all cgroups may have processes beside children with controllers. It alone has no type. */
static bool can_enable(int directory)
{
        char text[16];

        if (!is_writable(directory, "cgroup.subtree_control"))
                return false;
        if (faccessat(directory, "cgroup.type", F_OK, 0) < 0)
                return true;
        return read_at(directory, "cgroup.procs", text, sizeof(text)) && !*text;
}

/* What a job's cgroup in this directory could use; false when it cannot have one there. Whoever starts a process in a
 * cgroup must be able to move one from here to there, so to write to what both have in common. */
static bool look_at(const char *path, struct host_cgroup *out)
{
        OWN_FD int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        char offered[256], enabled[256];
        bool is_free;

        if (directory < 0 || !is_writable(directory, ".") || !is_writable(directory, "cgroup.procs") ||
            !read_at(directory, "cgroup.controllers", offered, sizeof(offered)) ||
            !read_at(directory, "cgroup.subtree_control", enabled, sizeof(enabled)))
                return false;
        snprintf(out->directory, sizeof(out->directory), "%s", path);
        is_free = can_enable(directory);
        out->must_enable_memory = !cgroup_has_word(enabled, "memory");
        out->must_enable_pids = !cgroup_has_word(enabled, "pids");
        out->has_memory = !out->must_enable_memory || (is_free && cgroup_has_word(offered, "memory"));
        out->has_pids = !out->must_enable_pids || (is_free && cgroup_has_word(offered, "pids"));
        return true;
}

/* Of two places the one with more is taken, of equal ones the nearer. */
enum { VALUE_BEST = 4 };

static int value_of(const struct host_cgroup *cgroup)
{
        return !*cgroup->directory ? 0 : 1 + 2 * cgroup->has_memory + cgroup->has_pids;
}

/* The only call that has a process born in another cgroup. Containers hide it, since a filter does not see its flags. */
static bool has_clone3(void)
{
        return syscall(435 /* clone3 */, NULL, 0) < 0 && errno == EINVAL;
}

void cgroup_find(struct host_cgroup *out)
{
        OWN_TEXT struct text cgroups = { 0 }, mounts = { 0 };
        char own[CGROUP_PATH_MAX], path[CGROUP_PATH_MAX];
        size_t root_length = 0;

        *out = (struct host_cgroup){ 0 };
        if (!has_clone3()) {
                snprintf(out->reason, sizeof(out->reason),
                         "a command is born in a cgroup by clone3, which is refused here");
                return;
        }
        if (!read_whole("/proc/self/cgroup", &cgroups) || !read_whole("/proc/self/mountinfo", &mounts) ||
            !cgroup_parse_own(cgroups.data, own) ||
            !cgroup_parse_mounts(mounts.data, own, path, &root_length)) {
                snprintf(out->reason, sizeof(out->reason), "no cgroup v2 hierarchy is mounted");
                return;
        }
        for (;;) {
                struct host_cgroup candidate = { 0 };

                if (look_at(path, &candidate) && value_of(&candidate) > value_of(out))
                        *out = candidate;
                if (strlen(path) <= root_length || value_of(out) == VALUE_BEST)
                        break;
                *strrchr(path, '/') = '\0';
        }
        if (!*out->directory)
                snprintf(out->reason, sizeof(out->reason), "no cgroup is delegated to this user; " FIX);
        else if (!out->has_memory || !out->has_pids)
                snprintf(out->reason, sizeof(out->reason), "the cgroup has no %s controller; " FIX,
                         out->has_memory ? "pids"
                         : out->has_pids ? "memory"
                                         : "memory and no pids");
}

/* ---- a job's own ---------------------------------------------------------------------------------------- */

static bool is_dead(const char *number)
{
        long pid = strtol(number, NULL, 10);

        return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* A directory is left behind when the host program is killed. The kernel refuses to remove one with processes in it. */
static void sweep(int parent)
{
        OWN_FD int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *directory = fd < 0 ? NULL : fdopendir(fd);
        const struct dirent *entry;

        if (!directory)
                return;
        take_fd(&fd);
        while ((entry = readdir(directory)))
                if (!strncmp(entry->d_name, PREFIX, sizeof(PREFIX) - 1) &&
                    is_dead(entry->d_name + sizeof(PREFIX) - 1))
                        unlinkat(parent, entry->d_name, AT_REMOVEDIR);
        closedir(directory);
}

static int write_number(int directory, const char *name, uint64_t number)
{
        char text[24];

        snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
        return write_at(directory, name, text);
}

/* Processes that are killed for want of memory are killed together: half a tree is no use to anybody. */
static int set_memory(int directory, uint64_t memory)
{
        if (write_number(directory, "memory.max", memory) < 0 ||
            write_at(directory, "memory.oom.group", "1") < 0)
                return -1;
        /* Where the kernel counts swap, there is none; where it does not, there is no such file. */
        return write_at(directory, "memory.swap.max", "0") < 0 && errno != ENOENT ? -1 : 0;
}

/* Numbers that the caller has closed are for the command's own. */
static int open_above_stdio(int directory, const char *path)
{
        return fd_above_stdio(openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int make(struct cgroup *cgroup, const char *path, abatis_error *err)
{
        unsigned long long number = 0;

        cgroup->parent = open_above_stdio(AT_FDCWD, path);
        if (cgroup->parent < 0 || getrandom(&number, sizeof(number), 0) < 0)
                return error_os(err, errno, "cannot use the cgroup '%s'", path);
        sweep(cgroup->parent);
        snprintf(cgroup->name, sizeof(cgroup->name), PREFIX "%d-%llx", getpid(), number);
        if (mkdirat(cgroup->parent, cgroup->name, 0755) < 0) {
                *cgroup->name = '\0';
                return error_os(err, errno, "cannot make a cgroup in '%s'", path);
        }
        cgroup->directory = open_above_stdio(cgroup->parent, cgroup->name);
        return cgroup->directory < 0 ? error_os(err, errno, "cannot use a cgroup in '%s'", path) : 0;
}

int cgroup_open(struct cgroup *cgroup, const struct host_cgroup *place, uint64_t memory, uint64_t processes,
                abatis_error *err)
{
        int r = make(cgroup, place->directory, err);

        if (r < 0)
                return r;
        if ((memory && place->must_enable_memory &&
             write_at(cgroup->parent, "cgroup.subtree_control", "+memory") < 0) ||
            (processes && place->must_enable_pids &&
             write_at(cgroup->parent, "cgroup.subtree_control", "+pids") < 0))
                return error_os(err, errno, "cannot enable controllers in the cgroup '%s'", place->directory);
        if ((memory && set_memory(cgroup->directory, memory) < 0) ||
            (processes && write_number(cgroup->directory, "pids.max", processes) < 0))
                return error_os(err, errno, "cannot limit the cgroup in '%s'", place->directory);
        return 0;
}

bool cgroup_read_cpu(const struct cgroup *cgroup, uint64_t *out)
{
        char text[1024];

        if (!read_at(cgroup->directory, "cpu.stat", text, sizeof(text)))
                return false;
        *out = cgroup_parse_value(text, "usage_usec");
        return true;
}

uint64_t cgroup_read_kills(const struct cgroup *cgroup)
{
        char text[512];

        return read_at(cgroup->directory, "memory.events", text, sizeof(text))
                       ? cgroup_parse_value(text, "oom_kill")
                       : 0;
}

uint64_t cgroup_read_refusals(const struct cgroup *cgroup)
{
        char text[128];

        return read_at(cgroup->directory, "pids.events", text, sizeof(text)) ? cgroup_parse_value(text, "max")
                                                                             : 0;
}

void cgroup_kill(const struct cgroup *cgroup)
{
        /* Linux 5.14. Whatever the tree does, nothing leaves its cgroup. */
        if (cgroup->directory >= 0)
                write_at(cgroup->directory, "cgroup.kill", "1");
}

void cgroup_done(struct cgroup *cgroup)
{
        const struct timespec soon = { 0, 1000 * 1000 };

        /* The last process is gone, but may still be on its way out of the cgroup. */
        for (int tries = 0; *cgroup->name && tries < 100; tries++) {
                if (!unlinkat(cgroup->parent, cgroup->name, AT_REMOVEDIR) || errno != EBUSY)
                        break;
                nanosleep(&soon, NULL);
        }
        if (cgroup->directory >= 0)
                close(cgroup->directory);
        if (cgroup->parent >= 0)
                close(cgroup->parent);
        *cgroup = (struct cgroup)CGROUP_INIT;
}
