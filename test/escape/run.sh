#!/usr/bin/env bash
# Runs every escape attempt with its positive control: as an ordinary user, as one on a machine without user namespaces
# ("bare") and, if root starts it, as root too.
#
#   ABATIS=/path/to/abatis PASSES="root user bare" test/escape/run.sh [NAME-PATTERN]
#
# An attempt passes when three things hold: without the rule it works (the control), inside it is refused, and
# nothing outside shows its effect. The exit code of the attempt alone is never believed.
# shellcheck disable=SC2034 # the cases use them
set -u
shopt -s extglob

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly ORDINARY_UID=4343
ABATIS=${ABATIS:-$here/../../build/abatis}
((EUID)) && all="user bare" || all="root user bare"
PASSES=${PASSES:-$all}

build_programs() { # DIRECTORY
        local flags=(-std=gnu11 -O1 -Wall -Wextra -Wshadow -Wstrict-prototypes -static -pthread)
        "${CC:-cc}" "${flags[@]}" -o "$1/attack" "$here"/attack*.c &&
                "${CC:-cc}" -O1 -Wall -o "$1/loosen" "$here/loosen.c" &&
                "$1/loosen" "$1/attack" "$1/stack-attack" stack && "$1/loosen" "$1/attack" "$1/writable-attack" code &&
                chmod 755 "$1/stack-attack" "$1/writable-attack" &&
                "${CC:-cc}" "${flags[@]}" -o "$1/outside" "$here"/outside*.c &&
                "${CC:-cc}" -O1 -Wall -o "$1/enter" "$here/../tree/enter.c" &&
                "${CC:-cc}" -O1 -Wall -o "$1/marker" "$here/marker.c" &&
                "${CC:-cc}" -O1 -Wall -shared -fPIC -o "$1/marker.so" "$here/marker.c" &&
                "${CC:-cc}" -O1 -Wall -shared -fPIC -DHAS_TEXT_RELOCATION -Wl,-z,notext,-z,noseparate-code -o \
                        "$1/plain.so" "$here/marker.c" &&
                "${CC:-cc}" -O1 -Wall -o "$1/disguise" "$here/disguise.c" &&
                "$1/disguise" "$1/plain.so" "$1/disguised.so"
}

# A set-uid copy and one with a file capability: what an ordinary user could find on any machine.
prepare_privileged_programs() { # DIRECTORY
        cp "$1/attack" "$1/setuid-attack" && chmod 4755 "$1/setuid-attack" &&
                cp "$1/attack" "$1/capable-attack" && "$1/outside" capability "$1/capable-attack"
}

as_ordinary_user() {
        setpriv --reuid="$ORDINARY_UID" --regid="$ORDINARY_UID" --clear-groups "$@"
}

run_user() { # SUITE SCRATCH [NAME-PATTERN]
        if ((EUID)); then
                run_pass user "$2/user" "$2/bin" "${@:3}"
        else
                as_ordinary_user bash "$1/run.sh" --pass user "$2/user" "$2/bin" "${@:3}"
        fi
}

run_bare() { # SUITE SCRATCH [NAME-PATTERN]
        "$2/bin/enter" "$ORDINARY_UID" none /bin/bash "$1/run.sh" --pass bare "$2/bare" "$2/bin" "${@:3}"
}

