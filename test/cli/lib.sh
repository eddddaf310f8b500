# lib.sh: the common ground of the command-line tests: roles, scratch directories, counting, questions.
# shellcheck shell=bash
#
# A test script sources this file, defines functions test_<the_fact>, and ends with `main "$@"`.
# Arguments are parts of names: only the tests whose name contains one of them are run.
#
# Each test runs in a subshell of its own, in the order of the file, with
#   T   a fresh scratch directory; the sandboxed command may read it and not write it
#   W   the workspace, $T/ws, which is also the working directory
#   HOST_TMP   a path below the host's /tmp that does not exist yet and is removed in the end
# It fails by `fail WHY` (or by returning non-zero) and gives no verdict by `skip WHY`.
#
# Started by root, a script runs three times, as root, as an unprivileged uid, and as that where there are no
# namespaces ("bare"), because abatis enforces with different means for them. What cannot be held in the last case must
# be refused by name, and is counted. ABATIS names the binary under test, TEST_ROLES some of the three.

set -u

TEST_UID=4343
TEST_LIMIT=${TEST_LIMIT:-90} # seconds that one test may take before it is killed and counted as failed
TEST_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
HELPER=$TEST_DIR/helper.py
PROBE=$(<"$TEST_DIR/probe.py")
FLAGS=() # what `sandbox` passes to abatis run besides the command

fail() {
        printf '%s\n' "$*" >&9
        exit 1
}

skip() {
        printf '%s\n' "$*" >&9
        exit 77
}

# Where there are no namespaces some policies are refused, by name: that is the whole test then.
may_be_refused() {
        [ "$ROLE" = bare ] && [ "$RC" = 125 ] && grep -q 'cannot be enforced' "$T/err" && exit 78
        return 0
}

needs() { # PROGRAM...
        local program
        for program; do
                command -v "$program" >/dev/null || skip "$program is not installed"
        done
}

# Runs a command with its output in $T/out and $T/err and its exit code in RC.
capture() {
        RC=0
        "$@" >"$T/out" 2>"$T/err" || RC=$?
}

sandbox() { # CMD [ARG...]
        "$ABATIS" run ${FLAGS[@]+"${FLAGS[@]}"} -- "$@"
}

said() {
        head -c 300 "$T/err" | tr '\n' ' '
}

exits() { # CODE CMD [ARG...]
        local want=$1
        shift
        capture "$@"
        [ "$RC" = "$want" ] || may_be_refused
        [ "$RC" = "$want" ] || fail "exit code $RC instead of $want, said: $(said)"
}

succeeds() {
        exits 0 "$@"
}

# For the denied half of a test: any failure of the command itself, but not one of abatis before it started.
is_refused() { # CMD [ARG...]
        capture "$@"
        [ "$RC" != 0 ] || fail "was not refused: ${*: -1}"
        may_be_refused
        case $RC in 124 | 125 | 127) fail "the command did not run (exit code $RC): $(said)" ;; esac
}

# The same operation where it must work; without it a refusal proves nothing.
control() {
        capture "$@"
        may_be_refused
        [ "$RC" = 0 ] || fail "positive control failed (exit code $RC): $(said)"
}

prints() { # EXPECTED: what the last captured command wrote to stdout
        [ "$(<"$T/out")" = "$1" ] || fail "printed '$(head -c 300 "$T/out")' instead of '$1'"
}

# Accesses KIND:PATH (see probe.py) that must succeed inside; after a -- those that must be refused there.
# All of them must succeed outside: that is the positive control.
allows() { # KIND:PATH... [-- KIND:PATH...]
        local items=() wanted=() answers=() want=yes item n
        for item; do
                if [ "$item" = -- ]; then
                        want=no
                else
                        items+=("$item")
                        wanted+=("$want")
                fi
        done
        mapfile -t answers < <(python3 -c "$PROBE" "${items[@]}")
        for n in "${!items[@]}"; do
                [ "${answers[n]-}" = yes ] || fail "positive control failed: ${items[n]}: ${answers[n]-no answer}"
        done
        answers_are "${wanted[@]}" -- "${items[@]}"
}

# The same without a control, for what the tests' own uid could not do anyway or what only exists inside.
answers_are() { # yes|no... -- KIND:PATH...
        local wanted=() answers=() n
        while [ "$1" != -- ]; do
                wanted+=("$1")
                shift
        done
        shift
        capture sandbox python3 -c "$PROBE" "$@"
        may_be_refused
        [ "$RC" = 0 ] || fail "the probe did not run (exit code $RC): $(said)"
        mapfile -t answers <"$T/out"
        for n in "${!wanted[@]}"; do
                [ "${answers[n]%% *}" = "${wanted[n]}" ] || fail "$1 is ${answers[n]} instead of ${wanted[n]} (${FLAGS[*]-})"
                shift
        done
}

