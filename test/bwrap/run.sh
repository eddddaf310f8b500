#!/bin/bash
# run.sh: who enforces: the choice between backends, and bubblewrap as one of them.
#
#   test/bwrap/run.sh [NAME-PATTERN]
#
# As an ordinary user: for root bubblewrap is refused. With abatis-bwrap, whose sandboxes are bubblewrap's, test/escape must pass too: what bubblewrap
# cannot hold is refused by name there. Root runs it all but that for the bubblewraps of other Debian releases, too, which are mounted over the
# machine's own for it (SUFFIX).
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
PATTERN=${1:-*}
# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
((EUID)) && ID=$EUID || ID=4343

T=$(mktemp -d /var/tmp/abatis-bwrap.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin" "$T/fake"
cp "$BUILD/abatis" swap.py "$T/bin/"
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Werror -I../../include -o "$T/bin/embed" embed.c "$BUILD/libabatis.a" -ljansson -lyaml -pthread ||
        exit 1
chmod 755 "$T/bin" "$T/bin/"*
BWRAP=$(type -P bwrap) || {
        echo "skip bwrap - bubblewrap is not installed"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
}

as() { # COMMAND...: what it prints comes into TEXT
        local code become=()
        ((EUID == ID)) || become=(setpriv --reuid "$ID" --regid "$ID" --clear-groups)
        TEXT=$(cd "$W" && timeout -s KILL 60 "${become[@]}" env -i HOME="$W" PATH="${FIRST:+$FIRST:}${PATH_ALONE:-/usr/bin:/bin}" "$@" 2>&1 </dev/null)
        code=$?
        return "$code"
}
run() { as "$T/bin/abatis" run --no-audit "$@"; }
outcome() { # NAME TEST...: what TEXT has to say, after a command
        local name=$1
        shift
        wants "$name" || return 0
        if "$@"; then ok "$name${SUFFIX:-}"; else not_ok "$name${SUFFIX:-}" "${TEXT:0:300}"; fi
}
says() { [[ $TEXT == *"$1"* ]]; }
ends() { # CODE WORDS
        [[ $CODE == "$1" ]] && says "$2"
}
try() { # NAME CODE WORDS COMMAND...
        wants "$1" || return 0
        "${@:4}"
        CODE=$?
        outcome "$1" ends "$2" "$3"
}

# ---- the choice ----
choose() {
        try auto_is_native 0 '"backend":"native"' run --json -- true
        try the_empty_word_is_auto 0 '"backend":"native"' run --backend '' --json -- true
        try native_by_name 0 '"backend":"native"' run --backend native --json -- true
        try bwrap_by_name 0 '"backend":"bwrap"' run --backend bwrap --json -- true
        try none_enforces_nothing 0 '"backend":"none","enforced":[],' run --backend none --json -- true
        try none_warns 0 'warning: the backend is none: nothing is enforced' run --backend none -- true
        try none_runs_free 0 free run --backend none -- sh -c 'echo free >../free && cat ../free'
        try the_same_is_refused_otherwise 2 '' run -- sh -c 'echo free >../free'
        try none_is_still_limited 124 '' run --backend none --timeout 200ms -- sleep 30
        try another_word_lists_them 125 "unknown backend 'bwarp'; did you mean 'bwrap'? there are auto, native, bwrap, seatbelt, appcontainer and none" \
                run --backend bwarp -- true
        try another_system_s_is_refused 125 'the backend seatbelt is not available: it is for macOS' run --backend seatbelt -- true
        try best_effort_swaps_nothing 125 'the backend appcontainer is not available' run --backend appcontainer --best-effort -- true
        printf 'backend: bwrap\n' >"$W/policy.yaml"
        try a_file_says_which 0 '"backend":"bwrap"' run --policy policy.yaml --json -- true
        printf 'backend: magic\n' >"$W/policy.yaml"
        try a_file_says_a_wrong_one 125 "policy.yaml:1:10: backend: unknown backend 'magic'" run --policy policy.yaml -- true
        mkdir -p "$W/.git"
        printf 'backend: none\n' >"$W/.abatis.yaml"
        try a_project_chooses_none_of_them 125 'backend' run -- true
        rm -r "$W/.abatis.yaml" "$W/.git" "$W/policy.yaml"
        try the_doctor_lists_them 0 'yes native' as "$T/bin/abatis" doctor
        outcome the_doctor_knows_the_version says "yes bwrap                $("$BWRAP" --version | cut -d' ' -f2)"
        outcome the_doctor_knows_the_others says 'no  appcontainer         it is for Windows'
        try explain_shows_both_layers 0 'bwrap --ro-bind / / + Landlock' as "$T/bin/abatis" explain --backend bwrap
}

# ---- which bubblewrap ----
refused() { # NAME REASON
        FIRST=$T/fake
        try "$1" 125 "the backend bwrap is not available: $2" run --backend bwrap -- true
        try "$1_and_auto_does_without" 0 '"backend":"native"' run --json -- true
        FIRST=
}
script() { # LINE...: a bubblewrap that is one, and root's
        rm -rf "$T/fake"
        mkdir "$T/fake"
        printf '%s\n' '#!/bin/sh' "$@" >"$T/fake/bwrap"
        chmod 755 "$T/fake" "$T/fake/bwrap"
}
passed_over() { # NAME
        FIRST=$T/fake
        try "$1_is_passed_over" 0 '"backend":"bwrap"' run --backend bwrap --json -- true
        outcome "$1_never_ran" test ! -e "$T/w/planted"
        PATH_ALONE=$T/fake
        try "$1_is_refused_alone" 125 "$T/fake" run --backend bwrap -- true
        PATH_ALONE='' FIRST=
}
which_one() {
        if ((EUID)); then
                echo "skip which_bubblewrap - only root's is used, and this is not root"
                skipped=$((skipped + 1))
                return
        fi
        # Everything but bubblewrap.
        mkdir -p "$T/others"
        ln -sf /usr/bin/* "$T/others/"
        rm -f "$T/others/bwrap"
        script "exec $BWRAP \"\$@\""
        FIRST=$T/fake
        try a_wrapper_of_root_s_is_used 0 '"backend":"bwrap"' run --backend bwrap --json -- true
        FIRST=
        script "touch $T/w/planted" "exec $BWRAP \"\$@\""
        chown "$ID" "$T/fake/bwrap"
        passed_over one_of_the_users_own
        chown 0 "$T/fake/bwrap"
        chown "$ID" "$T/fake"
        passed_over one_in_a_directory_of_the_users_own
        chown 0 "$T/fake"
        chmod 775 "$T/fake/bwrap"
        passed_over one_that_a_group_can_change
        chmod 755 "$T/fake/bwrap"
        chmod 777 "$T/fake"
        passed_over one_whose_directory_others_can_change
        chmod 755 "$T/fake"
        cp "$BWRAP" "$T/fake/bwrap"
        chmod 4755 "$T/fake/bwrap"
        PATH_ALONE=$T/others
        refused one_that_is_setuid_root "$T/fake/bwrap is set-uid"
        rm "$T/fake/bwrap"
        refused none_is_there 'bwrap is not in PATH; fix: install bubblewrap'
        script "echo bubblewrap 0.3.1"
        refused too_old "$T/fake/bwrap is version 0.3.1; fix: 0.4 or newer"
        script "echo firejail 0.9"
        refused something_else "$T/fake/bwrap does not say its version"
        script "[ \"\$1\" = --version ] && exec $BWRAP --version" 'echo "bwrap: No permissions" >&2; exit 1'
        refused one_that_cannot "bubblewrap makes no sandbox: bwrap: No permissions"
        PATH_ALONE=
        # The second trial: without a network of its own only who needs that is refused.
        script "for word; do [ \"\$word\" != --unshare-net ] || { echo 'bwrap: no network' >&2; exit 1; }; done" "exec $BWRAP \"\$@\""
        FIRST=$T/fake
        try without_a_network_deny_is_refused 125 'network.mode deny cannot be enforced: bubblewrap makes no network: bwrap: no network' \
                run --backend bwrap -- true
        try without_a_network_unix_only_is_refused 125 'network.mode unix-only cannot be enforced: bubblewrap makes no network' \
                run --backend bwrap --net unix-only -- true
        try without_a_network_allow_is_held 0 '"backend":"bwrap"' run --backend bwrap --net allow --json -- true
        # What was tried is what is used, whatever PATH says by then; and no other in its place.
        script "exec $BWRAP \"\$@\""
        mkdir -p "$T/impostor"
        printf '#!/bin/sh\ntouch %s/w/planted\n' "$T" >"$T/impostor/bwrap"
        chmod -R 755 "$T/impostor"
        try a_changed_path_leads_nowhere_else 0 'ran by bwrap' as "$T/bin/embed" path "$T/impostor"
        wants a_replaced_one_is_refused && {
                (
                        await "$T/w/opened" && cp "$T/impostor/bwrap" "$T/fake/other" && mv "$T/fake/other" "$T/fake/bwrap" &&
                                touch "$T/w/replaced"
                ) &
                try a_replaced_one_is_refused 0 'refused: 8:' as "$T/bin/embed" replace "$T/w/opened" "$T/w/replaced"
                wait
        }
        outcome the_impostor_never_ran test ! -e "$T/w/planted"
        FIRST=
}
await() { # FILE
        local i
        for ((i = 0; i < 500; i++)); do
                [[ -e $1 ]] && return
                sleep 0.02
        done
        return 1
}

# ---- what it does ----
holds() {
        echo secret >"$W/denied"
        mkdir -p "$W/closed" "$W/kept"
        echo secret >"$W/closed/file"
        echo kept >"$W/kept/file"
        chown -R "$ID" "$W"
        local box=(run --backend bwrap --deny "$W/denied" --deny "$W/closed" --protect "$W/kept" --)
        try a_denied_file_has_no_content 1 'denied: Permission denied' "${box[@]}" cat denied
        try a_denied_file_has_mode_000 0 '----------' "${box[@]}" ls -l denied
        try a_denied_directory_has_mode_000 0 'd---------' "${box[@]}" ls -ld closed
        try a_denied_directory_is_not_listed 2 'Permission denied' "${box[@]}" ls closed
        try a_denied_file_is_not_given_a_mode 1 '' "${box[@]}" chmod 600 denied
        try a_protected_file_is_read 0 kept "${box[@]}" cat kept/file
        try a_protected_file_is_not_written 2 'Read-only file system' "${box[@]}" sh -c 'echo x >kept/file'
        try the_workspace_is_written 0 '' "${box[@]}" sh -c 'echo x >written'
        try the_world_is_not_written 2 'Read-only file system' "${box[@]}" sh -c 'echo x >../written'
        try no_descriptor_is_left 0 $'0\n1\n2' "${box[@]}" sh -c 'ls /proc/self/fd | head -n 3; test "$(ls /proc/self/fd | wc -l)" = 4'
        try exit_code 165 '' "${box[@]}" sh -c 'exit 165'
        try signal_of_the_command 0 '"exit_code":null,"signal":9' as sh -c "'$T/bin/abatis' run --backend bwrap --no-audit --json -- sh -c 'kill -9 \$\$'; exit 0"
        try no_program 127 "'/does/not/exist' does not exist" run --backend bwrap -- /does/not/exist
        try time_is_limited 124 '' "${box[@]::3}" --timeout 300ms -- sh -c 'setsid sleep 2718 & sleep 2718'
        outcome nobody_outlives_it nobody_is_left
        try files_are_limited 0 64 run --backend bwrap --open-files 64 -- sh -c 'ulimit -n'
        try memory_without_a_cgroup_is_refused 125 'limits.memory' run --backend bwrap --memory 64MiB -- true
        try a_pattern_is_refused 125 'cannot be enforced' run --backend bwrap --deny-glob '**/.env' -- true
        try a_list_of_hosts_is_refused 125 'cannot be enforced' run --backend bwrap --connect example.org:443 -- true
        try a_list_of_commands_is_refused 125 'cannot be enforced' run --backend bwrap --command sh -- sh -c true
        try an_absent_path_is_refused_by_name 125 "filesystem.deny $W/absent cannot be enforced" run --backend bwrap --deny "$W/absent" -- true
        outcome no_placeholder_is_left test ! -e "$W/absent"
        try auto_takes_native_for_it 0 '"backend":"native"' run --deny "$W/absent" --json -- true
        try strict_has_a_new_root 0 '"backend":"bwrap"' run --backend bwrap --preset strict --json -- sh -c 'test ! -e /home && ! touch /x'
        try files_are_locked 0 locked run --backend bwrap -- flock written -c 'echo locked'
        try directories_above_are_listed 0 hosts run --backend bwrap --deny /etc/hostname -- sh -c 'ls / && ls /etc'
        try best_effort_has_no_network_for_a_list 1 'refused' run --backend bwrap --best-effort --connect 127.0.0.1:9 -- \
                /usr/bin/python3 -c 'import socket
try: socket.create_connection(("127.0.0.1", 9), 2)
except OSError as error: exit("refused: %s" % error)'
        ((EUID)) || [[ -n ${SUFFIX:-} ]] || swaps
        try a_terminal 0 'said: over' run --backend bwrap --pty -- sh -c 'test -t 0 && test -t 1 && echo said: over >/dev/tty'
        try the_log_has_it 0 bwrap as sh -c "'$T/bin/abatis' run --backend bwrap --audit-log '$W/../log' -- true && cat '$W/../log'"
}
# Bubblewrap follows links: a directory that somebody makes one of, between the plan and the mount, must not bring another tree in.
swaps() {
        local i swapper reads=0 ends=''
        wants no_swapped_directory_is_let_in || return 0
        mkdir -p "$T/w/victim" "$W/a"
        echo TOP-SECRET >"$T/w/victim/secret"
        echo own >"$W/a/own"
        ln -s "$T/w/victim" "$W/b"
        chown -R -h "$ID" "$T/w"
        as cat b/secret && outcome what_is_swapped_in_can_be_read says TOP-SECRET
        setpriv --reuid "$ID" --regid "$ID" --clear-groups /usr/bin/python3 "$T/bin/swap.py" "$W/a" "$W/b" >"$T/begun" 2>&1 &
        swapper=$!
        for ((i = 0; i < 250; i++)); do
                run --backend bwrap --deny "$T/w/victim" --deny "$W/a/own" -- \
                        sh -c 'for i in 1 2 3 4 5 6 7 8 9; do cat a/secret && echo here >a/here; done 2>/dev/null'
                ends+=" $?"
                [[ $TEXT != *TOP-SECRET* ]] || reads=$((reads + 1))
        done
        kill "$swapper"
        wait "$swapper" 2>/dev/null
        TEXT="$reads times; it ended with$ends"
        outcome no_swapped_directory_is_let_in test "$reads" = 0 -a ! -e "$T/w/victim/here"
        outcome swapping_has_happened grep -q begun "$T/begun"
        rm -rf "$W/a" "$W/b"
}
nobody_is_left() {
        local i
        for ((i = 0; i < 100; i++)); do
                TEXT=$(pgrep -u "$ID" -af 'sleep 2718$') || return 0
                sleep 0.05
        done
        return 1
}

# ---- other versions ----
# One of another release, with its own C library, in a directory: prints its path.
other() { # RELEASE
        local tree library place=$T/$1
        tree=$(../../script/fetch.sh packages "$(dpkg --print-architecture)/$1" bubblewrap libc6 libcap2 libselinux1 libpcre2-8-0) || return 1
        mkdir "$place"
        for library in libc.so.6 libdl.so.2 libpthread.so.0 libcap.so.2 libselinux.so.1 libpcre2-8.so.0 'ld-linux-*.so.*'; do
                find "$tree/" -name "$library" -path '*/*-linux-gnu/*' -exec cp -L {} "$place/" \;
        done
        cp "$tree/usr/bin/bwrap" "$place/" &&
                patchelf --force-rpath --set-rpath "$place" --set-interpreter "$(echo "$place"/ld-linux-*)" "$place/bwrap" &&
                "$place/bwrap" --version >&2 && echo "$place/bwrap"
}
with_others() {
        local release path
        for release in bullseye trixie sid; do
                if ! path=$(other $release 2>"$T/said"); then
                        echo "skip bubblewrap_of_$release - $(tail -n 1 "$T/said")"
                        skipped=$((skipped + 1))
                        continue
                fi
                SUFFIX=_with_$(grep -o '[0-9.]*$' "$T/said") unshare --mount -- sh -c \
                        'mount --bind "$1" "$2" && shift 2 && exec "$@"' sh "$path" "$BWRAP" "$PWD/run.sh" >"$T/other" 2>&1
                add_sums "$T/other"
        done
}
add_sums() { # FILE: of another run
        local p f s
        grep -E '^(ok|not ok|skip) ' "$1"
        read -r p _ f _ s _ < <(grep -E '^[0-9]+ passed' "$1" || echo "0 passed, 1 failed, 0 skipped")
        passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

W=$T/w/ws
mkdir -p "$W"
chown "$ID" "$T/w" "$W"
FIRST="" PATH_ALONE=""
choose
which_one
holds
((EUID)) || ID=0 try root_has_another 125 'the backend bwrap is not available: root could give the device nodes' run --backend bwrap -- true
if [[ $PATTERN == '*' && -z ${SUFFIX:-} ]] && ! grep -q -- '-fsanitize=' "$BUILD/build.ninja"; then
        PASSES=user ABATIS=$BUILD/abatis-bwrap ../escape/run.sh >"$T/escape" 2>&1
        add_sums "$T/escape"
        ((EUID)) || with_others
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
