/* random.c: calls the functions of WASI with arguments by chance: numbers, addresses that are its own and such that are not.
 *
 *   random SEED CALLS        prints how many calls there were, and how many were refused */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IMPORT(name, ...)                                                                            \
        __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) int raw_##name( \
                __VA_ARGS__)

IMPORT(args_get, int, int);
IMPORT(args_sizes_get, int, int);
IMPORT(environ_get, int, int);
IMPORT(environ_sizes_get, int, int);
IMPORT(clock_res_get, int, int);
IMPORT(clock_time_get, int, int64_t, int);
IMPORT(fd_advise, int, int64_t, int64_t, int);
IMPORT(fd_allocate, int, int64_t, int64_t);
IMPORT(fd_close, int);
IMPORT(fd_datasync, int);
IMPORT(fd_fdstat_get, int, int);
IMPORT(fd_fdstat_set_flags, int, int);
IMPORT(fd_fdstat_set_rights, int, int64_t, int64_t);
IMPORT(fd_filestat_get, int, int);
IMPORT(fd_filestat_set_size, int, int64_t);
IMPORT(fd_filestat_set_times, int, int64_t, int64_t, int);
IMPORT(fd_pread, int, int, int, int64_t, int);
IMPORT(fd_prestat_dir_name, int, int, int);
IMPORT(fd_prestat_get, int, int);
IMPORT(fd_pwrite, int, int, int, int64_t, int);
IMPORT(fd_read, int, int, int, int);
IMPORT(fd_readdir, int, int, int, int64_t, int);
IMPORT(fd_renumber, int, int);
IMPORT(fd_seek, int, int64_t, int, int);
IMPORT(fd_sync, int);
IMPORT(fd_tell, int, int);
IMPORT(fd_write, int, int, int, int);
IMPORT(path_create_directory, int, int, int);
IMPORT(path_filestat_get, int, int, int, int, int);
IMPORT(path_filestat_set_times, int, int, int, int, int64_t, int64_t, int);
IMPORT(path_link, int, int, int, int, int, int, int);
IMPORT(path_open, int, int, int, int, int, int64_t, int64_t, int, int);
IMPORT(path_readlink, int, int, int, int, int, int);
IMPORT(path_remove_directory, int, int, int);
IMPORT(path_rename, int, int, int, int, int, int);
IMPORT(path_symlink, int, int, int, int, int);
IMPORT(path_unlink_file, int, int, int);
IMPORT(poll_oneoff, int, int, int, int);
IMPORT(proc_raise, int);
IMPORT(random_get, int, int);
IMPORT(sched_yield, void);
IMPORT(sock_accept, int, int, int);
IMPORT(sock_recv, int, int, int, int, int, int);
IMPORT(sock_send, int, int, int, int, int);
IMPORT(sock_shutdown, int, int);

static uint64_t state;

static uint32_t chance(uint32_t below)
{
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return (uint32_t)(state >> 11) % below;
}

/* Where the host may write, with room behind it: nothing else of this program would survive that. */
enum { ARENA = 65536, BEHIND = 65536, PATH_SIZE = 64 };
static uint8_t arena[ARENA + BEHIND];
static const char *const paths[] = {
        "own.txt",
        "sub",
        "sub/new",
        "new",
        ".",
        "..",
        "../outside/secret.txt",
        "out",
        "out/new",
        "file",
        "chain/x",
        "flip",
        "own-link",
        "sub/up/outside/secret.txt",
        "dangling",
        "sub/deep/more",
        "proc/fd",
        "/",
        "a//b/./",
        "given.txt",
        "",
};
static char texts[sizeof paths / sizeof *paths][PATH_SIZE];

/* An address with room for so much behind it, mostly: else at the end of the memory, behind it, or anywhere high. */
static int place(uint32_t room)
{
        const uint32_t end = (uint32_t)__builtin_wasm_memory_size(0) * 65536;

        switch (chance(8)) {
        case 0:
                return (int)(end - chance(room + 2));
        case 1:
                return (int)(end + chance(4096));
        case 2:
                return (int)(0xffffffffu - chance(room + 64));
        default:
                return (int)(uintptr_t)arena + (int)chance(ARENA - room);
        }
}

static int length(void)
{
        return (int)(chance(6)   ? chance(2048)
                     : chance(2) ? 0xffffffffu - chance(16)
                                 : 0x7fffffffu + chance(2));
}

static int fd(void)
{
        return (int)(chance(10) ? 3 + chance(8) : chance(2) ? chance(2000) : 0xffffffffu - chance(4));
}

static int64_t wide(void)
{
        return (int64_t)(chance(3) ? chance(65536) : (uint64_t)chance(0xffffffffu) << chance(33));
}

/* A path and its length, which is sometimes another. */
static int text;
static int path(void)
{
        text = (int)chance(sizeof paths / sizeof *paths);
        return chance(12) ? (int)(uintptr_t)texts[text] : place(PATH_SIZE);
}
static int path_length(void)
{
        return chance(12) ? (int)strlen(texts[text]) : length();
}

/* A list of buffers, or of what is waited for, which is over at once. */
static int list(void)
{
        uint32_t *at = (uint32_t *)(uintptr_t)(arena + chance(1024) * 4);

        if (!chance(6))
                return place(64);
        for (int i = 0; i < 8; i++) {
                at[2 * i] = (uint32_t)place(256);
                at[2 * i + 1] = chance(8) ? chance(256) : (uint32_t)length();
        }
        return (int)(uintptr_t)at;
}

