/* escape.c: tries one way out of the directories that a skill was given, and says in a line of JSON what it got.
 *
 *   escape list                  the names of all attempts
 *   escape NAME OUTSIDE          one of them; OUTSIDE is the absolute path of the directory outside
 *   escape race TIMES            reads so often what somebody exchanges meanwhile for links to outside
 *
 * The world is that of lib.sh: descriptor 3 is inside/, to write, 4 is second/, to read only, and outside/ is beside them. A result is
 * "errno N": refused; "inside ...": it worked, and nothing outside was touched; "LEAK ...": it got out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

enum { INSIDE = 3, SECOND = 4, READ = __WASI_RIGHTS_FD_READ, WRITE = __WASI_RIGHTS_FD_WRITE };
enum { FOLLOW = __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW };

static const char *outside;

static char result[512];

static void refused(__wasi_errno_t error)
{
        snprintf(result, sizeof result, "errno %d", error);
}

static void leak(const char *what, const char *detail)
{
        snprintf(result, sizeof result, "LEAK %s %.200s", what, detail);
}

static void inside(const char *what)
{
        snprintf(result, sizeof result, "inside %s", what);
}

/* What a call that should have failed came to. */
static void judge(__wasi_errno_t error, const char *what)
{
        if (error)
                refused(error);
        else
                leak(what, "");
}

/* ---- the calls of WASI, with paths as texts ---- */

static __wasi_errno_t open_at(int fd, const char *path, int lookup, int oflags, __wasi_rights_t rights,
                              __wasi_fd_t *out)
{
        return __wasi_path_open(fd, (__wasi_lookupflags_t)lookup, path, (__wasi_oflags_t)oflags, rights,
                                rights, 0, out);
}

static void show_text(__wasi_fd_t fd)
{
        char text[65];
        const __wasi_iovec_t place = { (uint8_t *)text, sizeof text - 1 };
        __wasi_size_t length = 0;
        const __wasi_errno_t error = __wasi_fd_read(fd, &place, 1, &length);

        if (error) {
                refused(error);
                return;
        }
        text[length] = 0;
        for (char *at = text; *at; at++)
                if (*at < ' ' || *at > '~' || *at == '"' || *at == '\\')
                        *at = '.';
        leak("read", text);
}

static void read_at(int fd, const char *path)
{
        __wasi_fd_t opened;
        __wasi_errno_t error = open_at(fd, path, FOLLOW, 0, READ, &opened);

        if (!error) {
                show_text(opened);
                error = __wasi_fd_close(opened);
        }
        if (error)
                refused(error);
}

static __wasi_errno_t make_file(const char *path)
{
        __wasi_fd_t opened;
        const __wasi_errno_t error = open_at(INSIDE, path, 0, __WASI_OFLAGS_CREAT, WRITE, &opened);

        return error ? error : __wasi_fd_close(opened);
}

/* ---- attempts ---- */

static void read_path(const char *path)
{
        read_at(INSIDE, path);
}

static void read_absolute(const char *path)
{
        char text[4096];

        snprintf(text, sizeof text, "%s/%s", outside, path);
        read_at(INSIDE, text);
}

static void follow_made(const char *target)
{
        const __wasi_errno_t error = __wasi_path_symlink(target, INSIDE, "made");

        if (error)
                refused(error);
        else
                read_at(INSIDE, "made");
}

static void follow_made_absolute(const char *path)
{
        char text[4096];

        snprintf(text, sizeof text, "%s/%s", outside, path);
        follow_made(text);
}

static void follow_made_directory(const char *target)
{
        const __wasi_errno_t error = __wasi_path_symlink(target, INSIDE, "made");

        if (error)
                refused(error);
        else
                read_at(INSIDE, "made/secret.txt");
}

static void follow_made_chain(const char *target)
{
        __wasi_errno_t error = __wasi_path_symlink("made2", INSIDE, "made");

        if (!error)
                error = __wasi_path_symlink("sub/made3", INSIDE, "made2");
        if (!error)
                error = __wasi_path_symlink(target, INSIDE, "sub/made3");
        if (error)
                refused(error);
        else
                read_at(INSIDE, "made");
}

