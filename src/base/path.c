/* path.c: literal paths: cleaning, comparing by whole components, resolving symbolic links. */
#define _GNU_SOURCE
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/reach.h"
#include "base/system.h"

enum { MAX_LINKS = 40 /* the kernel's own limit for one lookup */ };

bool path_is_below(const char *path, const char *directory)
{
        size_t length = strlen(directory);

        if (length == 1)
                return true;
        return !strncmp(path, directory, length) && (path[length] == '/' || path[length] == '\0');
}

int path_compare(const char *left, const char *right)
{
        while (*left && *left == *right) {
                left++;
                right++;
        }
        /* "/a/b" is before "/a-b". */
        return (*left == '/' ? 1 : 2 * (unsigned char)*left) -
               (*right == '/' ? 1 : 2 * (unsigned char)*right);
}

char *path_join(const char *directory, const char *name)
{
        return text_join(directory[1] ? directory : "", "/", name);
}

bool path_has_no_link(const char *path)
{
        /* A directory cannot be opened for writing, and nothing else as a directory: the kernel walks the whole path and
         * opens nothing. That is a third cheaper than to open and close, and no descriptor is ever there to be
         * inherited by a child of another thread. */
        OWN_FD int fd = reach_open_without_links(path, O_WRONLY | O_DIRECTORY);

        return fd < 0 && (errno == EISDIR || errno == ENOTDIR || errno == ENOENT);
}

static bool is_real(const char *path)
{
        size_t length = strlen(path);
        OWN_FD int fd = -1;

        if (*path != '/' || strstr(path, "//") || strstr(path, "/.") ||
            (length > 1 && path[length - 1] == '/'))
                return false;
        fd = reach_open_without_links(path, (unsigned)system_name_flags);
        return fd >= 0;
}

/* The same for a path that realpath() does not know all about, or that is too long for it. */
static char *resolve_by_names(const char *path)
{
        OWN_PATH_FACTS struct path_facts facts = { 0 };
        OWN_FREE char *directory = *path == '/' ? NULL : reach_working_directory(), *whole = NULL;
        abatis_error err;

        if (*path != '/' && !directory)
                return NULL;
        whole = directory ? path_join(directory, path) : strdup(path);
        if (!whole || path_resolve(whole, NULL, &facts, &err) < 0) {
                errno = !whole || err.code == ABATIS_E_MEMORY ? ENOMEM : err.os_errno;
                return NULL;
        }
        if (facts.kind != PATH_ABSENT)
                return take_pointer(facts.real);
        errno = ENOENT;
        return NULL;
}

/* One lookup in the kernel, where realpath() asks about every component. */
char *path_real(const char *path)
{
        char *real;

        if (system_folds_names)
                return resolve_by_names(path);
        real = is_real(path) ? strdup(path) : realpath(path, NULL);

        return real || errno != ENAMETOOLONG ? real : resolve_by_names(path);
}

/* Longer than one call of the kernel takes is no matter, but what a path costs is bounded. */
static int check_length(const char *path, size_t length, abatis_error *err)
{
        size_t names = 0;

        if (length > PATH_LONGEST)
                return error_set(err, ABATIS_E_INVALID, "'%s' has %zu bytes; %d are the most", path, length,
                                 PATH_LONGEST);
        for (size_t i = 0; i < length; i++)
                names += path[i] == '/';
        if (names > PATH_DEEPEST)
                return error_set(err, ABATIS_E_INVALID, "'%s' is %zu directories deep; %d are the most", path,
                                 names, PATH_DEEPEST);
        return 0;
}

char *path_to_enter(const char *directory)
{
        char *real = directory && strlen(directory) >= PATH_MAX ? path_real(directory) : NULL;

        if (real)
                return real;
        return directory ? strdup(directory) : reach_working_directory();
}

bool path_is_clean(const char *path)
{
        static const bool ends_name[256] = { ['\0'] = true, ['/'] = true };
        const char *start = path;

        if (*path != '/' || !path[1])
                return *path == '/';
        while (*path) {
                const char *name = ++path;
                size_t length;

                while (!ends_name[(unsigned char)*path])
                        path++;
                length = (size_t)(path - name);
                if (!length || length > NAME_MAX ||
                    (*name == '.' && (length == 1 || (length == 2 && name[1] == '.'))))
                        return false;
        }
        return path - start < PATH_MAX || !check_length(start, (size_t)(path - start), NULL);
}

int path_clean(const char *path, char **out, abatis_error *err)
{
        OWN_FREE char *clean = NULL;
        size_t used = 0;

        if (!path || !*path)
                return error_set(err, ABATIS_E_INVALID, "an empty path");
        if (*path != '/')
                return error_set(err, ABATIS_E_INVALID, "'%s' is relative; give an absolute path", path);
        clean = malloc(strlen(path) + 2);
        if (!clean)
                return error_memory(err);
        while (*path) {
                size_t length;

                path += strspn(path, "/");
                length = strcspn(path, "/");
                if (length == 2 && path[0] == '.' && path[1] == '.')
                        return error_set(err, ABATIS_E_INVALID, "a path may not climb with '..'");
                if (length > NAME_MAX)
                        return error_set(err, ABATIS_E_INVALID,
                                         "a name of %zu bytes is longer than any file's", length);
                if (length && !(length == 1 && *path == '.')) {
                        clean[used++] = '/';
                        memcpy(clean + used, path, length);
                        used += length;
                }
                path += length;
        }
        if (!used)
                clean[used++] = '/';
        clean[used] = '\0';
        if (used >= PATH_MAX && check_length(clean, used, err) < 0)
                return ABATIS_E_INVALID;
        *out = take_pointer(clean);
        return 0;
}

