# shellcheck shell=bash disable=SC2154,SC2034
# Denied content: each call that yields bytes, and each way round to the same inode.

# Sanity first: the sandbox itself runs the attack program, and an allowed file is read.
if attempt_without_the_rule read_open "$WS/deny.txt" && seen_leak; then
        ok "an_attempt_without_a_rule_against_it_works_inside_as_$PASS"
else
        not_ok "an_attempt_without_a_rule_against_it_works_inside_as_$PASS" "$(output_line)"
fi

for call in open openat reopened_path_fd after_chmod mmap sendfile splice; do
        try "denied_file_is_not_read_by_$call" without_the_rule leak "read_$call" "$WS/deny.txt"
        try "file_in_a_denied_directory_is_not_read_by_$call" without_the_rule leak "read_$call" \
                "$WS/deny/secret"
done
for call in openat2 openat2_in_root; do # the filter knows none of them at all
        try "denied_file_is_not_read_by_$call" outside leak "read_$call" "$WS/deny.txt"
        try "file_in_a_denied_directory_is_not_read_by_$call" outside leak "read_$call" "$WS/deny/secret"
done
for call in open reopened_path_fd; do
        try "denied_file_outside_the_workspace_is_not_read_by_$call" without_the_rule leak "read_$call" \
                "$OUT/deny.txt"
        try "denied_directory_outside_the_workspace_is_not_read_by_$call" without_the_rule leak \
                "read_$call" "$OUT/deny/secret"
        try "denied_directory_two_levels_down_is_not_read_by_$call" without_the_rule leak "read_$call" \
                "$WS/a/b/deny/secret"
done
try denied_file_is_not_copied_by_copy_file_range without_the_rule leak read_copy_file_range "$WS/deny.txt" \
        "$WS/copy"
try denied_program_is_not_executed without_the_rule leak read_execve "$WS/deny/program"
try denied_program_is_not_executed_by_descriptor without_the_rule leak read_execveat "$WS/deny/program"
try link_in_a_denied_directory_is_not_read without_the_rule leak read_readlink "$WS/deny/link"
try denied_directory_is_not_listed without_the_rule leak read_getdents "$WS/deny" secret
try denied_directory_two_levels_down_is_not_listed without_the_rule leak read_getdents "$WS/a/b/deny" secret
try file_in_a_denied_directory_has_no_status without_the_rule leak read_stat_below "$WS/deny/secret"
try file_in_a_denied_directory_outside_has_no_status without_the_rule leak read_stat_below "$OUT/deny/secret"
[[ $HAS_ATTRIBUTES == yes ]] &&
        try denied_file_shows_no_attributes without_the_rule leak read_xattr "$WS/deny.txt"

# The same inode by another name.
try denied_file_is_not_read_through_proc_self_root without_the_rule leak read_open \
        "/proc/self/root$WS/deny.txt"
try denied_file_is_not_read_through_proc_thread_self without_the_rule leak read_open \
        "/proc/thread-self/root$WS/deny.txt"
try denied_file_is_not_read_through_proc_self_cwd without_the_rule leak read_open "/proc/self/cwd/deny.txt"
try denied_file_is_not_read_through_proc_self_cwd_and_up without_the_rule leak read_open \
        "/proc/self/cwd/../ws/deny.txt"
try denied_file_is_not_read_by_a_relative_name without_the_rule leak read_open "deny.txt"
try denied_file_is_not_read_through_dots without_the_rule leak read_open "$WS/a/b/../../deny/../deny.txt"
try denied_file_is_not_read_through_the_root_of_the_parent outside leak read_parent_root "$WS/deny.txt"
CWD=$WS/a/b
try denied_directory_beside_the_working_directory_is_not_read without_the_rule leak read_open "deny/secret"
CWD=$WS/deny
try denied_working_directory_is_not_read without_the_rule leak read_open "secret"
try denied_working_directory_is_not_listed without_the_rule leak read_getdents . secret
CWD=$WS
try denied_file_is_not_read_through_a_symlink_of_ours without_the_rule leak read_symlink "$WS/deny.txt" \
        "$WS/way"