# Side by side: the passes share nothing but the programs. But those of an ordinary user are one after the other.
run_passes() {
        local scratch suite=$here passed failed skipped pass
        scratch=$(mktemp -d /var/tmp/escape.XXXXXX) || exit 1
        # shellcheck disable=SC2064 # the directory of now
        trap "chmod -R u+rwx '$scratch' 2>/dev/null; rm -rf '$scratch'" EXIT
        chmod 755 "$scratch"
        mkdir "$scratch/bin" "$scratch/user" "$scratch/bare" "$scratch/root"
        build_programs "$scratch/bin" || exit 1
        if ((EUID == 0)); then
                prepare_privileged_programs "$scratch/bin" || exit 1
                # The checkout may lie where the ordinary user has no way in.
                if ! as_ordinary_user test -x "$ABATIS"; then
                        cp "$ABATIS" "$scratch/bin/"
                        ABATIS=$scratch/bin/${ABATIS##*/}
                fi
                suite=$scratch/suite
                mkdir "$suite"
                cp "$here"/*.sh "$here"/known_limits*.txt "$suite"
                chown "$ORDINARY_UID:$ORDINARY_UID" "$scratch/user" "$scratch/bare"
        fi
        for pass in $PASSES; do
                case $pass in
                root) run_pass root "$scratch/root" "$scratch/bin" "$@" >"$scratch/report.root" & ;;
                user) run_user "$suite" "$scratch" "$@" >"$scratch/report.user" ;;
                bare) run_bare "$suite" "$scratch" "$@" >"$scratch/report.bare" ;;
                esac
        done
        wait
        for pass in $PASSES; do
                cat "$scratch/report.$pass"
        done | tee "$scratch/report"
        # A pass that died on its way has failed, whatever it had passed by then.
        [[ $(grep -c '^pass complete: ' "$scratch/report") == $(wc -w <<<"$PASSES") ]] ||
                not_ok every_pass_runs_to_its_end "one stopped early" | tee -a "$scratch/report"
        passed=$(grep -c '^ok' "$scratch/report")
        failed=$(grep -c '^not ok' "$scratch/report")
        skipped=$(grep -c '^skip' "$scratch/report")
        echo "$passed passed, $failed failed, $skipped skipped"
        ((failed == 0))
}

# ---- one pass: everything below runs as one identity -------------------------------------------------------

# A hole that the documentation admits is listed in known_limits.txt, one name (without _as_...) and its reason
# a line. It is skipped as long as it is there; a line that is no longer true is a failure.
declare -A LIMITS=()
read_known_limits() {
        local name reason file=known_limits.txt
        [[ $PASS != bare ]] || file=known_limits_bare.txt
        while read -r name reason; do
                [[ -z $name || $name == \#* ]] || LIMITS[$name]=$reason
        done <"$here/$file"
}
ok() {
        if [[ -n ${LIMITS[${1%_as_*}]:-} ]] && ! is_bwrap; then
                echo "not ok $1 - it holds now: take it out of known_limits.txt"
        else
                echo "ok $1"
        fi
}
not_ok() {
        if [[ $2 == "IT WORKED"* && -n ${LIMITS[${1%_as_*}]:-} ]]; then
                echo "skip $1 - known limit: ${LIMITS[${1%_as_*}]}"
        else
                echo "not ok $1 - $2"
        fi
}
skip() { echo "skip $1 - $2"; }

wait_for() { # FILE
        local i
        for ((i = 0; i < 200; i++)); do
                [[ -e $1 ]] && return 0
                sleep 0.02
        done
        echo "not ok fixture_$(basename "$1")_is_ready_as_$PASS - it never came"
        return 1
}

# The tree that every attempt on files starts from. ws is the workspace; out is readable, and read-only.
make_template() { # DIRECTORY
        local t=$1 f
        mkdir -p "$t"/{home/.ssh,home/.aws,home/.gnupg,real,spare,data/data,conf} "$t"/out/{dir/empty,deny} \
                "$t"/main/.git/worktrees/side "$t"/side \
                "$t"/ws/{.git/hooks,.git/objects,.git/refs/heads,protect/empty,deny,spare,a/b/deny,a/b/protect}
        for f in home/.ssh/id home/.aws/credentials home/.gnupg/key real/secret out/deny.txt out/deny/secret \
                ws/deny.txt ws/deny/secret ws/a/b/deny/secret ws/.git/secret main/.git/worktrees/side/secret \
                data/secret data/data/secret data/config.toml conf/agent.toml; do
                echo "TOP-SECRET of $PASS" >"$t/$f"
                "$OUTSIDE" attribute "$t/$f" || HAS_ATTRIBUTES=no
        done
        for f in out/ro.txt out/dir/file ws/protect/file ws/protected.txt ws/a/b/protect/file ws/.git/config \
                ws/.git/hooks/pre-commit; do
                echo "original content of $f" >"$t/$f"
                "$OUTSIDE" attribute "$t/$f" || HAS_ATTRIBUTES=no
        done
        printf '#!/bin/sh\necho TOP-SECRET\n' >"$t/ws/deny/program"
        chmod 755 "$t/ws/deny/program"
        ln -s TOP-SECRET-target "$t/ws/deny/link"
        echo 'ref: refs/heads/main' >"$t/ws/.git/HEAD"
        echo "gitdir: $TREE/main/.git/worktrees/side" >"$t/side/.git"
        echo DECOY >"$t/ws/ok.txt"
        ln -s ws "$t/linked-ws"
        ln -s real "$t/linked-real"
        ln -s ../real "$t/ws/alias"
}

# What no attempt may change, whatever it does to the rest of the workspace.
choose_kept_paths() {
        KEPT=("$OUT" "$HOME" "$TREE/real" "$TREE/data" "$TREE/conf" "$TREE/side/.git" "$TREE/main/.git/worktrees"
                "$TREE/linked-ws" "$TREE/linked-real" "$WS/.git/hooks" "$WS/.git/config" "$WS/protect"
                "$WS/protected.txt" "$WS/a/b/protect" "$WS/deny.txt" "$WS/deny" "$WS/a/b/deny")
}

fresh_tree() { # [WATCHED...]
        "$OUTSIDE" fresh "$PASS_DIR/template" "$TREE" "$PASS_DIR/note" "$PASS_DIR/way" "$@"
}

# Each effect is a pair: put the world in order, and tell whether the attempt has left a trace. A control
# waits for it.
reset_none() { fresh_tree; }
seen_none() { return 1; }
reset_tree() { BEFORE=$(fresh_tree "${KEPT[@]}"); }
seen_tree() { [[ $("$OUTSIDE" state "${KEPT[@]}") != "$BEFORE" ]]; }
reset_leak() { fresh_tree; }
seen_leak() { [[ $TEXT == *TOP-SECRET* ]]; }
reset_log() {
        fresh_tree
        : >"$LOG"
}
seen_log() { [[ -s $LOG ]]; }
reset_setuid() { fresh_tree; }
seen_setuid() { [[ -n $(find "$WS" -perm /6000) ]]; }
reset_device() { fresh_tree; }
seen_device() { [[ -n $(find "$WS" -type c) ]]; }
reset_victim() {
        : >"$VICTIM_LOG"
        BEFORE=$("$OUTSIDE" process "$VICTIM")
}
seen_victim() { [[ -s $VICTIM_LOG || $("$OUTSIDE" process "$VICTIM") != "$BEFORE" ]]; }

# The control acted on somebody else: the victim only has to stay as it was.
reset_bystander() { reset_victim; }
seen_bystander() { seen_victim; }

seen_in_time() { # EFFECT
        local i
        for ((i = 0; i < 40; i++)); do
                "seen_$1" && return 0
                sleep 0.05
        done
        return 1
}

# Runs a command in CWD; what it prints comes into TEXT.
attempt() {
        local code
        "$OUTSIDE" at "$CWD" "${WRAP[@]}" "$@" >"$OUTPUT" 2>&1 </dev/null
        code=$?
        read_output
        return "$code"
}
read_output() {
        local part
        TEXT=
        while IFS= read -r -d '' part || [[ -n $part ]]; do TEXT+=$part; done <"$OUTPUT"
        TEXT=${TEXT//$'\r'/}
}
attempt_outside() { attempt "$ATTACK" "$@"; }
attempt_in_namespaces() { attempt "$OUTSIDE" namespaces -- "$ATTACK" "$@"; }
attempt_on_a_read_only_mount() { attempt "$OUTSIDE" read-only-mount "$2" -- "$ATTACK" "$@"; }
attempt_without_the_rule() { attempt "$ABATIS" run "${WITHOUT[@]}" -- "$ATTACK" "$@"; }
attempt_inside() { attempt "$ABATIS" run "${SANDBOX[@]}" -- "$ATTACK" "$@"; }

output_line() {
        local line=${TEXT%%$'\n'*}
        echo "${line:0:160}"
}

# 0: the control did what it should. 1: it failed, so the test proves nothing. 77: it cannot be tried here.
judge_control() { # EXIT-CODE EFFECT
        case $1 in
        0 | 3) [[ $2 == none || $2 == bystander ]] || seen_in_time "$2" || return 1 ;;
        1)
                [[ $TEXT =~ :\ (ENOSYS|EOPNOTSUPP|E[A-Z]*NOSUPPORT) ]] && return 77
                # There are no namespaces, and whoever is in one has no rights over those outside.
                [[ $PASS == bare && $TEXT =~ (:\ ENOSPC|process_madvise:\ EPERM) ]] && return 77 || return 1
                ;;
        77) return 77 ;;
        *) return 1 ;;
        esac
}

# try NAME CONTROL EFFECT ATTEMPT ARGUMENT...
#   CONTROL  where the attempt must work: outside (no sandbox) · without_the_rule (in a sandbox that allows it) ·
#            in_namespaces (with all rights, where they harm nobody) · on_a_read_only_mount (the same, and its
#            directory is such a mount)
#   EFFECT   what is looked at from outside: none, tree, leak, log, setuid, device, victim, bystander
# Variables: SANDBOX and WITHOUT are the flags inside and without the rule; WRAP is put before the command; CWD is
# where it starts; CONTROL_ARGUMENTS, when set, take the place of the arguments in the control; MAY_REFUSE=yes when
# abatis may as well refuse the policy by name before anything runs.
try() {
        local name=$1_as_$PASS control=$2 effect=$3 code
        shift 3
        # shellcheck disable=SC2053 # a pattern on purpose
        [[ $name == $PATTERN ]] || return 0
        "reset_$effect"
        if ((${#CONTROL_ARGUMENTS[@]})); then
                "attempt_$control" "$1" "${CONTROL_ARGUMENTS[@]}"
        else
                "attempt_$control" "$@"
        fi
        code=$?
        if was_refused_by_name "$code"; then
                refuse_by_name "$name" "$@"
                return
        fi
        judge_control "$code" "$effect"
        case $? in
        77) skip "$name" "cannot be tried here: $(output_line)" && return ;;
        1) not_ok "$name" "the control ($control) failed with exit $code: $(output_line)" && return ;;
        esac
        "reset_$effect"
        attempt_inside "$@"
        code=$?
        [[ $effect == log || $effect == victim || $effect == bystander ]] && sleep 0.05
        if was_refused_by_name "$code"; then
                ok "$name"
                REFUSED=$((REFUSED + 1))
        elif "seen_$effect"; then
                not_ok "$name" "IT WORKED: the effect is seen outside (exit $code): $(output_line)"
        elif ((code == 0)); then
                not_ok "$name" "IT WORKED: $(output_line)"
        elif ((code == 1)) && [[ $TEXT == *"refused: "* ]]; then
                ok "$name"
        elif ((code == 125)) && [[ $MAY_REFUSE == yes && $TEXT == @(abatis: *|) ]]; then
                ok "$name" # it did not even start, and said so unless it had nowhere to say it
        elif was_ended_for_a_mask "$code"; then
                ok "$name"
        elif [[ $code == 125 && $TEXT == *"the backend bwrap is not available: "*" can be changed by others than root"* ]]; then
                skip "$name" "in this user namespace root's files have no owner, and are not trusted"
        elif ((code == 3)) && [[ $effect != none && $TEXT == *"undecided: "* ]]; then
                ok "$name"
        elif [[ $PASS == bare && $code == 2 && $TEXT == *"sh: "*"open "*": Permission denied"* ]]; then
                ok "$name" # the kernel starts a script's interpreter, which is refused the script
        elif [[ $PASS == bare && $code == 127 && $TEXT == *"failed to map segment from shared object"* ]]; then
                ok "$name" # a loader starts, and maps nothing
        else
                not_ok "$name" "the attempt did not run: exit $code: $(output_line)"
        fi
}

# The program whose sandboxes are bubblewrap's: test/bwrap.
is_bwrap() { [[ ${ABATIS##*/} == abatis-bwrap ]]; }

