# shellcheck shell=bash disable=SC2154,SC2034
# Only listed commands start: the marker, which prints a secret as soon as its code runs, is not on the list.

MARKER=$PROGRAMS/marker LIBRARY=$PROGRAMS/marker.so
LOADER=$(grep -aoE '/(lib|lib64)/ld-[a-zA-Z0-9_.-]+' "$MARKER" | head -n 1)
# What the attempts need besides themselves: programs that start others, and copies of the marker to play with.
HELPERS=(/bin/sh /bin/true)
for helper in /usr/bin/env /usr/bin/find /usr/bin/xargs /usr/bin/perl /usr/bin/setsid; do
        [[ -x $helper ]] && HELPERS+=("$helper")
done
for file in "$PASS_DIR"/template/{ws,out}/unlisted "$PASS_DIR/template/ws/bin/listed"; do
        mkdir -p "${file%/*}"
        cp "$MARKER" "$file"
done
cp /bin/true "$PASS_DIR/template/ws/bin/listed"
cp "$LIBRARY" "$PASS_DIR/template/out/library.so"
printf '#!/bin/sh\necho TOP-SECRET\n' >"$PASS_DIR/template/ws/script"
printf '#!%s\n' "$MARKER" >"$PASS_DIR/template/ws/foreign-script"
chmod 755 "$PASS_DIR"/template/ws/{script,foreign-script}

list_commands() {
        WITHOUT=(--preset dev --workspace "$WS")
        SANDBOX=("${WITHOUT[@]}" --command "$ATTACK")
        for helper in "${HELPERS[@]}"; do SANDBOX+=(--command "$helper"); done
}
list_commands
# Bubblewrap has no word for it, and refuses the policy.
if is_bwrap; then
        attempt_inside start_path "$WS/unlisted"
        if was_refused_by_name $?; then
                ok "list_of_commands_is_refused_as_$PASS"
        else
                not_ok "list_of_commands_is_refused_as_$PASS" "$(output_line)"
        fi
        return
fi

# Without this every refusal below could have another cause.
starts() { # NAME COMMAND...
        local name=$1_as_$PASS
        shift
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        fresh_tree
        if attempt_inside "$@"; then
                ok "$name"
        else
                not_ok "$name" "$(output_line)"
        fi
}
starts listed_program_starts start_path /bin/true
starts listed_program_starts_through_a_link start_symbolic_link /bin/true "$WS/way"
starts listed_program_starts_from_its_descriptor start_opened /bin/true
starts listed_program_starts_from_a_shell start_through /bin/sh -c '/bin/true && true'
starts listed_program_starts_itself_again start_through /proc/self/exe start_path /bin/true
starts shared_library_is_mapped start_mapped "$(readlink -f "$LOADER")"

# ---- by other ways to the same file --------------------------------------------------------------------------

for call in path opened opened_by_path; do
        try "unlisted_program_does_not_start_by_$call" without_the_rule leak "start_$call" "$MARKER"
        try "unlisted_program_of_the_workspace_does_not_start_by_$call" without_the_rule leak "start_$call" \
                "$WS/unlisted"
        try "unlisted_program_of_a_read_only_tree_does_not_start_by_$call" without_the_rule leak "start_$call" \
                "$OUT/unlisted"
done
try unlisted_program_does_not_start_through_the_root_of_a_process without_the_rule leak start_path \
        "/proc/self/root$MARKER"
try unlisted_program_does_not_start_through_the_cwd_of_a_process without_the_rule leak start_path \
        /proc/self/cwd/unlisted
try unlisted_program_does_not_start_through_a_symbolic_link without_the_rule leak start_symbolic_link "$MARKER" \
        "$WS/way"
try unlisted_program_does_not_start_through_a_hard_link without_the_rule leak start_hard_link "$WS/unlisted" \
        "$WS/way"
try unlisted_program_does_not_start_under_another_name without_the_rule leak start_renamed "$WS/unlisted" \
        "$WS/true"
try unlisted_script_does_not_start without_the_rule leak start_path "$WS/script"
try unlisted_script_does_not_start_its_interpreter without_the_rule leak start_path "$WS/foreign-script"
CONTROL_ARGUMENTS=("$ATTACK" --list)
try program_of_init_does_not_start without_the_rule none start_through /proc/1/exe --version
CONTROL_ARGUMENTS=()

# ---- copies -----------------------------------------------------------------------------------------------

