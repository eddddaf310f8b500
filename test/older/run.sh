#!/bin/bash
# run.sh: what newer versions of Landlock do, the broker does on kernels that have older ones.
#
#   test/older/run.sh [NAME-PATTERN]
#
# The programs abatis-abi2 and abatis-abi4 take this kernel's Landlock for such a one (Debian 12's, Ubuntu 24.04's) and use
# nothing that is newer. Signals and abstract sockets: before ABI 6. Files that are cut off: before ABI 3. What is tried inside
# is also tried outside, where it must succeed. The bare pass of test/escape runs with each of them, too.
set -u
cd "$(dirname "$0")" || exit 1
BUILD=${BUILD:-$PWD/../../build}
PATTERN=${1:-*}
readonly ORDINARY_UID=4343

T=$(mktemp -d /var/tmp/abatis-older.XXXXXX) || exit 1
others=()
stop_others() {
        local other
        for other in "${others[@]}"; do
                kill -9 "$other" 2>/dev/null
                wait "$other" 2>/dev/null
        done
        others=()
}
trap 'stop_others; chmod -R u+rwx "$T" 2>/dev/null; rm -rf "$T"' EXIT
chmod 755 "$T"
mkdir "$T/bin"
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Werror -static -o "$T/bin/enter" ../tree/enter.c &&
        cp signals.py files.py abstract.py "$T/bin/" || exit 1

# shellcheck source-path=SCRIPTDIR source=../sums.sh
. ../sums.sh
# shellcheck source-path=SCRIPTDIR source=../world.sh
. ../world.sh

fresh() {
        stop_others
        chmod -R u+rwx "$T/world" 2>/dev/null
        rm -rf "$T/world"
        mkdir -p "$T"/world/{ws,home/.ssh,out}
        (cd "$T/world/ws" && git init -q .)
        echo original >"$T/world/out/file"
        echo original >"$T/world/ws/file"
        echo original >"$T/world/ws/.git/config"
        echo original >"$T/world/home/.ssh/id"
        ((EUID)) || chown -Rh "$ID:$ID" "$T/world"
}
# Somebody of the same user, outside any sandbox: into OTHER.
start_other() { # COMMAND...
        : >"$T/said"
        setsid "$T/bin/enter" "$ID" user /usr/bin/env "$@" >"$T/said" 2>&1 </dev/null &
        OTHER=$!
        others+=("$OTHER")
        for ((i = 0; i < 300; i++)); do
                [[ $(<"$T/said") == ready* ]] && break
                sleep 0.01
        done
        # A group of its own, if there is one already: then setsid has made a child.
        OTHER=$(pgrep -P "$OTHER" || echo "$OTHER")
}
is_alive() { [[ $(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null) == [SRD] ]]; }