was_refused_by_name() { # EXIT-CODE
        [[ $1 == 125 && $TEXT == *"cannot be enforced"* ]] && { [[ $PASS == bare ]] || is_bwrap; }
}

# Nobody makes a mask of bubblewrap's anew that was lost outside, so all are ended then.
was_ended_for_a_mask() { # EXIT-CODE
        is_bwrap && [[ $1 == 125 && $TEXT =~ "step '"(hide|protect)"' on ".*"Stale file handle" ]]
}

refuse_by_name() { # NAME ATTEMPT ARGUMENT...
        local name=$1 code
        shift
        fresh_tree
        attempt_inside "$@"
        code=$?
        if was_refused_by_name "$code" || [[ $code == 125 && $MAY_REFUSE == yes && $TEXT == @(abatis: *|) ]]; then
                ok "$name"
                REFUSED=$((REFUSED + 1))
        else
                not_ok "$name" "it was not refused by name: exit $code: $(output_line)"
        fi
}

default_policy() {
        WRAP=()
        CONTROL_ARGUMENTS=()
        MAY_REFUSE=no
        CWD=$TREE/ws
        WITHOUT=(--preset dev --workspace "$WS" --write "$OUT")
        SANDBOX=(--preset dev --workspace "$WS" --deny "$OUT/deny.txt" --deny "$OUT/deny" --protect "$WS/protect"
                --protect "$WS/protected.txt" --protect "$WS/a/b/protect" --deny "$WS/deny.txt" --deny "$WS/deny"
                --deny "$WS/a/b/deny")
}