# A Python expression over r, the object in a JSON file; it must be true.
json_is() { # FILE EXPRESSION
        local why
        why=$(python3 "$HELPER" json "$1" "$2" 2>&1) || fail "$why"
}

# Processes whose command line names a word that only this test uses. No grep: it would find itself.
processes_naming() { # WORD
        local file words
        for file in /proc/[0-9]*/cmdline; do
                { mapfile -d '' -t words <"$file"; } 2>/dev/null || continue
                case ${words[*]} in *"$1"*) printf '%s\n' "${words[*]}" ;; esac
        done
}

# Everything below a directory that a forgotten file, mode change or write would alter.
listing() { # DIR...
        find "$@" -printf '%p %y %m %s %T@ %l\n' 2>/dev/null | sort
}

eventually() { # CMD...: true within five seconds; the machine may be busy
        local end=$((SECONDS + 5))
        until "$@"; do
                [ "$SECONDS" -lt "$end" ] || return 1
                sleep 0.05
        done
}

is_root() { [ "$(id -u)" = 0 ]; }

# ---- running ---------------------------------------------------------------------------------------------

# What is another way where there are no namespaces, and why; one that is the same after all is a failure.
difference() { # NAME
        [ "$ROLE" = bare ] && sed -n "s/^$1 //p" "$TEST_DIR/bare_differences.txt"
}

report() { # NAME STATUS
        local why differs
        why=$(tr '\n' ' ' <"$SCRATCH/why" | head -c 400)
        differs=$(difference "$1")
        if [ -n "$differs" ] && [ "$2" != 0 ]; then
                echo "skip $ROLE/$1 - without namespaces: $differs"
                SKIPPED=$((SKIPPED + 1))
                return
        elif [ -n "$differs" ]; then
                echo "not ok $ROLE/$1 - it works: take it out of bare_differences.txt"
                FAILED=$((FAILED + 1))
                return
        fi
        case $2 in
        0)
                echo "ok $ROLE/$1"
                PASSED=$((PASSED + 1))
                ;;
        78)
                echo "ok $ROLE/$1 - refused by name"
                PASSED=$((PASSED + 1)) REFUSED=$((REFUSED + 1))
                ;;
        77)
                echo "skip $ROLE/$1 - $why"
                SKIPPED=$((SKIPPED + 1))
                ;;
        *)
                [ -n "$why" ] || why="status $2: $(tail -n 2 "$SCRATCH/log" | tr '\n' ' ' | head -c 300)"
                echo "not ok $ROLE/$1 - $why"
                FAILED=$((FAILED + 1))
                ;;
        esac
}

run_test() { # NAME
        local job clock status=0
        T=$SCRATCH/$((PASSED + FAILED + SKIPPED))
        W=$T/ws
        mkdir -p "$W"
        : >"$SCRATCH/why"
        # A process group of its own, so that a test that hangs can be ended with everything it started.
        set -m
        (
                set +m
                cd "$W" || exit 1
                "test_$1"
        ) </dev/null >"$SCRATCH/log" 2>&1 9>"$SCRATCH/why" &
        job=$!
        sleep "$TEST_LIMIT" 9>&- &
        clock=$!
        set +m
        trap 'kill -KILL -- "-$job" "$clock"; exit 143' INT TERM HUP
        wait -n "$job" "$clock"
        if kill -0 "$clock" 2>/dev/null; then
                kill "$clock"
        else
                kill -KILL -- "-$job"
                echo "still running after $TEST_LIMIT s" >"$SCRATCH/why"
        fi
        wait "$job" || status=$?
        wait "$clock" 2>/dev/null
        report "$1" "$status"
        chmod -R u+rwX "$T" 2>/dev/null
        rm -rf "$T" "$HOST_TMP"
}

is_wanted() { # NAME FILTER...
        local name=$1 filter
        shift
        [ $# -gt 0 ] || return 0
        for filter; do
                case $name in *"$filter"*) return 0 ;; esac
        done
        return 1
}

run_tests() { # FILTER...
        local name
        PASSED=0 FAILED=0 SKIPPED=0 REFUSED=0
        while read -r name; do
                if is_wanted "$name" "$@"; then run_test "$name"; fi
        done < <(sed -n 's/^test_\([a-zA-Z0-9_]*\)().*/\1/p' "$SCRIPT")
        [ "$REFUSED" = 0 ] || echo "# $ROLE: $REFUSED refused by name"
        echo "$PASSED $FAILED $SKIPPED" >"$SCRATCH/counts"
}