/* Of the link itself it may be had, so what counts is what is read through it. */
static void link_to(const char *path)
{
        __wasi_errno_t error = __wasi_path_link(INSIDE, 0, path, INSIDE, "hard");

        if (error)
                refused(error);
        else
                read_at(INSIDE, "hard");
}

static void link_followed(const char *path)
{
        __wasi_errno_t error = __wasi_path_link(INSIDE, FOLLOW, path, INSIDE, "hard");

        if (error)
                refused(error);
        else
                read_at(INSIDE, "hard");
}

static void link_out(const char *path)
{
        __wasi_errno_t error = make_file("mine");

        if (!error)
                error = __wasi_path_link(INSIDE, 0, "mine", INSIDE, path);
        judge(error, "linked");
}

static void rename_out(const char *path)
{
        __wasi_errno_t error = make_file("mine");

        if (!error)
                error = __wasi_path_rename(INSIDE, "mine", INSIDE, path);
        judge(error, "moved out");
}

static void rename_in(const char *path)
{
        judge(__wasi_path_rename(INSIDE, path, INSIDE, "stolen"), "moved in");
}

static void rename_across(const char *path)
{
        judge(__wasi_path_rename(SECOND, path, INSIDE, "stolen"), "moved away from what may only be read");
}

static void rename_into_read_only(const char *path)
{
        __wasi_errno_t error = make_file("mine");

        if (!error)
                error = __wasi_path_rename(INSIDE, "mine", SECOND, path);
        judge(error, "moved to what may only be read");
}

static void stat_at(const char *path, int lookup)
{
        __wasi_filestat_t status;
        const __wasi_errno_t error =
                __wasi_path_filestat_get(INSIDE, (__wasi_lookupflags_t)lookup, path, &status);
        char text[64];

        snprintf(text, sizeof text, "%llu bytes", (unsigned long long)status.size);
        if (error)
                refused(error);
        else if (status.filetype == __WASI_FILETYPE_SYMBOLIC_LINK)
                inside("the link itself");
        else
                leak("metadata", text);
}

static void stat_followed(const char *path)
{
        stat_at(path, FOLLOW);
}

static void stat_not_followed(const char *path)
{
        stat_at(path, 0);
}

static void read_link(const char *path)
{
        char text[4096];
        __wasi_size_t length;
        const __wasi_errno_t error =
                __wasi_path_readlink(INSIDE, path, (uint8_t *)text, sizeof text - 1, &length);

        if (error)
                refused(error);
        else {
                text[length] = 0;
                leak("link", text);
        }
}

static void list_directory(const char *path)
{
        uint8_t text[4096];
        __wasi_fd_t fd;
        __wasi_size_t length = 0;
        char count[32];
        __wasi_errno_t error =
                open_at(INSIDE, path, FOLLOW, __WASI_OFLAGS_DIRECTORY, __WASI_RIGHTS_FD_READDIR, &fd);

        if (!error)
                error = __wasi_fd_readdir(fd, text, sizeof text, 0, &length);
        snprintf(count, sizeof count, "%u bytes of names", (unsigned)length);
        if (error)
                refused(error);
        else
                leak("directory", count);
}

static void truncate_file(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(INSIDE, path, FOLLOW, __WASI_OFLAGS_TRUNC, READ | WRITE, &fd), "truncated");
}

static void create_file(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(INSIDE, path, FOLLOW, __WASI_OFLAGS_CREAT, READ | WRITE, &fd), "created");
}

static void append_file(const char *path)
{
        const __wasi_ciovec_t text = { (const uint8_t *)"x", 1 };
        __wasi_fd_t fd;
        __wasi_size_t length;
        __wasi_errno_t error = open_at(INSIDE, path, FOLLOW, 0, WRITE, &fd);

        if (!error)
                error = __wasi_fd_write(fd, &text, 1, &length);
        judge(error, "written");
}

static void create_read_only(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(SECOND, path, 0, __WASI_OFLAGS_CREAT, READ | WRITE, &fd),
              "created in what may only be read");
}