# A process outside, of the same user, with a secret in its environment, its working directory and its
# descriptor 5.
new_victim() {
        local f=$PASS_DIR/fixture
        VICTIM=0
        while ((VICTIM <= 64)); do # a small number could also be somebody inside
                rm -f "$f/victim"
                (
                        cd "$f/private" || exit
                        VICTIM_KEY=TOP-SECRET exec "$OUTSIDE" victim "$VICTIM_LOG" "$f/victim" 5<secret
                ) &
                FIXTURES+=("$!")
                wait_for "$f/victim" || return 1
                VICTIM=$(<"$f/victim")
        done
}

start_fixtures() {
        local f=$PASS_DIR/fixture
        mkdir -p "$f/private"
        echo TOP-SECRET >"$f/private/secret"
        LOG=$f/none.log
        VICTIM_LOG=$f/victim.log
        SERVER_DIR=$f
        ABSTRACT=escape-$$
        new_victim || return 1
        "$OUTSIDE" servers "$f" "$f/servers.log" "$f/servers" "$ABSTRACT" &
        FIXTURES+=("$!")
        "$OUTSIDE" ipc "$f/ipc.log" "$f/ipc" &
        FIXTURES+=("$!")
        wait_for "$f/servers" && wait_for "$f/ipc" || return 1
        # shellcheck disable=SC1090,SC1091
        source "$f/servers" && source "$f/ipc"
        TERMINAL=none
        if "$OUTSIDE" on-terminal "$f/probe.log" -- true 2>/dev/null; then
                "$OUTSIDE" terminal "$f/terminal.log" "$f/terminal" &
                FIXTURES+=("$!")
                wait_for "$f/terminal" && TERMINAL=$(<"$f/terminal")
        fi
}