test_signals() {
        local way name
        for way in kill kill_with_high_bits group tkill tgkill queue thread_queue pidfd directory; do
                name=signal_by_${way}_reaches_nobody_outside$AS
                wants "$name" || continue
                fresh
                start_other sh -c 'echo ready; exec sleep 100'
                inside -- python3 -B "$T/bin/signals.py" at "$way" "$OTHER" "$(ps -o pgid= "$OTHER")"
                sleep 0.05
                if [[ $TEXT == sent ]] || ! is_alive "$OTHER"; then
                        not_ok "$name" "it was sent: $TEXT"
                        continue
                fi
                outside python3 -B "$T/bin/signals.py" at "$way" "$OTHER" "$(ps -o pgid= "$OTHER")"
                sleep 0.05
                [[ $TEXT == sent ]] && ! is_alive "$OTHER"
                check "$name" $? "the control failed: $TEXT"
        done
        name=init_is_not_sent_a_signal$AS
        if wants "$name"; then
                fresh
                # shellcheck disable=SC2016 # of the inner shell
                inside -- sh -c 'for s in TERM KILL STOP USR1; do kill -$s $PPID; done; for t in /proc/$PPID/task/*; do
                        python3 -B '"$T/bin/signals.py"' at tgkill $PPID 0; kill -9 ${t##*/}; done; echo alive'
                [[ $TEXT == *alive && $TEXT != *sent* ]]
                check "$name" $? "$TEXT"
        fi
        name=signals_among_its_own_are_as_without_a_sandbox$AS
        if wants "$name"; then
                fresh
                outside python3 -B "$T/bin/signals.py" own
                expected=$TEXT
                inside -- python3 -B "$T/bin/signals.py" own
                # The broker reaches a group one by one: a shell may tell of its child before it is its turn.
                TEXT=$(grep -vx Killed <<<"$TEXT")
                [[ $TEXT == "$expected" && $TEXT == *"a storm: 0 []"*"queued: 0 7"* ]]
                check "$name" $? "$(diff <(echo "$expected") <(echo "$TEXT") | tr '\n' ';')"
        fi
        name=everybody_is_everybody_inside$AS
        if wants "$name"; then
                fresh
                start_other sh -c 'echo ready; exec sleep 100'
                inside -- python3 -B "$T/bin/signals.py" everybody
                [[ $TEXT == "everybody: 0 -15 True" ]] && is_alive "$OTHER"
                check "$name" $? "$TEXT"
        fi
        name=shells_and_timeouts_work$AS
        if wants "$name"; then
                fresh
                # shellcheck disable=SC2016 # of the inner shell
                inside -- bash -c 'set -m; sleep 60 & kill -TERM -- -$!; wait $!; echo $?; timeout 0.1 sleep 60; echo $?
                        sleep 60 & kill %2 2>/dev/null || kill %1; wait; trap "echo caught" USR1; kill -USR1 $$; echo end'
                [[ $TEXT == *143*124*caught*end* ]]
                check "$name" $? "$TEXT"
        fi
}

test_truncation() {
        local way target name
        for way in truncate open open_or_make open_below open_to_write open_for_nothing make_for_nothing; do
                for target in out/file ws/.git/config home/.ssh/id; do
                        name=file_is_not_cut_off_by_${way}_of_${target//[\/.]/_}$AS
                        wants "$name" || continue
                        fresh
                        inside -- python3 -B "$T/bin/files.py" "$way" "$T/world/$target"
                        if [[ $TEXT == "done" || $(<"$T/world/$target") != original ]]; then
                                not_ok "$name" "it was: $TEXT"
                                continue
                        fi
                        outside python3 -B "$T/bin/files.py" "$way" "$T/world/$target"
                        [[ $TEXT == "done" && ! -s $T/world/$target ]]
                        check "$name" $? "the control failed: $TEXT"
                done
                name=file_of_the_workspace_is_cut_off_by_$way$AS
                [[ $way != *_for_nothing ]] && wants "$name" || continue
                fresh
                inside -- python3 -B "$T/bin/files.py" "$way" "$T/world/ws/file"
                [[ $TEXT == "done" && ! -s $T/world/ws/file ]]
                check "$name" $? "$TEXT"
        done
}

test_abstract() {
        local net kind name
        for net in unix-only allow; do
                for kind in stream seqpacket dgram; do
                        name=abstract_${kind}_socket_is_not_reached_with_$net$AS
                        wants "$name" || continue
                        fresh
                        start_other python3 -B "$T/bin/abstract.py" serve "older-$$"
                        inside --net "$net" -- python3 -B "$T/bin/abstract.py" connect "older-$$" "$kind"
                        [[ $TEXT == EPERM ]]
                        check "$name" $? "$TEXT"
                done
                name=abstract_socket_is_reached_outside_and_one_with_a_path_inside_with_$net$AS
                wants "$name" || continue
                outside python3 -B "$T/bin/abstract.py" connect "older-$$" stream
                [[ $TEXT == reached ]]
                check "$name" $? "$TEXT"
                start_other python3 -B "$T/bin/abstract.py" serve "$T/world/out/socket"
                inside --net "$net" -- python3 -B "$T/bin/abstract.py" connect "$T/world/out/socket" stream
                [[ $TEXT == reached ]]
                check "$name"_too $? "$TEXT"
        done
        name=preset_for_servers_works$AS
        if wants "$name"; then
                fresh
                inside --preset mcp -- echo works
                [[ $TEXT == works ]]
                check "$name" $? "$TEXT"
        fi
}

run_all() { # ABI UID NAME
        ID=$2
        cp "$BUILD/abatis-abi$1" "$T/bin/abatis" && chmod 755 "$T/bin/abatis" || exit 1
        MODE=none AS=_with_abi_$1_as_$3_without_namespaces
        test_signals
        test_truncation
        test_abstract
        MODE=user AS=_with_abi_$1_as_$3
        test_abstract
}

for abi in 2 4; do
        if ((EUID)); then
                run_all "$abi" "$EUID" user
        else
                run_all "$abi" "$ORDINARY_UID" user
                run_all "$abi" 0 root
        fi
        if [[ $PATTERN == '*' ]]; then
                while IFS= read -r line; do
                        case $line in
                        "ok "*) ok "${line#ok }_with_abi_$abi" ;;
                        "not ok "*) not_ok "${line#not ok }" "with ABI $abi" ;;
                        "skip "*) skipped=$((skipped + 1)) && echo "$line" ;;
                        esac
                done < <(ABATIS=$BUILD/abatis-abi$abi PASSES=bare ../escape/run.sh)
        fi
done
stop_others
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