try denied_directory_is_not_read_through_a_symlink_of_ours without_the_rule leak read_open \
        "$WS/alias/../ws/deny/secret"
try denied_file_is_not_read_through_a_hard_link_of_ours without_the_rule leak read_hard_link "$WS/deny.txt" \
        "$WS/way"
try denied_file_outside_is_not_read_through_a_hard_link_of_ours outside leak read_hard_link "$OUT/deny.txt" \
        "$WS/way"
try denied_file_is_not_read_through_a_hard_link_by_descriptor without_the_rule leak read_hard_link_of_fd \
        "$WS/deny.txt" "$WS/way"
try denied_file_is_not_read_after_its_rename without_the_rule leak read_renamed "$WS/deny.txt" "$WS/way" \
        "$WS/way"
try denied_directory_is_not_read_after_its_rename without_the_rule leak read_renamed "$WS/deny" "$WS/way" \
        "$WS/way/secret"
try denied_directory_is_not_read_after_the_rename_of_its_parent without_the_rule leak \
        read_renamed "$WS/a/b" "$WS/way" "$WS/way/deny/secret"
try denied_directory_is_not_read_after_the_rename_of_its_grandparent without_the_rule leak \
        read_renamed "$WS/a" "$WS/way" "$WS/way/b/deny/secret"
try denied_directory_is_not_read_after_an_exchange without_the_rule leak read_exchanged "$WS/deny" \
        "$WS/spare" "$WS/spare/secret"
try denied_directory_is_not_read_after_an_exchange_of_its_parent without_the_rule leak \
        read_exchanged "$WS/a/b" "$WS/spare" "$WS/spare/deny/secret"
try denied_file_is_not_read_after_an_exchange without_the_rule leak read_exchanged "$WS/deny.txt" \
        "$WS/ok.txt" "$WS/ok.txt"

# Mounts, namespaces, handles: what would lift or pass round the mask.
try mask_of_a_denied_file_is_not_unmounted in_namespaces leak read_unmounted "$WS/deny.txt"
try mask_is_not_unmounted_in_a_user_namespace outside leak read_in_user_namespace "$WS/deny.txt"
try mask_is_not_left_behind_by_a_bind in_namespaces leak read_bound "$WS" "$WS/spare" "$WS/spare/deny.txt"
try mask_is_not_left_behind_by_open_tree in_namespaces leak read_cloned_tree "$WS" deny.txt
try denied_file_is_not_read_after_chroot in_namespaces leak read_chrooted "$WS" /deny.txt
if [[ $PASS == root ]]; then # only the machine's own root may open by handle
        try denied_file_is_not_read_by_its_handle outside leak read_handle "$WS/deny.txt"
        read -r type bytes < <("$OUTSIDE" handle "$PASS_DIR/fixture/private/secret")
        SANDBOX+=(--deny "$PASS_DIR/fixture/private")
        try denied_file_is_not_read_by_a_handle_made_outside outside leak read_given_handle "$WS" "$type" \
                "$bytes"
        default_policy
fi
try denied_file_is_not_read_by_io_uring outside leak read_io_uring "$WS/deny.txt"
CONTROL_ARGUMENTS=("$$" "$WS/deny.txt")
[[ $PASS == root ]] && try mount_namespace_of_init_is_not_entered outside leak read_in_namespace_of 1 \
        "$WS/deny.txt"
CONTROL_ARGUMENTS=()

# Races: a thread swaps a link while another opens it.
try denied_file_is_not_read_in_a_race_of_symlinks without_the_rule leak read_race "$WS/deny.txt" \
        "$WS/ok.txt" "$WS/racer" 5000
try read_only_file_is_not_written_in_a_race_of_symlinks without_the_rule tree write_race "$OUT/ro.txt" \
        "$WS/ok.txt" "$WS/racer" 5000