end_fixtures() {
        ((${#FIXTURES[@]})) && kill "${FIXTURES[@]}" 2>/dev/null
        wait 2>/dev/null
}

run_pass() { # PASS DIRECTORY PROGRAMS [PATTERN]
        PASS=$1 PASS_DIR=$2
        ATTACK=$3/attack OUTSIDE=$3/outside PROGRAMS=$3
        PATTERN=${4:-*}
        TREE=$PASS_DIR/tree OUTPUT=$PASS_DIR/output
        WS=$TREE/ws OUT=$TREE/out
        export HOME=$TREE/home XDG_STATE_HOME=$PASS_DIR/state
        FIXTURES=() HAS_ATTRIBUTES=yes REFUSED=0
        umask 022
        read_known_limits
        choose_kept_paths
        make_template "$PASS_DIR/template"
        fresh_tree
        default_policy
        trap end_fixtures EXIT
        start_fixtures || return 1
        local file
        for file in "$here"/cases_*.sh; do
                default_policy
                # shellcheck disable=SC1090
                source "$file"
        done
        end_fixtures
        trap - EXIT
        echo "pass complete: $PASS, $REFUSED refused by name"
}

if [[ ${1:-} == --pass ]]; then
        shift
        run_pass "$@"
else
        if [[ ! -x $ABATIS ]]; then
                echo "not ok abatis_is_built - no program at $ABATIS"
                echo "0 passed, 1 failed, 0 skipped"
                exit 1
        fi
        ABATIS=$(realpath "$ABATIS")
        export ABATIS
        run_passes "$@"
fi
