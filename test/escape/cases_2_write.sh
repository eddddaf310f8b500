# shellcheck shell=bash disable=SC2154,SC2034
# Kept content and metadata: every call that changes a file or a name, on a read-only, a protected and a
# denied path.

contents="write_open write_append write_creat write_open_trunc write_reopened_path_fd write_reopened_read_fd
        write_mmap write_truncate write_ftruncate write_fallocate"
metadata="chmod chmod_fd chmod_at chmod_at2 chmod_at2_empty chmod_magic_link
        chown chown_link chown_fd chown_at chown_at_empty
        time_utime time_utimes time_futimesat time_utimensat time_futimens time_utimensat_empty
        flags_ioctl flags_fssetxattr flags_setversion flags_file_setattr"
attributes="xattr_set xattr_set_link xattr_set_fd xattr_set_at xattr_set_acl
        xattr_remove xattr_remove_link xattr_remove_fd xattr_remove_at"
[[ $HAS_ATTRIBUTES == yes ]] || attributes=

change_file() { # WHAT CONTROL FILE
        local call control
        for call in $contents $metadata $attributes; do
                control=$2
                # Without mounts the filter refuses these everywhere.
                [[ $PASS != bare || $call != flags_* ]] || control=outside
                try "$1_file_is_not_changed_by_$call" "$control" tree "$call" "$3"
        done
        try "$1_file_is_not_changed_by_write_openat2" outside tree write_openat2 "$3"
        try "$1_file_is_not_changed_by_copy_file_range" "$2" tree write_copy_file_range "$3" "$WS/ok.txt"
        try "$1_file_is_not_written_through_a_hard_link" outside tree link_then_write "$3" "$WS/way"
        try "$1_file_is_not_chmodded_through_a_hard_link" outside tree link_then_chmod "$3" "$WS/way"
        try "$1_file_is_not_unlinked" "$2" tree tree_unlink "$3"
        try "$1_file_is_not_unlinked_by_unlinkat" "$2" tree tree_unlinkat "$3"
        try "$1_file_is_not_renamed" outside tree tree_rename "$3" "$WS/way"
        try "$1_file_is_not_renamed_by_renameat2" outside tree tree_renameat2 "$3" "$WS/way"
        try "$1_file_is_not_exchanged" outside tree tree_exchange "$3" "$WS/ok.txt"
        try "$1_file_is_not_replaced" outside tree tree_replace "$3" "$WS/way"
        try "$1_file_is_not_replaced_by_a_symlink" "$2" tree tree_replace_by_symlink "$3" "$WS/ok.txt"
}

change_directory() { # WHAT CONTROL DIRECTORY
        local call
        for call in create mkdir symlink mknod_fifo mknod_regular tmpfile; do
                try "$1_directory_takes_no_new_name_by_$call" "$2" tree "tree_$call" "$3"
        done
        for call in chmod chown time_utimensat; do
                try "$1_directory_is_not_changed_by_$call" "$2" tree "$call" "$3"
        done
        try "$1_directory_takes_no_link" outside tree tree_link "$WS/ok.txt" "$3/new"
        try "$1_directory_takes_no_renamed_file" outside tree tree_rename "$WS/ok.txt" "$3/new"
        try "$1_directory_is_not_renamed" outside tree tree_rename "$3" "$WS/way"
        try "$1_directory_is_not_exchanged" outside tree tree_exchange "$3" "$WS/spare"
        try "$1_directory_is_not_rebuilt" outside tree tree_rebuild "$3" "$WS/way" "$3" "$3/file"
        try "$1_directory_is_not_made_writable_by_remount" on_a_read_only_mount tree tree_remount_writable \
                "$3"
        try "$1_directory_is_not_made_writable_by_mount_setattr" on_a_read_only_mount tree \
                tree_setattr_writable "$3"
}

change_file read_only without_the_rule "$OUT/ro.txt"
change_file protected without_the_rule "$WS/protected.txt"
change_file git_config outside "$WS/.git/config"
change_file denied without_the_rule "$WS/deny.txt"
change_directory read_only without_the_rule "$OUT/dir"
change_directory protected without_the_rule "$WS/protect"
change_directory git_hooks outside "$WS/.git/hooks"
change_directory denied without_the_rule "$WS/deny"

try read_only_directory_is_not_removed without_the_rule tree tree_rmdir "$OUT/dir/empty"
try protected_directory_is_not_removed without_the_rule tree tree_rmdir "$WS/protect/empty"
SANDBOX+=(--net unix-only)
try read_only_directory_takes_no_socket outside tree tree_bind_socket "$OUT/dir"
try protected_directory_takes_no_socket outside tree tree_bind_socket "$WS/protect"
default_policy

# The ancestors of a kept path: moved away, and built again under the same name.
try git_directory_is_not_moved_away_and_rebuilt outside tree \
        tree_rebuild "$WS/.git" "$WS/way" "$WS/.git/hooks" "$WS/.git/hooks/pre-commit"