static void write_read_only(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(SECOND, path, 0, 0, WRITE, &fd), "opened to write what may only be read");
}

static void unlink_read_only(const char *path)
{
        judge(__wasi_path_unlink_file(SECOND, path), "removed from what may only be read");
}

/* Asks for all rights first. */
static void widen_rights(const char *path)
{
        __wasi_fdstat_t status;
        __wasi_errno_t error = __wasi_fd_fdstat_get(SECOND, &status);

        if (!error)
                error = __wasi_fd_fdstat_set_rights(SECOND, (1 << 29) - 1, (1 << 29) - 1);
        if (error)
                refused(error);
        else
                create_read_only(path);
}

static void set_times(const char *path)
{
        judge(__wasi_path_filestat_set_times(INSIDE, FOLLOW, path, 1000000000, 1000000000,
                                             __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_MTIM),
              "times");
}

static void unlink_file(const char *path)
{
        judge(__wasi_path_unlink_file(INSIDE, path), "removed");
}

static void remove_directory(const char *path)
{
        judge(__wasi_path_remove_directory(INSIDE, path), "removed a directory");
}

static void make_directory(const char *path)
{
        judge(__wasi_path_create_directory(INSIDE, path), "made a directory");
}

static void make_symlink(const char *path)
{
        judge(__wasi_path_symlink("secret.txt", INSIDE, path), "made a link");
}

/* The C interface of path_open takes texts with an end: this is below it. */
__attribute__((import_module("wasi_snapshot_preview1"), import_name("path_open"))) int raw_path_open(
        int fd, int lookup, const char *path, int length, int oflags, long long base, long long inheriting,
        int fdflags, __wasi_fd_t *out);

static void read_with_nul(const char *path)
{
        char text[256];
        const int length = snprintf(text, sizeof text, "own.txt!%s", path);
        __wasi_fd_t fd;
        int error;

        text[7] = 0;
        error = raw_path_open(INSIDE, FOLLOW, text, length, 0, READ, READ, 0, &fd);
        if (error)
                refused((__wasi_errno_t)error);
        else
                inside("cut at the end of the text");
}

static void read_long(const char *path)
{
        static char text[70000];
        size_t at = 0;

        while (at < 65000) {
                memcpy(text + at, "sub/../", 7);
                at += 7;
        }
        strcpy(text + at, path);
        read_at(INSIDE, text);
}

static void read_longer(const char *path)
{
        static char text[4096];

        memset(text, 'a', sizeof text - 1);
        text[300] = '/';
        memcpy(text + sizeof text - 1 - strlen(path), path, strlen(path));
        read_at(INSIDE, text);
}

static void read_empty(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(INSIDE, path, FOLLOW, 0, READ, &fd), "opened");
}

static void write_directory(const char *path)
{
        __wasi_fd_t fd;

        judge(open_at(INSIDE, path, FOLLOW, 0, READ | WRITE, &fd), "a directory opened to write");
}

static void read_below_file(const char *path)
{
        __wasi_fd_t fd;
        const __wasi_errno_t error = open_at(INSIDE, "own.txt", 0, 0, READ | __WASI_RIGHTS_PATH_OPEN, &fd);

        if (error)
                refused(error);
        else
                read_at(fd, path);
}

static void read_below_input(const char *path)
{
        read_at(0, path);
}

static void read_below_directory(const char *path)
{
        __wasi_fd_t fd;
        const __wasi_errno_t error = open_at(INSIDE, "sub", 0, __WASI_OFLAGS_DIRECTORY,
                                             READ | __WASI_RIGHTS_PATH_OPEN | __WASI_RIGHTS_FD_READDIR, &fd);

        if (error)
                refused(error);
        else
                read_at(fd, path);
}

/* What is open of outside after the move must not be reached through the old number. */
static void move_directory(const char *path)
{
        __wasi_fd_t fd;
        __wasi_errno_t error = open_at(INSIDE, "sub/deep", 0, __WASI_OFLAGS_DIRECTORY,
                                       READ | __WASI_RIGHTS_PATH_OPEN | __WASI_RIGHTS_FD_READDIR, &fd);

        if (!error)
                error = __wasi_path_rename(INSIDE, "sub/deep", INSIDE, "deep");
        if (error)
                refused(error);
        else
                read_at(fd, path);
}