static int few(void)
{
        return chance(8) ? (int)chance(8) : length();
}

static int zeros(void)
{
        memset(arena + ARENA / 2, 0, 1024);
        return chance(4) ? (int)(uintptr_t)arena + ARENA / 2 : (int)(0xffffffffu - chance(256));
}

/* clang-format off: a line for each */
static int call(void)
{
        int one = path(), one_length = path_length(), other = path(), other_length = path_length();

        switch (chance(45)) {
        case 0:
                return raw_args_get(place(64), place(256));
        case 1:
                return raw_args_sizes_get(place(4), place(4));
        case 2:
                return raw_environ_get(place(64), place(256));
        case 3:
                return raw_environ_sizes_get(place(4), place(4));
        case 4:
                return raw_clock_res_get((int)chance(6), place(8));
        case 5:
                return raw_clock_time_get((int)chance(6), wide(), place(8));
        case 6:
                return raw_fd_advise(fd(), wide(), wide(), (int)chance(8));
        case 7:
                return raw_fd_allocate(fd(), chance(65536), chance(65536));
        case 8:
                return raw_fd_close(5 + (int)chance(2000));
        case 9:
                return raw_fd_datasync(fd());
        case 10:
                return raw_fd_fdstat_get(fd(), place(24));
        case 11:
                return raw_fd_fdstat_set_flags(fd(), (int)chance(40));
        case 12:
                return raw_fd_fdstat_set_rights(5 + (int)chance(8), wide(), wide());
        case 13:
                return raw_fd_filestat_get(fd(), place(64));
        case 14:
                return raw_fd_filestat_set_size(fd(), wide() & 0xfffff);
        case 15:
                return raw_fd_filestat_set_times(fd(), wide(), wide(), (int)chance(20));
        case 16:
                return raw_fd_pread(fd(), list(), few(), wide(), place(4));
        case 17:
                return raw_fd_prestat_dir_name(fd(), place(16), length());
        case 18:
                return raw_fd_prestat_get(fd(), place(8));
        case 19:
                return raw_fd_pwrite(fd(), list(), few(), wide() & 0xfffff, place(4));
        case 20:
                return raw_fd_read(fd(), list(), few(), place(4));
        case 21:
                return raw_fd_readdir(fd(), place(2048), length(), chance(2) ? 0 : wide(), place(4));
        case 22:
                return raw_fd_renumber(fd(), fd());
        case 23:
                return raw_fd_seek(fd(), wide(), (int)chance(4), place(8));
        case 24:
                return raw_fd_sync(fd());
        case 25:
                return raw_fd_tell(fd(), place(8));
        case 26:
                return raw_fd_write(fd(), list(), few(), place(4));
        case 27:
                return raw_path_create_directory(fd(), one, one_length);
        case 28:
                return raw_path_filestat_get(fd(), (int)chance(3), one, one_length, place(64));
        case 29:
                return raw_path_filestat_set_times(fd(), (int)chance(3), one, one_length, wide(), wide(),
                                                   (int)chance(20));
        case 30:
                return raw_path_link(fd(), (int)chance(3), one, one_length, fd(), other, other_length);
        case 31:
                return raw_path_readlink(fd(), one, one_length, place(2048), length(), place(4));
        case 32:
                return raw_path_remove_directory(fd(), one, one_length);
        case 33:
                return raw_path_rename(fd(), one, one_length, fd(), other, other_length);
        case 34:
                return raw_path_symlink(one, one_length, fd(), other, other_length);
        case 35:
                return raw_path_unlink_file(fd(), one, one_length);
        case 36:
                return raw_poll_oneoff(zeros(), place(256), few(), place(4));
        case 37:
                return raw_proc_raise((int)chance(32));
        case 38:
                return raw_random_get(place(2048), length());
        case 39:
                return raw_sched_yield();
        case 40:
                return raw_sock_accept(fd(), (int)chance(8), place(4));
        case 41:
                return raw_sock_recv(fd(), list(), few(), 0, place(4), place(4));
        case 42:
                return raw_sock_send(fd(), list(), few(), 0, place(4));
        case 43:
                return raw_sock_shutdown(fd(), (int)chance(4));
        default:
                return raw_path_open(fd(), (int)chance(3), one, one_length, (int)chance(16),
                                     chance(2) ? -1 : wide(), chance(2) ? -1 : wide(), (int)chance(40),
                                     place(4));
        }
}

/* clang-format on */
int main(int argc, char **argv)
{
        const int calls = argc == 3 ? atoi(argv[2]) : 0;
        int refused = 0;

        state = argc == 3 ? 0x9e3779b97f4a7c15u * (uint64_t)(atoi(argv[1]) + 1) : 1;
        if (__builtin_wasm_memory_grow(0, 2) ==
            (size_t)-1) /* what is at the end of the memory is nobody's then */
                return 1;
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
                strcpy(texts[i], paths[i]);
        for (int i = 0; i < calls; i++)
                if (call())
                        refused++;
        printf("{\"calls\":%d,\"refused\":%d}\n", calls, refused);
        return 0;
}