places=("$WS/copy" /tmp/copy /dev/shm/copy)
[[ $PASS != bare ]] || places=("$WS/copy") # the others are closed there, list or not
for place in "${places[@]}"; do
        where=${place%/copy}
        try "copy_does_not_start_in_$(basename "$where")" without_the_rule leak start_copy "$MARKER" "$place"
        try "copy_is_not_mapped_in_$(basename "$where")" without_the_rule none start_mapped_copy "$LIBRARY" "$place"
        try "copy_of_a_library_is_not_loaded_from_$(basename "$where")" without_the_rule leak start_preloaded_copy \
                "$LIBRARY" "$place" /bin/true
        try "copy_of_the_loader_does_not_start_in_$(basename "$where")" without_the_rule leak start_through /bin/sh -c \
                'cat "$0" >"$1" && chmod 755 "$1" && exec "$1" "$2"' "$LOADER" "$place" "$MARKER"
done
try unnamed_copy_does_not_start without_the_rule leak start_unnamed_copy "$MARKER" "$WS"
[[ $PASS == bare ]] ||
        try unnamed_copy_does_not_start_in_tmp without_the_rule leak start_unnamed_copy "$MARKER" /tmp
for call in copy mapped_copy unnamed_copy; do
        file=$MARKER effect=leak place='$TMPDIR/copy'
        [[ $call != mapped_copy ]] || file=$LIBRARY effect=none
        [[ $call != unnamed_copy ]] || place='$TMPDIR'
        try "${call}_is_no_code_in_the_directory_that_TMPDIR_names" without_the_rule "$effect" start_through /bin/sh -c \
                "TMPDIR=\${TMPDIR:-/tmp}; exec \"\$0\" start_$call \"\$1\" \"$place\"" "$ATTACK" "$file"
done
try file_in_memory_does_not_start without_the_rule leak start_memory_file "$MARKER"
try file_in_memory_does_not_start_by_path without_the_rule leak start_memory_file_by_path "$MARKER"
# The way to it needs a capability, which nobody inside has: list or not.
[[ $PASS == root ]] && try shared_memory_does_not_start outside leak start_shared_memory "$MARKER"
try file_of_a_read_only_tree_is_not_mapped without_the_rule none start_mapped "$OUT/library.so"
try file_of_a_read_only_tree_does_not_become_code without_the_rule none start_protected_later "$OUT/library.so"
try library_of_a_read_only_tree_is_not_loaded without_the_rule leak start_preloaded "$OUT/library.so" /bin/true

# Nothing in it is mapped as code: the loader makes code of it afterwards.
try disguised_library_is_not_loaded without_the_rule leak start_preloaded "$PROGRAMS/disguised.so" /bin/true
try copy_of_a_disguised_library_is_not_loaded without_the_rule leak start_preloaded_copy "$PROGRAMS/disguised.so" \
        "$WS/copy" /bin/true

# ---- the loader, and others that start programs -------------------------------------------------------------

try loader_does_not_start_a_program without_the_rule leak start_through "$LOADER" "$MARKER"
try loader_does_not_start_a_program_by_its_real_path without_the_rule leak start_through "$(readlink -f "$LOADER")" \
        "$MARKER"
try loader_does_not_start_a_program_through_a_link without_the_rule leak start_through /bin/sh -c \
        'ln -s "$0" way && ./way "$1"' "$LOADER" "$MARKER"
try loader_does_not_start_by_its_descriptor without_the_rule leak start_opened "$LOADER" "$MARKER"
# Library directories hold programs too; their files can be mapped, so only the loader itself stands in the way.
library_program=$(find /usr/lib/git-core/git /usr/lib/gcc/*/*/cc1 /usr/lib/klibc/bin/true -maxdepth 0 2>/dev/null |
        head -n 1)
if [[ -n $library_program ]]; then
        try program_of_a_library_directory_does_not_start without_the_rule none start_through "$library_program" --version
        try loader_does_not_start_a_program_of_a_library_directory without_the_rule none start_through "$LOADER" \
                "$library_program" --version
fi
try shell_does_not_start_a_program without_the_rule leak start_through /bin/sh -c "$MARKER"
try shell_does_not_exec_a_program without_the_rule leak start_through /bin/sh -c "exec $MARKER"
try shell_does_not_find_a_program without_the_rule leak start_through /bin/sh -c "PATH=$PROGRAMS; marker"
for helper in "${HELPERS[@]:2}"; do
        name=${helper##*/}_does_not_start_a_program
        case $helper in
        */env | */setsid) try "$name" without_the_rule leak start_through "$helper" "$MARKER" ;;
        */find) try "$name" without_the_rule leak start_somehow "$helper" "$MARKER" -exec '{}' ';' ;;
        */xargs) try "$name" without_the_rule leak start_through /bin/sh -c "echo $MARKER | xargs -n 1 env" ;;
        */perl) try "$name" without_the_rule leak start_through "$helper" -e 'exec @ARGV or exit 1' "$MARKER" ;;
        esac