enum path_kind path_kind_of(unsigned mode)
{
        if (S_ISDIR(mode))
                return PATH_DIRECTORY;
        return S_ISREG(mode) ? PATH_FILE : PATH_OTHER;
}

/* The text of the link at `path`, or NULL with errno EINVAL when it is none. */
static char *read_link(const char *path)
{
        char target[PATH_MAX];
        long length = reach_read_link(path, target, sizeof(target) - 1);

        if (length < 0)
                return NULL;
        target[length] = '\0';
        return strdup(target);
}

/* Replaces what is left to walk by the link's target followed by it. An absolute target starts over at the root. */
static int follow_link(const char *target, char **rest, struct text *real, abatis_error *err)
{
        char *joined = text_join(target, "/", *rest);

        if (!joined)
                return error_memory(err);
        free(*rest);
        *rest = joined;
        if (*target == '/') {
                real->length = 0;
                text_add(real, "");
        }
        return 0;
}

static void drop_last_component(struct text *real)
{
        while (real->length && real->data[--real->length] != '/')
                ;
        if (real->data)
                real->data[real->length] = '\0';
}

/* The last name of what was walked, as the disk has it: rules are compared with that. */
static int spell(struct text *real, size_t parent_length, abatis_error *err)
{
        OWN_FREE char *name = NULL;

        if (system_find_spelling(real->data, &name) < 0)
                return error_os(err, errno, "cannot find out how '%s' is spelled", real->data);
        if (!name)
                return 0;
        real->length = parent_length;
        text_add(real, "/");
        text_add(real, name);
        return real->has_failed ? error_memory(err) : 0;
}

/* Walks one component. *kind becomes PATH_ABSENT when it does not exist. */
static int walk(const char *name, struct text *real, char **rest, struct path_facts *facts, abatis_error *err)
{
        OWN_FREE char *target = NULL;
        size_t parent_length = real->length;
        struct stat status;
        int r;

        text_add(real, "/");
        text_add(real, name);
        if (real->has_failed)
                return error_memory(err);
        if (real->length >= PATH_MAX && check_length(real->data, real->length, NULL) < 0)
                return error_os(err, ENAMETOOLONG, "cannot resolve '%s'", real->data);
        if (facts->kind == PATH_ABSENT)
                return 0;
        if (reach_lstat(real->data, &status) < 0) {
                if (errno != ENOENT && errno != ENOTDIR)
                        return error_os(err, errno, "cannot examine '%s'", real->data);
                facts->kind = PATH_ABSENT;
                return 0;
        }
        facts->kind = path_kind_of(status.st_mode);
        if (!S_ISLNK(status.st_mode))
                return spell(real, parent_length, err);
        if (facts->links.count == MAX_LINKS)
                return error_os(err, ELOOP, "cannot resolve '%s'", real->data);
        target = read_link(real->data);
        if (!target)
                return error_os(err, errno, "cannot read the link '%s'", real->data);
        r = strings_add(&facts->links, real->data, err);
        if (r < 0)
                return r;
        facts->kind = PATH_DIRECTORY;
        real->length = parent_length;
        real->data[parent_length] = '\0';
        return follow_link(target, rest, real, err);
}

int path_resolve(const char *path, const char *known, struct path_facts *out, abatis_error *err)
{
        struct path_facts facts = { .kind = PATH_DIRECTORY };
        size_t skipped = known && known[1] && path_is_below(path, known) ? strlen(known) : 0;
        OWN_FREE char *rest = strdup(path + skipped);
        OWN_TEXT struct text real = { 0 };
        int r = 0;

        if (!rest)
                return error_memory(err);
        text_add_bytes(&real, path, skipped);
        while (!r) {
                size_t skip = strspn(rest, "/"), length = strcspn(rest + skip, "/");
                char name[NAME_MAX + 1];

                if (!length)
                        break;
                if (length > NAME_MAX) {
                        r = error_os(err, ENAMETOOLONG, "cannot resolve '%s'", path);
                        break;
                }
                memcpy(name, rest + skip, length);
                name[length] = '\0';
                memmove(rest, rest + skip + length, strlen(rest + skip + length) + 1);
                /* Only a directory has a "." or "..": below anything else they lead nowhere. */
                if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]))) {
                        if (facts.kind != PATH_DIRECTORY)
                                facts.kind = PATH_ABSENT;
                        else if (name[1])
                                drop_last_component(&real);
                } else
                        r = walk(name, &real, &rest, &facts, err);
        }
        if (!r && !real.length)
                text_add(&real, "/");
        if (!r)
                r = text_take(&real, &facts.real, err);
        if (r < 0) {
                path_facts_done(&facts);
                return r;
        }
        *out = facts;
        return 0;
}

void path_facts_done(struct path_facts *facts)
{
        free(facts->real);
        strings_done(&facts->links);
        *facts = (struct path_facts){ 0 };
}
