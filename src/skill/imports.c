/* imports.c: the functions of WASI preview 1, and lists of what else may be imported. */
#include "skill/imports.h"

#include <string.h>

static const char wasi_module[] = "wasi_snapshot_preview1";

/* All that the module has had since it was frozen; sock_accept came last. Its predecessor wasi_unstable has functions of the same
 * names with other meanings, and is no part of it. */
static const char *const wasi_functions[] = {
        "args_get",
        "args_sizes_get",
        "clock_res_get",
        "clock_time_get",
        "environ_get",
        "environ_sizes_get",
        "fd_advise",
        "fd_allocate",
        "fd_close",
        "fd_datasync",
        "fd_fdstat_get",
        "fd_fdstat_set_flags",
        "fd_fdstat_set_rights",
        "fd_filestat_get",
        "fd_filestat_set_size",
        "fd_filestat_set_times",
        "fd_pread",
        "fd_prestat_dir_name",
        "fd_prestat_get",
        "fd_pwrite",
        "fd_read",
        "fd_readdir",
        "fd_renumber",
        "fd_seek",
        "fd_sync",
        "fd_tell",
        "fd_write",
        "path_create_directory",
        "path_filestat_get",
        "path_filestat_set_times",
        "path_link",
        "path_open",
        "path_readlink",
        "path_remove_directory",
        "path_rename",
        "path_symlink",
        "path_unlink_file",
        "poll_oneoff",
        "proc_exit",
        "proc_raise",
        "random_get",
        "sched_yield",
        "sock_accept",
        "sock_recv",
        "sock_send",
        "sock_shutdown",
};

static bool is_wasi(const struct module_import *import)
{
        if (import->kind != MODULE_FUNCTION || !wire_name_is(import->module, wasi_module))
                return false;
        for (size_t i = 0; i < sizeof(wasi_functions) / sizeof(*wasi_functions); i++)
                if (wire_name_is(import->name, wasi_functions[i]))
                        return true;
        return false;
}

static bool is_entry(const struct module_import *import, const char *entry)
{
        const char *dot = strrchr(entry, '.');

        return dot && import->module.length == (size_t)(dot - entry) &&
               !memcmp(import->module.bytes, entry, import->module.length) &&
               (!strcmp(dot, ".*") || wire_name_is(import->name, dot + 1));
}

bool imports_allow(const struct module_import *import, const char *const *list)
{
        for (; list && *list; list++)
                if (is_entry(import, *list))
                        return true;
        return is_wasi(import);
}