done
if [[ -x /usr/bin/busybox || -x /bin/busybox ]]; then
        list_commands
        SANDBOX+=(--command busybox)
        try busybox_does_not_start_a_program without_the_rule leak start_through busybox sh -c "$MARKER"
        try busybox_env_does_not_start_a_program without_the_rule leak start_through busybox env "$MARKER"
fi

# ---- listed files that could become others ------------------------------------------------------------------

# The listed file lies in the workspace, and has two names there.
ln "$PASS_DIR/template/ws/bin/listed" "$PASS_DIR/template/ws/second-name"
link_again() { ln -f "$WS/bin/listed" "$WS/second-name"; }
reset_listed() { fresh_tree && link_again; }
seen_listed() { seen_leak; }
list_commands
SANDBOX+=(--command "$WS/bin/listed")
# Without namespaces nothing keeps it from being changed, so that it is refused by name.
[[ $PASS == bare ]] || starts listed_program_of_the_workspace_starts start_path "$WS/bin/listed"
try listed_program_is_not_overwritten without_the_rule listed start_overwritten "$WS/bin/listed" "$WS/bin/listed" \
        "$MARKER"
try listed_program_is_not_overwritten_through_another_name without_the_rule listed start_overwritten \
        "$WS/bin/listed" "$WS/second-name" "$MARKER"
try listed_program_is_not_replaced without_the_rule listed start_replaced "$WS/bin/listed" "$MARKER" "$WS/way"
try listed_program_is_not_replaced_with_its_directory without_the_rule listed start_in_a_moved_directory \
        "$WS/bin/listed" "$MARKER" "$WS/old-bin"
rm "$PASS_DIR/template/ws/second-name"
save_marker() { # FILE
        cp "$MARKER" "$1.new" && mv -f "$1.new" "$1"
        sleep 0.1
}
[[ $PASS == bare ]] ||
        replaced_meanwhile listed_program_replaced_outside_does_not_start leak start_when_told "$WS/bin/listed" \
                save_marker "$WS/bin/listed"
# A link that an earlier command planted where a listed name is looked up.
MAY_REFUSE=yes
mkdir -p "$PASS_DIR/template/ws/path"
ln -s "$MARKER" "$PASS_DIR/template/ws/path/innocent"
SANDBOX=(--preset dev --workspace "$WS" --env "PATH=$WS/path:/usr/bin:/bin" --command "$ATTACK" --command innocent)
try planted_link_does_not_list_a_program without_the_rule leak start_path "$MARKER"
cp "$MARKER" "$PASS_DIR/template/ws/path/planted"
SANDBOX=(--preset dev --workspace "$WS" --env "PATH=$WS/path:/usr/bin:/bin" --command "$ATTACK" --command planted)
try planted_program_is_not_listed_by_its_name without_the_rule leak start_path "$WS/path/planted"
rm -r "$PASS_DIR/template/ws/path"
MAY_REFUSE=no

# ---- other presets -------------------------------------------------------------------------------------------

list_commands
for preset in strict guard; do
        WITHOUT[1]=$preset SANDBOX[1]=$preset
        if [[ $preset == strict ]]; then
                WITHOUT+=(--exec "$PROGRAMS")
                SANDBOX+=(--exec "$ATTACK" --read "$PROGRAMS")
        fi
        try "unlisted_program_does_not_start_with_$preset" without_the_rule leak start_path "$WS/unlisted"
        try "copy_does_not_start_with_$preset" without_the_rule leak start_copy "$WS/unlisted" "$WS/copy"
        try "copy_does_not_start_in_tmp_with_$preset" without_the_rule leak start_copy "$WS/unlisted" \
                "/tmp/escape-copy.$PASS"
        try "copied_library_is_not_loaded_with_$preset" without_the_rule leak start_preloaded_copy "$LIBRARY" \
                "$WS/copy" /bin/true
        try "loader_does_not_start_a_program_with_$preset" without_the_rule leak start_through "$LOADER" "$WS/unlisted"
        rm -f "/tmp/escape-copy.$PASS"
done
default_policy
list_commands

# ---- what is known not to be held ------------------------------------------------------------------------------

try machine_code_is_not_run_from_memory without_the_rule none start_machine_code
# The attempts' standard output is a file, opened outside, where its mount is not noexec.
try file_given_as_stdout_is_not_mapped without_the_rule none start_mapped /proc/self/fd/1

rm -r "$PASS_DIR"/template/{ws/unlisted,out/unlisted,out/library.so,ws/bin,ws/script,ws/foreign-script}
default_policy