static void renumber_given(const char *path)
{
        const __wasi_errno_t error = __wasi_fd_renumber(SECOND, INSIDE);
        __wasi_fd_t fd;

        if (error)
                refused(error);
        else if (open_at(INSIDE, path, 0, __WASI_OFLAGS_CREAT, READ | WRITE, &fd))
                inside("the number is another's now");
        else
                leak("created in what may only be read", path);
}

static void renumber_far(const char *path)
{
        const __wasi_errno_t error = __wasi_fd_renumber(INSIDE, 4000000000u);

        if (error)
                refused(error);
        else
                read_at((int)4000000000u, path);
}

static void use_closed(const char *path)
{
        const __wasi_errno_t error = __wasi_fd_close(INSIDE);

        if (error)
                refused(error);
        else
                read_at(INSIDE, path);
}

/* Numbers that the host may have open and never gave. */
static void use_unknown(const char *path)
{
        __wasi_fd_t fd;
        __wasi_errno_t error = __WASI_ERRNO_BADF;

        for (int i = 5; i < 64 && error; i++)
                error = open_at(i, path, FOLLOW, 0, READ, &fd);
        judge(error, "opened below a number that was never given");
}

static void read_unknown(const char *path)
{
        (void)path;
        for (int i = 5; i < 64; i++) {
                show_text((__wasi_fd_t)i);
                if (*result == 'L')
                        return;
        }
}

/* A directory on the way, and a file at its end. */
static void race(int times)
{
        int got = 0, not_got = 0;

        for (int i = 0; i < times; i++) {
                read_at(INSIDE, i % 2 ? "flip/secret.txt" : "flip-file");
                if (strstr(result, "SECRET"))
                        return;
                if (*result == 'L')
                        got++;
                else
                        not_got++;
        }
        snprintf(result, sizeof result, "inside %s", got && not_got ? "both were met" : "one was not met");
}