# What denies a tree wins over what grants a part of it.
SANDBOX=(--preset dev --workspace "$WS" --deny "$TREE/real" --write "$TREE/real/secret")
try writable_file_in_a_denied_tree_is_not_read without_the_rule leak read_open "$TREE/real/secret"
SANDBOX=(--preset dev --workspace "$WS" --deny "$TREE/real/secret" --write "$TREE/real/secret")
try denied_file_is_not_read_though_it_is_writable without_the_rule leak read_open "$TREE/real/secret"

# A rule names a symlink: what it leads to is what counts. A link that the command could replace may be
# refused by name.
SANDBOX=(--preset dev --workspace "$WS" --deny "$TREE/linked-real")
try target_of_a_denied_symlink_outside_is_not_read without_the_rule leak read_open "$TREE/real/secret"
try denied_symlink_outside_is_not_followed without_the_rule leak read_open "$TREE/linked-real/secret"
MAY_REFUSE=yes
SANDBOX=(--preset dev --workspace "$WS" --deny "$WS/alias")
try target_of_a_denied_symlink_is_not_read without_the_rule leak read_open "$TREE/real/secret"
try denied_symlink_is_not_followed without_the_rule leak read_open "$WS/alias/secret"
MAY_REFUSE=no
SANDBOX=(--preset dev --workspace "$TREE/linked-ws" --deny "$TREE/linked-ws/deny.txt" --deny
        "$TREE/linked-ws/a/b/deny")
try denied_file_below_a_symlinked_workspace_is_not_read_by_its_real_name without_the_rule leak read_open \
        "$WS/deny.txt"
try denied_file_below_a_symlinked_workspace_is_not_read without_the_rule leak read_open \
        "$TREE/linked-ws/deny.txt"
try parent_of_a_denied_path_below_a_symlinked_workspace_is_not_renamed without_the_rule leak \
        read_renamed "$WS/a" "$WS/way" "$WS/way/b/deny/secret"
default_policy

# Descriptors that the launcher left open still show its own mounts.
WRAP=("$OUTSIDE" fd 7 / --)
try inherited_root_directory_is_closed outside leak read_from_inherited_directory 7 "${WS#/}/deny.txt"
WRAP=("$OUTSIDE" fd 7 / --)
try inherited_root_directory_does_not_write outside tree inherited_directory_write 7 "${OUT#/}/ro.txt"
WRAP=("$OUTSIDE" fd 9 "$OUT/deny.txt" --)
try inherited_secret_file_is_closed outside leak read_inherited_file 9
WRAP=("$OUTSIDE" fd 900 / --)
try inherited_directory_with_a_high_number_is_closed outside leak read_from_inherited_directory 900 \
        "${WS#/}/deny.txt"
WRAP=("$OUTSIDE" fd 7 / 8 / 9 "$OUT/ro.txt" 200 / --)
try no_descriptor_beside_the_standard_streams_comes_along outside none descriptor_any
MAY_REFUSE=yes
for number in 0 2; do
        WRAP=("$OUTSIDE" fd "$number" / --)
        try "directory_as_stream_${number}_does_not_read_denied_files" outside leak \
                read_from_inherited_directory "$number" "${WS#/}/deny.txt"
done
WRAP=("$OUTSIDE" fd 0 / --)
try directory_as_standard_input_does_not_write_read_only_files outside tree inherited_directory_write 0 \
        "${OUT#/}/ro.txt"
try directory_as_standard_input_does_not_write_protected_files outside tree inherited_directory_write 0 \
        "${WS#/}/protect/file"
try directory_as_standard_input_does_not_chmod_read_only_files outside tree inherited_directory_chmod 0 \
        "${OUT#/}/ro.txt"
MAY_REFUSE=no
for kept in "$OUT/ro.txt" "$WS/protect/file" "$WS/.git/config"; do
        case $kept in
        "$OUT"/*) what=read_only ;;
        */.git/*) what=git_config ;;
        *) what=protected ;;
        esac
        WRAP=("$OUTSIDE" fd 0 "$kept" --)
        for call in chmod utime xattr reopen; do
                try "${what}_file_as_standard_input_is_not_changed_by_$call" outside tree "inherited_$call" 0
        done
done
default_policy