try git_directory_is_not_replaced_by_a_symlink outside tree tree_relink "$WS/.git" "$WS/way" "$WS/spare"
try git_directory_is_not_exchanged outside tree tree_exchange "$WS/.git" "$WS/spare"
try parent_of_a_protected_path_is_not_moved_away_and_rebuilt outside tree \
        tree_rebuild "$WS/a/b" "$WS/way" "$WS/a/b/protect" "$WS/a/b/protect/file"
try grandparent_of_a_protected_path_is_not_replaced_by_a_symlink outside tree tree_relink "$WS/a" "$WS/way" \
        "$WS/spare"
try grandparent_of_a_protected_path_is_not_exchanged outside tree tree_exchange "$WS/a" "$WS/spare"
try workspace_is_not_moved_away outside tree tree_rename "$WS" "$TREE/moved"
try git_hook_is_not_planted_through_a_symlink outside tree \
        tree_write_through_symlink "$WS/way" "$WS/.git/hooks/post-checkout"

# The way out of the workspace.
try parent_of_the_workspace_takes_no_new_name outside none tree_create "$WS/.."
try file_outside_is_not_written_through_dots without_the_rule tree write_open "$WS/../out/ro.txt"
try file_outside_is_not_written_through_a_symlink_of_ours without_the_rule tree \
        tree_write_through_symlink "$WS/way" "$OUT/ro.txt"
try file_outside_is_not_created_through_a_symlink_of_ours without_the_rule tree \
        tree_write_through_symlink "$WS/way" "$OUT/dir/new"
control=without_the_rule
[[ $PASS != bare ]] || control=outside # the broker follows no magic link
try file_outside_is_not_written_through_proc_self_root "$control" tree write_open \
        "/proc/self/root$OUT/ro.txt"
try file_in_the_home_directory_is_not_written outside tree tree_create "$HOME"
SANDBOX=(--preset dev --workspace "$TREE/linked-ws")
try link_to_a_symlinked_workspace_is_not_replaced outside tree tree_replace_by_symlink "$TREE/linked-ws" out
try file_outside_a_symlinked_workspace_is_not_written outside tree write_open "$TREE/linked-ws/../out/ro.txt"
default_policy

# A mount of the host below a read-only tree must be read-only as well.
WRAP=("$OUTSIDE" mount "$OUT/dir/empty" --)
try mount_below_a_read_only_tree_is_read_only outside none write_open "$OUT/dir/empty/file"
try mount_below_a_read_only_tree_takes_no_new_name outside none tree_create "$OUT/dir/empty"
default_policy

# A core file lands where the process stood; only a relative pattern without a pipe makes one here.
if [[ $(ulimit -Hc) == unlimited && $(</proc/sys/kernel/core_pattern) != [/\|]* ]]; then
        try crash_leaves_no_core_file_outside outside tree tree_dump_core "$OUT/dir"
        try crash_leaves_no_core_file_in_a_protected_directory outside tree tree_dump_core "$WS/protect"
fi

# What protects a tree wins over what grants a part of it. No repository is near, for whose sake a broker would be asked.
SANDBOX=(--preset dev --workspace "$OUT/dir" --protect "$OUT" --write "$OUT/ro.txt")
try writable_file_in_a_protected_tree_is_not_written without_the_rule tree write_open "$OUT/ro.txt"
try writable_file_in_a_protected_tree_is_not_chmodded without_the_rule tree chmod "$OUT/ro.txt"
try workspace_in_a_protected_tree_takes_no_new_name without_the_rule tree tree_create "$OUT/dir"
SANDBOX=(--preset dev --workspace "$TREE/real" --deny "$OUT" --write "$OUT/ro.txt")
try writable_file_in_a_denied_tree_is_not_written without_the_rule tree write_open "$OUT/ro.txt"
default_policy

# A file that lends its owner's rights to whoever runs it, left in the workspace. Dangerous when the owner is
# root.
for call in chmod fchmod fchmodat fchmodat2 fchmod_high_bits; do
        try "no_set_uid_file_is_left_by_$call" outside setuid "setuid_$call" "$WS/ok.txt" 4755
        try "no_set_gid_file_is_left_by_$call" outside setuid "setuid_$call" "$WS/ok.txt" 2755
done
old_calls=
[[ $(uname -m) == x86_64 ]] && old_calls="old_open old_mknod"
for call in open openat2 creat mknod tmpfile $old_calls; do
        try "no_set_uid_file_is_created_by_$call" outside setuid "setuid_$call" "$WS/new" 4755
        try "no_set_gid_file_is_created_by_$call" outside setuid "setuid_$call" "$WS/new" 2755
done
if [[ $PASS == root ]]; then
        try no_file_capability_is_left outside none setuid_capability "$WS/ok.txt"
        for device in null zero full random urandom tty; do
                try "mode_of_a_device_is_not_set_$device" outside none device_chmod "/dev/$device"
        done
        # It is /dev/null, whose mode it would get anyway.
        try mode_of_a_device_given_as_stdin_is_not_set outside none terminal_chmod
fi
[[ $PASS == root ]] && try no_device_is_made_in_the_workspace outside device tree_mknod_device "$WS"