static const struct attempt {
        const char *name;
        void (*try)(const char *path);
        const char *path;
} attempts[] = {
        { "dotdot", read_path, "../outside/secret.txt" },
        { "dotdot-below", read_path, "sub/../../outside/secret.txt" },
        { "dot-dotdot", read_path, "./../outside/secret.txt" },
        { "double-slash", read_path, ".//..//outside//secret.txt" },
        { "absolute", read_absolute, "secret.txt" },
        { "absolute-system", read_path, "/etc/passwd" },
        { "existing-link", read_path, "file" },
        { "existing-link-directory", read_path, "out/secret.txt" },
        { "existing-link-absolute", read_path, "absolute/secret.txt" },
        { "existing-link-chain", read_path, "chain/secret.txt" },
        { "existing-link-back", read_path, "sub/../out/../outside/secret.txt" },
        { "made-link", follow_made, "../outside/secret.txt" },
        { "made-link-absolute", follow_made_absolute, "secret.txt" },
        { "made-link-directory", follow_made_directory, "../outside" },
        { "made-link-chain", follow_made_chain, "../../outside/secret.txt" },
        { "made-link-root", follow_made_directory, "../../../../../../../../../../../../../.." },
        { "hard-link", link_to, "../outside/secret.txt" },
        { "hard-link-follow", link_followed, "file" },
        { "hard-link-through", link_to, "out/secret.txt" },
        { "hard-link-of-link", link_to, "file" },
        { "hard-link-out", link_out, "../outside/mine" },
        { "hard-link-out-through", link_out, "out/mine" },
        { "rename-out", rename_out, "../outside/mine" },
        { "rename-out-through", rename_out, "out/mine" },
        { "rename-in", rename_in, "../outside/secret.txt" },
        { "rename-in-through", rename_in, "out/secret.txt" },
        { "rename-across", rename_across, "given.txt" },
        { "rename-into-read-only", rename_into_read_only, "mine" },
        { "stat-follow", stat_followed, "file" },
        { "stat-no-follow", stat_not_followed, "file" },
        { "stat-through", stat_not_followed, "out/secret.txt" },
        { "stat-dotdot", stat_not_followed, "../outside/secret.txt" },
        { "stat-parent", stat_not_followed, ".." },
        { "readlink-through", read_link, "out/link" },
        { "readlink-dotdot", read_link, "../outside/link" },
        { "list-through", list_directory, "out" },
        { "list-parent", list_directory, ".." },
        { "list-below", list_directory, "out/empty" },
        { "truncate-link", truncate_file, "file" },
        { "truncate-through", truncate_file, "out/secret.txt" },
        { "create-dangling", create_file, "dangling" },
        { "create-through", create_file, "out/created.txt" },
        { "create-dotdot", create_file, "../outside/created.txt" },
        { "write-link", append_file, "file" },
        { "write-through", append_file, "out/secret.txt" },
        { "create-read-only", create_read_only, "created.txt" },
        { "write-read-only", write_read_only, "given.txt" },
        { "unlink-read-only", unlink_read_only, "given.txt" },
        { "widen-rights", widen_rights, "created.txt" },
        { "times-link", set_times, "file" },
        { "times-through", set_times, "out/secret.txt" },
        { "times-dotdot", set_times, "../outside/secret.txt" },
        { "unlink-through", unlink_file, "out/secret.txt" },
        { "unlink-dotdot", unlink_file, "../outside/secret.txt" },
        { "rmdir-through", remove_directory, "out/empty" },
        { "rmdir-dotdot", remove_directory, "../outside/empty" },
        { "mkdir-through", make_directory, "out/made" },
        { "mkdir-dotdot", make_directory, "../outside/made" },
        { "symlink-through", make_symlink, "out/made" },
        { "symlink-dotdot", make_symlink, "../outside/made" },
        { "nul", read_with_nul, "/../../outside/secret.txt" },
        { "empty", read_empty, "" },
        { "long", read_long, "../outside/secret.txt" },
        { "longer", read_longer, "/../../../outside/secret.txt" },
        { "trailing-slash", read_path, "file/" },
        { "trailing-dot", read_path, "out/." },
        { "directory-to-write", write_directory, "sub" },
        { "below-file", read_below_file, "../../outside/secret.txt" },
        { "below-input", read_below_input, "../outside/secret.txt" },
        { "below-directory", read_below_directory, "../../outside/secret.txt" },
        { "below-directory-link", read_below_directory, "up/outside/secret.txt" },
        { "moved-directory", move_directory, "../../outside/secret.txt" },
        { "renumber-given", renumber_given, "created.txt" },
        { "renumber-far", renumber_far, "../outside/secret.txt" },
        { "closed", use_closed, "../outside/secret.txt" },
        { "unknown-number", use_unknown, "." },
        { "unknown-number-read", read_unknown, "" },
        { "proc-environ", read_path, "proc/environ" },
        { "proc-cwd", read_path, "proc/cwd/outside/secret.txt" },
        { "proc-root", read_path, "proc/root/etc/passwd" },
        { "dev", read_path, "dev/zero" },
        { "root", read_path, "root/etc/passwd" },
};

enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

int main(int argc, char **argv)
{
        if (argc == 2 && !strcmp(argv[1], "list")) {
                for (size_t i = 0; i < ATTEMPTS; i++)
                        puts(attempts[i].name);
                return 0;
        }
        if (argc == 3 && !strcmp(argv[1], "race")) {
                race(atoi(argv[2]));
                printf("{\"attempt\":\"race\",\"result\":\"%s\"}\n", result);
                return 0;
        }
        for (size_t i = 0; argc == 3 && i < ATTEMPTS; i++) {
                if (strcmp(argv[1], attempts[i].name) != 0)
                        continue;
                outside = argv[2];
                attempts[i].try(attempts[i].path);
                printf("{\"attempt\":\"%s\",\"result\":\"%s\"}\n", attempts[i].name, result);
                return 0;
        }
        fputs("usage: escape list | escape NAME OUTSIDE\n", stderr);
        return 2;
}
