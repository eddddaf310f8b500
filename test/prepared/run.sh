#!/bin/bash
# run.sh: prepared sandboxes: jobs that a keeper has begun ahead, as root and as an ordinary user, with a workspace in a home's place
# and one in /tmp, which each job has of its own; and where there are no namespaces.
#
# The program abatis-prepared runs every command as a job of such a sandbox: with it test/escape,
# test/broker, test/connect and much of test/cli must pass, too. Those of abatis-shared are commands of a shared session.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
readonly ORDINARY_UID=4343

T=$(mktemp -d /var/tmp/abatis-prepared.XXXXXX) || exit 1
S=$(mktemp -d /tmp/abatis-prepared.XXXXXX) || exit 1
trap 'chmod -R u+rwx "$T" "$S" 2>/dev/null; rm -rf "$T" "$S"' EXIT
chmod 755 "$T" "$S"
flags=()
grep -q -- '-fsanitize=' "$BUILD/build.ninja" && flags=("-fsanitize=address,undefined")
"${CC:-cc}" "${flags[@]}" -std=gnu11 -O1 -g -Wall -Wextra -Werror -I../../include -pthread -o "$T/prepared" prepared.c changes.c loopbacks.c rules.c shared.c guests.c host.c \
        "$BUILD/libabatis.a" -ljansson -lyaml || exit 1
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Werror -static -o "$T/enter" ../tree/enter.c || exit 1

sums() { # NAME COMMAND...: what it printed counts
        "${@:2}" >"$T/log" 2>&1
        grep -E '^(ok|not ok|skip) ' "$T/log" | sed "s/^\(ok\|not ok\|skip\) /&$1_/"
        grep -qE '^[0-9]+ passed, [0-9]+ failed' "$T/log" || echo "not ok $1_runs_to_its_end - $(tail -n 1 "$T/log")"
}
as_user() { # COMMAND...
        if ((EUID)); then "$@"; else setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups "$@"; fi
}
{
        for place in "$T" "$S"; do
                name=in$(tr / _ <<<"${place%/*}")
                mkdir -p "$place/ws-root" "$place/ws-user" "$T/$name-root" "$T/$name-user"
                ((EUID)) || chown "$ORDINARY_UID:$ORDINARY_UID" "$place/ws-user" "$T/$name-user"
                ((EUID)) || HOME=$T/$name-root sums "$name" "$T/prepared" "$place/ws-root" "$T/$name-root"
                HOME=$T/$name-user sums "$name" as_user "$T/prepared" "$place/ws-user" "$T/$name-user"
        done
        mkdir -p "$T/ws-bare" "$T/bare"
        ((EUID)) && id=$EUID || id=$ORDINARY_UID
        ((EUID)) || chown "$ORDINARY_UID:$ORDINARY_UID" "$T/ws-bare" "$T/bare"
        own_directories() { find /tmp -maxdepth 1 -name 'abatis-????????????????' -user "$id" | sort; }
        before=$(own_directories)
        HOME=$T/bare sums bare "$T/enter" "$id" none "$T/prepared" "$T/ws-bare" "$T/bare" bare
        # What another suite has, or is still about to remove, is not ours, and goes.
        left=$(own_directories | grep -vxF "${before:-none}")
        for ((i = 0; i < 300 && ${#left}; i++)); do
                sleep 0.1
                left=$(own_directories | grep -xF "$left")
        done
        if [ -z "$left" ]; then
                echo "ok bare_leaves_no_directory_of_a_job"
        else
                echo "not ok bare_leaves_no_directory_of_a_job - $left"
        fi
        ((EUID)) && passes="user bare" || passes="root user bare"
        # The sanitizers have seen both in other builds.
        if [ ${#flags[@]} -eq 0 ]; then
                PASSES=$passes ABATIS=$BUILD/abatis-prepared sums escape ../escape/run.sh
                PASSES=user ABATIS=$BUILD/abatis-shared sums shared_escape ../escape/run.sh
                MODES="user none" ABATIS=$BUILD/abatis-prepared sums broker ../broker/run.sh
                MODES=user ABATIS=$BUILD/abatis-prepared sums connect ../connect/run.sh
                # Those of test/cli that run commands.
                for script in work behaviour stdio result terminal presets commands limits leftovers; do
                        ABATIS=$BUILD/abatis-prepared sums "cli_$script" bash "../cli/$script.sh"
                done
        fi
} | tee "$T/report"
count() { grep -c "^$1 " "$T/report"; }
echo "$(count ok) passed, $(count 'not ok') failed, $(count skip) skipped"
! grep -q '^not ok ' "$T/report"