as_role() { # CMD...
        if [ "$ROLE" = bare ]; then
                "$TOP/enter" "$(is_root && echo "$TEST_UID" || id -u)" none /usr/bin/env "$@"
        elif [ "$ROLE" = user ] && is_root; then
                setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups "$@"
        else
                "$@"
        fi
}

# A fixed environment: what the caller has in its own must not decide a test.
run_role() { # FILTER...
        local scratch=$TOP/$ROLE passed failed skipped
        mkdir -p "$scratch/home"
        if [ "$ROLE" != root ] && is_root; then chown -R "$TEST_UID:$TEST_UID" "$scratch"; fi
        printf '[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n' \
                >"$scratch/home/.gitconfig"
        chmod 644 "$scratch/home/.gitconfig"
        as_role env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$scratch/home" \
                LANG=C.UTF-8 TERM=xterm ABATIS="$ABATIS" TEST_ROLE="$ROLE" TEST_SCRATCH="$scratch" \
                HOST_TMP="$HOST_TMP.$ROLE" TEST_LIMIT="$TEST_LIMIT" bash "$SCRIPT" "$@" </dev/null
        if ! read -r passed failed skipped <"$scratch/counts"; then
                echo "not ok $ROLE/$(basename "$SCRIPT" .sh)_runs_to_its_end - it stopped early"
                passed=0 failed=1 skipped=0
        fi
        ALL_PASSED=$((ALL_PASSED + passed)) ALL_FAILED=$((ALL_FAILED + failed)) ALL_SKIPPED=$((ALL_SKIPPED + skipped))
}

# The unprivileged uid must be able to reach the scratch directory and the binary wherever the caller keeps them.
prepare() {
        local tmp=${TMPDIR:-/var/tmp}
        ABATIS=${ABATIS:-$TEST_DIR/../../build/abatis}
        case $ABATIS in */*) ABATIS=$(cd "$(dirname "$ABATIS")" 2>/dev/null && pwd)/$(basename "$ABATIS") ;; esac
        if [ ! -x "$ABATIS" ]; then
                echo "not ok the_binary_under_test_exists - ABATIS=$ABATIS"
                echo "0 passed, 1 failed, 0 skipped"
                exit 1
        fi
        ROLE=user as_role test -x "$tmp" || tmp=/var/tmp
        # Not below /tmp, which the sandbox replaces by an empty one of its own.
        case $tmp/ in /tmp/*) tmp=/var/tmp ;; esac
        TOP=$(mktemp -d "$tmp/abatis-cli.XXXXXX") || exit 1
        HOST_TMP=/tmp/${TOP##*/}
        trap 'chmod -R u+rwX "$TOP" 2>/dev/null; rm -rf "$TOP" "$HOST_TMP".*' EXIT
        trap 'exit 130' INT TERM HUP
        chmod 755 "$TOP"
        "${CC:-cc}" -O1 -static -o "$TOP/enter" "$TEST_DIR/../tree/enter.c" || exit 1
        # Below /tmp it would not be there inside, where some tests start it again.
        if [[ $ABATIS == /tmp/* ]] || ! ROLE=user as_role test -x "$ABATIS" ||
                ! ROLE=user as_role test -r "$TEST_DIR/lib.sh"; then
                mkdir "$TOP/test"
                cp "$TEST_DIR"/* "$TOP/test/"
                cp "$ABATIS" "$TOP/test/abatis"
                chmod -R a+rX "$TOP/test"
                ABATIS=$TOP/test/abatis SCRIPT=$TOP/test/$(basename "$SCRIPT")
        fi
}

main() { # FILTER...
        SCRIPT=$(cd "$(dirname "$0")" && pwd -P)/$(basename "$0")
        if [ -n "${TEST_ROLE-}" ]; then
                ROLE=$TEST_ROLE SCRATCH=$TEST_SCRATCH
                run_tests "$@"
                return
        fi
        ALL_PASSED=0 ALL_FAILED=0 ALL_SKIPPED=0
        prepare
        local roles="user bare"
        if is_root; then roles="root $roles"; fi
        for ROLE in ${TEST_ROLES:-$roles}; do run_role "$@"; done
        echo "$ALL_PASSED passed, $ALL_FAILED failed, $ALL_SKIPPED skipped"
        [ "$ALL_FAILED" = 0 ] # the exit code of the script
}
